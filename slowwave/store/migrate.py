"""Bring a database to this version's schema, make partitions ahead, and open the store of the environment."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg

from slowwave.errors import Refused, StoreError
from slowwave.store.connect import Store
from slowwave.store.logins import GROUPS, narrow, provide

if TYPE_CHECKING:
    from alembic.config import Config


# Monthly partitions of ``memory.recall_events``, created in advance, since agents that log recalls may not create any.

_MONTHS_AHEAD: Final = 3

_ENSURE_PARTITIONS: Final = "SELECT memory.ensure_recall_partitions(now(), now() + make_interval(months => %s))"


def make_partitions_ahead(store: Store) -> None:
    """Create the missing partitions of this month and the next three, as the owner, and move earlier events into them.

    It does not wait for readers of the events: rows without a partition stay in the default partition until the next run.
    """
    with store.connect("owner") as connection:
        try:
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '1s'")
                connection.execute(_ENSURE_PARTITIONS, (_MONTHS_AHEAD,))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
            return


# Migration of a database to this version's schema.

_SCRIPTS: Final = Path(__file__).with_name("migrations")

_ADVISORY_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('slowwave migrate'))"
_CREATE_SCHEMA: Final = "CREATE SCHEMA IF NOT EXISTS night"
_INDEX_VECTOR_MODELS: Final = "SELECT memory.index_vector_model(model, dimensions) FROM memory.vector_models"
_VERSION_TABLE: Final = """
SELECT quote_ident(current_user), quote_ident(pg_get_userbyid(n.nspowner)),
  c.oid IS NOT NULL, has_schema_privilege(n.oid, 'USAGE') AND (c.oid IS NULL OR has_table_privilege(c.oid, 'SELECT'))
FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'alembic_version' WHERE n.nspname = 'night'
"""
_VERSION: Final = "SELECT version_num FROM night.alembic_version"

INITIAL: Final = "0001_initial"
"""The migration that creates the whole schema. Later ones change it step by step."""
LAST_FORMER: Final = "0055"
"""The last of the migrations that this version no longer has. They made the schema of ``INITIAL``."""
_FORMER_CHAIN: Final = "f00c350"
"""The last commit that has these migrations."""
_MOST_NAMED: Final = 8

_STAMP: Final = "UPDATE night.alembic_version SET version_num = %(to)s WHERE version_num = %(since)s"
_OBJECTS: Final = r"""
WITH place AS (
  SELECT n.oid, n.nspname, n.nspowner, n.nspacl FROM pg_namespace n WHERE n.nspname IN ('memory', 'night')
), relation AS (
  SELECT c.*, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN place n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND c.relname !~ '^recall_events_\d{4}_\d\d$'
), routine AS (
  SELECT p.*, concat(n.nspname, '.', p.proname, '(', pg_get_function_identity_arguments(p.oid), ')') AS name
  FROM pg_proc p JOIN place n ON n.oid = p.pronamespace
), rights (object, owner, detail, acl) AS (
  SELECT 'schema ' || nspname, nspowner, '', coalesce(nspacl, acldefault('n', nspowner)) FROM place
  UNION ALL SELECT 'relation ' || name, relowner, '',
    coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)) FROM relation
  UNION ALL SELECT 'relation ' || r.name, r.relowner, a.attname, a.attacl FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
  UNION ALL SELECT 'function ' || name, proowner, '', coalesce(proacl, acldefault('f', proowner)) FROM routine
), details (object, detail) AS (
  SELECT 'relation ' || name, concat_ws(' ', 'kind', relkind, reloptions, relrowsecurity, relforcerowsecurity) FROM relation
  UNION ALL
  SELECT 'relation ' || r.name, concat_ws(' ', 'column', row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), a.attname,
    replace(format_type(a.atttypid, a.atttypmod), (SELECT n.nspname || '.' FROM pg_extension e JOIN pg_namespace n
      ON n.oid = e.extnamespace WHERE e.extname = 'vector'), ''),
    a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  UNION ALL
  SELECT 'relation ' || r.name, concat_ws(' ', 'constraint', k.conname, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', ''))
  FROM relation r JOIN pg_constraint k ON k.conrelid = r.oid AND k.contype IN ('c', 'f', 'p', 'u', 'x')
  UNION ALL
  SELECT 'relation ' || r.name, 'index ' || pg_get_indexdef(i.indexrelid)
  FROM relation r JOIN pg_index i ON i.indrelid = r.oid JOIN pg_class c ON c.oid = i.indexrelid AND c.relname !~ '_hnsw_[0-9a-f]{12}$'
  UNION ALL
  SELECT 'relation ' || r.name, concat_ws(' ', 'trigger', t.tgenabled, pg_get_triggerdef(t.oid))
  FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
  UNION ALL
  SELECT 'relation ' || name, 'query ' || regexp_replace(pg_get_viewdef(oid), '\m\w+\.|\s+', '', 'g') FROM relation WHERE relkind = 'v'
  UNION ALL
  SELECT 'function ' || name, concat_ws(' ', (SELECT lanname FROM pg_language WHERE oid = prolang), prokind, provolatile, proparallel,
    proisstrict, proretset, prosecdef, proconfig, pg_get_function_arguments(oid), pg_get_function_result(oid), pg_get_function_sqlbody(oid),
    regexp_replace(prosrc, 'COLLATE pg_catalog\.("[^"]+"|\w+)', 'COLLATE')) FROM routine
  UNION ALL
  SELECT object, 'owner ' || CASE WHEN owner = (SELECT nspowner FROM place WHERE nspname = 'memory') THEN '' ELSE owner::regrole::text END
  FROM rights WHERE detail = ''
  UNION ALL
  SELECT object, concat_ws(' ', 'right', detail, a.privilege_type, a.is_grantable,
    CASE a.grantee WHEN owner THEN 'owner' WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
  FROM rights, aclexplode(acl) a
  WHERE (a.grantee IN (owner, 0) OR a.grantee::regrole::text = ANY (%(groups)s)) AND a.privilege_type <> 'MAINTAIN'
)
SELECT object, md5(string_agg(detail, E'\n' ORDER BY detail COLLATE "C")) FROM details GROUP BY object
"""
"""Every object of the schema with a hash of its definition and rights. Left out, as they differ between stores that are in order:
partitions of months, indexes of models, constraints that are not validated yet, rights of roles that are not Slowwave's, the name of
the owner, the schema of pgvector, the locale of ``memory.search_words``, and two differences between versions of PostgreSQL: the right
MAINTAIN of owners, and how the query of a view qualifies columns."""


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


MAKE_UTF8: Final = (
    "Make one in UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and set SLOWWAVE_DATABASE_URL to it."
)


def other_encoding(connection: psycopg.Connection[Any]) -> str:
    """Return the encoding of a database if it is not UTF8, else an empty string."""
    encoding = connection.info.parameter_status("server_encoding") or "UTF8"
    return "" if encoding == "UTF8" else encoding


def migrate(store: Store) -> list[str]:
    """Create roles, run pending migrations and build the search indexes of registered models, in one transaction.

    Return the revisions that were pending, oldest first; a new database lacked all of them. Concurrent processes wait for each other.
    Raises ``StoreError`` if this login may not, with the statements for an administrator if roles are the reason.
    """
    from alembic import command
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    pending = pending_migrations(store)  # it reports if a database is not reachable, or is of a newer version
    with store.connect("owner") as session:
        if encoding := other_encoding(session):
            raise StoreError(
                f"The database is encoded in {encoding}, so it cannot hold every text. {MAKE_UTF8} Nothing was changed."
            )
    engine = create_engine(store.sqlalchemy_url(), poolclass=NullPool, connect_args={"prepare_threshold": None})
    try:
        with engine.begin() as connection:
            connection.execute(text(_ADVISORY_LOCK))
            session = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
            provide(session)
            connection.execute(text(_CREATE_SCHEMA))
            if current_revision(session) == LAST_FORMER:
                _stamp(session, store.address())
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.execute(text(_INDEX_VECTOR_MODELS))
            narrow(session)
    except (psycopg.Error, DBAPIError) as problem:
        cause = problem.orig if isinstance(problem, DBAPIError) else problem
        message = str(cause).strip().splitlines()[0]
        raise StoreError(
            f"The migration stopped and nothing of it stands: {message.rstrip('.')}. `slowwave doctor` says what the database lacks."
        ) from None
    make_partitions_ahead(store)
    return pending


def current_revision(connection: psycopg.Connection[Any]) -> str | None:
    """Return the revision that the database is at; None before the first migration. Raises ``StoreError`` if the login may not read it."""
    known = connection.execute(_VERSION_TABLE).fetchone()
    if known is None:
        return None
    login, owner, exists, readable = known
    if not readable:
        raise StoreError(
            f"The login {login} has no rights on the schema night of this database, so nothing was read or changed. Put the login of its "
            f"owner {owner} into SLOWWAVE_DATABASE_URL, or let an administrator make {login} a member of it:",
            f"GRANT {owner} TO {login}",
        )
    row = connection.execute(_VERSION).fetchone() if exists else None
    return str(row[0]) if row else None


def pending_migrations(store: Store) -> list[str]:
    """Return the revisions that the database lacks, oldest first. Alembic is imported only where there may be some.

    A database at ``LAST_FORMER`` lacks ``INITIAL``: `migrate` compares its schema and notes it as at ``INITIAL``.
    Raises ``StoreError`` for a database at an earlier revision than that, or at one that this version does not know.
    """
    with store.connect("owner") as connection:
        current = current_revision(connection)
    if current == newest_revision():
        return []
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_config())
    if current is None or current == LAST_FORMER:
        current = "base"
    elif re.fullmatch("[0-9]{4}", current) and current < LAST_FORMER:
        raise StoreError(
            f"The database at {store.address()} is at migration {current}, and this version of Slowwave begins at {LAST_FORMER}: it cannot "
            f"bring an older schema up to date. Nothing was changed. Install commit {_FORMER_CHAIN}, which has the migrations in between, "
            "run its `slowwave migrate`, and then that of this version. A database without memories to keep can also be made anew."
        )
    elif current not in (r.revision for r in script.walk_revisions()):
        raise StoreError(
            f"The database at {store.address()} is at migration {current[:32]}, and the last that this version of Slowwave knows is "
            f"{newest_revision()}: a newer version has migrated it. Install that version or a later one. Nothing was changed."
        )
    return [r.revision for r in reversed(list(script.iterate_revisions("head", current)))]


def refuse_other_schema(connection: psycopg.Connection[Any]) -> None:
    """Raise ``StoreError`` if the schema is not that of this version, as on a worker that was not upgraded with the others."""
    current = current_revision(connection)
    if current != newest_revision():
        raise StoreError(
            f"The database is at migration {current}, and this version of Slowwave works with {newest_revision()}. Nothing was planned or "
            "written. Install the same version on every machine, then run `slowwave migrate`."
        )


@cache
def newest_revision() -> str:
    """Return the revision of this version's schema: migrations are named by their files, in the order of numbers, and nothing branches."""
    return max(file.stem for file in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))


def schema_objects(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the objects of the schemas ``memory`` and ``night``, each with a hash of its definition and rights."""
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL search_path = pg_catalog")  # so that definitions name everything in full
        rows = connection.execute(_OBJECTS, {"groups": list(GROUPS)}).fetchall()
    return {str(name): str(digest) for name, digest in rows}


def initial_objects() -> dict[str, str]:
    """Return the objects that the initial migration makes, as ``schema_objects`` returned them for a new database."""
    lines = (_SCRIPTS / "versions" / f"{INITIAL}.objects").read_text().splitlines()
    return {name: digest for digest, name in (line.split(" ", 1) for line in lines)}


def _stamp(connection: psycopg.Connection[Any], address: str) -> None:
    """Note a database of the former migrations as at the initial one, if its schema is the same.

    Raises ``StoreError`` with the objects that differ.
    """
    found, wanted = schema_objects(connection), initial_objects()
    kinds = {
        "missing": sorted(wanted.keys() - found.keys()),
        "different": sorted(name for name in wanted.keys() & found.keys() if wanted[name] != found[name]),
        "unknown": sorted(found.keys() - wanted.keys()),
    }
    if any(kinds.values()):
        listed = "; ".join(
            f"{kind}: {', '.join(names[:_MOST_NAMED])}"
            + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
            for kind, names in kinds.items()
            if names
        )
        raise StoreError(
            f"The database at {address} is at migration {LAST_FORMER}, but its schema is not the one that this migration leaves "
            f"({listed}). Later migrations would fail or damage it, so nothing was changed. Compare it by `pg_dump --schema-only` "
            "with a new database that `slowwave migrate` created, undo the changes by hand, and run `slowwave migrate` again."
        )
    connection.execute(_STAMP, {"to": INITIAL, "since": LAST_FORMER})


# The store that the environment names, ready for use.


def open_store() -> Store:
    """Return the store of the environment, with all migrations applied.

    The embedded store is migrated automatically. Raises ``Refused`` for another one with pending migrations, which `slowwave migrate`
    applies.
    """
    store = Store.from_environment()
    if pending_migrations(store):
        if not store.embedded:
            raise Refused(
                f"The database at {store.address()} lacks migrations of this version. Run `slowwave migrate` as its owner."
            )
        migrate(store)
    return store
