"""``redact_text`` holds in all that Dagster keeps: no event, metadata, description or log tells more of memory than it lets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._serdes import serialize_value

from slowwave.errors import ModelError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.reports import reports_path
from slowwave.night.run_events import Event
from slowwave.night.undo import undo_run
from slowwave.operations import Inputs
from slowwave.plans.report import Report
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.demo import NAMESPACES
from tests.dagster.project import Project, failure, project
from tests.markers import MARKER, found, plant
from tests.permitting import approve
from tests.stand_ins import instead

NAMESPACE = NAMESPACES[0]


@pytest.fixture
def marked(demo: Store) -> Store:
    """A demo namespace with the marker in everything that it remembers."""
    plant(demo, NAMESPACE)
    return demo


def set_level(store: Store, level: str) -> None:
    overlay = json.dumps(
        {
            "redact_text": level,
            "report_file_sink_enabled": True,
            "operations": {
                "normalize_schema": {"mapping": {f"Org {MARKER}": f"Organisation {MARKER}"}},
                "prune_edges": {"target_predicates": [f"RELATED_TO {MARKER}"]},
                "purge_expired": {"retention_days": 7},
            },
            "blast_radius_share": 1.0,
        }
    )
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.namespaces SET settings = settings || %s::jsonb WHERE slug = %s", (overlay, NAMESPACE)
        )


def logged(project: Project) -> Iterator[tuple[str, str]]:
    """(what, text) of everything that the instance keeps about its runs."""
    for record in project.instance.get_run_records():
        for entry in project.instance.all_logs(record.dagster_run.run_id):
            event = entry.dagster_event
            what = f"{event.event_type_value} {event.step_key}" if event else "log"
            yield what, entry.user_message + entry.message + serialize_value(entry)
        yield "run", serialize_value(record.dagster_run)


def everything(project: Project) -> list[dg.ExecuteInProcessResult]:
    """A night with all operations, its approval, an apply, an undo, a re-audit with all checks."""
    night = project.night(NAMESPACE, operations="all")
    plan_hash = project.value("SELECT plan_hash FROM night.plans")
    signed = project.approve(
        NAMESPACE, plan_hash=plan_hash, approver="me", include_review=True, force=True, note="seen"
    )
    approval = str(project.value("SELECT id::text FROM night.approvals"))
    applied = project.apply(approval)
    undone = project.run(
        "undo_job", run_config={"ops": {"undo_applied_run": {"config": {"run": "last", "namespace": NAMESPACE}}}}
    )
    return [night, signed, applied, undone, project.materialize(NAMESPACE, "night/reaudit")]


def test_all_leaves_no_memory_text_in_dagster(
    marked: Store, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Every event-log record, materialization, description, table, plot and check of a night, an apply and an undo."""
    set_level(marked, "all")
    with project(marked, NAMESPACE) as night:
        results = everything(night)
        assert [failure(result) for result in results if not result.success] == []
        leaks = {what for what, text in logged(night) if found(text)}
        plan = night.metadata(results[0], "night", "plan")
        census = night.metadata(results[0], "audit", "census")
    assert not leaks
    files = [path for path in reports_path(Settings()).rglob("*") if path.is_file()]
    assert {json.loads(p.read_bytes())["mode"] for p in files if p.name.endswith(".manifest.json")} == {
        "plan",
        "apply",
        "undo",
    }
    assert not [path.name for path in files if found(_text(path))]
    output = capfd.readouterr()
    assert not found(output.out + output.err + caplog.text)
    summary = plan["summary"].value
    assert len(summary) < 1000
    assert "/jobs/approve_plan/playground/setup?config=" in summary
    assert plan["plan_hash"].value in summary
    assert f"`slowwave plans show {NAMESPACE}` shows them" in summary
    assert "why" not in plan
    assert "past recall queries: Recall" in plan["probes"].value
    assert plan["items"].records
    assert all(len(str(r.data["item"])) == 36 for r in plan["items"].records)
    assert census["rows"].value > 100
    assert "census: rows" in census["summary"].value.replace("\\", "")


