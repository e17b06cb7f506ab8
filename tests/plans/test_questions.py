"""What a review item asks: by what it is about, with what it would lose, and never with a secret."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from slowwave.changes.merges import Alike, Merge, merge_facts, merge_memories, merge_rows
from slowwave.changes.mutation import REDACTION
from slowwave.changes.rows import (
    NewVersion,
    Supersession,
    invalidate_each,
    new_versions,
    set_columns,
    supersede_facts,
)
from slowwave.plans.items import Item
from slowwave.plans.questions import ReviewQuestion, question, questions, split_question
from tests.snapshots import TAKEN_AT, make_snapshot, uid

SNAPSHOT = make_snapshot(
    entities=[{"id": uid(n), "name": n, "entity_type": "tool", "external_id": f"e-{n}"} for n in "ab"],
    memories=[{"id": uid(n), "kind": "event"} for n in "mn"],
    memory_facts=[
        {"id": uid(o), "subject": "Ann", "predicate": "in", "object": o, "valid_from": TAKEN_AT - timedelta(days=d)}
        for o, d in (("Oslo", 9), ("Rome", 3))
    ],
    relationships=[
        {"id": uid("r"), "source_entity_id": uid("a"), "target_entity_id": uid("b"), "relationship_type": "NEAR"}
    ],
)


def review(mutation, **evidence: object) -> Item:
    return Item("operation", "review", mutation, evidence)


ENTITIES = review(merge_rows(SNAPSHOT, [Merge(uid("a"), (uid("b"),))])[0])


def test_each_kind_of_item_asks_its_own_question():
    (facts,) = merge_facts(SNAPSHOT, [Alike(uid("Oslo"), (uid("Rome"),))])
    (memories,) = merge_memories(SNAPSHOT, [Alike(uid("m"), (uid("n"),))])
    (replaced,) = supersede_facts(SNAPSHOT, [Supersession(uid("Oslo"), uid("Rome"))])
    (held,) = set_columns(SNAPSHOT, "set_state", "memories", {uid("m"): {"state": "quarantined"}})
    (archived,) = set_columns(SNAPSHOT, "set_state", "memories", {uid("m"): {"state": "archived"}})
    edge = invalidate_each(SNAPSHOT, "relationships", {uid("r"): None}, ())[uid("r")]
    asked = [
        *(question(item) for item in (ENTITIES, review(facts), review(memories))),
        question(review(replaced, earlier="Oslo", later="Rome")),
        question(review(edge, winner_id=uid("b"))),
        *(question(review(mutation)) for mutation in (edge, held, archived)),
    ]
    assert len({q.sentence for q in asked}) == len(asked)
    assert "one thing" in asked[0].sentence
    assert not any("one thing" in other.sentence for other in asked[1:])
    assert [q.code for q in asked] == [
        *("same", "same", "same", "which_is_right", "which_is_right", "delete", "secret", "change"),
    ]


def test_what_would_be_lost_is_named_by_row_and_is_the_whole_question_where_nothing_else_is():
    lost = [(uid("b"), "12.50 €"), (uid("b"), "Tuesday"), (uid("a"), "no")]
    assert question(ENTITIES, lost, only=True) == ReviewQuestion(
        "value_lost", "Would lose 12.50 €, Tuesday of row e-b; no of row e-a."
    )
    both = question(ENTITIES, lost)
    assert both.code == "same"
    assert both.sentence.startswith("Are these rows one thing? It would lose 12.50 €")
    many = question(ENTITIES, [(uid("b"), f"n{k}") for k in range(40)], only=True)
    assert "and 35 more" in many.sentence
    dates = question(ENTITIES, [(uid("b"), "--05-04"), (uid("b"), "--06"), (uid("b"), "2026-05-04")], only=True)
    assert dates.sentence == "Would lose 4 May, June, 2026-05-04 of row e-b."


def test_a_new_text_is_asked_about_by_what_it_leaves_out_and_else_by_itself():
    (reworded,) = new_versions(SNAPSHOT, [NewVersion(uid("m"), "Shorter.", "deep pass")], None)
    (redacted,) = new_versions(SNAPSHOT, [NewVersion(uid("m"), "Clean.", REDACTION)], None)
    losing = question(review(reworded, lost=["12.50 €", "Tuesday"]))
    assert losing == ReviewQuestion("value_lost", "The new text would lose 12.50 €, Tuesday. May it?")
    assert [question(review(m)).code for m in (reworded, redacted)] == ["shorter", "secret"]


def test_a_reason_of_the_planner_follows_and_secrets_do_not_pass():
    key = "AKIA" + "Z7QPL4MNT2RWX8VB"
    told = question(replace(ENTITIES, evidence={"reason": f"They differ in {key}."})).sentence
    assert told.startswith("Are these rows one thing? They differ in")
    assert key not in told
    assert len(question(replace(ENTITIES, evidence={"reason": "long " * 400})).sentence) <= 300


def test_only_review_items_ask():
    decided = replace(ENTITIES, decision="merge")
    assert questions([ENTITIES, decided], {}) == {ENTITIES.id: question(ENTITIES)}
    assert questions([ENTITIES], {ENTITIES.id: [(uid("b"), "5")]}, only=frozenset({ENTITIES.id})) == {
        ENTITIES.id: ReviewQuestion("value_lost", "Would lose 5 of row e-b.")
    }


def test_split_question_ends_at_no_mark_within_a_quotation() -> None:
    asked, rest = split_question("Does “Are you in?” state the same? They differ in a name.")
    assert (asked, rest) == ("Does “Are you in?” state the same?", "They differ in a name.")
    assert split_question("May this go?") == ("May this go?", "")
    assert split_question("Would lose 12.50 EUR.") == ("", "Would lose 12.50 EUR.")
