"""Rows that no night can read: each is left out and named, and the night of everything else goes on (T2)."""

from __future__ import annotations

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.errors import NightFailed, SlowwaveError
from slowwave.night import several
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.several import run_nights
from slowwave.store.connect import Store
from slowwave.store.doctor import constraint_name
from tests.bindings.clients import run_as_owner
from tests.memories import ago, ask, remember
from tests.snapshots import uid

DEEP = "(repeat('{\"a\":', 3000) || '1' || repeat('}', 3000))::jsonb"
LONG = "('{\"n\":' || repeat('9', 100000) || '}')::jsonb"
MANY = "ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 1000000))"

ODD = [
    ("memories", "recorded_at", "'infinity'"),
    ("memories", "last_accessed_at", "'infinity'"),
    ("memories", "valid_to", "'-infinity'"),
    ("memory_versions", "recorded_at", "'infinity'"),
    ("recall_events", "occurred_at", "'infinity'"),
    ("memories", "recorded_at", "'4713-01-01 BC'"),
    ("memories", "valid_to", "'294276-12-31'"),
    ("memories", "access_count", "-2147483648"),
    ("memories", "importance", "'NaN'"),
    ("memories", "importance", "'Infinity'"),
    ("memories", "confidence", "'-Infinity'"),
    ("entities", "attributes", DEEP),
    ("documents", "metadata", LONG),
    ("memories", "source_chunk_ids", MANY),
]
"""The fourteen values that ended a night with a traceback."""


def told(store: Store, slug: str = "acme") -> None:
    remember(
        store,
        slug,
        documents=[{"id": f"{slug} d", "content": "A letter of Anna."}],
        chunks=[{"id": f"{slug} c", "document_id": f"{slug} d", "content": "A letter of Anna."}],
        entities=[
            {
                "id": f"{slug} {n}",
                "entity_type": "tool",
                "name": f"Tool {n}",
                "source_document_ids": [f"{slug} d", "gone"],
            }
            for n in ("a", "b")
        ],
        memories=[
            {"id": f"{slug} {n}", "kind": "semantic", "current_version_id": f"{slug} {n}v", "recorded_at": ago(40)}
            for n in ("odd", "even")
        ],
        memory_versions=[
            {"id": f"{slug} {n}v", "memory_id": f"{slug} {n}", "content": f"Anna likes {n} numbers."}
            for n in ("odd", "even")
        ],
        recall_events=[{"id": f"{slug} e", "query": "numbers", "occurred_at": ago(1)}],
    )


def make_odd(store: Store, table: str, column: str, value: str, row: str) -> None:
    """Store a value as a row from before the constraint has it."""
    name = constraint_name(table)
    if table == "recall_events":  # which has no constraint
        ask(store, f"UPDATE memory.{table} SET {column} = {value} WHERE id = '{row}'")
        return
    ((condition,),) = ask(
        store,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s",
        *(f"memory.{table}", name),
    )
    with store.connect("owner") as owner:
        owner.execute(f"ALTER TABLE memory.{table} DROP CONSTRAINT {name}".encode())
        owner.execute(f"ALTER TABLE memory.{table} DISABLE TRIGGER USER".encode())
        owner.execute(f"UPDATE memory.{table} SET {column} = {value} WHERE id = '{row}'".encode())
        owner.execute(f"ALTER TABLE memory.{table} ENABLE TRIGGER USER".encode())
        owner.execute(f"ALTER TABLE memory.{table} ADD CONSTRAINT {name} {condition} NOT VALID".encode())


