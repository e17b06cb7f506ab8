"""Weights: Fellegi-Sunter by expectation maximisation, on worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.compare import Comparison
from slowwave.matching.weights import PRIOR, Weights, fit, probability


def field(name: str, m: list[float], u: list[float]) -> Comparison:
    return Comparison(name, "category", tuple(name for _ in m), np.array(m), np.array(u))


FIELDS = [
    Comparison("name", "name", ("no", "yes"), np.array([0.1, 0.9]), np.array([0.9, 0.1])),
    *(field(name, [0.2, 0.8], [0.7, 0.3]) for name in ("b", "c", "d")),
]


def world(
    n: int, share: float, m: list[float], u: list[float], *, seed: int = 5, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs whose fields agree independently with probability m among matches and u among others."""
    random = np.random.default_rng(seed)
    same = random.random(n) < share
    agree = np.where(same[:, None], m, u)
    levels = (random.random((n, len(m))) < agree).astype(np.int8)
    levels[random.random(levels.shape) < missing] = -1
    return levels, same


def test_the_truth_is_found_without_labels() -> None:
    """m, u and the share of matches of a world that follows the model."""
    m, u = [0.99, 0.95, 0.85, 0.8], [0.05, 0.02, 0.3, 0.05]
    levels, same = world(40_000, 0.2, m, u)
    found = fit(FIELDS, levels)
    assert [w[1] for w in found.m] == pytest.approx(m, abs=0.03)
    assert [w[1] for w in found.u] == pytest.approx(u, abs=0.02)
    assert found.matches == pytest.approx(same.sum(), rel=0.03)
    assert found.dependence == pytest.approx(1, abs=0.05)
    assert found.learnt


def test_probabilities_are_calibrated() -> None:
    """Of the pairs at a probability of about p, about p are matches; silence is no evidence when it is random."""
    levels, same = world(60_000, 0.3, [0.99, 0.9, 0.8, 0.9], [0.2, 0.1, 0.3, 0.25], missing=0.3)
    found = fit(FIELDS, levels)
    p = probability(found.odds(levels, np.zeros(levels.shape)))
    for low, high in ((0.0, 0.1), (0.3, 0.7), (0.9, 1.01)):
        here = (p >= low) & (p < high)
        assert p[here].mean() == pytest.approx(same[here].mean(), abs=0.04)


def test_things_of_one_context_are_no_matches() -> None:
    """A household agrees in all but the names; it is told apart from matches without being taught."""
    random = np.random.default_rng(2)
    n = 20_000
    same, house = random.random(n) < 0.2, random.random(n) < 0.2
    agree = np.column_stack([np.where(same, 0.95, 0.05), *[np.where(same | house, 0.95, 0.05)] * 3])
    levels = (random.random((n, 4)) < agree).astype(np.int8)
    found = fit(FIELDS, levels)
    p = probability(found.odds(levels, np.zeros(levels.shape)))
    brothers = (levels == [0, 1, 1, 1]).all(axis=1)
    assert same[brothers].mean() < 0.15 > p[brothers].mean()
    assert p[(levels == 1).all(axis=1)].mean() > 0.9
    assert found.shared_context(np.array([[0, 1, 1, 1]], np.int8))[0] < -2


def test_columns_that_say_one_thing_twice_are_discounted() -> None:
    """Street and suburb agree together among strangers: two columns, less than two pieces of evidence."""
    m, u = [0.95] * 4, [0.1] * 4
    levels, same = world(20_000, 0.2, m, u)
    alike = levels.copy()
    alike[~same, 2] = alike[~same, 1]
    assert fit(FIELDS, alike).dependence > fit(FIELDS, levels).dependence + 0.01


def test_a_higher_level_never_weighs_less() -> None:
    """Where the data say otherwise by chance, the levels share one weight."""
    three = Comparison("x", "category", ("no", "near", "same"), np.array([0.1, 0.2, 0.7]), np.array([0.6, 0.2, 0.2]))
    levels, _ = world(5_000, 0.3, [0.9, 0.9, 0.9], [0.1, 0.1, 0.1])
    odd = np.where(levels[:, :1] == 1, 1, np.where(np.arange(len(levels))[:, None] % 3 == 0, 2, 0))
    found = fit([three, *FIELDS[:3]], np.column_stack([odd, levels]).astype(np.int8))
    assert all((np.diff(w) >= -1e-9).all() for w in found.weight)


def test_what_a_comparison_may_weigh_at_most_holds() -> None:
    """Names that differ never speak for a match."""
    bound = Comparison("x", "name", ("no", "yes"), np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([-1.0, 3.0]))
    levels, _ = world(5_000, 0.3, [0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.1])
    found = fit([bound, *FIELDS[:3]], levels)
    assert found.weight[0][0] <= -1
    assert found.weight[0][1] <= 3


