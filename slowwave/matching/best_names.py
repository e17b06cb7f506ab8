"""The name that an entity keeps when rows with several names become one.

The name is chosen for its quality, apart from the row that survives. In this order: it is spelt correctly, it is the full form, its words
stand in their natural order, it keeps its accents, it is written as a name (with capitals, a brand in its own spelling), and most sources
have it. Each property compares a name with the other names of the group, so that nothing is held against a name that has no better rival.
No name is made up: one of those given is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.matching.names import UNNAMED, fold
from slowwave.matching.nicknames import FORMAL
from slowwave.texts.known_names import is_given
from slowwave.texts.lexicon import is_known
from slowwave.texts.slips import near, respelt

_WORD: Final = re.compile(r"[^\W_]+")
_BRAND: Final = re.compile(r"\b[^\W\d_]{3,}(?<=[a-z])[A-Z][^\W\d_]{2,}\b")
"""A capital inside a word of two longer parts: "OpenTelemetry", not "McDonald" or "WiFi"."""

_ACRONYM: Final = re.compile(r"\b[A-Z][A-Z0-9.&]{1,7}\b")
_LONGEST: Final = 12
"""Words up to which names are compared word by word; a longer name is prose."""


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """The name of one row: ``sources`` counts what it comes from, ``context`` holds other texts of the row, such as its attributes."""

    name: str
    sources: int = 0
    context: str = ""


def choose_name(candidates: Sequence[NameCandidate]) -> str:
    """Return the best of the names; of equally good ones the first.

    Cost: the product of the words of each two names, and a look at the lexicon for each word that another name spells differently.
    """
    if not candidates:
        raise ValueError("A name can be chosen from one candidate or more, and none was given.")
    names = list(dict.fromkeys(c.name for c in candidates))
    if len(names) == 1:
        return names[0]
    sources = {name: sum(c.sources for c in candidates if c.name == name) for name in names}
    context = frozenset(fold(" ".join(c.context for c in candidates)).split())
    read = [_ReadName.of(name) for name in names]

    def quality(name: _ReadName) -> tuple[int, ...]:
        others = [other for other in read if other is not name]
        return (
            -sum(_misspells(name, other, context) for other in others),
            -max(_abbreviates(name, other) for other in others),
            -int(any(_is_turned(name, other) for other in others)),
            _accents(name, others),
            -int(any(_lacks_capitals(name, other) for other in others)),
            int(any(_is_brand(name, other) for other in others)),
            int(unicodedata.is_normalized("NFC", name.text)),
            sources[name.text],
        )

    return max(read, key=quality).text


@dataclass(frozen=True, slots=True)
class _ReadName:
    """A name with its folded words, in the order in which they are written."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _ReadName:
        return cls(text, tuple(fold(text).split())[:_LONGEST])


def _misspells(name: _ReadName, other: _ReadName, context: frozenset[str]) -> int:
    """Count the words of a name that another name spells correctly."""
    mine, theirs = set(name.words) - set(other.words), set(other.words) - set(name.words)
    return sum(any(_is_misspelt(word, right, context) for right in theirs) for word in mine)


def _is_misspelt(word: str, right: str, context: frozenset[str]) -> bool:
    """Whether one of two words a few letters apart is known, by the lexicon or by what else the rows say, and the first is not."""
    if not near(word, right) or respelt(word, right):
        return False
    found = [(_is_correct(w), any(w in other for other in context)) for w in (word, right)]
    return found[0] < found[1]


def _is_correct(word: str) -> bool:
    return is_known(word) or is_given(word)


def _abbreviates(name: _ReadName, other: _ReadName) -> int:
    """Return 2 for an acronym or initials of what the other name writes out, 1 for the short form of a given name, else 0."""
    mine, theirs = set(name.words) - set(other.words), [w for w in other.words if w not in name.words]
    if not mine or not theirs:
        return 0
    initials = ["".join(w[0] for w in words) for words in (theirs, [w for w in theirs if w not in UNNAMED])]
    for text in _ACRONYM.findall(name.text):
        letters = "".join(_WORD.findall(text)).casefold()
        if len(letters) > 1 and letters in initials and len(theirs) > 1:
            return 2
    if any(len(w) == 1 and any(len(full) > 1 and full.startswith(w) for full in theirs) for w in mine):
        return 2
    return int(any(full in FORMAL.get(w, ()) and w not in FORMAL.get(full, ()) for w in mine for full in theirs))


def _is_turned(name: _ReadName, other: _ReadName) -> bool:
    """Whether a name has its family name first and a comma, and the other name has as many words without one."""
    family, comma, given = name.text.partition(",")
    if not comma or "," in given or "," in other.text:
        return False
    turned = (*fold(given).split(), *fold(family).split())
    pairs = zip(turned, other.words, strict=False)
    return len(turned) == len(other.words) and all(a == b or a[0] == b[0] or near(a, b) for a, b in pairs)


def _accents(name: _ReadName, others: Iterable[_ReadName]) -> int:
    """Count the letters of a name that another name writes without their accents."""
    if not any(_is_unaccented(other, name) for other in others):
        return 0
    return sum(map(_is_accented, unicodedata.normalize("NFC", name.text)))


def _is_unaccented(name: _ReadName, other: _ReadName) -> bool:
    """Whether a name is the other one in plain letters ("Mueller" and "Muller" of "Müller")."""
    text = unicodedata.normalize("NFC", other.text)
    if not name.text.isascii() or not any(map(_is_accented, text)):
        return False
    # letters of other alphabets that look like Latin ones are no accents: they would put a forged name in the place of the true one
    if any(c.isalpha() and not c.isascii() and not _is_accented(c) for c in text):
        return False
    return fold(name.text) in (fold(text), fold(text.translate(_WRITTEN_OUT)))


def _is_accented(letter: str) -> bool:
    return not letter.isascii() and unicodedata.name(letter, "").startswith("LATIN ")


_WRITTEN_OUT: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "Å": "Aa", "ø": "oe", "Ø": "Oe"}
)


def _lacks_capitals(name: _ReadName, other: _ReadName) -> bool:
    """Whether a name is written in letters of one size, and the other one has the same letters with capitals as names have them."""
    if _squeezed(name) != _squeezed(other):
        return False
    return _has_one_size(name.text) and not _has_one_size(other.text)


def _has_one_size(text: str) -> bool:
    return text == text.lower() or (text == text.upper() and len(_WORD.findall(text)) > 1)


def _is_brand(name: _ReadName, other: _ReadName) -> bool:
    """Whether a name joins with a capital what the other one writes as two words."""
    return bool(_BRAND.search(name.text)) and not _BRAND.search(other.text) and _squeezed(name) == _squeezed(other)


def _squeezed(name: _ReadName) -> str:
    return "".join(name.words)
