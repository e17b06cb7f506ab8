"""What must hold of a row by itself: older rows that break it do not stop a migration, are named, and new ones are refused."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from slowwave.store import migrate as migrations
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.migrate import migrate
from slowwave.store.server import create_database
from tests.memories import ask, remember

NAMESPACE = str(uuid.uuid4())

OLD = f"""
INSERT INTO memory.namespaces (id, slug) VALUES ('{NAMESPACE}', 'old');
INSERT INTO memory.entities (id, namespace_id, entity_type, name, confidence)
SELECT gen_random_uuid(), '{NAMESPACE}', 'tool', 'n', c FROM unnest(ARRAY[0.5, 1.5, 7]) AS c;
"""


@pytest.fixture
def old(postgres: server.Server) -> Iterator[Store]:
    """A database as the revision before left it, with two entities surer than sure."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        create_database(postgres.url, name)
        store = Store.embedded_in(postgres.url(name), postgres.home)
        engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA night")
            config = migrations._config()
            config.attributes["connection"] = connection
            command.upgrade(config, "0008")
        with psycopg.connect(postgres.url(name), autocommit=True) as owner:
            owner.execute(OLD.encode())
        yield store
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_rows_from_before_are_named_and_can_be_put_right(old: Store) -> None:
    """The store migrates; the doctor counts them, shows how to find them, and what to run once they are mended."""
    migrate(old)
    (found,) = [d for d in diagnose(old) if "entities_confidence_is_a_share" in d.finding]
    assert not found.problem
    assert "2 rows of memory.entities" in found.finding
    query = found.finding.split(": ", 1)[1].removesuffix(".")
    assert len(ask(old, query)) == 2
    with old.connect("owner") as owner:
        with pytest.raises(psycopg.errors.CheckViolation):
            owner.execute(found.statements[0].encode())
        owner.execute("UPDATE memory.entities SET confidence = 1 WHERE confidence > 1")
        owner.execute(found.statements[0].encode())
    assert not any("constraint" in d.finding for d in diagnose(old))


def test_a_store_whose_rows_hold_is_validated_at_once(store: Store) -> None:
    """Nobody has to run anything; a constraint that is taken back and made anew is said to be open, without a row that breaks it."""
    assert ask(store, "SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND NOT convalidated") == [(0,)]
    with store.connect("owner") as owner:
        owner.execute("ALTER TABLE memory.relationships DROP CONSTRAINT relationships_weight_is_not_negative")
        owner.execute("ALTER TABLE memory.relationships ADD CONSTRAINT weighed CHECK (weight >= 0) NOT VALID")
    (found,) = diagnose(store)
    assert "no row breaks it" in found.finding
    assert found.statements == ("ALTER TABLE memory.relationships VALIDATE CONSTRAINT weighed",)


@pytest.mark.parametrize(
    ("table", "broken"),
    [
        ("entities", "confidence = 1.5"),
        ("entities", "confidence = 'NaN'"),
        ("entities", "merged_into = id"),
        ("entities", "valid_from = now(), valid_to = now() - interval '1 day'"),
        ("relationships", "weight = -0.1"),
        ("memories", "valid_from = now(), valid_to = now() - interval '1 day'"),
    ],
)
def test_new_rows_and_changes_are_held(store: Store, table: str, broken: str) -> None:
    """By the database, whoever writes."""
    remember(
        store,
        "acme",
        entities=[{"id": n, "entity_type": "tool", "name": n} for n in "ab"],
        relationships=[{"id": "r", "source_entity_id": "a", "target_entity_id": "b", "relationship_type": "X"}],
        memories=[{"id": "m", "kind": "episodic"}],
    )
    with store.connect("owner") as owner, pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(f"UPDATE memory.{table} SET {broken}".encode())
