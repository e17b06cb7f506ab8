"""Cells that a mutation writes and depends on, in the schema of Slowwave and in connected stores."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from math import isfinite
from typing import Final, Literal, NamedTuple

import numpy as np
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, Table, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.errors import Refused
from slowwave.store.tables import COUNTERS, DERIVED_COLUMNS, VECTORS, Vector, metadata

# Cells: the values that a mutation writes and those that its decision depends on.
#
# A cell is (table, row, column); a row of a vectors table is identified by its id and its model (``key``). Every mutation is a set of
# *writes*, *inserts*, *deletes* and *guards* over cells, with these rules:
#
# - Equality is that of values as the snapshot holds them, compared in PostgreSQL by the column's type.
# - ``set`` writes replace the value that the plan saw. ``add`` writes are deltas on counters and have no seen value. ``now`` and ``item``
#   writes put the instant or the item in place of the value that the plan saw.
# - A guard lists values of one row that must be unchanged. The virtual column ``RELATIONSHIPS`` of an entity is the set of ids of its
#   relationships, live or not. ``CLAIMS`` is the set of ids of the live claims about it; items of the same plan may add or retire some of
#   them, because they were planned together. ``TOLD`` of a memory is its current version, or a later one that only has dates added
#   (``slowwave.text.dates``); an item that writes a version writes ``TOLD`` as well, unless the mutation guards it.
# - The n-th row that an item inserts has the id ``uuid5(item id, n)``, unless the plan names it: a vector by the row that it describes,
#   other rows if JSON or a list has to name them. An item refers to a row with such an id by the number n: ``row`` writes, ``refs``. Rows
#   of ``SHARED`` tables may be inserted by several items: their id is derived from their contents (``named_id``), they exist once, and they
#   are removed when the last item that needs them is undone.
# - A delete names a whole row as the plan saw it, and writes every cell of it. The existence of the row is a cell as well (with an empty
#   column): a delete writes it, and an item that changes a counter of the row or refers to it guards it.
#
# Two items conflict if one writes a cell that the other writes or guards; two deltas on one counter do not conflict. Items that do not
# conflict commute, so any subset may be applied or undone in any order.

SHARED: Final[Mapping[str, tuple[str, ...]]] = {"corpora": ("root", "profile", "invalidated_at")}
"""Tables of which several items may insert the same row, as a corpus is created with its first page → the columns that identify the row.
The first of these columns determines the id; a row with the same id and a different value in any of them is a conflict."""

Value = str | int | float | bool | None | tuple[str, ...]
"""A cell's value. Instants are ISO 8601 in UTC, jsonb is PostgreSQL's JSON text, arrays are tuples, vectors are base64."""

Action = Literal["set", "add", "now", "item", "row"]

RELATIONSHIPS: Final = "#relationships"
CLAIMS: Final = "#claims"
TOLD: Final = "#told"
VIRTUAL: Final = frozenset({RELATIONSHIPS, CLAIMS, TOLD})
"""Columns that do not exist in the database: sets of rows that refer to an entity, and the current statement of a memory."""

VERSION: Final = "current_version_id"


class Cell(NamedTuple):
    """One column of one row, in the ``memory`` schema or in the schema that the table's name gives."""

    table: str
    row: str
    column: str
    key: str = ""


class Write(NamedTuple):
    """One written cell.

    ``seen`` is the value that the plan saw, ``value`` the new one (a delta for ``add``, the number of an inserted row for ``row``).
    """

    cell: Cell
    action: Action
    seen: Value = None
    value: Value = None


class Guard(NamedTuple):
    """Columns of one row that must still hold what the plan saw.

    ``seen`` are the values of ``columns``, which are sorted.
    """

    table: str
    row: str
    columns: tuple[str, ...]
    seen: tuple[Value, ...]
    key: str = ""

    @classmethod
    def on(cls, table: str, row: str, fields: Mapping[str, Value], columns: Iterable[str]) -> Guard:
        """Build a guard on columns of one row; ``fields`` holds the values that the plan saw."""
        names = _sorted_columns(tuple(columns))
        return cls(table, row, names, tuple([fields[name] for name in names]))

    def cells(self) -> Iterator[tuple[Cell, Value]]:
        """Yield each guarded cell with the value that the plan saw."""
        for column, seen in zip(self.columns, self.seen, strict=True):
            yield Cell(self.table, self.row, column, self.key), seen


