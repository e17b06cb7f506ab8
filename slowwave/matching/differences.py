"""Which words one name has and the other lacks: of software "windows" may mean nothing, "upgrade" much.

A word that only one name has, where the other name has none of its own, is one sign; a word of two names that each have some is
another; and so are two words that stand for each other ("pro", "professional"). Of these the commonest among the pairs at hand count: in
a set of names few words make most of the differences. What they mean is learnt in ``slowwave.matching.calibration``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

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
            apart = _differing(words, i[start : start + _CHUNK], j[start : start + _CHUNK])
            more += np.bincount(apart.word[~apart.both], minlength=w)
            other += np.bincount(apart.word[apart.both], minlength=w)
            pairs.append(apart.codes[apart.codes >= 0])
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

    def reader(self, words: WordInformation) -> SignReader:
        """What reads the signs in names of these words; made once for many pairs. Cost: the number of words."""
        w = len(words.words)
        parts = [sign.split(" ") for sign in self.signs]
        wanted = pa.array(
            sorted({word for p in parts if len(p) > 1 for word in (p[1:] if len(p) == 2 else p[::2])}), pa.string()
        )
        found = pc.fill_null(pc.index_in(wanted, value_set=words.words), -1).to_pylist()
        place: dict[str, int] = dict(zip(wanted.to_pylist(), found, strict=True))
        columns = {name: np.full(w, -1, np.int64) for name in (MORE, OTHER)}
        pairs: dict[int, int] = {}
        for k, p in enumerate(parts):
            at = [place[word] for word in (p[1:] if len(p) == 2 else p[::2])] if len(p) > 1 else []
            if len(at) == 1 and at[0] >= 0:
                columns[p[0]][at[0]] = k
            elif len(at) == 2 and min(at) >= 0:
                pairs[min(at) * w + max(at)] = k
        codes = np.array(sorted(pairs), np.int64)
        numbers = tuple(self.signs.index(name) if name in self.signs else -1 for name in (MORE, OTHER))
        return SignReader(
            words,
            len(self.signs),
            (columns[MORE], columns[OTHER]),
            numbers,
            codes,
            np.array([pairs[code] for code in codes.tolist()], np.int64),
        )

    def values(self, words: WordInformation, i: Ints, j: Ints) -> Reals:
        """(p, d) as ``SignReader.values`` reads them."""
        return self.reader(words).values(i, j)


@dataclass(frozen=True, slots=True, eq=False)
class SignReader:
    """``width`` signs d in the words of w names: ``single`` the column (w,) of each word for either kind of sign, -1 for none, ``numbers``
    the columns for how many there are, ``codes`` (c,) in order the pairs of words that stand for each other, ``paired`` (c,) theirs."""

    words: WordInformation
    width: int
    single: tuple[Ints, Ints]
    numbers: tuple[int, ...]
    codes: Ints
    paired: Ints

    def values(self, i: Ints, j: Ints) -> Reals:
        """(p, d): 1 where a pair of names has the sign; of how many words, half of the number up to ``_ENOUGH``."""
        found = np.zeros((len(i), self.width))
        if not self.width:
            return found
        for start in range(0, len(i), _CHUNK):
            part = found[start : start + _CHUNK]
            apart = _differing(self.words, i[start : start + _CHUNK], j[start : start + _CHUNK])
            for single, number, of in zip(self.single, self.numbers, (~apart.both, apart.both), strict=True):
                pair, word = apart.pair[of], apart.word[of]
                if number >= 0:
                    part[:, number] = np.minimum(np.bincount(pair, minlength=len(part)), _ENOUGH) / 2
                column = single[word]
                part[pair[column >= 0], column[column >= 0]] = 1
            if len(self.codes):
                at = np.minimum(np.searchsorted(self.codes, apart.codes), len(self.codes) - 1)
                same = np.flatnonzero(self.codes[at] == apart.codes)
                part[same, self.paired[at[same]]] = 1
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Apart:
    """Words that one name of p pairs has and the other lacks: the ``pair`` (e,) and the ``word`` (e,), whether ``both`` (e,) names have
    some, and, where each has one, the two as a number ``codes`` (p,), else -1."""

    pair: Ints
    word: Ints
    both: Flags
    codes: Ints


def _differing(words: WordInformation, i: Ints, j: Ints) -> _Apart:
    w, p = len(words.words), len(i)
    (one, a), (two, b) = _entries(words.mended, i), _entries(words.mended, j)
    keys = np.concatenate([one * w + a, two * w + b])
    order = np.argsort(keys, kind="stable")
    keys, right = keys[order], order >= len(a)
    again = keys[1:] == keys[:-1]
    alone = ~(np.r_[again, False] | np.r_[False, again])[: len(keys)]
    pair, word, right = keys[alone] // max(w, 1), keys[alone] % max(w, 1), right[alone]
    n, m = np.bincount(pair[~right], minlength=p), np.bincount(pair[right], minlength=p)
    codes = np.full(p, -1, np.int64)
    swapped = (n == 1) & (m == 1)
    of = swapped[pair]  # each such pair has two entries, one after the other and the smaller word first
    codes[swapped] = word[of][::2] * w + word[of][1::2]
    return _Apart(pair, word, ((n > 0) & (m > 0))[pair], codes)


def _entries(matrix: Any, rows: Ints) -> tuple[Ints, Ints]:
    """The words (e,) of rows (p,) of a sparse matrix, each with its place among the rows."""
    start, length = matrix.indptr[rows].astype(np.int64), np.diff(matrix.indptr)[rows].astype(np.int64)
    of = np.repeat(np.arange(len(rows)), length)
    step = np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
    return of, matrix.indices[np.repeat(start, length) + step].astype(np.int64)
