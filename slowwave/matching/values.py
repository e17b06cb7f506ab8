"""How unequal values of one attribute agree, by the shape of its column: the levels of ``slowwave.matching.comparisons``.

A slip of a digit, two parts of a date, one host, words in common. What that is worth belongs to ``slowwave.matching.weights``.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler
from scipy import sparse

from slowwave.matching.attributes import Column
from slowwave.matching.words import WordInformation, cosine

Ints = NDArray[np.int64]
Levels = NDArray[np.int8]

_WORKERS: Final = 2
_THREADED: Final = 10_000  # pairs from which threads cost less than they save
_FIGURES: Final = re.compile(r"\d+")
_LETTERS: Final = 0.7  # of two values that are alike, those that are the same


def any_equal(column: Column, i: Ints, j: Ints, n: int) -> tuple[Ints, Ints]:
    """For a column of lists: which pairs have a value in common, and its code (the rarest)."""
    order = np.argsort(np.argsort(column.counts, kind="stable"), kind="stable")
    ranks = len(column.texts) - order  # larger is rarer; never 0
    matrix: Any = sparse.csr_matrix(
        (ranks[column.codes].astype(float), (column.rows, column.codes)), shape=(n, len(ranks))
    )
    ones = matrix.copy()
    ones.data[:] = 1
    best: Any = matrix[i].multiply(ones[j]).tocsr()
    top = np.asarray(best.max(axis=1).todense()).ravel().astype(np.int64)
    code = np.empty(len(ranks) + 1, np.int64)
    code[ranks] = np.arange(len(ranks))
    at = np.flatnonzero(top > 0)
    return at, code[top[at]]


def same_values(column: Column, i: Ints, j: Ints, n: int) -> NDArray[np.bool_]:
    """Whether two rows of each pair list the same values."""
    mark = np.random.default_rng(0).integers(1, 1 << 62, len(column.texts), dtype=np.uint64)
    sums = np.zeros(n, np.uint64)
    np.add.at(sums, column.rows, mark[column.codes])
    return sums[i] == sums[j]


def value_levels(column: Column, words: WordInformation | None, a: Ints, b: Ints) -> Levels:
    """Levels of unequal distinct values. Only the values that are asked for are read, so that a few pairs cost little."""
    read, at = np.unique(np.concatenate([a, b]), return_inverse=True)
    asked, p, q = column.texts[read], at[: len(a)], at[len(a) :]
    x, y = asked[p], asked[q]
    letters = np.array([len(t) for t in asked], np.int64)
    if column.shape in ("email", "phone", "code", "codes"):
        cut = 2 if column.shape == "email" else 1
        edits = each_pair(x, y, OSA.distance, cut, np.int32)
        return ((edits <= cut) & (np.minimum(letters[p], letters[q]) >= 5)).astype(np.int8)
    if column.shape == "url":
        host = np.array([t.split("/")[0] for t in asked], np.object_)
        return (host[p] == host[q]).astype(np.int8)
    if column.shape == "date":
        return _date_levels(x, y)
    if column.shape == "number":
        edits = each_pair(x, y, OSA.distance, 1, np.int32)
        value = np.array([_float(t) for t in asked])
        gap = np.abs(value[p] - value[q]) / np.maximum(np.maximum(np.abs(value[p]), np.abs(value[q])), 1e-9)
        slip = (edits <= 1) & (np.minimum(letters[p], letters[q]) >= 3)
        return np.select([slip, (gap <= 0.1) | (np.abs(value[p] - value[q]) <= 1)], [2, 1], 0).astype(np.int8)
    winkler = each_pair(x, y, JaroWinkler.similarity, 0.7, np.float32)
    figures = np.array([" ".join(_FIGURES.findall(t)) for t in asked], np.object_)
    winkler[(figures[p] != figures[q]) & (figures[p] != "") & (figures[q] != "")] = 0  # "pages 12 31", "pages 45 61"
    if words is None:
        contained = each_pair(x, y, fuzz.token_set_ratio, 80, np.float32)
        near = (
            each_pair(x, y, OSA.normalized_similarity, _LETTERS, np.float32) >= _LETTERS
        )  # not "Jan Pavlov", "Jan Petrovic"
        return np.select([winkler >= 0.92, ((winkler >= 0.82) & near) | (contained >= 99)], [2, 1], 0).astype(np.int8)
    alike = np.round(cosine(words, a, b), 6)
    return np.select([(alike >= 0.85) | (winkler >= 0.96), alike >= 0.5, alike >= 0.15], [3, 2, 1], 0).astype(np.int8)


def _date_levels(x: NDArray[np.object_], y: NDArray[np.object_]) -> Levels:
    """Levels of unequal dates in normal form (yyyymmdd; what is no date is compared letter by letter)."""
    edits = each_pair(x, y, OSA.distance, 1, np.int32)
    parts = [[np.array([t[at] for t in s], np.object_) for at in (slice(4), slice(4, 6), slice(6, 8))] for s in (x, y)]
    (year, month, day), (other_year, other_month, other_day) = parts
    same = (year == other_year).astype(int) + (month == other_month) + (day == other_day)
    swapped = (year == other_year) & (month == other_day) & (day == other_month)
    return np.select([(edits <= 1) | swapped, same >= 2], [2, 1], 0).astype(np.int8)


def each_pair(x: NDArray[np.object_], y: NDArray[np.object_], scorer: Any, cutoff: float, dtype: Any) -> NDArray[Any]:
    """Scores (p,) of pairs of texts, those beyond the cutoff as rapidfuzz gives them; a few pairs are not worth a second thread."""
    workers = _WORKERS if len(x) >= _THREADED else 1
    return process.cpdist(x, y, scorer=scorer, score_cutoff=cutoff, workers=workers, dtype=dtype)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
