"""Which pairs are asked about: those whose answers teach most, spread, never twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching import Answers, Matches, match_entities
from slowwave.matching.review import ENOUGH, EVEN, _Design, _shares
from slowwave.store.settings import Settings
from tests.matching.test_learning import restaurants


@pytest.fixture(scope="module")
def found() -> Matches:
    return match_entities(restaurants()[0])


def test_the_same_questions_whatever_the_order_of_the_rows(found: Matches) -> None:
    """Each pair once, each row once while there are others, and four in ten to check the probabilities themselves."""
    table = restaurants()[0]
    turned = table.take(pa.array(np.random.default_rng(3).permutation(len(table))))
    questions = found.next_questions(10)
    assert match_entities(turned).next_questions(10) == questions
    rows = [id_ for q in questions for id_ in (q.a, q.b)]
    assert len(set(rows)) == 20
    assert sum(q.gain == 0 for q in questions) == 10 * EVEN
    assert [q.gain for q in questions][:6] == sorted([q.gain for q in questions][:6], reverse=True)
    assert all(q.a < q.b and 0 <= q.probability <= 1 for q in questions)


def test_the_checks_are_spread_over_the_probabilities(found: Matches) -> None:
    """Also where the model is sure."""
    checks = [q.probability for q in found.next_questions(20) if q.gain == 0]
    assert checks == sorted(checks), "one out of each eighth"
    assert min(checks) < 0.15
    assert max(checks) > 0.95


def test_what_was_answered_or_follows_is_not_asked() -> None:
    """Three rows are said to be one, a fourth not: of six pairs nothing is left to ask. An unsure pair is not asked again either."""
    ids = list("abcd")
    table = pa.table({"id": ids, "entity_type": ["t"] * 4, "name": ["Acme Ltd"] * 4})
    first = match_entities(table)
    assert {(q.a, q.b) for q in first.next_questions(10)} == {(a, b) for a in ids for b in ids if a < b}
    left = first.learn(Answers.from_triples([("a", "b", True), ("c", "d", "unsure")])).next_questions(10)
    assert {(q.a, q.b) for q in left} == {("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")}
    done = first.learn(Answers.from_triples([("a", "b", True), ("b", "c", True), ("c", "d", False)]))
    assert done.next_questions(10) == ()
    assert first.next_questions(0) == ()


def test_pairs_that_stand_for_others_are_asked_about_first() -> None:
    """Of twelve rows of one name 66 pairs are doubtful, and 30 stand for all: three stars."""
    ids = [f"{k:02d}" for k in range(12)]
    table = pa.table({"id": ids, "entity_type": ["t"] * 12, "name": ["Acme Ltd"] * 12})
    first = match_entities(
        table, Settings.model_validate({"operations": {"dedupe_entities": {"review_pairs_per_row": 3}}})
    )
    questions = {(q.a, q.b) for q in first.next_questions(25)}
    stands = {(p.a, p.b) for p in first.review}
    assert len(stands) == 11 + 10 + 9
    assert len(questions) >= 18
    assert questions <= stands


def test_answers_end() -> None:
    """Asked to the end, every pair that may be asked is asked once."""
    table, gold = restaurants()
    table = table.slice(0, 40)
    first = now = match_entities(table)
    said: list[tuple[str, str, bool]] = []
    while questions := now.next_questions(10):
        assert not {(q.a, q.b) for q in questions} & {(a, b) for a, b, _ in said}
        said += [(q.a, q.b, gold[q.a] == gold[q.b]) for q in questions]
        now = first.learn(Answers.from_triples(said))
    assert now.next_questions(1) == ()


def test_one_kind_of_pair_in_doubt_is_asked_about_once_and_then_the_other() -> None:
    """By hand: 90 pairs have the trait x, 10 the trait y, each prior has the variance 1, all probabilities are one half (variance 1/4).

    An answer about an x takes 1 - 1 / (1 + 1/4) = .2 of the variance 1 from all x, weighed 1/4 each: 90 · .2 / 4 = 4.5; one about a y
    .5. After one x the variance of its coefficient is .8, and the next takes .8² · (90 / 4) / 4 / (1 + .8 / 4) = 3.
    """
    x = np.zeros((100, 2))
    x[:90, 0] = x[90:, 1] = 1
    design = _Design(np.arange(100), 100, x, np.eye(2), np.full(100, 0.5))
    assert design.gains()[[0, 95]] == pytest.approx([4.5, 0.5])
    design.answer(3)
    assert design.gains()[[0, 95]] == pytest.approx([3.0, 0.5])
    sure = _Design(np.arange(100), 100, x, np.eye(2), np.r_[np.full(90, 0.999999), np.full(10, 0.5)])
    assert sure.gains()[0] < sure.gains()[95]


def test_types_that_lack_answers_come_first() -> None:
    """The largest of them to its end; one with a handful of pairs is not worth it; then by the root of the pairs, never more than those."""
    assert ENOUGH == 5
    assert _shares(np.array([400, 100, 8]), np.array([9, 0, 0]), 7) == {1: 5, 0: 1, 2: 1}
    assert _shares(np.array([400, 100]), np.array([0, 0]), 5) == {0: 5}
    assert _shares(np.array([2]), np.array([0]), 4) == {0: 2}
