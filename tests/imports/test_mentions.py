"""Names of a text: a bounded number, each of a length that an index takes."""

from __future__ import annotations

from slowwave.imports.mentions import MOST_NAMES, read_names
from slowwave.texts.extraction import LONGEST_NAME


def test_no_text_brings_more_names_than_may_be():
    """The first ones, with all their occurrences."""
    letters = "abcdefghijkl"
    names = [f"Anna Q{a}{b}{c}" for a in letters for b in letters for c in letters]
    read = read_names(", ".join([*names, names[0]]))
    assert len(names) > MOST_NAMES == len(read)
    assert read["person", names[0].casefold()] == (names[0], 2)


def test_a_name_that_folding_makes_too_long_is_none():
    """One ligature of Unicode is eighteen letters in its folded form."""
    read = read_names(f"See `{chr(0xFDFA) * 99}` and Jane Smith.")
    assert all(len(name) <= LONGEST_NAME for _, name in read)
    assert ("person", "jane smith") in read
