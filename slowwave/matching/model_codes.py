"""Model codes that stand in names: "WH-1000XM4", "WH1000 XM4". Two names with the same codes are names of one model, as a rule.

Not where one of them is that of a part or another offer of the model: "battery for WH-1000XM4", "WH-1000XM4, refurbished". Such words
stand in ``accessories.toml``. Which words of a name are codes belongs to ``slowwave.matching.attributes``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.attributes import CODES
from slowwave.matching.population import Population

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Marks = NDArray[np.uint64]

_SETS: Final = 3  # different sets of codes that a code may stand in: one of more is a size, or what many things fit


@dataclass(frozen=True, slots=True, eq=False)
class ModelCodes:
    """``codes`` (n,) number the set of codes of each name, and ``offer`` (n,) its words of accessories; 0 where there are none."""

    codes: Marks
    offer: Marks

    @classmethod
    def of(cls, population: Population) -> ModelCodes:
        """Read off the columns of codes and the names. Linear in the words of the names that have a code."""
        n = len(population)
        codes, offer = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        for column in population.attributes.columns:
            if column.key == CODES:
                marks = _marks(len(column.texts))
                whole = np.zeros(n, np.uint64)
                np.add.at(whole, column.rows, marks[column.codes])
                sets = np.unique(np.stack([column.codes.astype(np.uint64), whole[column.rows]]), axis=1)
                own = np.bincount(sets[0].astype(np.int64), minlength=len(column.texts)) <= _SETS
                np.add.at(codes, column.rows, np.where(own, marks, np.uint64(0))[column.codes])
        lists = pc.utf8_split_whitespace(pa.array(population.names.folded, pa.string()))
        words, owner = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        telling = _listed_words()
        place = pc.fill_null(pc.index_in(words, telling), -1).to_numpy().astype(np.int64)
        pairs = np.unique(np.stack([owner, place])[:, place >= 0], axis=1)
        np.add.at(offer, pairs[0], _marks(len(telling))[pairs[1]])
        return cls(codes, offer)

    def same_offer(self, i: Ints, j: Ints) -> Flags:
        """Whether the names of pairs (p,) have the same words of accessories, or both none."""
        return self.offer[i] == self.offer[j]

    def same(self, i: Ints, j: Ints) -> Flags:
        """Whether the names of pairs (p,) have the same codes, one at least, and the same words of accessories."""
        return (self.codes[i] == self.codes[j]) & (self.codes[i] > 0) & self.same_offer(i, j)


def _marks(n: int) -> Marks:
    """A number for each of n things, by whose sums sets of them are told apart."""
    return np.random.default_rng(0).integers(1, 1 << 62, n, dtype=np.uint64)


@cache
def _listed_words() -> pa.Array:
    """The words of all lists."""
    lists = tomllib.loads(files("slowwave.matching").joinpath("accessories.toml").read_text("utf-8"))
    return pa.array(sorted({word for words in lists.values() for word in words}), pa.string())
