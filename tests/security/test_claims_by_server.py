"""The functions that store and retire claims, called as a server's login could call them: with what no request would hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from slowwave.store.connect import Store
from tests.memories import MODEL, ago, ask, remember, unit
from tests.snapshots import uid
from tests.wiki.claims import held, tell
from tests.wiki.serving import token_of

NAMES = (
    *(
        "to_namespace",
        "bearer",
        "about",
        "as_ref",
        "as_name",
        "also",
        "of_kind",
        "statement",
        "hidden",
        "sure",
        "agent",
        "session",
    ),
    *(
        "more",
        "why",
        "since",
        "until",
        "ended_by",
        "repeats",
        "closes",
        "opposes",
        "at_path",
        "head",
        "page",
        "fields",
        "first_line",
    ),
    *("last_line", "of_model", "vec", "name_vec"),
)
TYPES = {
    **dict.fromkeys(("about", "ended_by", "repeats"), "uuid"),
    **dict.fromkeys(("closes", "opposes"), "uuid[]"),
    **dict.fromkeys(("more", "fields"), "jsonb"),
    **dict.fromkeys(("since", "until"), "timestamptz"),
    **dict.fromkeys(("first_line", "last_line"), "integer"),
    **dict.fromkeys(("vec", "name_vec"), "real[]"),
    **{"hidden": "boolean", "sure": "float8"},
}
_GIVEN = ", ".join(f"{name} => %({name})s::{TYPES.get(name, 'text')}" for name in NAMES)
REMEMBER = f"SELECT memory.remember({_GIVEN})"
CLAIM: dict[str, Any] = dict.fromkeys(NAMES) | {
    **{
        "to_namespace": "acme",
        "bearer": "",
        "as_ref": "project:rowan",
        "as_name": "Rowan",
        "of_kind": "fact",
        "hidden": False,
        "sure": 1.0,
    },
    **{
        "statement": "The crane is red.",
        "since": "2026-01-01T00:00:00Z",
        "closes": [],
        "opposes": [],
        "more": "{}",
        "why": "",
    },
    **{
        "at_path": "sources/semantic/2026/01/01/rowan-a-write.md",
        "head": "Rowan",
        "page": "The crane is red.",
        "fields": "{}",
    },
    **{"first_line": 1, "last_line": 1, "of_model": MODEL},
}
FORGET = """
SELECT memory.forget(%(namespace)s, %(token)s, %(about)s::uuid, %(claims)s::uuid[], 'codex', NULL, %(why)s, %(path)s, 'Rowan', 'Gone.',
  '{}')"""
CAPTURE = "SELECT memory.capture(%(namespace)s, %(token)s, %(path)s, 'x', 'x', %(fields)s::jsonb, false, 'x', 1, 1, NULL, NULL)"


@pytest.fixture
def towns(store: Store) -> Store:
    """``acme`` has a page, a memory that is no claim, and claims about two subjects; ``rival`` a claim of its own."""
    remember(
        store,
        "acme",
        corpora=[{"id": "kb", "root": "/kb", "profile": "dory"}],
        documents=[
            {"id": "d", "corpus_id": "kb", "path": "core/user.md", "title": "User", "content": "Mara likes tea."}
        ],
        chunks=[{"id": "c", "document_id": "d", "content": "Mara likes tea."}],
        chunk_vectors=[{"id": "c", "vector": unit(1.0)}],
        memories=[
            {
                "id": "m",
                "kind": "episodic",
                "current_version_id": "v",
                "valid_from": ago(3),
                "attributes": {"entity_id": uid("e")},
            }
        ],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "The quay is old."}],
        entities=[{"id": "e", "entity_type": "project", "name": "Quay"}],
    )
    remember(store, "rival")
    tell(store, "The crane is blue.", "Rowan", scope="project")
    tell(store, "The quay is wet.", "Quay")
    tell(store, "The mast is tall.", "Mast", namespace="rival", scope="concept")
    return store


def claim_about(store: Store, subject: str) -> str:
    ((id_,),) = ask(store, "SELECT id::text FROM memory.memories WHERE kind = 'claim' AND subject = %s", subject)
    return str(id_)


def call(store: Store, query: str, values: dict[str, Any]) -> Any:
    """What a function says to the server's login."""
    with psycopg.connect(store.logins["server"], autocommit=True) as connection:
        row = connection.execute(query.encode(), values).fetchone()
    return row[0] if row else None


def refused(store: Store, query: str, values: dict[str, Any]) -> bool:
    try:
        call(store, query, values)
    except psycopg.Error:
        return True
    return False


