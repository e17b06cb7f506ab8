"""Dagster's definitions load quickly and quietly, and hold nothing that could apply by accident or elsewhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from slowwave.dagster import Timetable, build_assets, build_defs
from slowwave.errors import SettingsError
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.nights import new_world

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_definitions_load_without_warnings_and_without_the_engine() -> None:
    """Every run is a new process that loads them: no package that takes long, no notice that scrolls by."""
    heavy = ["scipy", "pandas", "great_expectations", "matplotlib", "duckdb", "rapidfuzz", "slowwave.night.night"]
    code = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "warnings.filterwarnings('ignore', category=DeprecationWarning)  # Dagster's resources read a field of Pydantic that ends\n"
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
        assert "night" in swept
        assert not swept & {"night__approval", "apply_approved_plan", "reject_plan_items", "undo_applied_run"}


@pytest.mark.parametrize("override", [{"owner": "postgresql://evil@evil.example/evil"}, "postgresql://evil.example/x"])
def test_no_run_can_be_pointed_at_another_database(store: Store, override: object) -> None:
    """The Launchpad accepts a section on resources; for the store it has no meaning, and the run uses its own."""
    world = new_world(store)
    with project(store, world.slug) as night:
        run_config = {"resources": {"store": {"config": override}}}
        result = night.materialize(world.slug, "snapshot", run_config=run_config)
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


@pytest.mark.parametrize(
    "override", [{"owner": "postgresql://evil@evil.example/evil"}, {"url": "postgresql://evil.example/x"}]
)
def test_the_store_of_the_environment_takes_no_configuration(override: object) -> None:
    """The Launchpad's section on resources has no field that would point a run at another database."""
    job = build_defs().resolve_job_def("retention_job")
    with pytest.raises(dg.DagsterInvalidConfigError, match="unexpected"):
        job.execute_in_process(run_config={"resources": {"store": {"config": override}}}, raise_on_error=True)


def test_the_project_has_what_the_factory_builds() -> None:
    """The folders of this repository and ``build_defs`` define the same assets, checks, jobs, schedules and sensors."""
    from memory_assets.definitions import defs

    def names(found: dg.Definitions) -> list[set[str]]:
        repository, graph = found.get_repository_def(), found.resolve_asset_graph()
        return [
            {key.to_user_string() for key in graph.get_all_asset_keys()},
            {key.to_user_string() for key in graph.asset_check_keys},
            {job.name for job in repository.get_all_jobs()},
            {schedule.name for schedule in repository.schedule_defs},
            {sensor.name for sensor in repository.sensor_defs},
        ]

    assert names(defs) == names(build_defs())


def test_the_timetable_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """``nightly_hour``, ``nightly_days``, ``time_zone``, ``nights_per_run`` and ``night_run_tags``."""
    given = {"NIGHTLY_HOUR": "23", "NIGHTLY_DAYS": "[1, 5]", "TIME_ZONE": "Europe/Berlin", "NIGHTS_PER_RUN": "7"}
    given["NIGHT_RUN_TAGS"] = '{"9": {"team": "a"}}'
    for name, value in given.items():
        monkeypatch.setenv(f"SLOWWAVE_{name}", value)
    assert Timetable.from_settings() == Timetable(23, (1, 5), "Europe/Berlin", 7, {9: {"team": "a"}})


def test_a_deployment_chooses_its_own_names(store: Store) -> None:
    """Keys, groups, the code location in links, owners and times; a night reports under these names."""
    world = new_world(store)
    timetable = Timetable(hour=23, days=(1, 5), time_zone="Europe/Berlin", nights_per_run=7)
    options = {
        "key_prefix": ["memory"],
        "groups": {"audits": "memory_audits"},
        "location": "our data",
        "owners": ["team:data"],
    }
    defs = build_defs({"store": store}, timetable=timetable, **options)
    graph = defs.resolve_asset_graph()
    assert all(key.path[0] == "memory" for key in graph.get_all_asset_keys())
    assert graph.get(dg.AssetKey(["memory", "audit", "census"])).group_name == "memory_audits"
    assert graph.get(dg.AssetKey(["memory", "night", "plan"])).owners == ["team:data"]
    schedules = {one.name: one for one in defs.get_repository_def().schedule_defs}
    assert {one.execution_timezone for one in schedules.values()} == {"Europe/Berlin"}
    assert schedules["nightly"].cron_schedule == "0 23 * * 1,5"
    assert schedules["daily_retention"].cron_schedule == "30 0 * * *"
    assert schedules["weekly_deep"].cron_schedule == "0 1 * * 6", "two hours after Friday's nights it is Saturday"
    with project(store, world.slug) as made:
        night = replace(made, defs=defs).night(world.slug)
        assert night.success
        plan = made.metadata(night, "memory", "night", "plan")
    assert "/locations/our%20data/jobs/approve_plan/" in plan["summary"].value


def test_unknown_group_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(SettingsError, match=r"no group 'audit' .* snapshot, models, audits"):
        build_defs(groups={"audit": "memory_audits"})


def test_variables_set_when_the_schedules_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hour, weekdays, time zone and the size of a group are settings; a zone that nobody knows is refused with its name."""
    assert Timetable.from_settings() == Timetable(), "the defaults of the settings"
    for name, value in (("HOUR", "22"), ("DAYS", "[7, 3]")):
        monkeypatch.setenv(f"SLOWWAVE_NIGHTLY_{name}", value)
    monkeypatch.setenv("SLOWWAVE_TIME_ZONE", "America/Lima")
    monkeypatch.setenv("SLOWWAVE_NIGHTS_PER_RUN", "5")
    assert Timetable.from_settings() == Timetable(22, (3, 7), "America/Lima", 5)
    (night,) = [
        one for one in build_assets() if isinstance(one, dg.AssetsDefinition) and dg.AssetKey(["snapshot"]) in one.keys
    ]
    assert night.backfill_policy == dg.BackfillPolicy.multi_run(5)
    monkeypatch.setenv("SLOWWAVE_TIME_ZONE", "America/Atlantis")
    with pytest.raises(SettingsError, match="Atlantis"):
        Timetable.from_settings()
