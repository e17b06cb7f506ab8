"""A night tells what it does: the same events in the same order, whether it ran in one process or in the steps of a Dagster run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slowwave.night.night import OPERATIONS, run_night
from slowwave.night.runs import begin, crash_dagster_run
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.nights import new_world


def told(folder: Path, ending: str = "events.jsonl") -> list[dict[str, Any]]:
    """The events of the one run that was written."""
    (file,) = (folder / "home" / "reports").rglob(f"*.{ending}")
    return [json.loads(line) for line in file.read_text().splitlines()]


def listened(store: Store) -> str:
    """A namespace whose nights write report files."""
    world = new_world(store)
    with store.connect("owner") as owner:
        owner.execute("UPDATE memory.namespaces SET settings = '{\"report_file_sink_enabled\": true}'")
    return world.slug


def test_a_night_of_dagster_tells_the_stream_every_phase_and_operation(store: Store, tmp_path: Path) -> None:
    """The report files have all of them, in order, with the run's beginning and end, as those of any night."""
    namespace = listened(store)
    with project(store, namespace) as night:
        assert night.night(namespace).success
    events = told(tmp_path)
    assert (events[0]["event"], events[-1]["event"]) == ("RunStarted", "RunCompleted")
    phases = [(e["event"], e["phase"]) for e in events if e["event"].startswith("Phase")]
    assert phases == [
        (e, p) for p in ("snapshot", "audit", "plan", "probe") for e in ("PhaseStarted", "PhaseCompleted")
    ]
    operations = [e["op_type"] for e in events if e["event"] == "OperationEvent" and e["op_id"] == e["op_type"]]
    assert operations == list(OPERATIONS)
    (orphans,) = [e for e in events if e.get("op_id") == "orphans"]
    assert orphans["duration_ms"] > 0
    assert events[0]["at"] < orphans["started_at"] < events[-1]["at"]


def test_a_night_in_one_process_tells_every_phase_and_item(store: Store, tmp_path: Path) -> None:
    """Snapshot, audits, planners, probes; each item of the plan by its id, which is no memory."""
    night = run_night(store, listened(store))
    events = told(tmp_path)
    assert [e["phase"] for e in events if e["event"] == "PhaseCompleted"] == ["snapshot", "audit", "plan", "probe"]
    assert night.plan is not None
    items = {e["op_id"]: e["status"] for e in events if e["event"] == "OperationEvent" and e["status"]}
    assert items == {i.id: "pending" for i in night.plan.items} | {i.id: "deferred" for i in night.plan.deferred_items}
    assert events[-1]["ops_total"] == len(night.plan.items)


def test_a_night_whose_dagster_run_failed_is_told_as_failed(store: Store, tmp_path: Path) -> None:
    """The sensor that marks it as crashed says so to the sinks as well."""
    namespace = listened(store)
    begin(store, namespace, dagster_run_id="4f7b")
    assert crash_dagster_run(store, "4f7b", "The Dagster run failed.") == 1
    (event,) = told(tmp_path, "events.crashed.jsonl")
    assert (event["event"], event["error_type"]) == ("RunFailed", "SlowwaveError")
