"""What an agent could recall at an earlier instant, whatever nights did since."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from slowwave.changes.apply import apply_items
from slowwave.changes.merges import Consolidation, consolidate_memories
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import NewVersion, new_versions, set_columns
from slowwave.changes.undo import undo_entries
from slowwave.plans.items import Item
from slowwave.search.rows import searched_rows
from slowwave.snapshots.export import export_snapshot
from slowwave.store.as_of import memories_as_of
from slowwave.store.connect import Store
from tests.memories import MODEL, ask, remember
from tests.snapshots import uid
from tests.waiting import until

SLUG = "then"
NAMES = ("archived", "merged", "quarantined", "said", "kept")


def before(store: Store) -> tuple[str, datetime]:
    """Five memories, and an instant after they were recorded."""
    namespace = remember(
        store,
        SLUG,
        memories=[{"id": n, "kind": "episodic", "current_version_id": f"v {n}"} for n in NAMES],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": f"The {n} one."} for n in NAMES],
    )
    ask(store, "UPDATE memory.memories SET recorded_at = now() - interval '1 day'")
    return namespace, clock(store)


def night(store: Store, namespace: str) -> str:
    """One memory of each fate; returns the run."""
    snapshot = export_snapshot(store, SLUG, model=MODEL)
    states = {uid("archived"): {"state": "archived"}, uid("quarantined"): {"state": "quarantined"}}
    mutations: Sequence[Mutation] = [
        *set_columns(snapshot, "set_state", "memories", states),
        *consolidate_memories(snapshot, [Consolidation("In short.", (uid("merged"),))]),
        *new_versions(snapshot, [NewVersion(uid("said"), "In other words.", "test")]),
    ]
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        assert apply_items(connection, namespace, run, [Item("test", "change", m) for m in mutations]) == {}
    return run


def texts(store: Store, namespace: str, at: datetime) -> set[str]:
    with store.connect("reader") as connection:
        return {m.text for m in memories_as_of(connection, namespace, at)}


def test_what_left_recall_is_there_at_an_earlier_time(store: Store) -> None:
    """Archived, merged and quarantined memories do not come back from recall; asked for an earlier instant they do, as they were."""
    namespace, then = before(store)
    run = night(store, namespace)
    now = clock(store)
    assert texts(store, namespace, then) == {f"The {n} one." for n in NAMES}
    assert texts(store, namespace, now) == {"The kept one.", "In other words.", "In short."}
    found = searched_rows(export_snapshot(store, SLUG, model=MODEL)).texts.to_pylist()
    assert sorted(found) == ["In other words.", "In short.", "The kept one."]
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run)
    assert texts(store, namespace, clock(store)) == texts(store, namespace, then)
    assert "The archived one." not in texts(store, namespace, now)


def test_nothing_is_there_before_it_was_recorded(store: Store) -> None:
    """And a memory that ended in the world is not shown after its end."""
    namespace, then = before(store)
    assert texts(store, namespace, then - timedelta(days=2)) == set()
    ask(store, "UPDATE memory.memories SET valid_to = now() - interval '1 hour' WHERE id = %s", uid("kept"))
    assert "The kept one." not in texts(store, namespace, then)
    assert "The kept one." in texts(store, namespace, then - timedelta(hours=2))


def clock(store: Store) -> datetime:
    """An instant of the database between two of its transactions."""
    ((at,),) = ask(store, "SELECT clock_timestamp()")
    until(lambda: ask(store, "SELECT 1 WHERE clock_timestamp() > %s", at))
    assert isinstance(at, datetime)
    return at.astimezone(UTC)
