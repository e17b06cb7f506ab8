"""Digests as pages: what was rendered is read again, line by line, and a change of the body is seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slowwave.wiki.operations.digest_text import (
    SECTIONS,
    Digest,
    DigestLine,
    merge_repeated,
    note_path,
    stored_digest,
    weekly_path,
    within,
)

_TEXTS = st.text("ab (s1#L2):.", min_size=1, max_size=30).map(lambda t: f"We said {t.strip()}.")
_SOURCES = st.lists(
    st.sampled_from(["logs/a.md#L1", "logs/a.md#L9", "logs/b.md#L2"]), min_size=1, max_size=3, unique=True
)
_LINES = st.builds(DigestLine, _TEXTS, _SOURCES.map(tuple), st.sampled_from(["", "2026-05-04"]))
_SECTIONS = st.dictionaries(
    st.sampled_from([*SECTIONS]), st.lists(_LINES, min_size=1, max_size=4).map(tuple), min_size=1
)


@given(_SECTIONS)
def test_what_was_rendered_is_read_again(sections: dict[str, tuple[DigestLine, ...]]) -> None:
    """Every line with its day and its sources; a body that a person has touched is not the one that was made."""
    digest = Digest("digests/daily/2026-05-04.md", "digest-daily", "Monday", "2 sessions.", sections, {}, "abc")  # type: ignore[arg-type]
    stored = stored_digest("id", digest.path, digest.page)
    assert (stored.made_of, stored.edited) == ("abc", False)
    assert stored.sections == sections
    assert stored_digest("id", digest.path, digest.page + "\nMine.\n").edited
    assert stored_digest("id", digest.path, "# Somebody's own\n").edited


def test_what_several_say_is_told_once_with_the_sources_of_all() -> None:
    """Case and marks are no difference."""
    lines = [
        DigestLine("Kestrel is live.", ("a#L1",)),
        DigestLine("kestrel is live", ("b#L2",)),
        DigestLine("No.", ("a#L3",)),
    ]
    assert merge_repeated(lines) == (DigestLine("Kestrel is live.", ("a#L1", "b#L2")), DigestLine("No.", ("a#L3",)))


def test_a_digest_has_room_for_what_says_most() -> None:
    """Lines that find no room are counted; none is cut."""
    lines = [DigestLine(f"We decided to give Kestrel {n} more days of testing.", (f"a#L{n}",)) for n in range(40)]
    kept, out = within({"decisions": lines}, 100)
    assert 0 < len(kept["decisions"]) < len(lines)
    assert len(kept["decisions"]) + out == len(lines)
    assert set(kept["decisions"]) <= set(lines)


def test_paths_are_lower_case_and_no_two_sessions_share_one() -> None:
    """Of sessions whose names differ by case alone."""
    assert note_path("logs/sessions/codex/2026-05-04-a.md") == "digests/sessions/codex/2026-05-04-a.md"
    one, other = note_path("logs/sessions/codex/A.md"), note_path("logs/sessions/codex/a.md")
    assert one != other
    assert one == one.lower()
    assert weekly_path(2026, 9) == "digests/weekly/2026-w09.md"
