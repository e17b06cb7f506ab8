"""Pairs inside blocks, against the obvious double loop."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.blocks import Blocks, affordable, packed_pairs, ranges, unique

_N = 12
_members = st.lists(st.tuples(st.integers(0, _N - 1), st.integers(0, 4), st.booleans()), max_size=40)


def expected(members: list[tuple[int, int, bool]], focus: np.ndarray | None) -> list[int]:
    leads = {(row, code) for row, code, lead in members if lead}
    found = {
        a * _N + b
        for code in {c for _, c, _ in members}
        for a, b in combinations(sorted({r for r, c, _ in members if c == code}), 2)
        if ((a, code) in leads or (b, code) in leads) and (focus is None or focus[a] or focus[b])
    }
    return sorted(found)


@given(_members, st.none() | st.lists(st.booleans(), min_size=_N, max_size=_N))
def test_pairs_are_those_of_a_double_loop(members: list[tuple[int, int, bool]], focus: list[bool] | None) -> None:
    """With members that lead, rows that repeat, and a focus."""
    rows, codes, leads = (np.array([m[k] for m in members], t) for k, t in ((0, np.int64), (1, np.int64), (2, bool)))
    flags = None if focus is None else np.array(focus)
    blocks = Blocks.from_codes(rows, codes, leads)
    assert blocks.all_pairs(_N, flags).tolist() == expected(members, flags)
    assert blocks.pairs.sum() >= len(expected(members, None))
    if flags is not None:
        assert blocks.touching(flags).all_pairs(_N, flags).tolist() == expected(members, flags)


def test_the_smallest_blocks_come_first_until_the_budget_is_spent() -> None:
    """What does not fit is handed back, not lost."""
    blocks = Blocks.from_codes(np.arange(17), np.repeat([0, 1, 2], [10, 4, 3]))
    small, large = blocks.within(9)
    assert (small.size.tolist(), large.size.tolist()) == ([4, 3], [10])
    assert affordable(np.array([5, 1, 3, 4]), 8).tolist() == [False, True, True, True]


def test_codes_of_any_size_are_blocked() -> None:
    """Hashes as codes leave no room for row numbers beside them."""
    codes = np.array([2**62, 2**62, 5, 2**62], np.int64)
    assert Blocks.from_codes(np.arange(4) + 2**30, codes).rows.tolist() == [2**30, 2**30 + 1, 2**30 + 3]


def test_pairs_are_ordered_and_a_row_is_not_its_own_partner() -> None:
    """One number a pair, whichever way it was found."""
    assert packed_pairs(np.array([3, 1, 2, 2]), np.array([1, 3, 2, 0]), 10).tolist() == [2, 13]
    assert unique(np.array([3, 1, 3])).tolist() == [1, 3]
    which, place = ranges(np.array([5, 0, 7]), np.array([2, 0, 1]))
    assert (which.tolist(), place.tolist()) == ([0, 0, 2], [5, 6, 7])
