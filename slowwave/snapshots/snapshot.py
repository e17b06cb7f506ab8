"""A namespace at one instant, as Arrow tables and memory-mapped vectors.

Column types: ids are 36-character strings, ``uuid[]`` are lists of them, ``jsonb`` is PostgreSQL's JSON text, instants are
``timestamp[us, UTC]``. Reading one from Postgres belongs to ``slowwave.snapshots.export``; files belong to
``slowwave.snapshots.files``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import SnapshotError


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of one model: ``ids`` (n, as in the row table) and ``matrix`` (n, d) float32, sorted by id."""

    model: str
    ids: pa.Array
    matrix: np.ndarray

    @classmethod
    def empty(cls, model: str = "") -> Vectors:
        """No vectors at all."""
        return cls(model, pa.array([], pa.string()), np.empty((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: pa.Array) -> np.ndarray:
        """Row numbers of ``ids`` in ``matrix`` (int64, -1 where there is no vector)."""
        found = pc.index_in(ids, value_set=self.ids)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that a night leaves alone, as it cannot read the value of ``column``. ``kind`` says why (``store.readable_rows.REASONS``)."""

    table: str
    row_id: str
    column: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One consistent view of a namespace. Tables are sorted by id.

    Rows that are ``left_out`` are there with a readable value in place of theirs, so that references to them do not count as dead. No
    plan changes them.
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

    def table(self, name: str) -> pa.Table:
        """The whole table, retired rows included."""
        try:
            return self.tables[name]
        except KeyError:
            raise SnapshotError(
                f"Snapshot {self.snapshot_id} has no table {name!r}. An operation is given the tables that it declares in reads: declare "
                "it there. A snapshot of an earlier version has fewer: run the night again."
            ) from None

    def live(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """Rows that are neither invalidated nor ended in the world before the snapshot was taken, with some columns or all.

        They are copied unless all rows stand: name columns where few are read.
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
