"""What a relationship type says by its words: its direction, its denial, and whether it can run both ways."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.operations.conflicts.rows import (
    mutual_pairs,
    read_type,
    runs_against,
    runs_both_ways,
    runs_one_way,
    single_by_name,
)


@pytest.mark.parametrize(
    ("one", "other", "flipped", "denied"),
    [
        ("parent of", "child of", True, False),
        ("reports to", "manages", True, False),
        ("owns", "owned by", True, False),
        ("produces", "produced by", True, False),
        ("likes", "dislikes", False, True),
        ("works for", "no longer works for", False, True),
        ("works at", "works for", False, False),
        ("has part", "part of", True, False),
    ],
)
def test_two_types_for_one_relation(one: str, other: str, *, flipped: bool, denied: bool) -> None:
    """One base; the ends exchanged or not, asserted or denied."""
    a, b = read_type(one), read_type(other)
    assert a.base == b.base
    assert (a.flipped != b.flipped, a.denies != b.denies) == (flipped, denied)


@pytest.mark.parametrize("name", ["KNOWS", "works with", "married to", "friend of", "associated with"])
def test_symmetric_types_never_run_one_way(name: str) -> None:
    """However rarely both directions were written down."""
    base = read_type(name.lower()).base
    assert runs_both_ways(base)
    assert not runs_one_way(base, pairs=10_000, mutual=1)


def test_direction_is_learnt_where_words_say_nothing() -> None:
    """Fifty pairs of ends, of which one runs both ways, are enough; ten are not."""
    assert runs_one_way("feed", pairs=50, mutual=1)
    assert not runs_one_way("feed", pairs=49, mutual=1)
    assert not runs_one_way("feed", pairs=50, mutual=2)
    assert runs_one_way("report to", pairs=1, mutual=1)
    source, target = np.array([0, 1, 2, 0]), np.array([1, 0, 3, 1])
    pairs, mutual = mutual_pairs(source, target, np.zeros(4, np.int64), 1)
    assert (pairs.tolist(), mutual.tolist()) == ([2], [1])


def test_direction_between_two_sorts_of_things() -> None:
    """Meetings are hosted by places ten times, so one place that a meeting hosts is wrong."""
    low = np.array([0] * 10 + [1])
    high = np.array([1] * 10 + [0])
    kinds = np.zeros(11, np.int64)
    assert runs_against((low, high), kinds).tolist() == [False] * 10 + [True]
    assert not runs_against((low[1:], high[1:]), kinds[1:]).any()


def test_predicates_of_one_object_by_name() -> None:
    """Only for what the data say too little about."""
    assert single_by_name("lives in")
    assert single_by_name("is due on")
    assert not single_by_name("likes")
