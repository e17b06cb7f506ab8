"""OpenLineage events as a backend gets them, with the project's own client."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.run_events import Stream
from slowwave.night.sinks import LineageSink, lineage_wanted, sinks_for
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.receivers import Receiver

RUN = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A backend that the client's own variable names."""
    receiver = Receiver(lambda *_: (201, {}))
    monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
    yield receiver
    receiver.close()


def events(backend: Receiver) -> list[dict[str, Any]]:
    return [json.loads(delivery.body) for delivery in backend.deliveries]


def names(datasets: list[dict[str, str]]) -> list[str]:
    assert {d["namespace"] for d in datasets} <= {"slowwave"}
    return [d["name"] for d in datasets]


def test_apply_and_undo_tell_what_they_read_and_wrote_by_name(store: Store, backend: Receiver) -> None:
    """Two runs of a real plan: each begins and ends under its run id, and its outputs are the tables that its items touched."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    applied = apply_approval(store, approval.id)
    undone = undo_run(store, applied.run_id)
    told = events(backend)
    assert [(e["eventType"], e["run"]["runId"]) for e in told] == [
        ("START", applied.run_id),
        ("COMPLETE", applied.run_id),
        ("START", undone.run_id),
        ("COMPLETE", undone.run_id),
    ]
    assert {backend_path.path for backend_path in backend.deliveries} == {"/api/v1/lineage"}
    assert [e["job"] for e in told[::2]] == [
        {"namespace": "slowwave", "name": f"{world.slug}.{mode}", "facets": {}} for mode in ("apply", "undo")
    ]
    assert names(told[0]["inputs"]) == [f"{world.slug}.night.plans", f"{world.slug}.night.plan_items"]
    for end in (told[1], told[3]):
        assert names(end["outputs"]) == [f"{world.slug}.memory.entities", f"{world.slug}.memory.memories"]
    assert all(e["producer"] == "urn:slowwave" for e in told)


@pytest.mark.parametrize(("ending", "state"), [("completed", "COMPLETE"), ("cancelled", "ABORT"), ("failed", "FAIL")])
def test_a_run_ends_as_it_ended(backend: Receiver, ending: str, state: str) -> None:
    """A plan reads the namespace's tables and writes plans; a cancelled run is aborted, one with an error failed, without its words."""
    stream = Stream(RUN, "acme", sinks_for(Settings()))
    stream.started("plan", "manual")
    if ending == "failed":
        stream.failed("plan", ValueError("what a memory said"), time.monotonic())
    else:
        stream.ended("plan", ending, {}, time.monotonic())
    stream.close()
    start, end = events(backend)
    assert (start["eventType"], end["eventType"]) == ("START", state)
    assert "acme.memory.entities" in names(start["inputs"])
    assert names(end["outputs"]) == ["acme.night.plans", "acme.night.plan_items"]
    assert "what a memory said" not in json.dumps([start, end])


def test_a_backend_that_is_not_there_costs_a_run_no_more_than_its_closing_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The client tries again and again; the run goes on, and says what did not arrive."""
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    sink = LineageSink()
    stream = Stream(RUN, "acme", (sink,))
    stream.started("plan", "manual")
    stream.ended("plan", "completed", {}, time.monotonic())
    with caplog.at_level(logging.WARNING):
        stream.close()
    assert "did not get 2 events" in caplog.text
    assert stream.failures == {}


def test_it_is_on_only_when_the_client_is_told_where_to_send() -> None:
    """No variable, nothing; the client's own switch turns it off."""
    assert not lineage_wanted({})
    assert lineage_wanted({"OPENLINEAGE_URL": "http://x"})
    assert lineage_wanted({"OPENLINEAGE_CONFIG": "openlineage.yml"})
    assert lineage_wanted({"OPENLINEAGE__TRANSPORT__TYPE": "console"})
    assert not lineage_wanted({"OPENLINEAGE_URL": "http://x", "OPENLINEAGE_DISABLED": "true"})
