"""Stores that are connected, and their namespaces: named safely, entered as they are seen, thousands at once."""

from __future__ import annotations

import re

import psycopg
import pytest

from slowwave.bindings.connect import connect_store, disconnect_store, note_changes
from slowwave.bindings.stores import connected_store, connected_stores, slug_of
from slowwave.errors import BindingError, StoreError
from slowwave.night.night import run_night
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.clients import run_as_owner

NOTES = """store = "notes"
[tables.memories]
table = "notes"
key = { id = "uuid" }
namespace = "owner"
[tables.memories.columns]
content = "body"
[off]
dedupe_entities = "Notes have no entities."
"""
MADE = "CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), owner text, body text)"


@pytest.mark.parametrize(
    "native", ["Anna", "anna/ben", "../../etc", "memories.anna", "ä", "a...b", "a" * 300, "a b", "A\nB", "🙂", "con"]
)
def test_a_name_here_is_plain_and_its_own(native: str) -> None:
    """It is a partition, part of a folder's name and an argument of commands."""
    assert re.fullmatch(r"notes-[a-z0-9][a-z0-9.-]{0,90}", slug_of("notes", native))
    assert len({slug_of("notes", other) for other in (native, native.lower(), native + " ", "anna-ben")}) == len(
        {native, native.lower(), native + " ", "anna-ben"}
    )


def test_thousands_of_users_are_entered_at_once_and_new_ones_when_they_are_seen(store: Store) -> None:
    """A user who comes later is there at the next look, and a row of nobody is nobody's."""
    run_as_owner(
        store,
        MADE,
        "INSERT INTO notes (owner, body) SELECT 'User ' || n, 'says ' || n FROM generate_series(1, 3000) n",
        "INSERT INTO notes (body) VALUES ('of nobody')",
    )
    found = connect_store(store, "table", own_text=NOTES, grant=True)
    assert (found.namespaces, found.new_namespaces) == (3000, 3000)
    assert found.rows is not None
    assert (found.rows.rows, found.rows.without_namespace) == (3000, 1)
    assert len(namespaces(store)) == 3000
    run_as_owner(store, "INSERT INTO notes (owner, body) VALUES ('late', 'is here')")
    note_changes(store)
    assert "notes-late" in namespaces(store)
    assert export_snapshot(store, "notes-late").table("memory_versions")["content"].to_pylist() == ["is here"]
    again = connect_store(store, "table", own_text=NOTES)
    assert (again.namespaces, again.new_namespaces) == (3001, 0)


def test_a_table_without_owners_is_one_namespace(store: Store) -> None:
    """By the name of the store."""
    run_as_owner(store, MADE, "INSERT INTO notes (body) VALUES ('a'), ('b')")
    connect_store(store, "table", own_text=NOTES.replace('namespace = "owner"\n', ""), name="team_notes", grant=True)
    assert namespaces(store) == ["team-notes"]
    assert sorted(export_snapshot(store, "team-notes").table("memory_versions")["content"].to_pylist()) == ["a", "b"]


def test_a_store_does_not_take_the_name_of_another_namespace(store: Store) -> None:
    """It would have no namespace, and its rows would never be read. Its own it keeps."""
    run_as_owner(store, MADE, "INSERT INTO notes (body) VALUES ('a')")
    run_as_owner(store, "INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'team-notes')")
    whole = NOTES.replace('namespace = "owner"\n', "")
    with pytest.raises(BindingError, match="team-notes already"):
        connect_store(store, "table", own_text=whole, name="team_notes", grant=True)
    with store.connect("reader") as connection:
        assert connected_stores(connection) == []
    for _ in range(2):
        connect_store(store, "table", own_text=whole, name="our_notes", grant=True)
    assert namespaces(store) == ["our-notes", "team-notes"]


