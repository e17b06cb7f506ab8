"""Plans for probe tests: items around mutations, and the snapshot after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation
from slowwave.changes.simulate import simulate
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import uid


def item(mutation: Mutation, operation: str = "dedupe_entities", decision: str = "merge") -> Item:
    return Item(operation, decision, mutation)


def merges(snapshot: Snapshot, clusters: Mapping[str, Sequence[str]]) -> list[Item]:
    """Survivor → absorbed, by the names that ``uid`` takes."""
    return [item(m) for m in merge_rows(snapshot, [Merge(uid(k), tuple(map(uid, a))) for k, a in clusters.items()])]


def merged(snapshot: Snapshot, clusters: Mapping[str, Sequence[str]]) -> tuple[Snapshot, list[Item]]:
    """The snapshot after the merges, and the merges."""
    items = merges(snapshot, clusters)
    return simulate(snapshot, items), items


def entity(name: str, **columns: object) -> dict[str, object]:
    return {"id": uid(name), "name": name, "entity_type": "PERSON", **columns}
