"""What a person asks of a run under way, from any process: wait, go on, stop; and the switch that stops them all."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import dagster as dg
import pytest

import slowwave
from slowwave.dagster.gate import apply_job, approval_sensor
from slowwave.errors import DreamApplyDisabled, DreamLockUnavailable, Refused
from slowwave.plans.switches import read_switch, set_read_only, switch_apply
from slowwave.plans.waiting import waiting_approvals
from slowwave.store import claims as planning
from slowwave.store.claims import PAUSE_POLL_SECONDS
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dreamers import OPS, STOPPING, dead_run, forgetful, go_on, process, wait_for
from tests.memories import ask
from tests.waiting import until


def apply(store: Store, slug: str, at: int, act: object) -> slowwave.DreamResult:
    """Apply in batches, and do something when so many items are done."""

    def look(progress: slowwave.DreamProgress) -> None:
        if progress.phase == "apply" and progress.done == at:
            act(progress.run_id)  # type: ignore[operator]

    return slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store, on_progress=look)


def started(work: Callable[[str], None], run_id: str) -> Thread:
    """A thread that works while the run does."""
    thread = Thread(target=work, args=(run_id,))
    thread.start()
    return thread


def test_a_paused_run_keeps_its_namespace_and_goes_on_when_it_is_resumed(store: Store) -> None:
    """For longer than its heartbeat's expiry: alive, waiting for a person, and nobody else gets in."""
    slug = forgetful(store, rows=12, batch_items=4, heartbeat_expiry_seconds=8)
    seen: list[slowwave.DreamStatus] = []
    refused: list[Exception] = []

    def look_and_resume(run_id: str) -> None:
        until(lambda: slowwave.dream_status(run_id, store=store).phase == "paused")
        ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE id = %s", run_id)
        until(lambda: not slowwave.dream_status(run_id, store=store).stuck)
        seen.append(slowwave.dream_status(run_id, store=store))
        try:
            slowwave.dream(slug, ops=OPS, store=store)
        except DreamLockUnavailable as problem:
            refused.append(problem)
        assert not slowwave.dream_resume(run_id, store=store).paused

    def pause(run_id: str) -> None:
        assert slowwave.dream_pause(run_id, store=store).paused
        threads.append(started(look_and_resume, run_id))

    threads: list[Thread] = []
    result = apply(store, slug, 4, pause)
    threads[0].join()
    assert (result.state, result.run.counts["applied"]) == ("completed", 12)
    (status,) = seen
    assert (status.state, status.phase, status.paused, status.stuck) == ("applying", "paused", True, False)
    assert (status.waiting_for, status.done, status.total) == ("Paused by a person.", 4, 12)
    assert len(refused) == 1


def test_a_paused_run_can_be_cancelled(store: Store) -> None:
    """It waits for either."""
    slug = forgetful(store, rows=8, batch_items=4)
    threads: list[Thread] = []

    def cancel(run_id: str) -> None:
        until(lambda: slowwave.dream_status(run_id, store=store).phase == "paused")
        slowwave.dream_cancel(run_id, store=store)

    def pause(run_id: str) -> None:
        slowwave.dream_pause(run_id, store=store)
        threads.append(started(cancel, run_id))

    result = apply(store, slug, 4, pause)
    threads[0].join()
    assert (result.state, result.run.counts["applied"]) == ("cancelled", 4)
    assert not slowwave.dream_status(result.run.run_id, store=store).paused
    resumed = slowwave.dream(slug, resume_from=result.run.run_id, store=store)
    assert resumed.run.counts["applied"] == 8, "a cancelled run that is gone on with is not paused any more"


