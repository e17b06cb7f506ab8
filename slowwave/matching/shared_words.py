"""Which words two texts share, the rare ones counting most: names and things tell two matters apart that a vector takes for one.

Retellings of two incidents of one kind lie as near to each other as those of one: what they share beside the kind is the place, the
person, the day. How near their vectors are belongs to ``slowwave.matching.vectors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slowwave.texts.statements import stem
from slowwave.texts.tokens import tokenise
from slowwave.texts.vocabulary import GRAMMAR

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

_CHUNK: Final = 65_536  # pairs looked at a time


@dataclass(frozen=True, slots=True, eq=False)
class SharedWords:
    """(n, words) unit rows of tf-idf: how much of their words of content texts share, from 0 to 1."""

    matrix: Any

    @classmethod
    def of(cls, texts: Sequence[str]) -> SharedWords:
        """Each word of content once a text, by its stem, weighed by the logarithm of how few of the texts have it. Linear in the texts."""
        column: dict[str, int] = {}
        starts, columns = [0], list[int]()
        for text in texts:
            columns += sorted({column.setdefault(stem(w), len(column)) for w in tokenise(text) if w not in GRAMMAR})
            starts.append(len(columns))
        at = np.array(columns, np.int64)
        weight = np.log((1 + len(texts)) / np.maximum(np.bincount(at, minlength=len(column)), 1))[at]
        rows = np.repeat(np.arange(len(texts)), np.diff(starts))
        length = np.sqrt(np.bincount(rows, weight * weight, minlength=len(texts)))
        data = (weight / np.maximum(length, 1e-12)[rows]).astype(np.float32)
        return cls(sparse.csr_matrix((data, at, np.array(starts)), shape=(len(texts), max(1, len(column)))))

    def pairs(self, i: Ints, j: Ints) -> Floats:
        """(p,) for pairs of texts. Time: linear in the pairs' words."""
        out = np.zeros(len(i), np.float32)
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = np.asarray(self.matrix[i[part]].multiply(self.matrix[j[part]]).sum(axis=1)).ravel()
        return out

    def among(self, places: Ints) -> Floats:
        """(p, p) of every two of some texts."""
        own = self.matrix[places]
        return np.asarray((own @ own.T).toarray(), np.float32)
