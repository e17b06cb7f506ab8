"""Rows that no night can read: refused by the database, named by the doctor, and made readable by one statement."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.store.connect import Store
from slowwave.store.doctor import CHECKED, checked_columns, constraint, constraint_name, diagnose
from slowwave.store.tables import metadata
from tests.memories import ask, remember

DEEP = "(repeat('{\"a\":', 3000) || '1' || repeat('}', 3000))::jsonb"
ODD = {
    "instant": ("'infinity'", "'-infinity'", "'294276-12-31'", "'4713-01-01 BC'"),
    "number": ("'NaN'", "'Infinity'", "'-Infinity'"),
    "count": ("-2147483648",),
    "json": (DEEP, "('{\"n\":' || repeat('9', 100000) || '}')::jsonb", f"jsonb_build_array({DEEP})"),
    "list": ("ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 100001))",),
}
GOOD = {
    "instant": ("'0001-01-01 00:00+00'", "'9999-12-31 23:59:59+00'", "now()"),
    "number": ("0", "1"),
    "count": ("-1", "2147483647"),
    "json": ("(repeat('{\"a\":', 50) || '1' || repeat('}', 50))::jsonb", "'{\"n\": 1e15}'"),
    "list": ("ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 100))",),
}


def one_row_each(store: Store) -> None:
    remember(
        store,
        "acme",
        documents=[{"id": "d", "content": "A letter."}],
        entities=[{"id": n, "entity_type": "tool", "name": n} for n in "ab"],
        relationships=[{"id": "r", "source_entity_id": "a", "target_entity_id": "b", "relationship_type": "USES"}],
        memory_facts=[{"id": "f", "subject": "Anna", "predicate": "likes", "object": "tea"}],
        memories=[{"id": "m", "kind": "semantic"}],
    )


@pytest.mark.parametrize("table", ["documents", "entities", "relationships", "memory_facts", "memories"])
def test_value_that_no_night_can_read_is_refused(store: Store, table: str) -> None:
    """By a constraint of the table, whichever login writes; readable values next to the limits are taken."""
    one_row_each(store)
    with store.connect("owner") as owner:
        for name, kind in checked_columns(metadata.tables[f"memory.{table}"]).items():
            for value in ODD[kind]:
                with pytest.raises(psycopg.errors.CheckViolation, match="violates check constraint"):
                    owner.execute(f"UPDATE memory.{table} SET {name} = {value}".encode())
            for value in GOOD[kind]:
                with owner.transaction(force_rollback=True):
                    owner.execute(f"UPDATE memory.{table} SET valid_from = NULL, valid_to = NULL".encode())
                    owner.execute(f"UPDATE memory.{table} SET {name} = {value}".encode())


def test_constraints_of_the_database_are_those_that_nights_read_by(store: Store) -> None:
    """The migration holds them as text; all of them are validated in a new store."""
    with store.connect("owner") as owner, owner.transaction(force_rollback=True):
        for table in CHECKED:
            owner.execute(f"ALTER TABLE memory.{table.name} ADD CONSTRAINT now CHECK ({constraint(table)})".encode())
        found = owner.execute(
            "SELECT conrelid::regclass::text, count(DISTINCT pg_get_expr(conbin, conrelid)), bool_and(convalidated), count(*) "
            "FROM pg_constraint WHERE conname = 'now' OR conname LIKE '%\\_rows\\_are\\_readable' GROUP BY conrelid"
        ).fetchall()
    assert {name for name, *_ in found} >= {f"memory.{table.name}" for table in CHECKED}
    assert {expressions for _, expressions, *_ in found} == {1}
    assert {(validated, many) for *_, validated, many in found} == {(True, 2)}


def with_rows_from_before(store: Store, table: str, change: str) -> None:
    """Store a value that the constraint would refuse, as a row from before the migration has it."""
    name = constraint_name(table)
    (condition,) = ask(store, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", name)[0]
    with store.connect("owner") as owner:
        owner.execute(f"ALTER TABLE memory.{table} DROP CONSTRAINT {name}".encode())
        owner.execute(f"ALTER TABLE memory.{table} DISABLE TRIGGER USER".encode())
        owner.execute(f"UPDATE memory.{table} SET {change}".encode())
        owner.execute(f"ALTER TABLE memory.{table} ENABLE TRIGGER USER".encode())
        owner.execute(f"ALTER TABLE memory.{table} ADD CONSTRAINT {name} {condition} NOT VALID".encode())


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("memories", "valid_to = 'infinity', importance = 'NaN'"),
        ("memories", f"attributes = {DEEP}, invalidated_at = '-infinity'"),
        ("memory_versions", "recorded_at = 'infinity'"),
        ("relationships", f"weight = 'Infinity', source_chunk_ids = {ODD['list'][0]}"),
    ],
)
def test_doctor_lists_rows_from_before_with_the_statements_that_repair_them(
    store: Store, table: str, change: str
) -> None:
    """They run as they are printed, in order, and then the doctor finds nothing."""
    one_row_each(store)
    remember(store, "acme", memory_versions=[{"id": "v", "memory_id": "m", "content": "Tea."}])
    with_rows_from_before(store, table, change)
    ((row,),) = ask(store, f"SELECT id::text FROM memory.{table}")
    (found,) = [d for d in diagnose(store) if constraint_name(table) in d.finding]
    assert str(row) in found.finding
    with store.connect("owner") as owner:
        for statement in found.statements:
            owner.execute(statement.encode())
    assert not [d for d in diagnose(store) if "constraint" in d.finding]
    ended = ask(store, "SELECT bool_and(invalidated_at < now()) FROM memory.memories WHERE invalidated_at IS NOT NULL")
    assert ended == [(True if "invalidated_at" in change else None,)]
