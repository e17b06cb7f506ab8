"""What forbids a merge, whatever the score: law 9. A contradiction is never merged.

A pair is vetoed when its names contradict each other in a specific, when a decisive identifier is in conflict, or when the pair is
a cannot-link of the caller (a recorded conflict, a rejection): nobody sees it. A pair of which one name states more ("PostgreSQL",
"PostgreSQL 16") is not vetoed but one-sided: no score merges it, a person may. So is one whose names have the same words with other
signs ("C", "C++"), and so are two names of code that are not the same letter by letter or not of one kind ("NIGHT_AGENT_ID",
"night_agent"), while names that exchange roles ("A to B", "B to A") contradict each other. The rules are those of
``slowwave.texts.differences``, ``signs`` and ``roles``; here they meet arrays. Names that differ in a word by letters alone are looked at
by ``other_words``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.population import Population
from slowwave.texts.differences import difference, needs_words
from slowwave.texts.figures import is_whole
from slowwave.texts.lexicon import is_word
from slowwave.texts.opposites import opposed
from slowwave.texts.roles import exchanged
from slowwave.texts.signs import may_have_signs, other_signs
from slowwave.texts.slips import near, respelt
from slowwave.texts.specifics import Specifics, may_have_specifics, specifics
from slowwave.texts.statements import stem

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
IdPairs = Iterable[tuple[str, str]]

SPECIFICS: Final = "specifics"
IDENTIFIER: Final = "identifier"

_CODE: Final = (
    re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"),  # NIGHT_AGENT_ID, not NASA
    re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?:\(\))?"),  # night_agent, not well-known
    re.compile(  # ~/.harbour/config.yaml, not "A/B test" or "Node.js"
        r"(?:~|\.{0,2})/\S+|(?:[\w.-]+/)+[\w.-]+\.\w{1,5}|[\w-][\w.-]*\.(?:cfg|conf|csv|env|ini|json|lock|md|py|sh|sql|toml|txt|ya?ml)"
    ),
)
"""Kinds of names of code: constants and environment variables, identifiers, and paths."""

_ONE_SIDED, _CONFLICT = 1, 2
_NUMBER, _SET, _LETTERS, _TEXT = 1, 2, 3, 4
_READ: Final = 16_384  # names whose specifics are kept while pairs are compared
_FEW: Final = 2  # words that are apart
_LOOKED: Final = 262_144  # pairs of codes or names that are looked at once only


@dataclass(frozen=True, slots=True, eq=False)
class Vetoes:
    """Rules over n rows.

    ``name`` (n,) numbers the distinct names, ``says`` (n,) what they say: 0 nothing, and equal numbers the same. ``sort`` (codes,): a lone
    whole number, a set of specifics, one with single letters, or one that cannot be compared without the other words of the name.
    ``alone`` (codes,): beside a name that says nothing it is one-sided. ``words`` (n,) numbers what names are but for the order of their
    words, and ``spaced`` (n,) but for their spaces; ``signed`` (names,): a name has signs; ``code`` (names,) is its kind of name of code, 0
    for none. ``cannot_link`` maps a reason to pair keys
    i·n+j.
    """

    display_names: tuple[str, ...]
    name: Codes
    says: Codes
    sort: NDArray[np.int8]
    alone: NDArray[np.bool_]
    words: Ints
    spaced: Ints
    signed: NDArray[np.bool_]
    code: NDArray[np.int8]
    folded: NDArray[np.object_]
    cannot_link: Mapping[str, Ints]
    read: Callable[[str], Specifics]
    looked: dict[int, int]

    @classmethod
    def of(cls, population: Population, rows: Ints, cannot_link: Mapping[str, IdPairs]) -> Vetoes:
        """Read the names of ``rows``, the only ones that may be asked for; ``cannot_link`` holds id pairs by reason.

        Time: 1 µs for a plain name, 20 to 60 µs for one with specifics; memory: two integers a row.
        """
        n, numbers = len(population), dict[str, int]()
        name, says = np.zeros(n, np.int32), np.zeros(n, np.int32)
        name[rows] = [numbers.setdefault(population.display_names[row], len(numbers)) for row in rows.tolist()]
        sign, sort = np.zeros(len(numbers), np.uint64), np.zeros(len(numbers), np.int8)
        alone = np.zeros(len(numbers), bool)
        for k, title in enumerate(numbers):
            if may_have_specifics(title):
                sign[k], sort[k], alone[k] = _sign(title, specifics(title))
        # nothing has the sign 0, which sorts first
        _, first, code = np.unique(np.append(np.uint64(0), sign), return_index=True, return_inverse=True)
        says[rows] = code[1:][name[rows]]
        place = {str(id_): k for k, id_ in enumerate(population.ids)} if any(cannot_link.values()) else {}

        def keys(pairs: IdPairs) -> Ints:
            known = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
            return np.array(sorted(min(p) * n + max(p) for p in known), np.int64)

        return cls(
            display_names=population.display_names,
            name=name,
            says=says,
            sort=np.append(np.int8(0), sort)[first],
            alone=np.append(np.bool_(False), alone)[first],
            words=population.names.ordered,
            spaced=population.names.compact,
            code=np.array([_code_kind(title) for title in numbers], np.int8),
            signed=np.array([may_have_signs(title) for title in numbers], np.bool_),
            folded=population.names.folded,
            cannot_link={reason: keys(pairs) for reason, pairs in cannot_link.items()},
            read=lru_cache(_READ)(specifics),
            looked={},
        )

    def besides(self, reason: str, pairs: Ints) -> Vetoes:
        """The same, and one reason more before the rules: keys i·n+j of pairs with i < j. What was looked up stays known."""
        return replace(self, cannot_link={**self.cannot_link, reason: pairs})

    def reasons(self) -> tuple[str, ...]:
        """The reasons in the order of the codes of ``forbid``, from 1."""
        return (*self.cannot_link, SPECIFICS, IDENTIFIER)

    def forbid(self, i: Ints, j: Ints, identifier_conflict: NDArray[np.bool_]) -> NDArray[np.int8]:
        """The first reason (code from 1) that forbids each of p pairs, 0 where there is none.

        ``identifier_conflict`` (p,): a decisive identifier differs, and none that is as good agrees.
        """
        keys = np.minimum(i, j) * len(self.says) + np.maximum(i, j)
        forbidden = [np.isin(keys, cannot_link) for cannot_link in self.cannot_link.values()]
        forbidden += [self._degrees(i, j) == _CONFLICT, identifier_conflict]
        return np.select(forbidden, list(range(1, len(forbidden) + 1)), 0).astype(np.int8)

    def one_sided(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """(p,): one name states a specific that the other leaves out, or is another name of code; they contradict each other in none."""
        degrees = self._degrees(i, j)
        return (degrees == _ONE_SIDED) | ((degrees == 0) & self._other_code(i, j))

    def _other_code(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Pairs (p,) of which one is a name of code and the other is not the same name, letter by letter, or one of another kind."""
        a, b = self.code[self.name[i]], self.code[self.name[j]]
        return ((a > 0) | (b > 0)) & ((self.spaced[i] != self.spaced[j]) | ((a > 0) & (b > 0) & (a != b)))

    def _degrees(self, i: Ints, j: Ints) -> NDArray[np.int8]:
        """0, ``_ONE_SIDED`` or ``_CONFLICT`` for each pair.

        Array code where one name says nothing or both a number; else one look (10 µs) at each distinct pair of codes, or of names
        where their words matter. At worst that is a look a pair.
        """
        a, b = self.says[i], self.says[j]
        x, y = self.sort[a], self.sort[b]
        differ = a != b
        text = differ & ((x == _TEXT) | (y == _TEXT) | ((x == _LETTERS) & (y == _LETTERS)))
        numbers = differ & (x == _NUMBER) & (y == _NUMBER)
        simple = differ & ~text & ((a == 0) | (b == 0))
        found = np.zeros(len(a), np.int8)
        found[numbers] = _CONFLICT
        found[simple & (self.alone[a] | self.alone[b])] = _ONE_SIDED
        left = np.flatnonzero(differ & ~numbers & ~simple)
        codes = len(self.sort)
        u, v = (
            np.where(text[left], codes + self.name[rows[left]], says[left]).astype(np.int64)
            for rows, says in ((i, a), (j, b))
        )
        keys, first, inverse = np.unique(
            np.minimum(u, v) * (codes + len(self.name)) + np.maximum(u, v), return_index=True, return_inverse=True
        )
        pairs = zip(keys.tolist(), i[left[first]].tolist(), j[left[first]].tolist(), strict=True)
        found[left] = np.array([self._look(*pair) for pair in pairs], np.int8)[inverse]
        return np.maximum(found, self._alike(i, j))

    def _alike(self, i: Ints, j: Ints) -> NDArray[np.int8]:
        """The degree of pairs of two names that have the same words: by their signs, and by what stands before and behind a role."""
        one, two = self.name[i], self.name[j]
        moved, spelt = self.words[i] == self.words[j], self.spaced[i] == self.spaced[j]
        rows = np.flatnonzero((one != two) & (moved | (spelt & (self.signed[one] | self.signed[two]))))
        found = np.zeros(len(i), np.int8)
        names = np.sort(np.stack([one[rows], two[rows]]).astype(np.int64), axis=0)
        distinct, first, inverse = np.unique(names, axis=1, return_index=True, return_inverse=True)
        degrees = np.zeros(distinct.shape[1], np.int8)
        for k, at in enumerate(rows[first].tolist()):
            a, b = self.display_names[i[at]], self.display_names[j[at]]
            sign = other_signs(a, b)
            conflict = (sign and sign.degree == "conflict") or exchanged(a, b)
            degrees[k] = _CONFLICT if conflict else _ONE_SIDED if sign else 0
        found[rows] = degrees[inverse.ravel()]
        return found

    def other_words(self, i: Ints, j: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Pairs (p,) of names that are apart by a few letters of a word, as slips are, and by no slip: both are words of a lexicon; and of
        these the pairs whose words may be opposites, whatever else agrees. Some 5 µs for each distinct pair."""
        names, inverse = np.unique(np.stack([i, j]), axis=1, return_inverse=True)
        found = np.array(
            [_other_word(str(self.folded[a]), str(self.folded[b])) for a, b in names.T.tolist()] or [], np.int8
        )
        degrees = found[inverse.ravel()] if len(found) else np.zeros(len(i), np.int8)
        return degrees > 0, degrees > 1

    def _look(self, key: int, i: int, j: int) -> int:
        if key not in self.looked:
            if len(self.looked) >= _LOOKED:
                self.looked.clear()
            one = difference(self.read(self.display_names[i]), self.read(self.display_names[j]))
            self.looked[key] = 0 if one is None else _CONFLICT if one.degree == "conflict" else _ONE_SIDED
        return self.looked[key]


def _code_kind(title: str) -> int:
    """Return the place in ``_CODE`` of the kind of code that a name is written as, from 1, or 0."""
    return next((k for k, kind in enumerate(_CODE, 1) if kind.fullmatch(title)), 0)


def _other_word(a: str, b: str) -> int:
    """0 where names differ by slips or by whole words, 1 where by a few letters that make another word, 2 where of opposites."""
    one, two = set(a.split()), set(b.split())
    mine, theirs = one - two, two - one
    if not 0 < len(mine) == len(theirs) <= _FEW:
        return 0
    pairs = [(x, y) for x in sorted(mine) for y in sorted(theirs)]
    if any(opposed(x, y) for x, y in pairs):
        return 2
    return int(
        any(near(x, y) and is_word(x) and is_word(y) and not respelt(x, y) and stem(x) != stem(y) for x, y in pairs)
    )


def _sign(title: str, found: Specifics) -> tuple[int, int, bool]:
    """What a name says as a number (0: nothing), its sort, and whether it states more than a name that says nothing."""
    figures = found.figures()
    alone = bool(figures - found.ranks or found.variants)
    if needs_words(found):
        return _digest(title), _TEXT, alone
    parts = (figures, found.ranks, found.variants, found.exclusive, found.letters)
    if not any(parts):
        return 0, 0, False
    if len(figures) == 1 and not any(parts[1:]) and is_whole(lone := next(iter(figures))):
        return _digest(lone), _NUMBER, alone
    return _digest(repr([sorted(part) for part in parts])), _LETTERS if found.letters else _SET, alone


def _digest(text: str) -> int:
    """64 bits that are never 0: two of a million names share them once in 37 million runs."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") or 1
