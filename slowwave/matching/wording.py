"""How alike two texts are in their letters: tf-idf cosine of groups of three letters.

Sees what a comparison field by field cannot: an artist in the title, a number moved to the description, words run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

_COLUMNS: Final = 1 << 20
_LONGEST: Final = 400  # letters of a text that count


def trigrams(texts: Sequence[str]) -> Any:
    """n texts → (n, columns) float32 unit rows. Groups are hashed; the columns are those that occur.

    Time and memory grow with the letters. The weight of a group is sqrt(count) · ln(1 + n / texts that hold it).
    """
    padded = [f"  {text[:_LONGEST]} " for text in texts]
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), np.uint32)
    rows = np.repeat(np.arange(len(padded), dtype=np.int32), [len(t) for t in padded])
    if len(letters) < 3:
        return sparse.csr_matrix((len(padded), 0), dtype=np.float32)
    whole = rows[:-2] == rows[2:]
    mixed = letters.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    codes = (mixed[:-2] ^ (mixed[1:-1] >> np.uint64(7)) ^ (mixed[2:] >> np.uint64(17))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes >> np.uint64(44)).astype(np.int32)[whole] % _COLUMNS
    counts: Any = sparse.csr_matrix(
        (np.ones(len(codes), np.float32), (rows[:-2][whole], codes)), shape=(len(padded), _COLUMNS)
    )
    counts.sum_duplicates()
    held = np.bincount(counts.indices, minlength=_COLUMNS)
    weight = np.log1p(len(padded) / np.maximum(held, 1)).astype(np.float32)
    counts.data = np.sqrt(counts.data) * weight[counts.indices]
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(counts.indptr)).astype(np.float32)
    return counts


def cosines(rows: Any, i: Ints, j: Ints) -> Reals:
    """Cosines (p,) of pairs of unit rows, rounded to six decimals."""
    products: Reals = np.asarray(rows[i].multiply(rows[j]).sum(axis=1), float).ravel()
    return products.round(6)