@pytest.mark.parametrize(("table", "column", "value"), ODD)
def test_night_leaves_out_a_row_that_it_cannot_read_and_names_it(
    store: Store, table: str, column: str, value: str
) -> None:
    """Everything else is planned, and nothing that refers to the row counts as dead."""
    told(store)
    names = {"memories": "odd", "memory_versions": "oddv", "recall_events": "e", "entities": "a", "documents": "d"}
    row = uid(f"acme {names[table]}")
    make_odd(store, table, column, value, row)
    night = run_night(store, "acme", ops="all")
    found = [f for f in night.reports["census"].findings if "left out of this night" in f.message]
    assert [f.rows for f in found] == [(row,)]
    assert f"rows of {table} are left out of this night, as their {column} " in found[0].message
    assert night.plan
    assert all(row not in {id_ for _, id_ in item.rows()} for item in night.plan.items)
    cleaned = {id_ for item in night.plan.items if item.operation == "gc_references" for _, id_ in item.rows()}
    assert cleaned >= {uid("acme b")}
    for item in night.plan.items:
        if item.operation == "gc_references":
            assert uid("gone") in item.mutation.canonical()
    kept = ask(store, "SELECT mutation::text FROM night.plan_items WHERE operation = 'gc_references'")
    assert len(kept) == len([i for i in night.plan.items if i.operation == "gc_references"])


NOTES = """store = "notes"
[tables.memories]
table = "notes"
key = { id = "uuid" }
namespace = "owner"
[tables.memories.columns]
content = "body"
recorded_at = { at = "made", type = "timestamptz" }
importance = { at = "weight", type = "double precision" }
attributes = { at = "more", type = "jsonb" }
valid_to = { at = "until", type = "timestamptz" }
"""
MADE = (
    "CREATE TABLE notes (id uuid PRIMARY KEY, owner text, body text, made timestamptz DEFAULT now(), weight float8, more jsonb, "
    "until timestamptz)"
)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    ("column", "logical", "value"),
    [
        ("made", "recorded_at", "'infinity'"),
        ("made", "recorded_at", "'4713-01-01 BC'"),
        ("weight", "importance", "'NaN'"),
        ("more", "attributes", DEEP),
        ("more", "attributes", LONG),
    ],
)
def test_night_of_a_connected_store_leaves_out_rows_that_it_cannot_read(
    store: Store, column: str, logical: str, value: str, together: bool
) -> None:
    """No constraint of ours holds there, whether its namespaces are read alone or together."""
    odd = uid("odd")
    run_as_owner(
        store,
        MADE,
        f"INSERT INTO notes (id, owner, body) VALUES ('{odd}', 'anna', 'likes tea'), (gen_random_uuid(), 'anna', 'likes jam'), "
        "(gen_random_uuid(), 'ben', 'likes tea')",
        f"UPDATE notes SET {column} = {value} WHERE id = '{odd}'",
        "UPDATE notes SET until = 'infinity' WHERE body = 'likes jam'",
    )
    connect_store(store, "table", own_text=NOTES, grant=True)
    names = ["notes-anna", "notes-ben"] if together else ["notes-anna"]
    nights = dict(run_nights(store, names, ops="all"))
    night = nights["notes-anna"]
    assert isinstance(night, Night), night
    found = [f for f in night.reports["census"].findings if "left out of this night" in f.message]
    assert [(f.rows, f.details["column"]) for f in found] == [((odd,), logical)]


def test_nights_of_all_namespaces_go_on_after_any_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is none of Slowwave's own ends the night of its namespace, which is named at the end, and no other."""
    for slug in ("alpha", "beta", "gamma"):
        told(store, slug)
    one_night = several.run_night

    def poisoned(store: Store, name: str, **asked: object) -> Night:
        if name == "alpha":
            raise ValueError("Out of range float values are not JSON compliant")
        return one_night(store, name, **asked)  # type: ignore[arg-type]

    monkeypatch.setattr(several, "run_night", poisoned)
    nights = dict(run_nights(store, ["alpha", "beta", "gamma"]))
    assert isinstance(nights["alpha"], NightFailed)
    assert isinstance(nights["alpha"], SlowwaveError)
    assert [type(nights[name]) for name in ("beta", "gamma")] == [Night, Night]
    assert str(nights["alpha"]).startswith(
        "The night ended with an error that Slowwave did not expect (ValueError: Out of range"
    )
    assert isinstance(nights["alpha"].__cause__, ValueError)
    with pytest.raises(ValueError, match="Out of range"):
        list(run_nights(store, ["alpha"]))
