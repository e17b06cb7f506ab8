"""The scope of a dream: which operations run, and which of their items belong to the plan.

A scope narrows what is proposed, never what is looked at: an item counts as within when one of the rows it is about is. So a merge of
an old row with one that came since yesterday is within "since yesterday".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot

_TABLES: Final = ("entities", "relationships", "memory_facts", "memories", "communities")
_NAMED: Final = {"entities": "id", "relationships": "source_entity_id target_entity_id"}


@dataclass(frozen=True, slots=True)
class DreamScope:
    """``None`` restricts nothing. ``op_kinds`` are names of operations, at least one; instants are aware, and bound ``recorded_at``:
    ``since`` ≤ recorded < ``until``. ``entity_ids`` take in relationships that touch them; ``document_ids`` what cites them or
    one of their chunks.
    """

    op_kinds: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    entity_ids: frozenset[str] | None = None
    document_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            instant = getattr(self, name)
            if instant is not None and instant.tzinfo is None:
                raise Refused(
                    f"The scope's {name} has no time zone, so it could mean several instants. Add one, as in …Z."
                )

    @property
    def narrows(self) -> bool:
        """Whether it leaves out rows."""
        return any(getattr(self, n) is not None for n in ("since", "until", "entity_ids", "document_ids"))

    def to_json(self) -> dict[str, object]:
        """As runs store it: what restricts nothing is left out."""
        shown: dict[str, object] = {}
        for name in ("op_kinds", "entity_ids", "document_ids"):
            if (value := getattr(self, name)) is not None:
                shown[name] = sorted(value)
        for name in ("since", "until"):
            if (value := getattr(self, name)) is not None:
                shown[name] = value.astimezone(UTC).isoformat()
        return shown

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> DreamScope:
        """The inverse of ``to_json``."""
        return cls(
            _names(value.get("op_kinds")),
            _when(value.get("since")),
            _when(value.get("until")),
            _names(value.get("entity_ids")),
            _names(value.get("document_ids")),
        )


def within(scope: DreamScope, snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """The items of which a row lies within the scope, in their order. One pass over each table of rows."""
    if not scope.narrows:
        return list(items)
    rows = {id_ for table in _TABLES if table in snapshot.tables for id_ in _rows(scope, snapshot, table)}
    return [item for item in items if not rows.isdisjoint(_about(item))]


def _about(item: Item) -> set[str]:
    """The rows an item is about, and those that a new row names as its members."""
    return {*item.mutation.row_ids(), *(id_ for ids in item.mutation.members() for id_ in ids)}


def _rows(scope: DreamScope, snapshot: Snapshot, name: str) -> list[str]:
    table = snapshot.table(name)
    mask = pa.chunked_array([pa.array([True] * len(table), pa.bool_())])
    if scope.since is not None:
        mask = pc.and_(mask, pc.greater_equal(table["recorded_at"], _instant(scope.since)))
    if scope.until is not None:
        mask = pc.and_(mask, pc.less(table["recorded_at"], _instant(scope.until)))
    if scope.entity_ids is not None:
        asked = pa.array(sorted(scope.entity_ids), pa.string())
        named = [pc.is_in(table[c], value_set=asked) for c in _NAMED.get(name, "").split()]
        mask = pc.and_(mask, _any(named, len(table)))
    if scope.document_ids is not None:
        mask = pc.and_(mask, _cites(scope.document_ids, snapshot, table))
    return table["id"].filter(mask).to_pylist()


def _cites(documents: frozenset[str], snapshot: Snapshot, table: pa.Table) -> pa.ChunkedArray:
    chunks = snapshot.table("chunks")
    asked = pa.array(sorted(documents), pa.string())
    own = chunks["id"].filter(pc.is_in(chunks["document_id"], value_set=asked)).combine_chunks()
    named = [
        _holds(table[column], of)
        for column, of in (("source_document_ids", asked), ("source_chunk_ids", own))
        if column in table.column_names
    ]
    return _any(named, len(table))


def _holds(lists: pa.ChunkedArray, ids: pa.Array) -> pa.ChunkedArray:
    """Which lists hold one of ``ids``."""
    whole = lists.combine_chunks()
    hit = pc.is_in(pc.list_flatten(whole), value_set=ids)
    rows = pc.unique(pc.list_parent_indices(whole).filter(hit))
    return pa.chunked_array([pc.is_in(pa.array(range(len(whole)), rows.type), value_set=rows)])


def _any(masks: Sequence[pa.ChunkedArray], rows: int) -> pa.ChunkedArray:
    found = pa.chunked_array([pa.array([False] * rows, pa.bool_())])
    for mask in masks:
        found = pc.or_(found, mask)
    return found


def _names(value: object) -> frozenset[str] | None:
    return frozenset(str(v) for v in value) if isinstance(value, (list, tuple, set, frozenset)) else None


def _when(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def _instant(value: datetime) -> pa.Scalar:
    return pa.scalar(value.astimezone(UTC), pa.timestamp("us", tz="UTC"))
