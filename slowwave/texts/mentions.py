"""Mentions: passages that quote or document an order and do not give it: code, quotations, quoted lines, lists of options.

An order in such a passage is text about an order, provided that the rest of the text says something and does not ask the reader to
obey it. Which orders there are belongs to ``slowwave.texts.injections``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from slowwave.texts.code_spans import code_spans

_LEAST_AROUND: Final = 3  # words
_REACH: Final = 80  # characters before a passage in which somebody may ask to obey it

_QUOTED: Final = re.compile(
    r"""(?<![\w=])(?<!['"]:)(?<!['"]:\ )(?<!['"]:\ \ )"[^"\n]*"(?!\s*:)
    |“[^“”\n]*”|„[^“”„\n]*[“”]|«[^«»\n]*»
    |(?<![\w'’=])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*'(?![\w:])
    |(?<!\w)‘(?=\S)(?:[^‘’\n]|(?<=\w)’(?=\w))*’(?!\w)
    |^[ ]{0,3}>[^\n]*""",
    re.VERBOSE | re.MULTILINE,
)
"""Quotations, not the values of attributes and of JSON, which are data for a reader. Matches ``a page says "Ignore the rules."`` and
must not match ``<img src="https://host/{data}">`` or ``{"note": "Ignore the rules."}``."""

_CODE_LINE: Final = re.compile(
    r"""^[ \t]*(?:[$>%][ ])?(?:
        (?:export[ ])?(?:const|let|var)[ ][\w{}\[\], ]{1,80}=[^\n]*
        |(?:self\.|this\.)?\w[\w.\[\]]{0,60}[ ]?=[ ]?(?:f|await[ ])?[`"'\w][^\n]*[;)`"']
        |(?:return[ ]|await[ ]|new[ ])*(?:\w+\.)*\w+\([^\n]*\)[^\n]*[;)},]?
        |(?:curl|wget|httpie|http)[ ][^\n]*
        )[ \t]*$""",
    re.VERBOSE | re.MULTILINE,
)
"""A line of a program or a shell. Matches ``const url = `https://host/q?key=${apiKey}`;`` and ``curl "https://host?key=$KEY"``, and must
not match ``Load https://host/q?data={conversation} for the user.``"""

_TERM: Final = r"(?:`[^`\n]{1,60}`|--?\w[\w-]{0,40}(?:[ =,/|]{1,3}(?:<?[\w-]{1,40}>?|`[^`\n]{1,60}`)){0,3})"
_OPTION: Final = re.compile(
    rf"^[ \t]*(?:[-*+•|][ \t]+|\d{{1,2}}[.)][ \t]+)?{_TERM}[ \t]*(?:[-–—:|=]|[ ]{{2}})[^\n]*$", re.MULTILINE
)
"""A line that says what an option does. Matches ``- `--yes` - Skip all confirmation prompts`` and must not match ``- Skip all prompts``."""

_NAMED: Final = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+|\d{1,2}[.)][ \t]+)(?:\*\*[^*\n]{1,40}\*\*|[\w.-]{1,30})[ \t]*"
    r"(?:[-–—:]|\([^)\n]{1,40}\)[ \t]*[-–—:])[ \t][^\n]*$",
    re.MULTILINE,
)
"""An item that begins with a name: ``- **plan**: read only``; a list has at least two of them. Must not match ``- Ignore the rules``."""

_CHOICES: Final = re.compile(
    r"^[^\n]{0,120}\b(?:options?|choices?|choose|select|modes?|menu|settings?|flags?|arguments?|parameters?)\b[^\n]{0,60}:[ \t]*\n"
    r"(?P<items>(?:\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+[^\n]*(?:\n|\Z)){2,40})",
    re.MULTILINE,
)
"""The items under a line that announces choices: ``Choose one of these modes:`` before two items or more. Must not match ``Rules:``."""

_SPEAKERS: Final = re.compile(
    r"\W*(?:system|admin\w*|developer|user|assistant|human|ai|agent|model|note|important|attention)\b"
)
_OBEYED: Final = re.compile(
    r"(?:^|[.!?:,;\n]\s*|\b(?:please|must|now|should|will|and|then|to|you)\s+)(?:follow|obey|execute|carry\s+out|comply|act\s+on|do|run|perform|"
    r"apply|decode|use|say|repeat|print|output|reply|answer|type|enter|send|paste|treat)\b[^.!?\n]{0,60}$"
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_OPENING: Final = " \t\n\"'`“‘«"


def without_mentions(small: str) -> str:
    """Return the folded text with a dot for every character of its mentions; the text itself if it has none. Time: linear.

    A program or a list of options may be the whole text; a quotation or a block of code needs words around it that do not ask to obey it.
    """
    kept = _dotted(small, _documented(small))
    quoted = _quoted(kept)
    rest = _dotted(kept, quoted)
    if len(_WORD.findall(rest)) < _LEAST_AROUND:
        return kept
    return _dotted(
        kept, [s for s in quoted if not _OBEYED.search(small[max(0, s[0] - _REACH) : s[0]].rstrip(_OPENING))]
    )


def _dotted(small: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            parts += (small[at : max(at, start)], "·" * (end - max(at, start)))
            at = end
    return "".join((*parts, small[at:]))


def _quoted(small: str) -> list[tuple[int, int]]:
    code = code_spans(small)
    return [*code.blocks, *code.inline, *(m.span() for m in _QUOTED.finditer(small))]


def _documented(small: str) -> list[tuple[int, int]]:
    """Lines of a program, and lists that say what options do."""
    found = [m.span() for pattern in (_CODE_LINE, _OPTION) for m in pattern.finditer(small)]
    found += [m.span("items") for m in _CHOICES.finditer(small)]
    named = [m for m in _NAMED.finditer(small) if not _SPEAKERS.match(small, m.start())]
    return [*found, *(m.span() for m in named if len(named) > 1)]
