"""Every function that runs with its owner's rights is made for it, in the whole database and whoever added it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import RECORDER, unsafe_definers
from tests.nights import new_world

DEFINER = "CREATE FUNCTION memory.t_f() RETURNS int LANGUAGE sql SECURITY DEFINER {} AS 'SELECT 1'"
FIXED = "SET search_path = pg_catalog, pg_temp"
CLOSED = "REVOKE ALL ON FUNCTION memory.t_f() FROM PUBLIC"
QUOTING = {"night.conflicts", "night.findings", "night.model_answers"}
BY_ID = QUOTING | {"memory.purges"}
"""Tables of which a plan can delete rows without reading more than their ids."""
ERASED = (
    {
        f"memory.{table}"
        for table in (
            *(
                "chunk_vectors",
                "chunks",
                "claim_events",
                "communities",
                "documents",
                "entities",
                "entity_aliases",
                "entity_vectors",
                "links",
            ),
            *(
                "memories",
                "memory_facts",
                "memory_vectors",
                "memory_versions",
                "pages",
                "promotions",
                "recall_events",
                "relationships",
            ),
            "session_items",
        )
    }
    | BY_ID
    | {"memory.proposals"}
)
"""Tables whose rows a plan erases, or a purge of a page deletes."""
OWNED = f"ALTER FUNCTION memory.t_f() OWNER TO {RECORDER}"


@pytest.fixture
def admin(postgres: server.Server, database: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The superuser, in a migrated database."""
    with psycopg.connect(postgres.url(database), autocommit=True) as connection:
        yield connection


def test_no_definer_function_is_open_to_abuse(store: Store) -> None:
    """There are some, and each has all of it."""
    with store.connect("owner") as connection:
        assert unsafe_definers(connection) == {}
        definers = connection.execute(
            "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE prosecdef AND proname IN ('note_rows', 'note_updates')"
        ).fetchall()
    assert definers == [(RECORDER,)]


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        ([DEFINER.format(FIXED), CLOSED], {"its owner logs in, or has attributes", "its owner owns tables"}),
        ([DEFINER.format(FIXED), OWNED], {"PUBLIC may execute it"}),
        ([DEFINER.format(""), CLOSED, OWNED], {"its search_path is not fixed, with pg_temp last"}),
        (
            [DEFINER.format("SET search_path = pg_catalog"), CLOSED, OWNED],
            {"its search_path is not fixed, with pg_temp last"},
        ),
        (
            [DEFINER.format("SET search_path = pg_temp, pg_catalog"), CLOSED, OWNED],
            {"its search_path is not fixed, with pg_temp last"},
        ),
        (
            [DEFINER.format(FIXED), CLOSED, "ALTER FUNCTION memory.t_f() OWNER TO slowwave_owner"],
            {"its owner owns tables"},
        ),
        ([DEFINER.format(FIXED), CLOSED, OWNED], set()),
    ],
)
def test_each_omission_is_found(
    admin: psycopg.Connection[tuple[object, ...]], made: list[str], wrong: set[str]
) -> None:
    """A function that lacks one thing is named with that thing; one that has all is not named."""
    for statement in made:
        admin.execute(statement.encode())
    found = unsafe_definers(admin)
    assert found.keys() == ({"memory.t_f()"} if wrong else set())
    assert wrong <= set(found.get("memory.t_f()", []))


def test_a_function_outside_our_schemas_counts_as_well(admin: psycopg.Connection[tuple[object, ...]]) -> None:
    """An operator's helper in public is as good a way in."""
    admin.execute("CREATE FUNCTION public.t_f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'")
    assert list(unsafe_definers(admin)) == ["public.t_f()"]


def test_what_a_later_migration_makes_with_as_definer_is_safe(store: Store) -> None:
    """The owner writes CREATE FUNCTION and one call; replacing the function and calling again works too."""
    with store.connect("owner") as connection:
        for answer in (1, 2):
            connection.execute(
                f"CREATE OR REPLACE FUNCTION memory.t_f(a int, b text[]) RETURNS int LANGUAGE sql AS 'SELECT {answer}'".encode()
            )
            connection.execute("SELECT night.as_definer('memory.t_f(int, text[])')")
            assert unsafe_definers(connection) == {}
        row = connection.execute(
            "SELECT prosecdef, pg_get_userbyid(proowner), has_schema_privilege(proowner, 'memory', 'CREATE') FROM pg_proc "
            "WHERE proname = 't_f'"
        ).fetchone()
    assert row == (True, RECORDER, False)


