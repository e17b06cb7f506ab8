"""The kind of a question is read from its own evidence, and what contradicts is of none."""

from __future__ import annotations

import json
from dataclasses import replace

from slowwave.matching.review import CONTRADICTORY
from slowwave.plans.policies import QuestionKind, kinds_of
from slowwave.store.connect import Store
from tests.plans.review.reviews import asking, asking_of_a_kind


def test_questions_are_of_the_same_kinds_whatever_their_values_and_weights(store: Store) -> None:
    """The prior and the values differ from pair to pair, and the kinds do not; their words name columns and no value."""
    items = asking_of_a_kind(store, 4).stored().items
    (kinds,) = {kinds_of(item) for item in items}
    by_names = QuestionKind("dedupe_entities", "The names agree but for an initial", (), "The evidence is short.")
    both = replace(by_names, equal=("The values of email are equal",))
    assert kinds == {by_names, both}
    told = "the names agree but for an initial, the values of email are equal (the evidence is short)"
    assert both.sentence() == told
    assert json.loads(both.key) == both.to_json()


def test_what_contradicts_or_asks_something_else_is_of_no_kind(store: Store) -> None:
    """Two values in conflict, a doubt that is a contradiction, a value that may be lost, no waterfall, what a planner decided."""
    review = asking_of_a_kind(store, 4, conflict=1)
    item, fine = sorted(review.stored().items, key=lambda s: s.probability)[:2]
    assert kinds_of(fine)
    deleting = json.dumps({**json.loads(fine.mutation), "deletes": [["entities", "x", ""]]})
    others = [
        *(replace(fine, evidence=json.dumps({**json.loads(fine.evidence), "reason": why})) for why in CONTRADICTORY),
        *(replace(fine, question="value_lost"), replace(fine, decision="merge"), replace(fine, mutation=deleting)),
        *(other for other in asking(store, 400).stored().items if other.decision == "review"),
    ]
    assert len(others) > len(CONTRADICTORY) + 3
    assert not any(kinds_of(other) for other in (item, *others))


def test_a_no_may_rest_on_what_contradicts_and_names_what_differs(store: Store) -> None:
    """By the names alone and with the phones that differ; e-mail, which agrees, is no reason. What asks something else is of none."""
    item, fine = sorted(asking_of_a_kind(store, 4, conflict=1).stored().items, key=lambda s: s.probability)[:2]
    by_names = QuestionKind("dedupe_entities", "The names agree but for an initial", (), "The evidence is short.")
    phones = replace(by_names, differ=("The values of phone differ",))
    assert (kinds_of(item, "no"), kinds_of(fine, "no")) == ({by_names, phones}, {by_names})
    assert phones.sentence() == "the names agree but for an initial, the values of phone differ (the evidence is short)"
    assert json.loads(phones.key) == phones.to_json()
    for why in CONTRADICTORY:
        contradicting = replace(fine, evidence=json.dumps({**json.loads(fine.evidence), "reason": why}))
        assert kinds_of(contradicting, "no") == {replace(by_names, doubt=why)}
    assert not kinds_of(replace(fine, question="value_lost"), "no")
