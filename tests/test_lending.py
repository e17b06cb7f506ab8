"""A database that is lent again is as its template; one that a test has changed otherwise is not lent again."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from slowwave.store import server
from slowwave.store.connect import Store
from tests.lending import Lender
from tests.memories import ask, remember

TABLES = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('memory', 'night')"


@pytest.fixture
def own(postgres: server.Server) -> Lender:
    return Lender(postgres, "template_slowwave")


def lent(own: Lender, work: Callable[[Store], object]) -> tuple[str, object]:
    """The name of a database, and what came of the work in it."""
    with own.lend() as name:
        return name, work(Store.embedded_in(own.postgres.url(name), own.postgres.home))


def fill(store: Store) -> None:
    remember(
        store,
        "acme",
        entities=[{"id": "e", "name": "Mara", "entity_type": "person"}],
        entity_vectors=[{"id": "e", "vector": [1.0, 0.0]}],
    )


def state(store: Store) -> tuple[object, ...]:
    """Rows of all tables, the next number of a change, and how many indexes there are."""
    tables = [str(name) for (name,) in ask(store, TABLES)]
    ((rows,),) = ask(store, f"SELECT {' + '.join(f'(SELECT count(*) FROM {t})' for t in tables)}")
    ((number,),) = ask(store, "SELECT nextval('memory.changes_id_seq')")
    ((indexes,),) = ask(store, "SELECT count(*) FROM pg_index")
    return rows, number, indexes


def test_what_a_test_wrote_is_gone_in_the_next(own: Lender) -> None:
    """Rows, numbers, and the index that came with a model of vectors; the connection is the same."""
    first, before = lent(own, state)
    filled, _ = lent(own, fill)
    again, after = lent(own, state)
    assert (filled, again) == (first, first)
    assert after == before


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE memory.entities DISABLE TRIGGER USER",
        "CREATE TABLE memory.more (id int)",
        "REVOKE SELECT ON memory.entities FROM slowwave_reader",
        "ALTER DATABASE {} SET work_mem = '1MB'",
        "DELETE FROM night.store",
        "CREATE OR REPLACE FUNCTION memory.mark_searched() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    ],
)
def test_a_database_that_was_changed_is_not_lent_again(own: Lender, change: str) -> None:
    def work(store: Store) -> None:
        with psycopg.connect(store.owner, autocommit=True) as owner:
            owner.execute("SET session_replication_role = replica")
            owner.execute(change.format(owner.info.dbname).encode())

    first, _ = lent(own, work)
    second, _ = lent(own, state)
    assert first != second


def test_who_is_still_connected_is_no_longer(own: Lender) -> None:
    """A session that a test forgot holds no lock in the next one's way."""

    def forget(store: Store) -> psycopg.Connection[tuple[object, ...]]:
        left = psycopg.connect(store.owner)
        left.execute("LOCK TABLE memory.entities IN ACCESS EXCLUSIVE MODE")
        return left

    first, left = lent(own, forget)
    second, _ = lent(own, fill)
    assert first == second
    assert isinstance(left, psycopg.Connection)
    with pytest.raises(psycopg.OperationalError):
        left.execute("SELECT 1")
