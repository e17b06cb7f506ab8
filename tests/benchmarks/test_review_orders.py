"""The benchmark of orders end to end on a small world: asked in each order, learnt, counted, shown."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from benchmarks import review_orders, worlds
from slowwave.matching.review import ReviewPair

pytestmark = pytest.mark.slow


def test_every_order_is_asked_to_its_end_and_told(tmp_path: Path) -> None:
    worlds.write(worlds.make("restaurants", 0.4), tmp_path / "world-restaurants.csv")
    found = review_orders.simulate(tmp_path / "world-restaurants.csv", 40, 400)
    cosine = found.pop("tf-idf")
    assert 0 < cosine.first < 1
    assert found.keys() == review_orders.ORDERS.keys()
    assert len({of.first for of in found.values()}) == 1
    for of in found.values():
        assert (of.signed.f1 or 0) >= of.first
        assert (of.learnt.f1 or 0) > 0
        assert all(n is None or (n % 10 == 0 and n <= 40) for n in of.answers.values())
    (row, *_) = review_orders.part({"world": found}, 40).rows
    assert row[:2] == ["world", "by chance"]


def test_so_many_rows_are_taken_as_whole_clusters_the_same_each_time() -> None:
    gold = [str(k // 3) for k in range(300)]
    kept = review_orders.whole_clusters(gold, 100)
    assert kept == review_orders.whole_clusters(gold, 100) == sorted(kept)
    assert len(kept) == 102
    assert all(gold.count(gold[k]) == [gold[x] for x in kept].count(gold[k]) for k in kept)


def test_the_least_certain_come_first() -> None:
    pairs = [ReviewPair("a", "b", 0.9), ReviewPair("c", "d", 0.52), ReviewPair("e", "f", 0.1)]
    assert review_orders.by_uncertainty(None, pairs, Random(1))[0] == ("c", "d")  # type: ignore[arg-type]
