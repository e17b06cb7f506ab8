"""Line 6: undo restored forged before-images, and did not notice journal rows that were gone.

Whoever could write to ``night.before_images`` (the applier's login deletes and inserts there) could have undo write any text into
memory as "what stood there before". With a journal row deleted, undo put back the other cells of an item, left that one, and
reported success. Now every entry is held to its hash, to its event in the chain and to the sealed item, and undo refuses by entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from slowwave.changes.rows import purge_rows
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.plans.event_chain import link
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.logins import Connection
from tests.memories import ago, ask, remember
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.snapshots import uid
from tests.worlds import World

_CELL = (
    "SELECT id, table_name, column_name, row_id::text, item_id::text FROM night.journal "
    "WHERE action = 'set' AND column_name = %s LIMIT 1"
)


@pytest.fixture
def applied(store: Store) -> tuple[str, str, str]:
    """A namespace with an applied run: its name, the run, and the digest before it."""
    world = new_world(store)
    before = digest(store, world.slug)
    _, plan = write_a_plan(store, world)
    run = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    return world.slug, run.run_id, before


def unguarded(store: Store, statement: str, *values: object) -> None:
    """As an owner who switches the triggers off."""
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(statement.encode(), values)


def refused(store: Store, slug: str, run: str, *named: str) -> None:
    """The undo is refused with the entry named, and nothing is touched; that of the item alone likewise."""
    before = digest(store, slug)
    with pytest.raises(Refused) as told:
        undo_run(store, run)
    for part in named:
        assert part in str(told.value)
    assert digest(store, slug) == before
    assert ask(
        store, "SELECT count(*) FROM night.journal WHERE undoes IS NOT NULL AND run_id IN (SELECT id FROM night.runs)"
    ) == [(0,)]


def test_a_forged_body_is_refused_and_other_items_come_back(store: Store, applied: tuple[str, str, str]) -> None:
    """By the applier's own login: the body is replaced, the journal keeps the hash of what stood there."""
    slug, run, before = applied
    ((entry, table, column, row, item),) = ask(store, _CELL, "state")
    ((body, after),) = ask(store, "SELECT before, after FROM night.before_images WHERE journal_id = %s", entry)
    with store.connect("applier") as connection:
        connection.execute("DELETE FROM night.before_images WHERE journal_id = %s", (entry,))
        connection.execute(
            "INSERT INTO night.before_images (journal_id, namespace_id, before, after) "
            "SELECT id, namespace_id, 'quarantined', %s FROM night.journal WHERE id = %s",
            (after, entry),
        )
    refused(store, slug, run, str(entry), f"{table}.{column}", str(row), str(item))
    others = ask(
        store, "SELECT DISTINCT item_id::text FROM night.journal WHERE run_id = %s AND item_id <> %s", run, item
    )
    undone = undo_run(store, run, items=[str(i) for (i,) in others])
    assert len(undone.items) == len(others)
    unguarded(store, "UPDATE night.before_images SET before = %s WHERE journal_id = %s", body, entry)
    assert undo_run(store, run).items == (item,)
    assert digest(store, slug) == before


def test_a_body_forged_with_its_hash_is_refused(store: Store, applied: tuple[str, str, str]) -> None:
    """The owner changes image and hash alike: the event of the item no longer fits, nor does what the plan saw."""
    slug, run, _ = applied
    ((entry, table, column, row, _),) = ask(store, _CELL, "state")
    forge(store, entry, "quarantined")
    refused(store, slug, run, str(entry), f"{table}.{column}", str(row))


def test_a_body_forged_with_hash_and_event_is_refused(store: Store, applied: tuple[str, str, str]) -> None:
    """And the whole chain is linked anew: the sealed item, whose id is its content, still says what the plan saw."""
    slug, run, _ = applied
    for text in ("quarantined", "\x01 no state"):
        ((entry, table, column, row, item),) = ask(store, _CELL, "state")
        forge(store, entry, text)
        vouch_anew(store, run, item)
        refused(store, slug, run, str(entry), f"{table}.{column}", str(row))
    ((entry, *_),) = ask(store, _CELL, "invalidated_at")
    forge(store, entry, "no instant at all")
    vouch_anew(store, run, "")
    refused(store, slug, run, str(entry), "invalidated_at")