@lru_cache(maxsize=4096)
def _sorted_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Sort columns without duplicates; the same columns return the same object.

    Plans hold hundreds of thousands of guards and few distinct sets of columns, so sharing the tuples saves memory.
    """
    return tuple(sorted({*columns}))


@dataclass(frozen=True, slots=True)
class Insert:
    """One new row; ``row`` and ``key`` name it only where the id rule does not.

    ``refs`` maps columns to the number of another row that the same item inserts, whose id they get (``id``: the id of a vector is that
    of its row). ``stamped`` are columns that get the time of the apply.
    """

    table: str
    values: Mapping[str, Value]
    row: str = ""
    key: str = ""
    refs: Mapping[str, int] = field(default_factory=dict)
    stamped: tuple[str, ...] = ()

    def named(self, item_id: str) -> tuple[str, dict[str, Value]]:
        """Return the row id (empty if the id rule names it) and the values, with the ids of the item's own rows filled in."""
        ids: dict[str, Value] = {column: inserted_id(item_id, n) for column, n in self.refs.items()}
        return str(ids.pop("id", self.row)), {**self.values, **ids}


@dataclass(frozen=True, slots=True)
class Delete:
    """One deleted row; ``seen`` holds all of it except key and namespace (see ``row_columns``), so that it can be restored."""

    table: str
    row: str
    key: str
    seen: Mapping[str, Value]


def named_id(of: str, *parts: str) -> str:
    """Derive a row id (UUID v5) from the id of its owner ``of`` and the parts that identify it, as syncs do."""
    return str(uuid.uuid5(uuid.UUID(of), "\0".join(parts)))


def inserted_id(item_id: str, n: int) -> str:
    """Return the id of the n-th row that an item inserts, by the id rule."""
    return str(uuid.uuid5(uuid.UUID(item_id), str(n)))


@cache
def column_of(table: str, column: str) -> Column[object]:
    """Return a column of the catalogue.

    Raises ``Refused`` if it does not exist or is maintained by triggers.
    """
    found = metadata.tables.get(f"memory.{table}")
    if found is None or column not in found.c or column in DERIVED_COLUMNS:
        raise Refused(f"No mutation may write memory.{table}.{column}: the catalogue has no such cell.")
    return found.c[column]


@cache
def row_columns(table: str) -> tuple[str, ...]:
    """Return the columns that make up a row: all except its key, its namespace and those that triggers maintain."""
    return tuple(
        c.name
        for c in table_of(table).c
        if not c.primary_key and c.name != "namespace_id" and c.name not in DERIVED_COLUMNS
    )


POINTERS: Final[Mapping[str, str]] = {
    "superseded_by": "memory_facts",
    "merged_into": "",
    "memory_id": "memories",
    "current_version_id": "memory_versions",
}
"""Column → the table of the row that its value names, empty for the same table, among tables whose rows may be deleted."""


def is_pointer(table: str, column: str) -> bool:
    """Return whether a cell names a row that may be deleted; cells outside the ``memory`` schema never do."""
    return column in POINTERS and "." not in table


@cache
def sql_type(table: str, column: str) -> str:
    """Return PostgreSQL's name for the type of a cell, to which its literal is cast."""
    kind = column_of(table, column).type
    if isinstance(kind, ARRAY):
        return "uuid[]" if isinstance(kind.item_type, Uuid) else "double precision[]"
    for known, name in _SQL_TYPES:
        if isinstance(kind, known):
            return name
    return "text"


_SQL_TYPES: Final = (
    (Uuid, "uuid"),
    (JSONB, "jsonb"),
    (DateTime, "timestamptz"),
    (Boolean, "boolean"),
    (Double, "double precision"),
    (Integer, "bigint"),  # BigInteger is a subclass of Integer; comparing as bigint gives the same result
    (Vector, "vector"),
)


def canonical(value: object) -> Value:
    """Convert a value from Arrow's ``to_pylist`` to the form that plans hold.

    Raises ``TypeError`` for a type that a cell cannot hold.
    """
    if value is None or isinstance(value, (str, int, float)):  # most values are; a bool is an int
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, (list, tuple)):
        return tuple(str(v) for v in value)
    raise TypeError(f"A cell cannot hold {type(value).__name__}.")


