"""By which columns a row names other rows of its namespace: foreign keys, lists of sources and members, and what events of claims say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from slowwave.mutations.cells import POINTERS, table_of
from slowwave.store.tables import metadata


@cache
def names_of(table: str) -> tuple[tuple[str, str], ...]:
    """(column, table) of everything by which a row of ``table`` names one row of another, or of its own, in its namespace."""
    columns = table_of(table).c
    keys = {(c.name, key.column.table.name) for c in columns for key in c.foreign_keys}
    told = {(c, t) for c, t in EVENT_POINTERS.items() if table == "claim_events" and c in columns}
    return tuple(sorted((c, t) for c, t in keys | told if t not in ("namespaces", "vector_models")))


EVENT_POINTERS: Final[Mapping[str, str]] = {"claim_id": "memories", "other_id": "memories", "evidence_id": "documents"}
"""Column of an event of a claim → the table of the row that it names; an event outlives what it names."""


LISTS: Final[Mapping[str, str]] = {
    "source_document_ids": "documents",
    "source_chunk_ids": "chunks",
    "member_ids": "entities",
}
"""Column of ids → the table of the rows that it names."""


@cache
def lists_of(table: str) -> tuple[tuple[str, str], ...]:
    """(table, column) of every list in ``memory`` that may name rows of ``table``."""
    return tuple(
        sorted(
            (t.name, column)
            for t in metadata.tables.values()
            for column, target in LISTS.items()
            if t.schema == "memory" and column in t.c and target == table
        )
    )


@cache
def references_to(table: str) -> tuple[tuple[str, str], ...]:
    """(table, column) of everything in ``memory`` that names a row of ``table``: foreign keys, and pointers that have none."""
    keys = {
        (t.name, key.parent.name)
        for t in metadata.tables.values()
        for key in t.foreign_keys
        if t.schema == "memory" and key.column.table.name == table
    }
    pointers = {
        (t.name, column)
        for t in metadata.tables.values()
        for column, target in POINTERS.items()
        if t.schema == "memory" and column in t.c and (target or t.name) == table
    }
    return tuple(sorted(keys | pointers))
