"""The calls of models that planners make: what a budget does not allow, and what was answered before."""

from __future__ import annotations

from typing import Any

import pytest

import slowwave
from slowwave.models.endpoint import EndpointChat
from slowwave.models.panel import ask_within
from slowwave.operations import BUDGET_SPENT, PLANNERS
from slowwave.plans.ledger import open_budget
from slowwave.store.configured_models import WRITER
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.dreamers import OPS, forgetful
from tests.endpoints import Server, completion
from tests.memories import ask
from tests.nights import new_world
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


SECRET = ": password = k9Rw2vTq8LmZx4Np"


def test_question_is_paid_for_once_in_a_namespace(store: Store) -> None:
    """The next night, or a night that was ended and starts again, has the answer; a changed question, another namespace and a failed call
    ask the model."""
    server = Server(
        lambda _, n: (200, completion(f"answer {n}{SECRET if n > 5 else ''}"), {}) if n != 3 else (500, {}, {})
    )
    writer = EndpointChat(server.url, "scribe", role=WRITER, attempts=1)

    def asked(scope: str, question: str, most: int = 100) -> tuple[str, bool, int]:
        budget = open_budget(store, scope, Settings.for_namespace({}))
        result = ask_within(budget, writer, OPS, "Summarise.", question, {"type": "object"}, most)
        assert result is not None
        return result.text, result.reused, budget.spent

    try:
        one, other = (new_world(store).namespace_id for _ in range(2))
        first, again = asked(one, "Ada rows."), asked(one, "Ada rows.")
        assert first[:2] == ("answer 1", False)
        assert first[2] > 0
        assert again == ("answer 1", True, 0)
        assert asked(one, "Ada rows.", 101)[:2] == ("answer 2", False)
        assert asked(one, "Ben rows.")[:2] == ("", False)
        assert asked(one, "Ben rows.")[:2] == ("answer 4", False)
        assert asked(other, "Ada rows.")[:2] == ("answer 5", False)
        for n in (6, 7):
            assert asked(one, "A key.")[:2] == (f"answer {n}{SECRET}", False), "a secret is not kept"
    finally:
        server.close()
