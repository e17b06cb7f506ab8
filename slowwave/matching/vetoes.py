"""Vetoes: pairs that contradict each other never merge, whatever their score, and neither do variants of one model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.matching.attributes import CODES
from slowwave.matching.evidence import OtherNames
from slowwave.matching.identity import DIFFERENT, Identity
from slowwave.matching.names import UNNAMED
from slowwave.matching.organisations import ModelCodes
from slowwave.matching.population import Population
from slowwave.text.contradictions import difference, needs_words
from slowwave.text.figures import is_whole
from slowwave.text.forms import may_have_signs, other_signs
from slowwave.text.lexicon import is_word
from slowwave.text.opposites import opposed
from slowwave.text.slips import near, respelt
from slowwave.text.specifics import Specifics, may_have_specifics, specifics
from slowwave.text.statements import stem
from slowwave.text.subjects import exchanged

# Vetoes: conditions that forbid a merge at any score. A contradiction is never merged.
#
# A pair is vetoed if its names contradict each other in a specific, if a decisive identifier is in conflict, if the declared identity of
# its type differs, or if the caller excludes it (a recorded conflict, a rejection); nobody is asked about it. If one name states more than
# the other ("PostgreSQL", "PostgreSQL 16"), the pair is not vetoed but one-sided: no score merges it, but a person may. The same applies to
# names with the same words and different signs ("C", "C++"), and to two names of code that differ in any letter or in their kind
# ("NIGHT_AGENT_ID", "night_agent"). Names with exchanged roles ("A to B", "B to A") contradict each other. The rules are those of
# ``slowwave.text.contradictions``, ``slowwave.text.forms`` and ``slowwave.text.statements``, applied to arrays here. ``other_words`` checks
# names that differ in one word by a few letters only.

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
IdPairs = Iterable[tuple[str, str]]

IDENTITY: Final = "identity"
SPECIFICS: Final = "specifics"
IDENTIFIER: Final = "identifier"

_CODE: Final = (
    re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"),  # NIGHT_AGENT_ID, not NASA
    re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?:\(\))?"),  # night_agent, not well-known
    re.compile(  # ~/.harbour/config.yaml, not "A/B test" or "Node.js"
        r"(?:~|\.{0,2})/\S+|(?:[\w.-]+/)+[\w.-]+\.\w{1,5}|[\w-][\w.-]*\.(?:cfg|conf|csv|env|ini|json|lock|md|py|sh|sql|toml|txt|ya?ml)"
    ),
)
"""Kinds of code names: constants and environment variables, identifiers, and paths."""

_ONE_SIDED, _CONFLICT = 1, 2
_NUMBER, _SET, _LETTERS, _TEXT = 1, 2, 3, 4
_READ: Final = 16_384  # names whose specifics are cached while pairs are compared
_FEW: Final = 2  # words that differ
_LOOKED: Final = 262_144  # pairs of codes or names that are compared only once


@dataclass(frozen=True, slots=True, eq=False)
class Vetoes:
    """Rules over n rows.

    - ``name`` (n,) numbers the distinct names.
    - ``says`` (n,) codes their specifics: 0 for none, equal numbers for the same.
    - ``sort`` (codes,): a lone whole number, a set of specifics, one with single letters, or one that cannot be compared without the other
      words of the name.
    - ``alone`` (codes,): compared with a name without specifics it is one-sided.
    - ``words`` (n,) numbers the names without regard to the order of their words, ``spaced`` (n,) without regard to their spaces.
    - ``signed`` (names,): a name has signs.
    - ``code`` (names,): its kind of name of code, 0 for none.
    - ``cannot_link`` maps a reason to pair keys i·n+j.
    - ``identity`` is that of the n rows if the settings declare one.
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
    identity: Identity | None
    read: Callable[[str], Specifics]
    looked: dict[int, int]

    @classmethod
    def from_population(
        cls,
        population: Population,
        rows: Ints,
        cannot_link: Mapping[str, IdPairs],
        identity: Identity | None = None,
    ) -> Vetoes:
        """Read the names of ``rows``, the only rows that may be queried; ``cannot_link`` holds id pairs by reason.

        Time: 1 µs for a plain name, 20 to 60 µs for one with specifics; memory: two integers per row.
        """
        n, numbers = len(population), dict[str, int]()
        name, says = np.zeros(n, np.int32), np.zeros(n, np.int32)
        name[rows] = [numbers.setdefault(population.display_names[row], len(numbers)) for row in rows.tolist()]
        sign, sort = np.zeros(len(numbers), np.uint64), np.zeros(len(numbers), np.int8)
        alone = np.zeros(len(numbers), bool)
        for k, title in enumerate(numbers):
            if may_have_specifics(title):
                sign[k], sort[k], alone[k] = _sign(title, specifics(title))
        # The absence of signs has the code 0, which sorts first.
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
            identity=identity,
            read=lru_cache(_READ)(specifics),
            looked={},
        )

    def besides(self, reason: str, pairs: Ints) -> Vetoes:
        """Return these vetoes with one more reason before the rules; what was already computed is kept.

        ``pairs`` are the keys i·n+j of pairs with i < j.
        """
        return replace(self, cannot_link={**self.cannot_link, reason: pairs})

    @property
    def decided(self) -> int:
        """Return the code up to which reasons are decisions of people; those after it are rules."""
        return len(self.cannot_link) + (self.identity is not None)

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons in the order of the codes of ``forbid``, from 1."""
        return (*self.cannot_link, *([IDENTITY] if self.identity is not None else ()), SPECIFICS, IDENTIFIER)

    def forbid(self, i: Ints, j: Ints, identifier_conflict: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Return the first reason (code from 1) that forbids each of p pairs, or 0 if none does.

        ``identifier_conflict`` (p,): a decisive identifier differs, and no equally good one agrees.
        """
        keys = np.minimum(i, j) * len(self.says) + np.maximum(i, j)
        forbidden = [np.isin(keys, cannot_link) for cannot_link in self.cannot_link.values()]
        if self.identity is not None:
            forbidden.append(self.identity.relation(i, j) == DIFFERENT)
        forbidden += [self._degrees(i, j) == _CONFLICT, identifier_conflict]
        return np.select(forbidden, list(range(1, len(forbidden) + 1)), 0).astype(np.int8)

    def one_sided(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Return whether one name states a specific that the other omits, or is another name of code (p,).

        In addition, the names contradict each other in no specific.
        """
        degrees = self._degrees(i, j)
        return (degrees == _ONE_SIDED) | ((degrees == 0) & self._other_code(i, j))

    def _other_code(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Flag pairs (p,) of which one is a name of code and the other differs in a letter or is of another kind."""
        a, b = self.code[self.name[i]], self.code[self.name[j]]
        return ((a > 0) | (b > 0)) & ((self.spaced[i] != self.spaced[j]) | ((a > 0) & (b > 0) & (a != b)))

    def _degrees(self, i: Ints, j: Ints) -> NDArray[np.int8]:
        """Return 0, ``_ONE_SIDED`` or ``_CONFLICT`` for each pair.

        Array code is used if one name has no specifics or both are numbers. Otherwise each distinct pair of codes, or of names whose
        words matter, is compared once (10 µs). At worst that is one comparison per pair.
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
        """Return the degree of pairs of two names with the same words, from their signs and the words around a role."""
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
        """Flag pairs (p,) of names that differ by a few letters of a word, as slips do, but where both words are in a lexicon.

        Also flags, among these, the pairs whose words may be opposites, whatever else agrees. Takes about 5 µs for each distinct pair.
        """
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
    """Return the number in ``_CODE``, from 1, of the kind of code that a name is written as, or 0."""
    return next((k for k, kind in enumerate(_CODE, 1) if kind.fullmatch(title)), 0)


def _other_word(a: str, b: str) -> int:
    """Return 0 for slips or whole words that differ, 1 for a few letters that make another word, 2 for opposites."""
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
    """Return a number for the specifics in a name (0: none), their sort, and whether they exceed a name without specifics."""
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
    """Return 64 bits that are never 0; two of a million names share them once in 37 million runs."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") or 1


