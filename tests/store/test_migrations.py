"""The migrated database is the catalogue, and its triggers keep what they promise."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from slowwave.errors import StoreError
from slowwave.operations.setting_names import diagnose_settings
from slowwave.plans.policies import read_policies
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES
from slowwave.store import server, tables
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.logins import close_idle
from slowwave.store.migrate import (
    INITIAL,
    LAST_FORMER,
    current_revision,
    initial_objects,
    migrate,
    newest_revision,
    pending_migrations,
    schema_objects,
)
from slowwave.store.tables import metadata
from tests.clusters import at_revision, external, majors, run, upgrade_to
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


LATER: Final = [
    "0002_policies_and_notices",
    "0003_night_requests",
    "0004_snapshot_digests",
    "0005_namespace_indexes",
    "0006_processes_of_runs",
    "0007_cited_passages",
]


def test_every_table_of_a_snapshot_has_an_index_by_namespace(store: Store) -> None:
    """An index of some rows does not serve: a snapshot reads ended rows too, and must not read those of other namespaces."""
    query = """
    SELECT indrelid::regclass::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE a.attname = 'namespace_id' AND i.indpred IS NULL"""
    with store.connect("reader") as connection:
        indexed = {str(name) for (name,) in connection.execute(query)}
    read = {f"{table.schema}.{name}" for name, table in SNAPSHOT_TABLES.items() if name != "decisions"}
    assert read | {"night.plan_items", "night.plans", "night.runs", "night.applied"} <= indexed


def test_migrating_again_changes_nothing(store: Store) -> None:
    """Every start of the embedded store asks."""
    assert pending_migrations(store) == []
    before = _objects(store)
    assert migrate(store) == []
    assert pending_migrations(store) == []
    assert _objects(store) == before


def _objects(store: Store) -> dict[str, str]:
    with store.connect("owner") as connection:
        return schema_objects(connection)


def _set_revision(store: Store, revision: str) -> None:
    with store.connect("owner") as connection:
        connection.execute("UPDATE night.alembic_version SET version_num = %s", (revision,))


def _revision(store: Store) -> str | None:
    with store.connect("owner") as connection:
        return current_revision(connection)


@pytest.fixture
def initial(postgres: server.Server) -> Iterator[Store]:
    """Make a database as the initial migration leaves it."""
    with at_revision(postgres, INITIAL) as store:
        yield store


@pytest.mark.parametrize("major", majors())
def test_the_initial_migration_makes_the_recorded_objects(tmp_path: Path, major: int) -> None:
    """Each version of PostgreSQL computes the hashes of 0001_initial.objects, with which older databases are compared."""
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(
            cluster.url("postgres"),
            "CREATE ROLE t_owner LOGIN CREATEROLE PASSWORD 'o'",
            "CREATE DATABASE t_store OWNER t_owner",
        )
        run(cluster.url("t_store"), "CREATE EXTENSION vector")
        store = Store(cluster.url("t_store", "t_owner", "o"))
        upgrade_to(store, INITIAL)
        assert _objects(store) == initial_objects()
        close_idle()


def test_a_database_of_the_former_migrations_is_noted_as_at_the_initial_one(initial: Store) -> None:
    """Its rows, and what differs between stores that are in order, are no obstacle: months, models, foreign rights, open constraints."""
    store = initial
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute("SELECT memory.register_vector_model('m', 8)")
        connection.execute("SELECT memory.ensure_recall_partitions('2026-01-15Z', '2026-03-01Z')")
        connection.execute("GRANT SELECT ON memory.memories TO pg_monitor")
        connection.execute("ALTER TABLE memory.relationships DROP CONSTRAINT relationships_weight_is_not_negative")
        connection.execute(
            "ALTER TABLE memory.relationships ADD CONSTRAINT relationships_weight_is_not_negative CHECK (weight >= 0) NOT VALID"
        )
    _set_revision(store, LAST_FORMER)
    every = [INITIAL, *LATER]
    assert pending_migrations(store) == every
    assert migrate(store) == every
    assert (_revision(store), pending_migrations(store), migrate(store)) == (every[-1], [], [])
    with store.connect("reader") as connection:
        assert connection.execute("SELECT slug FROM memory.namespaces").fetchall() == [(world.slug,)]


CHANGES: Final = {
    "a column": ("ALTER TABLE memory.chunks ADD COLUMN mine text", "different: relation memory.chunks"),
    "a default": ("ALTER TABLE night.runs ALTER COLUMN trigger SET DEFAULT 'me'", "different: relation night.runs"),
    "a constraint": (
        "ALTER TABLE memory.entities DROP CONSTRAINT entities_merged_are_retired",
        "different: relation memory.entities",
    ),
    "an index": ("DROP INDEX memory.chunks_live", "different: relation memory.chunks"),
    "a trigger": ("ALTER TABLE night.journal DISABLE TRIGGER append_only", "different: relation night.journal"),
    "a view": (
        "CREATE OR REPLACE VIEW night.open_approvals AS SELECT a.id, a.namespace_id, a.plan_hash, a.approver, a.channel, a.item_ids, "
        "a.recorded_at, a.expires_at FROM night.approvals a",
        "different: relation night.open_approvals",
    ),
    "a function": (
        "CREATE OR REPLACE FUNCTION night.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp "
        "AS 'BEGIN RETURN NEW; END'",
        "different: function night.refuse_change()",
    ),
    "a missing function": ("DROP FUNCTION night.item_counts(text)", "missing: function night.item_counts(plan text)"),
    "another table": ("CREATE TABLE memory.mine (id int)", "unknown: relation memory.mine"),
    "a right": ("GRANT DELETE ON memory.memories TO slowwave_reader", "different: relation memory.memories"),
    "a right on a column": (
        "GRANT UPDATE (seal) ON night.plans TO slowwave_planner",
        "different: relation night.plans",
    ),
    "a right of all": (
        "GRANT EXECUTE ON FUNCTION memory.register_vector_model(text, integer) TO PUBLIC",
        "different: function memory.register_vector_model(new_model text, new_dimensions integer)",
    ),
    "a schema": ("GRANT CREATE ON SCHEMA memory TO slowwave_applier", "different: schema memory"),
    "an owner": (
        "ALTER FUNCTION night.item_rows(jsonb) OWNER TO slowwave_recorder",
        "different: function night.item_rows(mutation jsonb)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_database_of_the_former_migrations_with_another_schema_is_refused(initial: Store, change: str) -> None:
    """The sentence names the object; nothing was changed."""
    store = initial
    statement, named = CHANGES[change]
    with store.connect("owner") as connection:
        if change == "an owner":  # the owner of a function needs CREATE on its schema at that moment
            connection.execute("GRANT CREATE ON SCHEMA night TO slowwave_recorder")
        connection.execute(statement.encode())
        if change == "an owner":
            connection.execute("REVOKE CREATE ON SCHEMA night FROM slowwave_recorder")
    _set_revision(store, LAST_FORMER)
    with pytest.raises(StoreError, match="nothing was changed") as refusal:
        migrate(store)
    assert f"({named})" in str(refusal.value)
    assert _revision(store) == LAST_FORMER


@pytest.mark.parametrize("revision", ["0001", "0054"])
def test_a_database_at_an_older_revision_is_refused(store: Store, revision: str) -> None:
    """The sentence names the commit that has the migrations in between; `doctor` shows it as well."""
    _set_revision(store, revision)
    for look in (pending_migrations, migrate):
        with pytest.raises(
            StoreError, match=rf"is at migration {revision}, .* Nothing was changed\. Install commit [0-9a-f]{{7}},"
        ):
            look(store)
    assert _revision(store) == revision
    assert any(f"is at migration {revision}" in d.finding for d in diagnose(store))


RELEASED: Final = (INITIAL,)
"""The newest revision of each release, whose databases every later version upgrades. A release that has a new one adds it."""
ROWS: Final = """
INSERT INTO memory.namespaces (id, slug) VALUES ('6a7c1c5e-0000-4000-8000-000000000001', 'kept');
INSERT INTO memory.entities (id, namespace_id, entity_type, name) SELECT gen_random_uuid(), id, 'tool', 'Kettle' FROM memory.namespaces;
"""


@pytest.mark.parametrize("revision", RELEASED)
def test_upgrade_from_a_release_makes_this_schema_and_keeps_the_rows(
    postgres: server.Server, store: Store, revision: str
) -> None:
    """Each release is the base of an upgrade: the result is the schema of a new database, with every row."""
    with at_revision(postgres, revision) as old:
        with old.connect("owner") as connection:
            connection.execute(ROWS.encode())
        migrate(old)
        assert pending_migrations(old) == []
        assert _objects(old) == _objects(store)
        with old.connect("reader") as connection:
            kept = connection.execute(
                "SELECT n.slug, e.name FROM memory.namespaces n JOIN memory.entities e ON e.namespace_id = n.id"
            )
            assert kept.fetchall() == [("kept", "Kettle")]


CHOSEN: Final = """
INSERT INTO memory.namespaces (id, slug, settings) VALUES
  (gen_random_uuid(), 'chosen', '{"auto_approve": ["gc_references", "archive_stale", "gc_references"], "redact_text": "all"}'),
  (gen_random_uuid(), 'none', '{"auto_approve": []}'), (gen_random_uuid(), 'plain', '{"redact_text": "all"}'),
  (gen_random_uuid(), 'odd', '{"auto_approve": ["archive_stale", 7]}'), (gen_random_uuid(), 'odder', '{"auto_approve": "archive_stale"}'),
  (gen_random_uuid(), 'of-the-store', '{"auto_approve": ["archive_stale"]}'),
  (gen_random_uuid(), 'of-its-own', '{"auto_approve": ["gc_references"]}');
