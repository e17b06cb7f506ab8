"""What the tables of a store look like, as lines that compare: columns, keys, checks, and what else decides how rows may be written.

Names of constraints and lengths of types are left out: they differ from one installation to the next and change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psycopg import sql

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.store.connect import Connection

Structure = dict[str, tuple[str, ...]]
"""Bound table → its lines, sorted; a table that is not there has none."""

_COLUMNS: Final = """
SELECT a.attname || ' ' || format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
  || CASE WHEN a.attgenerated <> '' THEN ' generated' ELSE '' END || CASE WHEN a.attidentity = 'a' THEN ' identity' ELSE '' END
FROM pg_attribute a WHERE a.attrelid = {table}::regclass AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT CASE WHEN i.indisprimary THEN 'primary key (' ELSE 'unique (' END
  || (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k) FROM generate_series(1, i.indnkeyatts) AS k) || ')'
  || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '')
FROM pg_index i WHERE i.indrelid = {table}::regclass AND i.indisunique
UNION ALL
SELECT 'check ' || pg_get_expr(c.conbin, c.conrelid) FROM pg_constraint c WHERE c.conrelid = {table}::regclass AND c.contype = 'c'
"""
_FOREIGN: Final = """
SELECT (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) FROM unnest(c.conkey) WITH ORDINALITY AS k (num, n)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.num),
  n.nspname, f.relname,
  (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) FROM unnest(c.confkey) WITH ORDINALITY AS k (num, n)
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.num),
  c.confdeltype::text, c.confupdtype::text
FROM pg_constraint c JOIN pg_class f ON f.oid = c.confrelid JOIN pg_namespace n ON n.oid = f.relnamespace
WHERE c.conrelid = {table}::regclass AND c.contype = 'f'
"""
_THERE: Final = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')
"""
_ACTIONS: Final = {"c": "cascade", "n": "set null", "d": "set default", "r": "restrict"}


def there(connection: Connection, bound: BoundTable) -> bool:
    """Whether the table exists, for a login that may see its schema or not."""
    found = connection.execute(_THERE, (bound.schema, bound.table)).fetchone()
    return found is not None


def structure_of(connection: Connection, binding: Binding) -> Structure:
    """The lines of every bound table. The catalogue is open to all; the login needs USAGE on the schema alone."""
    names = {(bound.schema, bound.table): name for name, bound in binding.tables.items()}
    return {
        name: _lines(connection, bound, names) if there(connection, bound) else ()
        for name, bound in binding.tables.items()
    }


def differences(
    found: Mapping[str, tuple[str, ...]], known: Mapping[str, tuple[str, ...]], binding: Binding
) -> list[str]:
    """What stands in one and not in the other, table by table, in words; empty when they are the same. Tables by the names they have."""
    said: list[str] = []
    for name in sorted(found.keys() | known.keys()):
        table = binding.tables[name].table if name in binding.tables else name
        here, expected = set(found.get(name, ())), set(known.get(name, ()))
        said += [f"{table} has {line}, which is new" for line in sorted(here - expected)]
        said += [f"{table} lacks {line}" for line in sorted(expected - here)]
    return said


def version_of(found: Mapping[str, tuple[str, ...]], binding: Binding) -> str:
    """The known version whose tables these are; empty where it is none."""
    return next((known.version for known in binding.known if not differences(found, known.tables, binding)), "")


def nearest(found: Mapping[str, tuple[str, ...]], binding: Binding) -> tuple[str, list[str]]:
    """The known version that these tables differ least from, and how; an empty name where the binding knows none."""
    told = [(known.version, differences(found, known.tables, binding)) for known in binding.known]
    return min(told, key=lambda one: len(one[1]), default=("", []))


def _lines(connection: Connection, bound: BoundTable, names: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    table = sql.Literal(f"{_quoted(bound.schema)}.{_quoted(bound.table)}")
    lines = [str(line) for (line,) in connection.execute(sql.SQL(_COLUMNS).format(table=table))]
    for own, schema, name, theirs, delete, update in connection.execute(sql.SQL(_FOREIGN).format(table=table)):
        to = names.get((str(schema), str(name)), f"{schema}.{name}")
        line = f"foreign key ({own}) references {to} ({theirs})"
        line += f" on delete {_ACTIONS[str(delete)]}" if str(delete) in _ACTIONS else ""
        lines.append(line + (f" on update {_ACTIONS[str(update)]}" if str(update) in _ACTIONS else ""))
    return tuple(sorted(lines))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
