"""Signs that mean something: punctuation by which two texts of the same words are two things, as in code, paths and formulas.

"C++" and "C#", "a - b" and "a + b", "foo!" and "foo?", ".NET" and "NET", "*args" and "**args", "/etc/hosts" and "etc/hosts". Commas,
quotes, brackets, full stops and hyphens are punctuation; so are emphasis in Markdown and the signs that open a mention or a list.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from slowwave.texts.tokens import fold

_LONGEST: Final = 4_000


class SignDifference(NamedTuple):
    """What two texts write otherwise, and whether both write a sign there or only one of them."""

    a: str
    b: str
    degree: Literal["conflict", "one_sided"]


def may_have_signs(text: str) -> bool:
    """A cheap look: False for a text that ``other_signs`` finds the same as any of its words."""
    return _SIGN.search(text) is not None


def other_signs(a: str, b: str) -> SignDifference | None:
    """The first place between the same two words where two texts have another sign, or identifiers that are another's; None where they
    mean the same. The answer does not depend on the order but for its sides.

    Time: linear in the first 4,000 characters, and next to nothing for texts without signs.
    """
    if not (may_have_signs(a) or may_have_signs(b)):
        return None
    one, two = _places(a), _places(b)
    found: SignDifference | None = None
    for place in sorted(one.keys() & two.keys()):
        if one[place].isdisjoint(two[place]):
            sign = _other(min(one[place]), min(two[place]))
            if sign and sign.degree == "conflict":
                return sign
            found = found or sign
    return found or _identifiers(a, b)


class _Gap(NamedTuple):
    """What stands between two words: ``joint`` where there is no space, else behind the left, in the middle and before the right one."""

    joint: str = ""
    behind: str = ""
    middle: str = ""
    before: str = ""


def _places(text: str) -> dict[tuple[str, str], set[_Gap]]:
    """(word, next word) → the gaps between them; the ends of the text are empty words."""
    text = _EMPHASIS.sub(r"\2", _LIST.sub("", fold(text[:_LONGEST])))
    found: dict[tuple[str, str], set[_Gap]] = {}
    left, at = "", 0
    for match in _WORD.finditer(text):
        between = text[at : match.start()]
        found.setdefault((left, match[0]), set()).add(_gap(between if left else f" {between}"))
        left, at = match[0], match.end()
    if left:
        found.setdefault((left, ""), set()).add(_gap(f"{text[at:]} "))
    return found


def _gap(between: str) -> _Gap:
    parts = _SPACE.sub(" ", between).split(" ")
    if len(parts) == 1:
        return _Gap(joint=_PLAIN.sub("", parts[0]).replace("\\", "/"))
    behind, *inner, before = parts
    before = before.replace("\\", "/") if _BEFORE.fullmatch(before) else ""
    if before in _COMPARED:  # "<5" is "< 5"
        inner, before = [*inner, before], ""
    return _Gap("", _PLAIN.sub("", behind), _PLAIN.sub("", "".join(inner)), before)


def _other(x: _Gap, y: _Gap) -> SignDifference | None:
    if x.joint or y.joint:
        one, two = ((g.joint.strip("-") or g.joint[:1]) if g.joint else "".join(g).strip("-") for g in (x, y))
        return _differ(one, two, _JOINED)
    pairs = zip(x[1:], y[1:], (_CLOSING, _MIDDLE, _OPENING), strict=True)
    return next((s for one, two, weak in pairs if (s := _differ(one, two, weak))), None)


def _differ(x: str, y: str, weak: frozenset[str]) -> SignDifference | None:
    """Two signs in one place, of which ``weak`` ones may be left out."""
    if x == y or (weak is not _OPENING and {x, y} <= _DASHES):
        return None
    if x and y:
        return SignDifference(x, y, "one_sided" if {x, y} <= weak and weak is _JOINED else "conflict")
    return SignDifference(x, y, "one_sided") if (x or y) not in weak else None


def _identifiers(a: str, b: str) -> SignDifference | None:
    """Identifiers and paths that stand in one text only, in whatever way the other writes its words."""
    one, two = (set(_CODE.findall(t[:_LONGEST])) for t in (a, b))
    if one == two:
        return None
    whole = [_JOINTS.sub("", fold(t[:_LONGEST])) for t in (a, b)]
    mine = sorted(c for c in one if _JOINTS.sub("", fold(c)) not in whole[1])
    theirs = sorted(c for c in two if _JOINTS.sub("", fold(c)) not in whole[0])
    return SignDifference(mine[0] if mine else "", theirs[0] if theirs else "", "one_sided") if mine or theirs else None


_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_SPACE: Final = re.compile(r"[\s\"“”„«»‹›()\[\]{}`´]+")
_PLAIN: Final = re.compile(r"[.,;:'’‘…·•¿¡_\u2010-\u2015]+")
_BEFORE: Final = re.compile(r"\.{1,2}|\.{0,2}[/\\]|[^\w\s.,;:'’‘…·•¿¡_\u2010-\u2015]{1,3}[./]?")
_EMPHASIS: Final = re.compile(
    r"(?<![\w*_~])(\*{1,3}|_{1,3}|~~)(?=[\w\"'(`])([^*_~\n]{1,200}?)(?<=[\w.!?)\"'`])\1(?![\w*_~])"
)
_LIST: Final = re.compile(r"^[ \t]*(?:[-*+>]|#{1,6})[ \t]+", re.MULTILINE)
_COMPARED: Final = frozenset(("<", ">", "<=", ">=", "=", "==", "!=", "~", "≈", "≠", "≤", "≥"))
_DASHES: Final = frozenset(("", "-", "--", "---"))
_JOINED: Final = _DASHES | frozenset("/&|@#°")
_CLOSING: Final = _DASHES | frozenset(
    ("!", "?", "!!", "??", "?!", "!?", "%", "$", "€", "£", "°", "*", "/", "&", "~", "™", "®", "©")
)
_MIDDLE: Final = _DASHES | frozenset(("%", "/", "//", "&", "|", "~", "*", "**", "***", "#", "##", "@", "•", "!", "?"))
_OPENING: Final = frozenset(("", "-", "@", "#", "$", "+", "€", "£", "&", "~"))
"""Signs that may be left out: between letters, behind a word, between words, before a word."""

_SIGN: Final = re.compile(
    r"[+*/\\<>=~^|&%!?@#$\u2190-\u22ff]|(?<![\w.])\.{1,2}[\w/]|(?:^|\s)--?\w|\s-\s|_|::|[a-z][A-Z]|\w\.\w"
)
_CODE: Final = re.compile(
    r"\b[a-z]+(?:[A-Z][a-z0-9]*)+\b|\b\w+(?:_\w+)+\b|\b\w+(?:::\w+)+|\b\w+(?=\(\))|\b[a-z]\w*(?:\.[a-z]\w+)+\b|(?<![\w/])(?:~|\.{1,2})?/\w[\w./-]*\w"
    r"|(?<=`)[^`\n]{1,80}(?=`)|(?<!\w)--?[a-z][\w-]+"
)
_JOINTS: Final = re.compile(r"[\W_]+")
