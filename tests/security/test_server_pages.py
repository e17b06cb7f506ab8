"""Pages that a server's login writes, forgets and purges, tried with it against the functions themselves: nothing is taken on trust."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from slowwave.store.connect import Store
from tests.memories import MODEL, ask, remember, unit
from tests.snapshots import uid
from tests.wiki.serving import token_of

WRITE = """
SELECT memory.write_page(%(namespace)s, %(token)s, %(kind)s, %(corpus)s::uuid, %(document)s::uuid, %(from_path)s, %(path)s, %(expected)s,
  %(head)s, %(page)s, %(fields)s::jsonb, NULL, %(hidden)s, %(passages)s::text[], %(lines)s::int[], %(lines)s::int[], %(model)s,
  %(hashes)s::text[], %(vectors)s::real[], %(links)s::jsonb, %(pointing)s::uuid[], %(dry)s)"""
FORGET = """
SELECT memory.forget_page(%(namespace)s, %(token)s, %(corpus)s::uuid, %(path)s, %(expected)s, %(page)s, %(fields)s::jsonb, 'Gone.',
  %(fields)s::jsonb, %(dry)s)"""
PURGE = """
SELECT memory.purge_page(%(namespace)s, %(token)s, %(corpus)s::uuid, %(path)s, %(expected)s, %(reason)s, 'codex', %(canonical)s, true,
  %(dry)s)"""
PAGE: dict[str, Any] = {
    "namespace": "acme", "token": "", "kind": "create", "corpus": None, "document": None, "from_path": None, "path": "inbox/a.md",
    "expected": "", "head": "A", "page": "Spring tide at six.", "fields": '{"type": "capture", "canonical": false}', "hidden": False,
    "passages": ["Spring tide at six."], "lines": [1], "model": MODEL, "hashes": [], "vectors": None, "links": "[]", "pointing": [],
    "dry": False, "reason": "Test.", "canonical": False,
}  # fmt: skip


@pytest.fixture
def towns(store: Store) -> Store:
    """Two namespaces: ``acme`` follows a folder with a canonical page, ``rival`` has one of its own; the store knows a model."""
    for slug in ("acme", "rival"):
        remember(
            store,
            slug,
            corpora=[{"id": f"kb-{slug}", "root": "/kb", "profile": "dory"}],
            documents=[
                {
                    **{"id": f"d-{slug}", "corpus_id": f"kb-{slug}", "path": "core/user.md", "title": "User"},
                    **{
                        "content": "Mara likes tea.",
                        "content_hash": "0" * 64,
                        "metadata": {"type": "core", "canonical": True},
                    },
                }
            ],
            chunks=[{"id": f"c-{slug}", "document_id": f"d-{slug}", "content": "Mara likes tea."}],
            chunk_vectors=[{"id": f"c-{slug}", "vector": unit(1.0)}],
            entities=[{"id": f"e-{slug}", "name": "Mara", "entity_type": "PERSON"}],
            links=[
                {"id": f"l-{slug}", "document_id": f"d-{slug}", "kind": "wikilink", "target": "a", "line": 1},
            ],
        )
    return store


def _call(store: Store, statement: str, **given: Any) -> Any:
    """What a function says to the server's login."""
    asked = PAGE | {"document": str(uuid4())} | given
    asked["from_path"] = given.get("from_path", asked["path"])
    with psycopg.connect(store.logins["server"], autocommit=True) as connection:
        row = connection.execute(statement, asked).fetchone()
    return row[0] if row else None


def _held(store: Store, namespace: str = "acme") -> list[tuple[object, ...]]:
    """All that stands of a namespace's pages."""
    parts = [
        f"SELECT '{table}', t::text FROM memory.{table} t WHERE t.namespace_id = '{uid(namespace)}'"
        for table in (
            "corpora",
            "documents",
            "chunks",
            "chunk_vectors",
            "links",
            "search_texts",
            "pending_files",
            "purges",
        )
    ]
    return ask(store, f"{' UNION ALL '.join(parts)} ORDER BY 1, 2")


