"""``insert_summary`` on the real database: one summary follows the other without a gap, once, and comes back out exactly."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Cell, Insert, Write, inserted_id
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.rows import Summary, insert_summary
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.nights import new_world
from tests.worlds import MODEL, World, assert_same, few, load_world, worlds

PAYLOADS = [
    {"text": "Zoë knows\nMara.", "claims": [{"text": "…", "cited_entity_ids": ["a"]}], "depth": 1},
    {"text": 'quote " , {brace} \\ back', "n": 0.1, "nothing": None},
    {},
]


def summaries(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """The live communities of the world are shared out among new ones and ends, some of each without any."""
    entities = snapshot.table("entities")["id"].to_pylist()
    old = snapshot.live("communities")["id"].to_pylist()
    made: list[Summary] = []
    while old or not made:
        replaced = tuple(old.pop() for _ in range(min(len(old), r.randrange(3))))
        members = tuple(r.sample(entities, r.randint(1, len(entities)))) if r.random() < 0.8 or not replaced else ()
        made.append(Summary(members, r.choice(PAYLOADS), members[:2], replaced))
    return insert_summary(snapshot, made)


@few
@given(world=worlds(), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """export(apply(db)) = simulate(export(db)); apply twice = apply once; digest(undo(apply(db))) = digest(db)."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, summaries, r)
    run, stale = apply(store, world, items)
    assert stale == {}
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
    once = digest(store, world.slug)
    _, stale = apply(store, world, items)
    assert stale.keys() >= {i.id for i in items if i.mutation.writes}
    assert digest(store, world.slug) == once, "a row that is there is not inserted again"
    undo(store, world, run)
    assert digest(store, world.slug) == before
    assert undo(store, world, run)[1] == ()


def test_one_summary_follows_the_other_in_valid_time(store: Store) -> None:
    """The old row ends where the new one begins, is not invalidated, and stays readable as of an earlier time."""
    world = new_world(store)
    ids = [e["id"] for e in world.rows["entities"] if e["invalidated_at"] is None]
    first = _applied(store, world, Summary(tuple(ids[:3]), PAYLOADS[0], tuple(ids[:1])))
    second = _applied(store, world, Summary(tuple(ids[:4]), {"text": "later"}, tuple(ids[:1]), (first,)))
    rows = {r["id"]: r for r in export_snapshot(store, world.slug, model=MODEL).table("communities").to_pylist()}
    assert rows[first]["valid_to"] == rows[second]["valid_from"] is not None
    assert (rows[first]["invalidated_at"], rows[second]["valid_to"]) == (None, None)
    assert json.loads(rows[first]["payload"]) == PAYLOADS[0]
    assert rows[second]["member_ids"] == sorted(ids[:4])


@pytest.mark.parametrize(
    ("change", "named"),
    [("invalidated_at = now()", r"entities\.invalidated_at"), ("name = 'another'", r"entities\.name")],
)
def test_a_member_that_changed_makes_the_summary_stale(store: Store, change: str, named: str) -> None:
    """A summary that speaks of somebody who was merged or renamed since is not written."""
    world = new_world(store)
    ids = tuple(e["id"] for e in world.rows["entities"] if e["invalidated_at"] is None)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    (mutation,) = insert_summary(snapshot, [Summary(ids[:3], PAYLOADS[0], ids[:1])])
    item = Item("community_summaries", "summarise", mutation)
    with store.connect("owner") as connection:
        connection.execute(f"UPDATE memory.entities SET {change} WHERE id = %s".encode(), (ids[0],))
    _, stale = apply(store, world, [item])
    assert named.replace("\\", "") in stale[item.id]


@pytest.mark.parametrize("renames", [False, True])
def test_a_merge_of_a_member_goes_first(store: Store, renames: bool) -> None:
    """The sealer prefers the merge; the summary is deferred, for it would speak of a row, or by a name, that is gone by then."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    live = snapshot.live("entities")
    (a, b, c), (kept, other, _) = (live[column].to_pylist()[:3] for column in ("id", "name"))
    merge = Item(
        "dedupe_entities", "merge", merge_rows(snapshot, [Merge(a, (b,), name=f"{other} II" if renames else kept)])[0]
    )
    about = [Summary((a, b, c), {}, (a,)), Summary((a, c), {}, (a,))]
    both, without = (Item("community_summaries", "summarise", m) for m in insert_summary(snapshot, about))
    header = Header(world.namespace_id, world.slug, snapshot.snapshot_id, "f")
    sealed = seal(header, [both, without, merge], permits())
    assert {i.id for i in sealed.items} == ({merge.id} if renames else {merge.id, without.id})


def test_a_rejection_remembers_whom_a_summary_was_about(store: Store) -> None:
    """Not its words, nor the night it was planned in: else every night would ask again, and one no would stand for all."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    ids = tuple(snapshot.table("entities")["id"].to_pylist())
    about = [Summary(ids[:3], {"text": "one"}), Summary(ids[:3], {"text": "other"}), Summary(ids[:4], {"text": "one"})]
    subjects = [Item("community_summaries", "summarise", m).subject() for m in insert_summary(snapshot, about)]
    assert subjects[0] == subjects[1] != subjects[2]


def test_the_kind_writes_nothing_else() -> None:
    """A forged item cannot rewrite what a summary said, nor insert an entity."""
    forged = (
        Mutation(
            "insert_summary", "communities", writes=(Write(Cell("communities", "x", "payload"), "set", "{}", "{}"),)
        ),
        Mutation("insert_summary", "communities", inserts=(Insert("entities", {"name": "x"}),)),
    )
    for mutation in forged:
        with pytest.raises(Refused, match="insert_summary may not"):
            check(mutation)


def _applied(store: Store, world: World, summary: Summary) -> str:
    """The id of the new row."""
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    item = Item("community_summaries", "summarise", insert_summary(snapshot, [summary])[0])
    _, stale = apply(store, world, [item])
    assert stale == {}
    return inserted_id(item.id, 0)


def test_equal_items_are_one(store: Store) -> None:
    """Two proposals of the same content have one id: simulated as applied, the row is there once."""
    world = new_world(store)
    ids = tuple(e["id"] for e in world.rows["entities"] if e["invalidated_at"] is None)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    items = [
        Item("test", "change", *insert_summary(snapshot, [Summary(ids[:3], PAYLOADS[0], ids[:1])])) for _ in range(2)
    ]
    assert len({item.id for item in items}) == 1
    apply(store, world, items)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
