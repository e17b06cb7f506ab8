"""A night through Dagster: the same steps as on the command line, each an asset that shows what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from slowwave.operations import AUDITS, PLANNERS
from slowwave.store import server
from slowwave.store.connect import Store
from tests.clusters import cloned
from tests.conftest import forget_environment
from tests.memory_assets.project import Project, failure, project
from tests.nights import new_world
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
                result = made.run("night_job", world.slug, tags={"dagster/schedule_name": "nightly"})
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
    """One run of one partition: all of the graph up to the gate, and a row in the ledger that knows its Dagster run."""
    assert night.result.success
    made = {e.asset_key.to_user_string() for e in night.result.get_asset_materialization_events() if e.asset_key}
    assert made == keys(night.project) - {
        "corpus/folders",
        "store/tables",
        "proposals/plans",
        "night/approval",
        "night/applied",
        "night/status",
    }
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
    """What the UI shows of an audit and of a model; numbers are plain, so that it can plot them."""
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
    assert [(d.asset_key.to_user_string(), d.column_name) for d in lineage] == [("snapshot/relationships", "weight")]
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
        result = night.run("night_job", world.slug)
        assert result.success
        texts = [
            str(value.value)
            for event in result.get_asset_materialization_events()
            for value in event.step_materialization_data.materialization.metadata.values()
            if isinstance(value, dg.MarkdownMetadataValue)
        ]
    assert any("evil" in text for text in texts)
    assert not any("](http" in text or "http://" in text for text in texts)


def test_inputs_of_two_snapshots_are_refused(night: OneNight) -> None:
    """The snapshot is taken again, the models are not: an audit that reads both would mix two instants."""
    defs, instance = night.project.defs, night.project.instance
    only = defs.resolve_implicit_global_asset_job_def()
    chosen = [k for k in defs.resolve_asset_graph().get_all_asset_keys() if k.path[0] == "snapshot"]
    taken = only.execute_in_process(instance=instance, partition_key=night.world.slug, asset_selection=chosen)
    assert taken.success
    audit = only.execute_in_process(
        instance=instance,
        partition_key=night.world.slug,
        asset_selection=[dg.AssetKey(["audit", "orphans"])],
        raise_on_error=False,
    )
    assert not audit.success
    assert "Inputs come from different snapshots" in failure(audit)
    assert "from the snapshot on" in failure(audit)


def test_a_snapshot_alone_opens_no_run(store: Store) -> None:
    """A re-audit is no night: the ledger must not show one that plans for ever."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.run("reaudit_job", world.slug).success
        assert night.value("SELECT count(*) FROM night.runs") == 0
        assert night.value("SELECT count(*) FROM night.snapshots") == 1


def test_some_models_are_computed_with_their_ancestors_only(night: OneNight) -> None:
    """A person materializes one model: what it reads is computed, and only it is stored."""
    result = night.project.defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=night.project.instance,
        partition_key=night.world.slug,
        asset_selection=[dg.AssetKey(["model", "entity_degree"])],
    )
    made = [e.asset_key.to_user_string() for e in result.get_asset_materialization_events() if e.asset_key]
    assert made == ["model/entity_degree"]


def test_the_baseline_of_a_night_is_the_night_before(night: OneNight) -> None:
    """Reports go through files, and come back whole enough for the next night to compare with."""
    first = night.project.metadata(night.result, "night", "plan")["plan_hash"].value
    stored = night.project.value("SELECT summary -> 'baselines' FROM night.plans WHERE plan_hash = %s", first)
    assert "census" in stored
    assert json.dumps(stored["census"]["tables"])
    second = night.project.run("night_job", night.world.slug)
    headline = night.project.metadata(second, "audit", "schema_drift")["summary"].value
    assert "no earlier night" not in headline
