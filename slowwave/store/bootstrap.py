"""What the superuser of the embedded server prepares, and nobody else: roles, logins, databases, pgvector.

Afterwards he has no part in the work: the database ``slowwave`` belongs to ``slowwave_owner``, the database ``dagster`` to
``slowwave_dagster``, both plain logins. In a home of an earlier version all belonged to the superuser; it is handed over here, in one
transaction a database. Making tables is the migrations' matter, starting the server ``store.server``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import psycopg
from psycopg import sql

from slowwave.store.connect import LOGINS, ROLES
from slowwave.store.idle import Connection, close_idle
from slowwave.store.roles import GROUPS

OWNER: Final = LOGINS["owner"]
DAGSTER: Final = LOGINS["dagster"]
_DATABASES: Final = (("slowwave", OWNER, ("memory", "night")), ("dagster", DAGSTER, ("public",)))
_PLAIN: Final = "LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS"
_WAIT: Final = "10s"  # handing over waits no longer than this for whoever works on a table

_DATABASE_OWNERS: Final = "SELECT datname, pg_get_userbyid(datdba) FROM pg_database"
_ROLE_NAMES: Final = "SELECT rolname FROM pg_roles"
_PGVECTOR: Final = "SELECT current_database(), count(*) FROM pg_available_extensions WHERE name = 'vector'"
_CREATE_PGVECTOR: Final = "CREATE EXTENSION IF NOT EXISTS vector"
_HAND_OVER: Final = """
DO $do$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    WITH ours AS (SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname = ANY({schemas})),
    mine AS (SELECT oid FROM pg_roles WHERE rolname = current_user)
    SELECT format('ALTER SCHEMA %I OWNER TO %I', o.nspname, {owner}) FROM ours o, mine WHERE o.nspowner = mine.oid
    UNION ALL
    SELECT format('ALTER %s %s OWNER TO %I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW'
             WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass, {owner})
    FROM pg_class c JOIN ours o ON o.oid = c.relnamespace, mine
    WHERE c.relowner = mine.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass
                      AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, {owner})
    FROM pg_proc p JOIN ours o ON o.oid = p.pronamespace, mine
    WHERE p.proowner = mine.oid
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO %I', t.oid::regtype, {owner})
    FROM pg_type t JOIN ours o ON o.oid = t.typnamespace, mine
    WHERE t.typowner = mine.oid AND t.typtype IN ('e', 'd', 'r')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = t.oid AND d.classid = 'pg_type'::regclass AND d.deptype = 'e')
  LOOP
    EXECUTE statement;
  END LOOP;
END $do$
"""


def prepare(url: Callable[[str], str], passwords: Mapping[str, str]) -> None:
    """Make what is missing, set the logins' passwords, hand over what an earlier version left with the superuser.

    ``url`` gives the superuser's address of a database; ``passwords`` has one for every key of ``LOGINS``. Does little when all is
    there. One process at a time: the caller holds the lock of the home. Raises psycopg errors.
    """
    with psycopg.connect(url("postgres"), autocommit=True, connect_timeout=10) as admin:
        _provide_roles(admin, passwords)
        owners = {str(name): str(owner) for name, owner in admin.execute(_DATABASE_OWNERS)}
        for name, owner, schemas in _DATABASES:
            if name not in owners:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            if owners.get(name) != owner:
                hand_over(url(name), owner, schemas)


def create_database(url: Callable[[str], str], name: str, template: str = "template1") -> None:
    """Another database for a store on the embedded server, empty or a copy of ``template``; it belongs to the store's owner.

    A copy comes without the rights on its template's database, so they are given again. Nobody may be connected to the template; idle
    connections of this process are closed.
    """
    close_idle()
    with psycopg.connect(url("postgres"), autocommit=True) as admin:
        if template != "template1":
            copy_database(admin, name, template)
            return
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        hand_over(url(name), OWNER, ("memory", "night"))
        _hold_temporary_tables_back(admin, name)


def copy_database(admin: Connection, name: str, template: str) -> None:
    """The same on a connection of the superuser's: a copy of a database to which nobody is connected, the store's owner's as that is."""
    made = sql.Identifier(name)
    admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(made, sql.Identifier(template)))
    admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(made, sql.Identifier(OWNER)))
    _hold_temporary_tables_back(admin, name)


def _hold_temporary_tables_back(admin: Connection, name: str) -> None:
    """Of all who may connect, the applier alone makes temporary tables."""
    made = sql.Identifier(name)
    admin.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(made))
    admin.execute(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(made, sql.Identifier("slowwave_applier")))


def hand_over(address: str, owner: str, schemas: tuple[str, ...]) -> None:
    """Give a database, and what the superuser owns in its ``schemas``, to ``owner``; pgvector is made first where a store is meant.

    One transaction, the database last: interrupted, it begins again at the next start. Raises ``LockNotAvailable`` where somebody
    works on a table for long.
    """
    with psycopg.connect(address, autocommit=True, connect_timeout=10) as admin, admin.transaction():
        admin.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(_WAIT)))
        found = admin.execute(_PGVECTOR)
        database, available = found.fetchone() or ("", 0)
        if owner == OWNER and available:
            admin.execute(_CREATE_PGVECTOR)
        admin.execute(sql.SQL(_HAND_OVER).format(schemas=sql.Literal(list(schemas)), owner=sql.Literal(owner)))
        name = sql.Identifier(str(database))
        if owner == DAGSTER:
            admin.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(owner)))


def _provide_roles(admin: Connection, passwords: Mapping[str, str]) -> None:
    present = {str(name) for (name,) in admin.execute(_ROLE_NAMES)}
    statements: list[sql.Composed] = []
    for key, login in LOGINS.items():
        verb = sql.SQL("ALTER" if login in present else "CREATE")
        named = sql.Identifier(login), sql.SQL(_PLAIN), sql.Literal(passwords[key])
        statements.append(sql.SQL("{} ROLE {} {} PASSWORD {}").format(verb, *named))
    if missing := [group for group in GROUPS if group not in present]:
        statements += [sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)) for group in missing]
    if missing or not present.issuperset(LOGINS.values()):
        statements.append(sql.SQL("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC").format())
        memberships = [(f"slowwave_{role}", LOGINS[role]) for role in ROLES] + [(group, OWNER) for group in GROUPS]
        for group, login in memberships:
            statements.append(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(login)))
    with admin.transaction():
        admin.execute(sql.SQL("; ").join(statements))
