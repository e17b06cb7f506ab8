"""Cells: what a mutation writes and what it was decided on, in our schema and in stores of others."""

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

# Cells: what a mutation writes and what its decision rests on.
#
# A cell is (table, row, column); a row of a vectors table is named by its id and its model (``key``). Every mutation is a set
# of *writes*, *inserts*, *deletes* and *guards* over cells, and one algebra serves them all:
#
# - equality is that of values as the snapshot holds them, compared in PostgreSQL by the column's own type;
# - ``set`` writes replace the value that the plan saw; ``add`` writes are deltas on counters and see nothing; ``now`` and
#   ``item`` writes stamp the instant and the item over the value that the plan saw;
# - a guard names values of one row that must still stand. The virtual column ``RELATIONSHIPS`` of an entity is the set of ids of the
#   relationships incident to it, live or not; ``CLAIMS`` is the set of ids of the claims about it that stand, of which items of
# the same plan may make or retire some: they were planned together; ``TOLD`` of a memory is the version that it says, or a later one which
# only has dates written beside (``slowwave.text.beside``): whoever writes a version writes it as well, unless the mutation guards it;
# - the id rule: the n-th row that an item inserts is ``uuid5(item id, n)``, unless the plan names it: a vector by what it describes, others
#   where JSON or a list has to name them. What an item points at a row that the rule names says that number: ``row`` writes, ``refs``.
#   Rows of ``SHARED`` tables may be several items': they are named after what they are (``named_id``), are there once, and go when the
#   last that needs them is undone;
# - a delete names a whole row as the plan saw it, and writes every cell of it. That the row is there at all is a cell as well (its
#   column is empty): a delete writes it, and whoever changes a counter of the row or points at it guards it.
#
# Two items conflict when one writes what the other writes or guards; two deltas on one counter do not. Items that do not
# conflict commute, so that any subset may be applied or undone in any order.

SHARED: Final[Mapping[str, tuple[str, ...]]] = {"corpora": ("root", "profile", "invalidated_at")}
"""Tables of which several items may bring the same row, as a corpus is made with its first page → the columns that say which row it is.
The first of them names it; a row of the same id that says something else in any of them is another one."""

Value = str | int | float | bool | None | tuple[str, ...]
"""A cell's value. Instants are ISO 8601 in UTC, jsonb is PostgreSQL's JSON text, arrays are tuples, vectors are base64."""

Action = Literal["set", "add", "now", "item", "row"]

RELATIONSHIPS: Final = "#relationships"
CLAIMS: Final = "#claims"
TOLD: Final = "#told"
VIRTUAL: Final = frozenset({RELATIONSHIPS, CLAIMS, TOLD})
"""Columns that are no columns: sets of rows that name an entity, and what a memory tells."""

VERSION: Final = "current_version_id"


class Cell(NamedTuple):
    """One column of one row: of the ``memory`` schema, or of another one where the table's name says so."""

    table: str
    row: str
    column: str
    key: str = ""


class Write(NamedTuple):
    """One cell changed: ``seen`` is what the plan saw, ``value`` what it shall be (a delta for ``add``, a number of ``row``)."""

    cell: Cell
    action: Action
    seen: Value = None
    value: Value = None


class Guard(NamedTuple):
    """Columns of one row that must still hold what the plan saw: ``seen`` are the values of ``columns``, which are sorted."""

    table: str
    row: str
    columns: tuple[str, ...]
    seen: tuple[Value, ...]
    key: str = ""

    @classmethod
    def on(cls, table: str, row: str, fields: Mapping[str, Value], columns: Iterable[str]) -> Guard:
        """Columns of a row whose ``fields`` were seen."""
        names = _sorted_columns(tuple(columns))
        return cls(table, row, names, tuple([fields[name] for name in names]))

    def cells(self) -> Iterator[tuple[Cell, Value]]:
        """Each cell, and what was seen in it."""
        for column, seen in zip(self.columns, self.seen, strict=True):
            yield Cell(self.table, self.row, column, self.key), seen


