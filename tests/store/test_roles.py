"""What a login lacks, what nobody needs, and statements that mend both: on servers that are not ours, on each major that is here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.logins import GROUPS, ROLES, excess, lacking
from slowwave.store.migrate import migrate
from tests.clusters import external, majors, run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
MODERN = pytest.mark.parametrize("cluster", [m for m in majors() if m >= 16], indirect=True)


@pytest.fixture(params=majors())
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[server.Server]:
    """A server of its own, with a database of a plain login."""
    with external(tmp_path / "cluster", majors()[request.param]) as running:
        run(
            running.url("postgres"),
            "CREATE ROLE t_owner LOGIN PASSWORD 'owner'",
            "CREATE DATABASE t_store OWNER t_owner",
        )
        run(running.url("t_store"), "CREATE EXTENSION vector")
        yield running


def _problems(store: Store) -> list[str]:
    return [d.finding for d in diagnose(store) if d.problem]


def test_the_wheels_major_is_always_tried() -> None:
    """Other majors are tried where their binaries are; the ids of the tests say which."""
    assert 18 in majors()


@pytest.mark.parametrize("major", majors())
def test_the_pages_statements_make_a_store_with_a_login_for_apply(tmp_path: Path, major: int) -> None:
    """Every SQL block of docs/install.md as it stands there, but for the passwords; then migrate and doctor."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    administrator, apply_login = (block for block in blocks if "CREATE ROLE" in block)
    first, then = administrator.replace("…", "o").split("\\connect memory\n")
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(cluster.url("postgres"), *filter(str.strip, first.split(";")))
        run(cluster.url("memory"), then)
        owner = cluster.url("memory", "memory_owner", "o")
        migrate(Store(owner))
        run(cluster.url("memory"), *filter(str.strip, apply_login.replace("…", "w").split(";")))
        store = Store(owner, {"applier": cluster.url("memory", "memory_writer", "w")})
        assert diagnose(store) == []
        for role in ROLES:
            with store.connect(role) as connection:
                connection.execute("SELECT count(*) FROM memory.memories")
        with store.connect("applier") as connection:
            connection.execute("CREATE TEMPORARY TABLE t (id int)")
        with store.connect("reader") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TEMPORARY TABLE t (id int)")


def test_an_owner_who_may_create_no_roles_is_told_what_an_administrator_runs(cluster: server.Server) -> None:
    """The refusal names all five roles; run as printed, the statements are enough, and once is enough."""
    store = Store(cluster.url("t_store", "t_owner", "owner"))
    with pytest.raises(StoreError) as refusal:
        migrate(store)
    with store.connect("owner") as connection:
        statements = lacking(connection)
        left = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname IN ('memory', 'night')").fetchone()
    assert left == (0,)
    assert list(refusal.value.statements) == statements
    assert all(f"{statement};" in str(refusal.value) for statement in statements)
    assert {role for role in GROUPS if f"CREATE ROLE {role} NOLOGIN" in statements} == set(GROUPS)
    told = next(d for d in diagnose(store) if "lacks roles" in d.finding)
    assert list(told.statements) == statements
    run(cluster.url("t_store"), *statements)
    migrate(store)
    migrate(store)
    assert _problems(store) == []
    with store.connect("owner") as connection:
        assert lacking(connection) == []
        assert excess(connection) == []


@MODERN
def test_roles_granted_without_the_right_to_take_them(cluster: server.Server) -> None:
    """A store that works loses one role's SET: the doctor's statement, run by an administrator, brings it back."""
    store = Store(cluster.url("t_store", "t_owner", "owner"))
    with store.connect("owner") as connection:
        statements = lacking(connection)
    run(cluster.url("t_store"), *statements)
    migrate(store)
    run(cluster.url("t_store"), "REVOKE SET OPTION FOR slowwave_planner FROM t_owner")
    (found,) = [d for d in diagnose(store) if d.problem]
    assert found.statements == ("GRANT slowwave_planner TO t_owner WITH INHERIT TRUE, SET TRUE",)
    run(cluster.url("t_store"), *found.statements)
    assert _problems(store) == []


@MODERN
def test_a_login_for_apply_that_does_not_inherit(cluster: server.Server) -> None:
    """It is a member and can do nothing: the doctor's statement mends it."""
    run(cluster.url("postgres"), "ALTER ROLE t_owner CREATEROLE", "CREATE ROLE t_writer LOGIN PASSWORD 'w'")
    owner = cluster.url("t_store", "t_owner", "owner")
    migrate(Store(owner))
    run(cluster.url("t_store"), "GRANT slowwave_applier TO t_writer WITH INHERIT FALSE")
    store = Store(owner, {"applier": cluster.url("t_store", "t_writer", "w")})
    (found,) = [d for d in diagnose(store) if d.problem]
    run(cluster.url("t_store"), *found.statements)
    assert diagnose(store) == []


def test_a_database_as_a_dump_brings_it_back_is_narrowed_again(cluster: server.Server) -> None:
    """Rights on the database are in no dump: the doctor says so, its statements mend it, and so does migrate."""
    run(cluster.url("postgres"), "ALTER ROLE t_owner CREATEROLE")
    owner = cluster.url("t_store", "t_owner", "owner")
    store = Store(owner)
    migrate(store)
    widened = ("GRANT TEMPORARY ON DATABASE t_store TO PUBLIC", "GRANT CREATE ON SCHEMA public TO PUBLIC")
    run(cluster.url("t_store"), *widened)
    (found,) = [d for d in diagnose(store) if d.statements]
    assert not found.problem
    run(owner, *found.statements)
    with store.connect("owner") as connection:
        assert excess(connection) == []
    run(cluster.url("t_store"), *widened)
    migrate(store)
    with store.connect("owner") as connection:
        assert excess(connection) == []


def test_a_definer_function_that_lost_its_owner_is_named_and_mended(cluster: server.Server) -> None:
    """As after a restore without owners: the doctor's statement is enough."""
    run(cluster.url("postgres"), "ALTER ROLE t_owner CREATEROLE")
    owner = cluster.url("t_store", "t_owner", "owner")
    store = Store(owner)
    migrate(store)
    run(
        cluster.url("t_store"),
        "ALTER FUNCTION memory.note_rows() OWNER TO t_owner",
        "GRANT EXECUTE ON FUNCTION memory.note_rows() TO PUBLIC",
    )
    (found,) = [d for d in diagnose(store) if d.problem]
    assert "memory.note_rows()" in found.finding
    run(owner, *found.statements)
    assert _problems(store) == []


def test_a_superuser_as_owner_is_advised_against(cluster: server.Server) -> None:
    """It works, and is no good idea."""
    store = Store(cluster.url("t_store"))
    migrate(store)
    assert _problems(store) == []
    assert any("is a superuser" in d.finding for d in diagnose(store))
