"""Shared words: names and things count for more than what every text of a kind says."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.words import SharedWords

TEXTS = [
    "The train to Ghent was late because of a broken rail.",
    "The railway paid Ilse for the late train to Ghent.",
    *(f"The train to {town} was late because of a broken rail." for town in ("Basel", "Porto", "Graz", "Turku")),
    "And it was so.",
]


def test_a_rare_word_counts_for_more_than_common_ones() -> None:
    """One name among words that all share; equal texts share all, and a text without a word of content nothing."""
    found = SharedWords.from_texts(TEXTS)
    name, kind, self_, nothing = found.pairs(np.array([0, 1, 0, 6]), np.array([1, 2, 0, 0]))
    assert name > 2 * kind
    assert (self_, nothing) == (pytest.approx(1), 0)


def test_pairs_and_matrices_agree() -> None:
    """Of every two of some rows."""
    found = SharedWords.from_texts(TEXTS)
    places = np.array([5, 0, 2])
    whole = found.among(places)
    assert np.allclose(whole[0], found.pairs(np.array([5, 5, 5]), places))
    assert np.allclose(whole, whole.T)
    assert SharedWords.from_texts([]).among(np.empty(0, np.int64)).shape == (0, 0)
