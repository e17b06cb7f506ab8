"""Report files: whole or absent, for their owner only, and honest about how a run ended."""

from __future__ import annotations

import hashlib
import json
import stat
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import StoreError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.reports import SCHEMA, UNDO_SCHEMA, FileSink, expire_reports, reports_path
from slowwave.night.run_events import Event, Level, OperationEvent, PhaseCompleted, RunCompleted, RunFailed, RunStarted
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store, path_part
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from tests.nights import new_world, write_a_plan
from tests.permitting import approve

RUN = str(uuid.UUID(int=1))
WHEN = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)


def started(run: str = RUN, namespace: str = "acme", at: datetime = WHEN, mode: str = "plan") -> RunStarted:
    return RunStarted(run_id=run, namespace=namespace, at=at, mode=mode, trigger="manual")


def ended(run: str = RUN, namespace: str = "acme", mode: str = "plan") -> RunCompleted:
    return RunCompleted(
        run_id=run,
        namespace=namespace,
        at=WHEN + timedelta(hours=1),
        mode=mode,
        state="awaiting_approval",
        ops_total=2,
        counts={"planned": 2},
        duration_ms=1500,
    )


def item(n: int, risk: str = "low", rows: int = 2, name: str = "Mara") -> OperationEvent:
    return OperationEvent(
        run_id=RUN,
        namespace="acme",
        at=WHEN,
        op_id=str(uuid.UUID(int=1000 + n)),
        phase="plan",
        op_type="dedupe_entities",
        decision="merge",
        status="pending",
        inputs={
            "rows": [str(uuid.UUID(int=k)) for k in range(rows)],
            "table": "entities",
            "kind": "merge_rows",
            "risk": risk,
        },
        outputs={"evidence": {"names": [f"{name} {n}", "other"]}},
    )


def write(base: Path, *events: Event, level: Level = "none") -> None:
    sink = FileSink(base, level)
    for event in events:
        sink.emit(event)
    sink.close()


