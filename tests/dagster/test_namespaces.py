"""Partitions follow the store, and never at the price of work that is under way."""

from __future__ import annotations

import dagster as dg

from slowwave.dagster.jobs import night_config
from slowwave.dagster.sensors import namespaces_sensor as namespaces
from slowwave.dagster.sensors import partition_changes
from slowwave.store import server
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.nights import new_world


def test_a_partition_with_a_run_in_flight_is_kept() -> None:
    """Deleting it would throw away what the run is about to report; the next tick after the run deletes it."""
    assert partition_changes({"a", "b"}, {"b", "c", "d"}, {"d"}) == (["a"], ["c"])
    assert partition_changes({"a", "b"}, {"b", "c", "d"}, ()) == (["a"], ["c", "d"])
    assert partition_changes({"a"}, {"a"}, {"a"}) == ([], [])


def test_a_tick_adds_what_is_new_and_deletes_what_is_gone(store: Store) -> None:
    """A namespace was loaded, another one is gone, a third one is gone but still at work."""
    world = new_world(store)
    with project(store, "gone", "busy") as p:
        job = p.defs.resolve_job_def("night_job")
        config = night_config(["busy"])
        run = p.instance.create_run_for_job(job, run_config=config, status=dg.DagsterRunStatus.STARTED)
        result = namespaces(dg.build_sensor_context(instance=p.instance, resources={"store": store}))
        assert isinstance(result, dg.SensorResult)
        add, delete = result.dynamic_partitions_requests or []
        assert (list(add.partition_keys), list(delete.partition_keys)) == ([world.slug], ["gone"])
        p.instance.report_run_failed(run)
        p.instance.add_dynamic_partitions("namespaces", [world.slug])
        result = namespaces(dg.build_sensor_context(instance=p.instance, resources={"store": store}))
        assert isinstance(result, dg.SensorResult)
        (delete,) = result.dynamic_partitions_requests or []
        assert list(delete.partition_keys) == ["busy", "gone"]


def test_a_tick_without_changes_says_so(store: Store) -> None:
    """No request, and how many there are."""
    world = new_world(store)
    with project(store, world.slug) as p:
        result = namespaces(dg.build_sensor_context(instance=p.instance, resources={"store": store}))
    assert isinstance(result, dg.SkipReason)
    assert "those of the store: 1" in (result.skip_message or "")


def test_a_database_that_is_no_store_deletes_nothing(postgres: server.Server) -> None:
    """Somebody pointed the daemon at an empty database: not a single partition goes."""
    empty = Store(postgres.url("postgres"))
    with project(empty, "a", "b") as p:
        result = namespaces(dg.build_sensor_context(instance=p.instance, resources={"store": empty}))
    assert isinstance(result, dg.SkipReason)
    assert "slowwave doctor" in (result.skip_message or "")


def test_a_store_that_cannot_be_read_deletes_nothing() -> None:
    """The database is down at night: all partitions are there in the morning."""
    broken = Store("postgresql://me:hunter2@127.0.0.1:1/none")
    with project(broken, "a", "b") as p:
        result = namespaces(dg.build_sensor_context(instance=p.instance, resources={"store": broken}))
        assert isinstance(result, dg.SkipReason)
        assert "hunter2" not in (result.skip_message or "")
        assert p.instance.get_dynamic_partitions("namespaces") == ["a", "b"]
