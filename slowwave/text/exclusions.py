"""Words that cannot both be true in one place of a statement: antonyms, and members of one kind."""

from __future__ import annotations

import gzip
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.text.slips import respelt
from slowwave.text.words import words_of

# Exclusions: whether two English words exclude each other at one place of a statement: antonyms, and nouns or verbs of one kind.
#
# ``scripts.word_relations`` generates the table from WordNet 3.1; ``word_relations.LICENSE`` contains its notice. A line has a word and
# then, each after a bar: the word's paths in kinds (a letter for the kind, lower case for verbs, and one for every step down its
# hypernyms); its sides of antonym pairs ("4f+" against "4f-"; "4f>" and "4f<" if it is only near one of them); words that it does not
# exclude, whatever the rest states; and the base of an irregular form. Empty cells at the end are omitted. Words of one kind exclude each
# other, except a hypernym, whose path is a prefix of the other's, and except parts and wholes: the first line lists pairs of their paths.
# The context of the words is not considered here.

Exclusion = Literal["antonyms", "kind", "deed"]
"""The reason for an exclusion: antonyms, nouns of one kind, or verbs of one kind."""

_ASKED: Final = 32_768  # cached words and pairs


class Relations(NamedTuple):
    """Entries of the table for a word in any of its base forms ``bases``; empty if no line has them."""

    bases: frozenset[str]
    paths: frozenset[str]
    sides: frozenset[str]
    spared: frozenset[str]


@lru_cache(maxsize=_ASKED)
def exclusion(a: str, b: str) -> Exclusion | None:
    """Return how two words, or compounds joined by "_", exclude each other in any inflection; None if they may agree.

    Words are folded, except names. The first call loads the table: see ``relations``. The order of the words does not matter. Time: 20 µs
    for a new pair of words.
    """
    one, two = relations(a), relations(b)
    if not one.bases.isdisjoint(two.bases):
        return None
    if not one.spared.isdisjoint(two.bases) or not two.spared.isdisjoint(one.bases) or respelt(a, b):
        return None
    if not one.sides.isdisjoint(side.translate(_TURN) for side in two.sides if side[-1] in "+-"):
        return "antonyms"
    mine, theirs = ({side.translate(_PLAIN) for side in word.sides} for word in (one, two))
    if not mine.isdisjoint(side.translate(_TURN) for side in theirs):
        return "antonyms" if mine.isdisjoint(theirs) else None
    alike = {x[0] for x in one.paths} & {y[0] for y in two.paths}
    if not alike or any(x.startswith(y) or y.startswith(x) for x in one.paths for y in two.paths):
        return None
    if _is_part(one.paths, two.paths) or _is_part(two.paths, one.paths):
        return None
    return "kind" if any(not letter.islower() for letter in alike) else "deed"


@lru_cache(maxsize=_ASKED)
def relations(word: str) -> Relations:
    """Return the table's entries for a word and its base forms.

    The first call loads the table, about 25 ms and 4 MB; a new word takes 10 to 60 µs.
    """
    found = _lines(word) or (_lines(word.capitalize()) if word[:1].islower() else {})
    return Relations(
        frozenset(base for base, _, _ in found),
        frozenset(
            path
            for _, cells, parts in found
            for path in _cell(cells, _PATHS)
            if parts is None or path[0].islower() in parts
        ),
        frozenset(side for _, cells, _ in found for side in _cell(cells, _SIDES)),
        frozenset(other for _, cells, _ in found for other in _cell(cells, _SPARED)),
    )


def irregular_base(word: str) -> str:
    """Return the base of a folded word that is an irregular form ("wrote", "children"); empty for other words."""
    cells = _line(word) if word.isalpha() else None
    return cells[_FORM] if cells is not None and len(cells) > _FORM else ""


def _lines(word: str) -> list[_Found]:
    """Return the lines of a word's base forms; for an irregular form also the line of its base."""
    found = [(base, cells, parts) for base, parts in _bases(word) if (cells := _line(base)) is not None]
    more = [(cells[_FORM], None) for _, cells, _ in found if len(cells) > _FORM]
    return found + [(base, cells, parts) for base, parts in more if (cells := _line(base)) is not None]


@lru_cache(maxsize=_ASKED)
def is_a(word: str, other: str) -> bool:
    """Return whether a word is a kind or a synonym of another ("leather_jacket" of "jacket"); False for unknown words."""
    above = relations(other).paths
    return any(path.startswith(y) for path in relations(word).paths for y in above)