@lru_cache(maxsize=4096)
def _sorted_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Each column once, the same object for the same columns: guards number hundreds of thousands, and rest on few sets of them."""
    return tuple(sorted({*columns}))


@dataclass(frozen=True, slots=True)
class Insert:
    """One new row; ``row`` and ``key`` name it only where the id rule does not.
    ``refs`` are columns that hold the id of another row which the item inserts, by its number (``id``: a vector's own row), ``stamped``
    columns that hold the instant of the apply."""

    table: str
    values: Mapping[str, Value]
    row: str = ""
    key: str = ""
    refs: Mapping[str, int] = field(default_factory=dict)
    stamped: tuple[str, ...] = ()

    def named(self, item_id: str) -> tuple[str, dict[str, Value]]:
        """Its row, empty where the id rule names it, and its values, with the ids of the item's own rows in place."""
        ids: dict[str, Value] = {column: inserted_id(item_id, n) for column, n in self.refs.items()}
        return str(ids.pop("id", self.row)), {**self.values, **ids}


@dataclass(frozen=True, slots=True)
class Delete:
    """One row gone; ``seen`` is all of it but its key and its namespace (see ``row_columns``), so that it can be put back."""

    table: str
    row: str
    key: str
    seen: Mapping[str, Value]


def named_id(of: str, *parts: str) -> str:
    """The id of a row by what it is of and what it says, as syncs name theirs."""
    return str(uuid.uuid5(uuid.UUID(of), "\0".join(parts)))


def inserted_id(item_id: str, n: int) -> str:
    """The id rule for the n-th row that an item inserts."""
    return str(uuid.uuid5(uuid.UUID(item_id), str(n)))


@cache
def column_of(table: str, column: str) -> Column[object]:
    """The catalogue's column; a name that is not there, or that triggers keep, is refused."""
    found = metadata.tables.get(f"memory.{table}")
    if found is None or column not in found.c or column in DERIVED_COLUMNS:
        raise Refused(f"No mutation may write memory.{table}.{column}: the catalogue has no such cell.")
    return found.c[column]


@cache
def row_columns(table: str) -> tuple[str, ...]:
    """What makes up a row: the catalogue's columns but its key, its namespace and those that triggers keep."""
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
"""Column → the table of the row that its value names, empty for its own, among tables of which rows may be deleted."""


def is_pointer(table: str, column: str) -> bool:
    """Whether a cell names a row that may be deleted: what lies in other schemas than ``memory`` names none."""
    return column in POINTERS and "." not in table


@cache
def sql_type(table: str, column: str) -> str:
    """PostgreSQL's name of a cell's type, to which its literal is cast."""
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
    (Integer, "bigint"),  # BigInteger is an Integer; comparing as bigint is the same
    (Vector, "vector"),
)


def canonical(value: object) -> Value:
    """A value as Arrow's ``to_pylist`` gives it → the form that plans hold."""
    if value is None or isinstance(value, (str, int, float)):  # most are; a bool is an int
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, (list, tuple)):
        return tuple(str(v) for v in value)
    raise TypeError(f"A cell cannot hold {type(value).__name__}.")


def literal(value: Value) -> str | None:
    """The text that PostgreSQL casts to the cell's type; vectors are converted by ``slowwave.changes.cells``."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "{" + ",".join(value) + "}"
    return repr(value) if isinstance(value, float) else str(value)


@cache
def is_counter(table: str, column: str) -> bool:
    """Whether a column is written by deltas only."""
    return column in COUNTERS.get(table, ())


def written(
    writes: Iterable[Write], inserts: Iterable[Insert], deletes: Iterable[Delete] = (), guards: Iterable[Guard] = ()
) -> frozenset[Cell]:
    """The cells that conflict with other items' writes and guards, deltas left out; ``guards`` are those of the same mutation."""
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
    """The cells that a decision rests on, and the rows that must be there: those it counts on or points at."""
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
    """(table, row) of every cell that ``written`` and ``guarded`` name. Items that share no row share no cell, and rows are far fewer."""
    rows = {(w.cell.table, w.cell.row) for w in writes}
    rows |= {(g.table, g.row) for g in guards}
    rows |= {(i.table, i.row) for i in inserts if i.row and i.table not in SHARED}
    rows |= {(d.table, d.row) for d in deletes}
    rows |= {(cell.table, cell.row) for cell in guarded((), writes, inserts, deletes)}
    return rows


