"""Selecting and fusing lists: exact, and the same whatever the order of equals."""

import numpy as np
import pytest

from slowwave.search.ranking import Ranked, best, fused, ranked


def one(*rows: int) -> Ranked:
    return Ranked(np.zeros(len(rows), np.int64), np.array(rows), np.arange(1, len(rows) + 1))


def test_fusion_ranks_by_the_sum_of_reciprocal_ranks():
    """Row 7 is first and third: 1/61 + 1/63 = 0.03227; row 4 second and second: 2/62 = 0.03226; row 9 first once: 1/61."""
    hits = fused([one(7, 4, 5), one(9, 4, 7)], 10)
    assert hits.row.tolist() == [7, 4, 9, 5]
    assert hits.rank.tolist() == [1, 2, 3, 4]


def test_equal_sums_go_by_row_number():
    assert fused([one(8, 3), one(3, 8)], 10).row.tolist() == [3, 8]


def test_queries_are_fused_apart():
    first = Ranked(np.array([0, 2]), np.array([1, 1]), np.array([1, 1]))
    hits = fused([first, Ranked(np.array([2]), np.array([0]), np.array([1]))], 1)
    assert (hits.query.tolist(), hits.row.tolist()) == ([0, 2], [1, 0])


@pytest.mark.parametrize("n", [3, 100, 101, 5_000])
def test_the_best_are_those_of_a_full_sort(n: int):
    """Many equal scores, and fewer and more rows than places."""
    scores = np.random.default_rng(n).integers(-20, 40, (6, n)).astype(np.float32)
    hits = ranked(best(scores, 100, 1e-4), 100)
    for query in range(6):
        order = [r for r in np.lexsort((np.arange(n), -scores[query])) if scores[query, r] > 0][:100]
        assert hits.row[hits.query == query].tolist() == order
        assert hits.rank[hits.query == query].tolist() == list(range(1, len(order) + 1))


def test_scores_closer_than_a_step_are_equal():
    """The same vector at two places of a matrix can differ in its last bit; the smaller row number still comes first."""
    assert ranked(best(np.array([[0.5, 0.5 + 1e-7, 0.4]], np.float32), 2, 1e-5), 2).row.tolist() == [0, 1]
