"""The retriever over a snapshot: exact cosine and BM25 of its rows, calibrated and fused as in agents' searches.

Words, weights, calibration and fusion are those of ``slowwave.search.words`` and ``slowwave.search.candidates``, which the store's
searches use as well. Here they are exact and read a snapshot, so that a difference between two results is a difference between the
snapshots. The passage after a hit gains no score here, and a result is represented by its best-ranked wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import EmbeddingError
from slowwave.models import Embed
from slowwave.search.bm25 import Counts, ScoredRows, best, postings, ranked, word_weights
from slowwave.search.candidates import LEADERS, calibration_of, fuse, lexical_scores, semantic_scores, weight_of_words
from slowwave.search.priors import confidence
from slowwave.search.rows import SEARCHED, CitedRows, SearchedRows, searched_rows
from slowwave.search.snippets import coverage
from slowwave.search.things import Cited, either_covers, leaders, states_one_sentence
from slowwave.search.words import asked
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import VECTORS

DEPTH: Final = 100
"""Number of places of each list that count in the fusion, or more if more results are requested."""

_TILE: Final = 4_000_000  # scores in memory at once: 16 MB
_COSINE_STEP: Final = 1e-5  # float32 products of one vector differ by less, at any position in a matrix
_BM25_STEP: Final = 1e-4
_FUSED_STEP: Final = 1e-5
_WORDINGS: Final = 3  # rows checked for each of the things with the best lexical scores
_PAIRS: Final = 20_000  # cosines computed at once for rows that were found by words


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """One vectors table: ``rows`` (n,) are row numbers of the searched rows, -1 for the vector of a row that is not searched."""

    matrix: np.ndarray
    rows: np.ndarray

    def vectors_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the vectors (m, d) of row numbers (m,), or None if a row has no vector here."""
        order = np.argsort(self.rows, kind="stable")
        place = np.searchsorted(self.rows, rows, sorter=order)
        if (place == len(order)).any() or (self.rows[order[place]] != rows).any():
            return None
        return self.matrix[order[place]]