@pytest.mark.parametrize("owner", ["slowwave_owner", "slowwave", "slowwave_login_reader", "nobody_of_that_name"])
def test_as_definer_gives_a_function_to_no_login(store: Store, owner: str) -> None:
    """A role that logs in, or has attributes, is refused."""
    with store.connect("owner") as connection, pytest.raises(psycopg.errors.RaiseException, match="must not own"):
        connection.execute("SELECT night.as_definer('memory.bump_content_version()', %s)", (owner,))


def test_functions_made_later_are_not_everyones(store: Store) -> None:
    """PUBLIC may execute nothing in our schemas, now or after the next migration."""
    with store.connect("owner") as connection:
        connection.execute("CREATE FUNCTION memory.t_f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        rows = connection.execute(
            "SELECT p.proname FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a "
            "WHERE p.pronamespace IN ('memory'::regnamespace, 'night'::regnamespace) AND a.grantee = 0"
        ).fetchall()
    assert rows == [("log_recall",)]  # with its caller's rights, and nobody else's


def test_every_function_of_ours_looks_names_up_in_one_place(store: Store) -> None:
    """Also those that run with their caller's rights: a schema of the caller's own cannot stand before pg_catalog."""
    with store.connect("owner") as connection:
        rows = connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE pronamespace IN ('memory'::regnamespace, 'night'::regnamespace) "
            "AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)"
        ).fetchall()
    assert rows == [("memory.bump_content_version()",)]  # it runs for every row, and names what it uses in full


def test_a_version_is_counted_whatever_the_caller_calls_plus(store: Store) -> None:
    """An operator of the caller's own, before pg_catalog in his search_path, does not keep a change from being counted."""
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute("CREATE SCHEMA t_mine")
        connection.execute("CREATE FUNCTION t_mine.f(bigint, int) RETURNS bigint LANGUAGE sql AS 'SELECT $1'")
        connection.execute("CREATE OPERATOR t_mine.+ (LEFTARG = bigint, RIGHTARG = int, FUNCTION = t_mine.f)")
        connection.execute("SET search_path = t_mine, pg_catalog, public")
        assert connection.execute("SELECT 1::bigint + 1").fetchone() == (1,)
        connection.execute(
            "UPDATE memory.entities SET name = name || '!' WHERE namespace_id = %s", (world.namespace_id,)
        )
        found = connection.execute("SELECT DISTINCT content_version FROM memory.entities").fetchall()
    assert found == [(2,)]


def test_the_owner_of_definers_notes_changes_keeps_the_text_index_writes_pages_claims_and_proposals_and_nothing_else(
    store: Store,
) -> None:
    """Compare the role's rights on tables and columns, and its memberships, with the list below.

    It deletes the rows that an approved plan erases, pages with their parts, and rows of the text index. It ends only pages and claims,
    decides proposals, locks names, and enters namespaces of connected stores with the sign of their rows. Of the nights it reads the rows
    that a journal names, the changes of plan items, and how many snapshots and runs there are.
    """
    with store.connect("owner") as connection:
        rights = connection.execute(
            "SELECT c.oid::regclass::text, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a "
            "WHERE a.grantee = (SELECT oid FROM pg_roles WHERE rolname = %s) ORDER BY 1, 2",
            (RECORDER,),
        ).fetchall()
        columns = connection.execute(
            "SELECT t.attrelid::regclass::text, a.privilege_type, array_agg(t.attname::text ORDER BY t.attname) "
            "FROM pg_attribute t, aclexplode(t.attacl) a WHERE a.grantee = (SELECT oid FROM pg_roles WHERE rolname = %s) "
            "AND a.privilege_type <> 'INSERT' GROUP BY 1, 2 ORDER BY 1, 2",
            (RECORDER,),
        ).fetchall()
        member = connection.execute(
            "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = %s",
            (RECORDER,),
        ).fetchone()
    read = ("corpora", "namespaces", "pending_files", "tokens", "vector_models")
    kept = ("search_statistics", "search_texts")
    assert set(rights) == {
        ("memory.changes", "INSERT"),
        *((f"memory.{table}", "SELECT") for table in read),
        *((f"memory.{table}", right) for table in kept for right in ("SELECT", "INSERT", "UPDATE", "DELETE")),
        *((table, "SELECT") for table in ERASED - BY_ID),
        *((table, "DELETE") for table in ERASED),
        *(("memory.lock_rows", right) for right in ("SELECT", "INSERT", "UPDATE")),
        ("memory.proposals", "INSERT"),
        ("memory.night_requests", "SELECT"),
        *(("night.store_namespaces", right) for right in ("SELECT", "INSERT")),
        ("night.stores", "SELECT"),
    }
    texts = ["content", "content_hash", "invalidated_at", "invalidated_by", "metadata", "path", "title", "valid_from"]
    assert columns == [
        ("memory.chunks", "UPDATE", ["end_line", "invalidated_at", "invalidated_by", "ordinal", "start_line"]),
        ("memory.corpora", "UPDATE", ["sync_state"]),
        ("memory.documents", "UPDATE", texts),
        ("memory.links", "UPDATE", ["invalidated_at", "target_document_id"]),
        (
            "memory.memories",
            "UPDATE",
            [
                *("invalidated_at", "invalidated_by", "reinforcement_count"),
                *("source_chunk_ids", "source_document_ids", "valid_to"),
            ],
        ),
        (
            "memory.proposals",
            "UPDATE",
            [
                *("about", "actions", "reason", "said", "state", "verdict", "verdict_at", "verdict_by", "verdict_plan"),
                "verdict_reason",
            ],
        ),
        ("memory.purges", "SELECT", ["id", "namespace_id"]),
        ("night.before_images", "SELECT", ["journal_id"]),
        ("night.conflicts", "SELECT", ["id", "namespace_id", "row_a_id", "row_b_id"]),
        ("night.findings", "SELECT", ["id", "namespace_id"]),
        ("night.journal", "SELECT", ["action", "id", "item_id", "namespace_id", "row_id"]),
        ("night.model_answers", "SELECT", ["key", "namespace_id"]),
        ("night.plan_items", "SELECT", ["item_id", "mutation", "namespace_id", "plan_hash", "status"]),
        ("night.runs", "SELECT", ["namespace_id", "started_at"]),
        ("night.snapshots", "SELECT", ["deleted_at", "namespace_id", "taken_at"]),
        ("night.store_namespaces", "UPDATE", ["sign"]),
    ]
    assert member == (0,)


