"""The outcome of an item with two sides: every surface names the row that the sealed writes end as the one that ends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from slowwave.changes.cells import OVERLAY, Cell, Change, Write, inserted_id
from slowwave.changes.claims import subject_id
from slowwave.changes.merges import (
    Alike,
    Consolidation,
    Merge,
    consolidate_memories,
    merge_facts,
    merge_memories,
    merge_rows,
)
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import (
    Loss,
    NewVersion,
    Summary,
    Supersession,
    insert_summary,
    invalidate_each,
    lose_conflict,
    new_versions,
    supersede_facts,
)
from slowwave.changes.simulate import simulate
from slowwave.dagster.events import plan_metadata
from slowwave.night.night import run_night
from slowwave.night.plan_page import page_of
from slowwave.night.runs import Night, Probes
from slowwave.plans.conflicts import list_conflicts
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, read_plan
from slowwave.plans.outcome import ItemOutcome, OutcomeRow, find_outcome
from slowwave.plans.questions import NO_SIDE
from slowwave.plans.review.card import called_rows, card
from slowwave.plans.review.queue import queue, title_from
from slowwave.plans.seal import Header, Plan
from slowwave.plans.show import called, row_changes
from slowwave.plans.why import why
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.api.plan import NightPlan
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from tests.memories import ask
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.surfaces.cli.conftest import Run
from tests.surfaces.cli.conftest import run as run

NAMESPACE = "demo-harbor"
OPERATIONS = (
    "contradictions,resolve_conflicts,supersede_facts,dedupe_entities,dedupe_facts,dedupe_memories,consolidate_clusters"
)
A, B, C = (uid(name) for name in "abc")
DAY = "2026-02-20T00:00:00.000000+00:00"


def since(days: int) -> Any:
    return TAKEN_AT - timedelta(days=days)


def written_ends(mutation: Mutation) -> dict[str, str]:
    """Row of the mutation's table that gets an end or leaves the live set → its end, from the sealed writes alone."""
    found: dict[str, str] = {}
    for write in mutation.writes:
        if write.cell.table == mutation.table and write.cell.column in ("valid_to", "invalidated_at"):
            end = str(write.value) if (write.cell.column, write.action) == ("valid_to", "set") else ""
            found[write.cell.row] = end or found.get(write.cell.row, "")
    return found


# one case for each operation with two sides


@dataclass(frozen=True)
class Case:
    """An item, the ids and words of the rows that end and stay, and the words by row that a store would give."""

    item: Item
    ends: Mapping[str, str]
    stays: Mapping[str, str]
    names: Mapping[str, str]


def facts(*objects: str) -> Any:
    rows = [
        {"id": id_, "subject": "Ann", "predicate": "lives in", "object": to, "valid_from": since(90 - 9 * n)}
        for n, (id_, to) in enumerate(zip((A, B, C), objects, strict=False))
    ]
    return make_snapshot(memory_facts=rows)


def memories(*texts: str) -> Any:
    ids = (A, B, C)[: len(texts)]
    rows = [{"id": id_, "kind": "fact", "current_version_id": uid(f"v{id_}")} for id_ in ids]
    versions = [{"id": uid(f"v{id_}"), "memory_id": id_, "content": text} for id_, text in zip(ids, texts, strict=True)]
    return make_snapshot(memories=rows, memory_versions=versions)


def contradicting_memories() -> Case:
    (mutation,) = lose_conflict(memories("Opens at 9.", "Opens at 6."), "memories", [Loss(B, (A,), ("kind",))])
    evidence = {"winner": "Opens at 6.", "loser": "Opens at 9.", "winner_id": B, "reason": "number"}
    item = Item("resolve_conflicts", "resolve", mutation, evidence)
    return Case(item, {A: "Opens at 9."}, {B: "Opens at 6."}, {})


def contradicting_facts() -> Case:
    (mutation,) = lose_conflict(facts("Oslo", "Rome"), "memory_facts", [Loss(B, (A,), ("subject",))])
    evidence = {"loser": "Ann lives in Oslo", "winner": "Ann lives in Rome", "reason": "object"}
    return Case(
        Item("resolve_conflicts", "resolve", mutation, evidence), {A: "Ann lives in Oslo"}, {B: "Ann lives in Rome"}, {}
    )


def contradiction_replaced_in_turn() -> Case:
    snapshot = memories("I want a tent.", "Rather a hammock.", "Forget it, a kite.")
    (mutation,) = lose_conflict(snapshot, "memories", [Loss(C, (A,), ("kind",), ended_by=B)])
    evidence = {"winner": "Forget it, a kite.", "loser": "I want a tent.", "ended_by": "Rather a hammock."}
    item = Item("resolve_conflicts", "resolve", mutation, evidence)
    return Case(item, {A: "I want a tent."}, {C: "Forget it, a kite."}, {})


