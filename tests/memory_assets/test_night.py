"""A night through Dagster: the same steps as on the command line, each an asset that shows what it found."""

from __future__ import annotations

import json

import dagster as dg

from slowwave.operations import AUDITS, PLANNERS
from slowwave.store.connect import Store
from tests.memory_assets.project import Project, failure, project
from tests.nights import new_world


def keys(project: Project) -> set[str]:
    return {key.to_user_string() for key in project.defs.resolve_asset_graph().get_all_asset_keys()}


def test_every_operation_of_the_library_is_an_asset(store: Store) -> None:
    """A new audit or planner that nobody gave a file would never run at night."""
    with project(store) as night:
        found = keys(night)
    assert {f"audit/{name}" for name in AUDITS} == {k for k in found if k.startswith("audit/")}
    assert {f"plan/{name}" for name in PLANNERS} == {k for k in found if k.startswith("plan/")}


def test_a_night_ends_in_a_sealed_plan_that_asks_for_approval(store: Store) -> None:
    """One run of one partition: all of the graph up to the gate, and a row in the ledger that knows its Dagster run."""
    world = new_world(store)
    with project(store, world.slug) as night:
        result = night.run("night_job", world.slug, tags={"dagster/schedule_name": "nightly"})
        assert result.success
        made = {e.asset_key.to_user_string() for e in result.get_asset_materialization_events() if e.asset_key}
        assert made == keys(night) - {"corpus/folders", "night/approval", "night/applied"}
        plan = night.metadata(result, "night", "plan")
        plan_hash, summary = plan["plan_hash"].value, plan["summary"].value
        assert night.value("SELECT state FROM night.plans WHERE plan_hash = %s", plan_hash) == "awaiting_approval"
        row = night.value("SELECT to_jsonb(r) FROM night.runs r WHERE dagster_run_id = %s", result.run_id)
        assert (row["mode"], row["state"], row["trigger"]) == ("plan", "awaiting_approval", "schedule")
        assert plan["new_items"].value == night.value("SELECT count(*) FROM night.plan_items") > 0
    assert len(summary) < 1000
    assert "/jobs/approve_plan/playground/setup?config=ops%3A%0A++night__approval" in summary
    assert f"%22{plan_hash}%22" in summary
    assert f"`{plan_hash}`" in summary


def test_reports_show_numbers_and_models_their_columns(store: Store) -> None:
    """What the UI shows of an audit and of a model; numbers are plain, so that it can plot them."""
    world = new_world(store)
    with project(store, world.slug) as night:
        result = night.run("night_job", world.slug)
        census = night.metadata(result, "audit", "census")
        model = night.metadata(result, "model", "live_relationships")
        checks = result.get_asset_check_evaluations()
    assert len(census["summary"].value) < 1000
    assert census["rows"].value == sum(len(rows) for t, rows in world.rows.items() if not t.endswith("_vectors"))
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


def test_inputs_of_two_snapshots_are_refused(store: Store) -> None:
    """The snapshot is taken again, the models are not: an audit that reads both would mix two instants."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.run("night_job", world.slug).success
        only = night.defs.resolve_implicit_global_asset_job_def()
        chosen = [k for k in night.defs.resolve_asset_graph().get_all_asset_keys() if k.path[0] == "snapshot"]
        taken = only.execute_in_process(instance=night.instance, partition_key=world.slug, asset_selection=chosen)
        assert taken.success
        audit = only.execute_in_process(
            instance=night.instance,
            partition_key=world.slug,
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


def test_some_models_are_computed_with_their_ancestors_only(store: Store) -> None:
    """A person materializes one model: what it reads is computed, and only it is stored."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.run("reaudit_job", world.slug).success
        result = night.defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=night.instance, partition_key=world.slug, asset_selection=[dg.AssetKey(["model", "entity_degree"])]
        )
        made = [e.asset_key.to_user_string() for e in result.get_asset_materialization_events() if e.asset_key]
    assert made == ["model/entity_degree"]


def test_the_baseline_of_a_night_is_the_night_before(store: Store) -> None:
    """Reports go through files, and come back whole enough for the next night to compare with."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.run("night_job", world.slug).success
        stored = night.value("SELECT summary -> 'baselines' FROM night.plans")
        assert "census" in stored
        assert json.dumps(stored["census"]["tables"])
        second = night.run("night_job", world.slug)
        headline = night.metadata(second, "audit", "schema_drift")["summary"].value
    assert "no earlier night" not in headline
