"""``purge_expired``: rows that were retired long ago, and that nothing needs, are deleted. No other operation deletes.

The planner proposes to delete what was retired before the retention period (khora 8.14, for every table that keeps retired rows).

Retired rows are facts that are inactive or invalidated, relationships and memories that are invalidated, and communities that are
invalidated or were replaced. A row is retired since the latest of the past times on record: ``invalidated_at``, ``valid_to``, and for a
fact the instant at which its successor was recorded. A fact that is not invalidated goes to review, because it is unknown when it was
switched off or closed here: it may have been yesterday. Pinned memories, and rows that a live row or an open conflict names, are never
purged. Rows that name each other are deleted together, in one item; every other item is one row.

Raises ``DreamForbiddenOpError`` if the retention is less than seven days. Time: linear in the rows of the tables, and in the text of the
live rows that may cite them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from slowwave.changes.rows import POINTER, check_retention, purge_rows
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import PurgeExpiredOptions
from slowwave.operations.rejections import open_conflicts
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.rows import retired, retired_since
from slowwave.snapshots.snapshot import Snapshot

OPERATION: Final = "purge_expired"

TABLES: Final = ("memory_facts", "relationships", "memories", "communities")
"""Tables whose rows are purged. Entities stay, because relationships, live or not, depend on them."""

_CITING: Final = {
    "entities": ("attributes",),
    "relationships": ("properties",),
    "memories": ("attributes",),
    "communities": ("payload",),
    "pages": ("body",),
}
"""Columns of live rows that may contain ids of other rows."""

_ID: Final = r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SAID: Final = ("subject", "predicate", "object", "relationship_type", "kind")
_SHOWN: Final = 5
_INSTANT: Final = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, eq=False)
class _Expired:
    """Expired rows of one table: ``rows`` to delete, sorted by id, and ``since`` when they are retired (null if unknown)."""

    name: str
    looked_at: int
    retired: int
    rows: pa.Table
    since: pa.Array
    kept: dict[str, int]

    def uncertain(self) -> list[bool]:
        """Return for each of ``rows`` whether it is unknown when this store retired it.

        It is unknown for a fact that is only inactive, or has only ended in the world.
        """
        marks = self.rows["invalidated_at"] if self.name == "memory_facts" else self.since
        return pc.is_null(marks).to_pylist()


def purge_expired(inputs: Inputs) -> Proposal:
    """Propose to delete rows that were retired longer ago than the retention period."""
    snapshot, days = inputs.snapshot, inputs.settings.options("purge_expired", PurgeExpiredOptions).retention_days
    check_retention(days)
    named = _named_by_live(snapshot)
    found = [_expired(snapshot, name, days, named) for name in TABLES]
    items = [item for table in found for item in _items(snapshot, table, days)]
    return Proposal(tuple(items), _report(found, items, days))


def _expired(snapshot: Snapshot, name: str, days: int, named: pa.Array) -> _Expired:
    table = snapshot.table(name)
    since, gone = retired_since(snapshot, name), retired(snapshot, name)
    cutoff = pa.scalar(snapshot.taken_at - timedelta(days=days), _INSTANT)
    old = pc.less(pc.coalesce(since, table["recorded_at"]), cutoff)
    expired = pc.and_(gone, pc.fill_null(old, False))
    needed = pc.is_in(table["id"], value_set=named)
    pinned = table["pinned"] if "pinned" in table.column_names else needed
    keep = pc.or_(needed, pinned)
    going = pc.and_(expired, pc.invert(keep))
    kept = {
        "within the retention": _count(pc.and_(gone, pc.invert(expired))),
        "named by live rows or conflicts": _count(pc.and_(expired, needed)),
        "pinned": _count(pc.and_(pc.and_(expired, pinned), pc.invert(needed))),
    }
    rows = table.filter(going).combine_chunks()
    return _Expired(name, len(table), _count(gone), rows, since.filter(going).combine_chunks(), kept)


def _named_by_live(snapshot: Snapshot) -> pa.Array:
    """Return the ids that live rows name in their pointers, members or text, and those in an unresolved conflict."""
    ids: set[str] = set()
    for name, column in POINTER.items():
        live = snapshot.live(name)
        if "is_active" in live.column_names:  # a fact that is switched off names nothing that must stay
            live = live.filter(live["is_active"])
        ids.update(pc.drop_null(live[column]).to_pylist())
    ids.update(pc.list_flatten(snapshot.live("communities")["member_ids"]).to_pylist())
    for name, columns in _CITING.items():
        live = snapshot.live(name)
        for column in columns:
            texts = live[column].filter(pc.fill_null(pc.match_substring_regex(live[column], _ID), False))
            ids.update(id_.lower() for text in texts.to_pylist() for id_ in re.findall(_ID, text))
    for name in TABLES:
        ids.update(id_ for pair in open_conflicts(snapshot, name) for id_ in pair)
    return pa.array(sorted(ids), pa.string())


def _items(snapshot: Snapshot, expired: _Expired, days: int) -> list[Item]:
    ids = expired.rows["id"].to_pylist()
    place = {id_: n for n, id_ in enumerate(ids)}
    since: list[Any] = expired.since.to_pylist()
    uncertain = expired.uncertain()
    shown = expired.rows.select([c for c in (*_SAID, "recorded_at") if c in expired.rows.column_names]).to_pylist()
    groups = [[ids[n] for n in group] for group in _together(expired)]
    groups.sort(key=lambda group: (min(since[place[i]] or snapshot.taken_at for i in group), group))
    items: list[Item] = []
    for group, mutation in zip(groups, purge_rows(snapshot, expired.name, groups, retention_days=days), strict=True):
        dated = [since[place[i]] for i in group]
        asked = any(uncertain[place[i]] for i in group)
        latest = max((at for at in dated if at is not None), default=None)
        evidence: dict[str, object] = {
            "rows": len(group),
            "retired": [{k: v for k, v in shown[place[i]].items() if k in _SAID} for i in group[:_SHOWN]],
            "retention_days": days,
            "pointers_cleared": len(mutation.writes),
        }
        if latest is not None:
            evidence |= {"retired_since": latest.isoformat(), "age_days": (snapshot.taken_at - latest).days}
        if asked:
            recorded = max(shown[place[i]]["recorded_at"] for i in group)
            evidence["reason"] = (
                f"Nothing tells since when it is inactive here; it was recorded on {recorded:%Y-%m-%d}. It may have been switched "
                "off or closed since then."
            )
        item = Item(OPERATION, Decision.REVIEW if asked else Decision.PURGE, mutation, evidence, risk="high")
        items.append(ask_unless_measured(item, "expired row"))
    return items


def _together(expired: _Expired) -> list[list[int]]:
    """Return the positions of rows that must be deleted together, because one names the other.

    Each group is sorted, and every row is in one.
    """
    count = len(expired.rows)
    column = POINTER.get(expired.name)
    if column is None or not count:
        return [[n] for n in range(count)]
    named = pc.index_in(expired.rows[column], value_set=expired.rows["id"].combine_chunks()).combine_chunks()
    linked = np.flatnonzero(pc.is_valid(named).to_numpy(zero_copy_only=False))
    ends = named.drop_null().to_numpy().astype(np.int64)
    links = sparse.coo_matrix((np.ones(len(linked), np.int8), (linked, ends)), shape=(count, count))
    _, label = connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return [group.tolist() for group in np.split(order, cuts)]


def _report(found: Sequence[_Expired], items: Sequence[Item], days: int) -> Report:
    purged = [i for i in items if i.decision == Decision.PURGE]
    rows = sum(len(i.mutation.rows) for i in purged)
    retired = sum(t.retired for t in found)
    reviews = len(items) - len(purged)
    headline = (
        f"{rows:,} of {retired:,} retired rows are past the {days:,} days that they are kept, and would be deleted"
    )
    headline += f"; {reviews:,} are asked about." if reviews else "."
    numbers: dict[str, int | float] = {"retention in days": days}
    for table in found:
        numbers |= {f"{table.name} looked at": table.looked_at, f"{table.name} retired": table.retired}
        numbers |= {f"{table.name} {what}": n for what, n in table.kept.items() if n}
        numbers |= {f"{table.name} expired": len(table.rows)}
    parts = _count_parts(items)
    numbers |= {
        "versions, vectors and promotions": parts,
        "pointers cleared": sum(len(i.mutation.writes) for i in items),
    }
    numbers |= {"rows purged": rows, "for review": reviews, "items": len(items)}
    return Report(OPERATION, headline, numbers)


def _count_parts(items: Iterable[Item]) -> int:
    return sum(len(i.mutation.deletes) - len(i.mutation.rows) for i in items)


def _count(mask: pa.ChunkedArray) -> int:
    return int(pc.sum(mask).as_py() or 0)
