"""The migrated database is the catalogue, and its triggers keep what they promise."""

from __future__ import annotations

import uuid
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from slowwave.errors import StoreError
from slowwave.store import tables
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.migrate import migrate, newest_revision, pending_migrations
from slowwave.store.tables import metadata
from tests.nights import new_world
from tests.worlds import World


def test_the_migration_makes_exactly_the_catalogue(store: Store) -> None:
    """Alembic finds no table or column to add, remove or change (indexes live in the migration alone)."""
    engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "version_table_schema": "night",
                "compare_type": True,
                "target_metadata": metadata,
            },
        )
        found = [
            d
            for d in compare_metadata(context, metadata)
            if isinstance(d, tuple) and d[0] not in ("remove_index", "add_index") and "recall_events_" not in str(d[1])
        ]
    assert found == []


def test_migrating_again_changes_nothing(store: Store) -> None:
    """Every start of the embedded store asks."""
    assert pending_migrations(store) == []
    migrate(store)
    assert pending_migrations(store) == []


def _counter(store: Store, world: World) -> int:
    with store.connect("reader") as connection:
        row = connection.execute(
            "SELECT count(*) FROM memory.changes WHERE namespace_id = %s", (world.namespace_id,)
        ).fetchone()
        return int(str(row[0])) if row else -1


def _write(store: Store, statement: str, *values: object) -> None:
    with store.connect("owner") as connection:
        connection.execute(statement.encode(), values)


def test_a_database_that_a_newer_version_has_migrated_is_left_alone(store: Store) -> None:
    """Whoever went back to an older version is told so, by `doctor` too, and nothing is migrated."""
    with store.connect("owner") as connection:
        connection.execute("UPDATE night.alembic_version SET version_num = '9999'")
    for look in (pending_migrations, migrate):
        with pytest.raises(StoreError, match=r"at migration 9999, .* a newer version has migrated it"):
            look(store)
    with store.connect("owner") as connection:
        (found,) = [d for d in diagnose(store) if "9999" in d.finding]
        assert connection.execute("SELECT version_num FROM night.alembic_version").fetchone() == ("9999",)
    assert "later" in found.remedy


def test_recall_moves_no_version_and_no_counter(store: Store) -> None:
    """Counters change all day; content_version and the change counter stand."""
    world = new_world(store)
    before = _counter(store, world)
    _write(store, "UPDATE memory.entities SET mention_count = mention_count + 1")
    _write(store, "UPDATE memory.memories SET access_count = access_count + 1, last_accessed_at = now()")
    _write(
        store,
        "INSERT INTO memory.recall_events (id, namespace_id, occurred_at, query) VALUES (%s, %s, now(), 'q')",
        uuid.uuid4(),
        world.namespace_id,
    )
    assert _counter(store, world) == before
    with store.connect("reader") as connection:
        assert connection.execute("SELECT DISTINCT content_version FROM memory.entities").fetchall() == [(1,)]


def test_a_change_of_content_moves_both_and_once_a_statement(store: Store) -> None:
    """A statement over a thousand rows leaves one row in memory.changes: a bulk load does not queue."""
    world, other = new_world(store, 7), new_world(store, 300)
    before, quiet = _counter(store, world), _counter(store, other)
    _write(store, "UPDATE memory.entities SET name = name || '!' WHERE namespace_id = %s", world.namespace_id)
    assert _counter(store, world) == before + 1
    assert _counter(store, other) == quiet
    _write(store, "UPDATE memory.entities SET name = name WHERE namespace_id = %s", world.namespace_id)
    assert _counter(store, world) == before + 1
    with store.connect("reader") as connection:
        versions = connection.execute(
            "SELECT DISTINCT content_version, updated_at > recorded_at FROM memory.entities WHERE namespace_id = %s",
            (world.namespace_id,),
        ).fetchall()
    assert versions == [(2, True)]


@pytest.mark.parametrize("table", ["entity_aliases", "memory_versions"])
def test_names_and_texts_are_added_never_overwritten(store: Store, table: str) -> None:
    """Only undo may delete them."""
    world = new_world(store)
    if table == "memory_versions":
        _write(
            store,
            "INSERT INTO memory.memory_versions (id, namespace_id, memory_id, ordinal, content) "
            "SELECT gen_random_uuid(), namespace_id, id, 99, 'c' FROM memory.memories WHERE namespace_id = %s",
            world.namespace_id,
        )
    else:
        _write(
            store,
            "INSERT INTO memory.entity_aliases (id, namespace_id, entity_id, alias) SELECT gen_random_uuid(), namespace_id, id, 'al' "
            "FROM memory.entities WHERE namespace_id = %s",
            world.namespace_id,
        )
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _write(store, f"UPDATE memory.{table} SET recorded_at = now()")
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _write(store, f"DELETE FROM memory.{table}")
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL slowwave.undo = 'on'")
        assert connection.execute(f"DELETE FROM memory.{table}".encode()).rowcount > 0


def test_a_model_has_one_dimension_and_an_index_of_its_own(store: Store) -> None:
    """Registering twice is nothing; another dimension under the same name is refused in words."""
    with store.connect("owner") as connection:
        for _ in range(2):
            connection.execute("SELECT memory.register_vector_model('m', 8)")
        with pytest.raises(psycopg.errors.RaiseException, match="cannot have 16 as well"):
            connection.execute("SELECT memory.register_vector_model('m', 16)")
        connection.execute("SELECT memory.register_vector_model('wide', 3072)")
        connection.execute("SELECT memory.register_vector_model('widest', 8192)")
        rows = connection.execute(
            "SELECT tablename, indexdef FROM pg_indexes WHERE indexname LIKE '%%hnsw%%' ORDER BY tablename, indexdef"
        ).fetchall()
    assert len(rows) == 6
    assert {str(r[0]) for r in rows} == {"entity_vectors", "chunk_vectors", "memory_vectors"}
    assert sum("::halfvec(3072)" in str(r[1]) for r in rows) == 3


def test_recall_events_lie_in_partitions_of_their_month(store: Store) -> None:
    """A month is made when it is asked for; what has none goes to the default."""
    world = new_world(store)
    insert = "INSERT INTO memory.recall_events (id, namespace_id, occurred_at, query) VALUES (gen_random_uuid(), %s, %s, 'q')"
    with store.connect("owner") as connection:
        connection.execute("SELECT memory.ensure_recall_partitions('2026-01-15Z', '2026-03-01Z')")
        connection.execute("SELECT memory.ensure_recall_partitions('2026-01-15Z', '2026-03-01Z')")
        for day in ("2026-01-31 23:59:59Z", "2026-02-01 00:00:00Z", "2031-07-01Z"):
            connection.execute(insert.encode(), (world.namespace_id, day))
        rows = connection.execute(
            "SELECT tableoid::regclass::text FROM memory.recall_events ORDER BY occurred_at"
        ).fetchall()
    assert [str(r[0]).removeprefix("memory.") for r in rows] == [
        "recall_events_2026_01",
        "recall_events_2026_02",
        "recall_events_default",
    ]


def test_the_newest_revision_is_that_which_alembic_would_reach() -> None:
    """It is read off the files' names, so that a store that is up to date needs no Alembic."""
    scripts = Config()
    scripts.set_main_option("script_location", str(Path(tables.__file__).with_name("migrations")))
    assert newest_revision() == ScriptDirectory.from_config(scripts).get_current_head()
