"""One run a namespace: plans, applies and undos alike, for as long as their hearts beat."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest

import slowwave
from slowwave.errors import DreamLockUnavailable
from slowwave.night.executor import apply_approval, claim_namespace
from slowwave.night.runs import begin
from slowwave.night.undo import undo_run
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.claims import check_cancelled, end_claim, note_progress
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.dreamers import OPS, dead_run, forgetful, row_of
from tests.memories import ask
from tests.permitting import approve
from tests.waiting import until

ONE_BY_ONE = Settings(batch_items=1)


def approved(store: Store, slug: str) -> str:
    """An approval of a whole plan."""
    plan = slowwave.dream(slug, ops=OPS, store=store)
    return approve(store, slug, plan.plan_hash, approver="mara").id


def test_plans_applies_and_undos_exclude_each_other(store: Store) -> None:
    """Whoever holds the namespace, everyone else is told by whom, and opens no run."""
    slug = forgetful(store, rows=3)
    applied = slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store)
    approval = approved(store, forgetful(store, "other", rows=2))
    calls: list[Callable[[], object]] = [
        lambda: begin(store, slug),
        lambda: undo_run(store, applied.run.run_id),
    ]
    for mode, state, says in [("plan", "planning", "is planning acme"), ("apply", "applying", "is writing to acme")]:
        held = dead_run(store, slug, mode, state, 2)
        before = row_of(store, held)
        runs = ask(store, "SELECT count(*) FROM night.runs")
        for call in calls:
            with pytest.raises(DreamLockUnavailable, match=f"Run {held} {says}"):
                call()
        assert row_of(store, held) == before
        assert ask(store, "SELECT count(*) FROM night.runs") == runs
        ask(store, "UPDATE night.runs SET state = 'crashed' WHERE id = %s", held)
    assert apply_approval(store, approval).state == "completed", "another namespace is free"


def test_an_approval_waits_while_its_namespace_is_held_and_no_longer_when_the_holder_is_gone(store: Store) -> None:
    """No attempt of the sensor is wasted on a namespace at work; one whose process was killed is started again."""
    slug = forgetful(store, rows=3, heartbeat_expiry_seconds=60)
    approval = approved(store, slug)
    assert waiting_approvals(store) == [(approval, slug)]
    for mode, state in (("plan", "planning"), ("apply", "applying")):
        held = dead_run(store, slug, mode, state, 5)
        assert waiting_approvals(store) == []
        assert waiting_approvals(store, cancelled=True) == [(approval, slug)], "a person who asks is told who holds it"
        ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '61 seconds' WHERE id = %s", held)
        assert waiting_approvals(store) == [(approval, slug)]
        ask(store, "UPDATE night.runs SET state = 'crashed' WHERE id = %s", held)
    assert apply_approval(store, approval).state == "completed"


def test_the_heart_beats_while_a_batch_takes_longer_than_the_expiry(store: Store) -> None:
    """A batch that stands still, and a heartbeat of an hour ago: it is soon one of now, so others get nothing."""
    slug = forgetful(store, rows=4, heartbeat_expiry_seconds=8)
    approval = approved(store, slug)
    ask(
        store,
        "CREATE FUNCTION memory.slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$",
    )
    ask(store, "CREATE TRIGGER slow AFTER UPDATE ON memory.entities FOR EACH STATEMENT EXECUTE FUNCTION memory.slow()")
    work = Thread(target=lambda: apply_approval(store, approval))
    alive = "SELECT count(*) FROM night.runs WHERE state = 'applying' AND heartbeat_at > now() - interval '8 seconds'"
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(42)")
        work.start()
        until(lambda: ask(store, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted"))
        for _ in range(2):
            ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '1 hour' WHERE state = 'applying'")
            until(lambda: ask(store, alive) == [(1,)])
            with pytest.raises(DreamLockUnavailable, match="is writing to acme"):
                begin(store, slug)
    work.join()
    ((state, error),) = ask(store, "SELECT state, error FROM night.runs WHERE mode = 'apply'")
    assert (state, error) == ("completed", None)


def test_defect_c7_who_lost_its_claim_changes_nothing_of_the_run_that_another_resumed(store: Store) -> None:
    """A process that slept past its heartbeat wakes up while another goes on with its very run: it stops, and the row stays."""
    slug = forgetful(store, rows=4)
    approval = approved(store, slug)
    rows: list[tuple[object, ...]] = []

    def sleep_too_long(done: int, total: int) -> None:
        ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '1 hour' WHERE state = 'applying'")
        with store.connect("applier") as connection:
            other = claim_namespace(connection, slug, "apply", expiry_seconds=300, approval_id=approval)
            assert other.resumed
            note_progress(connection, other, "apply", done, total)
        rows.append(row_of(store, other.run_id))

    with pytest.raises(DreamLockUnavailable, match="lost its claim"):
        apply_approval(store, approval, settings=ONE_BY_ONE, progress=sleep_too_long)
    ((run_id, state),) = ask(store, "SELECT id::text, state FROM night.runs WHERE mode = 'apply'")
    assert state == "applying"
    assert [row_of(store, str(run_id))] == rows
    assert ask(store, "SELECT count(*) FROM night.plan_items WHERE status = 'applied'") == [(1,)]


def test_a_claim_ends_its_own_run_only(store: Store) -> None:
    """With a token that is not the row's nothing ends."""
    slug = forgetful(store, rows=1)
    approval = approved(store, slug)
    with store.connect("applier") as connection:
        first = claim_namespace(connection, slug, "apply", expiry_seconds=300, approval_id=approval)
        ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '1 hour' WHERE state = 'applying'")
        second = claim_namespace(connection, slug, "apply", expiry_seconds=300, approval_id=approval)
        assert second.run_id == first.run_id
        assert not end_claim(connection, first, "crashed", error="mine")
        assert end_claim(connection, second, "cancelled")


def test_a_plan_run_that_lost_its_namespace_writes_no_plan(store: Store) -> None:
    """Its heart stopped for too long and another run plans now."""
    slug = forgetful(store, rows=1, heartbeat_expiry_seconds=30)
    slow = begin(store, slug)
    ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '31 seconds' WHERE id = %s", slow)
    newer = begin(store, slug)
    with pytest.raises(DreamLockUnavailable, match=f"Run {slow} holds its namespace no longer"):
        check_cancelled(store, slow)
    check_cancelled(store, newer, {"phase": "census", "done": 1, "total": 9})
    status = slowwave.dream_status(newer, store=store)
    assert (status.phase, status.done, status.total) == ("census", 1, 9)
