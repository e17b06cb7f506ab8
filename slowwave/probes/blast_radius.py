"""How much of a namespace a plan retires or rewords: beyond a cap the problem is upstream of the memory.

A live row is *retired* when it is invalidated, ended in the world, merged, deleted, or put in a state other than active, and
*reworded* when a name, a description or a text that people read is replaced. Filling in an empty text, saying the same text again,
cleaning provenance, moving the endpoint of a relationship, vectors, counters and attributes are neither. A row counts once, as
retired if it is both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.mutations.cells import Write
from slowwave.mutations.rows import rows_where
from slowwave.plans.items import Item
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot

TEXTS: Final[Mapping[str, frozenset[str]]] = {
    "entities": frozenset({"name", "description"}),
    "relationships": frozenset({"description"}),
    "memories": frozenset({"current_version_id"}),
    "memory_facts": frozenset({"subject", "predicate", "object", "fact_text"}),
    "chunks": frozenset({"content"}),
    "documents": frozenset({"title", "content"}),
}
"""The tables whose rows count, with the columns that hold their words."""

_ENDED: Final = frozenset({"invalidated_at", "valid_to", "merged_into", "superseded_by"})


@dataclass(frozen=True, slots=True)
class Radius:
    """Rows of one table or entity type."""

    live: int
    retired: int
    reworded: int


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """``share`` of the ``live`` rows that are retired or reworded; ``allowed`` is in rows; ``per_type`` splits entities."""

    share: float
    retired: int
    reworded: int
    live: int
    per_table: Mapping[str, Radius]
    per_type: Mapping[str, Radius]
    allowed: int
    passed: bool

    def to_json(self) -> dict[str, object]:
        """As plans store and show it."""
        return asdict(self)

    def sentence(self) -> str:
        """What an operator reads."""
        touched = (
            f"{self.retired:,} rows are retired and {self.reworded:,} reworded, "
            f"{self.share:.1%} of {self.live:,} live rows ({self.allowed:,} allowed)."
        )
        if self.passed:
            return touched
        return (
            f"{touched} The problem is upstream: look at what writes these rows before a night rewrites them. "
            "Approving the plan needs force and a reason."
        )


def blast_radius(before: Snapshot, items: Sequence[Item], settings: Settings) -> BlastRadius:
    """Count the live rows of ``before`` that ``items`` retire or reword; one pass over the items' writes.

    Allowed are ``settings.blast_radius_share`` of the live rows, and ``settings.blast_radius_rows`` however small the namespace.
    """
    retired: dict[str, set[str]] = defaultdict(set)
    reworded: dict[str, set[str]] = defaultdict(set)
    unchanged = _said_again(before, items)
    for item in items:
        for write in item.mutation.writes:
            if write.cell.table in TEXTS:
                if _retires(write):
                    retired[write.cell.table].add(write.cell.row)
                elif _rewords(write) and write.cell.row not in unchanged:
                    reworded[write.cell.table].add(write.cell.row)
        for delete in item.mutation.deletes:
            retired[delete.table].add(delete.row)
    per_table: dict[str, Radius] = {}
    per_type: dict[str, Radius] = {}
    for table in TEXTS:
        rows = before.live(table)
        gone = _among(rows, retired[table])
        other = _among(rows, reworded[table] - retired[table])
        per_table[table] = Radius(len(rows), len(gone), len(other))
        if table == "entities":
            counts = [Counter(part["entity_type"].to_pylist()) for part in (rows, gone, other)]
            per_type = {t: Radius(*(c[t] for c in counts)) for t in sorted(counts[0])}
    live, lost, changed = (sum(getattr(r, n) for r in per_table.values()) for n in ("live", "retired", "reworded"))
    allowed = max(int(settings.blast_radius_share * live), settings.blast_radius_rows)
    touched = lost + changed
    share = touched / live if live else 0.0
    return BlastRadius(share, lost, changed, live, per_table, per_type, allowed, touched <= allowed)


def _said_again(before: Snapshot, items: Sequence[Item]) -> frozenset[str]:
    """Memories whose new version holds the text of the one before it, as only their stage changes."""
    new = {
        str(write.seen): (write.cell.row, item.mutation.inserts[write.value].values.get("content"))
        for item in items
        for write in item.mutation.writes
        if write.action == "row" and write.cell.column == "current_version_id" and isinstance(write.value, int)
    }
    if not new:
        return frozenset()
    old = rows_where(before, "memory_versions", "id", new.keys(), ("content",))
    return frozenset(new[str(v["id"])][0] for v in old if v["content"] == new[str(v["id"])][1])


def _retires(write: Write) -> bool:
    column = write.cell.column
    if column == "state":
        return write.value != "active"
    if column == "is_active":
        return write.value is False
    return column in _ENDED and (write.action != "set" or write.value is not None)


def _rewords(write: Write) -> bool:
    return write.cell.column in TEXTS[write.cell.table] and write.seen not in (None, "", write.value)


def _among(rows: pa.Table, ids: set[str]) -> pa.Table:
    return rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