def literal(value: Value) -> str | None:
    """Return the text that PostgreSQL casts to the type of a cell; vectors go through ``vector_literal`` instead."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "{" + ",".join(value) + "}"
    return repr(value) if isinstance(value, float) else str(value)


@cache
def is_counter(table: str, column: str) -> bool:
    """Return whether a column is written by deltas only."""
    return column in COUNTERS.get(table, ())


def written(
    writes: Iterable[Write], inserts: Iterable[Insert], deletes: Iterable[Delete] = (), guards: Iterable[Guard] = ()
) -> frozenset[Cell]:
    """Return the written cells that conflict with writes and guards of other items, without deltas.

    ``guards`` are those of the same mutation: they decide whether a new version of a memory also writes the cell ``TOLD``.
    """
    cells = {w.cell for w in writes if w.action != "add"}
    cells |= {Cell(i.table, i.row, "", i.key) for i in inserts if i.row and i.table not in SHARED}
    cells |= {Cell(d.table, d.row, c, d.key) for d in deletes for c in ("", *d.seen)}
    if says := {c.row for c in cells if c.column == VERSION and c.table == "memories"}:
        says -= {g.row for g in guards if TOLD in g.columns}
        cells |= {Cell("memories", row, TOLD) for row in says}
    return frozenset(cells)


def guarded(
    guards: Iterable[Guard],
    writes: Iterable[Write] = (),
    inserts: Iterable[Insert] = (),
    deletes: Iterable[Delete] = (),
) -> frozenset[Cell]:
    """Return the cells that a decision depends on, and the rows that must exist because it counts on them or points at them."""
    cells = {Cell(g.table, g.row, column, g.key) for g in guards for column in g.columns}
    for w in writes:
        if w.action == "add":
            cells.add(Cell(w.cell.table, w.cell.row, ""))
        elif w.action != "row" and is_pointer(w.cell.table, w.cell.column):
            cells |= _named(w.cell.table, {w.cell.column: w.value})
    for i in inserts:
        cells |= _named(i.table, i.values)
        if i.table in VECTORS and i.row:
            cells.add(Cell(VECTORS[i.table], i.row, ""))
    for d in deletes:
        cells |= _named(d.table, d.seen)
    return frozenset(cells)


def rows_of(
    writes: Iterable[Write], guards: Iterable[Guard], inserts: Iterable[Insert] = (), deletes: Iterable[Delete] = ()
) -> set[tuple[str, str]]:
    """Return (table, row) of every cell that ``written`` and ``guarded`` name.

    Items that share no row share no cell, and there are far fewer rows than cells.
    """
    rows = {(w.cell.table, w.cell.row) for w in writes}
    rows |= {(g.table, g.row) for g in guards}
    rows |= {(i.table, i.row) for i in inserts if i.row and i.table not in SHARED}
    rows |= {(d.table, d.row) for d in deletes}
    rows |= {(cell.table, cell.row) for cell in guarded((), writes, inserts, deletes)}
    return rows


def _named(table: str, values: Mapping[str, Value]) -> set[Cell]:
    """Return the rows that the pointers among the values of a row name."""
    return {
        Cell(POINTERS[column] or table, str(value), "")
        for column, value in values.items()
        if value is not None and is_pointer(table, column)
    }


def value_json(value: Value) -> str:
    """Return the canonical JSON of a cell's value, identical to that of ``canonical_json``.

    Raises ``TypeError`` for a value that a cell cannot hold.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(quoted, value))}]"
    if isinstance(value, float):
        return float.__repr__(value) if isfinite(value) else canonical_json(value)
    try:
        return "true" if value is True else "false" if value is False else int.__repr__(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"A cell holds no {kind}. Give an array as a tuple, and a value of JSON as its text.") from None


def write_json(write: Write) -> str:
    """Return the canonical JSON of a write as plans store it: [table, row, key, column, action, seen, value]."""
    (table, row, column, key), action, seen, value = write
    return f'[{quoted(table)},{quoted(row)},{quoted(key)},{quoted(column)},"{action}",{value_json(seen)},{value_json(value)}]'


