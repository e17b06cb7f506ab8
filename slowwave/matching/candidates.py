"""Which pairs are looked at: the union of several cheap keys and of near vectors, always within one entity type.

Every key is a block: rows that share it are paired. A block of more than ``BLOCK_ROWS`` rows says nothing ("Inc"), is left
out and reported; the other keys still find its true pairs. Weighing pairs belongs to ``slowwave.matching.evidence``.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from slowwave.matching.names import LONGEST
from slowwave.matching.population import Population
from slowwave.matching.vectors import pairs_above, share_above

Ints = NDArray[np.int64]

KEYS: Final = ("name", "words", "compact", "acronym", "nickname", "initials", "alias", "attribute", "ngram", "vector")
"""Keys in the order of their bits in ``Candidates.found_by``."""

BLOCK_ROWS: Final = 500
PAIRS_PER_ROW: Final = 200
"""Near vectors per row above which a type's threshold is raised: such a neighbourhood tells nothing apart."""

_FEW_PAIRS: Final = 500_000  # so many are always bearable
_NGRAM_COSINE: Final = 0.6
_NGRAM_WORK: Final = 3_000  # multiply-adds a name that the n-gram join may cost


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs i < j (row numbers), sorted, with the keys that found them as bits; ``dropped`` says what was left out."""

    i: Ints
    j: Ints
    found_by: NDArray[np.uint16]
    dropped: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Pairs found by each key; a pair counts for every key that found it."""
        return {key: int(np.count_nonzero(self.found_by & (1 << bit))) for bit, key in enumerate(KEYS)}


def find(people: Population, band_low: float, threshold: float) -> Candidates:
    """All candidate pairs. ``band_low`` is the cosine from which near vectors are looked at, ``threshold`` that of merges."""
    n = len(people)
    found: list[tuple[str, Ints, Ints]] = []
    dropped: list[str] = []
    for key, rows, codes in _postings(people):
        i, j, left_out = _block_pairs(rows, codes * (int(people.kind.max(initial=0)) + 1) + people.kind[rows])
        found.append((key, i, j))
        dropped += [f"{key}: {blocks} blocks of {rows} rows in all" for blocks, rows in [left_out] if blocks]
    i, j, heavy = _ngram_pairs(people)
    found.append(("ngram", i, j))
    if heavy:
        dropped.append(f"ngram: {heavy} letter groups that stand in too many names")
    i, j, raised = _vector_pairs(people, band_low, threshold)
    found.append(("vector", i, j))
    return _union(n, found, (*dropped, *raised))


def _postings(people: Population) -> Iterable[tuple[str, Ints, Ints]]:
    """(key, rows, codes): rows that share a code under a key are candidates."""
    names, n = people.names, len(people)
    every = np.arange(n)

    def flat(codes: Ints) -> tuple[Ints, Ints]:
        rows = np.repeat(every, codes.shape[1])
        return rows[codes.ravel() >= 0], codes.ravel()[codes.ravel() >= 0]

    for key, codes in (("name", names.plain), ("words", names.ordered), ("compact", names.compact)):
        yield key, *flat(codes[:, None])
    rows, codes = flat(names.acronym)
    meant = np.isin(codes, names.short[names.short >= 0])  # initials that nobody writes as a name pair nothing
    short, shorts = flat(names.short[:, None])
    yield "acronym", np.concatenate([rows[meant], short]), np.concatenate([codes[meant], shorts])
    yield "nickname", *flat(names.nickname)
    rows, codes = flat(names.initial[:, None])
    meant = np.isin(codes, names.initial[names.abbreviated])
    yield "initials", rows[meant], codes[meant]
    known = people.known_as.tocoo()
    yield "alias", known.row.astype(np.int64), known.col.astype(np.int64)
    values = people.attributes.values.tocoo()
    strong = people.attributes.identifying[values.col] > 0
    yield "attribute", values.row[strong].astype(np.int64), values.col[strong].astype(np.int64)


def _block_pairs(rows: Ints, codes: Ints) -> tuple[Ints, Ints, tuple[int, int]]:
    """All pairs of rows with equal codes, and (blocks, rows) of those left out."""
    if not len(rows):
        return rows, rows, (0, 0)
    order = np.lexsort((rows, codes))
    rows, codes = rows[order], codes[order]
    fresh = np.r_[True, (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])]
    rows, codes = rows[fresh], codes[fresh]
    _, start, size = np.unique(codes, return_index=True, return_counts=True)
    large = size > BLOCK_ROWS
    ends = np.repeat(start + size, size)
    later = np.where(np.repeat(large, size), 0, ends - np.arange(len(rows)) - 1)  # partners after each row in its block
    first = np.repeat(np.arange(len(rows)), later)
    step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return rows[first], rows[first + 1 + step], (int(large.sum()), int(size[large].sum()))


