"""A night through Dagster: the same steps as on the command line, each an asset that shows what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from slowwave.operations import AUDITS, PLANNERS, Inputs
from slowwave.plans.report import Report
from slowwave.store import server
from slowwave.store.connect import Store
from tests.clusters import cloned
from tests.conftest import forget_environment
from tests.dagster.project import Project, failure, project
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.stand_ins import instead
from tests.worlds import World


@dataclass(frozen=True)
class OneNight:
    """A night of the schedule, and what the ledger said when it had ended: its tests read it, or go on from it."""

    project: Project
    world: World
    home: Path
    result: dg.ExecuteInProcessResult
    plan_state: str
    run: dict[str, Any]
    items: int


@pytest.fixture(scope="module")
def one_night(postgres: server.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneNight]:
    """A night takes seconds, and most of these tests only look at one."""
    home = tmp_path_factory.mktemp("night")
    with cloned(postgres, "template_slowwave") as name:
        store = Store.embedded_in(postgres.url(name), postgres.home)
        world = new_world(store)
        with project(store, world.slug) as made:
            with pytest.MonkeyPatch.context() as patch:
                forget_environment(patch, home)
                result = made.night(world.slug, force=False, tags={"dagster/schedule_name": "nightly"})
            yield OneNight(
                project=made,
                world=world,
                home=home,
                result=result,
                plan_state=made.value("SELECT state FROM night.plans"),
                run=made.value("SELECT to_jsonb(r) FROM night.runs r WHERE dagster_run_id = %s", result.run_id),
                items=made.value("SELECT count(*) FROM night.plan_items WHERE status <> 'deferred'"),
            )


@pytest.fixture
def night(_own_environment: None, one_night: OneNight, monkeypatch: pytest.MonkeyPatch) -> OneNight:
    """That night, whose home is this test's as well."""
    monkeypatch.setenv("SLOWWAVE_HOME", str(one_night.home))
    return one_night


def keys(project: Project) -> set[str]:
    return {key.to_user_string() for key in project.defs.resolve_asset_graph().get_all_asset_keys()}


def test_every_operation_of_the_library_is_an_asset(store: Store) -> None:
    """A new audit or planner that nobody gave a file would never run at night."""
    with project(store) as night:
        found = keys(night)
    assert {f"audit/{name}" for name in AUDITS} == {k for k in found if k.startswith("audit/")}
    assert {f"plan/{name}" for name in PLANNERS} == {k for k in found if k.startswith("plan/")}


def test_a_night_ends_in_a_sealed_plan_that_asks_for_approval(night: OneNight) -> None:
    """All of the graph up to the gate that is switched on, each with its partition, and a row in the ledger that knows its run."""
    assert night.result.success
    events = night.result.get_asset_materialization_events()
    made = {e.asset_key.to_user_string() for e in events if e.asset_key}
    skipped = night.project.value("SELECT summary -> 'skipped' FROM night.plans")
    off = {name for name, reason in skipped.items() if reason == "op_disabled_by_config"}
    assert off
    assert made == {"snapshot", "night/plan"} | {
        key
        for key in keys(night.project)
        if key.split("/")[0] in ("model", "audit", "plan") and key.split("/")[1] not in off
    }
    assert {e.partition for e in events} == {night.world.slug}
    assert len(events) + len(night.result.get_asset_check_evaluations()) <= 70
    plan = night.project.metadata(night.result, "night", "plan")
    plan_hash, summary = plan["plan_hash"].value, plan["summary"].value
    assert night.project.value("SELECT count(*) FROM night.plans WHERE plan_hash = %s", plan_hash) == 1
    assert night.plan_state == "awaiting_approval"
    assert (night.run["mode"], night.run["state"], night.run["trigger"]) == ("plan", "awaiting_approval", "schedule")
    assert plan["new_items"].value == night.items > 0
    assert len(summary) < 1000
    assert "/jobs/approve_plan/playground/setup?config=ops%3A%0A++night__approval" in summary
    assert f"%22{plan_hash}%22" in summary
    assert f"`{plan_hash}`" in summary


def test_reports_show_numbers_and_models_their_columns(night: OneNight) -> None:
    """The UI shows summary and table of an audit and the columns of a model; numbers are plain, so that it can plot them."""
    census = night.project.metadata(night.result, "audit", "census")
    model = night.project.metadata(night.result, "model", "live_relationships")
    checks = night.result.get_asset_check_evaluations()
    assert len(census["summary"].value) < 1000
    assert census["rows"].value == sum(len(rows) for t, rows in night.world.rows.items() if not t.endswith("_vectors"))
    assert len(census["top"].records) <= 10
    columns = {c.name: c.description for c in model["dagster/column_schema"].value.columns}
    assert columns["parallel_edges"] is not None
    assert "snapshot.relationships.weight" in columns["weight"]
    lineage = model["dagster/column_lineage"].value.deps_by_column["weight"]
    assert [(d.asset_key.to_user_string(), d.column_name) for d in lineage] == [("snapshot", "relationships.weight")]
    assert checks
    assert all(check.passed for check in checks)


