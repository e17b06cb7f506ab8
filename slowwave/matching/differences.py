"""Which words one name has and the other lacks: of software "windows" may mean nothing, "upgrade" much.

A word that only one name has, where the other name has none of its own, is one sign; a word of two names that each have some is
another; and so are two words that stand for each other ("pro", "professional"). Of these the commonest among the pairs at hand count: in
a set of names few words make most of the differences. What they mean is learnt in ``slowwave.matching.calibration``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST: Final = 96
"""Signs that are looked at: each costs a coefficient, and the rare ones are never answered about."""

FEWEST: Final = 3
"""Pairs that must differ so."""

MORE, OTHER, FOR = "more", "other", "for"
"""How a sign is named: "more windows", "other physics", "pro for professional"."""

_ENOUGH: Final = 4  # words beyond which it does not matter how many more
_CHUNK: Final = 65_536  # pairs looked at a time


@dataclass(frozen=True, slots=True)
class Differences:
    """The ``signs`` (d,) that are looked at, each a text of words as names are folded, and how many words there are of each kind."""

    signs: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: WordInformation, i: Ints, j: Ints) -> Differences:
        """The commonest signs among pairs of names (p,), the same in any order of the pairs. Cost: that of their words."""
        w = len(words.words)
        more, other, pairs = np.zeros(w, np.int64), np.zeros(w, np.int64), list[Ints]()
        for start in range(0, len(i), _CHUNK):
            one, two, codes = _differing(words, i[start : start + _CHUNK], j[start : start + _CHUNK])
            more += np.bincount(one.indices, minlength=w)
            other += np.bincount(two.indices, minlength=w)
            pairs.append(codes[codes >= 0])
        told, count = np.unique(np.concatenate([np.zeros(0, np.int64), *pairs]), return_counts=True)
        text = words.words.to_pylist()
        found = [
            *((int(more[k]), f"{MORE} {text[k]}") for k in np.flatnonzero(more >= FEWEST).tolist()),
            *((int(other[k]), f"{OTHER} {text[k]}") for k in np.flatnonzero(other >= FEWEST).tolist()),
            *(
                (int(n), f"{text[c // w]} {FOR} {text[c % w]}")
                for c, n in zip(told.tolist(), count.tolist(), strict=True)
                if n >= FEWEST
            ),
        ]
        return cls((MORE, OTHER, *(sign for _, sign in sorted(found, key=lambda s: (-s[0], s[1]))[:MOST])))

    def values(self, words: WordInformation, i: Ints, j: Ints) -> Reals:
        """(p, d): 1 where a pair of names has the sign; of how many words, half of the number up to ``_ENOUGH``."""
        found = np.zeros((len(i), len(self.signs)))
        if not self.signs:
            return found
        w = len(words.words)
        parts = [sign.split(" ") for sign in self.signs]
        more, other = (_columns(words, parts, name) for name in (MORE, OTHER))
        at = {
            (self._place(words, p[0]), self._place(words, p[2])): k
            for k, p in enumerate(parts)
            if len(p) == 3 and p[1] == FOR
        }
        wanted = np.array([a * w + b if min(a, b) >= 0 else -1 for a, b in at], np.int64)
        column = np.array(list(at.values()), np.int64)
        for start in range(0, len(i), _CHUNK):
            rows = slice(start, start + _CHUNK)
            one, two, codes = _differing(words, i[rows], j[rows])
            for held, (places, columns) in ((one, more), (two, other)):
                if len(places):
                    found[rows, columns] = held[:, places].toarray()
            for sign, held in ((MORE, one), (OTHER, two)):
                if sign in self.signs:
                    found[rows, self.signs.index(sign)] = np.minimum(np.diff(held.indptr), _ENOUGH) / 2
            if len(wanted):
                found[rows, column] = (codes[:, None] == wanted[None, :]) & (codes[:, None] >= 0)
        return found

    @staticmethod
    def _place(words: WordInformation, word: str) -> int:
        return int(pc.index(words.words, word).as_py())


def _columns(words: WordInformation, parts: Sequence[Sequence[str]], name: str) -> tuple[Ints, Ints]:
    """Places of the words of these signs that occur, and the columns of the signs."""
    columns = [k for k, p in enumerate(parts) if len(p) == 2 and p[0] == name]
    wanted = pa.array([parts[k][1] for k in columns], pa.string())
    places = pc.fill_null(pc.index_in(wanted, value_set=words.words), -1).to_numpy().astype(np.int64)
    return places[places >= 0], np.array(columns, np.int64)[places >= 0]


def _differing(words: WordInformation, i: Ints, j: Ints) -> tuple[Any, Any, Ints]:
    """Ones (p, w) for words that only one name has while the other has none of its own, ones for those of pairs in which both have
    some, and, where each has one, both as a number, else -1."""
    a, b = _ones(words.mended[i]), _ones(words.mended[j])
    both = a.multiply(b)
    left, right = (a - both).tocsr(), (b - both).tocsr()
    for side in (left, right):
        side.eliminate_zeros()
    n, m = np.diff(left.indptr), np.diff(right.indptr)
    apart = (left + right).tocsr()
    two_sided = sparse.diags(((n > 0) & (m > 0)).astype(np.float32), format="csr")
    other = (two_sided @ apart).tocsr()
    more = (apart - other).tocsr()
    for side in (more, other):
        side.eliminate_zeros()
    codes = np.full(len(i), -1, np.int64)
    at = np.flatnonzero((n == 1) & (m == 1))
    x, y = left.indices[left.indptr[at]].astype(np.int64), right.indices[right.indptr[at]].astype(np.int64)
    codes[at] = np.minimum(x, y) * len(words.words) + np.maximum(x, y)
    return more, other, codes


def _ones(matrix: Any) -> Any:
    held = matrix.copy()
    held.data[:] = 1
    return held
