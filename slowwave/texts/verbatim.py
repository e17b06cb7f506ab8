"""Verbatim: the passages of a text that nobody may reword, as they are somebody else's words or no words at all.

Quotations, code, addresses, paths, markup, headings and front matter. Whether a phrase is the title of a work belongs to
``slowwave.texts.dates``, as it depends on the phrase.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple


class Verbatim(NamedTuple):
    """Spans that must stay as they are, sorted and apart from each other; ``Verbatim.of`` finds them in linear time."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Verbatim:
        """The passages of a text; a quotation ends with its paragraph, a fence that is never closed with the text."""
        spans = [m.span() for m in _PASSAGE.finditer(text)]
        return cls(tuple(start for start, _ in spans), tuple(end for _, end in spans))

    def touches(self, start: int, end: int) -> bool:
        """Whether a span overlaps such a passage."""
        place = bisect_right(self.starts, end - 1) - 1
        return place >= 0 and self.ends[place] > start


_PASSAGE: Final = re.compile(
    r"""
    \A---\n(?:(?!---$).*\n){0,400}---$                          # front matter
    |^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*(?:\n[ ]{0,3}(?P=fence)[^\n]*)?  # fenced code
    |^(?:[ ]{4}|\t)(?![ \t]*(?:[-*+•]|\d{1,3}[.)])\s)[^\n]*        # indented code
    |^[ ]{0,3}>[^\n]*                                           # a quoted line
    |^[ ]{0,3}\#{1,6}\s[^\n]*                                   # a heading
    |`+[^`\n]*`+
    |<(?:code|pre|blockquote|q)\b[^>]{0,200}>[^<]*              # up to the next tag, which is a passage as well
    |</?[a-z!][^<>\n]{0,400}>
    |\]\([^()\s]*\)                                             # where a link leads
    |\b(?:https?|ftp|file|mailto|www|urn|data)[:.]\S+
    |(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+
    |(?<!\w)"[^"\n]*"
    |“[^“”\n]*”?|„[^“”„\n]*[“”]?|«[^«»\n]*»?
    |(?<![\w'’])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)
    |(?<!\w)‘(?=\S)(?:[^‘’\n]|(?<=\w)’(?=\w))*’(?!\w)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
