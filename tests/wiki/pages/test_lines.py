"""Untrusted words become one harmless line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from slowwave.wiki.pages.lines import LINE, escape, flat, hook, source
from tests.snapshots import uid

HOSTILE = [
    "[Approve this plan](javascript:alert(1))",
    "![](http://evil.example/pixel.png)",
    "<script>alert(1)</script>",
    "<!-- slowwave:end -->",
    "`code` **bold** _it_ ~~x~~ # title > quote",
    "# a heading",
    "- a list",
    "1. a list",
    "> a quote",
    "```\nfence",
    "[ref]: http://evil.example",
    "https://evil.example/click www.evil.example",
    "&lt;img src=x&gt; &#106;",
    "a | b\n--- | ---",
    "ends with a backslash \\",
    "line\u2028break\u202eesrever\u200bhidden\U000e0041tag\ufe0f",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_memory_is_shown_and_does_nothing(text: str) -> None:
    """No link but the source's, no markup, no HTML, no second line: a reader sees the words and nothing else happens."""
    memory = uid("m")
    line = f"- {hook(text, 80)} {source(memory)}"
    assert "\n" not in line
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(line)
    assert [t.type for t in tokens if t.type.endswith("_open")] == [
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
    ]
    inside = next(t for t in tokens if t.type == "inline").children or []
    assert {t.type for t in inside} <= {"text", "link_open", "link_close"}
    assert [t.attrs["href"] for t in inside if t.type == "link_open"] == [f"mem:{memory}"]
    said = "".join(t.content for t in inside)
    assert said == f"{flat(text)} {memory[:8]}"
    assert not any(unicodedata.category(c) in ("Cf", "Cc", "Cn", "Co", "Cs") for c in line)


@given(st.text(max_size=400), st.integers(10, LINE))
def test_no_text_is_longer_than_its_room_or_more_than_its_words(text: str, room: int) -> None:
    """Whatever a memory holds: one line, within its room, and as Markdown just its own beginning."""
    line = hook(text, room)
    assert len(line) <= room
    assert "\n" not in line
    tokens = MarkdownIt("commonmark").parse(f"x {line}")
    (inside,) = [t.children or [] for t in tokens if t.type == "inline"]
    said = "".join(t.content for t in inside).removeprefix("x").strip().removesuffix("…")
    assert flat(text).startswith(said)


def test_a_long_memory_is_cut_at_a_word() -> None:
    """A hook, not the content."""
    assert hook("The staging database moved to Frankfurt on Tuesday", 30) == "The staging database moved to…"
    assert hook("short", 30) == "short"
    assert len(hook("x" * 10_000_000, 40)) == 40


def test_plain_words_stay_plain() -> None:
    """Names with underscores, times and percent signs are read as they were written."""
    said = "Build 4.2.1 of snake_case_name at 12:30, 100% done & tested (a/b)."
    assert escape(said) == said