INSERT INTO night.stores (name, kind, namespace_settings) VALUES ('theirs', 'table', '{"auto_approve": ["archive_stale"]}');
INSERT INTO night.store_namespaces (namespace_id, store, native) SELECT id, 'theirs', slug FROM memory.namespaces WHERE slug LIKE 'of-%';
INSERT INTO night.runs (id, namespace_id, mode, state) SELECT '6a7c1c5e-0000-4000-8000-000000000002', id, 'apply', 'completed'
  FROM memory.namespaces WHERE slug = 'of-its-own';
INSERT INTO night.notices (id, namespace_id, store, run_id, undo, tables)
  SELECT gen_random_uuid(), namespace_id, 'theirs', id, true, '{"public.notes": [["7"]]}' FROM night.runs;
"""


@pytest.mark.parametrize("major", majors())
def test_upgrade_turns_the_setting_of_a_namespace_into_a_policy_and_keeps_pending_notices(
    tmp_path: Path, major: int
) -> None:
    """Only a namespace's own value makes one. What made none stays among the settings and is reported with the command."""
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(
            cluster.url("postgres"),
            "CREATE ROLE t_owner LOGIN CREATEROLE PASSWORD 'o'",
            "CREATE DATABASE t_store OWNER t_owner",
        )
        run(cluster.url("t_store"), "CREATE EXTENSION vector")
        store = Store(cluster.url("t_store", "t_owner", "o"))
        upgrade_to(store, INITIAL)
        with store.connect("owner") as connection:
            connection.execute(CHOSEN.encode())
        assert migrate(store) == LATER
        with store.connect("reader") as connection:
            made = {policy.namespace: policy for policy in read_policies(connection)}
            settings = dict(connection.execute("SELECT slug, settings FROM memory.namespaces").fetchall())
            ((type_, body, pending),) = connection.execute(
                "SELECT type, body, delivered_at IS NULL AND given_up_at IS NULL FROM night.notices"
            ).fetchall()
        assert {name: policy.low_risk for name, policy in made.items()} == {
            "chosen": ("archive_stale", "gc_references"),
            "of-its-own": ("gc_references",),
        }
        policy = made["chosen"]
        assert (policy.accepted_by, policy.verdict, policy.per_night, policy.stands) == ("setting", "yes", 10**6, True)
        assert (settings["chosen"], settings["none"]) == ({"redact_text": "all"}, {})
        left = {name for name, own in settings.items() if "auto_approve" in own}
        assert left == {"odd", "odder", "of-the-store"}
        told = [d for d in diagnose_settings(store) if "auto_approve" in d.finding]
        assert len(told) == len(left)
        assert all("slowwave policies accept" in d.remedy for d in told)
        assert (type_, pending) == ("store.rows.written", True)
        assert json.loads(str(body))["data"] == {
            **{"store": "theirs", "namespace": "of-its-own", "run_id": "6a7c1c5e-0000-4000-8000-000000000002"},
            **{"undo": True, "tables": {"public.notes": [["7"]]}},
        }
        with (
            store.connect("approver") as connection,
            pytest.raises(psycopg.errors.RaiseException, match="No person is named Setting"),
        ):
            connection.execute(
                "INSERT INTO night.policies (namespace_id, operation, kind, says, answered, agreed, least, per_night, accepted_by) "
                "SELECT namespace_id, operation, kind, says, 0, 0, 0, 1, 'Setting' FROM night.policies LIMIT 1"
            )
        close_idle()


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
    assert "a version that has this migration" in found.remedy


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
