"""``tiled_night_job``: one step for each tile, in processes of their own, and the plan of ``slowwave night``."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from multiprocessing.queues import Queue
from pathlib import Path

import dagster as dg
import pytest

from slowwave.dagster.jobs import tiled_night_job
from slowwave.dagster.layout import EnvironmentStore
from slowwave.errors import SnapshotError
from slowwave.night.night import run_night
from slowwave.snapshots import tiles
from slowwave.snapshots.files import database_base
from slowwave.store.connect import Store
from tests.dreamers import forgetful
from tests.huge import NAME, items_of, load_huge

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


def job_in_one_process() -> dg.JobDefinition:
    job = tiled_night_job(executor=dg.in_process_executor)
    return dg.Definitions(jobs=[job], resources={"store": EnvironmentStore()}).resolve_job_def("tiled_night_job")


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


@pytest.mark.parametrize("ending", [SnapshotError("The disk is full."), KeyboardInterrupt()], ids=["failed", "ended"])
def test_retry_from_failure_searches_only_missing_tiles(
    huge: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: BaseException
) -> None:
    """One tile fails, or the run is ended in it. Dagster tries that one again; those that had not begun are left to the planner."""
    begun: list[tiles.Tile] = []
    endings = [ending]
    search = tiles._search

    def fail_once(tile: tiles.Tile) -> object:
        begun.append(tile)
        if endings:
            raise endings.pop()
        return search(tile)

    monkeypatch.setattr(tiles, "_search", fail_once)
    config = {"divide_candidate_search": {"config": {"namespace": NAME, "operations": OPERATIONS, "tiles": 3}}}
    job = dg.reconstructable(job_in_one_process)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        instance.add_dynamic_partitions("namespaces", [NAME])
        with suppress(dg.DagsterExecutionInterruptedError):
            dg.execute_job(job, instance, run_config={"ops": config})
        (run,) = instance.get_runs()
        assert run.status != dg.DagsterRunStatus.SUCCESS
        first = begun.copy()
        assert first[0].total >= 2
        begun.clear()
        again = dg.ReexecutionOptions.from_failure(run.run_id, instance)
        assert dg.execute_job(job, instance, run_config={"ops": config}, reexecution_options=again).success
    every = {first[0]._replace(number=number) for number in range(first[0].total)}
    assert len(begun) == len(set(begun))
    assert set(begun) == {first[0], *(every - set(first))}
    planned = items_of(huge)
    assert run_night(huge, NAME, ops=OPERATIONS).plan
    assert items_of(huge) == planned


def test_search_that_cannot_be_divided_is_done_by_the_last_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    forgetful(store, NAME, rows=1)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    config = {"ops": {"divide_candidate_search": {"config": {"namespace": NAME, "operations": "", "tiles": 3}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("namespaces", [NAME])
        assert job_in_one_process().execute_in_process(run_config=config, instance=instance).success
    assert "the last step does all of it" in capfd.readouterr().err


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
