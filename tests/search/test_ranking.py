"""Selecting the best: exact, and the same whatever the order of equals."""

import numpy as np
import pytest

from slowwave.search.bm25 import best, ranked


@pytest.mark.parametrize("n", [3, 100, 101, 5_000])
def test_the_best_are_those_of_a_full_sort(n: int):
    """Many equal scores, and fewer and more rows than places."""
    scores = np.random.default_rng(n).integers(-20, 40, (6, n)).astype(np.float32)
    hits = ranked(best(scores, 100, 1e-4), 100)
    for query in range(6):
        order = [r for r in np.lexsort((np.arange(n), -scores[query])) if scores[query, r] > 0][:100]
        assert hits.row[hits.query == query].tolist() == order


def test_scores_closer_than_a_step_are_equal():
    """The same vector at two places of a matrix can differ in its last bit; the smaller row number still comes first."""
    assert ranked(best(np.array([[0.5, 0.5 + 1e-7, 0.4]], np.float32), 2, 1e-5), 2).row.tolist() == [0, 1]