def succession() -> Case:
    (mutation,) = supersede_facts(facts("Oslo", "Rome"), [Supersession(A, B)])
    evidence = {"earlier": "Ann lives in Oslo", "later": "Ann lives in Rome"}
    return Case(
        Item("supersede_facts", "supersede", mutation, evidence), {A: "Ann lives in Oslo"}, {B: "Ann lives in Rome"}, {}
    )


def merged_entities() -> Case:
    rows = [{"id": id_, "name": name} for id_, name in ((A, "Mara R."), (B, "Mara Reyes"), (C, "Reyes"))]
    (mutation,) = merge_rows(make_snapshot(entities=rows), [Merge(B, (C, A))])
    item = Item("dedupe_entities", "merge", mutation, {"names": ["Mara Reyes", "Reyes", "Mara R."]})
    return Case(item, {A: "Mara R.", C: "Reyes"}, {B: "Mara Reyes"}, {})


def merged_facts() -> Case:
    (mutation,) = merge_facts(facts("Oslo", "oslo", "OSLO"), [Alike(A, (C, B))])
    item = Item(
        "dedupe_facts", "merge", mutation, {"names": ["Ann lives in Oslo", "Ann lives in OSLO", "Ann lives in oslo"]}
    )
    return Case(item, {B: "Ann lives in oslo", C: "Ann lives in OSLO"}, {A: "Ann lives in Oslo"}, {})


def merged_memories() -> Case:
    (mutation,) = merge_memories(memories("It stopped.", "It had stopped."), [Alike(B, (A,))])
    item = Item("dedupe_memories", "merge", mutation, {"names": ["It had stopped.", "It stopped."]})
    return Case(item, {A: "It stopped."}, {B: "It had stopped."}, {})


def summed_up() -> Case:
    (mutation,) = consolidate_memories(memories("One crane.", "Two cranes."), [Consolidation("Cranes.", (A, B))])
    evidence = {"text": "Cranes.", "quotes": [{"id": B, "text": "Two cranes."}, {"id": A, "text": "One crane."}]}
    item = Item("consolidate_clusters", "summarise", mutation, evidence)
    return Case(item, {A: "One crane.", B: "Two cranes."}, {inserted_id(item.id, 0): "Cranes."}, {})


def new_community_summary() -> Case:
    snapshot = make_snapshot(entities=[{"id": A, "name": "Mara"}], communities=[{"id": B, "member_ids": [A]}])
    (mutation,) = insert_summary(snapshot, [Summary((A,), {}, (A,), replaced=(B,))])
    item = Item("community_summaries", "replace", mutation, {"text": "Mara works alone."})
    return Case(item, {B: f"communities {B[:8]}"}, {inserted_id(item.id, 0): "Mara works alone."}, {})


def retired_by_a_model() -> Case:
    mutation = invalidate_each(memories("The quay is long."), "memories", {A: None}, ("state",))[A]
    evidence = {"was": "The quay is long.", "told_by": "The quay is 300 m long."}
    return Case(
        Item("deep_pass", "retire", mutation, evidence), {A: "The quay is long."}, {"": "The quay is 300 m long."}, {}
    )


def replaced_claim() -> Case:
    def said(statement: str, days: int, *closes: str) -> SubjectClaims:
        claim = PlannedClaim("state", statement, since(days), closes=closes)
        return SubjectClaims(
            NewSubject("person:ann", "Ann") if not closes else subject_id(empty, "person:ann"), (claim,)
        )

    empty = make_snapshot()
    (first,) = planned_claims(empty, Settings(), None, [said("Ann lives in Oslo.", 90)])
    snapshot = simulate(empty, [Item("x", "y", first)])
    (old,) = snapshot.live("memories")["id"].to_pylist()
    (mutation,) = planned_claims(snapshot, Settings(), None, [said("Ann lives in Rome.", 9, old)])
    item = Item("extract_claims", "write", mutation)
    new = next(n for n, insert in enumerate(mutation.inserts) if insert.table == "memories")
    return Case(
        item,
        {old: "Ann lives in Oslo."},
        {inserted_id(item.id, new): "Ann lives in Rome."},
        {old: "Ann lives in Oslo."},
    )


