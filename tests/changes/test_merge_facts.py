"""A merge of facts, spelled out, and its three promises on the real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Write
from slowwave.changes.merges import Alike, merge_facts
from slowwave.changes.mutation import Mutation
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused, SnapshotError
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.rows import live_facts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.worlds import MODEL, World, assert_same, few, load_world, telling_worlds

KEEP, GONE, OTHER = uid("keep"), uid("gone"), uid("other")
MAY = datetime(2025, 5, 1, tzinfo=UTC)


def fact(name: str, **more: object) -> dict[str, object]:
    return {"id": uid(name), "subject": "Ann", "predicate": "uses", "object": "vim", **more}


def world(**keep: object) -> Snapshot:
    """Two facts that say the same; the chunk c9 is gone."""
    return make_snapshot(
        chunks=[{"id": uid("c1"), "content": "1"}, {"id": uid("c2"), "content": "2"}],
        memory_facts=[
            fact("keep", **{"source_chunk_ids": [uid("c9"), uid("c1")], "confidence": 0.8, "valid_from": MAY, **keep}),
            fact("gone", source_chunk_ids=[uid("c1"), uid("c2")], confidence=0.9, valid_from=MAY - timedelta(days=3)),
            fact("other"),
        ],
    )


def cells(mutation: Mutation, row: str) -> dict[str, Write]:
    return {w.cell.column: w for w in mutation.writes if w.cell.row == row}


def test_the_survivor_takes_sources_confidence_and_start() -> None:
    """Sources as a cleaned union in the survivor's order; what it says is guarded and never written."""
    (merge,) = merge_facts(world(external_id="17"), [Alike(KEEP, (GONE,))])
    assert {c: w.value for c, w in cells(merge, KEEP).items()} == {
        "source_chunk_ids": (uid("c1"), uid("c2")),
        "confidence": 0.9,
        "valid_from": "2025-04-28T00:00:00.000000+00:00",
    }
    guarded = {c.column for c, _ in merge.seen() if c.row == KEEP}
    assert {"subject", "predicate", "object", "fact_text", "is_active", "invalidated_at", "valid_to"} <= guarded
    assert merge.keep is not None
    assert (merge.keep.external_id, [r.id for r in merge.absorb]) == ("17", [GONE])


def test_the_absorbed_fact_is_inactive_invalidated_and_names_the_survivor() -> None:
    """In system time only: the world did not change, so ``valid_to`` is never written."""
    (merge,) = merge_facts(world(), [Alike(KEEP, (GONE,))])
    assert {c: (w.action, w.value) for c, w in cells(merge, GONE).items()} == {
        "is_active": ("set", False),
        "superseded_by": ("set", KEEP),
        "invalidated_at": ("now", None),
        "invalidated_by": ("item", None),
    }
    seen = {c.column for c, _ in merge.seen() if c.row == GONE}
    assert {"subject", "predicate", "object", "source_chunk_ids", "confidence", "valid_from"} <= seen


def test_a_fact_without_a_start_holds_since_ever_and_so_does_what_absorbs_it() -> None:
    """No start is the earliest of all."""
    (merge,) = merge_facts(world(), [Alike(KEEP, (OTHER,))])
    assert cells(merge, KEEP)["valid_from"].value is None
    (other,) = merge_facts(world(), [Alike(OTHER, (KEEP,))])
    assert "valid_from" not in cells(other, OTHER)


@pytest.mark.parametrize(
    ("merges", "sentence"),
    [
        ([Alike(KEEP, (GONE,)), Alike(OTHER, (GONE,))], "stands in two merges"),
        ([Alike(KEEP, ())], "absorbs nothing"),
        ([Alike(uid("nobody"), (GONE,))], "is not in snapshot"),
    ],
)
def test_impossible_merges_are_refused(merges: list[Alike], sentence: str) -> None:
    """In words, before anything is planned."""
    with pytest.raises((Refused, SnapshotError), match=sentence):
        merge_facts(world(), merges)


@pytest.mark.parametrize("retired", [{"is_active": False}, {"invalidated_at": TAKEN_AT}])
def test_a_retired_fact_is_not_merged_again(retired: dict[str, object]) -> None:
    """Whichever way it was retired."""
    with pytest.raises(Refused, match="already retired"):
        merge_facts(world(**retired), [Alike(KEEP, (GONE,))])


def merges(snapshot: Snapshot, _world: World, r: Random) -> list[Mutation]:
    """Live facts in random disjoint groups."""
    live = live_facts(snapshot)["id"].to_pylist()
    r.shuffle(live)
    groups: list[Alike] = []
    while len(live) >= 2:
        take = [live.pop() for _ in range(min(len(live), r.choice([2, 2, 3])))]
        groups.append(Alike(take[0], tuple(take[1:])))
    return merge_facts(snapshot, groups)


@few
@given(world=telling_worlds(), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """export(apply(db)) = simulate(export(db)); apply twice = apply once; digest(undo(apply(db))) = digest(db)."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, merges, r)
    run, stale = apply(store, world, items)
    assert stale == {}
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
    once = digest(store, world.slug)
    _, stale = apply(store, world, items)
    assert stale.keys() == {i.id for i in items}, "what was applied is stale for a second apply"
    assert digest(store, world.slug) == once
    undo(store, world, run)
    assert digest(store, world.slug) == before
    assert undo(store, world, run)[1] == ()


@few
@given(world=telling_worlds(), r=st.randoms(use_true_random=False))
def test_any_subset_in_any_order_commutes(store: Store, world: World, r: Random) -> None:
    """Every subset applies one by one in any order, and comes back in any order."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, merges, r)
    chosen: list[Item] = [i for i in items if r.random() < 0.7]
    r.shuffle(chosen)
    runs = [apply(store, world, [i]) for i in chosen]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, chosen), chosen)
    r.shuffle(runs)
    for run, _ in runs:
        undo(store, world, run)
    assert digest(store, world.slug) == before
