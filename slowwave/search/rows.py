"""What recall searches: the rows of a snapshot that can be found, each with its text.

Live, active rows alone: entities (name, description, aliases), chunks (content, under the title of
their document and the speaker of a message) and memories (their current version, under its subject). Facts,
relationships and documents are reached through these and are not searched. Ranking belongs to the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot

SEARCHED: Final = ("entities", "chunks", "memories")
"""Tables whose rows can be found."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedRows:
    """``ids`` (n, sorted, of all tables together), ``texts`` (n, ``large_string``, never null) and ``headings`` (n): how many characters
    of a text are the title or subject above it, with the line break."""

    ids: pa.Array
    texts: pa.Array
    headings: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def content(self, row: int) -> str:
        """A text without its heading."""
        return str(self.texts[row].as_py())[int(self.headings[row].as_py()) :]


def searched_rows(snapshot: Snapshot, tables: Sequence[str] = SEARCHED) -> SearchedRows:
    """The rows of ``tables`` that recall can find in ``snapshot``; archived, quarantined and merged ones are out as retired ones are."""
    parts = [_TEXTS[table](snapshot) for table in tables]
    ids = pa.concat_arrays([_flat(ids, pa.string()) for ids, _, _ in parts])
    texts = pa.concat_arrays([_flat(texts, pa.large_string()) for _, texts, _ in parts])
    headings = pa.concat_arrays([_heights(headings) for _, _, headings in parts])
    order = pc.sort_indices(ids)
    return SearchedRows(ids.take(order), pc.fill_null(texts, "").take(order), headings.take(order))


def searched_table(snapshot: Snapshot, table: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of the live rows of one table whose state, where there is one, is ``active``."""
    if "state" not in snapshot.table(table).column_names:
        return snapshot.live(table, columns)
    rows = snapshot.live(table, (*columns, "state"))
    return rows.filter(pc.equal(rows["state"], "active")).select(list(dict.fromkeys(columns)))


_Part = tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]
"""Ids, texts and headings (n each)."""


def _entities(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "entities", ("id", "name", "description"))
    # One thread keeps the aliases of an entity in id order, so that equal rows have equal texts.
    known = snapshot.table("entity_aliases").group_by("entity_id", use_threads=False).aggregate([("alias", "list")])
    joined = pc.binary_join(known["alias_list"], " ")
    aliases = joined.take(pc.index_in(rows["id"], value_set=known["entity_id"].combine_chunks()))
    text = pc.binary_join_element_wise(
        rows["name"], rows["description"], aliases, " ", null_handling="replace", null_replacement=""
    )
    return rows["id"], text, pa.chunked_array([pa.repeat("", len(rows))])


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
    """Texts (n) under their headings (n), where they have one."""
    headed = pc.binary_join_element_wise(heading, text, "\n", null_handling="replace", null_replacement="")
    return pc.if_else(pc.equal(pc.fill_null(heading, ""), ""), text, headed)


def _heights(headings: pa.ChunkedArray) -> pa.Array:
    """Headings (n) → (n,) int32 characters that they take of a text."""
    lengths = pc.fill_null(pc.utf8_length(headings), 0)
    return _flat(pc.add(lengths, pc.min_element_wise(lengths, 1)), pa.int32())


def _flat(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([chunk.cast(kind) for chunk in column.chunks] or [pa.array([], kind)])
