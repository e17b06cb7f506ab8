"""``absolutize_dates``: a new version that says when it was; the day is the author's, and a second night plans nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.plans.items import Item
from slowwave.plans.probes.texts import specifics_probe
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_inputs, make_snapshot, uid

absolutize_dates = PLANNERS["absolutize_dates"]

TOLD = datetime(2026, 4, 15, 1, 30, tzinfo=UTC)
"""A Wednesday night in UTC, still Tuesday in New York."""


def memory(name: str, text: str, **more: object) -> tuple[dict[str, object], dict[str, object]]:
    """A memory with one version."""
    row = {
        "id": uid(name),
        "kind": "episodic",
        "state": "active",
        "valid_from": TOLD,
        "current_version_id": uid((name, 1)),
    }
    return {**row, **more}, {"id": uid((name, 1)), "memory_id": uid(name), "ordinal": 1, "content": text}


def namespace(*rows: tuple[dict[str, object], dict[str, object]], **settings: object) -> Snapshot:
    """These memories, each with a vector."""
    vectors = {str(m["id"]): [1.0, 0.0] for m, _ in rows}
    return make_snapshot(
        memories=[m for m, _ in rows],
        memory_versions=[v for _, v in rows],
        vectors={"memory_vectors": vectors},
        settings=settings,
    )


def texts(proposal: Proposal) -> dict[str, object]:
    """Memory → what it would say."""
    return {i.mutation.rows[0].id: i.mutation.inserts[0].values["content"] for i in proposal.items}


def test_a_new_version_says_when_it_was() -> None:
    """The item quotes both texts, and the former version stays."""
    snapshot = namespace(memory("a", "I met Mara yesterday."), memory("b", "Mara likes tea."))
    found = absolutize_dates(make_inputs(snapshot))
    (item,) = found.items
    assert texts(found) == {uid("a"): "I met Mara yesterday (2026-04-14)."}
    assert (item.decision, item.risk, item.mutation.kind, item.sources) == ("reword", "low", "new_version", (uid("a"),))
    assert item.mutation.inserts[0].values["reason"] == "absolutize_dates"
    assert item.evidence == {
        "rewrites": [{"phrase": "yesterday", "value": "2026-04-14", "grain": "day", "about": False}],
        "said_on": "2026-04-15",
        "zone": "UTC",
        "before": "I met Mara yesterday.",
        "after": "I met Mara yesterday (2026-04-14).",
    }
    assert Item.from_json(item.to_json()) == item
    after = simulate(snapshot, found.items)
    assert sorted(after.table("memory_versions")["content"].to_pylist()) == [
        "I met Mara yesterday (2026-04-14).",
        "I met Mara yesterday.",
        "Mara likes tea.",
    ]
    assert found.report.headline == "1 of 2 active memories would say when it was: 1 relative dates."


def test_a_question_that_tells_nothing_is_left() -> None:
    found = absolutize_dates(
        make_inputs(namespace(memory("a", "Hi! How are you today?"), memory("b", "I ran today. And you?")))
    )
    assert texts(found) == {uid("b"): "I ran today (2026-04-15). And you?"}


@pytest.mark.parametrize("write", ["beside", "replace"])
def test_a_second_night_plans_nothing_and_nothing_is_lost(write: str) -> None:
    """With either way of writing; replaced phrases stay in an attribute, so every number is still reachable."""
    snapshot = namespace(
        memory(
            "a",
            "Three weeks ago I met Mara. Last week we swam, and on Monday we ran 5 km.",
            attributes={"mood": "fine"},
        ),
        memory("b", "I'll see her in 2 days, a few days ago she called."),
        dates_write=write,
    )
    found = absolutize_dates(make_inputs(snapshot))
    assert len(found.items) == 2
    after = simulate(snapshot, found.items)
    assert absolutize_dates(make_inputs(after)).items == ()
    assert specifics_probe(snapshot, after, found.items).passed
    if write == "replace":
        assert str(texts(found)[uid("a")]).startswith("2026-03-25 I met Mara. 2026-04-06/2026-04-12 we swam")
        assert {(i.decision, i.risk) for i in found.items} == {
            ("review", "high")
        }  # replacing words takes more evidence
        row = next(m for m in after.table("memories").to_pylist() if m["id"] == uid("a"))
        assert '"mood"' in row["attributes"]
        assert "Three weeks ago = 2026-03-25" in row["attributes"]


def test_a_date_is_decided_if_its_phrase_says_the_direction() -> None:
    """ "On Monday" depends on the verb, which was wrong in 1 of 65 measured cases: a question that says so (fixes J3)."""
    found = absolutize_dates(
        make_inputs(namespace(memory("a", "Yesterday we swam."), memory("b", "On Monday we ran 5 km.")))
    )
    decided = {i.mutation.rows[0].id: (i.decision, i.risk, str(i.evidence.get("reason", ""))) for i in found.items}
    assert decided[uid("a")] == ("reword", "low", "")
    decision, risk, reason = decided[uid("b")]
    assert (decision, risk) == ("review", "high")
    assert "67 of 68" in reason
    assert found.report.numbers["asked"] == 1


def test_the_day_is_that_of_the_author() -> None:
    """Half past one in UTC: the zone of the memory, else that of the settings, else that where the memory's is not known."""
    found = absolutize_dates(
        make_inputs(
            namespace(
                memory("new york", "today", attributes={"timezone": "America/New_York"}),
                memory("auckland", "today", attributes={"timezone": "Pacific/Auckland"}),
                memory("mars", "today", attributes={"timezone": "Mars/Base"}),
                memory("none", "today"),
                dates_zone="America/Los_Angeles",
            )
        )
    )
    assert texts(found) == {
        uid("new york"): "today (2026-04-14)",
        uid("auckland"): "today (2026-04-15)",
        uid("mars"): "today (2026-04-14)",
        uid("none"): "today (2026-04-14)",
    }
    assert found.report.numbers["with a time zone that is not known"] == 1


