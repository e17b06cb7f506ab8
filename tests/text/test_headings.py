"""Lines in which capitals say nothing."""

from __future__ import annotations

from slowwave.text.markdown import HeadingLines


def test_a_line_of_capitals_is_a_heading_whatever_small_words_it_has() -> None:
    """A word of four letters or more in small letters makes prose of it; one word alone is no heading."""
    text = "Weekly Planning with Notes\nWe met Jane Smith there.\nAlone\n* Sessions from Home"
    assert [
        HeadingLines.from_text(text).is_heading(text.index(word)) for word in ("Planning", "Jane", "Alone", "Home")
    ] == [
        True,
        False,
        False,
        True,
    ]
