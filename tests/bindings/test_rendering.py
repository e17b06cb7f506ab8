"""Rows of others as our tables: whatever stands in their JSON, a snapshot holds what the catalogue asks for."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql

from slowwave.bindings.connect import connect_store
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.tables import EXPORTED, VECTORS
from tests.bindings.clients import run_as_owner

NOTES = """store = "notes"
[tables.memories]
table = "notes"
key = { id = "bigint", part = "text" }
namespace = "owner"
apart = [["extra", "team"]]
retired = { at = ["extra", "ended"], type = "date", test = "past" }
[tables.memories.columns]
content = ["extra", "text"]
recorded_at = { at = ["extra", "made"], type = "timestamptz" }
importance = { at = ["extra", "weight"], type = "double precision" }
access_count = { at = ["extra", "uses"], type = "bigint" }
pinned = { at = ["extra", "pinned"], type = "boolean" }
tags = { at = ["extra", "tags"], type = "jsonb" }
valid_from = { at = "since", type = "timestamptz" }
vector = { at = "embedding", type = "halfvec" }
"""

MADE = "CREATE TABLE notes (id bigint, part text, owner text, extra jsonb, since timestamptz, embedding halfvec(3), PRIMARY KEY (id, part))"


def add(store: Store, id_: int, since: str = "2026-01-05 10:00+00", **extra: object) -> None:
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO notes VALUES (%s, 'a', 'anna', %s, %s, '[1,2,3]')",
            (id_, json.dumps({"text": "t", **extra}), since),
        )


def test_whatever_stands_in_json_becomes_what_the_catalogue_asks_for(store: Store) -> None:
    """Dates that are none, numbers that are text or too large, lists that are objects: the default, and the row is read all the same."""
    run_as_owner(store, MADE)
    add(
        store,
        1,
        made="2026-02-03T04:05:06.7+02:00",
        weight=0.25,
        uses=3,
        pinned=True,
        tags=["x"],
        team="red",
        ended="2026-03-01",
    )
    add(
        store,
        2,
        "infinity",
        made="yesterday",
        weight="much",
        uses=1e300,
        pinned="yes",
        tags={"a": 1},
        ended="2026-13-45",
    )
    add(store, 3, "12000-01-01", made="12000-01-01", weight=10**400, uses="3", ended="9999-12-31")
    add(store, 4, text="")
    add(store, 5, text={"no": "text"})
    connect_store(store, "table", own_text=NOTES, grant=True)
    snapshot = export_snapshot(store, "notes-anna")
    rows = {row["external_id"]: row for row in snapshot.table("memories").to_pylist()}
    assert rows.keys() == {'["1","a"]', '["2","a"]', '["3","a"]'}
    first, second, third = (rows[key] for key in sorted(rows))
    assert first["recorded_at"] == datetime(2026, 2, 3, 2, 5, 6, 700000, tzinfo=UTC)
    assert (first["importance"], first["access_count"], first["pinned"], first["tags"]) == (0.25, 3, True, '["x"]')
    assert first["scope"] == '["red"]'
    assert first["invalidated_at"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert (second["importance"], second["access_count"], second["pinned"], second["tags"]) == (0.5, 0, False, "[]")
    assert (second["scope"], second["invalidated_at"], second["valid_from"]) == ("", None, None)
    assert second["recorded_at"] == snapshot.taken_at
    assert (third["importance"], third["valid_from"], third["invalidated_at"]) == (0.5, None, None)
    versions = {row["memory_id"]: row for row in snapshot.table("memory_versions").to_pylist()}
    assert all(versions[row["id"]]["id"] == row["current_version_id"] for row in rows.values())
    vectors = snapshot.vectors["memory_vectors"]
    assert sorted(vectors.ids.to_pylist()) == sorted(row["id"] for row in rows.values())
    assert vectors.matrix.tolist() == [[1, 2, 3]] * 3


def test_another_text_is_another_version_of_the_same_row(store: Store) -> None:
    """So that a guard on the version is one on the text."""
    run_as_owner(store, MADE)
    add(store, 1)
    connect_store(store, "table", own_text=NOTES, grant=True)
    before = export_snapshot(store, "notes-anna").table("memories").to_pylist()[0]
    run_as_owner(store, """UPDATE notes SET extra = jsonb_set(extra, '{text}', '"u"')""")
    after = export_snapshot(store, "notes-anna").table("memories").to_pylist()[0]
    assert before["id"] == after["id"]
    assert before["current_version_id"] != after["current_version_id"]


def test_what_a_store_has_no_column_for_is_read_from_beside_it(store: Store) -> None:
    """State, counters, pointers: of the row that they belong to, and of no other."""
    run_as_owner(store, MADE)
    add(store, 1, made="2026-02-03")
    add(store, 2, made="2026-02-03")
    connect_store(store, "table", own_text=NOTES, grant=True)
    snapshot = export_snapshot(store, "notes-anna")
    one, other = sorted(snapshot.table("memories").to_pylist(), key=lambda row: row["external_id"])
    cells = {
        "state": "archived",
        "merged_into": other["id"],
        "reinforcement_count": 4,
        "source_chunk_ids": [other["id"]],
    }
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO night.overlay VALUES (%s, 'memories', %s, %s)",
            (snapshot.namespace_id, one["id"], json.dumps(cells)),
        )
    read = {row["id"]: row for row in export_snapshot(store, "notes-anna").table("memories").to_pylist()}
    assert {name: read[one["id"]][name] for name in cells} == cells
    assert read[other["id"]] == other


def test_a_row_that_was_written_once_holds_since_then(store: Store) -> None:
    """One that was written again says what it says since nobody knows when: no "yesterday" of it is counted from its first day."""
    own = NOTES.replace('valid_from = { at = "since"', 'updated_at = { at = ["extra", "changed"]')
    run_as_owner(store, MADE)
    made = "2026-02-03T04:05:06+00:00"
    for id_, changed in ((1, made), (2, "2026-02-04T00:00:00+00:00"), (3, "never")):
        add(store, id_, made=made, changed=changed)
    connect_store(store, "table", own_text=own, grant=True)
    rows = export_snapshot(store, "notes-anna").table("memories").to_pylist()
    since = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert {row["external_id"]: row["valid_from"] for row in rows} == {
        '["1","a"]': since,
        '["2","a"]': None,
        '["3","a"]': since,
    }


def test_every_table_of_a_snapshot_is_there_and_its_own_rows_stay_apart(store: Store) -> None:
    """Two owners: each sees its own, and nothing else of our memory is made up."""
    run_as_owner(store, MADE, "INSERT INTO notes VALUES (9, 'b', 'ben', '{\"text\": \"of Ben\"}', NULL, NULL)")
    add(store, 1)
    connect_store(store, "table", own_text=NOTES, grant=True)
    for name, said in (("notes-anna", "t"), ("notes-ben", "of Ben")):
        snapshot = export_snapshot(store, name)
        assert snapshot.table("memory_versions")["content"].to_pylist() == [said]
        assert all(
            not snapshot.table(t.name).num_rows for t in EXPORTED if t.name not in ("memories", "memory_versions")
        )
        assert all(not len(snapshot.vectors[v]) for v in VECTORS if v != "memory_vectors")


@pytest.mark.parametrize("said", ["'; DROP TABLE notes; --", 'a"b', "100%", "%s", "\\", "{}"])
def test_names_and_values_of_others_are_data(store: Store, said: str) -> None:
    """A user by such a name, and a table, a column and a key as well."""
    table, column, key = f"t{said}", f"c{said}", f"k{said}"
    body = json.dumps({"text": "kept", key: said})
    with psycopg.connect(store.owner, autocommit=True) as connection:
        names = {
            "table": sql.Identifier(table),
            "column": sql.Identifier(column),
            "body": sql.Literal(body),
        }
        connection.execute(sql.SQL("CREATE TABLE {table} (id uuid PRIMARY KEY, {column} jsonb)").format(**names))
        connection.execute(sql.SQL("INSERT INTO {table} VALUES (gen_random_uuid(), {body})").format(**names))
    own = f"""store = "odd"
[tables.memories]
table = {json.dumps(table)}
key = {{ id = "uuid" }}
namespace = {json.dumps([column, key])}
[tables.memories.columns]
content = {json.dumps([column, "text"])}
"""
    found = connect_store(store, "table", own_text=own, grant=True)
    assert found.namespaces == 1
    with store.connect("reader") as connection:
        slug = connection.execute("SELECT slug FROM memory.namespaces").fetchone()
    assert slug is not None
    assert export_snapshot(store, str(slug[0])).table("memory_versions")["content"].to_pylist() == ["kept"]
