"""What the quality benchmark counts is what a loop over all pairs would count, on sets of any shape."""

from __future__ import annotations

import json
from collections.abc import Set
from itertools import combinations

import numpy as np
import pytest

from benchmarks import quality, tfidf
from benchmarks.quality import Counted


def loop(labels: list[int], gold: list[int], more: Set[tuple[int, int]] = frozenset()) -> Counted:
    said = [(a, b) for a, b in combinations(range(len(gold)), 2) if labels[a] == labels[b] or (a, b) in more]
    same = [(a, b) for a, b in combinations(range(len(gold)), 2) if gold[a] == gold[b]]
    return Counted(len(said), len(set(said) & set(same)), len(same))


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_clusters_are_counted_by_their_sizes(seed: int) -> None:
    """Random clusters against random gold, and pairs for a person on top: repeated, reversed, within a cluster."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    labels, gold = rng.integers(0, n // 2 + 1, n), rng.integers(0, n // 2 + 1, n)
    assert quality.closure(labels, gold) == loop(labels.tolist(), gold.tolist())
    i, j = rng.integers(0, n, (2, 60))
    i, j = i[i != j], j[i != j]
    more = {(min(a, b), max(a, b)) for a, b in zip(i.tolist(), j.tolist(), strict=True)}
    assert quality.closure_with(labels, gold, i, j) == loop(labels.tolist(), gold.tolist(), more)
    groups = {frozenset((labels[a], labels[b])) for a, b in more}
    between = {p for p in combinations(range(len(labels)), 2) if frozenset((labels[p[0]], labels[p[1]])) in groups}
    assert quality.closure_between(labels, gold, i, j) == loop(labels.tolist(), gold.tolist(), between)


@pytest.mark.parametrize("seed", range(4))
def test_b_cubed_is_the_mean_over_rows(seed: int) -> None:
    """Each row's cluster against each row's kind."""
    rng = np.random.default_rng(seed)
    labels, gold = rng.integers(0, 6, 30), rng.integers(0, 6, 30)
    shared = [int(((labels == labels[k]) & (gold == gold[k])).sum()) for k in range(30)]
    precision = float(np.mean([s / (labels == labels[k]).sum() for k, s in enumerate(shared)]))
    recall = float(np.mean([s / (gold == gold[k]).sum() for k, s in enumerate(shared)]))
    assert quality.b_cubed(labels, gold)[:2] == pytest.approx((precision, recall))


def test_shares_are_absent_where_nothing_was_counted() -> None:
    """A set without merges has no precision, rather than a perfect one."""
    nothing = quality.closure(np.arange(5), np.array([0, 0, 1, 2, 3]))
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, 0.0, 0.0)
    assert Counted(4, 3, 6).f1 == pytest.approx(0.6)


def test_millions_of_pairs_are_no_loop() -> None:
    """Ten clusters of ten thousand rows: half a thousand million pairs."""
    gold = np.arange(100_000) % 10
    assert quality.closure(gold, gold) == (499_950_000,) * 3


def test_the_calibration_error_weighs_bins_by_their_pairs() -> None:
    """Ten pairs of .9 of which five are right, thirty of .5 as it should be: .4 in a quarter of the pairs."""
    bins = [quality.Bin(0.9, 10, 9.0, 5), quality.Bin(0.5, 30, 15.0, 15), quality.Bin(0.1, 0, 0.0, 0)]
    assert quality.calibration_error(bins) == pytest.approx(0.1)
    assert quality.calibration_error([]) is None


def test_wilson_is_what_tables_say() -> None:
    """The interval never leaves 0 … 1 and is not empty at zero."""
    assert quality.wilson(0, 100) == pytest.approx((0, 0.0370), abs=1e-4)
    assert quality.wilson(5, 50) == pytest.approx((0.0435, 0.2136), abs=1e-4)
    assert quality.wilson(0, 0) == (0.0, 1.0)
    assert quality.wilson(20, 20)[1] == 1.0


def test_reliability_puts_each_pair_into_its_bin() -> None:
    """A bin begins at its lower end; nothing is lost."""
    bins = quality.reliability(np.array([0.05, 0.99, 0.995, 1.0, 0.5]), np.array([False, True, False, True, True]))
    assert {b.low: (b.pairs, b.right) for b in bins if b.pairs} == {
        0.0: (1, 0),
        0.5: (1, 1),
        0.99: (2, 1),
        0.999: (1, 1),
    }
    assert sum(b.expected for b in bins) == pytest.approx(3.535)


ROWS = (
    ("Harbor Grill", {"city": "Wexford"}, 0),
    ("harbor  grill!", {"city": "Wexford", "tags": ["fish", 3]}, 0),
    ("Harbor Café", {"city": "Wexford"}, 1),
    ("Kiln & Sons", {}, 2),
    ("Kiln and Sons", {"city": "nan"}, 2),
    ("Lantern", None, 3),
)


@pytest.mark.parametrize("features", ["words", "3-grams"])
def test_the_reference_is_the_best_threshold_of_a_plain_cosine(features: str) -> None:
    """Against a dense computation with features by hand: no other threshold has a better F1."""
    texts = [tfidf._fold(" ".join([name, *tfidf._values(attrs or {})])) for name, attrs, _ in ROWS]
    cut = {
        "words": lambda text: text.split(),
        "3-grams": lambda text: [w[k : k + 3] for w in (f" {w} " for w in text.split()) for k in range(len(w) - 2)],
    }[features]
    bags = [cut(text) for text in texts]
    terms = sorted({term for bag in bags for term in bag})
    weight = {t: np.log(7 / (1 + sum(t in bag for bag in bags))) + 1 for t in terms}
    dense = np.array([[bag.count(t) * weight[t] for t in terms] for bag in bags])
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    near = {(a, b): float(dense[a] @ dense[b]) for a, b in combinations(range(6), 2)}
    scores = []
    for threshold in sorted(near.values()):
        said = [pair for pair, cosine in near.items() if cosine >= threshold - 1e-9]
        right = sum(ROWS[a][2] == ROWS[b][2] for a, b in said)
        scores.append(2 * right / (len(said) + 2))
    found = tfidf.best(
        [name for name, _, _ in ROWS],
        [json.dumps(a) if a else "" for _, a, _ in ROWS],
        np.zeros(6, int),
        np.array([r[2] for r in ROWS]),
    )
    assert found.f1 >= max(scores) - 1e-6
    assert found.rows == 6


def test_rows_of_two_types_are_never_compared() -> None:
    """Matching looks within a type, so the reference does."""
    found = tfidf.best(["Mercury"] * 2 + ["Venus"] * 2, [""] * 4, np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1]))
    assert (found.precision, found.recall) == (1.0, 0.5)
