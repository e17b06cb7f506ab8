"""Rows of a snapshot by id: what builders of mutations look up, gathered in one pass over each table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import SnapshotError
from slowwave.mutations.cells import Value, canonical
from slowwave.snapshots.snapshot import Snapshot

Fields = dict[str, Value]


def rows_by_id(snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]) -> dict[str, Fields]:
    """id → its columns in canonical form, for the ids asked; an id that the snapshot lacks is an error."""
    return {str(row["id"]): row for row in _rows(_picked(snapshot, table, ids, columns))}


def columns_by_id(
    snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]
) -> tuple[list[str], dict[str, list[Value]]]:
    """The ids asked, sorted, and column → cells (n,) in canonical form in their order; an id that the snapshot lacks is an error."""
    picked = _picked(snapshot, table, ids, columns).sort_by("id")
    return picked["id"].to_pylist(), {name: _cells(picked[name]) for name in picked.column_names}


def _picked(snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]) -> pa.Table:
    whole = snapshot.table(table)
    picked = whole.select(["id", *columns]).filter(pc.is_in(whole["id"], value_set=_strings(ids)))
    if len(picked) < len(ids) and (missing := set(ids) - set(picked["id"].to_pylist())):
        raise SnapshotError(
            f"Row {min(missing)} of {table} is not in snapshot {snapshot.snapshot_id}: plan on the snapshot's own rows."
        )
    return picked


def rows_where(
    snapshot: Snapshot, table: str, column: str, ids: Collection[str], columns: Iterable[str]
) -> list[Fields]:
    """Rows whose ``column`` is one of ``ids``, in id order."""
    whole = snapshot.table(table)
    picked = whole.select(list(dict.fromkeys(["id", column, *columns]))).filter(
        pc.is_in(whole[column], value_set=_strings(ids))
    )
    return _rows(picked)


def live_ids(snapshot: Snapshot, table: str) -> frozenset[str]:
    """Ids that provenance may name: rows that are there and not invalidated. A source that ended in the world is still a source."""
    whole = snapshot.table(table)
    return frozenset(whole["id"].filter(pc.is_null(whole["invalidated_at"])).to_pylist())


def as_ids(value: Value) -> tuple[str, ...]:
    """A ``uuid[]`` cell as a tuple."""
    return value if isinstance(value, tuple) else ()


def _rows(table: pa.Table) -> list[Fields]:
    """The rows with their cells in canonical form, made column by column."""
    names = table.column_names  # a new list each time
    columns = [_cells(column) for column in table.columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _cells(column: pa.ChunkedArray) -> list[Value]:
    kind = column.type
    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_timestamp(kind) and (kind.unit, kind.tz) == ("us", "UTC"):
        instants = pc.fill_null(column.cast(pa.int64()), 0).to_numpy().view("datetime64[us]")
        texts = np.datetime_as_string(instants).tolist()
        return [
            f"{text}+00:00" if known else None for text, known in zip(texts, column.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_string(kind):
        return _texts(column)
    values = column.to_pylist()
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return [value if value is None else tuple(value) for value in values]
    return values if any(is_(kind) for is_ in _AS_THEY_ARE) else [canonical(value) for value in values]


def _texts(column: pa.ChunkedArray) -> list[Value]:
    """Texts of a column; equal ones are one object where most are: items keep the states, kinds and types of many thousand rows."""
    if len(column) >= _MANY and len(known := pc.unique(column)) <= len(column) // _MANY:
        texts = known.to_pylist()
        return [texts[n] for n in pc.index_in(column, value_set=known).to_pylist()]
    return column.to_pylist()


_AS_THEY_ARE: Final = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
_MANY: Final = 8


def _strings(ids: Collection[str]) -> pa.Array:
    return pa.array(sorted(ids), pa.string())