# Variants of one model: "WR 9710 vacuum, white" and "WR 9710 vacuum, graphite" have one code and are two things.
#
# There is no list of such words. Two words *distinguish* variants if names of one source and one code differ in them and in little else,
# and hardly any name contains both; words that distinguish variants of one model do so for all models. Two sources may use two words for
# one thing ("headphones", "headset"), so nothing is learnt across sources. ``slowwave.matching.organisations`` finds names with one code.

Flags = NDArray[np.bool_]
Pair = tuple[str, str]
_SHARED: Final = 2  # words next to the code that such names have in common: a maker and a kind
_PARTED: Final = 0.15  # share of the codes of the rarer of two words from which on they distinguish variants
_TOGETHER: Final = 0.1  # share of the names of the rarer of two words above which both describe one thing


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """The words that distinguish variants of a model.

    ``stated`` are the codes of each row that has some. ``group`` numbers the words: each word of a group replaces the others ("white",
    "graphite").
    """

    names: OtherNames
    codes: ModelCodes
    stated: Mapping[int, str]
    group: Mapping[str, int]

    @classmethod
    def from_pairs(cls, population: Population, names: OtherNames, i: Ints, j: Ints) -> Variants:
        """Learn the words from candidate pairs (p,).

        Takes about 20 µs for each pair of two names with one code.
        """
        codes, sources, stated = ModelCodes.from_population(population), population.sources, dict[int, str]()
        for column in population.attributes.columns:
            if column.key == CODES:
                for row, code in zip(column.rows.tolist(), column.texts[column.codes].tolist(), strict=True):
                    stated[row] = f"{stated.get(row, '')} {code}"
        unlearnt = cls(names, codes, stated, {})
        parted: dict[Pair, set[int]] = {}
        for a, b in unlearnt._coded(i, j)[1]:
            one, two = unlearnt._words(a), unlearnt._words(b)
            if sources[a] == sources[b] and (one & two).total() >= _SHARED:
                mine, theirs = names.left_over(one, two)
                if len(mine) <= _FEW and len(theirs) <= _FEW:
                    for pair in {(min(w, v), max(w, v)) for w in mine for v in theirs}:
                        parted.setdefault(pair, set()).add(int(codes.codes[a]))
        return cls(names, codes, stated, _groups(_exclusive(parted, names, codes)))

    def apart(self, i: Ints, j: Ints) -> Flags:
        """Return whether the names of pairs (p,) have one code and a different word of the same group each."""
        found = np.zeros(len(i), bool)
        if self.group:
            at, rows = self._coded(i, j)
            for k, (a, b) in zip(at.tolist(), rows, strict=True):
                mine, theirs = self.names.left_over(self._words(a), self._words(b))
                groups = {self.group[w] for w in mine if w in self.group}
                found[k] = any(self.group.get(w) in groups for w in theirs)
        return found

    def _coded(self, i: Ints, j: Ints) -> tuple[Ints, list[tuple[int, int]]]:
        """Return the positions of the pairs with one code and two names, and the rows of these pairs."""
        at = np.flatnonzero(self.codes.same(i, j) & (self.names.code[i] != self.names.code[j]))
        return at, list(zip(i[at].tolist(), j[at].tolist(), strict=True))

    def _words(self, row: int) -> Counter[str]:
        """Return the words of a name other than its codes; words with a figure are left to other rules."""
        words, codes = str(self.names.folded[row]).split(), self.stated[row]
        return Counter(w for w in words if w.isalpha() and w not in UNNAMED and w not in codes)


