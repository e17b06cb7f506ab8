"""Which rows that were found are one thing, and in which wording it is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.things import STEP, Cited, better_worded, either_covers, grouped, newer_first

PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=30)


@given(PAIRS)
def test_no_two_results_are_one_thing_and_every_row_is_named_once(drawn: list[tuple[int, int, bool]]):
    pairs = [Cited(a, b, sure) for a, b, sure in drawn if a != b]
    things = grouped(12, pairs, lambda pair: pair.memory % 2 == 0, lambda _: False)
    linked = {frozenset((a, b)) for a, b, sure in pairs if sure or a % 2 == 0}
    shown = [first for first, *_ in things]
    assert sorted(n for thing in things for n in thing) == list(range(12))
    assert shown == sorted(shown)
    assert not any(frozenset((a, b)) in linked for a in shown for b in shown)
    assert all(frozenset((first, n)) in linked and first < n for first, *others in things for n in others)


def test_two_facts_of_a_passage_are_two_where_the_passage_is_not_shown():
    facts = [Cited(0, 1, True), Cited(2, 1, True)]
    assert grouped(3, facts, lambda _: False, lambda _: True) == [[0, 1], [2]]
    assert grouped(3, [Cited(1, 0, True), Cited(2, 0, True)], lambda _: False, lambda _: True) == [[0, 1, 2]]


@pytest.mark.parametrize("memory", [0, 1, 2])
def test_passages_of_one_sentence_that_one_memory_cites_are_one_result(memory: int):
    """Wherever the memory ranks. A longer passage may state more, so it is a result unless the memory itself is shown."""
    pairs = [Cited(memory, n, True) for n in range(3) if n != memory]
    assert grouped(3, pairs, lambda _: False, lambda _: True) == [[0, 1, 2]]
    longer = grouped(3, pairs, lambda _: False, lambda _: False)
    assert longer == {0: [[0, 1, 2]], 1: [[0, 1], [2]], 2: [[0, 2], [1]]}[memory]
    unsure = [Cited(memory, n, False) for n in range(3) if n != memory]
    assert grouped(3, unsure, lambda _: True, lambda _: True) == longer


@pytest.mark.parametrize(
    ("ranks", "covered", "lengths", "raised"),
    [
        ([0.5, 0.52], [1, 1], [20, 200], [0.52 + STEP, 0.52]),  # the memory says it alone
        ([0.5, 0.5], [1, 1], [20, 200], [0.5 + STEP, 0.5]),
        ([0.5, 0.5], [1, 1], [20, 20], [0.5, 0.5]),
        ([0.52, 0.5], [0.5, 1], [20, 200], [0.52, 0.52 + STEP]),  # the passage says more that matches
        ([0.5, 0.52], [0.5, 1], [20, 200], [0.5, 0.52]),
        ([0.4, 0.52], [1, 1], [20, 200], [0.4, 0.52]),  # who matches far better is ahead in any case
    ],
)
def test_the_better_worded_is_not_behind(
    ranks: list[float], covered: list[float], lengths: list[int], raised: list[float]
):
    assert better_worded([Cited(0, 1, True)], ranks, covered, lengths, 0.04) == raised


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The pump was moved to the east basin.", "On Monday the pump was moved to the old east basin by Jon.", True),
        ("The pump carries 42 tons.", "The pump carries 40 tons to the east basin.", False),
        ("The pump was sold to Rosa.", "The pump was moved to the east basin.", False),
        ("", "anything", True),
    ],
)
def test_one_of_two_texts_tells_what_the_other_says(one: str, other: str, same: bool):
    assert either_covers(one, other) is either_covers(other, one) is same


ADA, OTTO = "The spare key is with Ada.", "The spare key is with Otto now."


@pytest.mark.parametrize(
    ("texts", "days", "ranks", "expected"),
    [
        ((ADA, OTTO), ("2026-01-01", "2026-02-01"), (0.5, 0.45), [0.45, 0.5]),
        ((ADA, OTTO), ("2026-01-01", "2026-02-01"), (0.6, 0.45), [0.6, 0.45]),
        ((ADA, OTTO), ("2026-02-01", "2026-01-01"), (0.5, 0.45), [0.5, 0.45]),
        ((ADA, OTTO), ("2026-01-01", ""), (0.5, 0.45), [0.5, 0.45]),
        ((ADA, "The spare key is with Otto too."), ("2026-01-01", "2026-02-01"), (0.5, 0.45), [0.5, 0.45]),
        ((ADA, "Otto has the spare key."), ("2026-01-01", "2026-02-01"), (0.5, 0.45), [0.5, 0.45]),
        ((ADA, f"{OTTO} Ask him."), ("2026-01-01", "2026-02-01"), (0.5, 0.45), [0.5, 0.45]),
    ],
)
def test_newer_sentence_of_one_form_within_the_margin_comes_first(
    texts: tuple[str, ...], days: tuple[str, ...], ranks: tuple[float, ...], expected: list[float]
) -> None:
    """Not one far behind, older, without a day, that adds a value, of another form or of several sentences (fixes J11)."""
    assert newer_first(texts, days, ranks, 0.1) == expected


@given(st.lists(st.tuples(st.sampled_from([ADA, OTTO, "Tea."]), st.dates().map(str), st.floats(0, 1)), max_size=60))
def test_newer_first_exchanges_ranks(rows: list[tuple[str, str, float]]) -> None:
    """Scores stay those that were found, each once, but for the steps that tell equal ones apart."""
    texts, days, ranks = zip(*rows, strict=True) if rows else ((), (), ())
    assert sorted(newer_first(texts, days, ranks, 0.1)) == pytest.approx(sorted(ranks), abs=60 * STEP)
