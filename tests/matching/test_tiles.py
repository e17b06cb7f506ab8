"""Searches in tiles: whatever the number of tiles, and whoever searches them, the pairs are the same bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.blocks import TfIdfRows
from slowwave.matching.tiles import Arrays, CandidateSearch, SelectedRows, digest_of, join, read_search, tiles
from slowwave.matching.vectors import pairs_above, vector_search


def near_vectors(seed: int) -> CandidateSearch:
    """Three stripes of vectors in groups, of which some have no direction or another length; only some rows are searched."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(400, 6)).astype(np.float32)[rng.integers(0, 400, 2_600)]
    matrix = matrix * rng.uniform(0.5, 2, (len(matrix), 1)) + rng.normal(scale=0.05, size=matrix.shape)
    matrix[rng.integers(0, len(matrix), 5)] = 0
    return vector_search(matrix.astype(np.float32), 0.999, rng.permutation(len(matrix))[:2_400])


def words(seed: int) -> TfIdfRows:
    """Rows of two types with a few words each, some of them frequent."""
    rng = np.random.default_rng(seed)
    word = (rng.exponential(size=(2_500, 5)) * 150).astype(np.int64)

    def read(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        return np.repeat(np.arange(low, high), 5), word[low:high].ravel()

    return TfIdfRows.from_reader(rng.integers(0, 2, len(word)), read, int(word.max()) + 1)


SEARCHES: dict[str, Callable[[int], CandidateSearch]] = {
    "vectors": near_vectors,
    "near": lambda seed: words(seed).near_search(0.3, 900, 40),
    "near for a focus": lambda seed: words(seed).near_search(0.3, 90, 40, np.arange(2_500) % 9 > 0),
    "nearest": lambda seed: words(seed).nearest_search(5, 0.1, 900, crowd=12, alike=0.4),
}


def found_by(search: CandidateSearch, count: int, threads: int) -> Arrays:
    return join([search.find(tile, threads) for tile in tiles(search.cost, count)])


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_number_of_tiles_finds_the_same_pairs(name: str, seed: int, tmp_path: Path) -> None:
    search = SEARCHES[name](seed)
    whole = search.find(range(len(search.cost)), 2)
    assert len(search.cost) > 2
    assert len(whole[0]) > 100
    search.write(tmp_path)
    saved = read_search(search.kind, tmp_path)
    for count in (1, 2, 7):
        for again in (found_by(search, count, 2), found_by(saved, count, 1)):
            for one, other in zip(whole, again, strict=True):
                assert one.dtype == other.dtype
                assert one.tobytes() == other.tobytes()


@given(st.lists(st.floats(0, 9), min_size=1, max_size=40), st.integers(1, 60))
def test_tiles_cover_every_piece_once_and_cost_about_the_same(cost: list[float], count: int) -> None:
    made = tiles(np.array(cost), count)
    assert [piece for tile in made for piece in tile] == list(range(len(cost)))
    assert len(made) <= count
    assert all(len(tile) for tile in made)
    assert max(sum(cost[piece] for piece in tile) for tile in made) <= sum(cost) / count + max(cost) + 1e-6


def test_a_search_without_pieces_has_no_tiles_and_no_pairs() -> None:
    search = vector_search(np.empty((0, 4), np.float32), 0.9)
    assert tiles(search.cost, 4) == []
    assert [len(column) for column in search.find(range(0), 1)] == [0, 0, 0]
    assert len(pairs_above(np.zeros((3, 4), np.float32), 0.9)[0]) == 0


def test_rows_of_a_selection_are_written_and_named_by_their_values(tmp_path: Path) -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(6, 2)
    some = SelectedRows(matrix, np.array([4, 1]))
    some.write(tmp_path / "rows.npy")
    assert np.load(tmp_path / "rows.npy").tolist() == [[8, 9], [2, 3]]
    same = SelectedRows(matrix[[4, 1]].copy())
    assert digest_of([some]) == digest_of([same])
    assert digest_of([some]) != digest_of([SelectedRows(matrix, np.array([1, 4]))])
    assert digest_of([some, np.array([0.9])]) != digest_of([some, np.array([0.8])])
