"""Which searched rows of a snapshot are one thing: memories with the passages that they cite, as arrays. What makes two rows one thing is
said in ``slowwave.search.things``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.search.rows import SearchedRows
from slowwave.search.things import Cited
from slowwave.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class CitedRows:
    """Of n searched rows: row r cites ``keys[starts[r]:starts[r + 1]]``; a key under n is a passage, others are documents.

    ``document`` (n,) is the key of a passage's document, -1 for what is no passage; ``summary`` (n,) says which rows are summaries.
    """

    starts: np.ndarray
    keys: np.ndarray
    document: np.ndarray
    summary: np.ndarray

    @classmethod
    def of(cls, snapshot: Snapshot, rows: SearchedRows) -> CitedRows:
        """Those of a snapshot. Cost: a pass over memories, their sources and passages."""
        memories, chunks = snapshot.table("memories"), snapshot.table("chunks")
        place = _places(memories["id"], rows.ids)
        cited = memories["source_chunk_ids"].combine_chunks()
        alone = pc.equal(pc.fill_null(pc.list_value_length(cited), 0), 0).to_numpy(zero_copy_only=False)
        documents = snapshot.table("documents")["id"].combine_chunks()
        parts = (
            _edges(cited, place, rows.ids, 0),
            _edges(memories["source_document_ids"].combine_chunks(), np.where(alone, place, -1), documents, len(rows)),
        )
        row, key = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((key, row))
        starts = np.searchsorted(row[order], np.arange(len(rows) + 1))
        document, summary = np.full(len(rows), -1), np.zeros(len(rows), np.bool_)
        of_chunk, of_document = _places(chunks["id"], rows.ids), _places(chunks["document_id"], documents)
        searched = of_chunk >= 0
        document[of_chunk[searched]] = len(rows) + np.where(of_document < 0, len(documents), of_document)[searched]
        summaries = place[pc.equal(memories["kind"], "summary").to_numpy(zero_copy_only=False)]
        summary[summaries[summaries >= 0]] = True
        return cls(starts, key[order], document, summary)

    def among(self, query: np.ndarray, row: np.ndarray) -> list[Cited]:
        """Hits (m): their queries and rows → pairs of places of hits of one query that may be one thing. Linear in hits and pairs."""
        passages = np.flatnonzero(self.document[row] >= 0)
        memories = np.flatnonzero(self.starts[row] < self.starts[row + 1])
        if not len(passages) or not len(memories):
            return []
        memory, key = _spread(self.starts[row[memories]], self.starts[row[memories] + 1])
        memory, key = memories[memory], self.keys[key]
        width = 1 + max(len(self.document), int(self.document.max()), int(self.keys.max()))
        hit = np.concatenate([passages, passages])
        held = np.concatenate(
            [query[passages] * width + row[passages], query[passages] * width + self.document[row[passages]]]
        )
        order = np.argsort(held, kind="stable")
        wanted = query[memory] * width + key
        found = [np.searchsorted(held[order], wanted, side) for side in ("left", "right")]
        pair, at = _spread(*found)
        sure = (key < len(self.document)) & ~self.summary[row[memory]]
        columns = (memory[pair].tolist(), hit[order][at].tolist(), sure[pair].tolist())
        return [Cited(*values) for values in zip(*columns, strict=True)]

    def equals(self, other: CitedRows) -> bool:
        """Whether the same rows cite the same."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("starts", "keys", "document", "summary")
        )


def _places(ids: pa.ChunkedArray, among: pa.Array) -> np.ndarray:
    """(n,) ids → their places, -1 for those that are not there."""
    return pc.fill_null(pc.index_in(ids, value_set=among), -1).to_numpy().astype(np.int64)


def _edges(lists: pa.ListArray, of: np.ndarray, among: pa.Array, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Lists (n) of ids → (row, key) of those that are there; ``of`` (n,) are the rows of the lists, -1 for none."""
    parent = of[pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)]
    place = pc.fill_null(pc.index_in(pc.list_flatten(lists), value_set=among), -1).to_numpy(zero_copy_only=False)
    known = (parent >= 0) & (place >= 0)
    return parent[known], place[known].astype(np.int64) + first


def _spread(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranges (n) → (which range, which number) of every number in them."""
    sizes = ends - starts
    which = np.repeat(np.arange(len(sizes)), sizes)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[which]