CASES: tuple[Callable[[], Case], ...] = (
    *(contradicting_memories, contradicting_facts, contradiction_replaced_in_turn, succession),
    *(merged_entities, merged_facts, merged_memories, summed_up, new_community_summary),
    *(retired_by_a_model, replaced_claim),
)


@pytest.mark.parametrize("decision", ["", "review"])
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_outcome_of_each_kind_follows_the_sealed_writes_on_every_surface(
    make: Callable[[], Case], decision: str
) -> None:
    """The rows that end are those that the item writes an end to, with their words; all surfaces have the same sentence."""
    case = make()
    item = replace(case.item, decision=decision) if decision else case.item
    stays = {
        id_ if id_ != inserted_id(case.item.id, 0) else inserted_id(item.id, 0): t for id_, t in case.stays.items()
    }
    found = find_outcome(item, case.names)
    assert found is not None
    assert {row.id: row.date for row in found.ends} == written_ends(item.mutation)
    assert {row.id: row.text for row in found.ends} == case.ends
    if item.mutation.kind != "write_claims" or not decision:  # new rows are named after the item
        assert {row.id: row.text for row in found.stays} == stays
    assert found.proposed is (decision == "review")

    sentence = found.sentence()
    assert sentence.startswith("Proposal: ") is found.proposed
    if found.kind == "merges" and not found.noun:
        done, _, stay = sentence.partition(" merged into ")
    else:
        done, _, stay = sentence.rpartition("; ")
    for text in case.ends.values():
        assert f"“{text}”" in done
        assert f"“{text}”" not in stay
    for text in case.stays.values():
        assert f"“{text}”" in stay
        assert found.kind == "merges" or f"“{text}” stays." in stay
    page = page_of(
        Night("acme", plan=Plan(Header("", "acme", "", ""), (item,), "ab" * 32), probes=Probes({}, (), ())), 7, "none"
    )
    shown = {
        "plans show": called(item, case.names),
        "why": why(item, names=case.names).sentence,
        "review queue": title_from(item, case.names),
        "item.changes": row_changes(item, case.names).lines[0],
    }
    if not case.names:  # the words of stored claims are in no sealed item
        shown["items table of Dagster"] = str(page.items[0]["change"])
    for surface, text in shown.items():
        assert sentence in text, surface


def test_outcome_names_the_file_and_line_of_blocks_of_a_folder() -> None:
    """A long id such as a digest is not shown; equal texts are told apart by the start of the row's id then."""
    rows = [OutcomeRow(A, "Tea.", external_id="people/bob.md, line 4"), OutcomeRow(B, "Coffee.", external_id="f" * 40)]
    sentence = ItemOutcome((rows[0],), (rows[1],), "they differ").sentence()
    assert "“Tea.” (people/bob.md, line 4) stays" in sentence
    assert "f" * 40 not in sentence
    assert rows[1].shown_id == B[:8]


def test_outcome_of_a_store_without_end_dates_is_at_apply() -> None:
    """Its column gets the time of the apply; a date that only our overlay keeps is not promised."""
    (mutation,) = supersede_facts(facts("Oslo", "Rome"), [Supersession(A, B)])
    (end,) = (w for w in mutation.writes if w.cell.column == "valid_to")
    native = Write(Cell("crm.notes", A, "closed_at"), "now", None)

    def date(*cells: Cell) -> str:
        physical = Change(writes=(native, *(end._replace(cell=cell) for cell in cells))) if cells else None
        found = find_outcome(Item("supersede_facts", "end", replace(mutation, physical=physical)))
        assert found is not None
        return found.date

    assert date() == date(Cell("crm.notes", A, "ended_on")) != ""
    assert date(Cell(OVERLAY, A, "valid_to", "memory_facts")) == ""


def test_outcome_without_a_reason_for_a_side_asks_which_row_holds() -> None:
    """It still says what a yes does; once decided, it says what was done."""
    rows = (OutcomeRow(A, "Tea."),), (OutcomeRow(B, "Coffee."),)
    found = ItemOutcome(*rows, "they state different values", proposed=True, side=NO_SIDE)
    assert found.sentence() == (
        "“Tea.” or “Coffee.”? They state different values, and nothing says which is later. "
        "With yes, “Coffee.” ends when the plan is applied; “Tea.” stays."
    )
    assert replace(found, proposed=False).sentence().startswith("“Coffee.” ends ")


