"""Near pairs: exact in small blocks, in large ones those that share rare words, and never more than a few for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from slowwave.operations.consolidation import near_pairs, sharing
from slowwave.operations.summary_text import Floats, Pool

Pairs = Mapping[tuple[int, int], float]


def pool(texts: Sequence[str], matrix: Floats, blocks: Sequence[int] | None = None) -> Pool:
    n = len(texts)
    none = np.zeros(n, np.int64)
    block = none if blocks is None else np.array(blocks, np.int64)
    return Pool(pa.table({"text": list(texts)}), block, none, none, none.astype(bool), np.arange(n), matrix)


def texts_of(*texts: str) -> pa.ChunkedArray:
    return pa.table({"text": list(texts)})["text"]


def found(made: Pool, floor: float, whole: int) -> Pairs:
    return {
        (int(rows[a]), int(rows[b])): float(c)
        for rows, i, j, cosine in near_pairs(made, floor, 2, whole)
        for a, b, c in zip(i, j, cosine, strict=True)
    }


def directions(n: int, seed: int, size: int = 3) -> Floats:
    drawn = np.random.default_rng(seed).standard_normal((n, size))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


@given(st.lists(st.sampled_from(("ash", "birch", "cedar", "elm ash")), max_size=12), st.integers(0, 9), st.data())
def test_what_is_found_is_near_and_of_one_block(texts: list[str], seed: int, data: st.DataObject) -> None:
    """Whole blocks lack nothing; of large ones nothing is found that is not in the block as a whole, with the same cosine."""
    n = len(texts)
    blocks = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    made = pool(texts, directions(n, seed), blocks)
    cosine = made.matrix @ made.matrix.T
    expected = {
        (a, b): float(cosine[a, b])
        for a in range(n)
        for b in range(a + 1, n)
        if blocks[a] == blocks[b] and cosine[a, b] >= 0.2
    }
    exact, worded = found(made, 0.2, 100), found(made, 0.2, 0)
    assert exact == {k: np.float32(v) for k, v in expected.items()}
    assert worded.keys() <= exact.keys()
    assert all(abs(worded[k] - exact[k]) < 1e-6 for k in worded)


def test_in_a_large_block_those_meet_that_share_a_rare_word_or_two_words_in_a_row() -> None:
    """However near two are that share neither; grammar and the form of a word are none."""
    texts = [
        "The barn of Lund",
        "A roof in Lund",
        "old barns of the red fox",
        "Of an old barn",
        "It is near",
        "is it near?",
    ]
    texts += ["The barn is red", "An old house"] * 90  # so "barn" and "old" are common
    made = pool(texts, np.tile(np.float32([[1, 0, 0]]), (len(texts), 1)))
    pairs = {pair for pair in found(made, 0.9, 0) if max(pair) < 6}
    assert pairs == {(0, 1), (2, 3), (4, 5)}


def test_words_that_many_have_bring_no_pairs_together() -> None:
    """The work grows with the rows and not with their square."""
    n = 4_000
    made = pool([f"note {k} of the ledger, page {k % 1_000}" for k in range(n)], np.ones((n, 1), np.float32))
    pairs = found(made, 0.5, 0)
    assert {(a, b) for a in range(4) for b in range(a + 1_000, n, 1_000)} <= pairs.keys()
    assert len(pairs) <= 16 * n


def test_a_stem_is_a_key_once_a_text() -> None:
    """Texts without a word of content have none, and two words in a row stand in one text."""
    blocks = sharing(texts_of("hens, hen!", "a hen", "of the", ""))
    assert blocks.rows.tolist() == [0, 1]
    blocks = sharing(texts_of("red", "hen", "red hen"))
    assert sorted(blocks.size.tolist()) == [2, 2]
