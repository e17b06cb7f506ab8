"""The reference of the quality benchmark: cosine of tf-idf vectors of the whole row, its threshold chosen with the gold in hand.

A text is the name and all attribute values, folded; its features are words, or groups of three letters within words. Both are
tried and the better one is kept, so the reference knows two things that a user does not: which features and which threshold.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.int64]

_STEPS: Final = 100  # thresholds tried between 0 and 1
_WORK: Final = 2e9  # multiply-adds a join may cost; beyond that a sample of rows is compared with all
_PAIRS: Final = 1e9  # cosines it may make
_FEWEST: Final = 1_000  # rows in such a sample
_CELLS: Final = 8_000_000  # cosines held at a time


class Reference(NamedTuple):
    """The best that a threshold on the cosine reaches; ``rows`` is how many rows were compared with all others."""

    features: str
    threshold: float
    precision: float
    recall: float
    f1: float
    rows: int


def best(names: Sequence[str], attributes: Sequence[str], kinds: Ints, gold: Ints) -> Reference:
    """The threshold of the best F1 over pairs of one kind (n,), by words or letters; ``attributes`` are JSON texts."""
    texts = [
        _fold(" ".join([name, *_values(json.loads(a or "{}"))])) for name, a in zip(names, attributes, strict=True)
    ]
    found = [
        _best(features, vectors, kinds, gold)
        for features, vectors in (("words", _words(texts)), ("3-grams", _grams(texts)))
    ]
    return max(found, key=lambda reference: reference.f1)


def _best(features: str, vectors: Any, kinds: Ints, gold: Ints) -> Reference:
    n = vectors.shape[0]
    often = np.bincount(vectors.indices, minlength=1).astype(float)
    bearable = min(_WORK / max(float(often @ often), 1.0), _PAIRS / max(n * n, 1))
    share = min(1.0, max(bearable, _FEWEST / max(n, 1)))
    asked = np.sort(np.random.default_rng(7).permutation(n)[: max(1, round(n * share))])
    near, right = np.zeros(_STEPS + 1, np.int64), np.zeros(_STEPS + 1, np.int64)
    turned = vectors.T.tocsr()
    for at in np.array_split(asked, max(1, len(asked) * n // _CELLS)):
        found = (vectors[at] @ turned).tocoo()
        i, j = at[found.row], found.col
        fits = (i != j) & (kinds[i] == kinds[j])
        step = np.clip(found.data[fits] * _STEPS, 0, _STEPS).astype(np.int64)
        near += np.bincount(step, minlength=_STEPS + 1)
        right += np.bincount(step[gold[i[fits]] == gold[j[fits]]], minlength=_STEPS + 1)
    sizes = np.bincount(gold)
    all_right = int((sizes[gold[asked]] - 1).sum())
    said, kept = np.cumsum(near[::-1])[::-1], np.cumsum(right[::-1])[::-1]
    f1 = 2 * kept / np.maximum(said + all_right, 1)
    at_best = int(np.argmax(f1))
    return Reference(
        features,
        at_best / _STEPS,
        float(kept[at_best] / max(said[at_best], 1)),
        float(kept[at_best] / max(all_right, 1)),
        float(f1[at_best]),
        len(asked),
    )


def _fold(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return re.sub(r"[\W_]+", " ", plain)


def _values(value: Any) -> Iterable[str]:
    """All texts and numbers in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _values(part)
    elif value is not None and value != "nan":
        yield str(value)


def _words(texts: Sequence[str]) -> Any:
    split = pc.utf8_split_whitespace(pa.array([text.strip() or "-" for text in texts]))
    codes = pc.dictionary_encode(pc.list_flatten(split)).indices.to_numpy(zero_copy_only=False)
    return _weighed(len(texts), pc.list_parent_indices(split).to_numpy(), codes.astype(np.int64))


def _grams(texts: Sequence[str]) -> Any:
    """Three letters at every place of `` word ``; a gram never spans two words."""
    letters = np.frombuffer("".join(f" {text.strip()} \n" for text in texts).encode("utf-32-le"), np.uint32).astype(
        np.int64
    )
    row = np.cumsum(letters == ord("\n"))
    first, middle, last = letters[:-2], letters[1:-1], letters[2:]
    within = (middle != ord(" ")) & (row[:-2] == row[2:]) & (first != ord("\n"))
    _, codes = np.unique((first << 42 | middle << 21 | last)[within], return_inverse=True)
    return _weighed(len(texts), row[:-2][within], codes)


def _weighed(n: int, rows: Ints, codes: Ints) -> Any:
    """Counts times smoothed inverse document frequency, rows of length 1."""
    counts = sparse.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, codes)), shape=(n, int(codes.max(initial=0)) + 1)
    )
    often = np.bincount(counts.indices, minlength=counts.shape[1])
    vectors = counts @ sparse.diags((np.log((1 + n) / (1 + often)) + 1).astype(np.float32))
    length = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return (sparse.diags(1 / np.maximum(length, 1e-9).astype(np.float32)) @ vectors).tocsr()