def _exclusive(parted: Mapping[Pair, set[int]], names: OtherNames, codes: ModelCodes) -> list[Pair]:
    """Return the pairs of words that distinguish a good share of the codes they occur with and are hardly ever in one name."""
    held = {w: set[int]() for pair in parted for w in pair}
    used, together = Counter[str](), Counter[Pair]()
    for row in np.flatnonzero(codes.codes).tolist() if held else ():
        words = sorted(held.keys() & names.folded[row].split())
        used.update(words)
        together.update(combinations(words, 2))
        for word in words:
            held[word].add(int(codes.codes[row]))
    return [
        (w, v)
        for (w, v), by in sorted(parted.items())
        if len(by) >= _PARTED * min(len(held[w]), len(held[v])) and together[w, v] <= _TOGETHER * min(used[w], used[v])
    ]


def _groups(pairs: list[Pair]) -> dict[str, int]:
    """Return the group number of each word; the words of a group are connected by pairs."""
    number = {w: k for k, w in enumerate(sorted({w for pair in pairs for w in pair}))}
    if not number:
        return {}
    x, y = np.array([(number[w], number[v]) for w, v in pairs]).T
    graph = sparse.coo_matrix((np.ones(len(x)), (x, y)), shape=(len(number), len(number)))
    _, group = csgraph.connected_components(graph, directed=False)
    return {word: int(group[k]) for word, k in number.items()}
