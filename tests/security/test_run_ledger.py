"""Attacks on ``night.runs`` with the logins that may write to it: forged heartbeats, runs that become others, starts that steer undo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from tests.dreamers import dead_run
from tests.memories import ask, behind_triggers, remember
from tests.night.test_executor import approved

NEW = (
    "INSERT INTO night.runs (id, namespace_id, mode, state, started_at, heartbeat_at) "
    "SELECT gen_random_uuid(), id, '{mode}', '{state}', {at}, {at} FROM memory.namespaces"
)
INSTANTS = ("'2099-01-01'", "'infinity'", "'-infinity'", "now() + interval '1 hour'")


@pytest.mark.parametrize("mode", ["apply", "undo"])
@pytest.mark.parametrize("role", ["planner", "approver", "reader", "server"])
def test_run_that_writes_inserted_by_another_login_than_the_applier_is_refused(
    store: Store, role: str, mode: str
) -> None:
    """A planner that could add one with a heartbeat of 2099 would stop apply and undo for good (T4)."""
    remember(store, "acme")
    with psycopg.connect(store.logins[role], autocommit=True) as attacker:
        for at in (*INSTANTS, "now()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                attacker.execute(NEW.format(mode=mode, state="applying", at=at).encode())
    assert ask(store, "SELECT 1 FROM night.runs") == []


@pytest.mark.parametrize("at", INSTANTS)
def test_heartbeat_outside_the_database_clock_is_stored_within_it(store: Store, at: str) -> None:
    """Of an inserted and of an updated run, so that no login holds a namespace beyond the expiry."""
    remember(store, "acme")
    with psycopg.connect(store.logins["planner"], autocommit=True) as planner:
        planner.execute(NEW.format(mode="plan", state="planning", at=at).encode())
        planner.execute(f"UPDATE night.runs SET heartbeat_at = {at}, finished_at = {at}".encode())
    latest, earliest = "greatest(started_at, heartbeat_at, finished_at)", "least(heartbeat_at, finished_at)"
    assert ask(store, f"SELECT {latest} <= now(), {earliest} >= '2000-01-01' FROM night.runs") == [(True, True)]


@pytest.mark.parametrize("role", ["planner", "approver"])
def test_dead_apply_run_is_not_kept_alive_or_resumed_by_another_login(store: Store, role: str) -> None:
    """A planner may record that it crashed, which is how it makes room, and nothing else."""
    remember(store, "acme")
    run = dead_run(store, "acme", "apply", "applying", 3600)
    with psycopg.connect(store.logins[role], autocommit=True) as attacker:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            attacker.execute("UPDATE night.runs SET heartbeat_at = now() WHERE id = %s", (run,))
        attacker.execute("UPDATE night.runs SET state = 'crashed' WHERE id = %s", (run,))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            attacker.execute("UPDATE night.runs SET state = 'applying' WHERE id = %s", (run,))


def test_apply_run_under_way_is_not_steered_by_the_planners_login(store: Store) -> None:
    """Its claim, its pause and its cancellation are for the applier and for people; a planner only records that it crashed."""
    remember(store, "acme")
    run = dead_run(store, "acme", "apply", "applying", 1)
    with psycopg.connect(store.logins["planner"], autocommit=True) as planner:
        for change in (
            "progress = '{}'::jsonb || '{\"claim\": \"mine\"}'",
            "cancel_requested_at = now()",
            "pause_requested_at = now()",
            "state = 'cancelled'",
            "state = 'completed'",
            "dagster_run_id = 'mine'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                planner.execute(f"UPDATE night.runs SET {change} WHERE id = '{run}'".encode())
    with psycopg.connect(store.logins["approver"], autocommit=True) as approver:
        approver.execute("UPDATE night.runs SET pause_requested_at = now(), cancel_requested_at = now()")


@pytest.mark.parametrize("role", ["planner", "applier", "owner"])
def test_identity_of_a_run_rewritten_by_any_login_is_refused(store: Store, role: str) -> None:
    """Undo rests on these columns (T8): without its approval every entry counts as damaged, and as a plan run it wrote nothing."""
    world, _, _, approval = approved(store)
    run = apply_approval(store, approval.id).run_id
    other = remember(store, "other")
    address = store.owner if role == "owner" else store.logins[role]
    with psycopg.connect(address, autocommit=True) as attacker:
        for change in (
            "approval_id = NULL",
            "approval_id = gen_random_uuid()",
            "mode = 'plan'",
            "mode = 'undo'",
            f"namespace_id = '{other}'",
            "id = gen_random_uuid()",
            "plan_hash = NULL",
            "undo_of = id",
            "started_at = now() + interval '1 minute'",
            "started_at = started_at - interval '1 day'",
        ):
            with pytest.raises(psycopg.Error, match=f"Run {run} (keeps its|was not changed)"):
                attacker.execute(f"UPDATE night.runs SET {change} WHERE id = '{run}'".encode())
    assert undo_run(store, "last", namespace=world.slug).undo_of == run


def test_undo_last_is_not_steered_by_the_start_that_a_login_writes(store: Store) -> None:
    """An applier's run starts when the database inserts it, in whatever past or future the statement puts it (T9)."""
    remember(store, "acme")
    with psycopg.connect(store.logins["applier"], autocommit=True) as applier:
        for at in ("now() + interval '1 minute'", "now() - interval '1 year'"):
            applier.execute(NEW.format(mode="apply", state="completed", at=at).encode())
    starts = [at for (at,) in ask(store, "SELECT started_at FROM night.runs")]
    present = datetime.now(UTC)
    assert all(isinstance(at, datetime) and present - timedelta(minutes=30) < at <= present for at in starts)


def test_heartbeat_from_before_the_clock_was_set_back_makes_room(store: Store) -> None:
    """The rows that an hour ahead left behind do not lock the namespace until the clock is there again."""
    world, _, _, approval = approved(store)
    run = dead_run(store, world.slug, "apply", "applying", 1)
    behind_triggers(store, "UPDATE night.runs SET heartbeat_at = now() + interval '1 hour' WHERE id = %s", run)
    assert apply_approval(store, approval.id).state == "completed"
    assert ask(store, "SELECT state FROM night.runs WHERE id = %s", run) == [("crashed",)]
