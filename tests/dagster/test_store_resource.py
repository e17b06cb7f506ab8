"""The store as a resource: from the environment of the process that runs, at the moment when it runs."""

from __future__ import annotations

import dagster as dg
import pytest

from slowwave.dagster import EnvironmentStore, build_defs
from slowwave.store.connect import Store
from tests.dagster.project import failure
from tests.nights import new_world


def test_a_run_connects_where_the_environment_points(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a replacement the project uses ``SLOWWAVE_DATABASE_URL``, read when the run begins."""
    world = new_world(store)
    defs = build_defs()
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("namespaces", [world.slug])
        job = defs.resolve_job_def("undo_job")
        config = {"ops": {"undo_applied_run": {"config": {"run": "last"}}}}
        result = job.execute_in_process(instance=instance, run_config=config, raise_on_error=False)
    assert "no apply run" in failure(result)


def test_nothing_of_it_shows(store: Store) -> None:
    """No configuration in the Launchpad, no password in its text."""
    resource = build_defs().resources["store"]
    assert isinstance(resource, EnvironmentStore)
    assert not EnvironmentStore.model_fields
    assert str(store.owner) not in repr(store)
