"""What Dagster loads: quickly, quietly, and with nothing that could apply by accident or elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.definitions import build_defs
from slowwave.store.connect import Store
from tests.memory_assets.project import project
from tests.nights import new_world

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_definitions_load_without_warnings_and_without_the_engine() -> None:
    """Every run is a new process that loads them: no package that takes long, no notice that scrolls by."""
    heavy = ["scipy", "pandas", "great_expectations", "matplotlib", "duckdb", "rapidfuzz", "slowwave.night.night"]
    code = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "import dagster as dg\n"
        "from memory_assets.definitions import defs\n"
        "defs.get_repository_def(); dg.Definitions.validate_loadable(defs)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "[]"


def test_loading_reads_no_address_and_starts_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The database is looked for when a run needs it: a wrong address does not take the UI down."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql://nobody@nowhere.invalid/none")
    build_defs().get_repository_def()
    assert not (tmp_path / "home").exists()


def test_materialize_all_cannot_reach_the_gate(store: Store) -> None:
    """All that can be materialized is swept up by one button, and is a night: neither a signature nor an apply is among it."""
    with project(store) as everything:
        graph = everything.defs.resolve_asset_graph()
        gate = {dg.AssetKey(["night", "approval"]), dg.AssetKey(["night", "applied"])}
        assert gate <= graph.get_all_asset_keys()
        assert not gate & graph.executable_asset_keys
        job = everything.defs.resolve_implicit_global_asset_job_def()
        swept = {node.name for node in job.all_node_defs}
        assert "night__plan" in swept
        assert not swept & {"night__approval", "apply_approved_plan", "reject_plan_items", "undo_applied_run"}


@pytest.mark.parametrize("override", [{"owner": "postgresql://evil@evil.example/evil"}, "postgresql://evil.example/x"])
def test_no_run_can_be_pointed_at_another_database(store: Store, override: object) -> None:
    """The Launchpad accepts a section on resources; for the store it has no meaning, and the run uses its own."""
    world = new_world(store)
    with project(store, world.slug) as night:
        job = night.defs.resolve_job_def("reaudit_job")
        result = job.execute_in_process(
            instance=night.instance,
            partition_key=world.slug,
            asset_selection=night.some(),
            run_config={"resources": {"store": {"config": override}}},
        )
        assert result.success
        assert night.value("SELECT count(*) FROM night.snapshots") == 1


def test_everything_has_a_description_an_owner_a_group_and_a_kind() -> None:
    """The UI is read by people who did not write this."""
    graph = build_defs().resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.description, key
        assert node.owners == ["team:memory"], key
        assert node.group_name in {"corpora", "stores", "snapshot", "models", "audits", "planners", "gate"}, key
        assert node.kinds, key
    repository = build_defs().get_repository_def()
    for sensor in repository.sensor_defs:
        assert sensor.description, sensor.name
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING, sensor.name
    assert {s.default_status for s in repository.schedule_defs} == {dg.DefaultScheduleStatus.RUNNING}
