"""A memory says something else: the version before stays, and what the plan saw has to stand."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import numpy as np
import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.cells import Insert, Write, canonical_json, inserted_id
from slowwave.changes.merges import Consolidation, consolidate_memories
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.rows import NewVersion, new_versions
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.errors import Refused, UndoBlocked
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ask, remember, unit
from tests.snapshots import uid

SLUG = "reworded"


def memory(store: Store) -> str:
    """Two memories of one author, the first with a vector."""
    return remember(
        store,
        SLUG,
        memories=[
            {"id": "m", "kind": "episodic", "current_version_id": "v", "access_count": 2, "tags": ["a"]},
            {"id": "n", "kind": "episodic", "current_version_id": "w", "access_count": 3},
        ],
        memory_versions=[
            {"id": "v", "memory_id": "m", "content": "We met yesterday."},
            {"id": "w", "memory_id": "n", "content": "It rained."},
        ],
        memory_vectors=[{"id": "m", "vector": unit(1)}],
    )


def snapshot_of(store: Store) -> Snapshot:
    return export_snapshot(store, SLUG, model=MODEL)


def carry(mutations: Sequence[Mutation]) -> list[Item]:
    return [Item("test", "change", m) for m in mutations]


def apply(store: Store, namespace: str, items: Sequence[Item]) -> tuple[str, dict[str, str]]:
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        return run, apply_items(connection, namespace, run, items)


def undo(store: Store, namespace: str, run: str) -> None:
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run)


def test_the_old_text_stays_and_the_new_one_is_said(store: Store) -> None:
    """The memory points at a second version with its reason; the vector is that of the new text."""
    namespace = memory(store)
    before = digest(store, SLUG)
    change = NewVersion(uid("m"), "We met on 2026-04-14.", "absolutize_dates", attributes={"k": 1})
    items = carry(new_versions(snapshot_of(store), [change], np.asarray([unit(0, 1)], np.float32)))
    run, stale = apply(store, namespace, items)
    assert stale == {}
    assert ask(
        store,
        "SELECT v.ordinal, v.content, v.reason, m.current_version_id = v.id, v.recorded_by::text, m.attributes FROM memory.memories m "
        "JOIN memory.memory_versions v ON v.memory_id = m.id WHERE m.id = %s ORDER BY v.ordinal",
        uid("m"),
    ) == [
        (1, "We met yesterday.", "import", False, None, {"k": 1}),
        (2, "We met on 2026-04-14.", "absolutize_dates", True, items[0].id, {"k": 1}),
    ]
    vectors = snapshot_of(store).vectors["memory_vectors"]
    assert vectors.matrix[0][:2].tolist() == [0, 1]
    undo(store, namespace, run)
    assert digest(store, SLUG) == before


def test_a_memory_that_its_agent_rewrote_is_left_alone(store: Store) -> None:
    """The version that the plan saw is no longer current: the item is stale, and the agent's text stands."""
    namespace = memory(store)
    items = carry(new_versions(snapshot_of(store), [NewVersion(uid("m"), "Shorter.", "decay:summary")]))
    ask(
        store,
        "INSERT INTO memory.memory_versions (id, namespace_id, memory_id, ordinal, content) VALUES (%s, %s, %s, 2, 'Mine.')",
        *(uid("mine"), namespace, uid("m")),
    )
    ask(store, "UPDATE memory.memories SET current_version_id = %s WHERE id = %s", uid("mine"), uid("m"))
    _, stale = apply(store, namespace, items)
    assert "current_version_id" in stale[items[0].id]


@pytest.mark.parametrize(
    "changed",
    [
        "invalidated_at = now()",
        "state = 'archived'",
        "stage = 'essence'",
        "pinned = true",
        """attributes = '{"a": 1}'""",
    ],
)
def test_a_memory_that_is_no_longer_as_the_plan_saw_it_is_left_alone(store: Store, changed: str) -> None:
    """Retired, archived, told shorter or pinned since, or with attributes that a redaction would have replaced."""
    namespace = memory(store)
    version = NewVersion(uid("m"), "We met on 3 May.", "dates", rests_on=("attributes",))
    items = carry(new_versions(snapshot_of(store), [version]))
    ask(store, f"UPDATE memory.memories SET {changed} WHERE id = '{uid('m')}'")
    _, stale = apply(store, namespace, items)
    assert set(stale) == {items[0].id}


def resting(store: Store, text: str) -> tuple[Item, Item]:
    """An item that rests on what the first memory tells, and one that gives that another text."""
    snapshot = snapshot_of(store)
    changes = (
        NewVersion(uid("n"), "It rained (before 2026-05-01).", "marks", because=(uid("m"),)),
        NewVersion(uid("m"), text, "dates"),
    )
    one, other = (Item("test", "change", new_versions(snapshot, [c])[0]) for c in changes)
    return one, other


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_only_written_beside_leaves_standing_what_rests_on_it(store: Store, first: int) -> None:
    """A date and a mark: both are in one plan, apply in either order, and come back in either order."""
    namespace = memory(store)
    before = digest(store, SLUG)
    items = resting(store, "We met yesterday (2026-05-02) (until 2026-05-03: “We met on Sunday”).")
    header = Header(namespace, SLUG, "s", "f")
    assert seal(header, items, permits()).deferred == {}
    runs = [apply(store, namespace, [item]) for item in (items[first], items[1 - first])]
    assert [stale for _, stale in runs] == [{}, {}]
    for run, _ in runs:
        undo(store, namespace, run)
    assert digest(store, SLUG) == before