@pytest.mark.parametrize(
    "which", ["action = 'set'", "action = 'add'", "action = 'insert'", "true"], ids=["cell", "counter", "row", "any"]
)
@pytest.mark.parametrize("linked_anew", [False, True], ids=["event-kept", "event-forged"])
def test_a_deleted_entry_is_noticed(store: Store, applied: tuple[str, str, str], which: str, linked_anew: bool) -> None:
    """Undo said that it took the item back, and left this cell or row as the run wrote it."""
    slug, run, _ = applied
    ((entry, item, row),) = ask(
        store,
        f"SELECT id, item_id::text, row_id::text FROM night.journal WHERE run_id = %s AND {which} ORDER BY id LIMIT 1",
        run,
    )
    unguarded(store, "DELETE FROM night.before_images WHERE journal_id = %s", entry)
    unguarded(store, "DELETE FROM night.journal WHERE id = %s", entry)
    if linked_anew:
        vouch_anew(store, run, item)
    refused(store, slug, run, str(item), *([str(row)] if linked_anew else []))


def test_an_item_without_any_entry_is_noticed(store: Store, applied: tuple[str, str, str]) -> None:
    """All entries of an item are deleted, with its event or without: the run cannot be undone as if it had never touched it."""
    slug, run, _ = applied
    ((_, _, _, _, item),) = ask(store, _CELL, "state")
    unguarded(
        store,
        "DELETE FROM night.before_images WHERE journal_id IN (SELECT id FROM night.journal WHERE item_id = %s)",
        item,
    )
    unguarded(store, "DELETE FROM night.journal WHERE item_id = %s", item)
    refused(store, slug, run, str(item))
    with pytest.raises(Refused, match=str(item)):
        undo_run(store, str(item))
    with pytest.raises(Refused, match=str(item)):
        undo_run(store, run, items=[str(item)])
    unguarded(store, "DELETE FROM night.memory_events WHERE item_id = %s", item)
    refused(store, slug, run, str(item))


def test_an_added_entry_is_noticed(store: Store, applied: tuple[str, str, str]) -> None:
    """The applier's login inserts an entry of an item for a cell that it never wrote, image, hash and all."""
    slug, run, _ = applied
    ((row, item),) = ask(
        store, "SELECT row_id::text, item_id::text FROM night.journal WHERE table_name = 'memories' ORDER BY id LIMIT 1"
    )
    ((ring,),) = ask(store, "SELECT ring FROM memory.memories WHERE id = %s", row)
    with store.connect("applier") as connection:
        added = _insert(connection, run, item, row, "ring", "forged", str(ring), None)
    refused(store, slug, run, str(added), "memories.ring", str(row))


def test_an_entry_that_says_it_was_undone_is_noticed(store: Store, applied: tuple[str, str, str]) -> None:
    """A row that claims to have undone one cell made undo leave that cell out, in silence; one for every cell made it do nothing."""
    slug, run, _ = applied
    ((entry, _, _, row, item),) = ask(store, _CELL, "merged_into")
    with store.connect("applier") as connection:
        _insert(connection, "00000000-0000-4000-8000-000000000001", item, row, "merged_into", None, None, entry)
    refused(store, slug, run, str(item))
    rest = ask(
        store,
        "SELECT id, column_name, row_id::text FROM night.journal WHERE run_id = %s AND item_id = %s AND id <> %s",
        run,
        item,
        entry,
    )
    with store.connect("applier") as connection:
        for other, column, where in rest:
            _insert(connection, "00000000-0000-4000-8000-000000000001", item, where, str(column), None, None, other)
    with pytest.raises(Refused, match=str(item)):
        undo_run(store, run, items=[str(item)])


def test_runs_journalled_by_the_version_before_are_undone_and_verified(
    store: Store, applied: tuple[str, str, str]
) -> None:
    """Their events have the first form of the payload, which passes over nulls; they come back, and a forged one does not."""
    slug, run, before = applied
    vouch_anew(store, run, "", first=True)
    undone = undo_run(store, run)
    assert undone.items
    assert digest(store, slug) == before
    redone = undo_run(store, undone.run_id)
    assert redone.items == undone.items
    after = digest(store, slug)
    ((entry, *_),) = ask(
        store, "SELECT id FROM night.journal WHERE run_id = %s AND action = 'set' LIMIT 1", undone.run_id
    )
    assert after != before
    forge(store, entry, "quarantined")
    with pytest.raises(Refused, match="journal"):
        undo_run(store, undone.run_id)
    assert digest(store, slug) == after