def test_a_page_needs_a_token_that_may_write_to_its_namespace(towns: Store) -> None:
    """No token, another namespace's, one that may only read, a revoked one, half of one: each is refused by each function."""
    hash_ = _call(towns, WRITE)["hash"]
    mine, theirs, reads, gone = (
        token_of(towns), token_of(towns, "rival"), token_of(towns, "acme", "read", "propose", "approve"), token_of(towns)
    )  # fmt: skip
    ask(towns, "UPDATE memory.tokens SET revoked_at = now() WHERE id = %s", gone.split("_")[1])
    ((known,),) = ask(towns, "SELECT encode(hash, 'hex') FROM memory.tokens WHERE id = %s", mine.split("_")[1])
    before = _held(towns), _held(towns, "rival")
    for token in ("", theirs, reads, gone, f"slw_{mine.split('_')[1]}_{known}", mine[:-1], f"{mine}0", None):
        for statement, more in (
            (WRITE, {"path": "inbox/b.md"}),
            (WRITE, {"kind": "change", "expected": hash_, "page": "Else.", "passages": []}),
            (FORGET, {"expected": hash_}),
            (PURGE, {"expected": hash_}),
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                _call(towns, statement, token=token, **more)
    for namespace in ("rival", "nowhere", uid("acme"), None):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _call(towns, WRITE, token=mine, namespace=namespace, path="inbox/b.md")
    assert (_held(towns), _held(towns, "rival")) == before
    assert (
        _call(towns, WRITE, token=mine, kind="change", expected=hash_, page="Else.", passages=[], lines=[])["hash"]
        != hash_
    )


CANONICAL: list[dict[str, Any]] = [
    {"path": "core/active.md"},
    {"path": "people/mara.md"},
    {"path": "concepts/tide.md"},
    {"path": "projects/port/state.md"},
    {"fields": '{"type": "decision", "canonical": true}'},
    {"fields": '{"type": "note", "frontmatter": {"canonical": true}}'},
    {"fields": '{"type": "decision", "canonical": false, "frontmatter": {"pinned": "true"}}'},
    {"fields": '{"type": "note", "visibility": "public"}'},
    {"path": "knowledge/writing-voice.md"},
]


@pytest.mark.parametrize("given", CANONICAL, ids=str)
def test_dory_a_live_write_to_a_canonical_page_needs_the_scope_for_it(towns: Store, given: dict[str, Any]) -> None:
    """The refusal says how to get there; with the scope it is written, and then neither changed, moved, forgotten nor purged without it."""
    given = given | {"corpus": uid("kb-acme")}
    may, approves = token_of(towns), token_of(towns, "acme", "read", "write", "approve")
    before = _held(towns)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="tokens new --scopes read,write,approve"):
        _call(towns, WRITE, token=may, **given)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _call(towns, WRITE, token=may, dry=True, **given)
    assert _held(towns) == before
    hash_ = _call(towns, WRITE, token=approves, **given)["hash"]
    before = _held(towns)
    path = given.get("path", PAGE["path"])
    plain = {"corpus": given["corpus"], "expected": hash_, "fields": PAGE["fields"]}
    for statement, more in (
        (WRITE, {"kind": "change", "path": path}),
        (WRITE, {"kind": "move", "from_path": path, "path": "inbox/moved.md"}),
        (FORGET, {"path": path}),
        (PURGE, {"path": path, "canonical": True}),
        (PURGE, {"path": path, "canonical": True, "dry": True}),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _call(towns, statement, token=may, **plain | more)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _call(towns, PURGE, token=approves, **plain | {"path": path})  # it has to be said as well
    assert _held(towns) == before
    assert _call(towns, PURGE, token=approves, **plain | {"path": path, "canonical": True})["paths"] == [path]


@pytest.mark.parametrize(
    "path",
    [
        "../etc/passwd.md", "inbox/../core/user.md", "/etc/a.md", "a.txt", "inbox/.hidden.md", ".git/a.md", "inbox//a.md",
        "inbox/./a.md", "logs/sessions/a.md", "archive/a.md", "inbox/a.md\n", "inbox/a%2e.md", "inbox\\a.md", "inbox/a.tombstone.md",
        "inbox/quarantine/a.md", f"{'a' * 300}.md", "inbox/\u200bä.md", "inbox/A\u202e.md",
        "Archive/a.md", "inbox/A.Tombstone.md", None,
    ],
)  # fmt: skip
def test_dory_paths_that_lead_elsewhere_are_refused(towns: Store, path: str | None) -> None:
    """Out of the folder, into another's, hidden, of another kind: created or moved to."""
    hash_ = _call(towns, WRITE)["hash"]
    before = _held(towns)
    for more in ({}, {"kind": "move", "from_path": "inbox/a.md", "expected": hash_}):
        with pytest.raises((psycopg.errors.RaiseException, psycopg.errors.NotNullViolation)):
            _call(towns, WRITE, path=path, **more)
    assert _held(towns) == before


@pytest.mark.parametrize("path", ["A.md", "inbox/ä.md"])
@pytest.mark.parametrize("moved", [False, True])
def test_dory_path_with_capitals_or_other_scripts_is_accepted(towns: Store, path: str, moved: bool) -> None:
    """Create a page at the path, or move another page to it."""
    if moved:
        hash_ = _call(towns, WRITE)["hash"]
        _call(towns, WRITE, kind="move", from_path="inbox/a.md", path=path, expected=hash_)
    else:
        _call(towns, WRITE, path=path)
    assert ask(
        towns, "SELECT path FROM memory.documents WHERE path IN (%s, 'inbox/a.md') AND invalidated_at IS NULL", path
    ) == [(path,)]


@pytest.mark.parametrize(
    "given",
    [
        {"corpus": uid("kb-rival")},
        {"corpus": uid("nowhere")},
        {"kind": "replace"},
        {"kind": None},
        {"document": uid("d-acme")},
        {"document": uid("d-rival")},
        {"fields": "[]"},
        {"fields": json.dumps({"a": "x" * 200_001})},
        {"page": ""},
        {"page": "x" * 2_000_001},
        {"head": "x" * 401},
        {"hidden": True},
        {"passages": ["words that the page does not say"]},
        {"passages": [""]},
        {"passages": ["Spring", "tide"]},
        {"passages": [["Spring"], ["tide"]]},
        {"passages": [None]},
        {"lines": [0]},
        {"hashes": ["a"], "vectors": [[1.0, 2.0]]},
        {"hashes": ["a"], "vectors": None},
        {"hashes": ["a"], "vectors": [1.0] * 512, "model": "no-such-model"},
        {"links": "{}"},
        {"links": json.dumps([{"kind": "redirect", "target": "a", "anchor": "", "line": 1}])},
        {"links": json.dumps([{"kind": "wikilink", "target": "a", "anchor": "", "line": 1}] * 5001)},
        {"expected": "0" * 64},
        {"dry": None},
    ],
    ids=lambda given: str(given)[:60],
)
def test_it_stores_a_page_as_it_is_and_nothing_else(towns: Store, given: dict[str, Any]) -> None:
    """Another namespace's corpus, words that the page does not say, vectors and links that are none: each is refused and leaves nothing."""
    before = _held(towns), _held(towns, "rival")
    with pytest.raises(psycopg.Error):
        _call(towns, WRITE, **given)
    assert (_held(towns), _held(towns, "rival")) == before


def test_what_it_says_of_other_rows_counts_for_its_own_pages_alone(towns: Store) -> None:
    """Links to another namespace's pages and entities mean nothing, and no link of another corpus is turned to the new page."""
    rivals = _held(towns, "rival")
    links = [
        {"kind": "wikilink", "target": "user", "anchor": "", "line": 1, "page": uid("d-rival")},
        {"kind": "mention", "target": "Mara", "anchor": "", "line": 1, "entity": uid("e-rival")},
        {"kind": "mention", "target": "Mara", "anchor": "", "line": 1, "entity": uid("e-acme")},
    ]
    told = _call(towns, WRITE, links=json.dumps(links), pointing=[uid("l-rival"), uid("l-acme")])
    assert told["edges"] == 2
    assert _held(towns, "rival") == rivals
    found = ask(
        towns,
        "SELECT kind, target_document_id, entity_id::text FROM memory.links WHERE namespace_id = %s ORDER BY kind",
        uid("acme"),
    )
    assert sorted(map(str, found)) == sorted(
        map(str, [("wikilink", None, None), ("wikilink", None, None), ("mention", None, uid("e-acme"))])
    )
    fields = json.dumps({"type": "capture", "quarantined": False, "forgotten": True})
    _call(towns, WRITE, path="inbox/b.md", fields=fields)
    ((metadata,),) = ask(towns, "SELECT metadata FROM memory.documents WHERE path = 'inbox/b.md'")
    assert metadata == {"type": "capture"}


def test_a_quarantined_page_has_no_passages_and_stays_as_it_is(towns: Store) -> None:
    """Whatever is handed in with it; it is neither changed nor moved out."""
    path = "inbox/quarantine/a.md"
    told = _call(towns, WRITE, path=path, hidden=True, fields='{"type": "core", "title": "x"}')
    assert ask(towns, "SELECT metadata FROM memory.documents WHERE path = %s", path) == [
        ({"quarantined": True, "type": "capture", "status": "raw"},)
    ]
    assert ask(towns, "SELECT count(*) FROM memory.chunks WHERE document_id = %s", told["document"]) == [(0,)]
    for more in ({"kind": "change", "hidden": True}, {"kind": "move", "from_path": path, "path": "inbox/b.md"}):
        with pytest.raises(psycopg.errors.RaiseException, match="quarantined"):
            _call(towns, WRITE, **{"path": path, "expected": told["hash"]} | more)


def test_a_read_only_namespace_takes_no_page(towns: Store) -> None:
    """Nor lets one go."""
    hash_ = _call(towns, WRITE)["hash"]
    ask(towns, "UPDATE memory.namespaces SET read_only = true WHERE slug = 'acme'")
    for statement in (WRITE, FORGET, PURGE):
        with pytest.raises(psycopg.errors.RaiseException, match="read-only"):
            _call(towns, statement, expected=hash_, path="inbox/a.md")


@pytest.mark.parametrize("role", ["reader", "planner", "approver", "applier"])
def test_no_other_login_writes_pages(towns: Store, role: str) -> None:
    """The functions are the server's; those that they rest on are nobody's."""
    with psycopg.connect(towns.logins[role], autocommit=True) as connection:
        for statement in (WRITE, FORGET, PURGE):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement, PAGE)
    helpers = (
        "memory.bearer_scopes(gen_random_uuid(), '')",
        "memory.admit_page('acme', '', NULL, ARRAY['a.md'])",
        "memory.await_file(gen_random_uuid(), gen_random_uuid(), 'a.md', NULL)",
        "memory.store_links(gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '[]', '{}')",
        "memory.held_elsewhere(NULL)",
    )
    with psycopg.connect(towns.logins["server"], autocommit=True) as connection:
        for helper in helpers:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT {helper}".encode())
