"""A night that an agent requested is started by a sensor, once, and not while a gate other than cadence is closed."""

from __future__ import annotations

import dagster as dg

from slowwave.dagster.jobs import night_job
from slowwave.dagster.sensors import requested_nights_sensor
from slowwave.night.night import run_night
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from tests.dagster.project import Project, project
from tests.memories import ask, remember

SLUG = "acme"


def requested(store: Store, namespace: str = SLUG) -> str:
    """Return the id of a request for a night of a namespace, which is created if it does not exist."""
    remember(store, namespace)
    with store.connect("owner") as connection:
        row = connection.execute(
            "SELECT memory.request_night(%s, '', 'why', 'kate', 24) ->> 'id'", (namespace,)
        ).fetchone()
    return str(row[0]) if row else ""


def tick(p: Project) -> list[dg.RunRequest] | str:
    """Return the runs that a tick requests, or the reason why there are none."""
    found = requested_nights_sensor(night_job())(
        dg.build_sensor_context(instance=p.instance, resources={"store": p.store})
    )
    if isinstance(found, dg.SkipReason):
        return found.skip_message or ""
    assert isinstance(found, dg.SensorResult)
    assert found.cursor is None
    return list(found.run_requests or [])


def test_a_requested_night_runs_once_and_closes_the_request(store: Store) -> None:
    """Each tick requests the same run key, until the night takes the request. A night that was just run does not hold it back."""
    remember(store, SLUG)
    run_night(store, SLUG)
    id_ = requested(store)
    with project(store, SLUG) as p:
        first, again = tick(p), tick(p)
        assert isinstance(first, list)
        assert isinstance(again, list)
        assert [one.run_key for one in (*first, *again)] == [id_, id_]
        assert p.run("night_job", run_config=first[0].run_config).success
        assert tick(p) == "No agent requested a night."
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)]
    ((run_id, outcome),) = ask(store, "SELECT run_id, outcome FROM memory.night_requests")
    assert (run_id, str(outcome).startswith("unchanged since")) == (None, True)


def test_a_requested_night_waits_while_a_gate_is_closed(store: Store) -> None:
    """A run that holds the namespace, nights that are off, and a namespace without a partition use up no run key."""
    requested(store)
    requested(store, "another")
    with project(store, SLUG) as p:
        with store.connect("planner") as connection:
            run = open_plan_run(connection, SLUG)
        assert str(tick(p)).startswith(f"locked: {SLUG} is held by run {run}")
        ask(store, "UPDATE night.runs SET state = 'crashed' RETURNING 1")
        ask(store, "UPDATE memory.namespaces SET settings = settings || '{\"enabled\": false}' RETURNING 1")
        assert str(tick(p)).startswith(f"disabled: {SLUG}")
        ask(store, "UPDATE memory.namespaces SET settings = settings - 'enabled' RETURNING 1")
        found = tick(p)
        assert isinstance(found, list)
        (one,) = found
        assert one.run_config["ops"]["plan_nights"]["config"]["namespaces"] == [SLUG]
        assert p.run("night_job", run_config=one.run_config).success
    ((why,),) = ask(store, "SELECT parameters ->> 'reason' FROM night.runs WHERE state <> 'crashed'")
    assert why == "requested by a program without a token (kate): why"