def test_a_statement_needs_a_token_of_its_namespace_that_may_write(towns: Store) -> None:
    """None, another namespace's, one that only reads, a revoked one, a good one's hash, a part of it: each is refused by each function."""
    assert call(towns, REMEMBER, CLAIM)
    mine, theirs, reads, gone = (
        token_of(towns),
        token_of(towns, "rival"),
        token_of(towns, "acme", "read"),
        token_of(towns),
    )
    ask(towns, "UPDATE memory.tokens SET revoked_at = now() WHERE id = %s", gone.split("_")[1])
    ((hash_,),) = ask(towns, "SELECT encode(hash, 'hex') FROM memory.tokens WHERE id = %s", mine.split("_")[1])
    ((about,),) = ask(towns, "SELECT id::text FROM memory.entities WHERE name = 'Rowan'")
    before = held(towns)
    bad = ("", theirs, reads, gone, f"slw_{mine.split('_')[1]}_{hash_}", mine[:-1], f"{mine}0")
    pairs = [*(("acme", token) for token in bad), ("rival", mine), ("nowhere", mine)]
    other = {
        "about": about,
        "claims": [claim_about(towns, "Quay")],
        "why": "x",
        "path": "sources/semantic/2026/01/01/x.md",
        "fields": "{}",
    }
    for namespace, token in pairs:
        for query, values in (
            (
                REMEMBER,
                CLAIM | {"to_namespace": namespace, "bearer": token, "at_path": "sources/semantic/2026/01/01/b.md"},
            ),
            (FORGET, other | {"namespace": namespace, "token": token}),
            (CAPTURE, other | {"namespace": namespace, "token": token, "path": "inbox/semantic/x.md"}),
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                call(towns, query, values)
    assert held(towns) == before
    assert call(towns, REMEMBER, CLAIM | {"bearer": mine, "at_path": "sources/semantic/2026/01/01/b.md"})


def bad_claims(towns: Store) -> list[dict[str, Any]]:
    quay, theirs = claim_about(towns, "Quay"), claim_about(towns, "Mast")
    ((mast,),) = ask(towns, "SELECT id::text FROM memory.entities WHERE name = 'Mast'")
    now = {"since": datetime.now(UTC).isoformat()}
    late = {"until": "2026-02-01T00:00:00Z"}
    return [
        {"statement": ""},
        {"statement": "x" * 40_001, "page": "x" * 40_001},
        {"statement": "words that the page does not say"},
        {"page": "x" * 120_001},
        {"page": ""},
        {"fields": "[]"},
        {"more": "[]"},
        {"more": json.dumps({"x": "y" * 5_000})},
        {"of_kind": "rumour"},
        {"sure": 2.0},
        {"sure": None},
        {"sure": float("nan")},
        {"since": None},
        {"since": "infinity"},
        {"since": "2999-01-01T00:00:00Z"},
        {"until": "2025-01-01T00:00:00Z"},
        late,
        late | {"ended_by": quay},
        {"at_path": "core/user.md"},
        {"at_path": "sources/semantic/2026/01/01/../../../core/user.md"},
        {"at_path": "sources/semantic/2026/01/01/a.md\n"},
        {"at_path": "inbox/semantic/a.md"},
        {"at_path": None},
        {"as_ref": "team:rowan"},
        {"as_ref": None},
        {"as_name": ""},
        {"about": mast},
        {"about": uid("nobody")},
        {"closes": [claim_about(towns, "Rowan")]},
        now | {"closes": [quay]},
        now | {"closes": [theirs]},
        now | {"closes": [uid("m")]},
        now | {"closes": [uid("nobody")]},
        {"opposes": [quay]},
        {"opposes": [uid("m")]},
        {"repeats": quay},
        {"repeats": theirs},
        {"repeats": uid("m"), "about": uid("e")},
        now | {"closes": [uid("m")], "about": uid("e")},
        {"hidden": True},
        {"hidden": True, "about": uid("e"), "closes": [quay]},
        {"vec": [1.0, 2.0]},
        {"vec": [1.0] * 512, "of_model": "no-such-model"},
        {"why": "x" * 1_001},
        {"agent": "x" * 201},
    ]


def test_it_stores_claims_and_nothing_else(towns: Store) -> None:
    """Other rows, other subjects, other namespaces, what is out of bounds: each is refused and leaves nothing."""
    before = held(towns)
    for given in bad_claims(towns):
        assert refused(towns, REMEMBER, CLAIM | given), given
        assert held(towns) == before, given


def test_whatever_it_says_evidence_is_a_source_and_no_canonical_or_public_page(towns: Store) -> None:
    """Nor does a statement say of itself whom it is about, what kind it is, that a person cleared it, or that it never ages."""
    fields = {
        "visibility": "public",
        "canonical": True,
        "pinned": True,
        "type": "core",
        "source_kind": "human",
        "superseded_by": "x",
    }
    more = {
        "entity_id": uid("e"),
        "claim_kind": "decision",
        "screening": "cleared",
        "shock": True,
        "source": "a letter",
    }
    done = call(towns, REMEMBER, CLAIM | {"fields": json.dumps(fields), "more": json.dumps(more)})
    rows = ask(towns, "SELECT metadata FROM memory.documents WHERE id = %s", done["evidence"])
    assert rows == [({"type": "source", "canonical": False, "source_kind": "semantic", "temperature": "cold"},)]
    rows = ask(
        towns,
        "SELECT attributes, pinned, visibility FROM memory.memories WHERE id = %s",
        done["claim"],
    )
    assert rows == [({"entity_id": done["entity"], "claim_kind": "fact", "source": "a letter"}, False, "private")]


def test_only_claims_of_the_subject_are_forgotten(towns: Store) -> None:
    """No other memory, no other subject's, no other namespace's, without a reason none, and nothing twice."""
    ((about,),) = ask(towns, "SELECT id::text FROM memory.entities WHERE name = 'Rowan'")
    own = claim_about(towns, "Rowan")
    good = {
        "namespace": "acme",
        "token": "",
        "about": about,
        "claims": [own],
        "why": "x",
        "path": "sources/semantic/2026/01/01/x.md",
    }
    before = held(towns)
    for given in (
        {"claims": [claim_about(towns, "Quay")]},
        {"claims": [own, claim_about(towns, "Mast")]},
        {"claims": [uid("m")], "about": uid("e")},
        {"claims": [own, own]},
        {"claims": []},
        {"claims": None},
        {"about": uid("nobody")},
        {"why": ""},
        {"why": None},
        {"path": "core/user.md"},
    ):
        assert refused(towns, FORGET, good | given), given
    assert held(towns) == before
    assert call(towns, FORGET, good)["claims"] == 1
    assert refused(towns, FORGET, good | {"path": "sources/semantic/2026/01/01/y.md"})
    ids = ask(towns, "SELECT id::text FROM memory.documents WHERE invalidated_at IS NOT NULL")
    assert uid("d") not in {id_ for (id_,) in ids}


def test_a_read_only_namespace_takes_and_forgets_nothing(towns: Store) -> None:
    ask(towns, "UPDATE memory.namespaces SET read_only = true WHERE slug = 'acme'")
    for query, values in (
        (REMEMBER, CLAIM),
        (CAPTURE, {"namespace": "acme", "token": "", "path": "inbox/semantic/x.md", "fields": "{}"}),
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="read-only"):
            call(towns, query, values)


@pytest.mark.parametrize("role", ["reader", "planner", "approver"])
def test_no_other_login_and_no_function_behind_them(towns: Store, role: str) -> None:
    """What the functions are made of is nobody's to call, the server's neither."""
    behind = (
        "SELECT memory.keep_evidence(%s, 'inbox/semantic/x.md', 'x', 'x', '{}', false, NULL, NULL, NULL, NULL, NULL)"
    )
    with (
        psycopg.connect(towns.logins[role], autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(REMEMBER.encode(), CLAIM)
    for login in (role, "server"):
        with (
            psycopg.connect(towns.logins[login], autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(behind, (uid("acme"),))


@pytest.mark.parametrize("by", ["capture", "remember"])
def test_evidence_is_no_page_that_others_rest_on(towns: Store, by: str) -> None:
    """Whatever its fields say, and the head that they quote: it is neither canonical nor pinned nor public."""
    claimed = {"canonical": True, "pinned": True, "visibility": "public", "type": "core"}
    fields = json.dumps({**claimed, "frontmatter": {**claimed, "device": "pi"}})
    path = "inbox/semantic/a.md" if by == "capture" else CLAIM["at_path"]
    with psycopg.connect(towns.logins["server"], autocommit=True) as connection:
        if by == "capture":
            connection.execute(CAPTURE, {"namespace": "acme", "token": "", "path": path, "fields": fields})
        else:
            connection.execute(REMEMBER, CLAIM | {"fields": fields})
    told = "memory.is_canonical_page('dory', path, metadata), metadata #>> '{frontmatter,device}'"
    assert ask(towns, f"SELECT {told} FROM memory.documents WHERE path = %s", path) == [(False, "pi")]
