"""How long an apply will take, and how much of a bound table is retired after it: said with a plan, before anyone approves it.

The estimate counts what is written and the indexes beside it, as they are when it is asked. A row that is written again is entered into
each index of its table anew: an HNSW index compares it with hundreds of vectors, which takes longer than all the rest; others take little.
The figures are CPU of PostgreSQL and of the applying process on the machine of docs/stores-benchmarks.md; a busy server takes longer, and
one that updates in place, as no indexed column changes and the page has room, less.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from psycopg import sql
from psycopg.rows import class_row

from slowwave.bindings.connected import connected_store
from slowwave.bindings.rendering import in_scope_sql, retired_sql
from slowwave.mutations.change_limits import name_of, retired_rows
from slowwave.plans.items import Item
from slowwave.store.connect import Connection
from slowwave.texts.counted import counted

ROW_MS: Final = 3.0
"""Milliseconds of a row: its guards, the journal, the statement and the row itself."""

INDEX_MS: Final = 0.05
"""Milliseconds of a row in an index that compares no vectors."""

DIMENSION_MS: Final = 0.003
"""Milliseconds of a row in an HNSW index for each dimension, among 5,000 rows, with the usual ``ef_construction`` of 64."""

PLAN_SECONDS: Final = 0.2
"""Seconds of an apply that writes nothing: its run, its locks, its probes."""

MANY_RETIRED: Final = 0.2
"""The share of retired rows from which a search that drops them afterwards is likely to return fewer than it was asked for."""

_INDEXES: Final = """
SELECT n.nspname || '.' || c.relname AS table, greatest(c.reltuples, 0)::bigint AS held,
  count(*) FILTER (WHERE m.amname = 'hnsw')::int AS hnsw, count(x.oid) FILTER (WHERE m.amname <> 'hnsw')::int AS others,
  coalesce(sum(greatest(a.atttypmod, 1) * coalesce((SELECT o.option_value::int FROM pg_options_to_table(x.reloptions) o
    WHERE o.option_name = 'ef_construction'), 64) / 64.0) FILTER (WHERE m.amname = 'hnsw'), 0)::float AS compared
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indislive
LEFT JOIN pg_class x ON x.oid = i.indexrelid LEFT JOIN pg_am m ON m.oid = x.relam
LEFT JOIN pg_attribute a ON a.attrelid = x.oid AND a.attnum = 1
WHERE n.nspname || '.' || c.relname = ANY(%s) AND c.relkind IN ('r', 'p') GROUP BY 1, 2 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class _Indexes:
    """A table's indexes: ``compared`` is the sum of the dimensions of its HNSW indexes, each times its share of the usual effort."""

    table: str
    held: int
    hnsw: int
    others: int
    compared: float


@dataclass(frozen=True, slots=True)
class TableTime:
    """What is written to one table: rows, the indexes that each is entered into, and seconds."""

    table: str
    rows: int
    hnsw: int
    other_indexes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RetiredShare:
    """Of the namespace's rows in a table whose client drops retired ones after its search: how many are retired now and after the plan."""

    table: str
    rows: int
    retired: int
    after: int

    def sentence(self) -> str:
        """What an operator reads; empty where few are retired."""
        if not self.rows or self.after < MANY_RETIRED * self.rows:
            return ""
        return (
            f"{self.after / self.rows:.0%} of the {self.rows:,} rows in {self.table} are retired after it ({self.retired:,} are now). The "
            "store's client drops those after its search: a search may return fewer than it is asked for."
        )


