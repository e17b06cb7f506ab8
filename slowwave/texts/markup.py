"""Markup in prose that is none: tags and comments of HTML, images of Markdown, directives of reStructuredText, a Python prompt.

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


def markup_spans(text: str) -> list[tuple[int, int]]:
    """Spans (start, end) of markup, which may overlap: tags with their attributes, what stands for a picture, directives."""
    return [match.span() for pattern in _MARKUP for match in pattern.finditer(text)]
