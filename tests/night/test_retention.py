"""Retention: what is old and only explains goes; what a plan or an undo still needs stays."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import dagster as dg
import pytest

from slowwave.errors import Refused, UndoBlocked
from slowwave.night.executor import apply_approval
from slowwave.night.reports import reports_path
from slowwave.night.retention import retain
from slowwave.night.undo import undo_run
from slowwave.plans.gate import reject
from slowwave.plans.ledger import read_plan, verify_sealed
from slowwave.plans.seal import Plan
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from tests.dagster.project import project
from tests.nights import archive_items, new_world, write_a_plan
from tests.permitting import approve
from tests.worlds import World

NOTHING = dict.fromkeys(
    (
        "report_runs",
        "findings",
        "llm_usage",
        "model_answers",
        "model_calls",
        "night_requests",
        "notices",
        "plan_items",
        "session_items",
        "snapshots",
        "before_images",
        "proposals",
        "deep_turns",
    ),
    0,
)


def settings(**values: int) -> Settings:
    return Settings.for_namespace({"retention_days": 30, "retention_runs_per_namespace": 0, **values})


def count(store: Store, table: str, where: str = "true") -> int:
    with store.connect("owner") as connection:
        row = connection.execute(f"SELECT count(*) FROM night.{table} WHERE {where}".encode()).fetchone()
        return int(str(row[0])) if row else 0


def age(store: Store, days: int) -> None:
    """Everything that the ledger holds happened so many days earlier. The owner lifts the triggers of append-only tables for it."""
    columns = {
        "runs": ("started_at", "heartbeat_at", "finished_at"),
        "plans": ("recorded_at", "expires_at"),
        "approvals": ("recorded_at", "expires_at"),
        "applied": ("recorded_at",),
        "journal": ("recorded_at",),
        "findings": ("recorded_at",),
        "llm_usage": ("recorded_at",),
        "snapshots": ("taken_at", "deleted_at"),
    }
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        for table, names in columns.items():
            changes = ", ".join(f"{name} = {name} - interval '{days} days'" for name in names)
            connection.execute(f"UPDATE night.{table} SET {changes}".encode())
        connection.execute(
            "UPDATE night.plans SET seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary)"
        )
        connection.execute(
            "UPDATE night.approvals a SET seal = p.seal FROM night.plans p WHERE p.plan_hash = a.plan_hash"
        )


def note(store: Store, world: World, run_id: str | None = None, **details: str) -> None:
    """A finding, a call of a model and two snapshots of a run, one of them gone."""
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO night.findings (id, namespace_id, run_id, operation, severity, message, details) "
            "VALUES (gen_random_uuid(), %s, %s, 'orphans', 'warning', 'm', %s)",
            (world.namespace_id, run_id, json.dumps(details)),
        )
        connection.execute(
            "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens) "
            "VALUES (gen_random_uuid(), %s, %s, 'x', 'm', 1, 1)",
            (world.namespace_id, run_id or str(uuid.uuid4())),
        )
        for n, gone in enumerate(("now()", "NULL")):
            connection.execute(
                "INSERT INTO night.snapshots (id, namespace_id, location, change_counter, taken_at, deleted_at) "
                f"VALUES (%s, %s, 'somewhere', 1, now() - interval '{1 - n} hours', {gone})".encode(),
                (uuid.uuid4().hex, world.namespace_id),
            )


def run_of(store: Store, plan: Plan) -> str:
    with store.connect("reader") as connection:
        return read_plan(connection, plan.plan_hash).run_id


def test_nothing_young_goes(store: Store) -> None:
    """All of it is of today."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    note(store, world, run_of(store, plan))
    assert retain(store, world.slug, settings()) == NOTHING


