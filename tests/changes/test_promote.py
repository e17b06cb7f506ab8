"""Promotions: applied once however often, taken back exactly, and revoked ring by ring."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Promotion, promote, revoke
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ask, remember
from tests.snapshots import TAKEN_AT, make_snapshot, uid

SLUG = "promoted"


def memory(name: str, **more: object) -> dict[str, object]:
    """An episode."""
    return {"id": uid(name), "external_id": name, "kind": "episodic", **more}


def items(mutations: list[Mutation]) -> list[Item]:
    return [Item("promote_memories", "promote", m) for m in mutations]


def rings(snapshot: Snapshot) -> dict[str, str]:
    """Memory → ring, by name."""
    return {m["external_id"]: m["ring"] for m in snapshot.table("memories").to_pylist()}


def test_a_promotion_applied_twice_is_applied_once_and_undone_exactly(store: Store) -> None:
    """Any op applied twice = applied once: one row of promotions, one change of ring."""
    namespace = remember(store, SLUG, memories=[{"id": "m", "kind": "episodic"}, {"id": "other", "kind": "episodic"}])
    before = digest(store, SLUG)
    planned = items(
        promote(export_snapshot(store, SLUG, model=MODEL), [Promotion(uid("m"), "longterm", {"score": 0.4})])
    )
    run = str(uuid.uuid4())
    for attempt in range(2):
        with store.connect("applier") as connection, connection.transaction():
            stale = apply_items(connection, namespace, run, planned)
        assert bool(stale) is bool(attempt)
    query = "SELECT from_ring, to_ring, scores ->> 'score', invalidated_at FROM memory.promotions"
    assert ask(store, query) == [("working", "longterm", "0.4", None)]
    assert ask(store, "SELECT ring FROM memory.memories WHERE id = %s", uid("m")) == [("longterm",)]
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    assert digest(store, SLUG) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memory.memories SET state = 'quarantined' WHERE id = %s",
        "UPDATE memory.memories SET ring = 'practice' WHERE id = %s",
        "UPDATE memory.memories SET invalidated_at = now() WHERE id = %s",
    ],
)
def test_a_memory_that_changed_since_is_not_promoted(store: Store, change: str) -> None:
    """It was quarantined, moved or retired between plan and apply."""
    namespace = remember(store, SLUG, memories=[{"id": "m", "kind": "episodic"}])
    planned = items(promote(export_snapshot(store, SLUG, model=MODEL), [Promotion(uid("m"), "longterm", {})]))
    ask(store, change, uid("m"))
    with store.connect("applier") as connection, connection.transaction():
        assert apply_items(connection, namespace, str(uuid.uuid4()), planned).keys() == {planned[0].id}
    assert ask(store, "SELECT * FROM memory.promotions") == []


def test_a_memory_that_another_plan_promoted_is_not_promoted_again(store: Store) -> None:
    """Two plans of two nights propose it where it is: its ring does not tell, the promotion that stands does."""
    namespace = remember(store, SLUG, memories=[{"id": "m", "kind": "episodic", "ring": "practice"}])
    snapshot = export_snapshot(store, SLUG, model=MODEL)
    for score, stale in ((0.4, False), (0.5, True)):
        planned = items(promote(snapshot, [Promotion(uid("m"), "practice", {"score": score})]))
        with store.connect("applier") as connection, connection.transaction():
            assert bool(apply_items(connection, namespace, str(uuid.uuid4()), planned)) is stale
    assert ask(store, "SELECT scores ->> 'score' FROM memory.promotions") == [("0.4",)]


def test_a_revocation_closes_the_promotion_and_gives_the_ring_back() -> None:
    """Two steps up, both revoked: back to the first ring, in one item."""
    snapshot = make_snapshot(
        memories=[memory("m", ring="shared"), memory("moved", ring="shocks")],
        promotions=[
            {"id": uid(1), "memory_id": uid("m"), "from_ring": "working", "to_ring": "longterm", "scores": {},
             "recorded_at": TAKEN_AT - timedelta(days=2)},
            {"id": uid(2), "memory_id": uid("m"), "from_ring": "longterm", "to_ring": "shared", "scores": {},
             "recorded_at": TAKEN_AT - timedelta(days=1)},
            {"id": uid(3), "memory_id": uid("moved"), "from_ring": "working", "to_ring": "longterm", "scores": {}},
        ],
    )  # fmt: skip
    mutations = revoke(snapshot, [uid(n) for n in (1, 2, 3)])
    assert {m.rows[0].external_id for m in mutations} == {"m", "moved"}
    after = simulate(snapshot, items(mutations))
    assert rings(after) == {"m": "working", "moved": "shocks"}, "a memory that has left that ring stays where it is"
    assert len(after.live("promotions")) == 0
    with pytest.raises(Refused, match="revoked already"):
        revoke(after, [uid(1)])


def test_what_is_retired_or_named_twice_is_refused() -> None:
    """A planner's mistake stops at plan time."""
    snapshot = make_snapshot(memories=[memory("m"), memory("gone", state="archived")])
    with pytest.raises(Refused, match="is retired"):
        promote(snapshot, [Promotion(uid("gone"), "longterm", {})])
    with pytest.raises(Refused, match="promoted twice"):
        promote(snapshot, [Promotion(uid("m"), "longterm", {})] * 2)
    assert (promote(snapshot, []), revoke(snapshot, [])) == ([], [])