def names(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def load_manifest(path: Path) -> dict[str, Any]:
    """Load a manifest, and compare the files that it names with their size and hash."""
    manifest = json.loads(path.read_bytes())
    for name, about in manifest["files"].items():
        content = path.with_name(name).read_bytes()
        assert about == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    return manifest


def test_a_run_leaves_its_events_a_summary_and_a_manifest(tmp_path: Path) -> None:
    """In the folder of its namespace and of the day, in UTC, on which it began."""
    base = tmp_path / "reports"
    write(base, started(), item(1), item(2, "high"), ended())
    folder = base / "acme" / "2026-03-01"
    assert names(base) == {f"acme/2026-03-01/{RUN}.{kind}" for kind in ("summary.md", "events.jsonl", "manifest.json")}
    events = lines(folder / f"{RUN}.events.jsonl")
    assert [e["event"] for e in events] == ["RunStarted", "OperationEvent", "OperationEvent", "RunCompleted"]
    assert {e["schema"] for e in events} == {SCHEMA}
    manifest = load_manifest(folder / f"{RUN}.manifest.json")
    assert {k: manifest[k] for k in ("schema", "run_id", "namespace", "mode", "state", "redact_text", "completed")} == {
        "schema": "dream-report/1",
        "run_id": RUN,
        "namespace": "acme",
        "mode": "plan",
        "state": "awaiting_approval",
        "redact_text": "none",
        "completed": True,
    }
    content = (folder / f"{RUN}.events.jsonl").read_bytes()
    assert manifest["files"][f"{RUN}.events.jsonl"] == {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """They may hold memory text."""
    base = tmp_path / "new" / "reports"
    write(base, started(), ended())
    for path in base.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(base.stat().st_mode) == stat.S_IMODE(base.parent.stat().st_mode) == 0o700


def test_events_can_be_followed_while_a_run_goes_on(tmp_path: Path) -> None:
    """Every event is in the file at once; the run's end gives it its name."""
    sink, partial = FileSink(tmp_path, "none"), tmp_path / "acme" / "2026-03-01" / f"{RUN}.events.partial"
    sink.emit(started())
    sink.emit(item(1))
    assert [e["event"] for e in lines(partial)] == ["RunStarted", "OperationEvent"]
    sink.emit(ended())
    assert not partial.exists()
    sink.close()
    assert len(names(tmp_path)) == 3


@pytest.mark.parametrize("says", [True, False])
def test_a_run_that_does_not_complete_has_crashed(tmp_path: Path, *, says: bool) -> None:
    """Whether it could say so or not."""
    failed = RunFailed(run_id=RUN, namespace="acme", at=WHEN, mode="plan", error_type="ValueError", error_hash="ab12")
    write(tmp_path, started(), item(1), *([failed] if says else []))
    folder = tmp_path / "acme" / "2026-03-01"
    assert (folder / f"{RUN}.events.crashed.jsonl").exists()
    manifest = load_manifest(folder / f"{RUN}.manifest.json")
    assert (manifest["completed"], manifest["state"]) == (False, "crashed")
    assert ("ValueError (ab12)" in (folder / f"{RUN}.summary.md").read_text().replace("\\", "")) is says


def test_a_run_goes_on_in_its_files(tmp_path: Path) -> None:
    """Steps in other processes, and a resume after a crash on another day: one account, one manifest, all events."""
    first = FileSink(tmp_path, "none")
    first.emit(started())
    del first
    partial = tmp_path / "acme" / "2026-03-01" / f"{RUN}.events.partial"
    with partial.open("ab") as file:
        file.write(b'{"event": "OperationEv')  # the process was killed
    write(tmp_path, item(1))
    assert {n.split(".", 1)[1] for n in names(tmp_path)} == {"events.crashed.jsonl", "summary.md", "manifest.json"}
    write(tmp_path, started(at=WHEN + timedelta(days=2)), item(2), ended())
    assert {n.split(".", 1)[1] for n in names(tmp_path)} == {"events.jsonl", "summary.md", "manifest.json"}
    folder = tmp_path / "acme" / "2026-03-01"
    assert load_manifest(folder / f"{RUN}.manifest.json")["completed"] is True
    assert "| Items | 2 |" in (folder / f"{RUN}.summary.md").read_text()


def test_the_summary_samples_what_matters_most(tmp_path: Path) -> None:
    """The riskiest, then those with most rows; it says of how many; memory text does nothing in it."""
    hostile = "[click](http://evil.example) | <b>"
    events = [item(n, name=hostile) for n in range(40)] + [item(50, "medium", 9), item(51, "high"), item(52, "low", 30)]
    phase = PhaseCompleted(
        run_id=RUN, namespace="acme", at=WHEN, phase="plan", outcome="success", ops_total=3, duration_ms=20
    )
    write(tmp_path, started(), *events, phase, ended())
    text = (tmp_path / "acme" / "2026-03-01" / f"{RUN}.summary.md").read_text()
    assert "20 of 43: the riskiest first" in text
    shown = [
        line.split(" | ")[-1].rstrip(" |")
        for line in text.splitlines()
        if line.startswith("| dedupe") and "0000" in line
    ]
    assert shown[:3] == [str(uuid.UUID(int=1000 + n)) for n in (51, 50, 52)]
    assert len(shown) == 20
    assert "| dedupe\\_entities | merge | pending | 43 |" in text
    assert "](http" not in text
    assert "<b>" not in text
    assert "| plan | success | 3 | 0.02 |" in text


def test_names_of_namespaces_cannot_leave_the_folder(tmp_path: Path) -> None:
    """A slug is free text: parts that are no plain names are replaced, and stay apart from each other."""
    base = tmp_path / "reports"
    for slug in ("..", "../../etc", "a/b", "", ".hidden", "nul\x00", "ä" * 200):
        write(base, started(namespace=slug), ended(namespace=slug))
    found = {path.parent.parent for path in base.rglob("*.jsonl")}
    assert len(found) == 7
    assert all(folder.parent == base for folder in found)
    assert path_part("acme-2_x") == "acme-2_x"
    assert path_part("a/b") != path_part("a-b") != path_part("a.b")
    write(base, started(run="../../x"), ended(run="../../x"))
    assert all(path.is_relative_to(base) for path in tmp_path.rglob("*.jsonl"))


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Somebody who can write there must not have us write elsewhere."""
    target, folder = tmp_path / "target", tmp_path / "acme" / "2026-03-01"
    target.write_text("theirs")
    folder.mkdir(parents=True)
    (folder / f"{RUN}.events.partial").symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        FileSink(tmp_path, "none").emit(started())
    assert target.read_text() == "theirs"


def test_old_reports_go_and_the_newest_stay(tmp_path: Path) -> None:
    """Both must hold: older than the day, and not among the newest of the namespace. What is not ours is not touched."""
    days = [datetime(2026, 3, day, 4, tzinfo=UTC) for day in (1, 2, 3, 4)]
    for namespace in ("acme", "other"):
        for n, day in enumerate(days):
            run = str(uuid.UUID(int=n + 1))
            write(tmp_path, started(run, namespace, day), ended(run, namespace))
    (tmp_path / "acme" / "2026-03-01" / "notes.txt").write_text("mine")
    (tmp_path / "acme" / "2026-99-01").mkdir()
    at_work = FileSink(tmp_path, "none")
    at_work.emit(started(str(uuid.UUID(int=9)), "acme", days[0]))
    assert expire_reports(tmp_path, datetime(2026, 3, 4, tzinfo=UTC), "acme", keep_runs=2) == 2
    left = {n.split("/")[1] for n in names(tmp_path) if n.startswith("acme/") and n.endswith("manifest.json")}
    assert left == {"2026-03-03", "2026-03-04"}
    assert (tmp_path / "acme" / "2026-03-01" / "notes.txt").exists()
    assert (tmp_path / "acme" / "2026-03-01" / f"{uuid.UUID(int=9)}.events.partial").exists()
    assert len([n for n in names(tmp_path) if n.startswith("other/")]) == 12
    assert expire_reports(tmp_path, datetime(2026, 3, 9, tzinfo=UTC)) == 6
    assert names(tmp_path) == {"acme/2026-03-01/notes.txt", f"acme/2026-03-01/{uuid.UUID(int=9)}.events.partial"}
    assert not (tmp_path / "other").exists()
    assert expire_reports(tmp_path / "nowhere", WHEN) == 0


def switch_on(store: Store, namespace: str, **settings: str) -> None:
    overlay = json.dumps({"report_file_sink_enabled": True, **settings})
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.namespaces SET settings = settings || %s::jsonb WHERE slug = %s", (overlay, namespace)
        )


def reports_of(namespace: str) -> list[Path]:
    return sorted((reports_path(Settings()) / namespace).rglob("*.manifest.json"), key=lambda p: p.stat().st_mtime)


def test_a_night_an_apply_and_an_undo_leave_their_reports(store: Store) -> None:
    """The setting is the namespace's, the folder the machine's. The apply run's undo record holds what every cell held before."""
    world = new_world(store)
    switch_on(store, world.slug, redact_text="none")
    night = run_night(store, world.slug)
    (found,) = reports_of(world.slug)
    manifest = load_manifest(found)
    assert (manifest["run_id"], manifest["mode"], manifest["state"]) == (night.run_id, "plan", night.state)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    before = digest(store, world.slug)
    result = apply_approval(store, approval.id)
    applied = load_manifest(reports_of(world.slug)[-1])
    assert (applied["mode"], applied["state"]) == ("apply", "completed")
    path = reports_of(world.slug)[-1].with_name(f"{result.run_id}.undo.json")
    assert path.name in applied["files"]
    record = json.loads(path.read_text())
    assert {k: record[k] for k in ("schema", "schema_version", "run_id", "namespace_id")} == {
        "schema": UNDO_SCHEMA,
        "schema_version": 1,
        "run_id": result.run_id,
        "namespace_id": world.namespace_id,
    }
    with store.connect("reader") as connection:
        entries = connection.execute(
            "SELECT j.item_id::text, j.table_name, j.row_id::text, j.row_key, j.column_name, j.action, b.before FROM night.journal j "
            "JOIN night.before_images b ON b.journal_id = j.id WHERE j.run_id = %s ORDER BY j.item_id, j.id",
            (result.run_id,),
        ).fetchall()
    cells = ("table", "row", "key", "column", "action", "before")
    assert [(op["op_id"], *(cell[c] for c in cells)) for op in record["ops"] for cell in op["before"]] == entries
    assert {op["op_type"] for op in record["ops"]} == {"dedupe_entities", "archive_stale"}
    assert all(set(op) == {"op_id", "op_type", "before", "applied_at"} for op in record["ops"])
    for path in reports_path(Settings()).rglob("*.json*"):
        path.unlink()
    undo_run(store, result.run_id)
    assert digest(store, world.slug) == before, "undo rests on the journal, never on a file"
    assert load_manifest(reports_of(world.slug)[-1])["mode"] == "undo"


def test_the_undo_record_obeys_the_level(store: Store) -> None:
    """khora's defect C10: undo files held names and texts under any level."""
    world = new_world(store)
    switch_on(store, world.slug, redact_text="all")
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    result = apply_approval(store, approval.id)
    (path,) = reports_path(Settings()).rglob(f"{result.run_id}.undo.json")
    record = json.loads(path.read_text())
    assert record["ops"]
    cells = [cell for op in record["ops"] for cell in op["before"]]
    ids = {"source_entity_id", "target_entity_id"}
    assert {cell["before"] for cell in cells if cell["column"] not in ids} == {None}
    assert {cell["column"] for cell in cells if cell["before"]} == ids, "ids are ours"
    assert load_manifest(path.with_name(f"{result.run_id}.manifest.json"))["redact_text"] == "all"


def test_a_journal_that_cannot_be_read_costs_the_record_only(tmp_path: Path) -> None:
    """The run is over and stands; events, summary and manifest are there, and the sink says what it could not write."""
    sink = FileSink(tmp_path, "none", Store("postgresql://me:hunter2@127.0.0.1:1/none"))
    sink.emit(started(mode="apply"))
    with pytest.raises(StoreError, match="does not answer"):
        sink.emit(ended(mode="apply"))
    sink.close()
    manifest = load_manifest(tmp_path / "acme" / "2026-03-01" / f"{RUN}.manifest.json")
    assert set(manifest["files"]) == {f"{RUN}.events.jsonl", f"{RUN}.summary.md"}
    assert not list(tmp_path.rglob("*undo*"))