def test_what_is_old_goes_but_for_the_newest_runs(store: Store) -> None:
    """Both must hold, older than the days and not of the newest runs."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    note(store, world, run_of(store, plan))
    note(store, world)
    age(store, 40)
    kept = retain(store, world.slug, settings(retention_runs_per_namespace=1))
    assert kept == NOTHING | {"findings": 1, "llm_usage": 1, "snapshots": 2}
    assert retain(store, world.slug, settings()) == NOTHING | {"findings": 1, "llm_usage": 1}
    assert count(store, "snapshots") == 2
    assert retain(store, world.slug, settings()) == NOTHING


def test_other_namespaces_are_not_touched(store: Store) -> None:
    world, other = new_world(store, 7), new_world(store, 400)
    note(store, other)
    age(store, 40)
    assert retain(store, world.slug, settings()) == NOTHING
    assert retain(store, other.slug, settings()) == NOTHING | {"findings": 1, "llm_usage": 1, "snapshots": 1}
    with pytest.raises(Refused, match="no namespace"):
        retain(store, "nowhere", settings())


def test_the_newest_snapshot_is_remembered_and_tokens_of_the_day_count(store: Store) -> None:
    """Freshness asks when a namespace was last audited, and the budget looks back a day, whatever the retention."""
    world = new_world(store)
    note(store, world)
    with store.connect("owner") as connection:
        connection.execute("UPDATE night.snapshots SET deleted_at = now() - interval '1 hour'")
    found = retain(store, world.slug, settings(retention_days=0))
    assert (found["snapshots"], found["llm_usage"], found["findings"]) == (1, 0, 1)
    assert count(store, "snapshots") == count(store, "llm_usage") == 1


def test_items_of_plans_that_are_over_go_and_those_of_others_stay(store: Store) -> None:
    """Superseded long ago: gone. The latest plan, and one that waits: whole, and it can be approved and applied."""
    world = new_world(store)
    _, old = write_a_plan(store, world)
    snapshot, plan = write_a_plan(store, world, expiry_days=100)
    age(store, 40)
    removed = retain(store, world.slug, settings())
    assert removed == NOTHING | {"plan_items": len(old.items)}
    assert count(store, "plan_items") == len(plan.items)
    assert count(store, "plans") == 2, "what was planned stays on record"
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    assert apply_approval(store, approval.id).counts["applied"] == len(plan.items)
    assert snapshot.namespace == world.slug


def test_an_approved_plan_keeps_its_items_until_another_takes_its_place(store: Store) -> None:
    """A signature on a part of it stands until it expires, and the hash covers every item of the plan; superseded, it holds nothing."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=100)
    approval = approve(store, world.slug, plan.plan_hash, approver="me", items=[plan.items[0].id])
    age(store, 40)
    assert retain(store, world.slug, settings()) == NOTHING
    with store.connect("reader") as connection:
        verify_sealed(read_plan(connection, plan.plan_hash), "applied")
    assert (approval.id, world.slug) in waiting_approvals(store)
    assert apply_approval(store, approval.id).counts["applied"] == 1
    write_a_plan(store, world)
    age(store, 40)
    removed = retain(store, world.slug, settings())
    assert removed["plan_items"] == len(plan.items) - 1, "what was applied can be undone"


def test_a_finding_about_an_approval_that_waits_stays(store: Store) -> None:
    """It is written once; without it the next tick would write it again."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=100)
    approval = approve(store, world.slug, plan.plan_hash, approver="me")
    note(store, world, approval_id=approval.id)
    age(store, 40)
    assert retain(store, world.slug, settings())["findings"] == 0


def test_what_was_applied_and_what_was_refused_teaches_on(store: Store) -> None:
    """Applied items can be undone, and merges that people rejected are labels of the matcher."""
    world = new_world(store)
    snapshot, plan = write_a_plan(store, world)
    merges = [i for i in plan.items if i.mutation.kind == "merge_rows"]
    reject(store, world.slug, plan.plan_hash, rejected_by="me", reason="no", items=[merges[0].id])
    approval = approve(store, world.slug, plan.plan_hash, approver="me", items=[merges[1].id])
    before = digest(store, world.slug)
    result = apply_approval(store, approval.id)
    write_a_plan(store, world, items=archive_items(snapshot))
    age(store, 40)
    retain(store, world.slug, settings())
    assert count(store, "plan_items", f"item_id = '{merges[0].id}' AND status = 'rejected'") == 1
    assert undo_run(store, result.run_id).items == (merges[1].id,)
    assert digest(store, world.slug) == before


def test_before_images_are_kept_for_ever_unless_a_namespace_says_otherwise(store: Store) -> None:
    """0 is for ever; a day later undo refuses, in words, and nothing is half undone."""
    world = new_world(store)
    snapshot, plan = write_a_plan(store, world)
    first = approve(store, world.slug, plan.plan_hash, approver="me", items=[i.id for i in plan.items[:2]])
    old = apply_approval(store, first.id)
    age(store, 400)
    _, again = write_a_plan(store, world, items=archive_items(snapshot))
    new = apply_approval(store, approve(store, world.slug, again.plan_hash, approver="me").id)
    before, images = digest(store, world.slug), count(store, "before_images")
    assert retain(store, world.slug, settings())["before_images"] == 0
    removed = retain(store, world.slug, settings(undo_retention_days=90))
    assert 0 < removed["before_images"] < images
    assert count(store, "before_images") == images - removed["before_images"]
    assert count(store, "journal") == images, "that it was done, and when, stays on record"
    with pytest.raises(UndoBlocked, match="erased by retention"):
        undo_run(store, old.run_id)
    assert digest(store, world.slug) == before
    assert undo_run(store, new.run_id).items
    assert undo_run(store, "last").items == ()


def test_the_images_of_a_run_that_may_go_on_stay(store: Store) -> None:
    """It crashed in the middle; its approval stands, so it will be resumed and must be undoable whole."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=100)
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    result = apply_approval(store, approval.id)
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("DELETE FROM night.applied")
        connection.execute("UPDATE night.runs SET state = 'crashed' WHERE id = %s", (result.run_id,))
    age(store, 40)
    assert retain(store, world.slug, settings(undo_retention_days=1))["before_images"] == 0
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("UPDATE night.approvals SET expires_at = now()")
    assert retain(store, world.slug, settings(undo_retention_days=1))["before_images"] > 0


