"""Rows that recall can find, and the pairs of them that are one result: a memory and the passage that it cites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.search.things import Cited
from slowwave.snapshots.snapshot import Snapshot

# Searched rows: the rows of a snapshot that a recall can find, each with its text.
#
# Only live, active rows: entities (name, description, aliases), chunks (content, under the title of their document and the speaker of a
# message) and memories (their current version, under its subject). Facts, relationships and documents are reached through these and are not
# searched.

SEARCHED: Final = ("entities", "chunks", "memories")
"""Tables whose rows can be found."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedRows:
    """The rows that recall can find.

    ``ids`` (n) are sorted, of all tables together. ``texts`` (n) are ``large_string`` and never null. ``headings`` (n) is the number of
    characters of a text that are the title or subject above it, including the line break.
    """

    ids: pa.Array
    texts: pa.Array
    headings: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def content(self, row: int) -> str:
        """Return a text without its heading."""
        return str(self.texts[row].as_py())[int(self.headings[row].as_py()) :]


def searched_rows(snapshot: Snapshot, tables: Sequence[str] = SEARCHED) -> SearchedRows:
    """Return the rows of ``tables`` in ``snapshot`` that recall can find.

    Archived, quarantined and merged rows are left out, as are retired ones.
    """
    parts = [_TEXTS[table](snapshot) for table in tables]
    ids = pa.concat_arrays([_flat(ids, pa.string()) for ids, _, _ in parts])
    texts = pa.concat_arrays([_flat(texts, pa.large_string()) for _, texts, _ in parts])
    headings = pa.concat_arrays([_heights(headings) for _, _, headings in parts])
    order = pc.sort_indices(ids)
    return SearchedRows(ids.take(order), pc.fill_null(texts, "").take(order), headings.take(order))


def searched_table(snapshot: Snapshot, table: str, columns: Sequence[str]) -> pa.Table:
    """Return some columns of the live rows of one table, only those with the state ``active`` if the table has states."""
    if "state" not in snapshot.table(table).column_names:
        return snapshot.live(table, columns)
    rows = snapshot.live(table, (*columns, "state"))
    return rows.filter(pc.equal(rows["state"], "active")).select(list(dict.fromkeys(columns)))


_Part = tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]
"""Ids, texts and headings (n each)."""


def _entities(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "entities", ("id", "name", "description"))
    return rows["id"], entity_texts(snapshot, rows), pa.chunked_array([pa.repeat("", len(rows))])


def entity_texts(snapshot: Snapshot, rows: pa.Table, separator: str = " ") -> pa.ChunkedArray:
    """Return name, description and aliases of entities (n) as one text each."""
    # One thread keeps the aliases of an entity in id order, so that equal rows have equal texts.
    known = snapshot.table("entity_aliases").group_by("entity_id", use_threads=False).aggregate([("alias", "list")])
    joined = pc.binary_join(known["alias_list"], separator)
    aliases = joined.take(pc.index_in(rows["id"], value_set=known["entity_id"].combine_chunks()))
    return pc.binary_join_element_wise(
        rows["name"], rows["description"], aliases, separator, null_handling="replace", null_replacement=""
    )


def _chunks(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "chunks", ("id", "document_id", "content", "speaker"))
    documents = snapshot.table("documents")
    place = pc.index_in(rows["document_id"], value_set=documents["id"].combine_chunks())
    titles = documents["title"].take(place)
    headings = pc.if_else(pc.is_valid(rows["speaker"]), _joined(titles, rows["speaker"]), titles)
    return rows["id"], _joined(headings, rows["content"]), headings


def _memories(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "memories", ("id", "subject", "current_version_id"))
    versions = snapshot.table("memory_versions")
    current = pc.index_in(rows["current_version_id"], value_set=versions["id"].combine_chunks())
    return rows["id"], _joined(rows["subject"], versions["content"].take(current)), rows["subject"]


_TEXTS: Final[Mapping[str, Callable[[Snapshot], _Part]]] = {
    "entities": _entities,
    "chunks": _chunks,
    "memories": _memories,
}


def _joined(heading: pa.ChunkedArray, text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put texts (n) under their headings (n), if they have one."""
    headed = pc.binary_join_element_wise(heading, text, "\n", null_handling="replace", null_replacement="")
    return pc.if_else(pc.equal(pc.fill_null(heading, ""), ""), text, headed)


def _heights(headings: pa.ChunkedArray) -> pa.Array:
    """Return the number of characters (n,) int32 that headings (n) take of a text."""
    lengths = pc.fill_null(pc.utf8_length(headings), 0)
    return _flat(pc.add(lengths, pc.min_element_wise(lengths, 1)), pa.int32())


def _flat(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([chunk.cast(kind) for chunk in column.chunks] or [pa.array([], kind)])


# Citations in a snapshot: the searched rows that are one thing (memories with the passages that they cite), as arrays.


@dataclass(frozen=True, slots=True, eq=False)
class CitedRows:
    """The citations of n searched rows: row r cites ``keys[starts[r]:starts[r + 1]]``.

    A key below n is a passage, other keys are documents. ``document`` (n,) is the key of a passage's document, -1 for a row that is not a
    passage. ``summary`` (n,) flags the rows that are summaries.
    """

    starts: np.ndarray
    keys: np.ndarray
    document: np.ndarray
    summary: np.ndarray

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, rows: SearchedRows) -> CitedRows:
        """Return the citations of a snapshot.

        Cost: a pass over memories, their sources and passages.
        """
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
        """Return the pairs of positions of hits of one query that may be one result, from the queries and rows of hits (m).

        Time is linear in hits and pairs.
        """
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
        """Return whether the same rows have the same citations."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("starts", "keys", "document", "summary")
        )


def _places(ids: pa.ChunkedArray, among: pa.Array) -> np.ndarray:
    """Return the positions of ids (n,), -1 for missing ones."""
    return pc.fill_null(pc.index_in(ids, value_set=among), -1).to_numpy().astype(np.int64)


def _edges(lists: pa.ListArray, of: np.ndarray, among: pa.Array, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the (row, key) pairs of lists (n) of ids, for the ids that are in ``among``.

    ``of`` (n,) are the rows of the lists, -1 for none.
    """
    parent = of[pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)]
    place = pc.fill_null(pc.index_in(pc.list_flatten(lists), value_set=among), -1).to_numpy(zero_copy_only=False)
    known = (parent >= 0) & (place >= 0)
    return parent[known], place[known].astype(np.int64) + first


def _spread(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (range number, value) of every number in ranges (n)."""
    sizes = ends - starts
    which = np.repeat(np.arange(len(sizes)), sizes)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[which]
