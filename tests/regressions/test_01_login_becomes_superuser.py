"""Line 1: any login of the store became a superuser, or got the owner's rights on a server of one's own.

``memory.note_rows()`` and ``note_updates()`` run with their owner's rights, and everyone could hang them on a table of their own. A
reader made a type, a cast of it to uuid whose function changes roles, and a temporary table with a column of that type; one INSERT,
and the function ran as the owner of the store.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import ROLES
from slowwave.store.migrate import migrate
from tests.clusters import external, majors, run

ATTACK = (
    "CREATE TYPE pg_temp.e AS ENUM ('x')",
    "CREATE FUNCTION pg_temp.f(pg_temp.e) RETURNS uuid LANGUAGE plpgsql AS $$ BEGIN {gain}; "
    "RETURN gen_random_uuid(); END $$",
    "CREATE CAST (pg_temp.e AS uuid) WITH FUNCTION pg_temp.f(pg_temp.e) AS ASSIGNMENT",
)
TABLES = {
    "note_rows": (
        "CREATE TEMPORARY TABLE t (namespace_id pg_temp.e)",
        "CREATE TRIGGER steal AFTER INSERT ON t REFERENCING NEW TABLE AS changed "
        "FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows()",
        "INSERT INTO t VALUES ('x')",
    ),
    "note_updates": (
        "CREATE TEMPORARY TABLE t (id int, content_version int, namespace_id pg_temp.e)",
        "CREATE TRIGGER steal AFTER UPDATE ON t REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows "
        "FOR EACH STATEMENT EXECUTE FUNCTION memory.note_updates()",
        "INSERT INTO t VALUES (1, 1, 'x')",
        "UPDATE t SET content_version = 2",
    ),
}


def _attack(address: str, gain: str, function: str) -> list[str]:
    """Every statement, whatever became of the one before; returns what the database said."""
    told: list[str] = []
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in (*ATTACK, *TABLES[function]):
            try:
                connection.execute(statement.replace("{gain}", gain).encode())
                told.append("done")
            except psycopg.Error as refusal:
                told.append(str(refusal))
    return told


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("role", ROLES)
def test_a_login_of_the_embedded_server_stays_what_it_is(
    store: Store, postgres: server.Server, role: str, function: str
) -> None:
    """As each login: afterwards it is no superuser."""
    told = _attack(store.logins[role], f"ALTER ROLE slowwave_login_{role} SUPERUSER", function)
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        name = f"slowwave_login_{role}"
        row = admin.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
        admin.execute(f"ALTER ROLE {name} NOSUPERUSER".encode())
    assert row == (False,), told


@pytest.mark.parametrize("major", majors())
def test_a_reader_of_ones_own_server_gets_nothing_of_the_owners(tmp_path: Path, major: int) -> None:
    """A plain owner, each role given to a login: none can switch off what keeps approvals on record."""
    logins = [f"t_{role}" for role in ROLES]
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(
            cluster.url("postgres"),
            "CREATE ROLE t_owner LOGIN CREATEROLE PASSWORD 'owner'",
            "CREATE DATABASE t_store OWNER t_owner",
        )
        run(cluster.url("t_store"), "CREATE EXTENSION vector")
        migrate(Store(cluster.url("t_store", "t_owner", "owner")))
        for role, login in zip(ROLES, logins, strict=True):
            run(
                cluster.url("t_store"),
                f"CREATE ROLE {login} LOGIN PASSWORD 'login'",
                f"GRANT slowwave_{role} TO {login}",
            )
            for function in TABLES:
                gain = f"ALTER TABLE night.approvals RENAME TO stolen_by_{login}_with_{function}"
                told = _attack(cluster.url("t_store", login, "login"), gain, function)
                with psycopg.connect(cluster.url("t_store")) as admin:
                    found = admin.execute("SELECT to_regclass('night.approvals') IS NOT NULL").fetchone()
                assert found == (True,), told