def report(store: Store, namespace: str, day: str) -> Path:
    """The report of a run that the ledger knows."""
    run_id = str(uuid.uuid4())
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT %s, id, 'plan', 'empty' FROM memory.namespaces WHERE slug = %s",
            (run_id, namespace),
        )
    folder = reports_path(Settings()) / namespace / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run_id}.manifest.json"
    path.write_text("{}")
    return path


def test_report_files_go_with_the_rest(store: Store) -> None:
    world = new_world(store)
    old, young = report(store, world.slug, "2020-01-01"), report(store, world.slug, "2999-01-01")
    assert retain(store, world.slug, settings())["report_runs"] == 1
    assert (old.exists(), young.exists()) == (False, True)


def test_the_daily_job_looks_at_every_namespace(store: Store) -> None:
    """At 04:30 UTC. One whose settings are wrong fails the run, in words, after the others had their turn."""
    world, other = new_world(store, 7), new_world(store, 400)
    paths = [report(store, name, "2020-01-01") for name in (world.slug, other.slug)]
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.namespaces SET settings = '{\"retention_runs_per_namespace\": 0}'")
    with project(store, world.slug) as daily:
        schedule = daily.defs.resolve_schedule_def("daily_retention")
        assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 4 * * *", "UTC")
        assert daily.run("retention_job").success
        assert not any(path.exists() for path in paths)
        broken = min(world.slug, other.slug)
        with store.connect("owner") as connection:
            connection.execute(
                "UPDATE memory.namespaces SET settings = settings || '{\"retention_days\": -1}' WHERE slug = %s",
                (broken,),
            )
        path = report(store, max(world.slug, other.slug), "2020-01-01")
        result = daily.run("retention_job")
        assert not result.success
        (failed,) = [e for e in result.all_events if e.event_type == dg.DagsterEventType.STEP_FAILURE]
        assert "retention_days cannot be -1" in str(failed.step_failure_data)
        assert not path.exists()


def test_planners_may_not_remove_anything(store: Store) -> None:
    """Deleting rows of the ledger is the applier's right alone."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    for role in ("reader", "planner", "approver"):
        with store.connect(role) as connection, pytest.raises(Exception, match="permission denied"):
            connection.execute("DELETE FROM night.plan_items WHERE plan_hash = %s", (plan.plan_hash,))


def test_what_models_cost_by_day_goes_once_no_budget_asks_for_it(store: Store) -> None:
    """A budget looks back a day; a retention of no days keeps two."""
    world = new_world(store)
    with store.connect("owner") as connection:
        for hours in (1, 30, 24 * 40):
            connection.execute(
                "INSERT INTO memory.model_calls (id, namespace_id, step, model, input_tokens, output_tokens, recorded_at) "
                "VALUES (gen_random_uuid(), %s, 'plan', 'm', 1, 1, now() - make_interval(hours => %s))",
                (world.namespace_id, hours),
            )
    assert retain(store, world.slug, settings(retention_days=0))["model_calls"] == 1
    with store.connect("owner") as connection:
        assert connection.execute("SELECT count(*) FROM memory.model_calls").fetchone() == (2,)


def test_what_an_agent_took_back_of_a_session_goes_in_the_end(store: Store) -> None:
    """What stands in a session never does, however old."""
    world = new_world(store)
    with store.connect("owner") as connection:
        for item, days in (("old", None), ("late", 1), ("gone", 40)):
            connection.execute(
                "INSERT INTO memory.session_items (namespace_id, session_id, page, item, recorded_at, invalidated_at) "
                "VALUES (%s, 's', 1, %s, now() - interval '90 days', now() - make_interval(days => %s))",
                (world.namespace_id, item, days),
            )
    assert retain(store, world.slug, settings())["session_items"] == 1
    with store.connect("reader") as connection:
        assert connection.execute("SELECT item FROM memory.session_items ORDER BY id").fetchall() == [
            ("old",),
            ("late",),
        ]
