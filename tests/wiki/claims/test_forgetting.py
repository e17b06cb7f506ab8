"""Forgetting by day: no search finds what was forgotten, and the answer says what else holds the words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.wiki.claims import MODES, held, shown, tell


@pytest.fixture
def told(acme: Store) -> Store:
    """Two facts and a preference about Mara, one of which has ended, and a fact about a project in the same words."""
    tell(acme, "Mara lives in Oslo.", "Mara Lind", scope="person", agent="codex")
    tell(acme, "Mara moved to Bergen.", "Mara Lind", agent="codex")
    tell(acme, "Mara likes zqxtea.", "Mara Lind", kind="preference")
    tell(acme, "Rowan is paid from Bergen.", "Rowan", scope="project")
    return acme


def test_dory_what_is_forgotten_is_found_by_no_search(told: Store) -> None:
    """In any mode, retired rows and earlier days included; a wake is silent of it; its rows are retired and not deleted."""
    counted = ask(told, "SELECT (SELECT count(*) FROM memory.memories), (SELECT count(*) FROM memory.chunks)")
    then = datetime.now(UTC)
    assert "zqxtea" in shown(told, "zqxtea", "bm25", as_of=then)
    done = tell(told, "", "Mara Lind", action="forget", reason="She asked for it.", agent="claude")
    assert (done.result, len(done.forgotten), done.kind) == ("forgotten", 3, "note")
    for mode in MODES:
        for words in ("Oslo", "Mara moved to Bergen", "zqxtea"):
            assert not [w for w in ("Oslo", "moved", "zqxtea") if w in shown(told, words, mode)], mode
    live = ask(
        told,
        "SELECT v.content FROM memory.search_texts t JOIN memory.memory_versions v ON v.memory_id = t.id WHERE t.live "
        "UNION ALL SELECT c.content FROM memory.search_texts t JOIN memory.chunks c ON c.id = t.id WHERE t.live ORDER BY 1",
    )
    assert live == [("Rowan is paid from Bergen.",)] * 2  # the claim that is left, and its passage
    assert "zqxtea" not in Memory("acme", told).wake("codex").block
    assert "paid from Bergen" in shown(told, "Bergen", "bm25")
    assert ask(told, "SELECT (SELECT count(*) FROM memory.memories), (SELECT count(*) FROM memory.chunks)") == counted
    assert not [mode for mode in MODES if "zqxtea" in shown(told, "zqxtea", mode, include_retired=True)]
    assert not [mode for mode in MODES if "zqxtea" in shown(told, "zqxtea", mode, as_of=then)]


def test_its_evidence_cannot_be_read_and_a_tombstone_says_when_by_whom_and_why(told: Store) -> None:
    """The page that stays holds none of the words; the trail of a forgotten claim neither."""
    done = tell(told, "", "Mara Lind", action="forget", reason="She asked for it.", agent="claude", session_id="s9")
    rows = ask(told, "SELECT content, invalidated_at IS NULL FROM memory.documents WHERE path = %s", done.evidence_path)
    ((page, stands),) = rows
    assert stands
    assert "3 statements were forgotten. She asked for it." in str(page)
    assert not [word for word in ("Oslo", "Bergen", "zqxtea") if word in str(page)]
    live = ask(told, "SELECT content FROM memory.documents WHERE invalidated_at IS NULL")
    assert "zqxtea" not in str(live)
    trail = Memory("acme", told).claim(done.forgotten[0])
    assert (trail.status, trail.statement, trail.evidence) == ("retired", "", ())
    (event,) = [e for e in trail.events if e.event == "retired"]
    assert (event.agent, event.session_id, event.reason, event.evidence_path) == (
        "claude",
        "s9",
        "She asked for it.",
        done.evidence_path,
    )


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"kind": "preference"}, {"Mara lives in Oslo.", "Mara moved to Bergen."}),
        ({"kind": "fact"}, {"Mara likes zqxtea."}),
        ({"content": "Mara likes zqxtea"}, {"Mara lives in Oslo.", "Mara moved to Bergen."}),
        ({"content": "Mara likes coffee."}, {"Mara lives in Oslo.", "Mara moved to Bergen.", "Mara likes zqxtea."}),
    ],
)
def test_one_kind_or_one_statement_is_forgotten_alone(told: Store, given: dict[str, str], left: set[str]) -> None:
    """Claims that have ended go with those of their kind; where nothing says it, nothing is forgotten."""
    done = tell(told, **{"content": "", "subject": "Mara Lind", "action": "forget"} | given)
    assert {c.statement for c in Memory("acme", told).history("Mara Lind").claims} - {""} == left
    assert done.result == ("rejected" if len(left) == 3 else "forgotten")


def test_a_named_claim_is_forgotten_alone(told: Store) -> None:
    first = Memory("acme", told).history("Mara Lind").claims[0]
    assert tell(told, "", "Mara Lind", action="forget", claim_ids=(first.id,)).forgotten == (first.id,)
    assert len([c for c in Memory("acme", told).history("Mara Lind").claims if c.statement]) == 2


def test_the_answer_counts_what_still_holds_the_words(told: Store) -> None:
    """Versions and evidence of its own; a memory and a passage of others that say the same; snapshots of nights."""
    remember(
        told,
        "acme",
        documents=[{"id": "log", "content": "Mara likes zqxtea.", "title": "Log"}],
        chunks=[{"id": "row", "document_id": "log", "content": "We heard that Mara likes zqxtea."}],
        memories=[{"id": "m", "kind": "episodic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "Yes: Mara likes zqxtea."}],
    )
    run_night(told, "acme", force=True, ops="census")
    held_ = tell(told, "", "Mara Lind", action="forget", kind="preference").still_held
    assert held_ is not None
    assert held_.model_dump() == {
        "versions": 1,
        "evidence": 1,
        "snapshots": 1,
        "memories": 1,
        "passages": 1,
        "plans": 0,
    }


def test_evidence_that_another_claim_rests_on_stays(told: Store) -> None:
    """As after a night merged two claims: what is left keeps its source."""
    rows = ask(
        told,
        "SELECT id::text, source_document_ids[1]::text FROM memory.memories m WHERE subject = 'Mara Lind' ORDER BY recorded_at",
    )
    (_, shared), (second, _), *_ = rows
    ask(
        told,
        "UPDATE memory.memories SET source_document_ids = source_document_ids || %s::uuid WHERE id = %s RETURNING 1",
        shared,
        second,
    )
    tell(told, "Mara lives in Oslo.", "Mara Lind", action="forget")
    assert ask(told, "SELECT invalidated_at IS NULL FROM memory.documents WHERE id = %s", shared) == [(True,)]


def test_evidence_on_which_a_claim_of_another_subject_rests_stays(told: Store) -> None:
    """As where a plan read two things in one statement: the words stand for the one while they are forgotten of the other."""
    ((evidence,),) = ask(told, "SELECT source_document_ids[1]::text FROM memory.memories WHERE subject = 'Rowan'")
    other = tell(told, "Heron is grey.", "project:heron").claim_id
    query = "UPDATE memory.memories SET source_document_ids = source_document_ids || %s::uuid WHERE id = %s"
    ask(told, query, evidence, other)
    tell(told, "", "Rowan", action="forget", reason="Asked.")
    standing = "SELECT invalidated_at IS NULL FROM memory.documents WHERE id = %s"
    assert ask(told, standing, evidence) == [(True,)]
    tell(told, "", "project:heron", action="forget", reason="Asked.")
    assert ask(told, standing, evidence) == [(False,)]


@pytest.mark.parametrize("table", ["memories", "documents", "chunks", "claim_events"])
def test_dory_forgetting_is_one_transaction(told: Store, table: str) -> None:
    """Whatever table fails on the way: nothing is forgotten by half, and no tombstone stands alone."""
    before = held(told)
    ask(
        told,
        "CREATE FUNCTION memory.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'It failed on the way.'; END $$",
    )
    event = "INSERT" if table == "claim_events" else "UPDATE"
    ask(
        told,
        f"CREATE TRIGGER zz_fail AFTER {event} ON memory.{table} FOR EACH STATEMENT EXECUTE FUNCTION memory.fail()",
    )
    with pytest.raises(Refused, match="failed on the way"):
        tell(told, "", "Mara Lind", action="forget")
    assert held(told) == before


def test_a_dry_run_and_a_subject_in_doubt_forget_nothing(told: Store) -> None:
    """Nor a subject that nobody knows, with ``soft`` or without."""
    remember(told, "acme", entities=[{"id": "x", "entity_type": "concept", "name": "Mara Lind"}])
    before = held(told)
    dry = tell(told, "", "person:mara-lind", action="forget", dry_run=True)
    assert (dry.result, len(dry.forgotten)) == ("preview", 3)
    assert tell(told, "", "Mara Lind", action="forget").resolved == "ambiguous"
    for soft in (False, True):
        assert tell(told, "", "Zora Quist", action="forget", soft=soft).result == "rejected"
    assert held(told) == before


def test_what_was_forgotten_and_is_said_again_is_a_new_claim(told: Store) -> None:
    done = tell(told, "", "Mara Lind", action="forget", kind="preference")
    again = tell(told, "Mara likes zqxtea.", "Mara Lind", kind="preference")
    assert again.claim_id not in done.forgotten
    assert again.known == ()
    assert "zqxtea" in shown(told, "zqxtea", "bm25")


def test_the_audit_of_tombstones_counts_it(told: Store) -> None:
    """As it counts all that is retired."""
    tell(told, "", "Mara Lind", action="forget")
    numbers = run_night(told, "acme", force=True, ops="tombstones").reports["tombstones"].numbers
    assert (numbers["memories_total"], numbers["memories_tombstones"]) == (4, 3)
    assert ask(
        told, "SELECT count(*) FROM memory.memories WHERE namespace_id = %s AND valid_to IS NULL", uid("acme")
    ) == [(1,)]
