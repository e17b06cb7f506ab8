"""Variants of one model: "WR 9710 vacuum, white" and "WR 9710 vacuum, graphite" have one code and are two things.

No list says which words are of that kind. Two words *part* a model where names of one source and one code differ in them and in little
else, and hardly any name holds both; words that part one model part all. Two sources may mean one thing by two words ("headphones",
"headset"), so nothing is learnt across sources. Which names have one code belongs to ``slowwave.matching.model_codes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.matching.attributes import CODES
from slowwave.matching.model_codes import ModelCodes
from slowwave.matching.names import UNNAMED
from slowwave.matching.other_names import OtherNames
from slowwave.matching.population import Population

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Pair = tuple[str, str]

_FEW: Final = 2  # words that each name may have for itself where these alone part them
_SHARED: Final = 2  # words beside the code that such names have in common: a maker and a kind
_PARTED: Final = 0.15  # of the codes of the rarer of two words, from which these part models
_TOGETHER: Final = 0.1  # of the names of the rarer of two words, beyond which both are said of one thing


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """``stated`` are the codes of each row that has some. ``group`` numbers the words that part models: of one group each stands in
    place of the others ("white", "graphite")."""

    names: OtherNames
    codes: ModelCodes
    stated: Mapping[int, str]
    group: Mapping[str, int]

    @classmethod
    def of(cls, population: Population, names: OtherNames, i: Ints, j: Ints) -> Variants:
        """Learn the words from candidate pairs (p,). Some 20 µs for each pair of two names with one code."""
        codes, sources, stated = ModelCodes.of(population), population.sources, dict[int, str]()
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
        """Whether the names of pairs (p,) have one code, and each a word in place of which another stands in the other."""
        found = np.zeros(len(i), bool)
        if self.group:
            at, rows = self._coded(i, j)
            for k, (a, b) in zip(at.tolist(), rows, strict=True):
                mine, theirs = self.names.left_over(self._words(a), self._words(b))
                groups = {self.group[w] for w in mine if w in self.group}
                found[k] = any(self.group.get(w) in groups for w in theirs)
        return found

    def _coded(self, i: Ints, j: Ints) -> tuple[Ints, list[tuple[int, int]]]:
        """Which pairs have one code and two names, and their rows."""
        at = np.flatnonzero(self.codes.same(i, j) & (self.names.code[i] != self.names.code[j]))
        return at, list(zip(i[at].tolist(), j[at].tolist(), strict=True))

    def _words(self, row: int) -> Counter[str]:
        """The words of a name beside its codes; what has a figure has rules of its own."""
        words, codes = str(self.names.folded[row]).split(), self.stated[row]
        return Counter(w for w in words if w.isalpha() and w not in UNNAMED and w not in codes)


def _exclusive(parted: Mapping[Pair, set[int]], names: OtherNames, codes: ModelCodes) -> list[Pair]:
    """The pairs of words that part a good share of the codes that they stand with, and that hardly any name holds both of."""
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
    """Words → the number of their group, in which each hangs together with the others by pairs."""
    number = {w: k for k, w in enumerate(sorted({w for pair in pairs for w in pair}))}
    if not number:
        return {}
    x, y = np.array([(number[w], number[v]) for w, v in pairs]).T
    graph = sparse.coo_matrix((np.ones(len(x)), (x, y)), shape=(len(number), len(number)))
    _, group = csgraph.connected_components(graph, directed=False)
    return {word: int(group[k]) for word, k in number.items()}
