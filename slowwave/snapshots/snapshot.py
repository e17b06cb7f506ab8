"""A namespace at one instant: Arrow tables with their schema, mapped vectors, and results kept while tables exist."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.errors import SnapshotError
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, conflicts, rejections

# A namespace at one instant, as Arrow tables and memory-mapped vectors.
#
# Column types: ids are 36-character strings, ``uuid[]`` are lists of them, ``jsonb`` is PostgreSQL's JSON text, instants are
# ``timestamp[us, UTC]``. ``slowwave.snapshots.export`` reads a snapshot from PostgreSQL.


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of one model: ``ids`` (n, as in the row table) and ``matrix`` (n, d) float32, sorted by id."""

    model: str
    ids: pa.Array
    matrix: np.ndarray

    @classmethod
    def empty(cls, model: str = "") -> Vectors:
        """Return an empty set of vectors."""
        return cls(model, pa.array([], pa.string()), np.empty((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: pa.Array) -> np.ndarray:
        """Return the row numbers of ``ids`` in ``matrix`` (int64, -1 for an id without a vector)."""
        found = pc.index_in(ids, value_set=self.ids.cast(ids.type))
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that a night leaves unchanged, because it cannot read the value of ``column``.

    ``kind`` is the reason (``store.readable_rows.REASONS``).
    """

    table: str
    row_id: str
    column: str
    kind: str


Answer = TypeVar("Answer")


class LastAnswers:
    """The last answer to each question about tables, because the audits and planners of one night ask the same questions.

    An answer is kept with the tables or matrices that it was given for, held by weak references, and with further parameters.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[weakref.ReferenceType[object], ...], object, Any]] = {}

    def find_once(
        self, question: str, tables: Sequence[object], parameters: object, find: Callable[[], Answer]
    ) -> Answer:
        """Return the stored answer to the question for these very tables and equal parameters, or else the result of ``find``."""
        if known := self._known.get(question):
            held, given, answer = known
            alive = [reference() for reference in held]
            if given == parameters and len(alive) == len(tables) and all(map(operator.is_, alive, tables)):
                return answer
        found = find()

        def forget(gone: weakref.ReferenceType[object]) -> None:
            # As soon as one of its tables is freed, because the answer may be as large as they are.
            if any(reference is gone for reference in self._known.get(question, ((),))[0]):
                del self._known[question]

        self._known[question] = tuple(weakref.ref(table, forget) for table in tables), parameters, found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One consistent view of a namespace; tables are sorted by id.

    Rows that are ``left_out`` are present with a readable value in place of the original, so that references to them do not count as
    dead. No plan changes them. Snapshots that are made of each other (``dataclasses.replace``) share their ``answers``, because they share
    tables.
    """

    namespace_id: str
    namespace: str
    snapshot_id: str
    taken_at: datetime
    change_counter: int
    read_only: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    left_out: tuple[UnreadableRow, ...] = ()
    answers: LastAnswers = field(default_factory=LastAnswers, repr=False)

    def table(self, name: str) -> pa.Table:
        """Return the whole table, including retired rows.

        Raises ``SnapshotError`` if the snapshot has no such table.
        """
        try:
            return self.tables[name]
        except KeyError:
            raise SnapshotError(
                f"Snapshot {self.snapshot_id} has no table {name!r}. An operation is given the tables that it declares in reads: declare "
                "it there. A snapshot of an earlier version has fewer: run the night again."
            ) from None

    def live(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the rows that are neither invalidated nor ended before the snapshot was taken, with some columns or all.

        The rows are copied unless all are live: name the columns if few are read.
        """
        table = self.table(name)
        chosen = table if columns is None else table.select(list(dict.fromkeys(columns)))
        if not table.num_rows:
            return chosen
        names = set(table.column_names)
        mask = None
        if "invalidated_at" in names and (ends := table["invalidated_at"]).null_count < len(ends):
            mask = pc.is_null(ends)
        if "valid_to" in names and table["valid_to"].null_count < table.num_rows:
            now = pa.scalar(self.taken_at, pa.timestamp("us", tz="UTC"))
            current = pc.or_(pc.is_null(table["valid_to"]), pc.fill_null(pc.greater(table["valid_to"], now), False))
            mask = current if mask is None else pc.and_(mask, current)
        return chosen if mask is None or pc.all(mask, min_count=0).as_py() else chosen.filter(mask)


# Arrow schemas of a snapshot's tables, derived from the catalogue of columns. This is the only mapping from PostgreSQL's types to Arrow's.

decisions: Final = Table(
    "decisions",
    MetaData(),  # a query over the ledger, no table of the store
    Column("id", Uuid, primary_key=True),  # of the item
    Column("operation", Text, nullable=False),
    Column("decision", Text, nullable=False),  # merge, or review if the plan was in doubt
    Column("status", Text, nullable=False),  # applied, rejected, undone
    Column("keep_id", Uuid, nullable=False),
    Column("seen", JSONB, nullable=False),  # [row, column, value] of the cells that the plan saw
    Column("recorded_at", DateTime(timezone=True), nullable=False),  # of the plan
    schema="night",
)
"""Decisions about merges, by people or their policies: the newest 10,000."""

SNAPSHOT_TABLES: Final = {table.name: table for table in (*EXPORTED, rejections, conflicts, decisions)}
"""Name → table, for everything in a snapshot except vectors."""

INSTANT: Final = pa.timestamp("us", tz="UTC")

_LEFT_OUT: Final = frozenset({*DERIVED_COLUMNS, "namespace_id", "policy_id"})


def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table's rows in a snapshot, in the order of its columns.

    Left out are ``namespace_id`` (a snapshot has only one), ``policy_id``, and the columns that triggers maintain. Every field is
    nullable, as the results of Arrow's functions are, so that schemas compare equal. Raises ``TypeError`` for a type without a mapping.
    """
    return pa.schema(
        [pa.field(column.name, _arrow_type(column.type)) for column in table.columns if column.name not in _LEFT_OUT]
    )


def _arrow_type(sql_type: object) -> pa.DataType:
    """Return the Arrow type of an SQL type.

    Double and BigInteger are recognised by their base classes. Vectors have no mapping, because they are stored separately.
    """
    match sql_type:
        case ARRAY():
            item: Any = sql_type.item_type
            return pa.list_(_arrow_type(item))
        case Uuid() | Text() | JSONB():
            return pa.string()
        case DateTime():
            return INSTANT
        case Boolean():
            return pa.bool_()
        case Integer():
            return pa.int64()
        case Double():
            return pa.float64()
        case _:
            raise TypeError(
                f"The column type {sql_type!r} has no place in a snapshot; add it to slowwave.snapshots.snapshot."
            )
