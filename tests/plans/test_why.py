"""The account of an item says what would happen, side by side and in words, from the sealed item alone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from slowwave.changes.cells import Cell, Write
from slowwave.changes.merges import Alike, Merge, merge_facts, merge_memories, merge_rows
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import Loss, Supersession, filter_references, lose_conflict, supersede_facts
from slowwave.night.night import run_night
from slowwave.operations import PLANNERS
from slowwave.plans.items import Item
from slowwave.plans.questions import ReviewQuestion
from slowwave.plans.why import why
from slowwave.store.connect import Store
from tests.memories import remember
from tests.operations.planners.test_absolutize_dates import memory, namespace
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

FALL = [{"evidence": "prior", "weight": -3.0}, {"evidence": "name", "weight": 8.0, "detail": "The names are the same"}]


def test_two_sides_show_their_authors_if_these_are_known_and_differ(store: Store) -> None:
    """A person who asks which is right wants to know who said it, also if the sides are shown in the other order."""
    texts = [(None, "wiki"), ("facilities", "wiki"), ("wiki", "wiki")]
    for n, authors in enumerate(texts):
        docks = dict(zip((14, 11), authors, strict=True))
        remember(
            store,
            f"n{n}",
            memories=[
                {"id": f"m{n} {d}", "kind": "semantic", "subject": "warehouse", "current_version_id": f"v{n} {d}"}
                | ({"author": author} if author else {})
                for d, author in docks.items()
            ],
            memory_versions=[
                {
                    "id": f"v{n} {d}",
                    "memory_id": f"m{n} {d}",
                    "content": f"The warehouse in Delft has {d} loading docks.",
                }
                for d in docks
            ],
        )
        plan = run_night(store, f"n{n}", ops="contradictions,resolve_conflicts", force=True).plan
        assert plan is not None
        (item,) = plan.items
        rows = why(item).rows
        assert len(rows) == 2
        shown = {row.fields["says"].split()[5]: row.fields.get("author") for row in rows}
        assert shown == ({"14": "facilities", "11": "wiki"} if n == 1 else {"14": None, "11": None})
        assert "authors" not in why(item).evidence


def merge(decision: str = "merge", **evidence: object) -> Item:
    """Open Telemetry absorbs OpenTelemetry and brings an attribute."""
    rows = [
        {
            "id": uid("x"),
            "name": "Open Telemetry",
            "entity_type": "tool",
            "external_id": "17",
            "attributes": {"since": 2019},
        },
        {
            "id": uid("y"),
            "name": "OpenTelemetry",
            "entity_type": "tool",
            "attributes": {"since": 2019, "url": "otel.io"},
        },
    ]
    (mutation,) = merge_rows(make_snapshot(entities=rows), [Merge(uid("x"), (uid("y"),))])
    return Item("dedupe_entities", decision, mutation, {"waterfall": FALL, **evidence}, probability=0.9933)


def test_a_merge_is_told_in_a_sentence_with_its_rows_side_by_side() -> None:
    """Names, types and attributes as the plan saw them, also those that the merge would write."""
    account = why(merge())
    assert account.sentence.startswith("“OpenTelemetry” is merged into “Open Telemetry” because they are one thing;")
    assert "the name “OpenTelemetry” stays." in account.sentence, "the merge writes it on the row that stays"
    lines = {line[""]: (line["stays"], line["is merged into it"]) for line in account.side_by_side()}
    assert lines["id"] == (uid("x"), uid("y"))
    assert lines["external id"] == ("17", "")
    assert lines["name"] == ("Open Telemetry", "OpenTelemetry")
    assert lines["entity_type"] == ("tool", "tool")
    assert lines["· since"] == ("2019", "2019")
    assert lines["· url"] == ("", "otel.io")
    assert "description" not in lines, "neither has one"
    assert [s.says for s in account.steps] == ["Prior", "The names are the same"]
    assert (
        account.verdict
        == "Probability that these rows are one thing: 99.3 %. Of such merges, about one in 150 is wrong."
    )
    assert json.loads(json.dumps(account.to_json()))["rows"][1]["name"] == "OpenTelemetry"


def test_a_review_tells_its_reason_and_what_the_judges_said() -> None:
    """Two models were asked; both answers are quoted."""
    opinions = [
        {
            "model": "one",
            "verdict": "same",
            "confidence": 0.9,
            "cited": [uid("x")],
            "reason": "Same project.",
            "problem": "",
        },
        {"model": "two", "verdict": "unsure", "confidence": 0.4, "cited": [], "reason": "", "problem": "timeout"},
    ]
    verdict = {"decision": "review", "why": "Not merged by the judges: two says timeout.", "opinions": opinions}
    account = why(merge("review", reason="The evidence is short.", judges=verdict))
    assert account.sentence.startswith("Proposal: “OpenTelemetry” is merged into “Open Telemetry”")
    assert account.verdict.endswith("A person decides.")
    assert account.asks is not None
    assert account.asks.sentence.endswith("The evidence is short.")
    assert account.notes == (
        "Not merged by the judges: two says timeout.",
        "one: “Same project.”",
    )


def test_what_a_merge_would_lose_is_said() -> None:
    """The plan's probe names it by the absorbed row, as the item was sealed anew for review."""
    lost = [{"item": uid("before"), "row": uid("y"), "term": "v1.2"}, {"item": "i", "row": uid("z"), "term": "no"}]
    account = why(merge("review"), {"specifics": {"lost": lost}})
    assert account.notes == ("Words of absorbed rows alone would no longer be found: v1.2.",)


