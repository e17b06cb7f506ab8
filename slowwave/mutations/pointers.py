"""By which columns a row names other rows of its namespace: foreign keys, and what events of claims say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from slowwave.mutations.cells import table_of


@cache
def names_of(table: str) -> tuple[tuple[str, str], ...]:
    """(column, table) of everything by which a row of ``table`` names one row of another, or of its own, in its namespace."""
    columns = table_of(table).c
    keys = {(c.name, key.column.table.name) for c in columns for key in c.foreign_keys}
    told = {(c, t) for c, t in EVENT_POINTERS.items() if table == "claim_events" and c in columns}
    return tuple(sorted((c, t) for c, t in keys | told if t not in ("namespaces", "vector_models")))


EVENT_POINTERS: Final[Mapping[str, str]] = {"claim_id": "memories", "other_id": "memories", "evidence_id": "documents"}
"""Column of an event of a claim → the table of the row that it names; an event outlives what it names."""