def test_few_pairs_keep_the_priors() -> None:
    """Three pairs move nothing much, and nothing counts as learnt."""
    found = fit(FIELDS, np.array([[1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 1, 0]], np.int8))
    assert [w.tolist() for w in found.weight] == [pytest.approx(f.prior.tolist()) for f in FIELDS]
    assert found.prior == PRIOR
    assert not found.learnt


def test_one_comparison_alone_teaches_nothing() -> None:
    """Names without attributes: EM would only split them at will."""
    levels = np.full((5_000, 4), -1, np.int8)
    levels[:, 0] = np.arange(5_000) % 2
    found = fit(FIELDS, levels)
    assert found.weight[0].tolist() == pytest.approx(FIELDS[0].prior.tolist())
    assert not found.learnt


def test_decisions_of_people_move_the_weights() -> None:
    """Labelled pairs join EM with certainty."""
    levels, _ = world(300, 0.3, [0.8, 0.8, 0.8, 0.8], [0.3, 0.3, 0.3, 0.3])
    decided = np.array([[1, 1, 1, 0]] * 40, np.int8)
    same = fit(FIELDS, levels, labelled=decided, same=np.ones(40, bool))
    other = fit(FIELDS, levels, labelled=decided, same=np.zeros(40, bool))
    pair, none = decided[:1], np.zeros((1, 4))
    assert same.odds(pair, none)[0] > fit(FIELDS, levels).odds(pair, none)[0] > other.odds(pair, none)[0]


def test_what_is_not_stated_is_not_innocent() -> None:
    """Of the papers that agree in title and author and state more, some differ in all of it: silence is worth no more than they."""
    random = np.random.default_rng(9)
    n = 12_000
    same = random.random(n) < 0.2
    twin = ~same & (random.random(n) < 0.05)  # another version of one paper
    levels = (random.random((n, 4)) < np.where(same[:, None], 0.95, 0.05)).astype(np.int8)
    levels[same | twin, :2] = 1
    levels[random.random(n) < 0.3, 2:] = -1
    found = fit(FIELDS, levels)
    silent, none = np.array([[1, 1, -1, -1]], np.int8), np.zeros((1, 4))
    truth = same[(levels == silent).all(axis=1)].mean()
    fuller = levels[(levels[:, :2] == 1).all(axis=1) & (levels[:, 2] >= 0)]
    mean = probability(found.odds(fuller, np.zeros(fuller.shape))).mean()
    naive = probability(found.prior + found.parts(silent, none).sum(axis=1))[0]
    thought = probability(found.odds(silent, none))[0]
    assert found.unstated(silent)[0] < 0
    assert thought == pytest.approx(mean, abs=0.01)
    assert truth < thought < naive - 0.02


def test_weights_carry_over_to_other_columns() -> None:
    """The probe re-matches with the plan's weights: known columns keep theirs, a new one its prior."""
    levels, _ = world(5_000, 0.3, [0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.1])
    found = fit(FIELDS, levels)
    other: Weights = found.aligned((FIELDS[2], field("new", [0.2, 0.8], [0.9, 0.1])))
    assert other.weight[0].tolist() == found.weight[2].tolist()
    assert other.weight[1].tolist() == pytest.approx(np.log([0.2 / 0.9, 8]).tolist())


def test_no_pairs_are_no_error() -> None:
    """An empty namespace has weights too: the priors."""
    found = fit(FIELDS, np.empty((0, 4), np.int8))
    assert found.odds(np.empty((0, 4), np.int8), np.empty((0, 4))).tolist() == []


def test_what_tells_when_it_agrees_does_not_differ_in_most_matches() -> None:
    """Four in five of the decided pairs differ in a column that is rarely equal by chance: at most half of all matches are believed to."""
    by = Comparison("by", "category", ("differ", "same"), np.array([0.1, 0.9]), np.array([0.99, 0.01]))
    noise = Comparison("noise", "category", ("differ", "same"), np.array([0.1, 0.9]), np.array([0.5, 0.5]))
    levels = np.array([[0, 0]] * 1_000 + [[0, 1]] * 300, np.int8)
    decided = np.array([[0, 0]] * 800 + [[1, 1]] * 200, np.int8)
    learnt = fit((by, noise), levels, labelled=decided, same=np.ones(1_000, bool))
    assert learnt.m[0][0] == pytest.approx(0.5)
    assert learnt.weight[0][0] <= -0.5
    assert learnt.m[1][0] > 0.6  # it says as little when it agrees
