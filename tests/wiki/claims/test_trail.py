"""The trail: from a claim to what it rests on, from a subject to what was believed of it."""

from __future__ import annotations

import pytest

from slowwave.errors import NotInCorpus, Refused
from slowwave.store.connect import Store
from slowwave.wiki.claims.trail import ClaimRequest, SubjectHistoryRequest, claim, subject_history
from tests.memories import ask, remember
from tests.wiki.claims import tell


def test_a_claim_leads_to_its_evidence_and_this_to_the_session(acme: Store) -> None:
    """By the first characters of its id as well."""
    done = tell(
        acme,
        "The crane is red.",
        "Rowan",
        scope="project",
        agent="codex",
        session_id="s1",
        origin_surface="mcp",
        source="call 7",
    )
    with acme.connect("server") as connection:
        found = claim(connection, "acme", ClaimRequest(id=str(done.claim_id)[:8]))
    assert (found.id, found.subject, found.subject_ref, found.status) == (
        done.claim_id,
        "Rowan",
        "project:rowan",
        "active",
    )
    (page,) = found.evidence
    assert (page.path, page.agent, page.session_id, page.origin_surface, page.source) == (
        done.evidence_path,
        "codex",
        "s1",
        "mcp",
        "call 7",
    )


def test_what_is_no_claim_of_the_namespace_is_not_found(acme: Store) -> None:
    """Another kind of memory, another namespace's claim, several at once."""
    theirs = tell(acme, "The crane is red.", "Rowan", namespace="rival", scope="project")
    remember(
        acme,
        "acme",
        memories=[{"id": "m", "kind": "episodic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "x"}],
    )
    ((memory,),) = ask(acme, "SELECT id::text FROM memory.memories WHERE kind = 'episodic'")
    with acme.connect("server") as connection:
        for id_ in (theirs.claim_id, memory, "ffff"):
            with pytest.raises(NotInCorpus, match="no claim of acme"):
                claim(connection, "acme", ClaimRequest(id=str(id_)))
        with pytest.raises(NotInCorpus, match="Nothing is known"):
            subject_history(connection, "acme", SubjectHistoryRequest(subject="Rowan"))


def test_the_beginning_of_several_ids_names_none(acme: Store) -> None:
    for n in range(40):
        tell(acme, f"Crane {n} is red.", "Rowan", scope="project")
    ask(acme, "ALTER TABLE memory.claim_events DISABLE TRIGGER append_only")
    with acme.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE memory.memories SET id = overlay(id::text PLACING 'abcdabcd' FROM 1)::uuid")
    with acme.connect("server") as connection, pytest.raises(Refused, match="several claims"):
        claim(connection, "acme", ClaimRequest(id="abcdabcd"))


def test_a_history_is_bounded_and_a_name_in_doubt_is_told(acme: Store) -> None:
    """The newest first; two who may be meant are both named."""
    for n in range(3):
        tell(acme, f"Crane {n} is red.", "Rowan", scope="project")
    tell(acme, "It is a tree.", "Rowan", scope="concept")
    with acme.connect("server") as connection:
        doubt = subject_history(connection, "acme", SubjectHistoryRequest(subject="Rowan"))
        assert ({c.subject_ref for c in doubt.candidates}, doubt.claims) == ({"project:rowan", "concept:rowan"}, ())
        found = subject_history(connection, "acme", SubjectHistoryRequest(subject="Rowan", scope="project", limit=2))
    assert [c.statement for c in found.claims] == ["Crane 2 is red.", "Crane 1 is red."]


def test_what_a_night_did_to_a_claim_shows_in_its_status(acme: Store) -> None:
    """Merged, archived, invalidated: by the row, as nights write no event here."""
    done = tell(acme, "The crane is red.", "Rowan", scope="project")
    for change, status in (
        ("state = 'archived'", "archived"),
        ("state = 'merged'", "merged"),
        ("state = 'active', invalidated_at = now()", "invalidated"),
    ):
        ask(acme, f"UPDATE memory.memories SET {change} WHERE id = %s RETURNING 1", done.claim_id)
        with acme.connect("server") as connection:
            assert claim(connection, "acme", ClaimRequest(id=str(done.claim_id))).status == status
