"""A fact that a later one replaced ends in the world; its promises on the real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Supersession, supersede_facts
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.rows import live_facts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.worlds import MODEL, World, assert_same, few, load_world, telling_worlds

MAY = datetime(2025, 5, 1, tzinfo=UTC)


def moves(**more: object) -> Snapshot:
    """Ann lived in Oslo, then in Bergen, then in Rome; ``more`` is about Bergen."""
    cities = ("Oslo", "Bergen", "Rome")
    return make_snapshot(
        memory_facts=[
            {
                **{"id": uid(city), "subject": "Ann", "predicate": "lives in", "object": city},
                **{"valid_from": MAY + timedelta(days=30 * n), **(more if city == "Bergen" else {})},
            }
            for n, city in enumerate(cities)
        ]
    )


def test_the_earlier_fact_ends_in_the_world_and_stays_on_record() -> None:
    """It was true until then, so the system does not take it back: ``invalidated_at`` is guarded, not written."""
    (mutation,) = supersede_facts(moves(), [Supersession(uid("Oslo"), uid("Bergen"))])
    assert {w.cell.column: w.value for w in mutation.writes} == {
        "is_active": False,
        "superseded_by": uid("Bergen"),
        "valid_to": "2025-05-31T00:00:00.000000+00:00",
    }
    assert {w.cell.row for w in mutation.writes} == {uid("Oslo")}
    guarded = {(c.row, c.column) for c, _ in mutation.seen()}
    assert guarded >= {(uid(c), k) for c in ("Oslo", "Bergen") for k in ("object", "valid_from", "invalidated_at")}


def test_a_chain_is_sealed_whole() -> None:
    """Oslo ends at Bergen and Bergen at Rome on one night: what ends the middle fact is not what the first item rests on."""
    pairs = [Supersession(uid("Oslo"), uid("Bergen")), Supersession(uid("Bergen"), uid("Rome"))]
    items = [Item("supersede_facts", "supersede", m) for m in supersede_facts(moves(), pairs)]
    sealed = seal(Header("n", "n", "s", "f"), items, permits())
    assert len(sealed.items) == 2
    after = simulate(moves(), sealed.items)
    assert live_facts(after)["object"].to_pylist() == ["Rome"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"valid_from": MAY}, "does not begin after"),
        ({"valid_from": None}, "does not begin after"),
        ({"valid_from": TAKEN_AT + timedelta(days=1)}, "and before now"),
        ({"invalidated_at": TAKEN_AT}, "already retired"),
    ],
)
def test_what_replaces_nothing_is_refused(more: dict[str, object], sentence: str) -> None:
    """In words, before anything is planned."""
    with pytest.raises(Refused, match=sentence):
        supersede_facts(moves(**more), [Supersession(uid("Oslo"), uid("Bergen"))])


def successions(snapshot: Snapshot, _world: World, r: Random) -> list[Mutation]:
    """Each dated live fact may be ended by a random later one; chains and shared successors come about."""
    rows = [f for f in live_facts(snapshot).to_pylist() if f["valid_from"] is not None]
    pairs = [
        Supersession(a["id"], r.choice(later)["id"])
        for a in rows
        if (later := [b for b in rows if b["valid_from"] > a["valid_from"]]) and r.random() < 0.8
    ]
    return supersede_facts(snapshot, pairs)


@few
@given(world=telling_worlds(), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """export(apply(db)) = simulate(export(db)); apply twice = apply once; digest(undo(apply(db))) = digest(db)."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, successions, r)
    r.shuffle(items)
    parts = [items[n::2] for n in range(2)]
    runs = [apply(store, world, part) for part in parts]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
    once = digest(store, world.slug)
    _, stale = apply(store, world, items)
    assert stale.keys() == {i.id for i in items}, "what was applied is stale for a second apply"
    assert digest(store, world.slug) == once
    r.shuffle(runs)
    for run, _ in runs:
        undo(store, world, run)
    assert digest(store, world.slug) == before