def is_profession(occupation: str) -> bool:
    """Return whether an object names an occupation."""
    word = occupation.split()[-1] if occupation else ""
    return word in _MORE_PROFESSIONS or (bool(word) and any(is_a(word, kind) for kind in _PROFESSIONS))


def _is_part(a: Iterable[str], b: Iterable[str]) -> bool:
    """Return whether a path or one above it is a part, and one of the other paths is its whole or a direct kind of it."""
    parts = _table().parts
    wholes = {w for path in a for end in range(len(path), 2, -1) for w in parts.get(path[:end], ())}
    return bool(wholes) and any(path in wholes or path[:-1] in wholes for path in b)


def _cell(cells: list[str], number: int) -> list[str]:
    return cells[number].split() if len(cells) > number else []


def bases(word: str) -> list[str]:
    """Return a folded word and the words that it may be a regular form of; some of these are not words."""
    return [base for base, _ in _bases(word)]


def _bases(word: str) -> Iterator[tuple[str, frozenset[bool] | None]]:
    """Yield the bases of a word, each with the parts of speech that its ending inflects.

    The set holds True for verbs and False for nouns, and is empty for neither. It is None for the word itself.
    """
    yield word, None
    for ending, instead, parts in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _LEAST:
            base = word[: len(word) - len(ending)] + instead
            yield base, parts
            if ending in _DOUBLING and len(base) > _LEAST and base[-1] == base[-2]:
                yield base[:-1], parts


_PROFESSIONS: Final = words_of("""
skilled_worker professional_person scientist artist performer health_professional businessperson farmer engineer writer
""")
_MORE_PROFESSIONS: Final = words_of("""
translator interpreter zookeeper cartographer developer consultant waiter waitress driver chauffeur clerk cashier cleaner janitor bartender
barista receptionist salesperson salesman saleswoman realtor recruiter paramedic firefighter attendant diver inspector operator tutor
babysitter nanny caretaker gardener tester sysadmin
""")
"""Professions that the lexicon does not list as a kind of work."""

_Found = tuple[str, list[str], frozenset[bool] | None]
_TURN: Final = str.maketrans("+-", "-+")
_PLAIN: Final = str.maketrans("><", "+-")
_PATHS, _SIDES, _SPARED, _FORM = range(4)
"""Indexes of the cells after a word."""

_LEAST: Final = 3
_NOUN, _VERB, _BOTH, _NEITHER = frozenset((False,)), frozenset((True,)), frozenset((False, True)), frozenset[bool]()
_ENDINGS: Final = (
    *(
        ("s", "", _BOTH),
        ("es", "", _BOTH),
        ("ies", "y", _BOTH),
        ("ves", "f", _NOUN),
        ("ves", "fe", _NOUN),
        ("men", "man", _NOUN),
    ),
    *(
        (ending, instead, _VERB)
        for ending, instead in (("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e"))
    ),
    *(
        (ending, instead, _NEITHER)
        for ending, instead in (("er", ""), ("er", "e"), ("ier", "y"), ("est", ""), ("est", "e"), ("iest", "y"))
    ),
)
_DOUBLING: Final = frozenset(("ed", "ing", "er", "est"))


class _Table(NamedTuple):
    """Lines in the order of their words' bytes, and where each begins; the path of a part → those of its wholes."""

    text: bytes
    starts: NDArray[np.int32]
    parts: dict[str, tuple[str, ...]]

    def word(self, start: int) -> bytes:
        """Return the word of the line that begins at ``start``."""
        end = self.text.index(b"\n", start)
        bar = self.text.find(b"|", start, end)
        return self.text[start : bar if bar >= 0 else end]


def _line(word: str) -> list[str] | None:
    """Return the cells of a word's line; None if there is no such line."""
    table, wanted = _table(), word.encode()
    at = bisect_left(table.starts, wanted, key=table.word)
    if at == len(table.starts) or table.word(table.starts[at]) != wanted:
        return None
    start = int(table.starts[at])
    return table.text[start : table.text.index(b"\n", start)].decode().split("|")[1:]


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = gzip.decompress(files("slowwave.text").joinpath("word_relations.txt.gz").read_bytes())
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    cells = text[1 : ends[0]].decode().split(" ")
    parts: dict[str, tuple[str, ...]] = {}
    for part, whole in zip(cells[::2], cells[1::2], strict=True):
        parts[part] = (*parts.get(part, ()), whole)
    return _Table(text, (ends[:-1] + 1).astype(np.int32), parts)