def test_where_only_a_value_is_in_question_nothing_else_is_asked() -> None:
    """The planner was sure, and what the merge would lose brought it to a person."""
    item = merge("review")
    account = why(item, {"specifics": {"lost": [{"item": item.id, "row": uid("y"), "term": "v1.2"}], "asked": []}})
    assert account.asks == ReviewQuestion("value_lost", f"Would lose v1.2 of row {uid('y')[:8]}.")
    assert account.sentence.endswith("A person is asked whether that may be.")
    assert account.verdict.endswith("That is not the question: what would be lost is.")
    assert account.to_json()["asks"] == {"code": "value_lost", "sentence": account.asks.sentence}
    assert why(merge()).asks is None


def test_a_cluster_shows_all_its_joints() -> None:
    """Its waterfall is that of the weakest."""
    pairs = [{"names": ["A", "B"], "probability": 0.9999}, {"names": ["B", "C"], "probability": 0.991}]
    account = why(merge(pairs=pairs))
    assert account.notes == ("The weakest of 2 links is shown. All of them:", "A = B: > 99.9 %", "B = C: 99.1 %")


def test_sentence_of_an_item_without_two_sides_states_in_plain_words_what_changes() -> None:
    """No name of a mutation, a table or a count of cells: a person reads it before they answer."""
    row, version = Row(uid("m")), Cell("memories", uid("m"), "current_version_id")
    state = Write(Cell("memories", uid("m"), "state"), "set", "active", "archived")
    sentences = [
        why(Item("an_operation", "review", Mutation(kind, "memories", writes=writes, rows=rows))).sentence
        for kind, writes, rows in (
            ("new_version", (Write(version, "set", uid("v1"), uid("v2")),), (row,)),
            ("set_state", (state,), (row,)),
            ("set_attributes", (Write(Cell("memories", uid("m"), "tags"), "set", (), ("a",)),), (row, Row(uid("n")))),
            ("invalidate_rows", (Write(Cell("memories", uid("m"), "valid_to"), "now", None),), (row,)),
        )
    ]
    assert sentences == [
        f"The text of memory {uid('m')} would change. The text that it has now stays on record.",
        "No search returns the memory any more (state active → archived). "
        "It stays stored, and so does a passage that it cites, which searches still return.",
        f"2 memories ({uid('m')}, {uid('n')}) would change their tags.",
        f"Memory {uid('m')} would end, and nothing replaces it. What ends stays on record.",
    ]
    talk = Item("archive_small_talk", "review", Mutation("set_state", "memories", writes=(state,), rows=(row,)))
    assert why(talk).sentence == "No search returns it any more (state active → archived). It stays stored."


def test_reworded_memory_is_shown_as_its_two_texts_with_the_day_of_the_first() -> None:
    """Ids of versions and vectors say nothing about whether "next Monday" was read rightly."""
    text = "The migration starts next Monday."
    snapshot = namespace(memory("m", text, valid_from=datetime(2026, 9, 20, tzinfo=UTC)))
    (item,) = PLANNERS["absolutize_dates"](make_inputs(snapshot)).items
    for texts in ({uid(("m", 1)): text}, {}):
        lines = {line[""]: line for line in why(item, texts=texts).side_by_side()}
        assert lines.keys() == {"says", "written on"}
        assert (lines["says"]["now"], lines["written on"]["now"]) == (text, "2026-09-20")
        assert lines["says"]["afterwards"] == "The migration starts next Monday (2026-09-21)."