def _named(table: str, values: Mapping[str, Value]) -> set[Cell]:
    """The rows that pointers among a row's values name."""
    return {
        Cell(POINTERS[column] or table, str(value), "")
        for column, value in values.items()
        if value is not None and is_pointer(table, column)
    }


def value_json(value: Value) -> str:
    """The canonical JSON of a cell's value, as ``canonical_json`` has it. Raises ``TypeError`` for what a cell cannot hold."""
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
    """The canonical JSON of a write as plans store it: [table, row, key, column, action, seen, value]."""
    (table, row, column, key), action, seen, value = write
    return f'[{quoted(table)},{quoted(row)},{quoted(key)},{quoted(column)},"{action}",{value_json(seen)},{value_json(value)}]'


def writes_from_json(rows: Iterable[Sequence[object]]) -> tuple[Write, ...]:
    """The inverse of ``write_json``, for each of several."""
    return tuple(
        Write(Cell(str(t), str(r), str(c), str(k)), _action(a), canonical(seen), canonical(value))
        for t, r, k, c, a, seen, value in rows
    )


def seen_json(cell: Cell, seen: Value) -> str:
    """The canonical JSON of a cell and what was seen in it: [table, row, key, column, seen]."""
    table, row, column, key = cell
    return f"[{quoted(table)},{quoted(row)},{quoted(key)},{quoted(column)},{value_json(seen)}]"


def guard_json(guard: Guard) -> str:
    """The canonical JSON of a guard as plans store it: [table, row, key, {column: seen}]."""
    table, row, columns, seen, key = guard
    values = ",".join([f"{name}:{value_json(seen[at])}" for name, at in _ordered(columns)])
    return f"[{quoted(table)},{quoted(row)},{quoted(key)},{{{values}}}]"


