"""The first binding: our own schema ``memory``, each table bound column by column, from the one catalogue."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, KeyColumn, Retirement
from slowwave.store.tables import EXPORTED, VECTORS, Vector, metadata

_TYPES: Final[tuple[tuple[type[TypeEngine[Any]], str], ...]] = (
    (Uuid, "uuid"),
    (JSONB, "jsonb"),
    (DateTime, "timestamptz"),
    (Boolean, "boolean"),
    (Double, "double precision"),
    (Integer, "bigint"),  # BigInteger is an Integer; comparing as bigint is the same
    (Vector, "vector"),
)


@cache
def memory_binding() -> Binding:
    """``memory`` as a store among others. Rows keep their own ids, and are retired by the instant in ``invalidated_at``."""
    names = (*(table.name for table in EXPORTED), *VECTORS)
    return Binding("memory", "Slowwave's own memory", {name: _bound(name) for name in names}, overlay=False)


def _bound(name: str) -> BoundTable:
    table = metadata.tables[f"memory.{name}"]
    return BoundTable(
        name=name,
        schema="memory",
        table=name,
        key=tuple(KeyColumn(column.name, type_of(column)) for column in table.primary_key),
        namespace=BoundColumn("namespace_id", type="uuid"),
        columns={column.name: BoundColumn(column.name, type=type_of(column)) for column in table.c},
        retire=Retirement(why_not="The mutation that retires a row of memory names the cells itself."),
    )


def type_of(column: Column[Any]) -> str:
    """PostgreSQL's name of a column's type, to which its literals are cast; integers of every size are ``bigint``."""
    kind = column.type
    if isinstance(kind, ARRAY):
        item: object = kind.item_type
        return "uuid[]" if isinstance(item, Uuid) else "double precision[]" if isinstance(item, Double) else "text[]"
    return next((name for known, name in _TYPES if isinstance(kind, known)), "text")
