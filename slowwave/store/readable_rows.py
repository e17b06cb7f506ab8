"""Values that PostgreSQL stores and a night cannot read: infinite instants and numbers, deeply nested JSON, lists of a million ids.

One constraint per table of memory (migration 0049) refuses them, ``NOT VALID``, so that rows from before do not stop a migration. When a
night reads such rows, or rows of connected stores, it recognises them by the same conditions.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ARRAY, DateTime, Double, Table
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED

CHECKED: Final = tuple(table for table in EXPORTED if table.name not in ("corpora", "recall_events"))
"""The tables that have a constraint. Slowwave alone writes ``corpora``, and new partitions of ``recall_events`` are made without one."""

MOST_LEVELS: Final = 100
"""Levels of nesting of a JSON value. Python's own parser ends at about a thousand."""

MOST_MEMBERS: Final = 100_000
"""Members of a list: ids of that many rows are 4 MB of text, in one row."""

LEAST_COUNT: Final = -1_000_000
"""Counters are written as differences, so an undo can leave one below zero for a while; none comes near this."""

REASONS: Final = {
    "instant": "is outside the years 1 to 9999",
    "number": "is not a finite number",
    "count": f"is below {LEAST_COUNT:,}",
    "json": f"is nested deeper than {MOST_LEVELS} levels or holds a number of more than 300 digits",
    "list": f"has more than {MOST_MEMBERS:,} members",
}
"""Kind of value → what is wrong with one that cannot be read, to follow the name of its column."""

_CONDITIONS: Final = {
    "instant": "{0} >= '0001-01-01 00:00:00+00' AND {0} < '10000-01-01 00:00:00+00'",
    "number": "{0} > '-Infinity'::double precision AND {0} < 'Infinity'::double precision",  # NaN is greater than both
    "count": f"{{0}} >= {LEAST_COUNT}",
    "json": f"NOT jsonb_path_exists({{0}}, '$.**{{{{{MOST_LEVELS}}}}}') AND NOT jsonb_path_exists({{0}}, "
    "'$.** ? (@.type() == \"number\") ? (@ > 1e300 || @ < -1e300)')",
    "list": f"cardinality({{0}}) <= {MOST_MEMBERS}",
}


def condition(kind: str, value: str) -> str:
    """Return SQL that is false if ``value`` cannot be read, and true or null otherwise. ``kind`` is one of ``REASONS``."""
    return _CONDITIONS[kind].format(value)


def checked_columns(table: Table) -> dict[str, str]:
    """Return the columns of a table of memory that may hold such values, each with its kind."""
    kinds = ((DateTime, "instant"), (Double, "number"), (JSONB, "json"), (ARRAY, "list"))
    found = {
        column.name: "count"
        if column.name.endswith("_count")
        else next((kind for known, kind in kinds if isinstance(column.type, known)), "")
        for column in table.columns
        if column.name not in DERIVED_COLUMNS
    }
    return {name: kind for name, kind in found.items() if kind}


def constraint_name(table: str) -> str:
    """Return the name of the constraint of a table of memory."""
    return f"{table}_rows_are_readable"


def constraint(table: Table) -> str:
    """Return the condition of a table's constraint: every column can be read."""
    return " AND ".join(f"({condition(kind, name)})" for name, kind in checked_columns(table).items())


def readable(table: Table, name: str, value: str) -> str:
    """Return SQL of a column's value, with the nearest readable one in place of a value that cannot be read.

    An instant that may be missing is moved to the year 1 or 9999, so that what has ended stays ended. Everything else gets the column's
    default.
    """
    kind, column = checked_columns(table)[name], table.c[name]
    default = str(getattr(column.server_default, "arg", "")) if column.server_default is not None else "now()"
    if kind == "instant" and column.nullable:
        instead = f"CASE WHEN {value} < now() THEN timestamptz '0001-01-02 00:00:00+00' ELSE timestamptz '9999-12-30 00:00:00+00' END"
    else:
        instead = default if default == "now()" else f"'{default}'"
    return f"CASE WHEN ({condition(kind, value)}) IS FALSE THEN {instead} ELSE {value} END"


def repair(table: Table) -> str:
    """Return the UPDATE that makes the rows of a table readable, see ``readable``."""
    changes = ", ".join(f"{name} = {readable(table, name, name)}" for name in checked_columns(table))
    return f"UPDATE memory.{table.name} SET {changes} WHERE ({constraint(table)}) IS FALSE"