def writes_from_json(rows: Iterable[Sequence[object]]) -> tuple[Write, ...]:
    """Parse several writes from the form of ``write_json``."""
    return tuple(
        Write(Cell(str(t), str(r), str(c), str(k)), _action(a), canonical(seen), canonical(value))
        for t, r, k, c, a, seen, value in rows
    )


def seen_json(cell: Cell, seen: Value) -> str:
    """Return the canonical JSON of a cell and the value seen in it: [table, row, key, column, seen]."""
    table, row, column, key = cell
    return f"[{quoted(table)},{quoted(row)},{quoted(key)},{quoted(column)},{value_json(seen)}]"


def guard_json(guard: Guard) -> str:
    """Return the canonical JSON of a guard as plans store it: [table, row, key, {column: seen}]."""
    table, row, columns, seen, key = guard
    values = ",".join([f"{name}:{value_json(seen[at])}" for name, at in _ordered(columns)])
    return f"[{quoted(table)},{quoted(row)},{quoted(key)},{{{values}}}]"


@lru_cache(maxsize=4096)
def _ordered(columns: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Return the columns quoted and in canonical order, each with its position in ``columns``."""
    return tuple((quoted(columns[at]), at) for at in sorted(range(len(columns)), key=columns.__getitem__))


def guards_from_json(rows: Iterable[Sequence[object]]) -> tuple[Guard, ...]:
    """Parse several guards from the form of ``guard_json``.

    Earlier plans store one guard for each cell, [table, row, key, column, seen]; they are accepted as well.
    """
    return tuple(map(_guard, rows))


def _guard(stored: Sequence[object]) -> Guard:
    table, row, key, *rest = stored
    cells = rest[0] if isinstance(rest[0], dict) else {str(rest[0]): rest[1]}
    columns = _sorted_columns(tuple(cells))
    return Guard(str(table), str(row), columns, tuple([canonical(cells[column]) for column in columns]), str(key))


def insert_json(insert: Insert) -> str:
    """Return the canonical JSON of an insert as plans store it: [table, row, key, values].

    The refs and the stamped columns follow if there are any.
    """
    more = f",{_object(insert.refs)}" if insert.refs else ""
    more += f",{value_json(insert.stamped)}" if insert.stamped else ""
    return f"[{quoted(insert.table)},{quoted(insert.row)},{quoted(insert.key)},{_object(insert.values)}{more}]"


def inserts_from_json(rows: Iterable[Sequence[object]]) -> tuple[Insert, ...]:
    """Parse several inserts from the form of ``insert_json``."""
    return tuple(
        Insert(
            str(t),
            {str(c): canonical(v) for c, v in values.items()},
            str(r),
            str(k),
            {str(c): int(n) for refs in more if isinstance(refs, Mapping) for c, n in refs.items()},
            tuple(str(c) for stamped in more if isinstance(stamped, list) for c in stamped),
        )
        for t, r, k, values, *more in rows
        if isinstance(values, Mapping)
    )


def delete_json(delete: Delete) -> str:
    """Return the canonical JSON of a delete as plans store it: [table, row, key, the row as it was seen]."""
    return f"[{quoted(delete.table)},{quoted(delete.row)},{quoted(delete.key)},{_object(delete.seen)}]"


def deletes_from_json(rows: Iterable[Sequence[object]]) -> tuple[Delete, ...]:
    """Parse several deletes from the form of ``delete_json``."""
    return tuple(
        Delete(str(t), str(r), str(k), {str(c): canonical(v) for c, v in seen.items()})
        for t, r, k, seen in rows
        if isinstance(seen, Mapping)
    )


_CANONICAL: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode  # json.dumps would build an encoder for each value


quoted: Final = json.encoder.encode_basestring
"""Return the canonical JSON of a text."""


def canonical_json(value: object) -> str:
    """Serialize a value to its only JSON text: sorted keys, no spaces, no NaN."""
    return _CANONICAL(value)


def table_of(name: str) -> Table:
    """Return a table of the ``memory`` schema by its name without the schema."""
    return metadata.tables[f"memory.{name}"]


def _object(values: Mapping[str, Value]) -> str:
    return f"{{{','.join(f'{quoted(name)}:{value_json(values[name])}' for name in sorted(values))}}}"


def _action(value: object) -> Action:
    if value not in ("set", "add", "now", "item", "row"):
        raise Refused(f"A plan names the action {value!r}, which no mutation has.")
    return value


# The form of a mutation in a connected store: cells and rows of its tables, as the plan saw them and as they will be.
#
# It is sealed with the mutation, whose cells are those of our catalogue. ``slowwave.changes.lowering`` builds it, the statements of apply
# and undo execute it, and ``slowwave.changes.relations`` checks that it touches only the rows that the mutation names.

OVERLAY: Final = "night.overlay"
"""Values without a column in the store: one row of JSON for each of its rows that needs one, with the column names of our catalogue."""

ROW: Final = "#row"
"""The contents of a deleted row of a connected store, as the SHA-256 of its image; the journal keeps the image."""


@dataclass(frozen=True, slots=True)
class Change:
    """Cells written and guarded, rows deleted, and rows that move into the archive of their store, by native keys.

    The insert for a row that moves holds only what the archive has in addition to the columns of the row; those are copied when it moves.
    """

    writes: tuple[Write, ...] = ()
    guards: tuple[Guard, ...] = ()
    deletes: tuple[Delete, ...] = ()
    inserts: tuple[Insert, ...] = ()

    def stand_on(self) -> frozenset[Cell]:
        """Return the rows that must exist for this change, each as the cell with an empty column that a delete of the row writes."""
        written = {Cell(w.cell.table, w.cell.row, "", w.cell.key) for w in self.writes}
        return frozenset(written | {Cell(g.table, g.row, "", g.key) for g in self.guards})

    def tables(self) -> Iterator[str]:
        """Yield the names of the tables that this change touches, some more than once."""
        yield from (w.cell.table for w in self.writes)
        yield from (g.table for g in self.guards)
        yield from (d.table for d in self.deletes)
        yield from (i.table for i in self.inserts)

    def canonical(self) -> str:
        """Return the canonical JSON of this change."""
        added = f'"inserts":[{",".join(map(insert_json, self.inserts))}],' if self.inserts else ""
        return (
            f'{{"deletes":[{",".join(map(delete_json, self.deletes))}],"guards":[{",".join(map(guard_json, self.guards))}],{added}'
            f'"writes":[{",".join(map(write_json, self.writes))}]}}'
        )

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Change:
        """Parse a change from the JSON of ``canonical``, without checks."""

        def rows(name: str) -> Sequence[Sequence[object]]:
            found = value.get(name)
            return found if isinstance(found, list) else []  # pyright: ignore[reportReturnType]

        return cls(
            writes_from_json(rows("writes")),
            guards_from_json(rows("guards")),
            deletes_from_json(rows("deletes")),
            inserts_from_json(rows("inserts")),
        )


# Database defaults of the columns of a new row, written out so that simulation and apply agree.


def defaults(table: str, but: Collection[str] = ()) -> dict[str, Value]:
    """Return column → default for a new row, without the columns in ``but`` and those that the database stamps."""
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


# Vectors in plans: base64 of little-endian float32, and means that do not depend on the order of members.


def encode(vector: np.ndarray) -> str:
    """Encode a vector (d,) of floats as base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f4").tobytes()).decode()


def decode(text: str) -> np.ndarray:
    """Decode the text of ``encode`` to a (d,) float32 array."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def vector_literal(text: str) -> str:
    """Convert a plan's vector to the text that PostgreSQL casts to ``vector``, without loss.

    Each number is written as a double, which PostgreSQL parses to the same float32.
    """
    return json.dumps(decode(text).tolist(), separators=(",", ":"))


def weighted_mean(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the unit mean of the rows of a matrix (k, d), weighted by (k,).

    The sum is taken in float64 in the order given; callers pass the rows in the order of their ids. Weights that are not positive count
    as absent; if none is positive, all count as one (khora's centroid rule).
    """
    w = np.where(weights > 0, weights, 0).astype(np.float64)
    if not w.any():
        w = np.ones(len(matrix))
    mean = (matrix.astype(np.float64) * w[:, None]).sum(axis=0)
    norm = float(np.linalg.norm(mean))
    return (mean / norm if norm else mean).astype(np.float32)
