"""The roles of a store: what a login lacks to work with them, and what nobody else may do in its database.

Which statements would mend something is worked out here, so that `slowwave migrate` runs, and `slowwave doctor` prints, the same
ones. Roles belong to the whole server and rights on a database are in no dump, so both are looked at again whenever migrations run.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from slowwave.errors import StoreError
from slowwave.store.connect import ROLES

RECORDER: Final = "slowwave_recorder"
"""Owns the functions that run with their owner's rights. Nobody logs in as it; its rights are what those functions do."""

GROUPS: Final = (*(f"slowwave_{role}" for role in ROLES), RECORDER)
SET_IS_GRANTED: Final = (
    160000  # since then whoever creates a role may hand it out, and take it only when that is granted
)

_HELD_ROLES: Final = """
SELECT g.name, r.rolname IS NOT NULL, quote_ident(u.name), coalesce(pg_has_role(u.name, r.oid, %(take)s), u.super),
  coalesce(pg_has_role(u.name, r.oid, 'USAGE'), u.super) OR g.name <> %(recorder)s
FROM unnest(%(groups)s::text[]) WITH ORDINALITY AS g (name, n)
CROSS JOIN LATERAL (SELECT rolname AS name, rolsuper AS super FROM pg_roles
  WHERE rolname = CASE WHEN g.name = %(recorder)s THEN current_user ELSE session_user END) u
LEFT JOIN pg_roles r ON r.rolname = g.name ORDER BY g.n
"""
"""SET ROLE asks who logged in, ALTER OWNER asks as whom he acts."""

_PUBLIC_RIGHTS: Final = """
SELECT quote_ident(current_database()), quote_ident(current_user), has_database_privilege('public', current_database(), 'TEMPORARY'),
  has_database_privilege('public', current_database(), 'CREATE'),
  coalesce((SELECT has_schema_privilege('public', oid, 'CREATE') FROM pg_namespace WHERE nspname = 'public'), false)
"""
_OWNS_DATABASE: Final = "SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()"
_DEFINERS: Final = """
SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
  o.rolcanlogin OR o.rolsuper OR o.rolcreaterole OR o.rolcreatedb OR o.rolreplication OR o.rolbypassrls,
  EXISTS (SELECT 1 FROM pg_class c WHERE c.relowner = p.proowner AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
  EXISTS (SELECT 1 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0),
  (SELECT substr(c, 13) FROM unnest(p.proconfig) AS c WHERE starts_with(c, 'search_path='))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles o ON o.oid = p.proowner
WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
ORDER BY 1
"""


def lacking(connection: psycopg.Connection[Any]) -> list[str]:
    """Statements without which this login cannot take the roles that there should be; empty when it can.

    ``SET ROLE`` to each, and the rights of ``slowwave_recorder`` without it: migrations replace functions that this role owns.
    """
    modern = connection.info.server_version >= SET_IS_GRANTED
    take = "SET" if modern else "MEMBER"
    rows = connection.execute(_HELD_ROLES, {"take": take, "recorder": RECORDER, "groups": list(GROUPS)}).fetchall()
    made = [f"CREATE ROLE {role} NOLOGIN" for role, exists, *_ in rows if not exists]
    granted: list[str] = []
    for role, _, login, taken, inherited in rows:
        if taken and not inherited and not modern:
            granted.append(f"ALTER ROLE {login} INHERIT")
        elif not (taken and inherited):
            granted.append(f"GRANT {role} TO {login}{' WITH INHERIT TRUE, SET TRUE' if modern else ''}")
    return [*made, *granted]


def provide(connection: psycopg.Connection[Any]) -> None:
    """Create the roles that are missing and take those that this login may hand out, inside the caller's transaction.

    Raises ``StoreError`` with the statements for an administrator when this login may not.
    """
    wanted = lacking(connection)
    try:
        for statement in wanted:
            try:
                with connection.transaction():
                    connection.execute(statement.encode())
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                pass  # another database of this server made the role at the same time
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            "The migration did not begin: this login may not create or take the roles that the store's rights are given to. "
            "Let an administrator run these, then run `slowwave migrate` again:",
            *wanted,
        ) from None


def excess(connection: psycopg.Connection[Any]) -> list[str]:
    """Statements that take from PUBLIC what nobody needs here: temporary tables, and objects in the database or in ``public``.

    Whoever may make types and functions of his own can try to have them run by others. Apply and imports do need temporary tables.
    """
    row = connection.execute(_PUBLIC_RIGHTS).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM
    database, login, temporary, create, public = row
    found: list[str] = []
    if temporary:
        found.append(f"GRANT TEMPORARY ON DATABASE {database} TO slowwave_applier, {login}")
        found.append(f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC")
    if create:
        found.append(f"REVOKE CREATE ON DATABASE {database} FROM PUBLIC")
    if public:
        found.append("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    return found


def narrow(connection: psycopg.Connection[Any]) -> None:
    """Run what ``excess`` found where this login owns the database; where it does not, `slowwave doctor` prints it."""
    row = connection.execute(_OWNS_DATABASE).fetchone()
    for statement in excess(connection) if row and row[0] else ():
        try:
            with connection.transaction():
                connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            pass  # the schema public may be another's, in a database that came from PostgreSQL 14


def unsafe_definers(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Functions of this database that run with their owner's rights and are not made for it: signature → what is wrong.

    Right is: an owner without login and without attributes that is no owner of tables, no EXECUTE for PUBLIC, and a search_path of its
    own that ends with pg_temp and holds no schema that others may write to. Functions of extensions are their extension's matter.
    """
    rows = connection.execute(_DEFINERS).fetchall()
    found: dict[str, list[str]] = {}
    for signature, powerful, owns, public, path in rows:
        wrong = {
            "its owner logs in, or has attributes": powerful,
            "its owner owns tables": owns,
            "PUBLIC may execute it": public,
            "its search_path is not fixed, with pg_temp last": path != "pg_catalog, pg_temp",
        }
        if reasons := [reason for reason, holds in wrong.items() if holds]:
            found[str(signature)] = reasons
    return found
