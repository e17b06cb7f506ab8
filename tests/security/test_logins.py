"""What an attacker tries who holds one of the store's logins: none of it works, for any of the four.

Embedded server, real logins. What a login may do by design (read, and write what its role writes) is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import psycopg
import pytest

from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import LOGINS, ROLES
from tests.nights import new_world

ALONE = ("CREATE DATABASE", "ALTER SYSTEM")  # cannot run inside a transaction

ROLES_TAKEN = [
    *(f"SET ROLE {role}" for role in ("slowwave", "slowwave_recorder", "slowwave_owner", "slowwave_dagster")),
    *(f"SET SESSION AUTHORIZATION {role}" for role in ("slowwave", "slowwave_owner", "slowwave_recorder")),
    "GRANT slowwave_recorder TO CURRENT_USER",
    "GRANT slowwave_owner TO CURRENT_USER",
    "GRANT pg_execute_server_program TO CURRENT_USER",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "ALTER ROLE CURRENT_USER CREATEROLE",
    "ALTER ROLE slowwave_owner PASSWORD 'mine'",
    "CREATE ROLE t_mine",
    "ALTER ROLE slowwave_owner SET search_path = evil",
]
OBJECTS_MADE = [
    *(f"CREATE TABLE {schema}.t_mine (id int)" for schema in ("public", "memory", "night")),
    *(f"CREATE TYPE {schema}.t_mine AS ENUM ('x')" for schema in ("public", "memory", "night")),
    *(
        f"CREATE FUNCTION {schema}.t_mine() RETURNS int LANGUAGE sql AS 'SELECT 1'"
        for schema in ("public", "memory", "night", "pg_catalog")
    ),
    "CREATE SCHEMA t_mine",
    "CREATE DATABASE t_mine",
    "CREATE EXTENSION pg_trgm",
    "CREATE EXTENSION dblink",
    "CREATE EVENT TRIGGER t_mine ON ddl_command_end EXECUTE FUNCTION memory.note_rows()",
    "CREATE LANGUAGE t_mine HANDLER plpgsql_call_handler",
    "CREATE TRIGGER t_mine AFTER INSERT ON memory.memories FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows()",
    "CREATE RULE t_mine AS ON INSERT TO memory.changes DO ALSO SELECT 1",
    "CREATE INDEX ON memory.memories (kind)",
    "CREATE PUBLICATION t_mine FOR ALL TABLES",
]
OBJECTS_CHANGED = [
    "ALTER FUNCTION memory.note_rows() SECURITY INVOKER",
    "ALTER FUNCTION memory.note_rows() SET search_path = pg_temp",
    "CREATE OR REPLACE FUNCTION memory.note_rows() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "GRANT EXECUTE ON FUNCTION memory.note_rows() TO PUBLIC",
    "ALTER TABLE night.approvals DISABLE TRIGGER ALL",
    "DROP TABLE night.approvals",
    "TRUNCATE night.approvals",
    "ALTER TABLE memory.changes OWNER TO CURRENT_USER",
    "INSERT INTO memory.changes (namespace_id, table_name) VALUES (gen_random_uuid(), 'memories')",
    "DELETE FROM memory.changes",
    "UPDATE memory.vector_models SET dimensions = 3",
    "UPDATE memory.namespaces SET read_only = false",
    "UPDATE night.alembic_version SET version_num = '0055'",
    "SET session_replication_role = replica",
    "SET deadlock_timeout = '1h'",
    "ALTER SYSTEM SET listen_addresses = '*'",
]
FUNCTIONS_RUN = [
    "SELECT night.as_definer('memory.bump_content_version()')",
    "SELECT memory.register_vector_model('mine', 3)",
    "SELECT memory.ensure_recall_partitions(now(), now())",
]
MACHINE_REACHED = [
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY memory.documents (content) FROM PROGRAM 'id'",
    "COPY (SELECT 1) TO '/tmp/t_mine'",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/t_mine')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('PG_VERSION')",
    "SELECT * FROM pg_ls_dir('.')",
    "SELECT pg_reload_conf()",
    "SELECT rolpassword FROM pg_authid",
    "SELECT passwd FROM pg_shadow",
    "LOAD '/tmp/t_mine.so'",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'slowwave_owner'",
]


@pytest.fixture(params=ROLES)
def attacker(store: Store, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A bare connection with the login of one role, on a store that holds something."""
    new_world(store)
    with store.connect("owner"), psycopg.connect(store.logins[request.param], autocommit=True) as connection:
        yield connection


def _worked(attacker: psycopg.Connection[tuple[object, ...]], attempts: list[str]) -> list[str]:
    done: list[str] = []
    for attempt in attempts:
        try:
            with nullcontext() if attempt.startswith(ALONE) else attacker.transaction(force_rollback=True):
                attacker.execute(attempt.encode())
            done.append(attempt)
        except psycopg.errors.InsufficientPrivilege:
            pass
    return done


