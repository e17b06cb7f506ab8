"""A namespace with promotions, for tests of pages: as a snapshot and as rows of the real store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_snapshot, uid

FIRST = datetime(2026, 2, 1, 4, tzinfo=UTC)


def day(n: float) -> datetime:
    """So many days after the first promotion."""
    return FIRST + timedelta(days=n)


def notes(*texts: str | Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows of promoted memories ``m0``, ``m1`` …, each with its version ``v…`` and promotion ``p…``: scores .9, .89 …, a day apart.

    A mapping gives ``text`` and columns of the memory; ``scores``, ``promoted`` (an instant) and ``revoked`` are the promotion's.
    """
    tables: dict[str, list[dict[str, Any]]] = {"memories": [], "memory_versions": [], "promotions": []}
    for n, given in enumerate(texts):
        row = {"text": given} if isinstance(given, str) else dict(given)
        text, scores = row.pop("text"), row.pop("scores", {"score": 0.9 - n / 100, "recalls": n + 3, "days": 2})
        promoted, revoked = row.pop("promoted", day(n)), row.pop("revoked", None)
        base = {"kind": "semantic", "ring": "longterm", "current_version_id": f"v{n}"}
        tables["memories"].append({"id": f"m{n}", **base, **row})
        tables["memory_versions"].append({"id": f"v{n}", "memory_id": f"m{n}", "content": text, "recorded_at": day(-9)})
        promotion = {"from_ring": "shortterm", "to_ring": "longterm", "scores": scores, "recorded_at": promoted}
        tables["promotions"].append({"id": f"p{n}", "memory_id": f"m{n}", **promotion, "invalidated_at": revoked})
    return tables


def snapshot_of(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], settings: Mapping[str, object] | None = None
) -> Snapshot:
    """The rows as a snapshot, with ids of names, taken long after all of them."""
    made = make_snapshot(
        settings=settings,
        **{name: [{k: _named(k, v) for k, v in row.items()} for row in rows] for name, rows in tables.items()},
    )
    return replace(made, taken_at=day(10_000))


def _named(column: str, value: Any) -> Any:
    """As ``tests.memories`` names rows."""
    names = column == "id" or column.endswith("_id") or column in ("merged_into", "recorded_by", "invalidated_by")
    return uid(value) if names and value is not None else value