def test_a_plan_run_pauses_between_its_steps(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks again and again whether it may go on, and goes on with the next."""
    slug = forgetful(store, rows=2)
    paused: list[str] = []
    waits: list[float] = []

    def look(progress: slowwave.DreamProgress) -> None:
        if progress.message == "models":
            paused.append(slowwave.dream_pause(progress.run_id, store=store).run_id)

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            slowwave.dream_resume(paused[0], store=store)

    monkeypatch.setattr(planning, "time", SimpleNamespace(sleep=wait, monotonic=time.monotonic))
    result = slowwave.dream(slug, ops=OPS, store=store, on_progress=look)
    assert (result.state, result.run.run_id) == ("awaiting_approval", paused[0])
    assert waits == [PAUSE_POLL_SECONDS] * 3


def test_what_is_not_under_way_is_neither_paused_nor_resumed(store: Store) -> None:
    """A sentence that says what it is, and how to go on."""
    slug = forgetful(store, rows=1)
    plan = slowwave.dream(slug, ops=OPS, store=store).run.run_id
    gone = dead_run(store, slug, "apply", "applying", 10_000)
    for call in (slowwave.dream_pause, slowwave.dream_resume):
        with pytest.raises(Refused, match=f"{plan} is awaiting_approval: there is nothing under way"):
            call(plan, store=store)
        with pytest.raises(Refused, match=rf"{gone} is applying, and its process has ended.*`slowwave apply {slug}`"):
            call(gone, store=store)


def test_cancelling_a_run_whose_process_is_gone_frees_its_namespace(store: Store) -> None:
    """A crashed apply run that is cancelled is not started again by the sensor either."""
    slug = forgetful(store, rows=2)
    for mode, state in (("plan", "planning"), ("apply", "applying"), ("undo", "applying")):
        gone = dead_run(store, slug, mode, state, 10_000)
        assert slowwave.dream_cancel(gone, store=store).state == "cancelled"
    with pytest.raises(RuntimeError):
        _crash(store, slug)
    assert len(waiting_approvals(store)) == 1
    crashed = slowwave.dream_history(slug, store=store)[0]
    assert (crashed.mode, crashed.state) == ("apply", "crashed")
    slowwave.dream_cancel(crashed.run_id, store=store)
    assert waiting_approvals(store) == []
    assert slowwave.dream(slug, resume_from=crashed.run_id, store=store).state == "completed"


def _crash(store: Store, slug: str) -> None:
    from slowwave.night.executor import apply_approval
    from tests.permitting import approve

    plan = slowwave.dream(slug, ops=OPS, store=store)
    approval = approve(store, slug, plan.plan_hash, approver="mara")

    def pull_the_plug(done: int, total: int) -> None:
        raise RuntimeError(f"after {done} of {total}")

    apply_approval(store, approval.id, progress=pull_the_plug)


def test_the_switch_in_the_database_stops_a_run_of_another_process_before_its_next_batch(
    store: Store, tmp_path: Path
) -> None:
    """It ends paused with the reason, names who did it, and goes on under its own id once the switch is on again."""
    slug = forgetful(store, rows=12, batch_items=3)
    marker = tmp_path / "run"
    with process(store, STOPPING, slug, str(marker), "3") as running:
        run_id = wait_for(marker, running)
        switch = switch_apply(store, on=False, by="zoe", note="the replica is on fire")
        assert (switch.disabled, switch.set_by) == (True, "zoe")
        go_on(marker)
        assert running.wait(60) == 1
        assert "zoe switched apply off" in (running.stderr.read().decode() if running.stderr else "")
    status = slowwave.dream_status(run_id, store=store)
    assert (status.state, status.items_done + status.items_left) == ("paused", 12)
    assert status.items_done == 3
    assert "the replica is on fire" in status.error
    before = digest(store, slug)
    for call in (
        lambda: slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store),
        lambda: slowwave.dream(slug, store=store, resume_from=run_id),
        lambda: slowwave.dream_undo(run_id, store=store),
    ):
        with pytest.raises(DreamApplyDisabled, match=r"zoe switched apply off .*: the replica is on fire"):
            call()
    assert digest(store, slug) == before
    context = dg.build_sensor_context(instance=dg.DagsterInstance.ephemeral(), resources={"store": store})
    found = approval_sensor(apply_job())(context)
    assert isinstance(found, dg.SkipReason)
    assert "zoe switched apply off" in (found.skip_message or "")
    switch_apply(store, on=True, by="zoe")
    assert len(waiting_approvals(store)) == 1, "the sensor may go on with it"
    resumed = slowwave.dream(slug, store=store, resume_from=run_id)
    assert (resumed.run.run_id, resumed.state, resumed.run.counts["applied"]) == (run_id, "completed", 12)


def test_the_switch_is_set_by_somebody(store: Store) -> None:
    """Nobody's name, nothing set; it was never off."""
    with pytest.raises(Refused, match="must be named"):
        switch_apply(store, on=False, by="")
    with store.connect("reader") as connection:
        assert not read_switch(connection).disabled


def test_a_namespace_made_read_only_stops_its_run_before_the_next_batch(store: Store) -> None:
    """The run is paused; writable again, it goes on."""
    slug = forgetful(store, rows=8, batch_items=4)
    with pytest.raises(DreamApplyDisabled, match="read-only"):
        apply(store, slug, 4, lambda _: set_read_only(store, slug, read_only=True))
    run = slowwave.dream_history(slug, store=store)[0]
    assert run.state == "paused"
    set_read_only(store, slug, read_only=False)
    assert slowwave.dream(slug, store=store, resume_from=run.run_id).run.counts["applied"] == 8
    with pytest.raises(Refused, match="There is no namespace 'nobody'"):
        set_read_only(store, "nobody", read_only=True)