def test_what_ends_in_a_connected_folder_leaves_its_file() -> None:
    row = Row(uid("m"), "crew.md, line 7")
    ending = Mutation(
        "invalidate_rows",
        "memories",
        writes=(Write(Cell("memories", uid("m"), "valid_to"), "now", None),),
        rows=(row,),
    )
    sentence = why(Item("an_operation", "review", ending)).sentence
    assert "leaves its file (crew.md, line 7)" in sentence
    assert "stays on record" not in sentence
    rows = [{"id": uid(n), "kind": "event", "subject": "Crane", "external_id": f"crew.md, line {n}"} for n in "45"]
    (mutation,) = merge_memories(make_snapshot(memories=rows), [Alike(uid("4"), (uid("5"),))])
    sentence = why(Item("dedupe_memories", "merge", mutation, {"names": ["It stopped.", "It had stopped."]})).sentence
    assert "The other row leaves its file (crew.md, line 5)" in sentence


def test_an_item_without_a_waterfall_shows_its_evidence_and_its_changes() -> None:
    """Every operation has an account."""
    snapshot = make_snapshot(entities=[{"id": uid("x"), "name": "X", "source_chunk_ids": [uid("gone")]}])
    item = Item("gc_references", "clean", filter_references(snapshot, "entities", [uid("x")])[0], {"dead": 1})
    account = why(item)
    assert account.sentence == f"The references of entity {uid('x')} to rows that are gone would be removed."
    assert account.side_by_side()[-1] == {"": "source_chunk_ids", uid("x")[:8]: "1 ids → 0 ids"}
    assert (account.verdict, account.evidence) == ("", {"dead": "1"})
    assert why(replace(item, evidence={})).evidence == {}
    unusual = {"margin": 1.5, "lead": 0.1, "to_ring": "long"}
    assert why(replace(item, evidence=unusual)).evidence == {
        "ratio of weights that decides alone": "1.5",
        "difference of scores that decides alone": "0.1",
        "term after": "long",
    }
    noted = {
        "share_with_one_object": 0.98765,
        "one_way": True,
        "by_type": {"no_name": ["a", "b"]},
        "pairs": [{"a": 1}],
        "none": None,
    }
    assert why(replace(item, evidence=noted)).evidence == {
        **{"share with one object": "0.9877", "one way": "yes"},
        **{"by type": "no name: a, b", "pairs": "a: 1", "none": ""},
    }


def test_a_merge_of_facts_is_told_by_what_they_say() -> None:
    """The words of both, what the survivor takes, and both side by side."""
    rows = [
        {
            **{"id": uid("x"), "subject": "Ann", "predicate": "uses", "object": "vim", "confidence": 0.9},
            "valid_from": datetime(2026, 11, 10, tzinfo=UTC),
        },
        {
            **{"id": uid("y"), "subject": "ANN", "predicate": "uses", "object": "Vim.", "confidence": 0.4},
            "valid_from": datetime(2026, 11, 12, 8, 30, tzinfo=UTC),
        },
    ]
    snapshot = make_snapshot(memory_facts=rows)
    (mutation,) = merge_facts(snapshot, [Alike(uid("x"), (uid("y"),))])
    item = Item("dedupe_facts", "merge", mutation, {"names": ["Ann uses vim", "ANN uses Vim."]})
    account = why(item)
    assert account.sentence == (
        "“ANN uses Vim.” is merged into “Ann uses vim” because they state the same. "
        "The row that stays takes their sources, the greatest confidence and the earliest start. "
        "The other row stays on record and points to it."
    )
    lines = {line[""]: (line["stays"], line["is merged into it"]) for line in account.side_by_side()}
    assert lines["object"] == ("vim", "Vim.")
    assert lines["confidence"] == ("0.9", "0.4")
    assert lines["valid_from"] == ("2026-11-10", "2026-11-12 08:30")
    review = why(replace(item, decision="review"))
    assert review.sentence.startswith("Proposal: “ANN uses Vim.” is merged into “Ann uses vim”")


