"""A merge of memories, spelled out, and its three promises on the real database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Write
from slowwave.changes.merges import Alike, merge_memories
from slowwave.changes.mutation import Mutation
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused, SnapshotError
from slowwave.plans.items import Item
from slowwave.search.rows import searched_table
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.worlds import MODEL, World, assert_same, few, load_world, telling_worlds

KEEP, GONE, OTHER = uid("keep"), uid("gone"), uid("other")
MAY = datetime(2025, 5, 1, tzinfo=UTC)


def world(**keep: object) -> Snapshot:
    """Two memories of one event; the chunk c9 is gone."""
    return make_snapshot(
        chunks=[{"id": uid("c1"), "content": "1"}, {"id": uid("c2"), "content": "2"}],
        documents=[{"id": uid("d1"), "content": "d"}],
        memories=[
            {
                **{"id": KEEP, "kind": "event", "tags": ["a"], "importance": 0.4, "confidence": 0.9, "valid_from": MAY},
                **{"access_count": 5, "source_chunk_ids": [uid("c9"), uid("c1")], **keep},
            },
            {
                **{
                    "id": GONE,
                    "kind": "event",
                    "tags": ["b", "a"],
                    "importance": 0.6,
                    "confidence": 0.7,
                    "pinned": True,
                },
                **{"valid_from": MAY - timedelta(days=2), "access_count": 3, "reinforcement_count": 1},
                **{"source_chunk_ids": [uid("c2")], "source_document_ids": [uid("d1")]},
            },
            {"id": OTHER, "kind": "event"},
        ],
    )


def cells(mutation: Mutation, row: str) -> dict[str, Write]:
    return {w.cell.column: w for w in mutation.writes if w.cell.row == row}


def test_the_survivor_takes_tags_sources_counts_and_the_earliest_start() -> None:
    """Its text stays: the version is guarded and never written."""
    (merge,) = merge_memories(world(), [Alike(KEEP, (GONE,))])
    wrote = cells(merge, KEEP)
    assert json.loads(str(wrote["tags"].value)) == ["a", "b"]
    assert {c: w.value for c, w in wrote.items() if c != "tags"} == {
        "importance": 0.6,
        "pinned": True,
        "source_chunk_ids": (uid("c1"), uid("c2")),
        "source_document_ids": (uid("d1"),),
        "valid_from": "2025-04-29T00:00:00.000000+00:00",
        "access_count": 3,
        "reinforcement_count": 1,
    }
    assert {w.action for c, w in wrote.items() if c.endswith("_count")} == {"add"}
    guarded = {c.column for c, _ in merge.seen() if c.row == KEEP}
    assert {"current_version_id", "confidence", "state", "merged_into", "invalidated_at", "subject"} <= guarded


def test_the_absorbed_memory_points_at_the_survivor_and_keeps_its_sources() -> None:
    """khora asserts that the chunk of an event never changes; neither do sources, text and end of ours."""
    (merge,) = merge_memories(world(), [Alike(KEEP, (GONE,))])
    assert {c: (w.action, w.value) for c, w in cells(merge, GONE).items()} == {
        "state": ("set", "merged"),
        "merged_into": ("set", KEEP),
        "invalidated_at": ("now", None),
        "invalidated_by": ("item", None),
        "access_count": ("add", -3),
        "reinforcement_count": ("add", -1),
    }


def test_tags_that_are_all_known_are_not_written_again() -> None:
    """The survivor's own text of its tags stays."""
    (merge,) = merge_memories(world(tags=["b", "a", "c"]), [Alike(KEEP, (GONE,))])
    assert "tags" not in cells(merge, KEEP)


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
        merge_memories(world(), merges)


@pytest.mark.parametrize("retired", [{"state": "archived"}, {"invalidated_at": TAKEN_AT}])
def test_a_retired_memory_is_not_merged(retired: dict[str, object]) -> None:
    """An archived one may come back: it is not live, and not to be merged away either."""
    with pytest.raises(Refused, match="already retired"):
        merge_memories(world(**retired), [Alike(KEEP, (GONE,))])


def merges(snapshot: Snapshot, _world: World, r: Random) -> list[Mutation]:
    """Live memories in random disjoint groups."""
    live = searched_table(snapshot, "memories", ("id",))["id"].to_pylist()
    r.shuffle(live)
    groups: list[Alike] = []
    while len(live) >= 2:
        take = [live.pop() for _ in range(min(len(live), r.choice([2, 2, 3])))]
        groups.append(Alike(take[0], tuple(take[1:])))
    return merge_memories(snapshot, groups)


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


@few
@given(world=telling_worlds(), r=st.randoms(use_true_random=False))
def test_recalls_between_plan_and_apply_are_kept(store: Store, world: World, r: Random) -> None:
    """Counters are deltas: what is counted in between survives apply and undo, and stales nothing."""
    load_world(store, world)
    _, items = plan(store, world, merges, r)

    def total() -> int:
        table = export_snapshot(store, world.slug, model=MODEL).table("memories")
        return sum(table["access_count"].to_pylist())

    counted = total()
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.memories SET access_count = access_count + 5 WHERE namespace_id = %s", (world.namespace_id,)
        )
    recalled = counted + 5 * len(world.rows["memories"])
    run, stale = apply(store, world, items)
    assert stale == {}
    assert total() == recalled
    undo(store, world, run)
    assert total() == recalled
