"""What every planner's report says beside its own words: what the budget of models did not allow."""

from __future__ import annotations

from typing import Any

import pytest

import slowwave
from slowwave.operations import BUDGET_SPENT, PLANNERS
from slowwave.store.connect import Store
from tests.dreamers import OPS, forgetful
from tests.memories import ask
from tests.stand_ins import instead


def test_calls_that_the_budget_did_not_allow_are_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the planner's numbers, in the plan's summary and in the dream's reasons; where none was refused nothing is said."""
    slug = forgetful(store, rows=2, llm_max_tokens_per_run=10)
    planner = PLANNERS[OPS]

    def asks(inputs: Any) -> Any:
        assert not inputs.budget.allow(11)
        assert not inputs.budget.allow(12)
        return planner(inputs)

    def reasons() -> list[tuple[str, str]]:
        found = slowwave.dream(slug, ops=OPS, store=store).skip_reasons
        return [(r.reason, r.detail) for r in found if r.reason == "budget_spent"]

    assert reasons() == []
    instead(monkeypatch, OPS, asks)
    told = "2 calls of models that the token budget of the run or the day did not allow"
    assert reasons() == [("budget_spent", told)]
    ((numbers,),) = ask(
        store,
        f"SELECT summary -> 'planners' -> '{OPS}' -> 'numbers' FROM night.plans ORDER BY recorded_at DESC LIMIT 1",
    )
    assert isinstance(numbers, dict)
    assert numbers[BUDGET_SPENT] == 2
