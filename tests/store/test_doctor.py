"""The doctor finds what is wrong and names the remedy."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from slowwave.errors import StoreError
from slowwave.models.embedding_models import default_model
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.logins import GROUPS
from slowwave.store.migrate import migrate


def _findings(store: Store) -> str:
    return " ".join(f"{d.finding} → {d.remedy}" for d in diagnose(store) if d.problem)


def test_a_good_database_is_well(store: Store) -> None:
    """The embedded one, with its logins."""
    assert diagnose(store) == []


def test_one_login_for_all_is_advice_not_a_problem(store: Store) -> None:
    """An external database with one URL works by SET ROLE, and the doctor says what that is worth."""
    found = diagnose(Store(store.owner))
    assert [d.problem for d in found] == [False]
    assert "advisory" in found[0].finding


def test_an_unreachable_server(store: Store) -> None:
    """The address is told, the password is not."""
    broken = Store(store.owner.replace(f":{psycopg.conninfo.conninfo_to_dict(store.owner)['port']}/", ":1/"))
    found = _findings(broken)
    assert "does not answer" in found
    assert str(psycopg.conninfo.conninfo_to_dict(store.owner)["password"]) not in found


@pytest.mark.usefixtures("database")
def test_an_empty_database_lacks_pgvector_and_migrations(postgres: server.Server) -> None:
    """Both are named with what to do."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("CREATE DATABASE t_empty")
    try:
        found = _findings(Store(postgres.url("t_empty")))
    finally:
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
            admin.execute("DROP DATABASE t_empty WITH (FORCE)")
    assert "CREATE EXTENSION vector" in found
    assert "Migrations are pending: 0001_initial" in found


@pytest.mark.usefixtures("database")
def test_a_database_of_another_encoding_is_refused_in_a_sentence(postgres: server.Server) -> None:
    """SQL_ASCII is what initdb makes where no locale is set."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("CREATE DATABASE t_ascii ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
    store = Store(postgres.url("t_ascii"))
    try:
        assert "encoded in SQL_ASCII" in _findings(store)
        with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
            migrate(store)
    finally:
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
            admin.execute("DROP DATABASE t_ascii WITH (FORCE)")


def test_a_migration_that_cannot_run_says_so_and_leaves_nothing(postgres: server.Server) -> None:
    """A login that may not create extensions: one sentence, and the database is as empty as before."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("CREATE ROLE t_nobody LOGIN PASSWORD 'nothing'")
        admin.execute(f"GRANT {', '.join(GROUPS)} TO t_nobody".encode())
        admin.execute("CREATE DATABASE t_barred OWNER t_nobody")
    try:
        with pytest.raises(StoreError, match="nothing of it stands"):
            migrate(Store(postgres.url("t_barred", "t_nobody", "nothing")))
        with psycopg.connect(postgres.url("t_barred")) as connection:
            found = connection.execute(
                "SELECT count(*) FROM pg_namespace WHERE nspname IN ('memory', 'night')"
            ).fetchone()
        assert found == (0,)
    finally:
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
            admin.execute("DROP DATABASE t_barred WITH (FORCE)")
            admin.execute("DROP ROLE t_nobody")


def test_a_role_without_its_grants(store: Store) -> None:
    """Somebody revoked what the reader reads."""
    with store.connect("owner") as connection:
        connection.execute(sql.SQL("REVOKE SELECT ON memory.namespaces FROM slowwave_reader"))
    assert "The role slowwave_reader cannot work" in _findings(store)


def test_a_store_never_shows_its_address(store: Store) -> None:
    """Not in logs, not in errors."""
    assert "password" not in repr(store)
    assert str(psycopg.conninfo.conninfo_to_dict(store.owner)["password"]) not in repr(store)


def test_a_model_that_is_set_and_not_installed_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one that can be set instead; where its wheels are, nothing is said."""
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", "all-minilm-l6-v2-int8")
    assert not [d for d in diagnose(store) if "all-minilm" in d.finding]
    monkeypatch.setattr("slowwave.models.embedding_models._MINILM_NEEDS", ("no_such_wheel",))
    (found,) = [d for d in diagnose(store) if "all-minilm" in d.finding]
    assert found.problem
    assert "fast-use-v3" in found.remedy


def test_the_static_model_stands_in_where_no_wheels_are_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As advice; whoever sets it knows."""
    monkeypatch.setattr("slowwave.models.embedding_models._MINILM_NEEDS", ("no_such_wheel",))
    default_model.cache_clear()
    assert not [d for d in diagnose(store) if "all-minilm" in d.finding]
    monkeypatch.delenv("SLOWWAVE_EMBEDDING_MODEL")
    (found,) = [d for d in diagnose(store) if "all-minilm" in d.finding]
    default_model.cache_clear()
    assert (found.problem, "find less" in found.finding) == (False, True)
