"""Corrections of scores by answers, against values worked out by hand and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.answers import CLIP, ScoreCorrection, calibrate
from slowwave.matching.compare import Traits


def traits(values: np.ndarray, deviation: float = 1.0, gated: bool = False) -> Traits:
    d = values.shape[1]
    return Traits(tuple(f"t{k}" for k in range(d)), values, np.full(d, deviation), np.full(len(values), gated))


def test_one_yes_by_hand() -> None:
    """A pair of log-odds 0 and one trait, whose coefficient b has the prior N(0, 1), is answered with yes. The posterior is highest where
    b = 1 - s(b), so b = .4011; its precision is 1 + s(b)(1 - s(b)) = 1.2402."""
    found = calibrate(np.zeros(1), traits(np.ones((1, 1))), np.array([True]))
    assert found.mean == pytest.approx([0.4011], abs=1e-4)
    assert found.covariance == pytest.approx(np.array([[1 / 1.2402]]), rel=1e-4)
    asked, kept = traits(np.ones((1, 1))), traits(np.ones((1, 1)), gated=True)
    assert found.odds(np.zeros(1), kept) == pytest.approx([0.4011 / np.sqrt(1 + np.pi / 8 / 1.2402)], rel=1e-3)
    assert found.odds(np.zeros(1), asked) == pytest.approx([0.4011 / np.sqrt(1 + 0.2 * np.pi / 8 / 1.2402)], rel=1e-3)


def test_what_is_certain_beforehand_is_believed_in_part() -> None:
    """A score of a million to one counts as one of three thousand to one, and its trait of nothing leaves it there."""
    found = calibrate(np.zeros(1), traits(np.ones((1, 1))), np.array([True]))
    assert found.odds(np.array([14.0, -14.0]), traits(np.zeros((2, 1)))).tolist() == [CLIP, -CLIP]


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 8), st.sampled_from([0.3, 1.0, 5.0]))
def test_it_ends_at_the_best_coefficients(seed: int, answers: int, d: int, deviation: float) -> None:
    """Whatever the answers, also where traits part them perfectly and scores are far off: the loss has no slope there."""
    dice = np.random.default_rng(seed)
    raw, x = dice.normal(0, 8, answers), dice.normal(0, 2, (answers, d))
    same = dice.random(answers) < 0.5 if seed % 2 else x[:, 0] > 0
    found = calibrate(raw, traits(x, deviation), same)
    likely = 1 / (1 + np.exp(-(np.clip(raw, -CLIP, CLIP) + x @ found.mean)))
    assert x.T @ (same - likely) - found.mean / deviation**2 == pytest.approx(np.zeros(d), abs=1e-5)
    assert (np.linalg.eigvalsh(found.covariance) > 0).all()


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_answers_moves_nothing_that_is_shown(seed: int) -> None:
    dice = np.random.default_rng(seed)
    raw, x, same = dice.normal(0, 3, 30), dice.normal(0, 1, (30, 4)), dice.random(30) < 0.5
    turned = dice.permutation(30)
    one, two = calibrate(raw, traits(x), same), calibrate(raw[turned], traits(x[turned]), same[turned])
    assert one.odds(raw, traits(x)) == pytest.approx(two.odds(raw, traits(x)), abs=1e-8)


def test_columns_that_were_not_there_keep_their_prior() -> None:
    """A night later a column is gone and another is new."""
    found = ScoreCorrection(("all", "x"), np.array([1.0, 2.0]), np.array([[0.5, 0.1], [0.1, 0.4]]), 12)
    assert found.aligned(("all", "x"), np.ones(2)) is found
    moved = found.aligned(("x", "new", "all"), np.array([9.0, 3.0, 9.0]))
    assert (moved.mean.tolist(), moved.answers) == ([2.0, 0.0, 1.0], 12)
    assert moved.covariance.tolist() == [[0.4, 0.0, 0.1], [0.0, 9.0, 0.0], [0.1, 0.0, 0.5]]


def test_what_the_score_is_sure_of_is_not_bent_by_a_few_answers() -> None:
    """Five doubtful pairs are two things each, though the score was for them. A thousand sure ones, of which nobody said a thing, stay
    surer than without their own voice; a thousand answers would be another matter."""
    doubtful, sure = traits(np.ones((5, 1))), traits(np.ones((1000, 1)))
    raw, high = np.full(5, 1.0), np.full(1000, 6.0)
    alone = calibrate(raw, doubtful, np.zeros(5, bool))
    held = calibrate(raw, doubtful, np.zeros(5, bool), (high, sure))
    assert alone.mean[0] < held.mean[0] < 0
    assert held.answers == 5
    many = traits(np.ones((1000, 1)))
    assert calibrate(np.full(1000, 1.0), many, np.zeros(1000, bool), (high, sure)).mean[0] < -3
    assert calibrate(raw, doubtful, np.zeros(5, bool), (high[:0], sure.take(np.zeros(0, np.int64)))).mean == alone.mean
