"""Names in the forms that are compared, as arrays: one row an entity, one integer a form.

Equal integers mean equal forms, so that pairs are compared without touching a string. Which forms make a candidate pair
belongs to ``slowwave.matching.candidates``, what agreement weighs to ``slowwave.matching.evidence``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.nicknames import FORMAL

Codes = NDArray[np.int64]
"""Interned strings; -1 where a row has no such form."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*[+#]{0,2}")
_LEGAL: Final = frozenset(
    (
        *("inc", "incorporated", "ltd", "limited", "llc", "llp", "lp", "plc", "corp", "corporation", "co", "company"),
        *(
            "gmbh",
            "ag",
            "kg",
            "se",
            "sa",
            "sas",
            "sarl",
            "srl",
            "spa",
            "bv",
            "nv",
            "oy",
            "ab",
            "as",
            "aps",
            "pty",
            "pte",
        ),
    )
)
_TITLES: Final = frozenset(("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "sir", "the"))
_SMALL: Final = frozenset(("of", "the", "and", "for", "de", "la", "di", "von", "van", "in", "on", "to", "a"))
_LETTERS: Final = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ß": "ss", "ħ": "h", "’": "'"}
)
"""Letters that Unicode does not decompose, as people write them on other keyboards."""

LONGEST: Final = 200
"""Letters up to which names are compared letter by letter; longer ones are prose, and match only when a form is equal."""

_NICKNAMES: Final = 3
_ACRONYMS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Forms of n names. All code arrays are (n,) unless noted, and share one numbering.

    ``plain``: folded, "Last, First" turned round. ``compact``: no spaces, titles or legal forms. ``ordered``: words sorted.
    ``short``: ``compact`` where the name or its first word may be an acronym; ``acronym`` (n, 3): initials of its words, with
    and without small words, and of all but the last. ``nickname`` (n, 3): the name with its first word in formal form.
    ``initial``: first letter and last word of two-part names, ``abbreviated`` whether the first word is that letter alone.
    ``length`` counts the letters of ``compact``. ``folded`` and ``squeezed`` are the texts of ``plain`` and ``compact``.
    """

    folded: NDArray[np.object_]
    squeezed: NDArray[np.object_]
    plain: Codes
    compact: Codes
    ordered: Codes
    short: Codes
    acronym: Codes
    nickname: Codes
    initial: Codes
    abbreviated: NDArray[np.bool_]
    length: Codes


def fold(text: str) -> str:
    """Lower case without accents or punctuation, words parted by one space; "+" and "#" stay ("C++", "C#")."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_LETTERS)
    words = _WORD.findall(text.casefold().replace("&", " and "))
    return " ".join(words).replace("'", "") or " ".join(text.casefold().split())


def prepare(names: Sequence[str]) -> Names:
    """Names → their forms. One pass over the distinct names."""
    number: dict[str, int] = {}
    distinct, inverse = np.unique(np.array(names, np.object_), return_inverse=True)
    forms = [_forms(str(name), number) for name in distinct]

    def column(k: int, width: int = 1) -> NDArray[np.int64]:
        values = np.array([f[k] for f in forms], np.int64).reshape(len(forms), width)[inverse]
        return values if width > 1 else values.ravel()

    texts = np.empty((2, len(forms)), np.object_)
    for k in (0, 1):
        texts[k] = [f[k] for f in forms]
    return Names(
        folded=texts[0][inverse],
        squeezed=texts[1][inverse],
        plain=column(2),
        compact=column(3),
        ordered=column(4),
        short=column(5),
        acronym=column(6, _ACRONYMS),
        nickname=column(7, _NICKNAMES),
        initial=column(8),
        abbreviated=column(9).astype(bool),
        length=column(10),
    )


_Forms = tuple[str, str, int, int, int, int, tuple[int, ...], tuple[int, ...], int, bool, int]


def _forms(name: str, number: dict[str, int]) -> _Forms:
    def code(kind: str, text: str) -> int:
        return number.setdefault(f"{kind}\t{text}", len(number)) if text else -1

    plain = fold(name)
    head, comma, tail = name.partition(",")
    if comma and "," not in tail and not set(fold(tail).split()) <= _LEGAL and len(tail.split()) <= 3:
        plain = fold(f"{tail} {head}")
    words = plain.split()
    core = _core(words)
    compact = "".join(core)
    acronyms = dict.fromkeys(
        "".join(w[0] for w in some) for some in (core, [w for w in core if w not in _SMALL]) if len(some) >= 2
    )
    if len(core) >= 4:
        acronyms["".join(w[0] for w in core[:-1]) + core[-1]] = None  # "PTA Meeting"
    formal = [" ".join((f, *core[1:])) for f in FORMAL.get(core[0], (core[0],))] if len(core) > 1 else []
    letters = len(core) == 2 and core[0][0].isalpha()
    return (
        plain,
        compact,
        code("plain", plain),
        code("compact", compact),
        code("ordered", " ".join(sorted(core))),
        code("compact", compact) if _is_short(name, words, compact) else -1,
        _pad([code("compact", a) for a in acronyms], _ACRONYMS),
        _pad([code("formal", f) for f in formal], _NICKNAMES),
        code("initial", f"{core[0][0]} {core[1]}") if letters and len(core[1]) > 1 else -1,
        letters and len(core[0]) == 1,
        len(compact),
    )


def _is_short(name: str, words: list[str], compact: str) -> bool:
    """Whether a name may be an acronym ("IBM", "I.B.M.", "Nato"), alone or before one more word ("PTA Meeting")."""
    if len(words) == 1 or all(len(w) == 1 for w in words):
        return 2 <= len(compact) <= 6 and name[:1].isupper()
    first = name.split()[0]
    return len(words) == 2 and 3 <= len(first) <= 6 and first.isupper()


def _core(words: list[str]) -> list[str]:
    """Words without leading titles and trailing legal forms; all of them when nothing else would be left."""
    start, end = 0, len(words)
    while end - start > 1 and words[end - 1] in _LEGAL:
        end -= 1
    while end - start > 1 and words[start] in _TITLES:
        start += 1
    return words[start:end]


def _pad(codes: list[int], width: int) -> tuple[int, ...]:
    return (*codes[:width], *[-1] * (width - len(codes)))
