"""Rows that lose a conflict, spelled out, and the three promises on the real database."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Loss, lose_conflict
from slowwave.changes.simulate import simulate
from slowwave.plans.questions import SAID
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.worlds import MODEL, World, assert_same, few, load_world, worlds

RIGHT, WRONG, COPY = uid("right"), uid("wrong"), uid("copy")


def fact(name: str, days: float | None, object_: str) -> dict[str, object]:
    began = {} if days is None else {"valid_from": TAKEN_AT - timedelta(days=days)}
    return {
        "id": uid(name),
        "external_id": name,
        "subject": "Mara",
        "predicate": "lives in",
        "object": object_,
        **began,
    }


def world(right: float | None, wrong: float | None) -> Snapshot:
    return make_snapshot(
        memory_facts=[fact("right", right, "Lisbon"), fact("wrong", wrong, "Porto"), fact("copy", wrong, "Porto")]
    )


def ends(mutation: Mutation, row: str) -> tuple[str, object]:
    return next((w.action, w.value) for w in mutation.writes if w.cell.row == row and w.cell.column == "valid_to")


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (10, 90, ("set", "2026-02-19T03:00:00.000000+00:00")),
        (10, None, ("set", "2026-02-19T03:00:00.000000+00:00")),
        (90, 10, ("now", None)),
        (10, 10, ("now", None)),
        (None, 10, ("now", None)),
    ],
)
def test_a_loser_ends_where_the_winner_begins(
    right: float | None, wrong: float | None, expected: tuple[str, object]
) -> None:
    """When that is known and after its own beginning; else when it is applied."""
    (mutation,) = lose_conflict(world(right, wrong), "memory_facts", [Loss(RIGHT, (WRONG,), SAID["memory_facts"])])
    assert ends(mutation, WRONG) == expected


def test_all_copies_lose_to_one_winner_and_name_it() -> None:
    """The winner is guarded and never written; a loser's cell is written or guarded, never both."""
    (mutation,) = lose_conflict(world(10, 90), "memory_facts", [Loss(RIGHT, (WRONG, COPY), SAID["memory_facts"])])
    assert {w.cell.row for w in mutation.writes} == {WRONG, COPY}
    assert {w.value for w in mutation.writes if w.cell.column == "superseded_by"} == {RIGHT}
    assert {r.external_id for r in mutation.rows} == {"wrong", "copy"}
    assert {c.column for c, _ in mutation.seen() if c.row == RIGHT} >= {"invalidated_at", "valid_to", "object"}
    assert not {w.cell for w in mutation.writes} & {c for c, _ in mutation.seen()}


def losses(snapshot: Snapshot, _: World, r: Random) -> list[Mutation]:
    """One row of a table wins over some others, whatever they say."""
    found: list[Mutation] = []
    for table, said in SAID.items():
        ids = snapshot.table(table)["id"].to_pylist()
        r.shuffle(ids)
        if len(ids) > 1:
            found += lose_conflict(snapshot, table, [Loss(ids[0], tuple(ids[1 : 1 + r.randint(1, 2)]), said)])
    return found


@few
@given(world=worlds(), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """export(apply(db)) = simulate(export(db)); a second apply is stale; digest(undo(apply(db))) = digest(db)."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, losses, r)
    run, stale = apply(store, world, items)
    assert stale == {}
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
    once = digest(store, world.slug)
    assert apply(store, world, items)[1].keys() == {i.id for i in items}
    assert digest(store, world.slug) == once
    undo(store, world, run)
    assert digest(store, world.slug) == before


@pytest.mark.parametrize("change", ["object = 'Faro'", "invalidated_at = now()", "valid_to = now()"])
def test_a_winner_that_changed_makes_the_item_stale(store: Store, change: str) -> None:
    """Nobody loses to a row that says something else by now, or is gone."""
    load_world(store, small := World("w", uid("w"), {"memory_facts": _rows()}))
    snapshot, items = plan(
        store,
        small,
        lambda s, *_: lose_conflict(s, "memory_facts", [Loss(RIGHT, (WRONG,), SAID["memory_facts"])]),
        Random(1),
    )
    with store.connect("owner") as connection:
        connection.execute(f"UPDATE memory.memory_facts SET {change} WHERE id = %s".encode(), (RIGHT,))
    before = digest(store, "w")
    assert apply(store, small, items)[1].keys() == {items[0].id}
    assert digest(store, "w") == before
    del snapshot


def _rows() -> list[dict[str, object]]:
    return [
        {"namespace_id": uid("w"), **fact(n, d, o)} for n, d, o in (("right", 10, "Lisbon"), ("wrong", 90, "Porto"))
    ]


def test_both_sides_end_when_neither_is_right() -> None:
    """They end when the item is applied, nothing succeeds them, and no other row is guarded."""
    (mutation,) = lose_conflict(world(10, 90), "memory_facts", [Loss("", (RIGHT, WRONG), SAID["memory_facts"])])
    assert {row.id for row in mutation.rows} == {RIGHT, WRONG} == {g.row for g in mutation.guards}
    assert [ends(mutation, row) for row in (RIGHT, WRONG)] == [("now", None)] * 2
    assert {w.value for w in mutation.writes if w.cell.column == "superseded_by"} == {None}
