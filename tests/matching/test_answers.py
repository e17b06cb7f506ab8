"""Answers as a set: read, checked against each other, and found again among rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.matching.answers import UNSURE, AnsweredRows, Answers, PairAnswer

NAMES = st.sampled_from("abcdefg")
GIVEN = st.lists(
    st.tuples(NAMES, NAMES, st.sampled_from([True, False, UNSURE])).filter(lambda t: t[0] != t[1]), max_size=9
)


def test_pairs_are_read_in_the_order_of_their_ids() -> None:
    """However they were given, once each; what was said surely stands over "unsure"."""
    found = Answers.from_triples([("d", "c", False), ("b", "a", True), ("a", "b", UNSURE), ("x", "a", None)])
    assert found.pairs == (PairAnswer("a", "b", True), PairAnswer("a", "x", None), PairAnswer("c", "d", False))


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ([("a", "b", True), ("b", "a", False)], "a and b"),
        ([("a", "b", True), ("b", "c", True), ("c", "d", True), ("d", "a", False)], "a = b = c = d, but a ≠ d"),
        ([("a", "a", True)], "'a', 'a'"),
        ([("a", "b", "yes")], "'yes'"),
    ],
)
def test_answers_that_cannot_be_are_refused_with_the_pairs(
    given_: list[tuple[str, str, bool | str]], named: str
) -> None:
    """The shortest chain that says otherwise is named."""
    with pytest.raises(Refused, match=named):
        Answers.from_triples(given_)


@given(GIVEN)
def test_answers_are_taken_just_when_some_world_has_them_all(given_: list[tuple[str, str, bool | str]]) -> None:
    """Against the definition: join what is the same, and look whether anything that is not ends together."""
    group = {name: name for name in "abcdefg"}
    for a, b, same in given_:
        if same is True:
            old, new = group[a], group[b]
            group = {name: new if g == old else g for name, g in group.items()}
    possible = all(group[a] != group[b] for a, b, same in given_ if same is False)
    try:
        found = Answers.from_triples(given_)
    except Refused:
        assert not possible
    else:
        assert possible
        assert (
            found
            == Answers.from_triples(reversed(given_))
            == Answers.from_triples((b, a, same) for a, b, same in given_)
        )


def test_answers_are_found_by_rows_of_one_type() -> None:
    """An id that is not there, rows of two types, and a type in which nothing is compared are counted."""
    ids, kind = np.array(["a", "b", "c", "d", "e", "f"], object), np.array([0, 0, 0, 1, 2, 2])
    answers = Answers.from_triples(
        [
            ("c", "a", True),
            ("b", "c", UNSURE),
            ("a", "d", True),
            ("a", "zz", False),
            ("e", "f", True),
            ("a", "b", False),
        ]
    )
    found = AnsweredRows.from_answers(answers, ids, kind, [0, 1])
    assert (found.i.tolist(), found.j.tolist(), found.unknown) == ([0, 0, 1], [1, 2, 2], 3)
    assert (found.keys(same=True).tolist(), found.keys(same=False).tolist()) == ([2], [1])
    assert found.of_pairs(np.array([2, 1, 0]), np.array([0, 2, 3])).tolist() == [1, 2, -1]
