"""Active memory on a real store: what is found and may be told, and what is never told, however well it matches."""

from __future__ import annotations

import pytest

from slowwave.config.settings import Settings
from slowwave.errors import Refused
from slowwave.recall import active_request
from slowwave.recall.active_request import ActiveMemoryRequest, ActiveMemoryResponse, active_memory
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.recall.test_wake_rows import put_document

pytestmark = pytest.mark.slow

PROMPT = "How is the heating of the lake house controlled?"
SAID = "The heating of the lake house is controlled by {}."


def put_page(store: Store, path: str, word: str, *, plane: str = "durable", **metadata: object) -> None:
    """A page whose one chunk answers the prompt with a word of its own."""
    said = f"---\nstatus: written\n---\n{SAID.format(word)}"
    put_document(store, path, said, plane=plane, **metadata)
    chunk = {"id": f"chunk {path}", "document_id": path, "content": said, "start_line": 1, "end_line": 4}
    remember(store, "acme", chunks=[chunk])


def recalled(store: Store, prompt: str = PROMPT, **asked: object) -> ActiveMemoryResponse:
    """What ``acme`` is reminded of."""
    request = ActiveMemoryRequest.model_validate(
        {"prompt": prompt, "agent": "tests", "timeout_ms": 30_000, "debug": True, **asked}
    )
    with store.connect("reader") as connection:
        return active_memory(connection, "acme", request, Settings()).answer


def test_what_answers_is_told_with_its_source(store: Store) -> None:
    """A page, once; without one the answer says so and is empty."""
    remember(store, "acme")
    put_page(store, "projects/lake/state.md", "thermostat", type="project", status="active")
    told = recalled(store)
    assert told.kind == "memory"
    assert told.sources == ("projects/lake/state.md",)
    assert told.block.startswith("## Relevant memory\n\n- The heating of the lake house is controlled by thermostat.")
    assert (told.profile, told.partial) == ("general", False)
    nothing = recalled(store, "privacy of the heating")
    assert (nothing.kind, nothing.block, nothing.sources, nothing.profile) == ("none", "", (), "privacy")


DENIED = {
    "raw": ("notes/raw.md", {"status": "raw"}),
    "superseded": ("notes/old.md", {"status": "superseded"}),
    "replaced": ("notes/older.md", {"superseded_by": "notes/new.md"}),
    "cold": ("notes/cold.md", {"temperature": "cold"}),
    "generated": ("notes/generated.md", {"source_kind": "generated"}),
    "credentials": ("notes/keys.md", {"sensitivity": "credentials"}),
    "quarantine": ("inbox/quarantine/a.md", {}),
    "inbox": ("inbox/a.md", {}),
    "digest": ("digests/daily/a.md", {}),
}


@pytest.mark.parametrize("profile", ["auto", "general", "coding", "writing", "personal", "health", "privacy"])
def test_dory_what_is_denied_stands_in_no_answer(store: Store, profile: str) -> None:
    """Markers planted in pages and in a session that answer the prompt as well as what is told; looked for in every byte of the answer."""
    remember(store, "acme")
    put_page(store, "notes/heating.md", "thermostat", status="active")
    for marker, (path, metadata) in DENIED.items():
        put_page(store, path, f"marker{marker}", **metadata)
    put_page(store, "logs/sessions/cli/1.md", "markersession", plane="sessions")
    answer = recalled(store, profile=profile, include_wake=True).model_dump_json()
    assert "marker" not in answer
    assert ("thermostat" in answer) == (profile != "privacy")


def test_dory_a_profile_keeps_persons_from_code(store: Store) -> None:
    """Coding is told no people and nothing private, general is."""
    remember(store, "acme")
    put_page(store, "people/ana.md", "ana", status="active")
    put_page(store, "notes/private.md", "diary", visibility="private")
    put_page(store, "notes/health.md", "inhaler", sensitivity="health")
    assert recalled(store, profile="coding").kind == "none"
    assert set(recalled(store, profile="general").sources) == {"people/ana.md", "notes/private.md", "notes/health.md"}


def test_dory_sessions_are_told_when_they_are_asked_for(store: Store) -> None:
    """By words of the prompt, and not otherwise."""
    remember(store, "acme")
    put_page(store, "logs/sessions/cli/1.md", "voice", plane="sessions", status="done")
    assert recalled(store).kind == "none"
    assert recalled(store, f"Last time we talked: {PROMPT}").sources == ("logs/sessions/cli/1.md",)


def test_a_wake_stands_before_it(store: Store) -> None:
    """That of the profile, for the project whose folder the agent works in."""
    remember(store, "acme")
    put_document(store, "projects/lake/state.md", "Waits for the keys.")
    put_page(store, "notes/heating.md", "thermostat", status="active")
    told = recalled(store, profile="coding", include_wake=True, cwd="/home/mara/lake/")
    assert told.block.index("Waits for the keys.") < told.block.index("thermostat")


def test_dory_a_search_that_takes_too_long_is_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the database; the answer says that it is partial, nothing is told that was not found in time, and the connection goes on."""
    remember(store, "acme")
    with store.connect("owner") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(4)")
        wait = "SELECT pg_advisory_xact_lock(4)"
        monkeypatch.setattr(active_request, "search_on", lambda connection, *_, **__: connection.execute(wait))
        told = recalled(store, f"Last time we talked: {PROMPT}", timeout_ms=100)
    assert (told.kind, told.partial, len(told.warnings)) == ("none", True, 1)


def test_unknown_names_are_refused(store: Store) -> None:
    """Before anything is searched."""
    remember(store, "acme")
    with pytest.raises(Refused, match="no profile"):
        recalled(store, profile="none")
    assert not ask(store, "SELECT 1 FROM memory.recall_events")


def test_a_profile_says_whether_pinned_decisions_are_told(store: Store) -> None:
    """Coding tells none before its reminders, whatever wakes with it."""
    remember(store, "acme")
    pinned: dict[str, object] = {"type": "decision", "frontmatter": {"pinned": True}, "title": "Rent"}
    put_document(store, "decisions/rent.md", "We rent.", **pinned)
    told = {name: recalled(store, include_wake=True, profile=name).block for name in ("general", "coding")}
    assert {name: "We rent." in block for name, block in told.items()} == {"general": True, "coding": False}
