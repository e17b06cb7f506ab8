"""The embedded server's superuser prepares and works no more; a home of an earlier version is handed over whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store import server as bootstrap
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.logins import LOGINS, ROLES
from slowwave.store.migrate import LAST_FORMER, open_store, pending_migrations
from tests.clusters import run, upgrade_to
from tests.nights import new_world

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the environment's embedded server, stopped after the test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SLOWWAVE_HOME", str(folder))
    yield folder
    server.stop(folder)


def _owners(address: str) -> set[str]:
    """Who owns the database, and in it what is no extension's and no system's."""
    with psycopg.connect(address) as admin:
        rows = admin.execute(
            "SELECT pg_get_userbyid(o) FROM (SELECT datdba FROM pg_database WHERE datname = current_database() "
            "UNION SELECT nspowner FROM pg_namespace WHERE nspname IN ('memory', 'night') "
            "UNION SELECT relowner FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN "
            "('memory', 'night', 'public')) UNION SELECT proowner FROM pg_proc p WHERE pronamespace IN "
            "(SELECT oid FROM pg_namespace WHERE nspname IN ('memory', 'night')) "
            "UNION SELECT typowner FROM pg_type t WHERE typtype = 'e' AND typnamespace = 'public'::regnamespace) AS owners (o)"
        )
        return {str(owner) for (owner,) in rows}


def _as_the_version_before_left_it(home: Path) -> Store:
    """A home whose tables belong to the superuser, at the last of the former migrations, with the logins and passwords of then."""
    running = server.start(home)
    run(
        running.url("postgres"),
        "DROP DATABASE slowwave",
        "DROP DATABASE dagster",
        *(f"DROP ROLE {role}" for role in (LOGINS["owner"], LOGINS["dagster"], "slowwave_recorder")),
        "CREATE DATABASE slowwave",
        "CREATE DATABASE dagster",
        "ALTER ROLE slowwave_login_reader SUPERUSER",  # somebody had made use of it
    )
    run(
        running.url("dagster"),
        "CREATE TYPE state AS ENUM ('on', 'off')",
        "CREATE TABLE runs (id serial PRIMARY KEY, at bigint GENERATED ALWAYS AS IDENTITY, state state)",
        "INSERT INTO runs (state) VALUES ('on')",
    )
    kept = json.loads((home / "logins.json").read_text())
    (home / "logins.json").write_text(json.dumps({role: kept[role] for role in ROLES}))
    superuser = Store(running.url("slowwave"))
    upgrade_to(superuser, "0001_initial")
    run(superuser.owner, f"UPDATE night.alembic_version SET version_num = '{LAST_FORMER}'")
    return superuser


def test_nothing_of_a_fresh_home_is_the_superusers(home: Path) -> None:
    """Databases, tables and logins; the doctor has nothing to say."""
    store = open_store()
    running = server.start(home)
    assert _owners(running.url("slowwave")) == {LOGINS["owner"], "slowwave_recorder"}
    assert _owners(running.url("dagster")) == {LOGINS["dagster"]}
    assert diagnose(store) == []
    with store.connect("owner") as connection:
        row = connection.execute(
            "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles "
            "WHERE rolname = current_user"
        ).fetchone()
    assert row == (False,)


def test_a_home_of_the_version_before_is_handed_over_with_what_it_holds(home: Path) -> None:
    """Every row is there, every table has its new owner, passwords of the old logins stand, and nobody is superuser by theft."""
    before = _as_the_version_before_left_it(home)
    world = new_world(before)
    passwords = json.loads((home / "logins.json").read_text())
    store = open_store()
    assert pending_migrations(store) == []
    assert diagnose(store) == []
    running = server.start(home)
    assert _owners(running.url("slowwave")) == {LOGINS["owner"], "slowwave_recorder"}
    assert _owners(running.url("dagster")) == {LOGINS["dagster"]}
    after = json.loads((home / "logins.json").read_text())
    assert {role: after[role] for role in ROLES} == passwords
    with store.connect("reader") as connection:
        found = connection.execute("SELECT slug FROM memory.namespaces").fetchall()
        superusers = connection.execute("SELECT rolname FROM pg_roles WHERE rolsuper").fetchall()
    assert found == [(world.slug,)]
    assert superusers == [("slowwave",)]
    with psycopg.connect(running.url("dagster", LOGINS["dagster"], after["dagster"]), autocommit=True) as dagster:
        dagster.execute("INSERT INTO runs (state) VALUES ('off')")
        dagster.execute("ALTER TABLE runs ADD COLUMN note text")
        assert dagster.execute("SELECT id, at, state::text FROM runs ORDER BY id").fetchall() == [
            (1, 1, "on"),
            (2, 2, "off"),
        ]


def test_handing_over_waits_for_no_one_for_long_and_is_done_the_next_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody works on a table: a sentence, nothing half done; afterwards it goes through."""
    before = _as_the_version_before_left_it(home)
    monkeypatch.setattr(bootstrap, "_WAIT", "200ms")
    with before.connect("owner") as busy, busy.transaction():
        busy.execute("LOCK TABLE memory.memories IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="somebody works on them"):
            open_store()
        assert _owners(before.owner) == {"slowwave", "slowwave_recorder"}
    assert diagnose(open_store()) == []


def test_a_copied_database_keeps_temporary_tables_for_apply(store: Store) -> None:
    """A copy comes without the rights on its template: tests and benchmarks run as narrowly as a real store."""
    with store.connect("owner") as connection:
        row = connection.execute(
            "SELECT has_database_privilege('public', current_database(), 'TEMPORARY'), "
            "has_database_privilege('slowwave_applier', current_database(), 'TEMPORARY')"
        ).fetchone()
    assert row == (False, True)
