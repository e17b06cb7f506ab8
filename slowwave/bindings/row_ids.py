"""Ids of rows that have none of ours: the native key where it is one uuid, else a uuid that is made of store, table and key.

The rule stands here twice, in Python and in SQL, and a test holds them together. A native key is a tuple of texts, as PostgreSQL casts
the columns of the key to text, in the key's order.
"""

from __future__ import annotations

import hashlib
import json
import uuid

from psycopg import sql

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.errors import StoreError


def row_id_of(binding: Binding, table: BoundTable, native: tuple[str, ...]) -> str:
    """The id of the row with a native key, in the 36 characters that snapshots hold."""
    if table.native_id:
        return str(uuid.UUID(native[0]))
    return str(
        uuid.UUID(hashlib.md5(f"{_salt(binding, table)}{key_text(native)}".encode(), usedforsecurity=False).hexdigest())
    )


def key_text(native: tuple[str, ...]) -> str:
    """A native key as one text, the ``external_id`` of its row in a snapshot: the key where it has one column, else JSON of all."""
    return native[0] if len(native) == 1 else json.dumps(native, ensure_ascii=False, separators=(",", ":"))


def native_key(table: BoundTable, external_id: str) -> tuple[str, ...]:
    """The native key that ``key_text`` wrote. Raises ``StoreError`` for a text that is none of this table's."""
    if len(table.key) == 1:
        return (external_id,)
    try:
        found = json.loads(external_id)
    except ValueError:
        found = None
    if not isinstance(found, list) or len(found) != len(table.key) or not all(isinstance(part, str) for part in found):
        raise StoreError(
            f"A row of {table.schema}.{table.table} has a reference that is no key of it, so it cannot be found again. "
            "Run the night again, with the binding as it is now."
        )
    return tuple(found)


def key_text_sql(table: BoundTable, alias: str) -> sql.Composable:
    """``key_text`` in SQL, over the table's physical columns."""
    parts = [sql.SQL("{}::text").format(sql.Identifier(alias, key.column)) for key in table.key]
    return parts[0] if len(parts) == 1 else sql.SQL("array_to_json(ARRAY[{}])::text").format(sql.SQL(", ").join(parts))


def row_id_sql(binding: Binding, table: BoundTable, alias: str) -> sql.Composable:
    """``row_id_of`` in SQL, over the table's physical columns."""
    if table.native_id:
        return sql.Identifier(alias, table.key[0].column)
    return sql.SQL("md5({} || {})::uuid").format(sql.Literal(_salt(binding, table)), key_text_sql(table, alias))


def _salt(binding: Binding, table: BoundTable) -> str:
    return f"{binding.store}:{table.schema}.{table.table}:"
