"""``mark_ended_statements``: a sentence of a longer memory says until when it held, and not a word is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import TOLD
from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Proposal
from slowwave.plans.items import Item
from slowwave.plans.questions import question
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_memories import world
from tests.operations.conflicts.test_news import said
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

mark_ended_statements = PLANNERS["mark_ended_statements"]

LONGER, SOLD = "The garage is full. I drive a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."
DAY = "2026-02-11"
FROM = datetime(2026, 2, 11, 23, 30, tzinfo=UTC)


def proposed(*memories: dict[str, object]) -> tuple[Snapshot, Proposal]:
    snapshot = world(*memories)
    return snapshot, mark_ended_statements(make_inputs(snapshot))


def after(proposal: Proposal) -> list[object]:
    """What the memories would say."""
    return [i.mutation.inserts[0].values["content"] for i in proposal.items]


def sold(text: str = SOLD, **more: object) -> dict[str, object]:
    return said("z", text) | {"valid_from": FROM, **more}


def test_mark_of_an_unmeasured_rule_asks() -> None:
    """J1: a mark changes what a memory means, so only a measured rule writes it without a question."""
    (item,) = proposed(said("a", LONGER), sold())[1].items
    assert (item.decision, item.risk) == ("review", "high")
    assert "decide without you" in str(item.evidence["reason"])
    assert question(item).sentence.startswith("Should the sentence be marked with the later statement?")


@pytest.mark.usefixtures("every_rule_decides")
def test_the_sentence_says_until_when_and_why() -> None:
    """The item shows both texts; a second night finds nothing."""
    snapshot, found = proposed(said("a", LONGER) | {"valid_from": datetime(2026, 1, 1, tzinfo=UTC)}, sold())
    (item,) = found.items
    changed = (
        f"The garage is full. I drive a Fiat Panda (until {DAY}; then: “I sold the Fiat Panda and bought a Kia Niro”)."
    )
    assert after(found) == [changed]
    assert (item.decision, item.risk, item.sources) == ("reword", "medium", (uid("a"), uid("z")))
    assert item.evidence["ended"] == [{"sentence": "I drive a Fiat Panda.", "until": FROM.isoformat(), "said": SOLD}]
    assert Item.from_json(item.to_json()) == item
    assert not mark_ended_statements(make_inputs(simulate(snapshot, found.items))).items


def test_what_happened_before_says_what_was_told_later() -> None:
    """It stays true, and a second night finds nothing; nor is a mark quoted again."""
    told = "Mara moved from Oslo to Bergen (later, on 2026-03-01: “Mara lives in Graz now”)."
    snapshot, found = proposed(said("a", "Mara rang from Oslo."), sold(told))
    assert after(found) == [f"Mara rang from Oslo (later, on {DAY}: “Mara moved from Oslo to Bergen”)."]
    assert found.items[0].evidence["ended"] == [
        {"sentence": "Mara rang from Oslo.", "later": FROM.isoformat(), "said": "Mara moved from Oslo to Bergen."}
    ]
    assert not mark_ended_statements(make_inputs(simulate(snapshot, found.items))).items


def test_it_rests_on_what_ended_the_sentence() -> None:
    """When that says something else by the time of apply, the item is stale."""
    _, found = proposed(said("a", LONGER), sold())
    guarded = {(g.row, column) for g in found.items[0].mutation.guards for column in g.columns}
    assert {(uid("z"), TOLD), (uid("z"), "invalidated_at"), (uid("a"), "visibility")} <= guarded


@pytest.mark.parametrize(
    "text",
    [
        "I sold the Fiat Panda (at last) and bought a Kia Niro.",
        "I sold the Fiat Panda and bought a Kia Niro, [a red one](http://example.org).",
        f"I sold the Fiat Panda and bought a Kia Niro, {'very ' * 40}red.",
    ],
)
def test_what_might_break_the_text_is_not_quoted(text: str) -> None:
    """The day stands alone."""
    _, found = proposed(said("a", LONGER), sold(text))
    assert after(found) == [f"The garage is full. I drive a Fiat Panda (until {DAY})."]


def test_a_date_beside_what_is_quoted_is_left_out() -> None:
    """The mark has a day already."""
    _, found = proposed(
        said("a", LONGER), sold("I sold the Fiat Panda last week (2026-02-02/2026-02-08) and bought a Kia Niro.")
    )
    assert after(found) == [
        f"The garage is full. I drive a Fiat Panda (until {DAY}; then: “I sold the Fiat Panda last week and bought a Kia Niro”)."
    ]


def test_a_sentence_whose_place_is_not_sure_is_left() -> None:
    """Its words stand within another one as well."""
    _, found = proposed(said("a", "The note says: I drive a Fiat Panda. I drive a Fiat Panda."), sold())
    assert found.items == ()


@pytest.mark.parametrize("more", [{"pinned": True}, {"kind": "summary"}])
def test_pinned_memories_and_summaries_are_left(more: dict[str, object]) -> None:
    _, found = proposed(said("a", LONGER, **more), sold())
    assert found.items == ()
    assert sum(found.report.numbers[k] for k in ("pinned", "summaries")) == 1


def test_a_memory_with_a_secret_is_left_to_screening() -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    _, found = proposed(said("a", f"The key is {key}. I drive a Fiat Panda."), sold())
    assert found.items == ()
    assert found.report.numbers["held back by screening"] == 1


def test_the_day_is_that_of_the_zone() -> None:
    inputs = make_inputs(world(said("a", LONGER), sold()))
    found = mark_ended_statements(replace(inputs, settings=Settings(dates_zone="Europe/Oslo")))
    assert str(after(found)[0]).count("(until 2026-02-12; then: ") == 1


@given(st.lists(st.sampled_from(["The garage is full.", "Is it?", "- milk", "Tea!", "I drive a Fiat Panda.", "“So.”"])))
def test_nothing_but_marks_is_added(parts: list[str]) -> None:
    """Whatever stands around it: without what stands in brackets the text is what it was."""
    text = "\n".join(parts)
    _, found = proposed(said("a", text), sold())
    mark = f" (until {DAY}; then: “I sold the Fiat Panda and bought a Kia Niro”)"
    for changed in map(str, after(found)):
        assert changed != text
        assert changed.replace(mark, "") == text


PAST = datetime(2026, 1, 5, tzinfo=UTC)
SOURCE = said("s", "The studio is in Porto.") | {"external_id": "note-1", "valid_to": PAST}
DERIVED = "The studio pays Portuguese taxes since last month."


def derived(name: str, source: object, key: str = "derived_from", **more: object) -> dict[str, object]:
    return said(name, DERIVED) | {"attributes": json.dumps({key: source}), "valid_from": PAST, **more}


@pytest.mark.parametrize("key", ["derived_from", "source", "sources", "source_memory_ids", "links"])
@pytest.mark.parametrize("source", ["note-1", uid("s"), [uid("s")], [{"id": "note-1"}], [{"target": uid("s")}]])
def test_memory_derived_from_an_ended_one_is_asked_about(key: str, source: object) -> None:
    (item,) = proposed(SOURCE, derived("d", source, key))[1].items
    assert (item.decision, item.risk) == ("review", "high")
    asked = question(item).sentence
    assert asked.startswith("Should searches stop returning this? It stays stored.")
    assert "The studio is in Porto." in asked


@pytest.mark.parametrize(
    "source",
    [
        SOURCE | {"valid_to": None},
        SOURCE | {"valid_to": datetime(2999, 1, 1, tzinfo=UTC)},
        SOURCE | {"valid_to": None, "invalidated_at": PAST, "merged_into": uid("z"), "state": "merged"},
    ],
)
def test_memory_derived_from_one_that_holds_is_not_asked_about(source: dict[str, object]) -> None:
    """A merged memory lives on in the one that absorbed it."""
    assert not proposed(source, derived("d", "note-1"), said("z", "The mill is old."))[1].items


@pytest.mark.parametrize("more", [{"pinned": True}, {"kind": "summary"}, {"state": "archived"}])
def test_pinned_archived_and_generated_memories_that_rest_on_an_ended_one_stay(more: dict[str, object]) -> None:
    assert not proposed(SOURCE, derived("d", "note-1", **more))[1].items


def test_only_the_first_hop_is_asked_about_and_only_once() -> None:
    snapshot, found = proposed(SOURCE, derived("d", "note-1"), derived("e", uid("d")))
    (item,) = found.items
    assert item.mutation.rows[0].id == uid("d")
    assert not mark_ended_statements(make_inputs(simulate(snapshot, [item]))).items


@pytest.mark.parametrize("operation", ["absolutize_dates", "decay_transition"])
def test_memory_that_rests_on_an_ended_one_gets_no_new_text_until_the_answer(operation: str) -> None:
    """A person who keeps the memory rejects the question; from then on it is a memory like any other."""
    long_ago = TAKEN_AT - timedelta(days=400)
    more = {
        "valid_from": long_ago,
        "recorded_at": long_ago,
        "text": f"{DERIVED} The accountant asked for all of the receipts. " * 4,
    }
    snapshot, found = proposed(SOURCE, derived("d", "note-1", **more))
    (item,) = found.items
    planner = PLANNERS[operation]
    assert not planner(make_inputs(snapshot)).items
    kept = {"operation": "mark_ended_statements", "subject": item.subject(), "row_ids": [uid("d")]}
    rejections = make_snapshot(rejections=[{"id": uid("no"), **kept}]).table("rejections")
    answered = replace(snapshot, tables={**snapshot.tables, "rejections": rejections})
    assert planner(make_inputs(answered)).items
