"""Which lines of a text look like headings: every word of weight has a capital, so that a capital says nothing of a word."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[^\W\d_]+")
_SHORTEST: Final = 4
"""Letters of a word of weight."""
_LINKS: Final = frozenset(
    (
        "with",
        "from",
        "into",
        "onto",
        "over",
        "under",
        "about",
        "between",
        "through",
        "without",
        "within",
        "upon",
        "your",
    )
)


class HeadingLines(NamedTuple):
    """Where lines begin, and whether each is a heading: more than one word, and none of four letters or more in small letters."""

    starts: list[int]
    headings: list[bool]

    @classmethod
    def of(cls, text: str) -> HeadingLines:
        """The lines of a text; linear in it."""
        starts, headings = [0], []
        for line in text.split("\n"):
            words = _WORD.findall(line)
            told = any(len(word) >= _SHORTEST and word[0].islower() and word not in _LINKS for word in words)
            headings.append(len(words) > 1 and not told)
            starts.append(starts[-1] + len(line) + 1)
        return cls(starts[:-1], headings)

    def is_heading(self, place: int) -> bool:
        """Whether the line of a place is one."""
        return self.headings[bisect_right(self.starts, place) - 1]