class Retriever:
    """The retriever of one snapshot; with ``base``, texts that are unchanged from another retriever are not read again.

    It finds only rows of ``tables``, as if an agent had indexed nothing else.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        embed: Embed | None = None,
        *,
        base: Retriever | None = None,
        tables: Sequence[str] = SEARCHED,
    ) -> None:
        self.embed = embed
        self.rows = searched_rows(snapshot, tables)
        self.counts = Counts.from_texts(self.rows.texts) if base is None else _recounted(self.rows, base)
        self.cited = CitedRows.from_snapshot(snapshot, self.rows)
        self._unknown = float(word_weights(np.zeros(1), len(self.rows))[0])
        self._calibration = calibration_of(next((v.model for v in snapshot.vectors.values() if v.model), ""))
        self._blocks = [b for name in VECTORS if (b := _block(snapshot, name, self.rows.ids)) is not None]

    def embedded(self, queries: Sequence[str]) -> np.ndarray | None:
        """Embed queries (q) as unit vectors (q, d) float32; return None without an embedder or without rows to compare."""
        return self.embed(queries) if self.embed is not None and self._blocks and queries else None

    def search(self, queries: Sequence[str], query_vectors: np.ndarray | None = None, k: int = 10) -> list[list[str]]:
        """Return the ids of the rows of the ``k`` best results of each query, best first, ties by id.

        There are fewer if fewer rows match. The embedder computes ``query_vectors`` (q, d) if they are not given; without an embedder,
        BM25 alone ranks. Raises ``EmbeddingError`` for vectors of another width than those of the rows.
        """
        return [[first for first, *_ in found] for found in self.things(queries, query_vectors, k)]

    def things(
        self, queries: Sequence[str], query_vectors: np.ndarray | None = None, k: int = 10
    ) -> list[list[tuple[str, ...]]]:
        """Return the ``k`` best results of each query as ``search`` finds them, each with the ids of its rows, best first.

        A memory and the passage that it was made from are one result (``slowwave.search.rows``).
        """
        vectors = self.embedded(queries) if query_vectors is None else query_vectors
        hits = self._fused(queries, vectors if self._blocks else None, max(k, DEPTH), max(k, DEPTH))
        leader = self._leader(hits)
        leads = leader == np.arange(len(leader))
        place = np.cumsum(leads) - 1
        place -= place[np.searchsorted(hits.query, hits.query)]
        kept = np.flatnonzero(place[leader] < k)
        found: list[list[list[str]]] = [[] for _ in queries]
        named = self.rows.ids.take(pa.array(hits.row[kept], pa.int64())).to_pylist()
        for query, at, id_ in zip(hits.query[kept].tolist(), place[leader[kept]].tolist(), named, strict=True):
            if at == len(found[query]):
                found[query].append([])
            found[query][at].append(id_)
        return [[tuple(ids) for ids in things] for things in found]

    def _leader(self, hits: ScoredRows, *, sure: bool = False) -> np.ndarray:
        """Return the positions (m) of the hits that represent the hits (m), which are sorted by query and best first.

        With ``sure``, pairs that depend on their texts are not joined.
        """
        leader = np.arange(len(hits.row))
        found = leaders(
            self.cited.among(hits.query, hits.row),
            lambda pair: not sure and self._says_the_same(hits.row, pair),
            lambda place: states_one_sentence(self.rows.content(int(hits.row[place]))),
        )
        leader[list(found)] = list(found.values())
        return leader

    def _says_the_same(self, row: np.ndarray, pair: Cited) -> bool:
        memory, passage = (self.rows.content(int(row[place])) for place in pair[:2])
        return either_covers(memory, passage)

    def _fused(self, queries: Sequence[str], vectors: np.ndarray | None, depth: int, k: int) -> ScoredRows:
        """Return the best rows by both scores among the ``depth`` best of each.

        A row that was found by its words has a cosine, whatever its rank by cosine.
        """
        lexical = self._by_words(queries, depth)
        if vectors is None:
            return ranked(ScoredRows(lexical.query, lexical.row, np.round(lexical.score / _FUSED_STEP)), k)
        near = self._by_vectors(vectors, depth)
        width = max(1, len(self.rows))
        keys, place = np.unique(
            np.concatenate([lexical.query * width + lexical.row, near.query * width + near.row]), return_inverse=True
        )
        word_scores, meant = np.zeros(len(keys)), np.full(len(keys), np.nan)
        word_scores[place[: len(lexical.row)]] = lexical.score
        meant[place[len(lexical.row) :]] = near.score
        query, row = keys // width, keys % width
        without = np.flatnonzero(np.isnan(meant))
        meant[without] = self._cosines(vectors, query[without], row[without])
        leading = ranked(lexical, LEADERS * _WORDINGS)
        alone = self._leader(leading, sure=True) == np.arange(len(leading.row))
        leading = ranked(ScoredRows(leading.query[alone], leading.row[alone], leading.score[alone]), LEADERS)
        found = np.bincount(leading.query, weights=leading.score, minlength=len(queries)) / LEADERS
        words = weight_of_words(found, self._calibration)
        scores = fuse(word_scores, semantic_scores(meant, self._calibration), words[query], query)
        return ranked(ScoredRows(query, row, np.round(scores / _FUSED_STEP)), k)

    def finds_the_same_as(self, other: Retriever) -> bool:
        """Return whether every search must give the same result, because rows, texts, citations and vectors are equal."""
        return (
            self.rows.ids.equals(other.rows.ids)
            and self.rows.texts.equals(other.rows.texts)
            and self.cited.equals(other.cited)
            and len(self._blocks) == len(other._blocks)
            and all(
                np.array_equal(a.rows, b.rows) and (a.matrix is b.matrix or np.array_equal(a.matrix, b.matrix))
                for a, b in zip(self._blocks, other._blocks, strict=True)
            )
        )

    def extends(self, other: Retriever) -> bool:
        """Return whether every row of ``other`` is here too, with the same text and vector."""
        place = pc.index_in(other.rows.ids, value_set=self.rows.ids)
        if place.null_count or not self.rows.texts.take(place).equals(other.rows.texts):
            return False
        at = place.to_numpy(zero_copy_only=False)
        for block in other._blocks:
            searched = block.rows >= 0
            rows = at[block.rows[searched]]
            own = [vectors for one in self._blocks if (vectors := one.vectors_of(rows)) is not None]
            if not any(np.array_equal(vectors, block.matrix[searched]) for vectors in own):
                return False
        return True

    def evident(self, query: str, vector: np.ndarray | None, ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of some ids, best first, that are evidence for a query or not a row here.

        Evidence is defined by ``slowwave.search.priors.confidence``. ``vector`` (d,) is the query's; None compares words only.
        """
        wanted = asked(query)
        found = pc.index_in(pa.array(ids, pa.string()), value_set=self.rows.ids).to_pylist()
        rows = np.array([-1 if row is None else row for row in found], np.int64)
        meaning: dict[int, float] = {}
        if vector is not None:
            known = rows[(rows >= 0) & np.any([np.isin(rows, block.rows) for block in self._blocks], axis=0)]
            cosines = self._cosines(vector[None], np.zeros(len(known), np.int64), known)
            meaning = dict(zip(known.tolist(), semantic_scores(cosines, self._calibration).tolist(), strict=True))

        def is_evident(place: int, row: int) -> bool:
            covered = coverage(str(self.rows.texts[row].as_py()), wanted)
            return confidence("other", "hybrid", covered, place, 0.0, meaning.get(row), self._calibration) != "low"

        return tuple(
            id_
            for place, (id_, row) in enumerate(zip(ids, rows.tolist(), strict=True), 1)
            if row < 0 or is_evident(place, row)
        )

    def _by_words(self, queries: Sequence[str], depth: int) -> ScoredRows:
        """Return the ``depth`` best rows of each query by lexical score, 0 … 1."""
        words = [asked(query) for query in queries]
        counts = self.counts.count_known(words)
        known = np.asarray(counts.sum(axis=1), np.float64)
        columns = np.unique(counts.indices)
        counts, by_word = counts[:, columns], postings(self.counts.matrix, columns)
        weights = word_weights(np.diff(by_word.indptr), len(self.rows))
        bounds = counts @ weights + self._unknown * (np.array([len(w) for w in words], np.float64) - known)
        found = [
            _shifted(best((counts[start:end] @ by_word).toarray(), depth, _BM25_STEP), start)
            for start, end in _tiles(len(queries), len(self.rows))
        ]
        kept = ranked(_joined(found), depth)
        return ScoredRows(kept.query, kept.row, lexical_scores(kept.score * _BM25_STEP, bounds[kept.query]))

    def _cosines(self, vectors: np.ndarray, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs (m), 0 for a row without a vector."""
        cosines = np.zeros(len(row))
        for block in self._blocks:
            of_row = np.full(len(self.rows), -1)
            of_row[block.rows[block.rows >= 0]] = np.flatnonzero(block.rows >= 0)
            pairs = np.flatnonzero(of_row[row] >= 0)
            for start in range(0, len(pairs), _PAIRS):
                part = pairs[start : start + _PAIRS]
                at = of_row[row[part]]
                compared = block.matrix[at]
                products = np.einsum("ij,ij->i", vectors[query[part]], compared)
                cosines[part] = np.round(products * _inverse_norms(compared) / _COSINE_STEP) * _COSINE_STEP
        return cosines

    def _by_vectors(self, vectors: np.ndarray, depth: int) -> ScoredRows:
        """Return the ``depth`` best rows of each query by cosine."""
        found: list[ScoredRows] = []
        for block in self._blocks:
            if vectors.shape[1] != block.matrix.shape[1]:
                raise EmbeddingError(
                    f"Queries have vectors of {vectors.shape[1]} numbers and the namespace's rows of {block.matrix.shape[1]}: "
                    "they come from different models. Set embedding_model to the namespace's model."
                )
            unsearched, inverse_norms = np.flatnonzero(block.rows < 0), _inverse_norms(block.matrix)
            for start, end in _tiles(len(vectors), len(block.matrix)):
                scores = vectors[start:end] @ block.matrix.T
                scores *= inverse_norms
                scores[:, unsearched] = -1
                part = best(scores, depth, _COSINE_STEP)
                found.append(_shifted(ScoredRows(part.query, block.rows[part.row], part.score), start))
        kept = ranked(_joined(found), depth)
        return ScoredRows(kept.query, kept.row, kept.score * _COSINE_STEP)


def _inverse_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse norms (n,) of (n, d), 0 for a vector of zeros.

    This reads the whole matrix, which a search by words alone does not.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)


def _recounted(rows: SearchedRows, base: Retriever) -> Counts:
    """Return the word counts of ``rows``: those of ``base`` if the text is the same, else counted anew."""
    before = pc.index_in(rows.ids, value_set=base.rows.ids)
    same = pc.fill_null(pc.equal(base.rows.texts.take(before), rows.texts), False)
    changed = pc.invert(same).to_numpy(zero_copy_only=False)
    source = pc.fill_null(before, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    source[changed] = len(base.rows) + np.arange(int(changed.sum()))
    return base.counts.extended(rows.texts.filter(pc.invert(same))).taken(source)


def _block(snapshot: Snapshot, name: str, ids: pa.Array) -> _Block | None:
    vectors = snapshot.vectors.get(name)
    if vectors is None or not len(vectors):
        return None
    rows = pc.fill_null(pc.index_in(vectors.ids, value_set=ids), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return _Block(vectors.matrix, rows) if (rows >= 0).any() else None


def _tiles(queries: int, rows: int) -> Iterator[tuple[int, int]]:
    size = max(1, _TILE // max(1, rows))
    return ((start, min(start + size, queries)) for start in range(0, queries, size))


def _shifted(scored: ScoredRows, start: int) -> ScoredRows:
    return ScoredRows(scored.query + start, scored.row, scored.score)


def _joined(parts: Sequence[ScoredRows]) -> ScoredRows:
    if not parts:
        return ScoredRows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    query, row, score = (np.concatenate([getattr(p, name) for p in parts]) for name in ("query", "row", "score"))
    return ScoredRows(query, row, score)
