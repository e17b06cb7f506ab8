"""What a wake block holds: within its budget, from the beginning of each section, the same for the same rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.tokens import count
from slowwave.wiki.recall.wake import SectionContent, cut, lines_with, passages, wake_block

WORDS = st.text(alphabet="aé漢 .\n#-", min_size=1, max_size=400)
SECTIONS = st.lists(
    st.builds(
        SectionContent,
        st.sampled_from(["User", "Soul", "Gedächtnis"]),
        st.lists(WORDS, max_size=6).map(tuple),
        st.just(("core/user.md",)),
        st.none() | st.integers(1, 300),
    ),
    max_size=6,
)


@given(SECTIONS, st.integers(1, 400))
def test_a_budget_is_never_exceeded(sections: list[SectionContent], budget: int) -> None:
    """Neither that of the block nor the cap of a section, titles and blank lines included."""
    block = wake_block(sections, budget)
    assert block.tokens == count(block.text) <= budget
    for section in sections:
        if section.cap is not None:
            assert count(wake_block([section], 10_000).text) <= section.cap
    assert wake_block(sections, budget) == block


@given(SECTIONS)
def test_with_room_for_all_all_is_told_in_order(sections: list[SectionContent]) -> None:
    """Without caps, a large budget leaves nothing out."""
    whole = [SectionContent(s.title, s.passages, s.sources) for s in sections]
    block = wake_block(whole, 100_000)
    assert block.left_out == 0
    rest = block.text
    for section in whole:
        for passage in section.passages:
            assert passage in rest
            rest = rest[rest.index(passage) + len(passage) :]


def test_a_long_first_section_leaves_room_for_the_others() -> None:
    """Where assembly ended at the first section that overflowed, the others went untold."""
    long = SectionContent("User", tuple(f"Line {n}. " + "word " * 60 for n in range(20)), ("core/user.md",))
    block = wake_block([long, SectionContent("Soul", ("Be kind.",), ("core/soul.md",))], 300)
    assert "Line 0." in block.text
    assert block.text.endswith("## Soul\n\nBe kind.")
    assert "Line 19." not in block.text
    assert block.sources == ("core/user.md", "core/soul.md")


def test_a_section_is_told_from_its_beginning_without_gaps() -> None:
    """A short passage behind one that found no room would be read as if it followed."""
    section = SectionContent("User", ("First.", "word " * 400, "Last."), ("core/user.md",))
    block = wake_block([section], 100)
    assert block.text == "## User\n\nFirst."
    assert block.left_out == 2


def test_a_first_passage_that_is_too_long_is_cut_in_whole_words() -> None:
    """A page of one paragraph is told by its beginning; under forty tokens of room it is left out."""
    section = SectionContent("User", ("word " * 400,), ("core/user.md",))
    assert wake_block([section], 100).text.endswith("word…")
    assert wake_block([section], 20).text == ""
    assert cut("漢" * 400, 200).encode()[-3:] == "…".encode()


def test_a_heading_belongs_to_what_stands_under_it() -> None:
    """It is no passage of its own, and without one it is not told."""
    assert passages("# A\n\n## B\n\nOne\ntwo.\n\n\n- three\n\n## Empty\n") == ("## B\nOne\ntwo.", "- three")


def test_lines_are_found_by_an_expression() -> None:
    """As the privacy profile extracts boundaries."""
    text = "## Private\nNever share the address.\nLikes tea.\n  - keep health PRIVATE"
    assert lines_with(text, r"(?i)\bprivate\b|never share") == ("Never share the address.", "- keep health PRIVATE")


def test_a_budget_has_a_token() -> None:
    """Zero would be an empty answer that nobody asked for."""
    with pytest.raises(ValueError, match="at least one"):
        wake_block([], 0)