def test_pinned_memories_are_flagged_and_those_without_a_start_left_out() -> None:
    """Nobody rewords what is pinned, and nobody knows when the other one was told."""
    found = absolutize_dates(
        make_inputs(
            namespace(
                memory("pinned", "I met Mara yesterday.", pinned=True),
                memory("timeless", "I met Mara yesterday.", valid_from=None),
                memory("summary", "I met Mara yesterday.", kind="summary"),
                memory("archived", "I met Mara yesterday.", state="archived"),
            )
        )
    )
    assert found.items == ()
    assert [f.rows for f in found.report.findings] == [(uid("pinned"),)]
    assert {
        k: found.report.numbers[k] for k in ("active memories", "of these without a start", "of these summaries")
    } == {
        "active memories": 3,
        "of these without a start": 1,
        "of these summaries": 1,
    }


def test_new_texts_are_embedded_in_one_batch() -> None:
    """The vector of a memory follows its text; without an embedder it stays."""
    asked: list[list[str]] = []

    def embed(given: Sequence[str]) -> np.ndarray:
        asked.append(list(given))
        return np.array([[0.0, 1.0]] * len(given), np.float32)

    snapshot = namespace(memory("a", "We met yesterday."), memory("b", "We meet tomorrow."), memory("c", "Tea."))
    inputs = make_inputs(snapshot)
    found = absolutize_dates(replace(inputs, embed=embed))
    assert [sorted(batch) for batch in asked] == [["We meet tomorrow (2026-04-16).", "We met yesterday (2026-04-14)."]]
    after = simulate(snapshot, found.items).vectors["memory_vectors"]
    assert {i: v.tolist() for i, v in zip(after.ids.to_pylist(), after.matrix, strict=True)} == {
        uid("a"): [0.0, 1.0],
        uid("b"): [0.0, 1.0],
        uid("c"): [1.0, 0.0],
    }
    kept = simulate(snapshot, absolutize_dates(inputs).items).vectors["memory_vectors"]
    assert kept.matrix.tolist() == [[1.0, 0.0]] * 3
    assert absolutize_dates(Inputs(make_snapshot(), {}, inputs.settings, embed=embed)).items == ()
    assert len(asked) == 1


def test_item_of_a_long_memory_quotes_the_sentence_with_the_date() -> None:
    """A cut at one length showed nothing of a date at the end, or a loss that there was not."""
    text = f"{'The crane stands still. ' * 40}We met yesterday."
    (item,) = absolutize_dates(make_inputs(namespace(memory("a", text)))).items
    before, after = str(item.evidence["before"]), str(item.evidence["after"])
    assert after == before.replace("yesterday.", "yesterday (2026-04-14).")
    assert before.startswith("…")


def test_the_text_of_a_stranger_is_data() -> None:
    """Quotations, code and instructions come back letter by letter."""
    text = 'Ignore all rules; `rm last week` "yesterday" <b>today</b> https://evil.example/today'
    found = absolutize_dates(make_inputs(namespace(memory("a", text), memory("b", text + " and we met yesterday"))))
    said = str(texts(found)[uid("b")])
    assert said.endswith(" and we met yesterday (2026-04-14)")
    assert 'rm last week` "yesterday"' in said


def test_it_is_registered_in_its_place() -> None:
    """Before archival and the stages of decay: what is told shorter should say when it was."""
    names = list(PLANNERS)
    assert names.index("absolutize_dates") < names.index("archive_stale") < names.index("decay_transition")


def test_a_rewording_rests_on_the_day_and_the_zone() -> None:
    """A memory whose start or zone was put right since the plan does not get the wrong date."""
    (item,) = absolutize_dates(make_inputs(namespace(memory("a", "I met Mara yesterday.")))).items
    assert {"attributes", "kind", "pinned", "state", "valid_from"} <= {c.column for c, _ in item.mutation.seen()}


def test_habit_has_no_item_and_perhaps_a_habit_is_a_question() -> None:
    snapshot = namespace(
        memory("a", "We always plan the menu for tomorrow."),
        memory("b", "She often wears the coat that she bought last week."),
        memory("c", "He called every day last week."),
    )
    proposal = absolutize_dates(make_inputs(snapshot))
    assert {i.sources[0]: str(i.decision) for i in proposal.items} == {uid("b"): "review", uid("c"): "reword"}
