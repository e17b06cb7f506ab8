"""Scores from 0 to 1, and one of two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.fusion import (
    Calibration,
    calibration_of,
    fuse,
    lexical_scores,
    semantic_scores,
    weight_of_words,
)

shares = st.floats(0, 1)
models = st.sampled_from(["fast-use-v3", "all-minilm-l6-v2-int8", "another"])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), models)
def test_meaning_is_scored_between_0_and_1_in_the_order_of_cosines(cosines: list[float], model: str):
    scores = semantic_scores(np.array(cosines), calibration_of(model))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores[np.argsort(cosines, kind="stable")]) >= 0).all()


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=20), st.floats(0, 100))
def test_words_are_scored_between_0_and_1_in_the_order_of_bm25(bm25: list[float], bound: float):
    scores = lexical_scores(np.array(bm25), bound)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores[np.argsort(bm25, kind="stable")]) >= 0).all()


@given(shares, shares, shares, models)
def test_a_fused_score_lies_between_its_two(lexical: float, semantic: float, best: float, model: str):
    """And what is better on both sides is better."""
    weight = weight_of_words(best, calibration_of(model))
    fused = float(fuse(np.array([lexical]), np.array([semantic]), weight)[0])
    assert min(lexical, semantic) - 1e-9 <= fused <= max(lexical, semantic) + 1e-9
    assert float(fuse(np.array([lexical]), np.array([min(1, semantic + 0.1)]), weight)[0]) >= fused


def test_dory_a_hit_of_both_sides_beats_a_hit_of_one():
    """As rank fusion had it, but by how well each side matches."""
    scores = fuse(np.array([0.6, 0.6, 0.0]), np.array([0.6, 0.0, 0.6]), 0.5)
    assert scores.argmax() == 0
    assert scores[1] == scores[2]


def test_words_weigh_more_the_more_they_found():
    contextual = Calibration(0.1, 0.7, 0.3, 0.7)
    assert [float(weight_of_words(best, contextual)) for best in (0, 0.5, 1)] == pytest.approx([0.3, 0.5, 0.7])


def test_a_model_nobody_measured_counts_as_a_contextual_one():
    assert calibration_of("bge").least < calibration_of("fast-use-v3").least
