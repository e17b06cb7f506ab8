"""The kind of a question is read from its own evidence, and what contradicts is of none."""

from __future__ import annotations

import json
from dataclasses import replace

from slowwave.matching.review import CONTESTED, ONE_SIDED
from slowwave.plans.question_kinds import QuestionKind, kind_of
from slowwave.store.connect import Store
from tests.review.reviews import asking, asking_of_a_kind


def test_questions_are_of_one_kind_whatever_their_values_and_weights(store: Store) -> None:
    """The prior and the values differ from pair to pair, and the kind does not; its words name columns and no value."""
    items = asking_of_a_kind(store, 4).stored().items
    kinds = {kind_of(item) for item in items}
    (kind,) = kinds
    assert kind == QuestionKind(
        "dedupe_entities",
        "The names agree but for an initial",
        ("The values of email are equal",),
        "The evidence is short.",
    )
    assert kind.sentence() == "the names agree but for an initial, the values of email are equal"
    assert json.loads(kind.key) == kind.to_json()


def test_what_contradicts_or_asks_something_else_is_of_no_kind(store: Store) -> None:
    """Two values in conflict, a doubt that is a contradiction, a value that may be lost, no waterfall, what a planner decided."""
    review = asking_of_a_kind(store, 4, conflict=1)
    item, fine = sorted(review.stored().items, key=lambda s: s.probability)[:2]
    assert kind_of(item) is None
    assert kind_of(fine) is not None
    for reason in (CONTESTED, ONE_SIDED):
        evidence = json.dumps({**json.loads(fine.evidence), "reason": reason})
        assert kind_of(replace(fine, evidence=evidence)) is None
    assert kind_of(replace(fine, question="value_lost")) is None
    assert kind_of(replace(fine, decision="merge")) is None
    deleting = json.dumps({**json.loads(fine.mutation), "deletes": [["entities", "x", ""]]})
    assert kind_of(replace(fine, mutation=deleting)) is None
    assert [kind_of(other) for other in asking(store, 400).stored().items if other.decision == "review"].count(
        None
    ) >= 3