@lru_cache(maxsize=4096)
def _ordered(columns: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Columns quoted and in canonical order, and where each stands."""
    return tuple((quoted(columns[at]), at) for at in sorted(range(len(columns)), key=columns.__getitem__))


def guards_from_json(rows: Iterable[Sequence[object]]) -> tuple[Guard, ...]:
    """The inverse of ``guard_json``, for each of several; earlier plans have one for each cell, [table, row, key, column, seen]."""
    return tuple(map(_guard, rows))


def _guard(stored: Sequence[object]) -> Guard:
    table, row, key, *rest = stored
    cells = rest[0] if isinstance(rest[0], dict) else {str(rest[0]): rest[1]}
    columns = _sorted_columns(tuple(cells))
    return Guard(str(table), str(row), columns, tuple([canonical(cells[column]) for column in columns]), str(key))


def insert_json(insert: Insert) -> str:
    """The canonical JSON of an insert as plans store it: [table, row, key, values], then refs and stamped columns where there are any."""
    more = f",{_object(insert.refs)}" if insert.refs else ""
    more += f",{value_json(insert.stamped)}" if insert.stamped else ""
    return f"[{quoted(insert.table)},{quoted(insert.row)},{quoted(insert.key)},{_object(insert.values)}{more}]"


def inserts_from_json(rows: Iterable[Sequence[object]]) -> tuple[Insert, ...]:
    """The inverse of ``insert_json``, for each of several."""
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
    """The canonical JSON of a delete as plans store it: [table, row, key, the row as it was seen]."""
    return f"[{quoted(delete.table)},{quoted(delete.row)},{quoted(delete.key)},{_object(delete.seen)}]"


def deletes_from_json(rows: Iterable[Sequence[object]]) -> tuple[Delete, ...]:
    """The inverse of ``delete_json``, for each of several."""
    return tuple(
        Delete(str(t), str(r), str(k), {str(c): canonical(v) for c, v in seen.items()})
        for t, r, k, seen in rows
        if isinstance(seen, Mapping)
    )


_CANONICAL: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode  # json.dumps makes one for each value


quoted: Final = json.encoder.encode_basestring
"""The canonical JSON of a text."""


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN."""
    return _CANONICAL(value)


def table_of(name: str) -> Table:
    """A table of the ``memory`` schema by its bare name."""
    return metadata.tables[f"memory.{name}"]


def _object(values: Mapping[str, Value]) -> str:
    return f"{{{','.join(f'{quoted(name)}:{value_json(values[name])}' for name in sorted(values))}}}"


def _action(value: object) -> Action:
    if value not in ("set", "add", "now", "item", "row"):
        raise Refused(f"A plan names the action {value!r}, which no mutation has.")
    return value


# What a mutation comes to in a store that is not ours: cells and rows of its tables, as they were seen and as they shall be.
#
# Sealed with the mutation, whose cells are those of our catalogue. ``slowwave.changes.lowering`` makes it, the statements of applying and
# undoing carry it out, and ``slowwave.changes.relations`` holds it to the rows that the mutation names.

OVERLAY: Final = "night.overlay"
"""What a store has no column for: a row of JSON for each of its rows that needs one, and cells by the names of our catalogue."""

ROW: Final = "#row"
"""What a deleted row of another store held, as the SHA-256 of its image: the journal keeps the image itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """Cells written and guarded, rows deleted, and rows that move into their store's archive, by their native keys.

    Of a row that moves, an insert holds what the archive has beside the columns of the row itself: those are copied as it goes.
    """

    writes: tuple[Write, ...] = ()
    guards: tuple[Guard, ...] = ()
    deletes: tuple[Delete, ...] = ()
    inserts: tuple[Insert, ...] = ()

    def stand_on(self) -> frozenset[Cell]:
        """The rows that have to be there for it, each as the cell without a column that whoever deletes the row writes."""
        written = {Cell(w.cell.table, w.cell.row, "", w.cell.key) for w in self.writes}
        return frozenset(written | {Cell(g.table, g.row, "", g.key) for g in self.guards})

    def tables(self) -> Iterator[str]:
        """The tables that it names, some more than once."""
        yield from (w.cell.table for w in self.writes)
        yield from (g.table for g in self.guards)
        yield from (d.table for d in self.deletes)
        yield from (i.table for i in self.inserts)

    def canonical(self) -> str:
        """Its canonical JSON."""
        added = f'"inserts":[{",".join(map(insert_json, self.inserts))}],' if self.inserts else ""
        return (
            f'{{"deletes":[{",".join(map(delete_json, self.deletes))}],"guards":[{",".join(map(guard_json, self.guards))}],{added}'
            f'"writes":[{",".join(map(write_json, self.writes))}]}}'
        )

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Change:
        """The inverse of ``canonical``, unchecked."""

        def rows(name: str) -> Sequence[Sequence[object]]:
            found = value.get(name)
            return found if isinstance(found, list) else []  # pyright: ignore[reportReturnType]

        return cls(
            writes_from_json(rows("writes")),
            guards_from_json(rows("guards")),
            deletes_from_json(rows("deletes")),
            inserts_from_json(rows("inserts")),
        )


# What the database would give the columns of a new row, spelled out, so that simulating and applying agree.


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


# Vectors as plans hold them: base64 of little-endian float32, and means that do not depend on the order of members.


def encode(vector: np.ndarray) -> str:
    """(d,) float → base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f4").tobytes()).decode()


def decode(text: str) -> np.ndarray:
    """The inverse of ``encode``: (d,) float32."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def vector_literal(text: str) -> str:
    """A plan's vector as the text that PostgreSQL casts to ``vector``, exactly: each number is written as the double that it
    is, which is read back as the same float32."""
    return json.dumps(decode(text).tolist(), separators=(",", ":"))


def weighted_mean(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Unit mean of rows (k, d), weighted by (k,); summed in float64 in the order given, which callers make that of the ids.

    Weights that are not positive count as absent; when none is positive all count as one (khora's centroid rule).
    """
    w = np.where(weights > 0, weights, 0).astype(np.float64)
    if not w.any():
        w = np.ones(len(matrix))
    mean = (matrix.astype(np.float64) * w[:, None]).sum(axis=0)
    norm = float(np.linalg.norm(mean))
    return (mean / norm if norm else mean).astype(np.float32)
