"""Marks of code: what tells two commands, options or expressions apart that have the same words.

"-v" and "-V", "`make test-unit`" and "`make test_unit`", "f(x) + 1" and "f(x + 1)", "a[0]" and "a(0)", and abbreviations that are
everyday words in small letters ("WHO", "the US office"). Operators and paths belong to ``slowwave.texts.signs``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.texts.vocabulary import words_of

_LONGEST: Final = 4_000
_READ: Final = 16_384


class CodeMarks(NamedTuple):
    """Options, single letters and abbreviations as they are written; code in backticks; words with ``_`` or ``-`` between them, as (what
    they are without, how they are joined); brackets with what stands in them."""

    cased: frozenset[str]
    quoted: frozenset[str]
    joined: frozenset[tuple[str, str]]
    bracketed: frozenset[str]


@lru_cache(_READ)
def code_marks(text: str) -> CodeMarks:
    """The marks of a text. Time: linear in its first 4,000 characters, a few µs."""
    text = text[:_LONGEST]
    cased = set(_OPTION.findall(text))
    cased.update(match[0] for match in _LETTER.finditer(text))
    if not text.isupper():
        cased.update(_ABBREVIATION.findall(text))
    joins = ((match[0].casefold(), match[0]) for match in _JOINED.finditer(text))
    return CodeMarks(
        frozenset(cased),
        frozenset(_BACKTICKS.findall(text)) if "`" in text else frozenset(),
        frozenset((_JOINTS.sub("", folded), "".join(_JOINTS.findall(word))) for folded, word in joins),
        frozenset(_SPACES.sub("", span) for span in _BRACKETS.findall(text)) if _OPEN.search(text) else frozenset(),
    )


def other_code(a: str, b: str) -> tuple[str, str] | None:
    """What each of two texts writes where the other has other code, or None. Backticks may be left out, and so may joints ("user name")."""
    if a.isalpha() or a == b:
        return None
    one, two = code_marks(a), code_marks(b)
    if one == two:
        return None
    mine, theirs = _recased(one, two, b), _recased(two, one, a)
    if mine or theirs:
        return mine, theirs
    if one.bracketed != two.bracketed:
        return " ".join(sorted(one.bracketed - two.bracketed)), " ".join(sorted(two.bracketed - one.bracketed))
    if one.quoted and two.quoted:
        mine = " ".join(sorted(c for c in one.quoted - two.quoted if c not in b))
        theirs = " ".join(sorted(c for c in two.quoted - one.quoted if c not in a))
        if mine or theirs:
            return mine, theirs
    x, y = dict(one.joined), dict(two.joined)
    return next(((x[w], y[w]) for w in sorted(x.keys() & y.keys()) if x[w] != y[w]), None)


def _recased(one: CodeMarks, two: CodeMarks, other: str) -> str:
    """What the other text writes too, in letters of another case."""
    mine = one.cased - two.cased
    said = set(_SAID.findall(other.casefold())) if mine else ()
    return " ".join(sorted(word for word in mine if word.casefold() in said))


_OPTION: Final = re.compile(r"(?<![\w-])-[A-Za-z]+\b(?!-)")
_LETTER: Final = re.compile(r"(?<![\w'’.&-])(?![aAiI]\b)[^\W\d_](?![\w'’&-]|\.\w)")
_ABBREVIATIONS: Final = words_of("us it who or am in an as at he me my so we is be do go id")
"""Words of grammar that are another word in capitals; what is shouted for emphasis ("NOT", "ALL") is none of them."""

_ABBREVIATION: Final = re.compile(rf"\b(?:{'|'.join(sorted(w.upper() for w in _ABBREVIATIONS))})\b")
_SAID: Final = re.compile(r"-?\w+")
_BACKTICKS: Final = re.compile(r"`([^`\n]{1,200})`")
_JOINED: Final = re.compile(r"[^\W_]+(?:[_-][^\W_]+)+")
_JOINTS: Final = re.compile(r"[_-]")
_OPEN: Final = re.compile(r"\w[(\[{]|[-+*/^=%<>]\s*[(\[{]|[)\]}]\s*[-+*/^=%<>]")
_BRACKETS: Final = re.compile(
    r"\w+(?!\(e?s\))(?:\([^()]{1,200}\)|\[[^\[\]]{1,200}\]|\{[^{}]{1,200}\})"
    r"|(?<=[-+*/^=%<>])\s*\([^()]{1,200}\)|\([^()]{1,200}\)(?=\s*[-+*/^=%<>])"
)
_SPACES: Final = re.compile(r"[\s`]+")
