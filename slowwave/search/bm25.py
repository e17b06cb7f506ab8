"""BM25 over columns of texts: word counts, scores and ranked lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from slowwave.search.words import K1, LEVELS, LONGEST, STEMS, B, ranges

# Words of columns of texts, by Arrow's kernels, with the same analysis. Searches of the store do not need it.

_BETWEEN, _SINGLE = ranges(r"\x{{{:x}}}", wide=r"\x{{{:x}}}")


def split_words(texts: pa.Array) -> pa.Array:
    """Split texts (n) into lists (n) of words, by Arrow's kernels over the whole column.

    The words are not yet stemmed, and lists may hold empty strings.
    """
    folded = pc.utf8_lower(pc.utf8_normalize(texts, "NFKC"))
    folded = pc.replace_substring(folded, pattern="’", replacement="'")
    if pc.any(pc.match_substring(folded, "'s")).as_py():
        folded = pc.replace_substring_regex(folded, pattern=r"'s([^0-9a-z_]|$)", replacement=r"\1")
    if not pc.all(pc.string_is_ascii(folded)).as_py():
        folded = pc.replace_substring_regex(folded, pattern=_SINGLE, replacement=r" \1 ")
    return pc.split_pattern_regex(folded, _BETWEEN)


def stemmed(column: pa.Array) -> pa.Array:
    """Cut words (n) to their length and stem them; each distinct word once."""
    encoded = pc.dictionary_encode(column)
    stems = pc.utf8_slice_codeunits(encoded.dictionary, 0, LONGEST)
    for pattern, replacement in STEMS:
        stems = pc.replace_substring_regex(stems, pattern=pattern, replacement=replacement)
    return stems.take(encoded.indices)


# BM25 on sparse matrices: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and Trends in
# Information Retrieval 3(4), 2009; k1 = 1.2, b = 0.75.
#
# The weight of a term is ``ln(1 + (N - df + 0.5) / (df + 0.5))``: the added one, as in Lucene, keeps the weight of common terms positive.

_SLICE: Final = 10_000  # texts split at once: their words as strings take several times the memory of their numbers


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Word counts of texts: ``matrix`` (n, v) float32 CSR over ``words`` (v)."""

    words: pa.Array
    matrix: sparse.csr_array

    @classmethod
    def from_texts(cls, texts: pa.Array) -> Counts:
        """Count the words of texts (n, ``large_string``)."""
        coded: list[pa.DictionaryArray] = []
        rows: list[np.ndarray] = []
        for start in range(0, max(1, len(texts)), _SLICE):
            words, of = _tokens(texts.slice(start, _SLICE), start)
            coded.append(pc.dictionary_encode(words))
            rows.append(of)
        chunks = pa.chunked_array(coded).unify_dictionaries().chunks
        codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
        vocabulary = chunks[0].dictionary
        return cls(vocabulary, _counted(np.concatenate(rows), codes, (len(texts), len(vocabulary))))

    def extended(self, texts: pa.Array) -> Counts:
        """Return the counts of these texts followed by ``texts``, over one vocabulary."""
        more = Counts.from_texts(texts)
        fresh = more.words.filter(pc.is_null(pc.index_in(more.words, value_set=self.words)))
        vocabulary = pa.concat_arrays([self.words, fresh])
        columns = pc.index_in(more.words, value_set=vocabulary).to_numpy(zero_copy_only=False)
        above, below = self.matrix, more.matrix.tocoo()
        width = len(vocabulary)
        wide = sparse.csr_array((above.data, above.indices, above.indptr), shape=(len(above.indptr) - 1, width))
        added = sparse.csr_array((below.data, (below.row, columns[below.col])), shape=(len(texts), width))
        return Counts(vocabulary, sparse.csr_array(sparse.vstack([wide, added], format="csr")))

    def taken(self, rows: np.ndarray) -> Counts:
        """Return the counts of the texts at ``rows`` (m,), in that order."""
        return Counts(self.words, sparse.csr_array(self.matrix[rows]))

    def count_known(self, queries: Sequence[Sequence[str]]) -> sparse.csr_array:
        """Return counts (m, v) of the words of queries (m) that are in this vocabulary; other words are left out."""
        words = pa.array([word for query in queries for word in query], pa.large_string())
        rows = np.repeat(np.arange(len(queries), dtype=np.int32), [len(query) for query in queries])
        codes = pc.fill_null(pc.index_in(words, value_set=self.words), -1).to_numpy(zero_copy_only=False)
        known = codes >= 0
        return _counted(rows[known], codes[known], (len(queries), len(self.words)))


