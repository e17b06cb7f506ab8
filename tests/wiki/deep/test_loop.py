"""The loop of a deep pass: how it ends, and that it ends (nexo 3.4, 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from slowwave.errors import ChatError, DreamCancelled
from slowwave.models.panel import Budget, Usage
from slowwave.wiki.deep.loop import KEPT_TURNS, LONGEST_KEPT, Outcome, Progress, ToolLimits, Tools, work
from slowwave.wiki.deep.scratch import Scratch
from tests.waiting import until
from tests.wiki.deep.players import Played, playing, script, told, turn

BEGIN = [{"role": "user", "content": "Begin."}]
WRITE: Played = [("write", {"file": "memories/a.md", "text": "x"})]


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "memories").mkdir()
    return Tools(Scratch(tmp_path, lambda _: True), ToolLimits(calls=50))


def worked(model: Any, tools: Tools, **how: Any) -> tuple[Outcome, list[Progress]]:
    noted: list[Progress] = []
    given: dict[str, Any] = {"turns": 30, "seconds": 60.0, "note": noted.append, **how}
    return work(model, given.pop("budget", Budget()), tools, BEGIN, **given), noted


def test_deep_it_ends_when_the_model_says_so(tools: Tools) -> None:
    """Turns, calls and files are counted, and each call is answered."""
    with script(WRITE, [("list", {}), ("read", {"file": "memories/a.md"})]) as (model, server):
        outcome, _ = worked(model, tools)
    done = outcome.progress
    assert (outcome.ended, done.turns, done.calls, done.files, done.phase) == (
        "done",
        3,
        3,
        ["memories/a.md"],
        "updating",
    )
    assert told(server)[1:] == ["memories/a.md", "x"]
    assert [kept.tool_use_count for kept in done.kept] == [1, 2, 0]


def test_3_5_deep_the_phase_changes_with_the_first_write(tools: Tools) -> None:
    """Not when all is over, and not with a write that was refused."""
    phases: list[str] = []
    turns: Sequence[Played] = ([("list", {})], [("write", {"file": "../a.md", "text": "x"})], WRITE, [("list", {})])
    with script(*turns) as (model, _):
        worked(model, tools, note=lambda progress: phases.append(progress.phase))
    assert [p for n, p in enumerate(phases) if n == 0 or p != phases[n - 1]] == ["starting", "updating"]


def test_3_4_deep_a_model_that_never_stops_ends_at_its_turns(tools: Tools) -> None:
    """nexo calls that completed. What is kept of it are the last thirty turns."""
    with playing(lambda _, number: turn([("list", {"folder": "memories"})])) as (model, server):
        outcome, _ = worked(model, tools, turns=KEPT_TURNS + 5)
    assert (outcome.ended, outcome.progress.turns, len(server.requests)) == ("turns", KEPT_TURNS + 5, KEPT_TURNS + 5)
    assert len(outcome.progress.kept) == KEPT_TURNS


def test_deep_a_model_that_asks_for_nothing_that_there_is_ends_early(tools: Tools) -> None:
    """Refusal after refusal; and calls without end, which are turns used up."""
    with playing(lambda *_: turn([("bash", {"command": "ls"})])) as (model, server):
        assert worked(model, tools)[0].ended == "garbage"
    assert len(server.requests) == 8
    tools.limits = ToolLimits(calls=3)
    with playing(lambda *_: turn([("list", {})])) as (model, _):
        assert worked(model, tools)[0].ended == "turns"


def test_3_7_deep_the_end_of_the_time_ends_it_while_the_model_answers(tools: Tools) -> None:
    """Its answer is waited for no longer, and what it costs is booked by its estimate."""
    spent: list[Usage] = []
    answers: list[Any] = []
    never = Event()
    ticks = count()

    def late(_: Any, __: int) -> Any:
        never.wait(60)
        answers.append(turn("Late."))
        return answers[0]

    with playing(late) as (model, server):
        server.closing = never
        budget = Budget(record=spent.append)
        outcome, _ = worked(model, tools, seconds=1.0, clock=lambda: float(next(ticks)), budget=budget)
        assert (outcome.ended, answers, len(server.requests)) == ("time", [], 1)
    assert len(spent) == 1
    assert spent[0].tokens > 0


def test_3_5_deep_kill_ends_it_while_the_model_answers(tools: Tools) -> None:
    """nexo's kill changes a row, and its loop goes on."""
    never = Event()

    def killed(_: Progress) -> None:
        raise DreamCancelled("killed")

    with playing(lambda *_: (never.wait(60), turn(WRITE))[1]) as (model, server):
        server.closing = never
        with pytest.raises(DreamCancelled):
            worked(model, tools, note=killed)
        never.set()
        until(lambda: len(server.requests) == 1)
    assert not tools.touched, "its answer came, and was thrown away"


def test_deep_the_budget_is_asked_before_every_turn(tools: Tools) -> None:
    """And charged what each cost; what it does not hold is not asked."""
    spent: list[Usage] = []
    budget = Budget(per_run=20_000, record=spent.append)
    with playing(lambda *_: turn([("list", {})], tokens=7_000)) as (model, server):
        outcome, _ = worked(model, tools, budget=budget)
    assert outcome.ended == "budget"
    assert [call.tokens for call in spent] == [7_000] * len(server.requests)
    assert sum(call.tokens for call in spent) <= 20_000


def test_deep_an_endpoint_that_fails_is_raised_and_what_it_cost_is_booked(tools: Tools) -> None:
    """A model that answers garbage ends the pass in words."""
    spent: list[Usage] = []
    with playing(lambda *_: (200, b"garbage", {})) as (model, _), pytest.raises(ChatError):
        worked(model, tools, budget=Budget(record=spent.append))
    assert len(spent) == 1


def test_deep_turns_are_kept_short_and_without_secrets(tools: Tools) -> None:
    """And not at all where the namespace hides all words."""
    words = "I saw " + "AKIA" + "Q7ZK3M5N2P8R4T6V" + "\x1b[2J " + "and more " * 100
    for keep in (True, False):
        with playing(lambda *_: turn(words)) as (model, _):
            (kept,) = worked(model, tools, keep_words=keep)[0].progress.kept
        assert "Q7ZK3M5N2P8R4T6V" not in kept.text
        assert "\x1b" not in kept.text
        assert len(kept.text) == (LONGEST_KEPT if keep else 0)
