"""What the login of a server may do, tried with it: read memory and plans, add recall events, hand in sessions. All else is refused.

Pages that it writes have a test of their own (``test_server_pages``).
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from slowwave.search.recall_events import log_recall
from slowwave.store.connect import Store
from tests.memories import MODEL, ask, remember, unit
from tests.snapshots import uid
from tests.wiki.serving import token_of

TABLES = """
SELECT c.oid::regclass::text, (SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = c.oid AND attnum = 1) FROM pg_class c
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""
WRITES = ("INSERT INTO {} DEFAULT VALUES", "UPDATE {} SET {} = NULL", "DELETE FROM {}", "TRUNCATE {}")


@pytest.fixture
def server(store: Store) -> str:
    """The address of the server's login."""
    remember(store, "acme")
    return store.logins["server"]


def _refused(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> bool:
    """Whether a statement is refused for want of a right; what works is taken back."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.Error:
        return False
    return False


def _allowed(store: Store, server: str, schema: str) -> tuple[set[object], list[str]]:
    """Tables of a schema that the login reads, and statements that write."""
    tables = ask(store, TABLES, schema)
    assert len(tables) > 12
    with psycopg.connect(server, autocommit=True) as connection:
        read = {table for table, _ in tables if not _refused(connection, f"SELECT 1 FROM {table}")}
        writes = [write.format(*table) for table in tables for write in WRITES]
        return read, [statement for statement in writes if not _refused(connection, statement)]


def test_of_the_nights_it_reads_plans_and_the_list_of_runs_alone(store: Store, server: str) -> None:
    """It reads no approvals and before-images, and writes nothing.

    Of runs it reads neither errors, which quote memory, nor claims; of the journal only which items a run applied; and of namespaces of
    connected stores not their names there.
    """
    assert _allowed(store, server, "night") == (
        {"night.plans", "night.plan_items", "night.store_namespaces", "night.runs", "night.journal"},
        [],
    )
    columns = {
        "store_namespaces": ("native", "sign"),
        "runs": ("error", "progress", "approval_id", "dagster_run_id"),
        "journal": ("before_hash", "row_id"),
    }
    with psycopg.connect(server, autocommit=True) as connection:
        for table, names in columns.items():
            for name in names:
                assert _refused(connection, f"SELECT {name} FROM night.{table}"), (table, name)


def test_of_memory_it_reads_all_and_adds_recalls_alone(store: Store, server: str) -> None:
    """It reads no files of folders that are worked on in place, which nothing has screened, and no rows of locks.

    It writes no tokens: a server that could write them could give anyone access.
    """
    read, written = _allowed(store, server, "memory")
    assert {table for table, _ in ask(store, TABLES, "memory")} - read == {
        "memory.folder_blocks",
        "memory.folder_files",
        "memory.lock_rows",  # it locks subjects of claims by memory.lock_subject alone
    }
    assert "memory.tokens" in read
    assert written == ["INSERT INTO memory.recall_events DEFAULT VALUES"]  # it lacks values, not the right


BOOK = "SELECT memory.book_model_call(%s::uuid, %s::text, %s::text, %s::bigint, %s::bigint)"


def test_it_books_what_a_model_cost_now_and_within_bounds(towns: Store, server: str) -> None:
    """By one function: no cost of another day, none below nothing, and no single call that spends what many may."""
    good = (uid("acme"), "expand", "m", 700, 20)
    bad = [
        ("step", (good[0], "Expand; x", *good[2:])),
        ("model", (*good[:2], "m" * 301, 1, 1)),
        ("less", (*good[:3], -1, 0)),
    ]
    with psycopg.connect(server, autocommit=True) as connection:
        for values in (good, (*good[:3], 2 * 10**9, 2**40)):
            connection.execute(BOOK, values)
        for _, values in (*bad, ("none", (None, *good[1:])), ("count", (*good[:4], None))):
            with pytest.raises(psycopg.errors.RaiseException, match="Nothing was booked"):
                connection.execute(BOOK, values)
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute(BOOK, (uid("nobody"), *good[1:]))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO memory.model_calls (namespace_id, step, model, input_tokens, output_tokens) VALUES (%s, %s, %s, %s, %s)",
                good,
            )
    booked = "SELECT namespace_id::text, input_tokens, output_tokens, recorded_at <= now() FROM memory.model_calls ORDER BY 2"
    assert ask(towns, booked) == [(uid("acme"), 700, 20, True), (uid("acme"), 1_000_000, 1_000_000, True)]


CANONICAL = "SELECT DISTINCT memory.is_canonical_page('dory', path, metadata) FROM memory.documents WHERE path = %s"
CLAIMED: dict[str, Any] = {"canonical": True, "pinned": True, "visibility": "public"}


@pytest.mark.parametrize(
    "fields", [CLAIMED, {"frontmatter": CLAIMED}, {**CLAIMED, "frontmatter": CLAIMED}, {"frontmatter": [CLAIMED]}]
)
def test_a_session_is_no_page_that_others_rest_on(towns: Store, fields: dict[str, Any]) -> None:
    """Neither by what is said of it nor by the head of the file that this quotes; what else the head says is kept."""
    told = {"agent": "codex", "session_id": "s1", **fields}
    if isinstance(told.get("frontmatter"), dict):
        told["frontmatter"] = {**told["frontmatter"], "device": "pi"}
    assert _ingest(towns, fields=json.dumps(told)) == "new"
    assert ask(towns, CANONICAL, SESSION["path"]) == [(False,)]
    if isinstance(told.get("frontmatter"), dict):
        ((kept,),) = ask(
            towns, "SELECT metadata -> 'frontmatter' FROM memory.documents WHERE path = %s", SESSION["path"]
        )
        assert kept == {"device": "pi"}


def test_it_logs_a_recall(store: Store, server: str) -> None:
    """By the same function as everybody."""
    with store.connect("server") as connection:
        event = log_recall("acme", "tea", [uid("a")], connection=connection)
    assert ask(store, "SELECT id::text, query FROM memory.recall_events") == [(event, "tea")]


INGEST = """
SELECT memory.ingest_session(%(namespace)s, %(token)s, %(path)s, 'Tides', %(page)s, %(fields)s::jsonb, NULL, false, %(passages)s::text[],
  %(lines)s::int[], %(lines)s::int[], %(model)s, %(hashes)s::text[], %(vectors)s::real[])"""
SESSION: dict[str, Any] = {
    "namespace": "acme",
    "token": "",
    "path": "logs/sessions/a.md",
    "page": "Spring tide at six.",
    "fields": '{"agent": "codex", "session_id": "s1"}',
    "passages": ["Spring tide at six."],
    "lines": [1],
    "model": MODEL,
    "hashes": [],
    "vectors": None,
}


@pytest.fixture
def towns(store: Store) -> Store:
    """Two namespaces; ``acme`` has a page, a session of a folder and a memory, and the store knows a model."""
    remember(
        store,
        "acme",
        corpora=[{"id": "kb", "root": "/kb", "profile": "dory"}],
        documents=[
            {"id": "d", "corpus_id": "kb", "path": "core/user.md", "title": "User", "content": "Mara likes tea."},
            {
                "id": "f",
                "corpus_id": "kb",
                "path": "logs/sessions/f.md",
                "title": "F",
                "content": "F.",
                "plane": "sessions",
            },
        ],
        chunks=[{"id": "c", "document_id": "d", "content": "Mara likes tea."}],
        chunk_vectors=[{"id": "c", "vector": unit(1.0)}],
    )
    remember(store, "rival")
    return store


def _ingest(store: Store, **given: Any) -> str:
    """What the function says to the server's login."""
    with psycopg.connect(store.logins["server"], autocommit=True) as connection:
        row = connection.execute(INGEST, SESSION | given).fetchone()
    return str(row[0]) if row else ""


def _held(store: Store) -> list[tuple[object, ...]]:
    """All that stands of documents and chunks, live or not."""
    return ask(
        store,
        "SELECT 'd', id::text, namespace_id::text, path, content, invalidated_at, metadata::text FROM memory.documents "
        "UNION ALL SELECT 'c', id::text, namespace_id::text, '', content, invalidated_at, '' FROM memory.chunks "
        "UNION ALL SELECT 'v', id::text, namespace_id::text, model, vector::text, NULL, '' FROM memory.chunk_vectors ORDER BY 1, 2",
    )


def test_a_session_needs_a_token_of_its_namespace_once_there_is_any_token(towns: Store) -> None:
    """Its whole secret: what the login can read of tokens, their ids and hashes, opens nothing."""
    assert _ingest(towns) == "new"
    assert _ingest(towns) == "unchanged"
    mine, theirs = token_of(towns), token_of(towns, "rival")
    reads, gone = token_of(towns, "acme", "read"), token_of(towns)
    ask(towns, "UPDATE memory.tokens SET revoked_at = now() WHERE id = %s", gone.split("_")[1])
    ((hash_,),) = ask(towns, "SELECT encode(hash, 'hex') FROM memory.tokens WHERE id = %s", mine.split("_")[1])
    before = _held(towns)
    for token in ("", theirs, reads, gone, f"slw_{mine.split('_')[1]}_{hash_}", mine[:-1], f"{mine}0"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _ingest(towns, token=token, page="Spring tide at six. And at seven.")
    for namespace in ("rival", "nowhere", uid("acme")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _ingest(towns, token=mine, namespace=namespace)
    assert _held(towns) == before
    assert _ingest(towns, token=mine, page="Spring tide at six. And at seven.") == "changed"
    assert _ingest(towns, token=theirs, namespace="rival") == "new"
    ask(towns, "UPDATE memory.tokens SET revoked_at = now()")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _ingest(towns, page="Spring tide at eight.")


@pytest.mark.parametrize(
    "given",
    [
        {"path": "core/user.md"},
        {"path": "logs/sessions/../../core/user.md"},
        {"path": "logs/sessions/f.md"},
        {"path": "logs/sessions/a.md\n"},
        {"fields": "[]"},
        {"fields": '{"agent": "codex"}'},
        {"page": ""},
        {"page": "x" * 2_000_001},
        {"passages": ["words that the page does not say"]},
        {"passages": [""]},
        {"passages": ["Spring", "tide"]},
        {"passages": [["Spring"], ["tide"]]},
        {"passages": [None]},
        {"lines": [0]},
        {"hashes": ["a"], "vectors": [[1.0, 2.0]]},
        {"hashes": ["a"], "vectors": None},
        {"hashes": ["a"], "vectors": [1.0] * 512, "model": "no-such-model"},
    ],
    ids=str,
)
def test_it_stores_sessions_and_nothing_else(towns: Store, given: dict[str, Any]) -> None:
    """Another path, a folder's page, words that the page does not say, vectors that are none: each is refused and leaves nothing."""
    before = _held(towns)
    with pytest.raises(psycopg.Error):
        _ingest(towns, **given)
    assert _held(towns) == before


def test_whatever_it_says_a_page_is_it_is_a_session_and_what_stood_there_stands(towns: Store) -> None:
    """Public, canonical, pinned: nothing of it is taken; the page before stays as a version, all other rows as they are."""
    before = _held(towns)
    fields = {
        "agent": "codex",
        "session_id": "s1",
        "visibility": "public",
        "canonical": True,
        "pinned": True,
        "type": "core",
    }
    assert _ingest(towns, fields=json.dumps(fields)) == "new"
    assert _ingest(towns, page="Spring tide at six. At ten.", passages=["At ten."]) == "changed"
    rows = ask(
        towns,
        "SELECT plane, metadata->>'type', metadata->'canonical', jsonb_exists_any(metadata, ARRAY['visibility', 'pinned']), "
        "version_of IS NULL, content FROM memory.documents WHERE path = 'logs/sessions/a.md' ORDER BY version_of NULLS FIRST",
    )
    assert rows == [
        ("sessions", "session", False, False, True, "Spring tide at six. At ten."),
        ("sessions", "session", False, False, False, "Spring tide at six."),
    ]
    after = _held(towns)
    assert [row for row in before if row in after] == before
    with pytest.raises(psycopg.errors.UniqueViolation):
        _ingest(towns, page="Gone.", passages=["Gone."], fields='{"agent": "codex", "session_id": "s2"}')


def test_a_read_only_namespace_takes_no_session(towns: Store) -> None:
    """Whoever brings it."""
    ask(towns, "UPDATE memory.namespaces SET read_only = true WHERE slug = 'acme'")
    with pytest.raises(psycopg.errors.RaiseException, match="read-only"):
        _ingest(towns)


@pytest.mark.parametrize("role", ["reader", "planner", "approver"])
def test_no_other_login_hands_in_sessions(towns: Store, role: str) -> None:
    """The function is the server's."""
    with psycopg.connect(towns.logins[role], autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(INGEST, SESSION)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT memory.may_ingest(gen_random_uuid(), '')")
