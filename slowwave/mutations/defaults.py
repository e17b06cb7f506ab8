"""What the database would give the columns of a new row, spelled out, so that simulating and applying agree."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Column

from slowwave.mutations.cells import Value, column_of, row_columns, sql_type


def defaults(table: str, but: Collection[str] = ()) -> dict[str, Value]:
    """Column → its default, of all that make up a row ``but`` some and those that the database stamps."""
    return {
        c: _default(table, column_of(table, c))
        for c in row_columns(table)
        if c not in but and c not in ("recorded_at", "recorded_by")
    }


def _default(table: str, column: Column[object]) -> Value:
    default = column.server_default
    if default is None:
        return None
    text, kind = str(getattr(default, "arg", "")), sql_type(table, column.name)
    if kind.endswith("[]"):
        return ()
    if kind == "boolean":
        return text == "true"
    if kind == "bigint":
        return int(text)
    return float(text) if kind == "double precision" else text
