"""What is wrong with a database, in words, each with its remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.errors import StoreError
from slowwave.store.connect import ROLES, Connection, Store
from slowwave.store.migrate import pending_migrations

OLDEST_POSTGRES: Final = 150000
OLDEST_PGVECTOR: Final = (0, 7)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing found. ``problem`` is False for advice that stops nothing."""

    finding: str
    remedy: str
    problem: bool = True


def diagnose(store: Store) -> list[Diagnosis]:
    """Everything that keeps this version from working with a database, worst first; empty when it is well."""
    try:
        with store.connect("owner") as connection:
            found = [*_server(connection), *_schema(store, connection)]
    except StoreError as problem:
        return [Diagnosis(str(problem), "Start the server, or set SLOWWAVE_DATABASE_URL to one that runs.")]
    if not any(d.problem for d in found):
        found += _logins(store)
    if not store.embedded and "applier" not in store.logins:
        found.append(
            Diagnosis(
                "One login reads, plans, approves and applies: roles are taken by SET ROLE, so their separation is advisory.",
                "Give apply a login of its own in SLOWWAVE_APPLY_DATABASE_URL, a member of slowwave_applier.",
                problem=False,
            )
        )
    return found


def _server(connection: Connection) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    version = connection.info.server_version
    if version < OLDEST_POSTGRES:
        found.append(
            Diagnosis(
                f"PostgreSQL {version // 10000} is too old: 15 is the oldest that has what the migrations use.",
                "Upgrade the server, or point SLOWWAVE_DATABASE_URL at another one.",
            )
        )
    row = connection.execute(
        "SELECT (SELECT 1 FROM pg_available_extensions WHERE name = 'vector'), "
        "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
    ).fetchone()
    available, created = row or (None, None)
    if not available:
        found.append(
            Diagnosis("The server has no pgvector.", "Install pgvector on the server (package postgresql-NN-pgvector).")
        )
    elif not created:
        found.append(
            Diagnosis(
                "pgvector is not created in this database.",
                "Run CREATE EXTENSION vector as a superuser, then `slowwave migrate`.",
            )
        )
    elif tuple(int(n) for n in re.findall(r"\d+", str(created))[:2]) < OLDEST_PGVECTOR:
        found.append(
            Diagnosis(
                f"pgvector {created} is too old: 0.7 is the oldest with HNSW on half vectors.",
                "Upgrade the package on the server, then run ALTER EXTENSION vector UPDATE.",
            )
        )
    return found


def _schema(store: Store, connection: Connection) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    if pending := pending_migrations(store):
        found.append(
            Diagnosis(
                f"Migrations are pending: {', '.join(pending)}.", "Run `slowwave migrate` as the database's owner."
            )
        )
    have = {
        str(r) for (r,) in connection.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'slowwave_')")
    }
    missing = [f"slowwave_{r}" for r in ROLES if f"slowwave_{r}" not in have]
    if missing and not pending:
        found.append(
            Diagnosis(
                f"Roles are missing: {', '.join(missing)}.",
                "Let an administrator CREATE ROLE them (NOLOGIN) and GRANT them as the first migration does.",
            )
        )
    return found


def _logins(store: Store) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    for role in ROLES:
        try:
            with store.connect(role) as connection:
                connection.execute("SELECT 1 FROM memory.namespaces LIMIT 1")
                connection.execute("SELECT 1 FROM night.runs LIMIT 1")
        except (StoreError, psycopg.Error) as problem:
            found.append(
                Diagnosis(
                    f"The role slowwave_{role} cannot work: {str(problem).splitlines()[0]}",
                    f"GRANT slowwave_{role} to the login, and USAGE and SELECT on the schemas memory and night to the role.",
                )
            )
    return found