def test_what_tells_something_else_does_not(store: Store) -> None:
    """They conflict in a plan; whoever rewords it in between leaves the other one stale."""
    namespace = memory(store)
    one, other = resting(store, "We met on Sunday (2026-05-03).")
    assert len(seal(Header(namespace, SLUG, "s", "f"), [one, other], permits()).deferred) == 1
    assert apply(store, namespace, [other])[1] == {}
    assert apply(store, namespace, [one])[1] == {one.id: f"Memory {uid('m')} no longer tells what the plan saw."}


def test_two_that_write_beside_one_memory_conflict(store: Store) -> None:
    """Each would be written over the other."""
    namespace = memory(store)
    snapshot = snapshot_of(store)
    texts = ("We met yesterday (2026-05-02).", "We met yesterday (until 2026-05-03).")
    items = [Item("test", "change", new_versions(snapshot, [NewVersion(uid("m"), text, "dates")])[0]) for text in texts]
    assert len(seal(Header(namespace, SLUG, "s", "f"), items, permits()).deferred) == 1


def test_undo_does_not_take_away_what_the_agent_said_since(store: Store) -> None:
    """A later version stands on the one that would go."""
    namespace = memory(store)
    run, _ = apply(
        store, namespace, carry(new_versions(snapshot_of(store), [NewVersion(uid("m"), "Shorter.", "decay:summary")]))
    )
    ask(
        store,
        "INSERT INTO memory.memory_versions (id, namespace_id, memory_id, ordinal, content) VALUES (%s, %s, %s, 3, 'Mine.')",
        *(uid("mine"), namespace, uid("m")),
    )
    ask(store, "UPDATE memory.memories SET current_version_id = %s WHERE id = %s", uid("mine"), uid("m"))
    with pytest.raises(UndoBlocked, match=r"memories\.current_version_id"):
        undo(store, namespace, run)


def test_a_summary_stands_for_those_it_cites(store: Store) -> None:
    """The sources are merged into the new row, which takes their counts; recalls of it since then do not stand in the way of undo."""
    namespace = memory(store)
    before = digest(store, SLUG)
    snapshot = snapshot_of(store)
    wanted = Consolidation(
        "We met, and it rained.", (uid("m"), uid("n")), {"importance": 0.9}, np.asarray(unit(0, 0, 1))
    )
    items = carry(consolidate_memories(snapshot, [wanted]))
    new = inserted_id(items[0].id, 0)
    after = simulate(snapshot, items)
    assert {r["id"]: r["merged_into"] for r in after.table("memories").to_pylist()} == {
        uid("m"): new,
        uid("n"): new,
        new: None,
    }
    run, stale = apply(store, namespace, items)
    assert stale == {}
    assert ask(store, "SELECT kind, access_count, importance, state FROM memory.memories WHERE id = %s", new) == [
        ("summary", 5, 0.9, "active")
    ]
    assert ask(store, "SELECT count(*) FROM memory.memory_vectors WHERE id = %s", new) == [(1,)]
    ask(
        store, "UPDATE memory.memories SET access_count = access_count + 4, last_accessed_at = now() WHERE id = %s", new
    )
    undo(store, namespace, run)
    assert digest(store, SLUG) == before


@pytest.mark.parametrize(
    "forge",
    [
        lambda m: Mutation(m.kind, m.table, writes=(Write(m.writes[0].cell, "row", None, 7),), inserts=m.inserts),
        lambda m: Mutation(m.kind, m.table, inserts=(Insert("memory_versions", {}, refs={"memory_id": 0}),)),
        lambda m: Mutation(m.kind, m.table, inserts=(Insert("memory_versions", {}, refs={"content": 0}),)),
    ],
)
def test_an_item_points_at_rows_of_its_own_alone(store: Store, forge: object) -> None:
    """A forged number of a row that is not there, of another table, or in a column that names no row."""
    memory(store)
    (honest,) = new_versions(snapshot_of(store), [NewVersion(uid("m"), "x", "test")])
    assert callable(forge)
    with pytest.raises(Refused, match="does not insert"):
        check(forge(honest))


def test_it_is_read_back_as_it_was_sealed(store: Store) -> None:
    """Numbers of own rows survive the plan's JSON, and with them the item's id."""
    memory(store)
    wanted = Consolidation("Both.", (uid("m"), uid("n")), vector=np.asarray(unit(1)))
    for item in carry(consolidate_memories(snapshot_of(store), [wanted])):
        again = Item.from_json(item.to_json())
        assert again.id == item.id
        assert canonical_json(again.mutation.to_json()) == canonical_json(item.mutation.to_json())


def test_retired_and_repeated_memories_are_refused(store: Store) -> None:
    """One text a memory and night, and none for a memory that is gone."""
    memory(store)
    snapshot = snapshot_of(store)
    with pytest.raises(Refused, match="two new versions"):
        new_versions(snapshot, [NewVersion(uid("m"), "a", "test"), NewVersion(uid("m"), "b", "test")])
    with pytest.raises(Refused, match="cited by two"):
        consolidate_memories(snapshot, [Consolidation("a", (uid("m"),)), Consolidation("b", (uid("m"),))])
    ask(store, "UPDATE memory.memories SET invalidated_at = now() WHERE id = %s", uid("m"))
    with pytest.raises(Refused, match="retired"):
        new_versions(snapshot_of(store), [NewVersion(uid("m"), "a", "test")])