def word_weights(found: np.ndarray, texts: int) -> np.ndarray:
    """Return the weights of words that occur in ``found`` (v) of ``texts`` texts each."""
    return np.log1p((texts - found + 0.5) / (found + 0.5))


def postings(counts: sparse.csr_array, words: np.ndarray) -> sparse.csr_array:
    """Compute BM25 weights (w, n) float32 of some words from counts (n, v).

    A row holds what its word adds to each text's score. The scores of queries with counts Q (m, v) that hold only these words are ``Q[:,
    words] @ postings(counts, words)``.
    """
    n = len(counts.indptr) - 1
    lengths = np.asarray(counts.sum(axis=1), np.float64)
    mean = lengths.mean() if lengths.any() else 1.0
    damping = (K1 * (1 - B + B * lengths / mean)).astype(np.float32)
    by_word = sparse.csr_array(counts[:, words].T.tocsr())
    found = np.diff(by_word.indptr)
    idf = word_weights(found, n).astype(np.float32)
    tf = np.asarray(LEVELS, np.float32)[np.searchsorted(LEVELS, by_word.data, side="right") - 1]
    weight = np.repeat(idf, found)
    weight *= tf
    weight *= np.float32(K1 + 1)
    weight /= tf + damping[by_word.indices]
    by_word.data = weight
    return by_word


def _tokens(texts: pa.Array, first: int) -> tuple[pa.Array, np.ndarray]:
    """Return every word of every text, with the number of its text, counted from ``first``."""
    lists = split_words(texts)
    words = pc.list_flatten(lists)
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    real = pc.greater(pc.binary_length(words), 0)
    return stemmed(words.filter(real)), rows[real.to_numpy(zero_copy_only=False)].astype(np.int32) + np.int32(first)


def _counted(rows: np.ndarray, codes: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_array((ones, (rows, codes)), shape=shape)


# Ranked lists: the best entries of a matrix of scores.

_BLOCKS_PER_PLACE: Final = 8
_ABOVE_ZERO: Final = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows of several queries: ``query``, ``row`` and ``score``, each (m,)."""

    query: np.ndarray
    row: np.ndarray
    score: np.ndarray


def best(scores: np.ndarray, depth: int, step: float) -> ScoredRows:
    """Return at least the ``depth`` best positive candidates of each row of scores (q, n) float32, in no order.

    Ties and near ties are included, and scores are in whole steps: ``step`` is the difference below which two scores are equal. The
    result is exact, without a partial sort of n: the depth-th greatest of the maxima of blocks bounds the depth-th greatest score from
    below, so one comparison leaves little more than depth.
    """
    n = scores.shape[1]
    bound = np.zeros(len(scores), scores.dtype)
    if n > depth:
        starts = np.arange(0, n, max(1, n // (depth * _BLOCKS_PER_PLACE)))
        maxima = np.maximum.reduceat(scores, starts, axis=1)
        bound = np.partition(maxima, -depth, axis=1)[:, -depth] - 2 * step
    query, row = np.divmod(np.flatnonzero(scores >= np.maximum(bound, _ABOVE_ZERO)[:, None]), max(1, n))
    return ScoredRows(query, row, np.round(scores[query, row].astype(np.float64) / step))


def ranked(scored: ScoredRows, depth: int) -> ScoredRows:
    """Return the ``depth`` best of each query, by query and then best first, ties by the smaller row number."""
    order = np.lexsort((scored.row, -scored.score, scored.query))
    query, row, score = scored.query[order], scored.row[order], scored.score[order]
    kept = np.arange(len(query)) - np.searchsorted(query, query) < depth
    return ScoredRows(query[kept], row[kept], score[kept])