def test_outcome_ended_sentence_names_the_statement_that_was_made_later() -> None:
    """The row stays; the sentence in it ends, and only as long as the new text says so."""
    snapshot = memories("Good morning! My flat is in Leeds.")
    text = "Good morning! My flat is in Leeds (until 2026-02-20; then: “I moved to Porto”)."
    mark = {"sentence": "My flat is in Leeds.", "until": DAY, "said": "I moved to Porto."}
    other = {"sentence": "Mara rang from Leeds.", "later": DAY, "said": "Mara moved."}
    (mutation,) = new_versions(snapshot, [NewVersion(A, text, "mark_ended_statements")], None)
    item = Item("mark_ended_statements", "reword", mutation, {"ended": [mark, other]})
    expected = "“My flat is in Leeds.” ends on 2026-02-20 because it was stated later; “I moved to Porto.” stays."
    assert called(item, {}) == expected
    (edited,) = new_versions(snapshot, [NewVersion(A, "My flat was in Leeds.", "mark_ended_statements")], None)
    assert find_outcome(replace(item, mutation=edited)) is None
    assert find_outcome(Item("x", "reword", mutation, {"ended": [other]})) is None


def test_outcome_evidence_in_another_order_names_the_same_sides() -> None:
    """Neither the order of the evidence's keys nor the decision moves a row to the other side (F1)."""
    case = contradicting_memories()
    turned = dict(reversed(list(case.item.evidence.items())))
    found = {
        (row.id, row.text, decision)
        for evidence in (case.item.evidence, turned)
        for decision in ("resolve", "review")
        if (sides := find_outcome(replace(case.item, evidence=evidence, decision=decision)))
        for row in sides.ends
    }
    assert found == {(A, "Opens at 9.", "resolve"), (A, "Opens at 9.", "review")}


def test_outcome_one_side_alone_has_none() -> None:
    """An item that retires a row for no other one names it as before."""
    mutation = invalidate_each(memories("The quay is long."), "memories", {A: DAY})[A]
    item = Item("x", "retire", mutation)
    assert find_outcome(item) is None
    assert row_changes(item, {A: "The quay is long."}).lines == ("ends on 2026-02-20",)


# planners' own items, in a store, on the surfaces that read it


@pytest.fixture
def store(demo: Store) -> Store:
    return demo


def _words(store: Store) -> dict[str, tuple[str, ...]]:
    """Row → texts by which it may be called, read by its id alone."""
    found: dict[str, tuple[str, ...]] = {}
    for id_, *texts in (
        *ask(store, "SELECT id::text, name FROM memory.entities"),
        *ask(store, "SELECT id::text, fact_text, concat_ws(' ', subject, predicate, object) FROM memory.memory_facts"),
        *ask(
            store,
            "SELECT m.id::text, v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id",
        ),
        *ask(
            store,
            "SELECT r.id::text, concat_ws(' ', s.name, r.relationship_type, t.name) FROM memory.relationships r "
            "JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id",
        ),
    ):
        found[str(id_)] = tuple(str(text) for text in texts if text)
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.usefixtures("every_rule_decides")  # so that the demo has decided contradictions as well
def test_outcome_on_the_demo_is_the_same_on_every_surface(demo: Store, run: Run) -> None:
    """The command line, JSON, Python, Dagster's table and report, the review page's cards and lists, and the list of conflicts."""
    night = run_night(demo, NAMESPACE, ops=OPERATIONS, force=True)
    assert night.plan is not None
    with demo.connect("reader") as connection:
        plan = read_plan(connection, night.plan.plan_hash)
    in_python = {item.id: item for item in NightPlan(NAMESPACE, plan.plan_hash, demo).items}
    sides = {s.id: item.outcome for s in plan.items if (item := in_python[s.id]).outcome}
    two_sided = {s.id: s for s in plan.items if s.id in sides}
    assert {s.operation for s in two_sided.values()} >= {"resolve_conflicts", "supersede_facts", "dedupe_entities"}
    assert {"review", "resolve", "supersede", "merge"} <= {s.decision for s in two_sided.values()}

    words = _words(demo)
    for stored in two_sided.values():
        _expect_sealed(stored, sides[stored.id], words)

    shown_json = {i["id"]: i for i in json.loads(run("plans", "show", NAMESPACE, "--json")[1])["items"]}
    diff_json = {i["id"]: i for i in json.loads(run("plans", "diff", NAMESPACE, "--json")[1])}
    show_text = _plain(run("plans", "show", NAMESPACE, "--wide", "--limit", "1000")[1])
    diff_text = _plain(run("plans", "diff", NAMESPACE, "--all")[1])
    page = page_of(night, 7, "none")
    dagster = {str(row["item"]): str(row["change"]) for row in page.items}
    table = {str(r.data["item"]): str(r.data["change"]) for r in plan_metadata(page, "run")["items"].records}
    waiting = {w.id: w.title for w in queue(plan, {}, names=called_rows(demo, plan)).items}
    for id_, found in sides.items():
        assert found is not None
        sentence = found.sentence()
        assert in_python[id_].changes[0] == in_python[id_].name == sentence
        assert shown_json[id_]["outcome"] == diff_json[id_]["outcome"] == found.to_json()
        assert diff_json[id_]["lines"][0] == diff_json[id_]["name"] == sentence
        assert _plain(sentence) in show_text
        assert _plain(sentence) in diff_text
        if two_sided[id_].status != "deferred":
            assert dagster[id_] == sentence
            assert table[id_] == sentence[:800]
        if id_ in waiting:
            assert waiting[id_] == sentence
    one_each = {(s.operation, s.decision): s for s in two_sided.values() if s.status == "pending"}
    for stored in one_each.values():
        found = sides[stored.id]
        assert found is not None
        made = card(demo, plan, stored)
        assert made.title == found.sentence()
        approved = find_outcome(stored.item, status="approved")
        assert approved is not None
        assert replace(found, proposed=False, reason=approved.reason).sentence() in made.if_yes
        assert "why" in (told := json.loads(run("why", NAMESPACE, stored.id, "--json")[1]))
        assert told["outcome"] == told["why"]["outcome"] == found.to_json()
    conflicts = {c.outcome.ends[0].id: c for c in list_conflicts(demo, NAMESPACE) if c.outcome}
    asked = [s for s in two_sided.values() if s.operation == "resolve_conflicts" and s.status == "pending"]
    listed = _plain(run("conflicts", "list", NAMESPACE, "--all")[1])
    assert asked
    for stored in asked:
        found = sides[stored.id]
        assert found is not None
        assert conflicts[found.ends[0].id].outcome == found
    assert len(re.findall(r" stays (?:because|though|although) ", listed)) == min(len(conflicts), 50)


