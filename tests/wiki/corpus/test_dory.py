"""Dory's sample corpus and the EIPs, as they lie in the shared data: whole folders through every step. Skipped where they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowwave.store.connect import Store
from slowwave.wiki.corpus.link_graph import LinkRequest, links
from tests.wiki.corpus.folders import Folder

DATA = Path(__file__).parents[4] / "shared" / "data"
SAMPLE = DATA / "dory_sample" / "dory_sample"
EIPS = DATA / "eips_md"


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="no shared data")
def test_dory_sample_is_read_by_its_profile(store: Store) -> None:
    """Types, planes and what is canonical, by the layout; sessions stand apart."""
    folder = Folder(SAMPLE, store, "dory", "dory")
    assert folder.sync().new == 7
    rows = folder.ask(
        "SELECT path, metadata ->> 'type', plane, metadata ->> 'canonical', metadata ? 'problems' FROM memory.documents ORDER BY path"
    )
    assert [row[:4] for row in rows] == [
        ("core/active.md", "core", "durable", "true"),
        ("core/env.md", "core", "durable", "true"),
        ("core/soul.md", "core", "durable", "true"),
        ("core/user.md", "core", "durable", "true"),
        ("decisions/2026-04-07-homeserver.md", "decision", "durable", "true"),
        ("logs/sessions/claude-code/2026-04-07.md", "session", "sessions", "false"),
        ("people/alex.md", "person", "durable", "true"),
    ]
    assert not any(row[4] for row in rows)


@pytest.mark.skipif(not EIPS.is_dir(), reason="no shared data")
def test_the_eips_link_to_each_other(store: Store) -> None:
    """Sixty files with relative links; of those that lead out of the subset, lint says so, and of footnotes it says nothing."""
    folder = Folder(EIPS, store, "plain", "eips")
    assert folder.sync().new == 60
    with store.connect("reader") as connection:
        found: Any = links(connection, "eips", LinkRequest(op="lint"))
        near: Any = links(connection, "eips", LinkRequest(op="backlinks", path="eip-140.md"))
    assert all(one.to.endswith((".md", "eip-1")) or "#" in one.to or "/" in one.to for one in found.broken)
    held = set(folder.live())
    assert not [
        one for one in found.broken if one.reason == "no such page" and one.to.split("#")[0].removeprefix("./") in held
    ]
    assert {edge.to for edge in near.edges} <= {"eip-140.md"}
