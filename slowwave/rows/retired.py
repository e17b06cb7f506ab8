"""Retired rows: which rows of a table have left the memory, and since when as far as the store tells.

What becomes of them is decided by the audits and planners that ask.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot

_INSTANT: Final = pa.timestamp("us", tz="UTC")


def retired(snapshot: Snapshot, name: str) -> pa.ChunkedArray:
    """(n,) whether each row is invalidated, or a fact that is inactive, or a community that another one replaced."""
    table = snapshot.table(name)
    gone = pc.is_valid(table["invalidated_at"])
    if "is_active" in table.column_names:
        gone = pc.or_(gone, pc.invert(table["is_active"]))
    if name == "communities":
        gone = pc.or_(gone, pc.is_valid(_past(snapshot, table["valid_to"])))
    return gone


def retired_since(snapshot: Snapshot, name: str) -> pa.ChunkedArray:
    """(n,) the latest mark of each row's retirement that is past, null where there is none.

    Marks are ``invalidated_at``, ``valid_to`` and, for a fact, the instant at which the one in ``superseded_by`` was recorded.
    """
    table = snapshot.table(name)
    marks = [_past(snapshot, table[c]) for c in ("invalidated_at", "valid_to") if c in table.column_names]
    if "superseded_by" in table.column_names:
        newer = pc.index_in(table["superseded_by"], value_set=table["id"].combine_chunks())
        marks.append(_past(snapshot, table["recorded_at"].take(newer)))
    latest = pc.max_element_wise(*(m.cast(pa.int64()) for m in marks))  # Arrow has no greatest of instants
    return latest.cast(_INSTANT)


def _past(snapshot: Snapshot, instants: pa.ChunkedArray) -> pa.ChunkedArray:
    """Instants up to that of the snapshot; later ones become null."""
    past = pc.less_equal(instants, pa.scalar(snapshot.taken_at, _INSTANT))
    return pc.if_else(past, instants, pa.scalar(None, _INSTANT))
