"""Load rows by COPY, the one way in for imports, generators and restored rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Table
from sqlalchemy.types import TypeEngine

from slowwave.errors import StoreError
from slowwave.store.tables import Vector

# Loading rows by COPY, for imports, generators and restored rows.
#
# Rows are plain mappings. The caller chooses the rows and their order (parents first).

MANY: Final = 1_000
"""Number of added rows of a table from which on its statistics are renewed: .1 s for 6,000 memories with their vectors."""


class _VectorDumper(Dumper):
    """Dumper for pgvector's binary form: dimension, an unused field, big-endian float32."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        values = np.asarray(obj, ">f4")
        return len(values).to_bytes(2, "big") + b"\0\0" + values.tobytes()


class _IdDumper(Dumper):
    """Dumper that sends a 36-character id as the 16 bytes of a uuid."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return bytes.fromhex(str(obj).replace("-", ""))


def load_rows(connection: psycopg.Connection[Any], table: Table, rows: Iterable[Mapping[str, object]]) -> int:
    """Insert ``rows`` by COPY through a temporary table; return how many were added.

    A row that conflicts with any unique index is left out (``ON CONFLICT DO NOTHING``). Values: ids as strings, ``uuid[]`` and
    ``float8[]`` as lists, ``jsonb`` as dict or list, instants as aware datetimes, vectors as (d,) float32 arrays. All rows have the
    columns of the first; other columns take their defaults. ``rows`` is consumed as it is sent, so memory does not grow with it. One
    transaction (a savepoint within another). Raises ``StoreError`` if the rows differ in their columns, or the table lacks one.
    """
    stream = iter(rows)
    first = next(stream, None)
    if first is None:
        return 0
    columns = tuple(first)
    if unknown := [name for name in columns if name not in table.columns]:
        raise StoreError(
            f"{table.fullname} has no column {', '.join(unknown)}, so the rows cannot be loaded. Leave it out."
        )
    target = sql.Identifier(table.schema, table.name) if table.schema else sql.Identifier(table.name)
    staged = sql.Identifier("pg_temp", f"load_{table.name}")
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                sql.Identifier(f"load_{table.name}"), names, target
            )
        )
        cursor.execute(sql.SQL("SELECT {} FROM {}").format(names, staged))
        types = [column.type_code for column in cursor.description or ()]
        _teach(cursor, [(table.columns[name].type, oid) for name, oid in zip(columns, types, strict=True)])
        with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(staged, names)) as copy:
            copy.set_types(types)
            for row in itertools.chain((first,), stream):
                if row.keys() != first.keys():
                    raise StoreError(
                        f"A row for {table.fullname} has other columns than the first, so none was loaded. "
                        "Give every row the same columns."
                    )
                copy.write_row([row[name] for name in columns])
        cursor.execute(
            sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT DO NOTHING").format(target, names, names, staged)
        )
        added = cursor.rowcount
        cursor.execute(sql.SQL("DROP TABLE {}").format(staged))
    return added


def _teach(cursor: psycopg.Cursor[Any], types: Iterable[tuple[TypeEngine[Any], int]]) -> None:
    """Register dumpers for vectors and ids on this cursor only; psycopg does not know these forms."""
    for kind, oid in types:
        if isinstance(kind, Vector):
            cursor.adapters.register_dumper(None, type("VectorDumper", (_VectorDumper,), {"oid": oid}))
    uuid = cursor.adapters.types["uuid"].oid
    cursor.adapters.register_dumper(None, type("IdDumper", (_IdDumper,), {"oid": uuid}))


def analyse(connection: psycopg.Connection[Any], added: Mapping[str, int]) -> None:
    """Update the statistics of the loaded tables if one of them has grown by ``MANY`` rows or more.

    Until PostgreSQL does so by itself, it plans searches as if the tables were nearly empty. PostgreSQL skips tables that the login may
    not analyse, with a warning.
    """
    if any(count >= MANY for count in added.values()):
        names = sql.SQL(", ").join(sql.Identifier("memory", name) for name in sorted({*added, "search_texts"}))
        connection.execute(sql.SQL("ANALYZE {}").format(names))
