"""Databases that are lent to one test after another, and owners' connections that wait to be used again.

A copy of the template costs little. What costs is that each connection to it is new, and learns its tables, triggers and functions
anew: that was more CPU than all else that PostgreSQL does in these tests. So a database is emptied and lent again, with the idle
connections beside it, while its catalogue is what it was when it was copied. After anything else that a test did to it, it is dropped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg import sql

from slowwave.store import logins, server
from slowwave.store.connect import Store
from slowwave.store.logins import Role
from tests.clusters import copied, dropped

MOST: Final = 100
"""How many tests a database is lent to: nobody vacuums what they leave."""

_CATALOGUES: Final = (
    *(
        "attrdef",
        "attribute",
        "class",
        "constraint",
        "default_acl",
        "description",
        "enum",
        "event_trigger",
        "extension",
    ),
    *("inherits", "policy", "proc", "publication", "rewrite", "trigger", "type"),
)
_LATEST: Final = "age('3'::xid) - min(age(xmin)) FILTER (WHERE age(xmin) < 2147483647)"
"""Number of the latest transaction that wrote a row. Its difference to the next one costs a third of what xmin as text does."""

_CATALOGUE: Final = " UNION ALL ".join(
    [
        *(f"SELECT '{name}', count(*), {_LATEST} FROM pg_catalog.pg_{name}" for name in _CATALOGUES),
        f"SELECT 'namespace', count(*), {_LATEST} FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'",
        f"SELECT 'database', count(*), {_LATEST} FROM pg_catalog.pg_database WHERE datname = current_database()",
        "SELECT 'setting', count(*), NULL FROM pg_catalog.pg_db_role_setting",
    ]
)
"""How many rows each catalogue has, and which transaction made the latest of them."""

_MADE: Final = """
SELECT i.indexrelid::regclass::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
 WHERE c.relnamespace IN ('memory'::regnamespace, 'night'::regnamespace) AND c.oid > %(last)s AND t.oid <= %(last)s
   AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint o WHERE o.conindid = c.oid)
"""
"""Indexes that came with a model of vectors."""

_TABLES: Final = """
SELECT c.oid::regclass::text FROM pg_catalog.pg_class c
 WHERE c.relkind = 'r' AND c.relnamespace IN ('memory'::regnamespace, 'night'::regnamespace)
"""
_SEQUENCES: Final = """
SELECT c.oid::regclass::text FROM pg_catalog.pg_class c
 WHERE c.relkind = 'S' AND c.relnamespace IN ('memory'::regnamespace, 'night'::regnamespace)
"""
_KEPT: Final = ("night.alembic_version", "night.store")
"""What a migration has written."""


@dataclass
class _Spare:
    """A database that nobody has, and what it was when it was copied."""

    name: str
    admin: psycopg.Connection[tuple[Any, ...]]
    last: int
    catalogue: list[tuple[Any, ...]]
    kept: list[tuple[Any, ...]]
    lent: int = 0


@dataclass
class Lender:
    """One server's databases, copied from one template."""

    postgres: server.Server
    template: str
    spare: list[_Spare] = field(default_factory=list)

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The name of a database as its template is."""
        one = self.spare.pop() if self.spare else self._copied()
        one.lent += 1
        try:
            yield one.name
        finally:
            if one.lent < MOST and self._emptied(one):
                self.spare.append(one)
            else:
                one.admin.close()
                dropped(self.postgres, one.name)

    def _copied(self) -> _Spare:
        name = copied(self.postgres, self.template)
        admin = psycopg.connect(self.postgres.url(name), autocommit=True)
        admin.execute(
            "SET session_replication_role = replica; SET lock_timeout = '10s'"
        )  # rows go without triggers and keys
        ((last,),) = admin.execute("SELECT max(oid)::bigint FROM pg_catalog.pg_class").fetchall()
        tables = [str(t) for (t,) in admin.execute(_TABLES) if t not in _KEPT]
        sequences = [str(s) for (s,) in admin.execute(_SEQUENCES)]
        statements = [*(f"DELETE FROM {t}" for t in tables), *(f"PERFORM setval('{s}', 1, false)" for s in sequences)]
        # A function keeps the plans of its statements, which cost three times as much as what they do.
        admin.execute(
            f"CREATE FUNCTION pg_temp.empty() RETURNS void LANGUAGE plpgsql AS $$BEGIN {'; '.join(statements)}; END$$".encode()
        )
        return _Spare(name, admin, int(last), _read(admin, _CATALOGUE), _rows(admin))

    def _emptied(self, one: _Spare) -> bool:
        """Bring a database to where it was; False where it can't be, or nobody knows."""
        try:
            waiting = [w.connection.info.backend_pid for w in logins._idle.waiting if not w.connection.closed]
            one.admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL (%s)",
                (waiting,),
            )
            if _read(one.admin, _CATALOGUE) != one.catalogue:
                for (index,) in one.admin.execute(_MADE, {"last": one.last}).fetchall():
                    one.admin.execute(sql.SQL("DROP INDEX {}").format(sql.SQL(str(index))))
                if _read(one.admin, _CATALOGUE) != one.catalogue:
                    return False
            if _rows(one.admin) != one.kept:
                return False
            one.admin.execute("SELECT pg_temp.empty()")
        except psycopg.Error:
            return False
        return True


def _read(admin: psycopg.Connection[tuple[Any, ...]], query: str) -> list[tuple[Any, ...]]:
    return admin.execute(query.encode()).fetchall()


def _rows(admin: psycopg.Connection[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return _read(admin, " UNION ALL ".join(f"SELECT t::text FROM {name} AS t" for name in _KEPT))


connect_as_in_production: Final = Store.connect


@contextmanager
def connect_and_keep(store: Store, role: Role) -> Generator[logins.Connection]:
    """``Store.connect``, but the owner's connections wait as well: tests look at a store as its owner, who works little elsewhere."""
    if role != "owner":
        with connect_as_in_production(store, role) as connection:
            yield connection
        return
    key = (store.owner, "")
    connection = logins.take(key) or store._opened(role)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    logins.give_back(key, connection)
