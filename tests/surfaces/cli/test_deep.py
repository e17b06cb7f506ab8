"""A deep pass from the command line: one outcome, the run that is shown, and a kill that stops it."""

from __future__ import annotations

import json
from threading import Thread

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.api.outcomes import DreamOutcome, deep_now
from tests.dreamers import dead_run
from tests.memories import ask
from tests.surfaces.cli.conftest import Run
from tests.waiting import until
from tests.wiki.deep.players import playing, script, turn
from tests.wiki.deep.worlds import SLUG, entry, world

DROP = [("edit", {"file": "memories/ferry.md", "old": entry("pier again"), "new": ""})]


def test_3_5_deep_from_the_question_to_the_run_that_is_shown(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is the one of the settings; the reason is kept; files and turns are shown; the plan is one like a night's."""
    world(store)
    asked = ("night", SLUG, "--deep", "--reason", "four decisions today")
    code, out, _ = run(*asked)
    assert (code, "WRITER_ENDPOINT" in out) == (1, True)
    with script(DROP, "Done.") as (_, server):
        monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", server.url)
        code, out, _ = run(*asked, "--json")
    found = json.loads(out)
    assert (code, found["outcome"], found["counts"]) == (0, "awaiting_approval", {"planned": 1, "files": 1, "turns": 2})
    code, out, _ = run("runs", "show", found["run_id"])
    for told in ("mode: deep", "four decisions today", "memories/ferry.md", "tool_use_count", "sessions_reviewing"):
        assert told in out
    assert json.loads(run("runs", "list", SLUG, "--json")[1])[0]["mode"] == "deep"
    assert "retire" in run("plans", "show", SLUG)[1]
    code, _, err = run("runs", "cancel", found["run_id"])
    assert (code, "nothing to cancel" in err) == (2, True)
    for more in (["--ops", "census"], ["--since", "2026-01-01"], ["--now", "2026-01-01"], ["--force"], ["--verbose"]):
        code, _, err = run(*asked, *more)
        assert (code, "--deep accepts only" in err) == (2, True)
    assert run("night", "ALL", "--deep")[0] == 2


def test_deep_exit_code_is_2_when_another_run_holds_the_namespace(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    world(store)
    monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", "http://127.0.0.1:9")  # nothing is sent
    dead_run(store, SLUG, "apply", "applying", 1)
    code, out, _ = run("night", SLUG, "--deep", "--wait", "0.1")
    assert (code, "locked" in out, "reason" in out) == (2, True, False)
    ask(store, "DELETE FROM night.runs")
    ask(store, "UPDATE memory.namespaces SET settings = '{\"enabled\": false}'")
    code, out, _ = run("night", SLUG, "--deep", "--json")
    assert (code, json.loads(out)["gate"]) == (0, "disabled")
    assert run("night", "nobody", "--deep")[0] == 2


def test_deep_cancel_stops_the_model(store: Store, run: Run) -> None:
    """The loop ends while the model answers, and nothing is resumed."""
    world(store)
    found: list[DreamOutcome] = []
    with playing(lambda *_: (server.closing.wait(60), turn(DROP))[1]) as (model, server):
        thread = Thread(target=lambda: found.append(deep_now(SLUG, store=store, model=model)))
        thread.start()
        until(lambda: server.requests)
        run_id = str(ask(store, "SELECT id::text FROM night.runs")[0][0])
        assert run("runs", "list", SLUG)[0] == 0
        code, out, _ = run("runs", "cancel", run_id)
        assert (code, "is cancelled" in out) == (0, True)
        thread.join(60)
        assert len(server.requests) == 1
    assert found[0].run_id == run_id
    with pytest.raises(Refused, match=rf"scratch copy is gone.*slowwave night {SLUG} --deep"):
        slowwave.dream(SLUG, resume_from=run_id, store=store)


def test_deep_a_timeout_ends_a_pass_as_a_person_would(store: Store) -> None:
    """While the model answers; times that are none are refused."""
    world(store)
    with playing(lambda *_: (server.closing.wait(60), turn(DROP))[1]) as (model, server):
        found = deep_now(SLUG, store=store, model=model, timeout=0.2)
    assert found.outcome == "timed_out"
    assert ask(store, "SELECT state FROM night.runs") == [("cancelled",)]
    for times in ({"wait": -1.0}, {"timeout": 0.0}, {"wait": float("nan")}):
        with pytest.raises(Refused):
            deep_now(SLUG, store=store, **times)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        deep_now("nobody", store=store)


def test_deep_a_closed_gate_is_an_outcome_with_its_name(store: Store) -> None:
    """Asked for by hand and by the schedule."""
    world(store, model="")
    assert (deep_now(SLUG, store=store).gate, deep_now(SLUG, store=store, force=False).gate) == ("no_model", "disabled")
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]