def _ngram_pairs(people: Population) -> tuple[Ints, Ints, int]:
    """Pairs whose names have a character 3-gram tf-idf cosine ≥ .6, by a sparse self-join within types.

    Grams that stand in many names are left out of the join, the most frequent first, until it costs at most some 3,000
    multiply-adds a name. By Cauchy–Schwarz the rest still bounds every cosine, and survivors get the full one; only pairs that
    share nothing but such grams are missed.
    """
    grams: Any = _grams(people)
    n = grams.shape[0]
    frequency = np.bincount(grams.indices, minlength=grams.shape[1])
    order = np.argsort(frequency, kind="stable")
    light = np.zeros(len(order), bool)
    light[order[: np.searchsorted(np.cumsum(frequency[order].astype(float) ** 2), _NGRAM_WORK * n)]] = True
    joined: Any = grams[:, np.flatnonzero(light)].tocsr()
    squares = np.asarray(joined.multiply(joined).sum(axis=1)).ravel()
    rest = np.sqrt(np.maximum(0, 1 - squares)).astype(np.float32)  # norm of what was left out of each name
    turned: Any = joined.T.tocsr()

    def work(start: int) -> tuple[Ints, Ints]:
        part = (joined[start : start + 1_024] @ turned).tocoo()
        i, j = part.row.astype(np.int64) + start, part.col.astype(np.int64)
        near = (j > i) & (part.data + rest[i] * rest[j] >= _NGRAM_COSINE)
        i, j = i[near], j[near]
        true = np.asarray(grams[i].multiply(grams[j]).sum(axis=1)).ravel() >= _NGRAM_COSINE - 1e-6
        return i[true], j[true]

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(work, range(0, n, 1_024)))
    empty = np.empty(0, np.int64)
    return (
        np.concatenate([empty, *(i for i, _ in parts)]),
        np.concatenate([empty, *(j for _, j in parts)]),
        int(len(light) - light.sum()),
    )


def _grams(people: Population) -> Any:
    """(n, features) float32 unit rows: tf-idf of 3-letter groups of the folded name; a feature belongs to one type.

    Names of more than ``LONGEST`` letters have an empty row.
    """
    texts = [f"  {text} " if len(text) <= LONGEST else "" for text in people.names.folded]
    lengths = np.array([len(t) for t in texts], np.int64)
    letters = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).astype(np.int64)
    if len(letters) < 3:
        return sparse.csr_matrix((len(texts), 0), dtype=np.float32)
    rows = np.repeat(np.arange(len(texts)), lengths)[:-2]
    whole = rows == np.repeat(np.arange(len(texts)), lengths)[2:]
    codes = ((letters[:-2] << 42) | (letters[1:-1] << 21) | letters[2:])[whole]
    rows = rows[whole]
    _, gram = np.unique(codes, return_inverse=True)
    _, feature = np.unique(people.kind[rows] * (int(gram.max()) + 1) + gram, return_inverse=True)
    counts: Any = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, feature)))
    counts.resize(len(texts), counts.shape[1])
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    members = np.bincount(people.kind)[people.kind]
    of_type = np.zeros(counts.shape[1])
    of_type[counts.indices] = np.repeat(members, np.diff(counts.indptr))
    weights = np.log1p(of_type / np.maximum(held, 1)).astype(np.float32)
    counts.data = np.sqrt(counts.data) * weights[counts.indices]
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(counts.indptr)).astype(np.float32)
    return counts


def _vector_pairs(people: Population, band_low: float, threshold: float) -> tuple[Ints, Ints, tuple[str, ...]]:
    """Pairs of one type with cosine ≥ ``band_low``; a type too dense for that is searched at ``threshold``, or not at all."""
    found: list[tuple[Ints, Ints]] = []
    raised: list[str] = []
    has = np.flatnonzero(people.vector >= 0)
    has = has[np.argsort(people.kind[has], kind="stable")]
    for rows in np.split(has, np.flatnonzero(np.diff(people.kind[has])) + 1):
        if len(rows) < 2:
            continue
        units = people.units[people.vector[rows]]
        levels = sorted({band_low, max(band_low, threshold)})
        bearable = max(PAIRS_PER_ROW * len(rows), _FEW_PAIRS)
        fits = [t for t in levels if share_above(units, t) * len(rows) ** 2 / 2 <= bearable]
        if fits[:1] != levels[:1]:
            says = f"only from {fits[0]:.2f}" if fits else "not at all"
            raised.append(f"vector: {people.types[rows[0]]} is too dense, compared {says} ({len(rows)} rows)")
        if fits:
            i, j, _ = pairs_above(units, fits[0])
            found.append((rows[i], rows[j]))
    empty = np.empty(0, np.int64)
    return (
        np.concatenate([empty, *(i for i, _ in found)]),
        np.concatenate([empty, *(j for _, j in found)]),
        tuple(raised),
    )


def _union(n: int, found: list[tuple[str, Ints, Ints]], dropped: tuple[str, ...]) -> Candidates:
    pairs = np.concatenate([np.minimum(i, j) * n + np.maximum(i, j) for _, i, j in found])
    bits = np.concatenate([np.full(len(i), 1 << KEYS.index(key), np.uint16) for key, i, _ in found])
    order = np.argsort(pairs, kind="stable")
    pairs, bits = pairs[order], bits[order]
    first = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]]) if len(pairs) else np.empty(0, np.int64)
    merged = np.bitwise_or.reduceat(bits, first) if len(first) else bits
    return Candidates(pairs[first] // max(n, 1), pairs[first] % max(n, 1), merged, dropped)
