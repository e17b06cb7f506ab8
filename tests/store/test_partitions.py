"""Partitions of recall events are there before they are needed."""

from __future__ import annotations

from slowwave.store.connect import Store
from slowwave.store.migrate import make_partitions_ahead
from tests.memories import ask


def _there(store: Store) -> int:
    ((found,),) = ask(store, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'memory.recall_events'::regclass")
    return int(str(found))


def test_partitions_are_made_once(store: Store) -> None:
    """A migrated store has four months and the default; one that was dropped comes back, with the events that came meanwhile."""
    assert _there(store) == 5
    make_partitions_ahead(store)
    assert _there(store) == 5
    ask(
        store,
        "DO $$ BEGIN EXECUTE 'DROP TABLE memory.recall_events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'); END $$",
    )
    ask(store, "INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'acme')")
    ask(
        store,
        "INSERT INTO memory.recall_events (id, namespace_id, occurred_at, query) "
        "SELECT gen_random_uuid(), id, now(), 'q' FROM memory.namespaces",
    )
    make_partitions_ahead(store)
    assert ask(store, "SELECT count(*) FROM memory.recall_events_default") == [(0,)]
    assert ask(store, "SELECT count(*) FROM memory.recall_events") == [(1,)]


def test_a_reader_of_events_is_not_waited_for(store: Store) -> None:
    """A long export holds its locks; the partitions are made another day."""
    ask(
        store,
        "DO $$ BEGIN EXECUTE 'DROP TABLE memory.recall_events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'); END $$",
    )
    with store.connect("reader") as connection, connection.transaction():
        connection.execute("SELECT count(*) FROM memory.recall_events")
        make_partitions_ahead(store)
        assert _there(store) == 4
    make_partitions_ahead(store)
    assert _there(store) == 5