def test_what_is_off_in_a_store_does_not_run_in_its_nights(store: Store) -> None:
    """As if the settings of the namespace said so, and a person may say otherwise there."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    connect_store(store, "table", own_text=NOTES, grant=True)
    night = run_night(store, "notes-anna")
    assert night.proposals["dedupe_entities"].skipped == "op_disabled_by_config"
    assert night.proposals["absolutize_dates"].skipped == ""


def test_a_store_that_is_disconnected_is_not_read_and_keeps_its_rows(store: Store) -> None:
    """Its namespaces keep their history; connected again, they are as before."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    connect_store(store, "table", own_text=NOTES, grant=True)
    disconnect_store(store, "notes")
    with pytest.raises(StoreError, match="disconnected"):
        export_snapshot(store, "notes-anna")
    with pytest.raises(BindingError, match="connect list"):
        disconnect_store(store, "notes")
    with store.connect("reader") as connection:
        assert connected_stores(connection) == []
    connect_store(store, "table", own_text=NOTES)
    assert export_snapshot(store, "notes-anna").table("memories").num_rows == 1


def test_a_namespace_of_our_own_has_no_store(store: Store) -> None:
    """Its rows are read from memory, as ever."""
    run_as_owner(
        store, "INSERT INTO memory.namespaces (id, slug) VALUES ('00000000-0000-4000-8000-000000000001', 'ours')"
    )
    with store.connect("reader") as connection:
        assert connected_store(connection, "00000000-0000-4000-8000-000000000001") is None


def test_a_column_that_is_gone_is_said_in_a_sentence(store: Store) -> None:
    """And so is a right that was taken away."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    connect_store(store, "table", own_text=NOTES, grant=True)
    run_as_owner(store, "REVOKE SELECT ON notes FROM slowwave_reader")
    with pytest.raises(StoreError, match="lacks a right"):
        export_snapshot(store, "notes-anna")
    run_as_owner(store, "GRANT SELECT ON notes TO slowwave_reader", "ALTER TABLE notes RENAME body TO said")
    with pytest.raises(StoreError, match="column that it had is gone"):
        export_snapshot(store, "notes-anna")


def test_only_whoever_plans_enters_namespaces_and_only_plain_names(store: Store) -> None:
    """The function runs with rights that its callers have not."""
    run_as_owner(store, MADE)
    connect_store(store, "table", own_text=NOTES, grant=True)
    entering = "SELECT night.add_store_namespaces('notes', ARRAY['x'], ARRAY[%s])"
    with store.connect("planner") as connection, pytest.raises(psycopg.errors.RaiseException, match="plain name"):
        connection.execute(entering, ("../x",))
    with store.connect("planner") as connection, pytest.raises(psycopg.errors.NoDataFound):
        connection.execute(entering.replace("'notes'", "'other'").encode(), ("x",))
    with store.connect("server") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(entering, ("x",))


def test_entered_namespaces_take_their_settings_from_the_store_not_from_the_planner(store: Store) -> None:
    """The planner's login cannot give a namespace a policy that approves (T3), and the binding's operations that are off stay off."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    connect_store(store, "table", own_text=NOTES, grant=True)
    with psycopg.connect(store.logins["planner"], autocommit=True) as planner:
        for chosen in ('\'{"default_mode": "apply"}\'', "'{}'"):
            with pytest.raises(psycopg.errors.UndefinedFunction):
                planner.execute(
                    f"SELECT night.add_store_namespaces('notes', ARRAY['x'], ARRAY['x'], {chosen})".encode()
                )
        for change in (
            'UPDATE night.stores SET namespace_settings = \'{"default_mode": "apply"}\'',
            "INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'mine')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                planner.execute(change.encode())
        planner.execute("SELECT night.add_store_namespaces('notes', ARRAY['bert'], ARRAY['notes-bert'])")
    stored = "SELECT namespace_settings FROM night.stores UNION ALL SELECT settings FROM memory.namespaces"
    with store.connect("owner") as connection:
        found = [row[0] for row in connection.execute(stored)]
        (of,) = connected_stores(connection)
    assert found == [{"operations": {name: {"enabled": False} for name in of.binding.off}}] * 3
