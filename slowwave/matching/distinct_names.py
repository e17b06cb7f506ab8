"""The distinct names of each entity type, and the blocking keys under which two of them are compared.

A name that many rows have is compared with other names once. Spreading pairs of names to their rows belongs to
``slowwave.matching.candidates``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.blocks import Blocks, fresh, packed_pairs, ranges
from slowwave.matching.names import LONGEST
from slowwave.matching.ngrams import CharacterNgrams
from slowwave.matching.population import Population
from slowwave.matching.tfidf import TfIdfRows

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bits = NDArray[np.uint16]

_SLIPS: Final = (5, 40)  # letters that a name has in which one may be wrong
_COSINE: Final = 0.5  # of character trigrams
_NEAR: Final = 40  # near names that a name may have
_READ: Final = 65_536  # names whose n-grams are read at a time
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_WORK: Final = (600, 400_000_000)  # multiply-adds that a name may cost at least, and all names together


@dataclass(frozen=True, slots=True, eq=False)
class DistinctNames:
    """t names: ``first`` (t,) is a row of each; the rows of name k are ``rows[start[k] : start[k] + size[k]]``."""

    first: Ints
    rows: Ints
    start: Ints
    size: Ints

    @classmethod
    def of_rows(cls, population: Population) -> DistinctNames:
        """Group the rows by type and folded name."""
        plain = population.names.plain
        rows = np.flatnonzero(plain >= 0)
        code = population.kind[rows] * (int(plain.max(initial=0)) + 1) + plain[rows]
        order = np.argsort(code, kind="stable")
        rows, code = rows[order], code[order]
        start = np.flatnonzero(fresh(code))
        size = np.diff(np.append(start, len(code)))
        return cls(rows[start], rows, start, size)

    def __len__(self) -> int:
        return len(self.first)

    def only(self, focus: Flags) -> DistinctNames:
        """The same names with only the rows of a focus (n,)."""
        kept = focus[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        start = before[self.start]
        return DistinctNames(self.first, self.rows[kept], start, before[self.start + self.size] - start)

    def spread(self, distinct: Ints, codes: Ints) -> Blocks:
        """Blocks of the rows of some names (m,), a block for each code (m,)."""
        which, place = ranges(self.start[distinct], self.size[distinct])
        return Blocks.of(self.rows[place], codes[which])

    def cross(self, a: Ints, b: Ints, bits: Bits, n: int, focus: Flags | None) -> tuple[Ints, Bits]:
        """Pairs of the rows of names a with those of names b, packed as in ``Blocks``, with the bits of their names; with a
        focus only those with a row of it."""
        left = self if focus is None else self.only(focus)
        ways = [(a, b)] if focus is None else [(a, b), (b, a)]
        found: list[tuple[Ints, Bits]] = []
        for one, other in ways:
            wide = self.size[other]
            which, place = ranges(np.zeros(len(one), np.int64), left.size[one] * wide)
            i = left.rows[left.start[one][which] + place // wide[which]]
            j = self.rows[self.start[other][which] + place % wide[which]]
            found.append((np.minimum(i, j) * n + np.maximum(i, j), bits[which]))
        packed, bits = np.concatenate([p for p, _ in found]), np.concatenate([k for _, k in found])
        order = np.argsort(packed, kind="stable")
        packed = packed[order]
        kept = fresh(packed)
        return packed[kept], bits[order][kept]


def blocks(population: Population, distinct: DistinctNames) -> Iterator[tuple[str, Blocks]]:
    """(key, blocks of names)."""
    names, first, kind = population.names, distinct.first, population.kind[distinct.first]
    kinds = int(population.kind.max(initial=0)) + 1

    def block(codes: Ints, owner: Ints | None = None, leads: Flags | None = None) -> Blocks:
        """Blocks of names with an equal code, an own number for each type; no code is -1."""
        owner = np.arange(len(first)) if owner is None else owner
        has = codes >= 0
        owner, codes = owner[has], codes[has]
        return Blocks.of(owner, codes * kinds + kind[owner], None if leads is None else leads[has])

    def flat(codes: Ints) -> tuple[Ints, Ints]:
        """A table of codes and the name of each."""
        return codes.ravel(), np.repeat(np.arange(len(codes)), codes.shape[1])

    yield "words", block(names.ordered[first])
    yield "compact", block(names.compact[first])
    longer, owner = flat(names.acronym[first])
    short = names.short[first]
    leads = np.repeat([False, True], [len(longer), len(short)])
    yield "acronym", block(np.concatenate([longer, short]), np.concatenate([owner, np.arange(len(short))]), leads)
    yield "nickname", block(*flat(names.nickname[first]))
    yield "initials", block(names.family[first], leads=names.lettered[first])
    yield "ends", block(names.ends[first])
    yield "slip", _slips(population, distinct)


def _slips(population: Population, distinct: DistinctNames) -> Blocks:
    """Blocks of names that are equal but for one letter: inserted, lost, changed or swapped with the next."""
    names, n = population.names, len(distinct)
    kind, letters = population.kind[distinct.first], names.length[distinct.first]
    usable = (letters >= _SLIPS[0]) & (letters <= _SLIPS[1])
    texts = CharacterNgrams.of(np.where(usable, names.squeezed[distinct.first], ""))
    bits = n.bit_length()
    packed = np.empty(len(texts.codes) + n, np.int64)
    for low in range(0, n, _READ):
        high = min(low + _READ, n)
        owner, form = texts.deletions(low, high)
        form = (form ^ (kind[owner].astype(np.uint64) << np.uint64(40))) * _MIX
        part = packed[texts.ends[low] + low : texts.ends[high] + high]
        part[:] = (form >> np.uint64(bits + 1)).astype(np.int64) << bits | owner
    packed.sort()
    new = fresh(packed >> bits)
    shared = ~new | np.r_[~new[1:], False] if n else new
    owner, code = packed[shared] & ((1 << bits) - 1), np.cumsum(new)[shared]
    owner, code = owner[usable[owner]], code[usable[owner]]
    return Blocks.of(owner, code * (int(kind.max(initial=0)) + 1) + kind[owner])


def near(population: Population, distinct: DistinctNames, focus: Flags | None) -> tuple[Ints, int]:
    """Pairs of names whose character trigrams have a tf-idf cosine ≥ .5, and how many names have more such neighbours than
    are kept. Prose is left to other keys."""
    texts = population.names.folded[distinct.first]
    letters = CharacterNgrams.of(np.array([f"  {t} " if len(t) <= LONGEST else "" for t in texts], np.object_))
    rows = TfIdfRows.of(population.kind[distinct.first], letters.triples, letters.alphabet**3)
    work = max(_WORK[0], _WORK[1] / max(len(distinct), 1))
    i, j, crowded = rows.near(_COSINE, work, _NEAR, focus)
    return packed_pairs(i, j, len(distinct)), crowded