def test_a_merge_of_memories_is_told_by_their_texts() -> None:
    """Which the plan quotes, as the rows hold only the ids of their versions."""
    rows = [{"id": uid(n), "kind": "event", "subject": "Crane", "tags": [n]} for n in "xy"]
    (mutation,) = merge_memories(make_snapshot(memories=rows), [Alike(uid("x"), (uid("y"),))])
    account = why(Item("dedupe_memories", "merge", mutation, {"names": ["It stopped.", "It had stopped."]}))
    assert account.sentence.startswith("“It had stopped.” is merged into “It stopped.” because they state the same. ")
    part = Item(
        "dedupe_memories",
        "merge",
        mutation,
        {"names": ["It stopped and fell.", "It fell."], "pattern": "part of another"},
    )
    assert " because the longer text states it as well. " in why(part).sentence
    lines = {line[""]: (line["stays"], line["is merged into it"]) for line in account.side_by_side()}
    assert lines["text"] == ("It stopped.", "It had stopped.")
    assert lines["subject"] == ("Crane", "Crane")
    assert lines["tags"] == ('["x"]', '["y"]')
    assert uid("x")[:8] in why(Item("dedupe_memories", "merge", mutation)).sentence, (
        "a plan that quotes nothing names ids"
    )


def test_a_replaced_fact_is_told_with_the_day_on_which_it_ended() -> None:
    """Merged is one thing, replaced another: it was true until then."""
    rows = [
        {
            "id": uid(city),
            **{"subject": "Ann", "predicate": "lives in", "object": city},
            "valid_from": TAKEN_AT - timedelta(days=days),
        }
        for city, days in (("Oslo", 90), ("Rome", 9))
    ]
    (mutation,) = supersede_facts(make_snapshot(memory_facts=rows), [Supersession(uid("Oslo"), uid("Rome"))])
    evidence = {"earlier": "Ann lives in Oslo", "later": "Ann lives in Rome", "to": "2026-02-20T03:00:00+00:00"}
    item = Item("supersede_facts", "supersede", mutation, evidence)
    assert why(item).sentence == (
        "“Ann lives in Oslo” ends on 2026-02-20 03:00 because the later one begins then; “Ann lives in Rome” stays. "
        "What ends stays on record."
    )
    stands, ends = why(item).to_json()["rows"]  # type: ignore[misc]
    assert (stands["role"], stands["says"], ends["role"], ends["says"]) == (
        *("stays", "Ann lives in Rome"),
        *("ends", "Ann lives in Oslo"),
    )
    assert stands["valid_from"] > ends["valid_from"], "what a person weighs stands beside it, and no bookkeeping"
    assert not {"superseded_by", "is_active"} & ends.keys()
    assert why(item).evidence.keys() == {"to"}, "what the rows tell is told once"
    asked = why(replace(item, decision="review")).sentence
    assert asked.startswith("Proposal: “Ann lives in Oslo” ends on 2026-02-20 03:00 because")


def test_of_two_that_contradict_each_other_both_are_told() -> None:
    """Which stays and which ends, as the item writes it, and that a review item only proposes it."""
    rows = [{"id": uid(n), "kind": "fact", "subject": "Quay"} for n in "xy"]
    (mutation,) = lose_conflict(make_snapshot(memories=rows), "memories", [Loss(uid("x"), (uid("y"),), ("kind",))])
    item = Item("resolve_conflicts", "resolve", mutation, {"winner": "It opens at six", "loser": "It opens at nine"})
    assert why(item).sentence.startswith("“It opens at nine” ends when the plan is applied; “It opens at six” stays.")
    asked = why(replace(item, decision="review")).sentence
    assert asked.startswith("Proposal: “It opens at nine” ends when the plan is applied; “It opens at six” stays.")
    evidence = {**item.evidence, "winner_id": uid("x"), "reason": "number", "why": "The winner weighs more."}
    told = why(replace(item, decision="review", evidence=evidence))
    assert told.asks is not None
    assert told.asks.sentence == "Which of the two is right? They state different numbers."
    assert told.notes == ("The winner weighs more.",), "the question states the reason"


@pytest.mark.parametrize(("kind", "named"), [("invalidate_rows", "decided by"), ("set_state", "policy")])
def test_why_names_the_rule_that_decided_a_pair_apart_from_the_setting(kind: str, named: str) -> None:
    """A memory that says what it replaces wins under any ``policy``; that of an archive is the setting."""
    found = why(
        Item("an_operation", "review", Mutation(kind, "memories", rows=(Row(uid("m")),)), {"policy": "keep_newest"})
    )
    assert found.evidence == {named: "keep_newest"}