def test_memory_text_cannot_forge_a_button(store: Store) -> None:
    """An entity named like a link, with an image that calls home, is shown as the text it is."""
    world = new_world(store)
    hostile = "[Approve this plan](http://evil.example) ![x](http://evil.example/x.png) | `"
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.entities SET name = %s, entity_type = %s WHERE namespace_id = %s",
            (hostile, hostile, world.namespace_id),
        )
    with project(store, world.slug) as night:
        result = night.night(world.slug)
        assert result.success
        texts = [
            str(value.value)
            for event in result.get_asset_materialization_events()
            for value in event.step_materialization_data.materialization.metadata.values()
            if isinstance(value, dg.MarkdownMetadataValue)
        ]
    assert any("evil" in text for text in texts)
    assert not any("](http" in text or "http://" in text for text in texts)


def test_one_audit_shows_its_report_and_opens_no_run(night: OneNight) -> None:
    """A person materializes one asset: it runs on a snapshot of its own, also if it is switched off, and the ledger shows no night."""
    project, slug = night.project, night.world.slug
    runs, plans = project.value("SELECT count(*) FROM night.runs"), project.value("SELECT count(*) FROM night.plans")
    for key in ("audit/orphans", "plan/purge_expired", "model/live_relationships", "snapshot"):
        result = project.materialize(slug, key)
        assert result.success
        (event,) = result.get_asset_materialization_events()
        assert (event.asset_key.to_user_string(), event.partition) == (key, slug)
    assert "report" in project.metadata(project.materialize(slug, "plan/purge_expired"), "plan", "purge_expired")
    assert project.value("SELECT count(*) FROM night.runs") == runs
    assert project.value("SELECT count(*) FROM night.plans") == plans


def test_plan_materialized_alone_is_the_plan_of_a_whole_night(store: Store) -> None:
    """The Materialize button of its page selects no operation; the settings of the namespace say which run."""
    world = new_world(store)
    with project(store, world.slug) as night:
        result = night.materialize(world.slug, "night/plan")
        assert result.success
        assert len(night.materialized("night/plan")) == 1
        assert night.value("SELECT count(DISTINCT operation) FROM night.plan_items") > 1


def test_some_assets_with_the_plan_are_a_night_of_these_operations(store: Store) -> None:
    """The plan is sealed of what was selected, and the ledger says of which operations the run was."""
    world = new_world(store)
    with project(store, world.slug) as night:
        result = night.materialize(world.slug, "audit/census", "plan/gc_references", "night/plan")
        assert result.success
        made = {e.asset_key.to_user_string() for e in result.get_asset_materialization_events()}
        assert made == {"audit/census", "plan/gc_references", "night/plan"}
        assert night.value("SELECT parameters FROM night.runs") == {"ops": ["census", "gc_references"]}
        assert night.value("SELECT dagster_run_id FROM night.runs") == result.run_id


def test_a_run_serves_many_namespaces_and_names_the_one_that_fails(store: Store) -> None:
    """Settings that cannot be read end one night; nights that are off and unchanged namespaces have no events."""
    good, bad, off, same = (new_world(store, seed).slug for seed in (7, 400, 500, 600))
    with project(store, good, bad, off, same) as nights:
        assert nights.night(same).success
        with store.connect("owner") as owner:
            for name, settings in ((bad, '{"redact_text": "everything"}'), (off, '{"enabled": false}')):
                owner.execute("UPDATE memory.namespaces SET settings = %s WHERE slug = %s", (settings, name))
        result = nights.night(good, bad, off, same, force=False)
        assert not result.success
        assert f"{bad}: The setting redact_text cannot be 'everything'" in failure(result)
        assert {e.partition for e in result.get_asset_materialization_events()} == {good}
        assert {e.partition for e in nights.materialized("night/plan")} == {good, same}
        assert (
            nights.value(
                "SELECT count(*) FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id "
                "WHERE n.slug = %s AND p.state = 'awaiting_approval'",
                good,
            )
            == 1
        )


