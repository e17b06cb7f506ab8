"""Profiles are data: all are read, and an unknown one is refused."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.sources.profile import matches, profile, profiles


def test_every_profile_is_whole() -> None:
    """Defaults are words of its own closed lists."""
    assert list(profiles()) == ["dory", "plain", "vault"]
    for found in profiles().values():
        for kind in (found.defaults, *found.types.values()):
            for name, known in (
                ("status", found.statuses),
                ("source_kind", found.source_kinds),
                ("temperature", found.temperatures),
            ):
                assert getattr(kind, name) in (None, *known) or not known
        assert set(found.status_aliases.values()) <= set(found.statuses)
        assert set(found.type_aliases.values()) <= set(found.types)


def test_dory_has_twenty_types_and_its_sections() -> None:
    dory = profile("dory")
    assert len(dory.types) == 21  # and the archive, which only a path makes
    assert [len(dory.types[name].sections) for name in ("person", "project", "concept", "decision")] == [7, 8, 8, 9]
    assert len(dory.types["core"].sections_of) == 6


def test_dory_sessions_are_a_plane_of_their_own() -> None:
    assert profile("dory").plane_of("logs/sessions/claude/2026-04-07.md") == "sessions"
    assert profile("dory").plane_of("logs/daily/2026-04-07.md") == "durable"


def test_patterns() -> None:
    assert matches("a/b/c.md", "**/*.md")
    assert matches("c.md", "**/*.md")
    assert not matches("a/b.md", "*.md")
    assert matches("projects/x/state.md", "projects/*/state.md")
    assert not matches("projects/x/y/state.md", "projects/*/state.md")


@pytest.mark.parametrize("name", ["../pyproject", "DORY", "", "none"])
def test_an_unknown_profile_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="dory, plain, vault"):
        profile(name)
