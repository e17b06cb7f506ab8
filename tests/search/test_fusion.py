"""Scores from 0 to 1, and one of two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.candidates import (
    Calibration,
    calibration_of,
    fuse,
    in_context,
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


@pytest.mark.parametrize("model", ["fast-use-v3", "all-minilm-l6-v2-int8", "another"])
def test_semantic_scores_of_texts_near_a_query_keep_their_order(model: str):
    """All facts of one form may be nearer to a question than texts that mean the same usually are."""
    scores = semantic_scores(np.linspace(0.6, 1, 9), calibration_of(model))
    assert (np.diff(scores) > 0).all()


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


@given(st.lists(st.tuples(st.integers(0, 3), shares, shares), min_size=1, max_size=20), shares)
def test_queries_are_fused_each_for_itself(rows: list[tuple[int, float, float]], weight: float):
    """The best of a query has the score that the calibrated ones give; what stands beside it changes nothing of another query."""
    query, said, meant = (np.array(column) for column in zip(*sorted(rows), strict=True))
    together = fuse(said, meant, weight, query)
    for one in np.unique(query):
        of = query == one
        alone = fuse(said[of], meant[of], weight)
        assert together[of] == pytest.approx(alone)
        assert alone.max() == pytest.approx((weight * said[of] + (1 - weight) * meant[of]).max())


def test_what_is_far_ahead_by_its_own_measure_stays_ahead():
    """Weak words that one text alone has, beside cosines that hardly differ."""
    said, meant = np.array([0.2, 0.02]), np.array([0.5, 0.7])
    assert fuse(said, meant, 0.5).argmax() == 0
    assert (said + meant).argmax() == 1


@pytest.mark.parametrize(
    ("lexical", "semantic", "order"),
    [
        # A name is all that the words find, in many texts; the answer says the same in other words.
        pytest.param([0.2, 0.2, 0.2, 0.0], [0.3, 0.28, 0.26, 0.5], [3, 0, 1, 2], id="only a name is found by words"),
        # All words of the question are in one text, whose topic the model does not know.
        pytest.param([0.9, 0.3, 0.3, 0.0], [0.3, 0.35, 0.2, 0.5], [0, 1, 3, 2], id="all words are found in one text"),
        pytest.param([0.5, 0.5, 0.0, 0.4], [0.1, 0.6, 0.6, 0.0], [1, 2, 0, 3], id="found by both"),
        pytest.param([0.0, 0.0, 0.0], [0.4, 0.6, 0.5], [1, 2, 0], id="no word is found"),
        pytest.param([0.4, 0.6, 0.5], [0.0, 0.0, 0.0], [1, 2, 0], id="no text has a vector"),
    ],
)
def test_fused_order_of_constructed_cases(lexical: list[float], semantic: list[float], order: list[int]):
    """With the weight of words that the three best lexical scores give."""
    weight = weight_of_words(np.sort(lexical)[-3:].mean(), calibration_of("all-minilm-l6-v2-int8"))
    assert (-fuse(np.array(lexical), np.array(semantic), weight)).argsort(kind="stable").tolist() == order


@given(shares, shares)
def test_context_adds_and_never_takes(own: float, before: float):
    gained = float(in_context(np.array([own]), np.array([before]))[0])
    assert own <= gained <= 1
    assert float(in_context(np.array([own]), np.zeros(1))[0]) == own
