"""Wording: letters of whole rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.words import cosines, trigrams


def test_the_same_letters_elsewhere_are_still_alike() -> None:
    """An artist in the title, two words run together."""
    rows = trigrams(["paper sun the hearts", "the hearts paper sun", "papersun the hearts", "quiet clock helen"])
    alike = cosines(rows, np.zeros(3, np.int64), np.array([1, 2, 3]))
    assert alike[0] > 0.75
    assert alike[1] > 0.6
    assert alike[2] < 0.2


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
def test_every_text_is_like_itself(texts: list[str]) -> None:
    """Any script, any length, empty ones too: a text of its own letters has cosine 1 with itself."""
    rows = trigrams(texts)
    every = np.arange(len(texts))
    assert cosines(rows, every, every) == pytest.approx(np.ones(len(texts)), abs=1e-5)
