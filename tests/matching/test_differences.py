"""Words that one name has and the other lacks, as signs that answers give a meaning."""

from __future__ import annotations

import numpy as np

from slowwave.matching.words import FEWEST, MOST, Differences, WordInformation


def looked_at(pairs: list[tuple[str, str]]) -> tuple[WordInformation, np.ndarray, np.ndarray]:
    words = WordInformation.from_texts(np.array([name for pair in pairs for name in pair], np.object_), slips=False)
    at = np.arange(len(pairs)) * 2
    return words, at, at + 1


PAIRS = [
    *((f"firm {k}", f"firm {k} inc") for k in "abc"),
    *((f"{k} office pro", f"{k} office professional") for k in "def"),
    ("red lamp shade", "blue lamp cover"),
]


def test_signs_are_told_apart_by_who_has_words_of_its_own() -> None:
    """A word more, words of both, and two that stand for each other; what fewer than three pairs differ in is none."""
    words, i, j = looked_at(PAIRS)
    found = Differences.from_pairs(words, i, j)
    assert found.signs[:2] == ("more", "other")
    assert set(found.signs[2:]) == {"more inc", "other pro", "other professional", "pro for professional"}
    values = dict(zip(found.signs, found.values(words, i, j).T.tolist(), strict=True))
    assert values["more inc"] == [1, 1, 1, 0, 0, 0, 0]
    assert values["pro for professional"] == values["other pro"] == [0, 0, 0, 1, 1, 1, 0]
    assert values["more"] == [0.5, 0.5, 0.5, 0, 0, 0, 0]
    assert values["other"] == [0, 0, 0, 1, 1, 1, 2]
    assert FEWEST == 3


def test_of_several_words_that_stand_for_each_other_each_is_read_in_its_own_pairs() -> None:
    swaps = [("std", "standard"), ("pro", "professional"), ("ed", "edition")]
    pairs = [(f"{k} office {a}", f"{k} office {b}") for a, b in swaps for k in "abc"]
    words, i, j = looked_at(pairs)
    found = Differences.from_pairs(words, i, j)
    values = dict(zip(found.signs, found.values(words, i, j).T.tolist(), strict=True))
    for n, swap in enumerate(swaps):
        (sign,) = (sign for sign in values if set(sign.split(" ")) == {*swap, "for"})
        assert values[sign] == [float(k // 3 == n) for k in range(9)]


def test_other_rows_are_read_with_the_same_signs() -> None:
    """Also rows that lack some of the words, in either order of a pair."""
    words, i, j = looked_at(PAIRS)
    found = Differences.from_pairs(words, i, j)
    others, a, b = looked_at([("bank inc", "bank"), ("chess", "chess")])
    assert found.values(others, a, b)[:, found.signs.index("more inc")].tolist() == [1, 0]
    assert found.values(others, a, b).sum() == 1.5


def test_pairs_in_any_order_give_the_same_signs_and_no_more_than_the_most() -> None:
    words, i, j = looked_at(PAIRS)
    assert Differences.from_pairs(words, i[::-1], j[::-1]) == Differences.from_pairs(words, i, j)
    many = [(f"n{k}", f"n{k} x{k % 120}") for k in range(480)]
    assert len(Differences.from_pairs(*looked_at(many)).signs) == MOST + 2
    assert Differences().values(words, i, j).shape == (len(PAIRS), 0)
    assert Differences.from_pairs(*looked_at([])).signs == ("more", "other")