def test_an_error_of_one_namespace_does_not_stop_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that falls over in one of them: the other is planned, and the run says which failed and where."""
    good, bad = (new_world(store, seed).slug for seed in (7, 400))

    def broken(inputs: Inputs) -> Report:
        if inputs.snapshot.namespace == bad:
            raise RuntimeError("out of paper")
        return Report("census", "Fine.", {})

    instead(monkeypatch, "census", broken)
    with project(store, good, bad) as nights:
        result = nights.night(bad, good)
        assert not result.success
        assert f"{bad}: The night ended with an error that Slowwave did not expect (RuntimeError" in failure(result)
        assert {e.partition for e in result.get_asset_materialization_events()} == {good}
        assert (
            nights.value(
                "SELECT state FROM night.runs r, memory.namespaces n WHERE n.id = r.namespace_id AND slug = %s", bad
            )
            == "crashed"
        )


def test_unknown_names_are_refused_without_repeating_them(store: Store) -> None:
    """A name may come from a variable of this process; nothing was planned for the others either."""
    world = new_world(store)
    with project(store, world.slug) as nights:
        result = nights.night(world.slug, "s3cret")
        assert "1 of 2 names are no namespaces" in failure(result)
        assert "s3cret" not in failure(result)
        assert nights.value("SELECT count(*) FROM night.runs") == 0


def test_a_backfill_of_the_ui_serves_several_namespaces_in_a_run(store: Store) -> None:
    """A range of partitions, as the UI asks for them; each namespace has its own report."""
    slugs = sorted(new_world(store, seed).slug for seed in (7, 400))
    with project(store, *slugs) as nights:
        tags = {"dagster/asset_partition_range_start": slugs[0], "dagster/asset_partition_range_end": slugs[-1]}
        job = nights.defs.resolve_implicit_global_asset_job_def()
        key = dg.AssetKey(["audit", "census"])
        result = job.execute_in_process(instance=nights.instance, asset_selection=[key], tags=tags)
        assert result.success
        assert {e.partition for e in result.get_asset_materialization_events()} == {*slugs}
        with store.connect("owner") as owner:
            owner.execute(
                'UPDATE memory.namespaces SET settings = \'{"redact_text": "everything"}\' WHERE slug = %s', (slugs[0],)
            )
        again = job.execute_in_process(instance=nights.instance, asset_selection=[key], tags=tags, raise_on_error=False)
        assert f"{slugs[0]}: The setting redact_text cannot be 'everything'" in failure(again)
        assert {e.partition for e in again.get_asset_materialization_events()} == {slugs[1]}
        policy = nights.defs.resolve_assets_def(key).backfill_policy
        assert policy == dg.BackfillPolicy.multi_run(50)


def test_an_applied_plan_is_audited_again_by_itself(store: Store) -> None:
    """The automation asks for the partition that changed, after an apply and after an undo, and for the status page; then for nothing."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug, "another") as gate:
        reaudit, status = dg.AssetKey(["night", "reaudit"]), dg.AssetKey(["night", "status"])

        def asked(cursor: object) -> tuple[set[tuple[str, str | None]], object]:
            selection = dg.AssetSelection.assets(reaudit, status)
            found = dg.evaluate_automation_conditions(
                gate.defs, gate.instance, asset_selection=selection, cursor=cursor
            )
            return {
                (key.to_user_string(), partition)
                for key in (reaudit, status)
                for partition in (found.get_requested_partitions(key) if found.get_num_requested(key) else ())
            }, found.cursor

        requested, cursor = asked(None)
        assert requested == set()
        approval = approve(store, world.slug, plan.plan_hash, approver="mara")
        assert gate.apply(approval.id).success
        requested, cursor = asked(cursor)
        assert requested == {("night/reaudit", world.slug), ("night/status", None)}
        result = gate.materialize(world.slug, "night/reaudit")
        checks = {e.check_name: e.passed for e in result.get_asset_check_evaluations()}
        assert {"cells_changed_are_cells_planned", "event_chain_verifies", "memories_have_vectors"} <= checks.keys()
        assert all(checks.values()), checks
        assert gate.metadata(result, "night", "reaudit")["failed_checks"].value == 0
        assert "report" in gate.metadata(result, "audit", "census")
        assert gate.value("SELECT count(*) FROM night.runs WHERE mode = 'plan'") == 1, "a re-audit is no night"
        requested, cursor = asked(cursor)
        assert requested == set()
        assert gate.run("undo_job", run_config={"ops": {"undo_applied_run": {"config": {"run": "last"}}}}).success
        requested, cursor = asked(cursor)
        assert ("night/reaudit", world.slug) in requested


def test_the_baseline_of_a_night_is_the_night_before(night: OneNight) -> None:
    """Reports go through files, and come back whole enough for the next night to compare with."""
    first = night.project.metadata(night.result, "night", "plan")["plan_hash"].value
    stored = night.project.value("SELECT summary -> 'baselines' FROM night.plans WHERE plan_hash = %s", first)
    assert "census" in stored
    assert json.dumps(stored["census"]["tables"])
    second = night.project.night(night.world.slug)
    headline = night.project.metadata(second, "audit", "schema_drift")["summary"].value
    assert "no earlier night" not in headline
