"""BM25 on sparse matrices: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and
Trends in Information Retrieval 3(4), 2009; k1 = 1.2, b = 0.75.

The weight of a term is ``ln(1 + (N - df + 0.5) / (df + 0.5))``: the added one, Lucene's, keeps the weight of common terms
positive. Which rows are searched, and how lists are ranked and fused, belongs elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from slowwave.search.saturation import K1, LEVELS, B
from slowwave.search.word_columns import split_words, stemmed

_SLICE: Final = 10_000  # texts split at once: their words as strings take several times the room of their numbers


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often each word stands in each text: ``matrix`` (n, v) float32 CSR over ``words`` (v)."""

    words: pa.Array
    matrix: sparse.csr_array

    @classmethod
    def of(cls, texts: pa.Array) -> Counts:
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
        """These texts, then ``texts``, over one vocabulary."""
        more = Counts.of(texts)
        fresh = more.words.filter(pc.is_null(pc.index_in(more.words, value_set=self.words)))
        vocabulary = pa.concat_arrays([self.words, fresh])
        columns = pc.index_in(more.words, value_set=vocabulary).to_numpy(zero_copy_only=False)
        above, below = self.matrix, more.matrix.tocoo()
        width = len(vocabulary)
        wide = sparse.csr_array((above.data, above.indices, above.indptr), shape=(len(above.indptr) - 1, width))
        added = sparse.csr_array((below.data, (below.row, columns[below.col])), shape=(len(texts), width))
        return Counts(vocabulary, sparse.csr_array(sparse.vstack([wide, added], format="csr")))

    def taken(self, rows: np.ndarray) -> Counts:
        """The texts at ``rows`` (m,), in that order."""
        return Counts(self.words, sparse.csr_array(self.matrix[rows]))

    def count_known(self, queries: Sequence[Sequence[str]]) -> sparse.csr_array:
        """Words of queries (m) → (m, v) counts of those that stand in this vocabulary; others are left out."""
        words = pa.array([word for query in queries for word in query], pa.large_string())
        rows = np.repeat(np.arange(len(queries), dtype=np.int32), [len(query) for query in queries])
        codes = pc.fill_null(pc.index_in(words, value_set=self.words), -1).to_numpy(zero_copy_only=False)
        known = codes >= 0
        return _counted(rows[known], codes[known], (len(queries), len(self.words)))


def word_weights(found: np.ndarray, texts: int) -> np.ndarray:
    """Weights of words that stand in ``found`` (v) of ``texts`` texts each."""
    return np.log1p((texts - found + 0.5) / (found + 0.5))


def postings(counts: sparse.csr_array, words: np.ndarray) -> sparse.csr_array:
    """Counts (n, v) → BM25 weights (w, n) float32 of some words: a row holds what its word adds to each text's score.

    The scores of queries with counts Q (m, v), which are of no other words, are ``Q[:, words] @ postings(counts, words)``.
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
    """Every word of every text, with the number of its text, counted from ``first``."""
    lists = split_words(texts)
    words = pc.list_flatten(lists)
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    real = pc.greater(pc.binary_length(words), 0)
    return stemmed(words.filter(real)), rows[real.to_numpy(zero_copy_only=False)].astype(np.int32) + np.int32(first)


def _counted(rows: np.ndarray, codes: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_array((ones, (rows, codes)), shape=shape)
