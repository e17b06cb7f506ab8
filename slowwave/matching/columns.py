"""Columns of a table of any origin, Arrow or pandas, as what matching reads; errors name the row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.errors import Refused


def read_columns(table: Any, known: Collection[str], needed: Sequence[str]) -> dict[str, Any]:
    """The known columns as lists; ``vector`` of an Arrow table stays what it is."""
    if isinstance(table, pa.Table):
        found = {c: table[c] if c == "vector" else table[c].to_pylist() for c in table.column_names if c in known}
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        found = {str(c): table[c].tolist() for c in table.columns if str(c) in known}
    else:
        raise Refused(
            f"A table to match is an Arrow table or a pandas frame, not {type(table).__name__}. Convert it first."
        )
    missing = [c for c in needed if c not in found]
    if missing:
        raise Refused(f"The table has no column {' and no column '.join(missing)}. Rename the columns that hold them.")
    return found


def read_ids(given: Sequence[Any]) -> list[str]:
    """Ids as texts, each there and of its own."""
    ids = [read_text(i) for i in given]
    seen: set[str] = set()
    for row, id_ in enumerate(ids):
        if not id_:
            raise Refused(f"Row {row} has no id. Give every row one of its own.")
        if id_ in seen:
            raise Refused(f"Row {row} repeats the id {id_[:80]!r}. Give every row one of its own.")
        seen.add(id_)
    return [str(i) for i in ids]


def read_vectors(given: Any, n: int) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """A column of vectors as a matrix (v, d) and each row's place in it (n,), -1 where it has none; None where no row has one."""
    if given is None:
        return None, None
    if isinstance(given, pa.ChunkedArray):
        return _arrow_vectors(given)
    has = [k for k, v in enumerate(given) if not is_missing(v)]
    if not has:
        return None, None
    size = len(given[has[0]])
    for row in has:
        if len(given[row]) != size:
            raise _uneven(row, len(given[row]), size)
    rows = np.full(n, -1, np.int64)
    rows[has] = np.arange(len(has))
    return np.array([given[k] for k in has], np.float32), rows


def read_text(value: Any) -> str | None:
    """A value as text; None where there is none."""
    return None if is_missing(value) else str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is none, as Arrow and pandas write it."""
    return value is None or (isinstance(value, float) and np.isnan(value))


def _arrow_vectors(column: pa.ChunkedArray) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """The same without a Python object a number."""
    has = column.is_valid().to_numpy().astype(bool)
    if not has.any():
        return None, None
    sizes = pc.list_value_length(column).to_numpy()[has].astype(np.int64)
    wrong = np.flatnonzero(sizes != sizes[0])
    if len(wrong):
        raise _uneven(int(np.flatnonzero(has)[wrong[0]]), int(sizes[wrong[0]]), int(sizes[0]))
    flat = column.drop_null().combine_chunks().flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    rows = np.where(has, np.cumsum(has) - 1, -1).astype(np.int64)
    return flat.reshape(-1, int(sizes[0])), rows


def _uneven(row: int, has: int, others: int) -> Refused:
    return Refused(f"The vector of row {row} has {has} numbers, others have {others}. Use one model for all.")