def _expect_sealed(stored: StoredItem, found: Any, words: Mapping[str, tuple[str, ...]]) -> None:
    """The outcome's rows are those of the sealed writes, and each side's text is that of its row."""
    mutation = stored.item.mutation
    assert {row.id: row.date for row in found.ends} == written_ends(mutation), stored.id
    assert not {row.id for row in found.stays} & written_ends(mutation).keys()
    for row in (*found.ends, *(row for row in found.stays if row.id in words)):
        assert any(row.text[:60].startswith(text[:60]) for text in words[row.id]), (
            stored.operation,
            row,
            words[row.id],
        )


def test_card_of_two_equal_rows_that_end_shows_the_text_of_each_side() -> None:
    """One column for a side, whatever the number of its rows: answers name the sides, and ids say nothing."""
    snapshot = memories("Author: Tove Jansson.", "Author: Jon Fosse.", "Author: Tove Jansson")
    (mutation,) = lose_conflict(snapshot, "memories", [Loss(B, (A, C), ("kind",))])
    names = {A: "Author: Tove Jansson.", B: "Author: Jon Fosse.", C: "Author: Tove Jansson"}
    found = why(Item("resolve_conflicts", "resolve", mutation, {"reason": "object"}), names=names)
    (says, *_) = found.side_by_side()
    assert (says[""], says["stays"]) == ("says", "Author: Jon Fosse.")
    assert sorted(says["ends"].split("; ")) == ["Author: Tove Jansson", "Author: Tove Jansson."]


def test_merge_that_moves_the_start_of_a_memory_says_so() -> None:
    """A connected table may show the start as a date of its own, which nobody expects a merge to change."""
    rows = [
        {"id": id_, "kind": "fact", "current_version_id": uid(f"v{id_}"), "valid_from": since(days)}
        for id_, days in ((A, 12), (B, 4))
    ]
    versions = [{"id": uid(f"v{id_}"), "memory_id": id_, "content": "Cedar ships to Norway."} for id_ in (A, B)]
    snapshot = make_snapshot(memories=rows, memory_versions=versions)
    (mutation,) = merge_memories(snapshot, [Alike(B, (A,))])
    names = {"names": ["Cedar ships to Norway.", "Cedar ships to Norway."]}
    sentence = why(Item("dedupe_memories", "merge", mutation, names)).sentence
    begins = {str(w.value)[:10] for w in mutation.writes if w.cell == Cell("memories", B, "valid_from")}
    assert begins == {str(since(12).date())}
    assert f"is true since {since(12):%Y-%m-%d}" in sentence
    assert f"instead of {since(4):%Y-%m-%d}" in sentence
