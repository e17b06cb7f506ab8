"""Words: what two names share, in nats."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.words import WordInformation, cosine

PAIR = (np.array([0]), np.array([1]))


def words(*texts: str) -> WordInformation:
    return WordInformation.from_texts(np.array(texts, np.object_))


def test_a_rare_word_says_more_than_a_common_one() -> None:
    """Sharing "quilliam" among a hundred Smiths is worth more than sharing "smith"."""
    found = words("anna quilliam", "bert quilliam", *(f"person{k} smith" for k in range(98)))
    rare, _ = found.shared(*PAIR)
    common, _ = found.shared(np.array([2]), np.array([3]))
    assert rare[0] == pytest.approx(np.log(200), rel=1e-5)  # held by the pair alone
    assert common[0] == pytest.approx(0.05, rel=1e-5)  # nearly everybody's


def test_a_slip_is_read_as_the_frequent_word() -> None:
    """A letter lost, changed or swapped in a long word; two words that both occur often stay apart."""
    texts = ["harbour pilot", "habrour pilot", "harbour watch", "harbour light"]
    plain, mended = words(*texts).shared(*PAIR)
    assert mended[0] > plain[0] > 0
    often = [*["jansen boats"] * 4, *["jensen boats"] * 4]
    plain, mended = words(*often).shared(np.array([0]), np.array([4]))
    assert mended[0] == pytest.approx(plain[0])


def test_figures_and_short_words_hold_no_slips() -> None:
    """2024 is not 2025, and "lima" is not "lime"."""
    plain, mended = words("report 20245", "report 20246", "report 20246").shared(*PAIR)
    assert mended[0] == pytest.approx(plain[0])
    plain, mended = words("lima", "lime", "lime").shared(*PAIR)
    assert (plain[0], mended[0]) == (0.0, 0.0)


def test_the_cosine_lies_between_nothing_and_the_same() -> None:
    """0 without a common word, 1 for the same words in any order."""
    found = words("alpha beta", "beta alpha", "gamma delta", "alpha delta")
    i = np.zeros(3, np.int64)
    assert cosine(found, i, np.array([1, 2, 3])) == pytest.approx([1, 0, 0.4], abs=0.01)  # alpha stands in most


def test_texts_without_words_share_nothing() -> None:
    """Empty names are no error."""
    plain, mended = words("", "").shared(*PAIR)
    assert (plain[0], mended[0]) == (0.0, 0.0)
