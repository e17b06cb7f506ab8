"""BM25 against arithmetic done by hand, and the vocabulary that two snapshots share."""

import numpy as np
import pyarrow as pa
import pytest

from slowwave.search.bm25 import Counts, postings


def texts(*values: str) -> pa.Array:
    return pa.array(values, pa.large_string())


def every(counts: Counts) -> np.ndarray:
    return np.arange(len(counts.words))


def test_scores_are_those_of_a_hand_computed_example():
    """N = 3, lengths 2, 4, 1, mean 7/3; "red" is in two texts: ln(1 + 1.5/2.5) = 0.47000; "apple" in one: ln(1 + 2.5/1.5) = 0.98083."""
    counts = Counts.from_texts(texts("red apple", "red red pear tree", "plum"))
    asked = counts.count_known([["red", "apple"], ["plum", "unheard"]])
    scores = (asked @ postings(counts.matrix, every(counts))).toarray()
    few = np.unique(asked.indices)  # "pear" and "tree" are asked by nobody
    assert (asked[:, few] @ postings(counts.matrix, few)).toarray().tolist() == scores.tolist()
    # "red" in text 0: 0.47000 · 2.2 / (1 + 1.2 · (0.25 + 0.75 · 6/7)) = 0.47000 · 1.06207; "apple": 0.98083 · 1.06207
    # "red" in text 1: 0.47000 · 4.4 / (2 + 1.2 · (0.25 + 0.75 · 12/7)) = 0.47000 · 1.14498
    # "plum" in text 2: 0.98083 · 2.2 / (1 + 1.2 · (0.25 + 0.75 · 3/7)) = 0.98083 · 1.30508
    assert scores == pytest.approx(np.array([[1.540883, 0.538146, 0], [0, 0, 1.280065]]), abs=1e-5)


def test_a_word_in_every_text_still_counts():
    """The textbook weight of a word that is everywhere is negative and would rank its best text last."""
    counts = Counts.from_texts(texts("tea", "tea cake"))
    assert (postings(counts.matrix, every(counts)).data > 0).all()


def test_a_word_said_four_times_counts_as_one_said_three_times():
    """The store's index knows levels of a count: 1, 2, 3, 5 and 8."""
    counts = Counts.from_texts(texts("a a a a b", "a a a b b"))
    column = postings(counts.matrix, every(counts)).toarray()[0]
    assert column[0] == pytest.approx(column[1])


def test_a_vocabulary_extended_with_new_texts_counts_as_one_made_anew():
    """Before and after a plan share the words of all rows that the plan leaves alone."""
    grown = (
        Counts.from_texts(texts("red apple", "green pear"))
        .extended(texts("red plum plum", ""))
        .taken(np.array([2, 0, 3]))
    )
    anew = Counts.from_texts(texts("red plum plum", "red apple", ""))
    for word, column in zip(anew.words.to_pylist(), anew.matrix.toarray().T, strict=True):
        position = grown.words.index(word).as_py()
        assert grown.matrix.toarray()[:, position].tolist() == column.tolist()
    assert grown.matrix.sum() == anew.matrix.sum()
    assert postings(grown.matrix, every(grown)).sum() == pytest.approx(postings(anew.matrix, every(anew)).sum())


def test_texts_are_counted_alike_however_many_there_are():
    """The texts are split in slices; a word of the first and the last slice is one word."""
    counts = Counts.from_texts(texts(*(f"shared w{n % 7}" for n in range(25_000))))
    assert len(counts.words) == 8
    assert counts.matrix.sum(axis=0)[counts.words.index("shared").as_py()] == 25_000