def test_the_image_of_a_purged_row_is_held_to_what_the_plan_saw(store: Store) -> None:
    """Hash, event and chain are forged with it; the sealed item says what it deleted."""
    old = {"recorded_at": ago(600), "invalidated_at": ago(500), "is_active": False}
    remember(
        store, "purged", memory_facts=[{"id": "old", "subject": "port", "predicate": "has", "object": "4 piers", **old}]
    )
    snapshot = export_snapshot(store, "purged")
    (purge,) = purge_rows(snapshot, "memory_facts", [[uid("old")]], retention_days=365)
    world = World("purged", snapshot.namespace_id, {})
    _, plan = write_a_plan(store, world, items=[Item("purge_expired", "purge", purge, risk="high")])
    run = apply_approval(store, approve(store, "purged", plan.plan_hash, approver="mara").id).run_id
    ((entry, item, body),) = ask(
        store,
        "SELECT j.id, j.item_id::text, b.before FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id "
        "WHERE j.action = 'delete' AND j.row_id = %s",
        uid("old"),
    )
    assert "4 piers" in str(body)
    forge(store, entry, str(body).replace("4 piers", "9 piers"))
    vouch_anew(store, run, item)
    refused(store, "purged", run, str(entry), uid("old"))
    forge(store, entry, str(body))
    vouch_anew(store, run, item)
    assert undo_run(store, run).items == (item,)


def forge(store: Store, entry: object, text: str) -> None:
    unguarded(store, "UPDATE night.before_images SET before = %s WHERE journal_id = %s", text, entry)
    hashed = hashlib.sha256(text.encode()).hexdigest()
    unguarded(store, "UPDATE night.journal SET before_hash = %s WHERE id = %s", hashed, entry)


def vouch_anew(store: Store, run: str, item: object, *, first: bool = False) -> None:
    """Payloads of the run's items as the journal is now, and the chain linked again from its beginning."""
    from slowwave.plans import event_chain
    from slowwave.plans import event_chain as events

    payload = getattr(events, "FIRST_PAYLOAD" if first else "PAYLOAD", "'none'")
    rows = ask(store, f"SELECT item_id::text, {payload} FROM night.journal WHERE run_id = %s GROUP BY item_id", run)
    for one, hashed in rows:
        unguarded(
            store,
            "UPDATE night.memory_events SET payload_hash = %s WHERE run_id = %s AND item_id = %s",
            hashed,
            run,
            one,
        )
    previous = event_chain.GENESIS
    for sequence, of, one, event, hashed in ask(
        store,
        "SELECT sequence, run_id::text, item_id::text, event, payload_hash FROM night.memory_events ORDER BY sequence",
    ):
        right = link(previous, int(str(sequence)), str(of), str(one), str(event), str(hashed))
        unguarded(
            store,
            "UPDATE night.memory_events SET previous_hash = %s, hash = %s WHERE sequence = %s",
            previous,
            right,
            sequence,
        )
        previous = right


def _insert(
    connection: Connection,
    run: str,
    item: object,
    row: object,
    column: str,
    before: str | None,
    after: str | None,
    undoes: object,
) -> int:
    hashed: Callable[[str | None], str | None] = lambda t: None if t is None else hashlib.sha256(t.encode()).hexdigest()  # noqa: E731
    found = connection.execute(
        "INSERT INTO night.journal "
        "(namespace_id, run_id, item_id, table_name, row_id, column_name, action, before_hash, after_hash, undoes) "
        "SELECT namespace_id, %s, item_id, CASE WHEN %s = 'ring' THEN 'memories' ELSE table_name END, %s, %s, 'set', %s, %s, %s "
        "FROM night.journal WHERE item_id = %s LIMIT 1 RETURNING id",
        (run, column, row, column, hashed(before), hashed(after), undoes, item),
    ).fetchone()
    assert found is not None
    connection.execute(
        "INSERT INTO night.before_images (journal_id, namespace_id, before, after) "
        "SELECT id, namespace_id, %s, %s FROM night.journal WHERE id = %s",
        (before, after, found[0]),
    )
    return int(str(found[0]))
