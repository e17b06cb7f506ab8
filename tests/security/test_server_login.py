"""What the login of a server may do, tried with it: read memory and plans, add recall events. Everything else is refused."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.search.recall_events import log_recall
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid

TABLES = """
SELECT c.oid::regclass::text, (SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = c.oid AND attnum = 1) FROM pg_class c
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""
WRITES = ("INSERT INTO {} DEFAULT VALUES", "UPDATE {} SET {} = NULL", "DELETE FROM {}", "TRUNCATE {}")


@pytest.fixture
def server(store: Store) -> str:
    """The address of the server's login."""
    remember(store, "acme")
    return store.logins["server"]


def _refused(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> bool:
    """Whether a statement is refused for want of a right; what works is taken back."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.Error:
        return False
    return False


def _allowed(store: Store, server: str, schema: str) -> tuple[set[object], list[str]]:
    """Tables of a schema that the login reads, and statements that write."""
    tables = ask(store, TABLES, schema)
    assert len(tables) > 12
    with psycopg.connect(server, autocommit=True) as connection:
        read = {table for table, _ in tables if not _refused(connection, f"SELECT 1 FROM {table}")}
        writes = [write.format(*table) for table in tables for write in WRITES]
        return read, [statement for statement in writes if not _refused(connection, statement)]


def test_of_the_nights_it_reads_plans_alone(store: Store, server: str) -> None:
    """Neither runs nor approvals, journal or before-images; and it writes none of them."""
    assert _allowed(store, server, "night") == ({"night.plans", "night.plan_items"}, [])


def test_of_memory_it_reads_all_and_adds_recalls_alone(store: Store, server: str) -> None:
    """No token either: a server that could write them could let anybody in."""
    read, written = _allowed(store, server, "memory")
    assert read == {table for table, _ in ask(store, TABLES, "memory")}
    assert "memory.tokens" in read
    assert written == ["INSERT INTO memory.recall_events DEFAULT VALUES"]  # it lacks values, not the right


def test_it_logs_a_recall(store: Store, server: str) -> None:
    """By the same function as everybody."""
    with store.connect("server") as connection:
        event = log_recall("acme", "tea", [uid("a")], connection=connection)
    assert ask(store, "SELECT id::text, query FROM memory.recall_events") == [(event, "tea")]
