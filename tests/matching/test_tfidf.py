"""Sparse joins, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.blocks import TfIdfRows

_EVERYTHING = 1e12


def rows_of(held: list[np.ndarray], kind: np.ndarray, tokens: int) -> TfIdfRows:
    def read(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        part = held[low:high]
        return np.repeat(np.arange(low, high), [len(p) for p in part]), np.concatenate([np.empty(0, np.int64), *part])

    return TfIdfRows.from_reader(kind, read, tokens)


def drawn(n: int, *, tokens: int = 60, kinds: int = 2, spread: int = 1) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows of one to nine tokens, some frequent and some rare, some rows near copies of others."""
    rng = np.random.default_rng(n)
    held = [(rng.random(rng.integers(1, 10)) ** 2 * tokens).astype(np.int64) * spread for _ in range(n)]
    for k in range(0, n - 1, 3):
        held[k + 1] = np.append(held[k], held[k + 1][:1])
    return held, rng.integers(0, kinds, n)


def cosines(held: list[np.ndarray], kind: np.ndarray) -> np.ndarray:
    """The full table by the book: √count · ln(1 + rows of the type / rows with the token), unit length, within types."""
    tokens = np.unique(np.concatenate(held))
    counts = np.array([[np.count_nonzero(h == t) for t in tokens] for h in held], float)
    table = np.zeros((len(held), len(held)))
    for k in np.unique(kind):
        rows = np.flatnonzero(kind == k)
        weights = np.sqrt(counts[rows]) * np.log1p(len(rows) / np.maximum((counts[rows] > 0).sum(axis=0), 1))
        unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        table[np.ix_(rows, rows)] = unit @ unit.T
    return table


@pytest.mark.parametrize("spread", [1, 10**9], ids=["numbered", "hashed"])
def test_near_rows_are_all_found_when_work_is_no_object(spread: int) -> None:
    """Exactly the pairs of the full table; features without number of their own change nothing."""
    held, kind = drawn(300, spread=spread)
    table = np.triu(cosines(held, kind), 1)
    i, j, cut = rows_of(held, kind, 60 * spread).near(0.5, _EVERYTHING, 300)
    sure = np.abs(table - 0.5) > 1e-4
    found = np.zeros(table.shape, bool)
    found[i, j] = True
    assert (found == (table >= 0.5))[sure].all()
    assert cut == 0


def test_rows_joined_part_by_part_are_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts there are, and where the last is shorter."""
    rows = rows_of(*drawn(305), 60)
    whole = [tuple(sorted(zip(i.tolist(), j.tolist(), strict=True))) for i, j, _ in (rows.near(0.5, 50, 300),)]
    monkeypatch.setattr("slowwave.matching.blocks._SPAN", 8)
    i, j, _ = rows.near(0.5, 50, 300)
    assert [tuple(sorted(zip(i.tolist(), j.tolist(), strict=True)))] == whole
    assert len(whole[0]) > 50


def test_less_work_finds_less_and_invents_nothing() -> None:
    """The rarest features come first, so most pairs are found for a tenth of the work."""
    held, kind = drawn(600)
    rows = rows_of(held, kind, 60)
    every, some = (
        set(zip(*(c.tolist() for c in rows.near(0.5, work, 600)[:2]), strict=True)) for work in (_EVERYTHING, 60)
    )
    assert some <= every
    assert len(some) > 0.5 * len(every)


def test_frequent_features_that_are_only_bounded_lose_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them as most rows can do without, with and without a limit of work, for all rows and for a focus."""
    held, kind = drawn(600)
    rows, focus = rows_of(held, kind, 60), np.arange(600) % 7 == 0
    asked = [(work, at) for work in (_EVERYTHING, 60) for at in (None, focus)]

    def pairs() -> list[set[tuple[int, int]]]:
        return [set(zip(*(c.tolist() for c in rows.near(0.5, work, 600, at)[:2]), strict=True)) for work, at in asked]

    monkeypatch.setattr("slowwave.matching.blocks._FREQUENT", 0)
    whole = pairs()
    monkeypatch.setattr("slowwave.matching.blocks._FREQUENT", 12)
    _, rest, _ = rows._split_frequent(rows.matrix, np.full(600, 0.5, np.float32))
    assert np.count_nonzero(rest) > 200
    for reached in (40, 0):
        monkeypatch.setattr("slowwave.matching.blocks._REACHED", reached)
        assert pairs() == whole


def test_a_crowd_is_cut_to_the_nearest_and_counted() -> None:
    """A hundred rows that are all alike."""
    i, _, cut = rows_of([np.array([1, 2])] * 100, np.zeros(100, np.int64), 3).near(0.5, _EVERYTHING, 5)
    assert cut > 80
    assert len(i) <= 500


def test_the_nearest_rows_are_those_of_the_full_table() -> None:
    """The k best of each row, from a floor up, never the row itself nor one of another type."""
    held, kind = drawn(200)
    table = cosines(held, kind)
    np.fill_diagonal(table, -1)
    i, j = rows_of(held, kind, 60).nearest(3, 0.1, _EVERYTHING)
    assert (kind[i] == kind[j]).all()
    for row in range(200):
        got, best = np.sort(table[row, j[i == row]])[::-1], np.sort(table[row])[::-1][:3]
        assert got == pytest.approx(best[best >= 0.1], abs=1e-3)


def test_a_focus_asks_for_its_rows_only() -> None:
    """Its pairs with all rows, on either side."""
    held, kind = drawn(300)
    rows, focus = rows_of(held, kind, 60), np.arange(300) % 7 == 0
    i, j, _ = rows.near(0.5, _EVERYTHING, 300)
    touched = {(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True) if focus[a] or focus[b]}
    i, j, _ = rows.near(0.5, _EVERYTHING, 300, focus)
    assert {(min(p), max(p)) for p in zip(i.tolist(), j.tolist(), strict=True)} == touched
    assert focus[rows.nearest(3, 0.1, _EVERYTHING, focus)[0]].all()


def test_no_rows_and_rows_without_anything_in_common() -> None:
    """Nothing to join is no error."""
    for rows in (
        rows_of([], np.empty(0, np.int64), 0),
        rows_of([np.array([0]), np.array([1])], np.zeros(2, np.int64), 2),
    ):
        assert len(rows.near(0.5, _EVERYTHING, 5)[0]) == 0
        assert len(rows.nearest(5, 0.1, _EVERYTHING)[0]) == 0
