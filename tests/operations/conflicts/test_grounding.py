"""Memories and their recorded sources: which links count, when nothing is compared, and the question that comes of a difference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.changes.simulate import simulate
from slowwave.models.embedder import OfflineEmbedder
from slowwave.night.night import run_night
from slowwave.operations import PLANNERS, permits
from slowwave.operations.conflicts.grounding import unsupported_memories
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome
from slowwave.plans.questions import question
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.pipeline import import_messages
from slowwave.sources.tables import import_memories
from slowwave.store.connect import Store
from tests.snapshots import make_inputs, make_snapshot, uid

resolve_conflicts = PLANNERS["resolve_conflicts"]

Row = dict[str, object]

AT = datetime(2026, 2, 1, 9, tzinfo=UTC)
TURNS = (
    ("user", "I never eat mussels, and I drive 40 km to work."),
    ("assistant", "You could take the ferry to work."),
    ("user", "That is a long way round."),
)
EATS = "The user eats mussels."


def conversation(turns: Sequence[tuple[str, str]] = TURNS, session: str = "s1", **more: object) -> dict[str, list[Row]]:
    """The rows of a session as an import of messages writes them: for each turn a memory and a passage of the document."""
    document: Row = {"id": uid(session), "external_id": f"import:{session}", "valid_from": AT}
    rows: dict[str, list[Row]] = {"memories": [], "memory_versions": [], "chunks": [], "documents": [document]}
    for n, (role, text) in enumerate(turns):
        add(rows, f"{session} {n}", text, kind="episodic", author=role, session_id=session, **more)
        rows["memories"][-1] |= {
            "source_document_ids": [uid(session)],
            "source_chunk_ids": [uid(f"chunk {session} {n}")],
        }
        rows["chunks"].append(
            {
                "id": uid(f"chunk {session} {n}"),
                "external_id": f"{session} {n}",
                "document_id": uid(session),
                "ordinal": n,
                "content": text,
            }
        )
    return rows


def add(rows: Mapping[str, list[Row]], name: str, text: str, **more: object) -> None:
    row = {"id": uid(name), "external_id": name, "current_version_id": uid(f"v {name}"), "valid_from": AT}
    rows["memories"].append({**row, "kind": "semantic", **more})
    rows["memory_versions"].append({"id": uid(f"v {name}"), "memory_id": uid(name), "content": text})


def world(text: str = EATS, rows: Mapping[str, list[Row]] | None = None, **link: object) -> Snapshot:
    """A conversation and a memory "note" that was derived from it."""
    rows = rows or conversation()
    add(rows, "note", text, **link)
    return make_snapshot(**rows)


def asked(snapshot: Snapshot) -> dict[str, str]:
    return {id_: one.kind for id_, one in unsupported_memories(snapshot).items()}


@pytest.mark.parametrize(
    "link",
    [
        {"source_chunk_ids": [uid("chunk s1 0")]},
        {"source_document_ids": [uid("s1")]},
        {"session_id": "s1"},
        {"attributes": {"derived_from": ["s1 0"]}},
        {"attributes": {"source_memory_ids": [uid("s1 0")]}},
        {"source": "s1 0"},
    ],
)
def test_memory_is_compared_with_the_source_that_it_names(link: Mapping[str, object]) -> None:
    """A passage, a document, a session or another memory."""
    assert asked(world(**link)) == {uid("note"): "negation"}


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"session_id": "s2"},
        {"source_chunk_ids": [uid("chunk s1 1")]},
        {"source_chunk_ids": [uid("chunk s1 0"), uid("gone")]},
        {"source_document_ids": [uid("gone")]},
        {"session_id": "s1", "kind": "episodic"},
        {"session_id": "s1", "kind": "summary"},
        {"session_id": "s1", "state": "archived"},
    ],
)
def test_memory_without_a_whole_source_is_not_compared(link: Mapping[str, object]) -> None:
    """No link, a passage about something else, a missing one; turns and summaries are not derived."""
    assert asked(world(**link)) == {}


def test_source_with_a_retired_passage_is_not_compared_unless_it_was_replaced() -> None:
    rows = conversation()
    rows["chunks"][2]["invalidated_at"] = AT
    assert asked(world(rows=rows, session_id="s1")) == {}
    rows = conversation()
    rows["chunks"][2]["invalidated_at"] = AT
    again = {**rows["chunks"][2], "id": uid("again"), "external_id": "s1 2#2", "invalidated_at": None}
    rows["chunks"].append(again)
    assert asked(world(rows=rows, session_id="s1")) == {uid("note"): "negation"}
    rows = conversation()
    rows["documents"][0]["invalidated_at"] = AT
    assert asked(world(rows=rows, session_id="s1")) == {}


def test_turns_that_were_archived_or_shortened_are_still_read_as_they_were_said() -> None:
    """Their passages keep the words."""
    rows = conversation(state="archived", stage="gist")
    for version in rows["memory_versions"]:
        version["content"] = "…"
    assert asked(world(rows=rows, session_id="s1")) == {uid("note"): "negation"}


def test_own_text_of_an_imported_memory_is_no_source() -> None:
    """An import stores the text of a memory as a passage as well; another memory of its document is none either."""
    rows: dict[str, list[Row]] = {
        "memories": [],
        "memory_versions": [],
        "chunks": [],
        "documents": [{"id": uid("d"), "external_id": "table:s1"}],
    }
    for n, text in enumerate(("The user never eats mussels.", EATS)):
        link = {"source_chunk_ids": [uid(f"c{n}")], "source_document_ids": [uid("d")], "session_id": "s1"}
        add(rows, f"m{n}", text, **link)
        rows["chunks"].append(
            {"id": uid(f"c{n}"), "external_id": f"m{n}", "document_id": uid("d"), "ordinal": n, "content": text}
        )
    assert asked(make_snapshot(**rows)) == {}
    for table, more in conversation().items():
        rows[table] += more
    assert asked(make_snapshot(**rows)) == {uid("m1"): "negation"}


def test_page_of_a_session_is_read_turn_by_turn() -> None:
    """The passage of a transcript has no speaker of its own."""
    page = (
        "**User:** How could we stop the rust on the rail?\n\n**Assistant:** You could coat it with zinc every spring."
    )
    rows: dict[str, list[Row]] = {
        "memories": [],
        "memory_versions": [],
        "chunks": [{"id": uid("c"), "document_id": uid("d"), "content": page}],
        "documents": [{"id": uid("d"), "path": "logs/sessions/a.md", "plane": "sessions"}],
    }
    add(rows, "note", "The user coats the rail with zinc every spring.", source_document_ids=[uid("d")])
    assert asked(make_snapshot(**rows)) == {uid("note"): "speaker"}


def items(snapshot: Snapshot, policy: str = "evidence_weighted") -> tuple[Item, ...]:
    settings = {"operations": {"resolve_conflicts": {"policy": policy}}}
    return resolve_conflicts(make_inputs(replace(snapshot, settings=settings))).items


def test_question_shows_the_source_with_its_speaker_and_day_and_the_difference() -> None:
    (item,) = items(world(source_chunk_ids=[uid("chunk s1 0")]))
    assert (item.decision, item.risk, item.sources) == ("review", "high", (uid("chunk s1 0"),))
    asks = question(item)
    assert (asks.code, asks.sentence) == (
        "delete",
        "Should this memory end? Its source is the user of 2026-02-01: “I never eat mussels, and I drive 40 km to work.” "
        "There this is stated with “never”.",
    )
    outcome = find_outcome(item)
    assert outcome
    assert outcome.sentence() == (
        f"Proposal: “{EATS}” ends when the plan is applied because in its source this is stated with “never”; the source "
        "“The user of 2026-02-01: I never eat mussels, and I drive 40 km to work.” stays."
    )


def test_question_about_a_number_proposes_the_number_of_the_source() -> None:
    (item,) = items(world("The user drives 60 km to work.", session_id="s1"))
    (version,) = item.mutation.inserts
    assert version.values["content"] == "The user drives 40 km to work."
    asks = question(item).sentence
    assert asks.startswith("Should the memory take the words of its source? Its source is the user of 2026-02-01: ")
    assert asks.endswith("There “40” is stated, not “60”.")


@pytest.mark.parametrize("text", [EATS, "The user drives 60 km to work."])
def test_second_night_after_the_answer_asks_nothing(text: str) -> None:
    snapshot = world(text, session_id="s1")
    found = items(snapshot)
    assert len(found) == 1
    assert items(simulate(snapshot, seal(Header("n", "n", "s", "f"), found, permits()).items)) == ()


def test_pinned_and_held_back_memories_and_the_policy_manual_ask_nothing() -> None:
    assert items(world(session_id="s1"))
    assert not items(world(session_id="s1", pinned=True))
    assert not items(world(session_id="s1"), policy="manual")


def test_memory_that_loses_a_conflict_is_not_asked_about_again() -> None:
    """Its other question comes when the conflict is settled."""
    rows = conversation()
    later = AT + timedelta(days=1)
    add(rows, "other", "The user never eats mussels.", subject="food", session_id="s1", valid_from=later)
    (item,) = items(world(rows=rows, session_id="s1", subject="food"))
    assert (item.evidence["winner_id"], item.mutation.rows[0].id) == (uid("other"), uid("note"))


def test_question_depends_on_the_passage() -> None:
    """If the passage is retired before apply, the item is stale."""
    (item,) = items(world(session_id="s1"))
    guarded = {(g.table, g.row): g.columns for g in item.mutation.guards}
    assert guarded["chunks", uid("chunk s1 0")] == ("invalidated_at",)
    assert "current_version_id" in guarded["memories", uid("note")]


@pytest.mark.parametrize(
    ("turns", "memories", "kinds"),
    [
        (
            [("user", "Whenever the tide is above 3.4 m, close gate B.")],
            ["Never close gate B.", "Close gate B if the tide is above 3.", "Gate B is closed above 3.4 m."],
            ["negation", "number"],
        ),
        ([("user", "We bought the lathe some years ago.")], ["The lathe was bought on 2021-03-14."], ["date"]),
        (
            [
                ("user", "How could we stop the rust on the rail?"),
                ("assistant", "You could coat it with zinc every spring."),
            ],
            ["The user coats the rail with zinc every spring."],
            ["speaker"],
        ),
    ],
)
def test_imported_memories_of_an_imported_session_are_compared(
    store: Store, tmp_path: Path, turns: Sequence[tuple[str, str]], memories: Sequence[str], kinds: Sequence[str]
) -> None:
    """Three public reports: "whenever" became "never", a date was invented, a suggestion became a habit (J16).

    The session of imported messages is their day.
    """
    said, derived = tmp_path / "messages.jsonl", tmp_path / "memories.jsonl"
    rows = [
        {"namespace": "acme", "created_at": "2026-05-01T09:00:00Z", "role": role, "content": text}
        for role, text in turns
    ]
    said.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    derived.write_text("".join(f"{json.dumps({'text': text, 'session': '2026-05-01'})}\n" for text in memories))
    with store.connect("owner") as connection:
        import_messages(connection, said, embedder=OfflineEmbedder())
        import_memories(connection, derived, embedder=OfflineEmbedder(), namespace="acme")
    plan = run_night(store, "acme", ops="resolve_conflicts", force=True).plan
    assert plan is not None
    assert len([i for i in plan.items if i.is_question and "unsupported" in i.evidence]) == len(kinds)
    found = unsupported_memories(export_snapshot(store, "acme"))
    assert sorted(one.kind for one in found.values()) == sorted(kinds)