@dataclass(frozen=True, slots=True)
class ApplyEstimate:
    """Seconds that the items of a plan take to apply, by table, and what is retired then."""

    seconds: float
    tables: tuple[TableTime, ...]
    retired: tuple[RetiredShare, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As ``plans show --json`` gives it."""
        return {**asdict(self), "how": HOW}

    def sentences(self) -> list[str]:
        """What an operator reads; nothing of a plan that writes nothing."""
        if not self.tables:
            return []
        rows = sum(t.rows for t in self.tables)
        slow = [t for t in self.tables if t.hnsw]
        beside = f", {sum(t.rows for t in slow):,} of them beside a vector index (HNSW)" if slow else ""
        said = f"An apply of all of it takes about {_duration_text(self.seconds)}: it writes {counted(rows, 'row')}{beside}."
        return [said, *filter(None, (share.sentence() for share in self.retired))]


HOW: Final = (
    f"{PLAN_SECONDS:g} s, {ROW_MS:g} ms for each row that is written, {INDEX_MS:g} ms more for each index of its table, and for each HNSW "
    f"index {DIMENSION_MS:g} ms a dimension, times ef_construction / 64, times log(rows of the table) / log(5,000)."
)


def apply_estimate(connection: Connection, namespace_id: str, items: Iterable[Item]) -> ApplyEstimate:
    """What it takes to apply ``items``; whoever asks leaves out those that are not to be applied.

    A look at PostgreSQL's catalogue, and one pass over a bound table whose client drops retired rows after its search.
    """
    items = list(items)
    written = _written(items)
    if not written:
        return ApplyEstimate(0.0, ())
    with connection.cursor(row_factory=class_row(_Indexes)) as cursor:
        found = {one.table: one for one in cursor.execute(_INDEXES, (sorted(written),))}
    tables = tuple(
        TableTime(name, len(rows), *_time(found.get(name), len(rows))) for name, rows in sorted(written.items())
    )
    seconds = PLAN_SECONDS + sum(t.seconds for t in tables)
    return ApplyEstimate(round(seconds, 3), tables, _retired(connection, namespace_id, items))


def _written(items: Sequence[Item]) -> dict[str, set[str]]:
    """Physical table → its rows that are written, added or deleted."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in items:
        change = item.mutation.physical or item.mutation
        for write in change.writes:
            found[_physical(write.cell.table)].add(write.cell.row)
        for delete in change.deletes:
            found[_physical(delete.table)].add(delete.row)
        for n, insert in enumerate(change.inserts):
            found[_physical(insert.table)].add(insert.row or f"{item.id} {n}")
    return found


def _physical(table: str) -> str:
    return table if "." in table else f"memory.{table}"


def _time(indexes: _Indexes | None, rows: int) -> tuple[int, int, float]:
    """HNSW indexes, others, seconds."""
    if indexes is None:
        return 0, 0, rows * ROW_MS / 1_000
    grown = math.log(max(indexes.held, 1_000)) / math.log(5_000)
    each = ROW_MS + indexes.others * INDEX_MS + indexes.compared * DIMENSION_MS * grown
    return indexes.hnsw, indexes.others, round(rows * each / 1_000, 6)


def _retired(connection: Connection, namespace_id: str, items: Sequence[Item]) -> tuple[RetiredShare, ...]:
    """For a bound table of which the client drops retired rows after its search."""
    found = connected_store(connection, namespace_id)
    if found is None:
        return ()
    of, scope = found
    shares: list[RetiredShare] = []
    for logical, bound in of.binding.tables.items():
        if bound.retired is None or not bound.retired.after_search:
            continue
        counted = sql.SQL("SELECT count(*), count(*) FILTER (WHERE {}) FROM {} AS t WHERE {}").format(
            retired_sql(bound, "t"), sql.Identifier(bound.schema, bound.table), in_scope_sql(bound, scope)
        )
        rows, retired = (int(str(n)) for n in connection.execute(counted).fetchone() or (0, 0))
        more = {
            row
            for i in items
            if i.mutation.table == logical and i.mutation.physical
            for row in retired_rows(i.mutation)
        }
        shares.append(RetiredShare(name_of(bound), rows, retired, min(rows, retired + len(more))))
    return tuple(shares)


def _duration_text(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds)):,} s"
    return f"{round(seconds / 60):,} minutes" if seconds < 5_400 else f"{seconds / 3_600:,.1f} hours"
