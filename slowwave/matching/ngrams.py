"""Character n-grams of names: their trigrams, and the names with one letter left out, as numbers.

Two names that differ by one inserted, lost, changed or swapped letter share a form with one letter left out (the deletion
neighbourhood of SymSpell; Mor and Fraenkel 1982), which finds spelling mistakes among any number of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_STEP: Final = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_BACK: Final = pow(_STEP, -1, 1 << 64)


@dataclass(frozen=True, slots=True, eq=False)
class CharacterNgrams:
    """The characters of n texts as numbers below ``alphabet``; ``ends`` (n + 1,) parts the texts."""

    codes: NDArray[np.int32]
    ends: Ints
    alphabet: int

    @classmethod
    def of(cls, texts: NDArray[np.object_]) -> CharacterNgrams:
        """Number the letters in the order of Unicode."""
        points = np.frombuffer("".join(texts.tolist()).encode("utf-32-le", "surrogatepass"), np.uint32)
        seen = np.zeros(0x110000, bool)
        seen[points] = True
        number = np.cumsum(seen, dtype=np.int32) - 1
        ends = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
        return cls(number[points], ends, int(seen.sum()))

    def triples(self, low: int, high: int) -> tuple[Ints, Ints]:
        """(text, trigram) for texts from ``low`` to ``high`` (exclusive); trigrams are below alphabet³."""
        codes = self.codes[self.ends[low] : self.ends[high]].astype(np.int64)
        owner = np.repeat(np.arange(low, high), np.diff(self.ends[low : high + 1]))
        groups = (codes[:-2] * self.alphabet + codes[1:-1]) * self.alphabet + codes[2:]
        whole = owner[:-2] == owner[2:]
        return owner[:-2][whole], groups[whole]

    def deletions(self, low: int, high: int) -> tuple[Ints, NDArray[np.uint64]]:
        """(text, hash) of texts from ``low`` to ``high`` (exclusive), each whole and with each of its letters left out."""
        codes = self.codes[self.ends[low] : self.ends[high]].astype(np.uint64)
        size = np.diff(self.ends[low : high + 1])
        owner = np.repeat(np.arange(high - low), size)
        start = self.ends[low:high] - self.ends[low]
        powers = np.cumprod(np.full(int(size.max(initial=0)) + 1, _STEP, np.uint64))
        letters = (codes + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
        letters ^= letters >> np.uint64(31)
        terms = letters * powers[np.arange(len(codes)) - start[owner]]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
        before = total[:-1] - total[start][owner]  # sum of the letters before each letter
        whole = total[start + size] - total[start]
        without = before + (whole[owner] - before - terms) * np.uint64(_BACK)
        return np.concatenate([np.arange(low, high), owner + low]), np.concatenate([whole, without])