def test_summary_shows_beginnings_and_none_all(marked: Store) -> None:
    """The same night with other levels: what the look above would find if it were there."""
    long = f"{'word ' * 60}{MARKER}tail"
    with marked.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET description = %s", (long,))
        connection.execute("UPDATE memory.entities SET name = name || %s WHERE random() < 0.2", (f" {long}",))
    some = "census,orphans,dedupe_entities"
    set_level(marked, "summary")
    with project(marked, NAMESPACE) as night:
        assert night.night(NAMESPACE, operations=some).success
        texts = [text for _, text in logged(night)]
        assert any(found(text) for text in texts)
        assert not any(f"{MARKER}tail" in text for text in texts)
    set_level(marked, "none")
    with project(marked, NAMESPACE) as night:
        assert night.night(NAMESPACE, operations=some).success
        kinds = {what.split(" ")[-1] for what, text in logged(night) if found(text)}
    assert "plan_nights" in kinds


def quoting(inputs: Inputs) -> Report:
    """An audit that meets a row which it cannot read."""
    raise ValueError(f"could not convert {inputs.snapshot.table('entities')['name'][0].as_py()!r} to a number")


def test_an_error_of_duckdb_is_kept_without_the_value_that_it_quotes(
    marked: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of ours with a sentence of another library in it."""

    def refused(inputs: Inputs) -> Report:
        name = inputs.snapshot.table("entities")["name"][0].as_py()
        raise ModelError(f"DuckDB cannot run live_entities.sql: could not convert {name!r}.")

    instead(monkeypatch, "census", refused)
    set_level(marked, "all")
    with project(marked, NAMESPACE) as night:
        for result in (night.night(NAMESPACE, operations="census"), night.materialize(NAMESPACE, "audit/census")):
            assert not result.success
            assert "ModelError (" in failure(result)
        assert not {what for what, text in logged(night) if found(text)}


def test_an_error_that_quotes_memory_is_kept_without_it(marked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event log keeps its kind and its place in the code; a run in this process the same in the ledger."""
    instead(monkeypatch, "census", quoting)
    set_level(marked, "all")
    with project(marked, NAMESPACE) as night:
        result = night.night(NAMESPACE, operations="census")
        assert not result.success
        assert "ValueError (" in failure(result)
        assert not {what for what, text in logged(night) if found(text)}
        assert any("in quoting" in text for _, text in logged(night))
        assert not found(str(night.value("SELECT error FROM night.runs WHERE state = 'crashed'")))
    set_level(marked, "none")
    with project(marked, NAMESPACE) as night:
        result = night.night(NAMESPACE, operations="census")
        assert MARKER in failure(result)


@pytest.mark.parametrize("level", ["all", "summary"])
def test_a_run_in_this_process_obeys_as_well(
    marked: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, level: str
) -> None:
    """Report files, callbacks and the ledger's account of errors: of a night, an apply, an undo and a crash."""
    set_level(marked, level)
    told: list[Event] = []
    some = "all" if level == "all" else "census,dedupe_entities"  # enough to see what the other level hides
    night = run_night(marked, NAMESPACE, ops=some, callbacks=[told.append])
    assert night.plan is not None
    approval = approve(
        marked, NAMESPACE, night.plan.plan_hash, approver="me", include_review=True, force=True, note="seen"
    )
    result = apply_approval(marked, approval.id, callbacks=[told.append])
    undo_run(marked, result.run_id, callbacks=[told.append])
    instead(monkeypatch, "census", quoting)
    with pytest.raises(ValueError, match=MARKER):
        run_night(marked, NAMESPACE, force=True, callbacks=[told.append])
    files = [path for path in reports_path(Settings()).rglob("*") if path.is_file()]
    manifests = [json.loads(path.read_bytes()) for path in files if path.name.endswith(".manifest.json")]
    assert sorted(m["mode"] for m in manifests) == ["apply", "plan", "plan", "undo"]
    assert {m["redact_text"] for m in manifests} == {level}
    with marked.connect("reader") as connection:
        errors = [str(e) for (e,) in connection.execute("SELECT error FROM night.runs WHERE error IS NOT NULL")]
    assert len(errors) == 1
    leaks = [path.name.split(".", 1)[1] for path in files if found(_text(path))]
    events = [event for event in told if found(repr(event))]
    if level == "all":
        assert not leaks
        assert not events
        assert not found(errors[0])
        assert errors[0].startswith("ValueError (")
        assert not found(caplog.text)
    else:
        assert {"events.jsonl", "summary.md", "undo.json"} <= set(leaks)
        assert events
        assert len(errors[0]) <= 220


def _text(path: Path) -> str:
    return path.read_text() + path.name