@pytest.mark.parametrize(
    "attempts",
    [ROLES_TAKEN, OBJECTS_MADE, OBJECTS_CHANGED, FUNCTIONS_RUN, MACHINE_REACHED],
    ids=["roles", "objects made", "objects changed", "functions", "machine"],
)
def test_nothing_of_it_is_granted(attacker: psycopg.Connection[tuple[object, ...]], attempts: list[str]) -> None:
    """Each attempt is refused for want of a right, never for a mistake in the attempt."""
    assert _worked(attacker, attempts) == []


def test_the_same_attempts_work_for_the_superuser(store: Store, postgres: server.Server, database: str) -> None:
    """So the attempts are real ones: all but those that only fail for other reasons here work with every right."""
    new_world(store)
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        assert _worked(admin, FUNCTIONS_RUN) == FUNCTIONS_RUN
        worked = _worked(admin, [a for a in OBJECTS_CHANGED if "night.approvals" not in a and "SYSTEM" not in a])
        assert len(worked) > 8


@pytest.mark.parametrize("role", ROLES)
def test_no_login_takes_the_role_of_another(store: Store, role: str) -> None:
    """Its own is all that it may take."""
    others = [name for other in ROLES if other != role for name in (f"slowwave_{other}", LOGINS[other])]
    with psycopg.connect(store.logins[role], autocommit=True) as connection:
        assert _worked(connection, [f"SET ROLE slowwave_{role}"])
        assert _worked(connection, [f"SET ROLE {other}" for other in others]) == []


@pytest.mark.parametrize("role", ["reader", "planner", "approver"])
def test_temporary_objects_are_for_apply_alone(store: Store, role: str) -> None:
    """Whoever may make none cannot hang a trigger, a cast or an operator on anything."""
    with psycopg.connect(store.logins[role], autocommit=True) as connection:
        for attempt in (
            "CREATE TEMPORARY TABLE t (id int)",
            "CREATE TYPE pg_temp.e AS ENUM ('x')",
            "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(attempt.encode())


@pytest.mark.parametrize(
    "trigger",
    [
        "AFTER INSERT ON t REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows()",
        "AFTER DELETE ON t REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows()",
        "AFTER UPDATE ON t REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows "
        "FOR EACH STATEMENT EXECUTE FUNCTION memory.note_updates()",
        "BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION memory.bump_content_version()",
        "BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION memory.refuse_unless_undo()",
        "BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION night.refuse_change()",
    ],
)
def test_apply_hangs_no_function_of_ours_on_its_temporary_tables(store: Store, trigger: str) -> None:
    """The applier may make tables; what our triggers run is not his to execute."""
    with psycopg.connect(store.logins["applier"], autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE t (id uuid, namespace_id uuid, content_version bigint)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"CREATE TRIGGER t_mine {trigger}".encode())


@pytest.mark.parametrize("function", ["note_rows", "note_updates"])
@pytest.mark.parametrize("schema", ["pg_temp", "memory"])
def test_casts_are_not_run_even_where_execute_was_granted(
    store: Store, postgres: server.Server, database: str, schema: str, function: str
) -> None:
    """Somebody gave the right away, and tables in memory too: a column of another type is refused before any cast of it runs."""
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        admin.execute(f"GRANT EXECUTE ON FUNCTION memory.{function}() TO slowwave_applier".encode())
        admin.execute("GRANT CREATE ON SCHEMA memory TO slowwave_applier")
    with psycopg.connect(store.logins["applier"], autocommit=True) as connection:
        for kind, name in (("uuid", "e"), ("bigint", "v")):
            connection.execute(f"CREATE TYPE {schema}.{name} AS ENUM ('x', 'y')".encode())
            connection.execute(
                f"CREATE FUNCTION {schema}.f({schema}.{name}) RETURNS {kind} LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'run as %', current_user; END $$".encode()
            )
            connection.execute(
                f"CREATE CAST ({schema}.{name} AS {kind}) WITH FUNCTION {schema}.f({schema}.{name}) AS IMPLICIT".encode()
            )
        connection.execute(
            f"CREATE TABLE {schema}.t (id {schema}.e, namespace_id {schema}.e, content_version {schema}.v)".encode()
        )
        event, tables = (
            ("INSERT", "NEW TABLE AS changed")
            if function == "note_rows"
            else ("UPDATE", "OLD TABLE AS before_rows NEW TABLE AS after_rows")
        )
        connection.execute(
            f"CREATE TRIGGER t_mine AFTER {event} ON {schema}.t REFERENCING {tables} FOR EACH STATEMENT "
            f"EXECUTE FUNCTION memory.{function}()".encode()
        )
        fire = f"INSERT INTO {schema}.t VALUES ('x', 'x', 'x')"
        if function == "note_updates":
            connection.execute(fire.encode())
            fire = f"UPDATE {schema}.t SET content_version = 'y'"
        with pytest.raises(psycopg.errors.RaiseException, match="is no table of memory"):
            connection.execute(fire.encode())


def test_nobody_reaches_the_database_of_dagster(store: Store, postgres: server.Server) -> None:
    """Its login and the superuser alone."""
    there = psycopg.conninfo.conninfo_to_dict(postgres.url("dagster"))["dbname"]
    for role in ROLES:
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(store.logins[role], dbname=there)
