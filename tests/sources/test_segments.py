"""A Markdown file as segments: put together they are the file, and blocks are what a person would call one thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.sources.blocks import block
from slowwave.sources.merging import lines_of, segments_of
from slowwave.text.frontmatter import UnreadableFile

LINES = [
    *(
        "- a",
        "- b\\",
        "* c",
        "+ d",
        "  - nested",
        "   continued",
        "",
        " ",
        "\t",
        "# H",
        "## 2026-03-02",
        "H\n===",
        "para",
        "para two",
    ),
    *(
        "```",
        "~~~",
        "1. one",
        "> said",
        "| a | b |",
        "|---|---|",
        "<div>",
        "<!-- c -->",
        "---",
        "- [ ] todo",
        "- [x] done",
        "As follows:",
    ),
    *(
        "- x ^anchor",
        "[a]: b.md",
        "<!-- slowwave:begin hash=0 -->",
        "<!-- slowwave:end -->",
        "\u2028- no line",
        "a\x0bb",
        "-",
        "- ",
        "\u00e9",
    ),
]


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\r\n", "\r", ""])), max_size=30))
def test_segments_put_together_are_the_file(parts: list[tuple[str, str]]) -> None:
    """Whatever stands in it, with whatever ends of lines."""
    text = "".join(line + end for line, end in parts)
    try:
        found = segments_of(text, "a.md")
    except UnreadableFile:
        return
    assert "".join(segment.raw for segment in found) == text
    assert all(segment.raw for segment in found)
    lines = lines_of(found)
    assert "".join(segment.raw for segment in lines) == text
    assert all(segment.raw for segment in lines)


def test_lines_of_a_paragraph_are_blocks_where_no_line_is_wrapped() -> None:
    """Items with what is nested in them stay one; a line that says nothing goes with the one above; what leads a line is no part."""
    text = "Name: Anna\n  Likes tea  \n...\n\n# Work\n- a kiln\n  in Oslo\n\nOne line"
    assert [(s.lead, s.body, s.tail) for s in lines_of(segments_of(text, "human/block-1.md")) if s.block] == [
        ("", "Name: Anna", "\n"),
        ("  ", "Likes tea", "  \n...\n\n"),
        ("- ", "a kiln\n  in Oslo", "\n"),
        ("", "One line", ""),
    ]


def test_blocks_are_items_and_paragraphs_under_their_headings() -> None:
    """Items with what is nested in them, paragraphs; a box, an anchor and the line over a list tell them apart; days come from headings."""
    text = (
        "---\ntitle: x\n---\n# Memory\n\nAnna likes\ntea.\n\n## 2026-03-02\n\nShopping:\n- milk\n  - two bottles\n- milk ^a1\n- [ ] call\n"
        "- [x] call\n\n1. first\n2. second\n\n```\n- code\n```\n\n> - quoted\n\n## Other\n* tea"
    )
    found = [s for s in segments_of(text, "notes/2026-01-05.md") if s.block]
    assert [(s.lead, s.body) for s in found] == [
        ("", "Anna likes\ntea."),
        ("- ", "milk\n  - two bottles"),
        ("- ", "milk ^a1"),
        ("- [ ] ", "call"),
        ("- [x] ", "call"),
        ("* ", "tea"),
    ]
    sections = [s.section for s in found]
    assert sections[:2] == ["Memory", "Memory › 2026-03-02 › Shopping:"]
    assert len({*sections}) == len(sections), "none of these is the same as another"
    assert found[0].day == datetime(2026, 1, 5, 12, tzinfo=UTC), "of the file"
    assert found[1].day == datetime(2026, 3, 2, 12, tzinfo=UTC), "of the heading"
    assert [s.day for s in segments_of("- tea\n", "2026-13-40.md")] == [None]


@pytest.mark.parametrize(
    ("text", "body", "left"),
    [
        ("- a\n- b\n- c\n", "b", "- a\n- c\n"),
        ("# H\n\n- a\n\n# I\n", "a", "# H\n\n# I\n"),
        ("one\n\ntwo\n\nthree\n", "two", "one\n\nthree\n"),
        ("- a\n\n- b\n\n- c\n", "b", "- a\n\n- c\n"),
        ("- a\n- b", "b", "- a\n"),
    ],
)
def test_a_block_leaves_no_hole(text: str, body: str, left: str) -> None:
    assert "".join(s.raw for s in segments_of(text, "a.md") if s.body != body) == left


def test_what_slowwave_renders_is_nobodys_memory() -> None:
    text = f"- mine\n\n{block('- rendered')}\n\n- mine too\n"
    assert [s.body for s in segments_of(text, "a.md") if s.block] == ["mine", "mine too"]
