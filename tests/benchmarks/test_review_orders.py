"""The benchmark of orders end to end on a small world: asked in each order, learnt, counted, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import review_orders, worlds
from benchmarks.quality import Counted
from benchmarks.review_orders import Injected, InOnePlan, Reached, ScriptedReviewer, Simulated
from slowwave.night.night import run_night
from slowwave.store.connect import Store

pytestmark = pytest.mark.slow


def test_every_order_is_asked_to_its_end_and_told(tmp_path: Path) -> None:
    worlds.write(worlds.make("restaurants", 0.4), tmp_path / "world-restaurants.csv")
    found = review_orders.simulate(tmp_path / "world-restaurants.csv", 40, 400)
    assert 0 < found.cosine < 1
    assert list(found.orders) == ["by chance", "uncertainty", "review", "at best"]
    assert len({of.signed[0] for of in found.orders.values()}) == 1, "nothing is asked yet"
    for of in found.orders.values():
        assert len(of.signed) <= 1 + min(40, found.questions)
        assert (of.asked.f1 or 0) >= (of.signed[0].f1 or 0)
        assert (of.learnt.f1 or 0) > 0
    best = found.orders["at best"].until(0.95)
    assert best is not None
    assert all(best <= (of.until(0.95) or 40) for of in found.orders.values())
    merges, numbers = review_orders.parts({"world": found})
    assert [row[3] for row in merges.rows] == [row[1] for row in numbers.rows] == list(found.orders)


def test_an_order_halves_what_chance_needs_or_does_not() -> None:
    def reached(*right: int) -> Reached:
        return Reached([Counted(n, n, 10) for n in right], Counted(0, 0, 10))

    orders = {
        "by chance": reached(0, 2, 2, 4, 4, 8),
        "half": reached(0, 5, 8),
        "no": reached(0, 2, 4, 8),
        "never": reached(0),
    }
    of = Simulated(0.5, 5, orders)
    assert {name: of.beside_chance(run) for name, run in orders.items()} == {
        "by chance": ("5", "1.00", "no"),
        "half": ("2", "0.40", "yes"),
        "no": ("3", "0.60", "no"),
        "never": ("–", "–", "no"),
    }


def test_so_many_rows_are_taken_as_whole_clusters_the_same_each_time() -> None:
    gold = [str(k // 3) for k in range(300)]
    kept = review_orders.whole_clusters(gold, 100)
    assert kept == review_orders.whole_clusters(gold, 100) == sorted(kept)
    assert len(kept) == 102
    assert all(gold.count(gold[k]) == [gold[x] for x in kept].count(gold[k]) for k in kept)


def test_the_least_certain_come_first() -> None:
    told = review_orders.by_uncertainty(InOnePlan([], []), {}, {"ab": 0.9, "cd": 0.52, "ef": 0.1})
    assert max(told, key=lambda id_: told[id_]) == "cd"


def test_scripted_reviewer_cleans_a_namespace_by_what_pages_show(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers groups after their samples, of two questions here, and every other question; no approval needs force."""
    for module in ("benchmarks.review_orders", "slowwave.plans.review.groups"):
        monkeypatch.setattr(f"{module}.SAMPLE", 2)
    made = Injected.from_seed(1_000, 1)
    review_orders.remember(store, made)
    plan = run_night(store, "bench", ops=review_orders.OPS, force=True).plan
    assert plan is not None
    questions = sum(i.is_question for i in plan.items)
    reviewer = ScriptedReviewer(store, made)
    reviewer.review(plan.plan_hash)
    asked, cards, answers, groups, _, forced, ended, merged, wrong, _ = review_orders.figures(
        store, made, reviewer, questions
    )
    assert (int(asked), forced, cards) == (questions, "0", answers)
    assert int(groups) >= 2
    assert int(cards) < questions + int(groups)
    assert int(ended) >= 30
    assert int(merged) >= 12
    assert int(wrong) <= 2
