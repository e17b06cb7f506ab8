"""The benchmark of exact pairs: its vectors are as it says, and its processes agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import pairs

pytestmark = pytest.mark.slow


def test_the_vectors_have_the_moments_of_real_ones(tmp_path: Path) -> None:
    """Unit rows, the told moments, and a tenth each of near copies and hard negatives, wherever a chunk ends."""
    path = tmp_path / "vectors.npy"
    pairs.vectors(12_000, path)
    matrix = np.load(path)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    reached = pairs.moments(path)
    assert reached["mean cosine"] == pytest.approx(0.136, abs=0.01)
    assert reached["its standard deviation"] == pytest.approx(0.103, abs=0.01)
    assert [reached[f"energy in {k} axes"] for k in (32, 64, 128)] == pytest.approx([0.50, 0.64, 0.81], abs=0.02)
    nearest = np.array([np.partition(block, -2, axis=1)[:, -2] for block in np.array_split(matrix @ matrix.T, 12)])
    assert 0.1 <= np.mean(nearest >= 0.9) < 0.25
    assert np.mean((nearest >= 0.75) & (nearest < 0.9)) >= 0.1


def test_every_method_finds_the_same_pairs_in_a_process_of_its_own() -> None:
    """The figures say how many pairs differ, how often the sgemm's time ours was, and which machine it was."""
    figures = pairs.measure([2_000, 3_000], 2, lambda _: None)
    ours = [figures.find(rows, "Slowwave") for rows in (2_000, 3_000)]
    assert [(case.differing, case.wrong) for case in ours if case] == [(0, 0), (0, 0)]
    assert all(case.pairs > 0.1 * case.rows for case in figures.cases)
    page = pairs.markdown(figures)
    assert "| 2,000 | blocked sgemm |" in page
    assert "| 2,000 to 3,000 | x2.2 |" in page
    assert "OPENBLAS_CORETYPE" in page
    assert "**not met**" not in page
