"""Thresholds by hand, for both aims."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching import match

KINDS = np.array([0, 0, 0, 0, 2, 2])
LIKELY = np.array([1.0, 0.98, 0.96, 0.4, 0.7, 0.2])
MAY = np.array([True, True, True, True, True, False])


def test_for_precision_the_mean_over_the_threshold_is_what_was_asked() -> None:
    """(1 + .98) / 2 = .99; a third of .96 would make it .98. A type whose best pair is too doubtful merges nothing under 1."""
    assert match.find_thresholds("precision", KINDS, LIKELY, MAY, 0.99).tolist() == [0.98, 0.9, 1.0]
    assert match.find_thresholds("precision", KINDS, LIKELY, MAY, 0.98)[0] == 0.96
    assert match.find_thresholds("precision", KINDS, LIKELY, MAY, 0.5).tolist() == [0.9, 0.9, 0.9]


def test_for_f1_a_pair_is_taken_while_it_makes_the_balance_better() -> None:
    """3.34 matches are expected of type 0: with three pairs F1 is 2 · 2.94 / (3 + 3.34) = .927, with four 2 · 3.34 / (4 + 3.34) = .910.
    Of type 2 .9 are expected: one pair makes .737; the other may not merge."""
    assert match.find_thresholds("f1", KINDS, LIKELY, MAY, 0.99).tolist() == [0.96, 0.9, 0.7]
    assert match.find_thresholds("f1", KINDS[:0], LIKELY[:0], MAY[:0], 0.99).tolist() == [0.9]


@pytest.mark.parametrize("aim", ["precision", "f1"])
def test_the_order_of_pairs_does_not_matter(aim: match.Aim) -> None:
    turned = np.array([5, 3, 1, 0, 2, 4])
    one = match.find_thresholds(aim, KINDS, LIKELY, MAY, 0.99)
    assert match.find_thresholds(aim, KINDS[turned], LIKELY[turned], MAY[turned], 0.99).tolist() == one.tolist()
