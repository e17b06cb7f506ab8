"""``tiled_night_job``: one step for each tile, in processes of their own, and the plan of ``slowwave night``."""

from __future__ import annotations

import multiprocessing
from multiprocessing.queues import Queue
from pathlib import Path

import dagster as dg
import pytest

from slowwave.dagster.jobs import tiled_night_job
from slowwave.dagster.layout import EnvironmentStore
from slowwave.night.night import run_night
from slowwave.snapshots.files import database_base
from slowwave.store.connect import Store
from tests.huge import NAME, load_huge

OPERATIONS = "dedupe_entities,dedupe_memories"


def job_of_the_environment() -> dg.JobDefinition:
    """The job as processes load it, with the store that the environment names."""
    return dg.Definitions(jobs=[tiled_night_job()], resources={"store": EnvironmentStore()}).resolve_job_def(
        "tiled_night_job"
    )


@pytest.fixture
def huge(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The namespace, in the store that the environment names."""
    load_huge(store, 1_500)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    return store


def execute(folder: Path, tiles: int) -> dg.DagsterInstance | dg.JobExecutionResult:
    config = {
        "ops": {"divide_candidate_search": {"config": {"namespace": NAME, "operations": OPERATIONS, "tiles": tiles}}},
        "execution": {"config": {"max_concurrent": 2}},
    }
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as instance:
        instance.add_dynamic_partitions("namespaces", [NAME])
        return dg.execute_job(
            dg.reconstructable(job_of_the_environment), instance=instance, run_config=config, raise_on_error=False
        )


def items_of(store: Store) -> list[tuple[object, ...]]:
    """The items of the newest plan, whatever its snapshot is."""
    with store.connect("reader") as connection:
        return connection.execute(
            "SELECT item_id::text, operation, decision FROM night.plan_items WHERE plan_hash = "
            "(SELECT plan_hash FROM night.plans ORDER BY recorded_at DESC LIMIT 1) ORDER BY 1"
        ).fetchall()


def test_every_tile_is_a_step_of_its_own_process_and_the_plan_is_the_same(huge: Store, tmp_path: Path) -> None:
    result = execute(tmp_path / "dagster", tiles=3)
    assert isinstance(result, dg.JobExecutionResult)
    assert result.success
    steps = {event.step_key for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_SUCCESS}
    searched = {step for step in steps if str(step).startswith("search_tile[")}
    assert len(searched) >= 2
    assert steps - searched == {"divide_candidate_search", "plan_tiled_night"}
    planned = items_of(huge)
    assert planned
    assert not list(Path(database_base(huge)).rglob("tiles"))
    assert run_night(huge, NAME, ops=OPERATIONS).plan
    assert items_of(huge) == planned


def in_worker(folder: Path, found: Queue[bool]) -> None:
    result = execute(folder, tiles=3)
    found.put(isinstance(result, dg.JobExecutionResult) and result.success)


def test_run_in_a_worker_that_may_have_no_processes_searches_in_one(huge: Store, tmp_path: Path) -> None:
    """A Celery worker executes runs in such a process."""
    context = multiprocessing.get_context("spawn")
    found: Queue[bool] = context.Queue()
    worker = context.Process(target=in_worker, args=(tmp_path / "dagster", found), daemon=True)
    worker.start()
    assert found.get(timeout=120)
    worker.join()
    planned = items_of(huge)
    assert run_night(huge, NAME, ops=OPERATIONS).plan
    assert items_of(huge) == planned


def test_a_namespace_that_fits_no_worker_fails_the_first_step_with_its_sentence(
    huge: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_WORKER_MEMORY_GIB", "0.1")
    result = execute(tmp_path / "dagster", tiles=3)
    assert isinstance(result, dg.JobExecutionResult)
    (failed,) = [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    assert failed.step_key == "divide_candidate_search"
    told = failed.step_failure_data.user_failure_data
    assert told
    assert "SLOWWAVE_WORKER_MEMORY_GIB is 0.1" in str(told.description)