HELD = """
SELECT format('%%s.%%s', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname IN ('memory', 'night') AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND CASE %(right)s
   WHEN 'DELETE' THEN has_table_privilege(%(role)s, c.oid, 'DELETE') ELSE has_any_column_privilege(%(role)s, c.oid, %(right)s) END
"""
CALLED = """
SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'memory'::regnamespace AND p.prosecdef
  AND has_function_privilege('slowwave_server', p.oid, 'EXECUTE')
"""
INDEX = {"memory.search_texts", "memory.search_statistics"}


def held(store: Store, role: str, right: str) -> set[str]:
    """The tables on which a role has a right, on one column at least."""
    with store.connect("owner") as connection:
        return {str(name) for (name,) in connection.execute(HELD, {"role": role, "right": right})}


def test_what_the_owner_of_the_servers_functions_may_do_is_what_the_page_on_security_says(store: Store) -> None:
    """It deletes rows that an approved plan erases, enters namespaces of stores, and reads of the nights what a deletion needs."""
    assert held(store, RECORDER, "DELETE") - INDEX == ERASED
    assert held(store, RECORDER, "UPDATE") - INDEX == {
        *(
            f"memory.{table}"
            for table in ("corpora", "documents", "chunks", "links", "lock_rows", "memories", "proposals")
        ),
        "night.store_namespaces",
    }
    nights = {"night.journal", "night.before_images", "night.plan_items", "night.snapshots", "night.runs"}
    stores = {"night.stores", "night.store_namespaces"}
    assert {t for t in held(store, RECORDER, "SELECT") if t.startswith("night.")} == nights | stores | QUOTING
    assert {t for t in held(store, RECORDER, "INSERT") if t.startswith("night.")} == {"night.store_namespaces"}


def test_what_a_server_may_do_is_what_the_page_on_security_says(store: Store) -> None:
    """It adds recall events. It writes everything else by functions, each of which the page names, and locks subjects by one more."""
    assert {right: held(store, "slowwave_server", right) for right in ("INSERT", "UPDATE", "DELETE")} == {
        "INSERT": {"memory.recall_events"},
        "UPDATE": set(),
        "DELETE": set(),
    }
    assert {t for t in held(store, "slowwave_server", "SELECT") if t.startswith("night.")} == {
        "night.plans",
        "night.plan_items",
        "night.store_namespaces",  # to what is in a store of others nothing is added
        *("night.runs", "night.journal"),  # some columns, for the list of runs
    }
    with store.connect("owner") as connection:
        called = {str(name) for (name,) in connection.execute(CALLED)}
    stores = {"ingest_session", "capture", "remember", "forget", "write_page", "forget_page", "purge_page"}
    assert called == {*stores, "propose", "decide_proposal", "request_night", "book_model_call", "lock_subject"}
