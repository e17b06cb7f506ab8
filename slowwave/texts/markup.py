"""Markup in prose that is none: tags and comments of HTML, images of Markdown, directives of reStructuredText, a Python prompt; and text
without it, for readers of a line.

Code between backticks and fences belongs to ``slowwave.texts.code_spans``.
"""

from __future__ import annotations

import re
from typing import Final

_MARKUP: Final = (
    re.compile(r"<!--(?:[^-<]++|-(?!->)|<(?!!--))*+-->"),
    re.compile(r"</?[A-Za-z][A-Za-z0-9-]*+(?=[\s/>])[^<>]{0,2000}>"),
    re.compile(r"!\[[^\[\]\n]{0,500}\]"),
    re.compile(r"^[ \t]*\.\. [^\n]*+(?:\n[ \t]+:[^\n]*+)*+", re.MULTILINE),
    re.compile(r"^[ \t]*>>> [^\n]*+", re.MULTILINE),
)


_COMMENT: Final = re.compile(r"[ \t]*<!--(?:[^-<]++|-(?!->)|<(?!!--))*+-->[ \t]*")
_CLAIM: Final = re.compile(r"[ \t]?\[[0-9a-f]{4,36}\]\(claim:[^()\s]*\)")
"""A reference to a claim on a canonical page: "[9c28caec](claim:9c28caec-…)", not "[the plan](plan.md)"."""
_EMPTY_HEADING: Final = re.compile(r"^(#{1,6})[ \t][^\n]*\n?(?:[ \t]*\n)*(?=(?!\1#)#{1,6}[ \t]|\Z)", re.MULTILINE)
"""A heading whose section is empty: "## Timeline" before "## Evidence", not "# Title" before "## Summary"."""
_IMAGE: Final = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)|!\[\[([^\[\]\n]*)\]\]")
_LINK: Final = re.compile(r"\[([^\[\]\n]+)\]\([^()\n]*\)")
_WIKILINK: Final = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
_EMPHASIS: Final = re.compile(r"(?<![\w*])(\*\*\*|\*\*|\*|___|__|_)(?=\S)([^*_\n]*?\S)\1(?![\w*])")
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]{0,2000})?/?>")


def without_marks(text: str) -> str:
    """Return a text without what only programs read: comments of HTML, references to claims, headings with nothing under them."""
    bare = _CLAIM.sub("", _COMMENT.sub("", text)) if "<!--" in text or "](claim:" in text else text
    if "#" in bare and "```" not in bare and "~~~" not in bare and len(bare.lstrip("# \t").splitlines()) > 1:
        bare = _EMPTY_HEADING.sub("", bare)
    return text if bare == text else re.sub(r"\n{3,}", "\n\n", bare).strip()


def plain_line(text: str) -> str:
    """Return a line of Markdown as plain text: links by their words, no emphasis, no tags, no images."""
    text = _IMAGE.sub(lambda found: found[1] or "", _CLAIM.sub("", _COMMENT.sub(" ", text)))
    text = _TAG.sub("", _LINK.sub(r"\1", _WIKILINK.sub(r"\1", text)))
    return _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))


def markup_spans(text: str) -> list[tuple[int, int]]:
    """Spans (start, end) of markup, which may overlap: tags with their attributes, what stands for a picture, directives."""
    return [match.span() for pattern in _MARKUP for match in pattern.finditer(text)]
