"""Report files of runs: summary, events, manifest and undo, in one folder per namespace and day."""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Final

import psycopg

from slowwave.errors import ReportError, SlowwaveError
from slowwave.night.run_events import Event, Level, RunCompleted, RunFailed, redact
from slowwave.plans.report import escape, markdown_table
from slowwave.store.connect import Store, path_part
from slowwave.store.logins import hand_over, make_private
from slowwave.store.server import default_home
from slowwave.store.settings import Settings

# The account of a run, built from its events for the ``summary.md`` of its report files. One pass, a bounded sample in memory.

SAMPLED: Final = 20
"""The number of items that a summary shows."""

_RISKS: Final = {"high": 2, "medium": 1, "low": 0}
_TEXTS: Final = {
    "none": "whole, as `redact_text` is none",
    "summary": "cut at 200 characters, as `redact_text` is summary",
    "all": "hidden, as `redact_text` is all",
}


@dataclass(slots=True)
class RunAccount:
    """The figures of a run: ``items`` counts items by operation, decision and status, ``sample`` holds those of most impact."""

    run_id: str = ""
    namespace: str = ""
    mode: str = ""
    trigger: str = ""
    state: str = ""
    started_at: str = ""
    ended_at: str = ""
    duration_ms: float = 0.0
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    phases: list[dict[str, object]] = field(default_factory=list)
    operations: list[dict[str, object]] = field(default_factory=list)
    items: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    sample: list[tuple[tuple[int, int, str], Mapping[str, Any]]] = field(default_factory=list)
    tokens: int = 0

    def markdown(self, schema: str, redacted: str) -> str:
        """Format the summary, with text from memory escaped."""
        about = {
            "Namespace": self.namespace,
            "Mode": self.mode,
            "Trigger": self.trigger,
            "State": self.state,
            "Started": self.started_at,
            "Ended": self.ended_at,
            "Duration": f"{self.duration_ms / 1000:,.2f} s",
            "Items": f"{self.items.total():,}",
            "Tokens of models": f"{self.tokens:,}",
            **({"Error": self.error} if self.error else {}),
            **{f"Of them {name}": f"{n:,}" for name, n in self.counts.items()},
        }
        parts = [
            f"<!-- {schema} -->",
            f"# Run {escape(self.run_id)}",
            markdown_table([{"": name, "value": value} for name, value in about.items() if value]),
            f"Memory text is {_TEXTS.get(redacted, 'hidden')}.",
        ]
        if self.phases:
            parts += ["## Phases", markdown_table(self.phases)]
        if self.operations:
            parts += ["## Operations", markdown_table(self.operations)]
        if self.items:
            rows = [
                {"operation": operation, "decision": decision, "status": status, "items": f"{n:,}"}
                for (operation, decision, status), n in sorted(self.items.items())
            ]
            parts += ["## Items by decision", markdown_table(rows), *self._samples()]
        return "\n\n".join(parts) + "\n"

    def _samples(self) -> list[str]:
        chosen = [event for _, event in sorted(self.sample, key=lambda s: s[0], reverse=True)]
        how = f"{len(chosen):,} of {self.items.total():,}: the riskiest first, of equal risk those with most rows, then by id."
        return ["## Items of most impact", how, markdown_table([_row(event) for event in chosen])]


def account_of(events: Iterable[Mapping[str, Any]]) -> RunAccount:
    """Build the account of a run from its events as JSON, including those from before it was resumed."""
    account = RunAccount()
    for event in events:
        _take(account, event)
    if not account.state:
        account.state = "crashed"
    return account


def _take(account: RunAccount, event: Mapping[str, Any]) -> None:
    account.run_id, account.namespace = str(event.get("run_id", "")), str(event.get("namespace", ""))
    account.started_at = account.started_at or str(event.get("at", ""))
    account.ended_at = str(event.get("at", ""))
    match event.get("event"):
        case "RunStarted":
            account.mode, account.trigger = str(event["mode"]), str(event["trigger"])
            account.state, account.error = "", ""
        case "PhaseCompleted":
            account.phases.append(
                {
                    "phase": event["phase"],
                    "outcome": event["outcome"],
                    "operations": event["ops_total"],
                    "seconds": f"{event['duration_ms'] / 1000:,.2f}",
                }
            )
        case "LlmCalled":
            account.tokens += int(event["input_tokens"]) + int(event["output_tokens"])
        case "OperationEvent":
            _take_operation(account, event)
        case "RunCompleted":
            account.mode, account.state, account.counts = str(event["mode"]), str(event["state"]), dict(event["counts"])
            account.duration_ms += float(event["duration_ms"])
        case "RunFailed":
            account.mode, account.state = str(event["mode"]), "crashed"
            account.error = f"{event['error_type']} ({event['error_hash']})"
            account.duration_ms += float(event["duration_ms"])
        case _:
            pass


def _take_operation(account: RunAccount, event: Mapping[str, Any]) -> None:
    operation, decision, status = str(event["op_type"]), str(event["decision"]), str(event["status"])
    if event["op_id"] == operation:  # a whole audit or planner
        account.operations.append(
            {
                "operation": operation,
                "decision": decision,
                "seconds": f"{event['duration_ms'] / 1000:,.2f}",
                "says": event["outputs"].get("headline") or "",
            }
        )
        return
    account.items[operation, decision, status] += 1
    inputs = event["inputs"]
    weight = (_RISKS.get(str(inputs.get("risk")), 0), len(inputs.get("rows") or ()), str(event["op_id"]))
    keep = heapq.heappush if len(account.sample) < SAMPLED else heapq.heappushpop
    if not any(weight == known for known, _ in account.sample):  # an item reported twice is one
        keep(account.sample, (weight, event))


def _row(event: Mapping[str, Any]) -> dict[str, object]:
    inputs = event["inputs"]
    evidence = event["outputs"].get("evidence")
    names = evidence.get("names") if isinstance(evidence, dict) else None
    shown = [str(name) for name in names if name] if isinstance(names, list) else []
    score = (event.get("rationale") or {}).get("score")
    return {
        "operation": event["op_type"],
        "decision": event["decision"],
        "status": event["status"],
        "risk": inputs.get("risk") or "",
        "rows": f"{len(inputs.get('rows') or ()):,} of {inputs.get('table') or ''}",
        "probability": "" if score is None else f"{score:.4f}",
        "what": " = ".join(shown) or inputs.get("kind") or "",
        "item": event["op_id"],
    }


# Report files of runs: ``BASE/namespace/date/run.{summary.md, events.jsonl, manifest.json, undo.json}`` (khora 12.1).
#
# While a run is in progress, its events are appended to ``run.events.partial``. At its end the file gets its final name and the others are
# written, the manifest last. Files are readable by their owner only and never half written. They are only a report: the ledger and the
# journal are authoritative, and undo never reads the files. Events come redacted from ``slowwave.night.run_events``.
# ``slowwave.night.retention`` decides when files are removed.

SCHEMA: Final = "dream-report/1"
UNDO_SCHEMA: Final = "dream-undo/1"

_PARTIAL: Final = "events.partial"
_WHOLE: Final = "events.jsonl"
_CRASHED: Final = "events.crashed.jsonl"
_KINDS: Final = ("summary.md", _WHOLE, _PARTIAL, _CRASHED, "manifest.json", "undo.json")
_FILE: Final = re.compile(rf"([0-9A-Za-z][0-9A-Za-z_-]{{0,79}})\.({'|'.join(map(re.escape, _KINDS))})")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_CELL: Final = ("table", "row", "key", "column", "action", "before")
_BLOCK: Final = 1 << 20
_AT_WORK: Final = timedelta(days=1)  # an unfinished file that was written to since belongs to a run that goes on

_RUN: Final = "SELECT namespace_id::text, started_at FROM night.runs WHERE id = %s"
_JOURNAL: Final = """
SELECT j.item_id::text, i.operation, j.table_name, j.row_id::text, j.row_key, j.column_name, j.action, b.before, j.recorded_at
FROM night.journal j JOIN night.runs r ON r.id = j.run_id
LEFT JOIN night.before_images b ON b.journal_id = j.id
LEFT JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = j.item_id
WHERE j.run_id = %s ORDER BY j.item_id, j.id
"""


def reports_path(settings: Settings) -> Path:
    """Return the folder of report files: ``report_base_path`` or, without it, ``reports`` in ``SLOWWAVE_HOME``."""
    chosen = settings.report_base_path
    return Path(chosen).expanduser() if chosen else default_home() / "reports"


class FileSink:
    """A sink that writes the files of one run.

    ``redact`` is the level at which its events arrive; ``store`` is queried for the journal of an apply run. A new sink continues the
    files of a run that another sink left, finished or not: steps of one run may follow one another, and a run may be resumed. A sink that
    is neither closed nor sent an end leaves the events where they are.
    """

    name = "file"

    def __init__(self, base: Path, redact: Level, store: Store | None = None) -> None:
        self._base = base
        self._redact: Level = redact
        self._store = store
        self._events: BinaryIO | None = None
        self._stem = Path()

    def emit(self, event: Event) -> None:
        """Append an event, and finish the files if it is the run's last."""
        file = self._events or self._open(event)
        file.write(_line({"schema": SCHEMA, **event.to_json()}))
        file.flush()
        if isinstance(event, (RunCompleted, RunFailed)):
            self._finish(_WHOLE if isinstance(event, RunCompleted) else _CRASHED)

    def close(self) -> None:
        """Close the sink; a run that did not report its end is recorded as crashed."""
        if self._events is not None:
            self._finish(_CRASHED)

    def _open(self, event: Event) -> BinaryIO:
        run, folder = path_part(event.run_id), self._base / path_part(event.namespace)
        found = [path for kind in (_PARTIAL, _CRASHED, _WHOLE) for path in folder.glob(f"*/{run}.{kind}")]
        self._stem = (found[0].parent if found else folder / f"{event.at.astimezone(UTC):%Y-%m-%d}") / run
        make_private(self._stem.parent)
        partial = self._file(_PARTIAL)
        if found:
            self._file("manifest.json").unlink(missing_ok=True)  # it describes files that are about to change
            found[0].replace(partial)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self._events = os.fdopen(os.open(partial, flags, 0o600), "a+b")
        hand_over(partial)
        size = self._events.seek(0, os.SEEK_END)
        if size and _last_byte(self._events, size) != b"\n":
            self._events.write(b"\n")  # a process died while it wrote
        return self._events

    def _file(self, kind: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{kind}")

    def _finish(self, kind: str) -> None:
        file, self._events = self._events, None
        if file is None:
            return
        with file:
            file.flush()
            os.fsync(file.fileno())
        events = self._file(kind)
        self._file(_PARTIAL).replace(events)
        account = account_of(_read_lines(events))
        written = {events: _fingerprint(events)}
        summary = self._file("summary.md")
        written[summary] = _write(summary, [account.markdown(SCHEMA, self._redact).encode("utf-8", "replace")])
        failed: Exception | None = None
        if account.mode == "apply" and self._store is not None:
            undo = self._file("undo.json")
            try:
                written[undo] = _write(undo, undo_record(self._store, account.run_id, self._redact))
            except (psycopg.Error, SlowwaveError) as problem:  # the manifest describes the files that exist
                failed = problem
        _write(self._file("manifest.json"), [self._manifest(account, written, completed=kind == _WHOLE)])
        if failed:
            raise failed

    def _manifest(self, account: RunAccount, written: Mapping[Path, Mapping[str, object]], *, completed: bool) -> bytes:
        content = {
            "schema": SCHEMA,
            "run_id": account.run_id,
            "namespace": account.namespace,
            "mode": account.mode,
            "state": account.state,
            "redact_text": self._redact,
            "completed": completed,
            "written_at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "files": {path.name: about for path, about in written.items()},
        }
        return json.dumps(content, indent=2).encode() + b"\n"


def undo_record(store: Store, run_id: str, level: Level) -> Iterator[bytes]:
    """Yield the JSON of ``dream-undo/1`` for an apply run in parts: the redacted old value of every cell of its items.

    ``before`` is a list of cells of the journal: table, row, key (the model of a vector), column, action, and the old text. Makes one
    pass over the run's entries and holds one item in memory. Raises ``ReportError`` if the run is not in the ledger.
    """
    with store.connect("reader") as connection, connection.transaction():
        head = connection.execute(_RUN, (run_id,)).fetchone()
        if head is None:
            raise ReportError(f"Run {run_id} is not in the ledger, so there is nothing to record of its changes.")
        about = {
            "schema": UNDO_SCHEMA,
            "schema_version": 1,
            "run_id": run_id,
            "namespace_id": str(head[0]),
            "started_at": _instant(head[1]),
            "redact_text": level,
        }
        yield (json.dumps(about)[:-1] + ', "ops": [').encode()
        with connection.cursor(name="undo_record") as cursor:
            cursor.itersize = 10_000
            cursor.execute(_JOURNAL, (run_id,))
            comma = ""
            for item, cells in groupby(cursor, key=lambda row: row[0]):
                yield (comma + json.dumps(_operation(str(item), list(cells), level), ensure_ascii=False)).encode(
                    "utf-8", "replace"
                )
                comma = ",\n"
        yield b"]}\n"


def expire_reports(
    base: Path,
    before: datetime,
    namespace: str | None = None,
    *,
    keep_runs: int = 0,
    runs_of: Collection[str] | None = None,
) -> int:
    """Remove the files of runs that began on a day before ``before``, except the newest ``keep_runs`` of each namespace.

    With ``runs_of`` only runs with these ids are counted and removed, because another database may keep reports of a namespace of the
    same name in the same folder. Only files that this module writes are removed, in folders named by a date, and folders that become
    empty with them. A run that still writes is left alone. Returns how many runs were removed.
    """
    folders = [base / path_part(namespace)] if namespace is not None else _folders(base)
    removed = 0
    for folder in folders:
        runs: dict[tuple[str, str], list[Path]] = {}
        for day in _folders(folder):
            if _DATE.fullmatch(day.name):
                for path in day.iterdir():
                    match = _FILE.fullmatch(path.name)
                    ours = match and (runs_of is None or match[1] in runs_of)
                    if match and ours and path.is_file() and not path.is_symlink():
                        runs.setdefault((day.name, match[1]), []).append(path)
        newest = sorted(runs, key=lambda run: (run[0], max(p.stat().st_mtime for p in runs[run]), run[1]), reverse=True)
        for run in newest[keep_runs:]:
            if _day(run[0]) < before.astimezone(UTC).date() and not _at_work(runs[run]):
                for path in sorted(runs[run], key=lambda p: p.name.endswith(".manifest.json"), reverse=True):
                    path.unlink(missing_ok=True)
                removed += 1
        for emptied in (*(d for d in _folders(folder) if _DATE.fullmatch(d.name)), folder):
            if emptied.is_dir() and not any(emptied.iterdir()):
                emptied.rmdir()
    return removed


def _operation(item: str, cells: list[tuple[object, ...]], level: Level) -> dict[str, object]:
    return {
        "op_id": item,
        "op_type": cells[0][1],
        "before": [
            dict(zip(_CELL, (*cell[2:7], _redacted(str(cell[5]), cell[7], level)), strict=True)) for cell in cells
        ],
        "applied_at": _instant(min(cell[8] for cell in cells if isinstance(cell[8], datetime))),
    }


def _redacted(column: str, before: object, level: Level) -> object:
    """Return the redacted old value of a cell.

    Redaction depends on the column: an id in an id column is Slowwave's own, an id in a text is not.
    """
    found = redact({column: before}, level)
    return next(iter(found.values())) if isinstance(found, dict) else None


def _instant(value: object) -> str | None:
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else None


def _line(content: Mapping[str, object]) -> bytes:
    try:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)
    except ValueError:  # a number that JSON does not have
        text = json.dumps(_finite(content), ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace") + b"\n"


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a file; skip an incomplete line of a process that died."""
    with path.open("rb") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def _write(path: Path, parts: Iterable[bytes]) -> dict[str, object]:
    """Write a file completely under a temporary name, then rename it; return its checksum and size."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    digest, size = hashlib.sha256(), 0
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            for part in parts:
                file.write(part)
                digest.update(part)
                size += len(part)
            file.flush()
            os.fsync(file.fileno())
        hand_over(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return {"sha256": digest.hexdigest(), "bytes": size}


def _fingerprint(path: Path) -> dict[str, object]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return {"sha256": digest.hexdigest(), "bytes": size}


def _last_byte(file: BinaryIO, size: int) -> bytes:
    file.seek(size - 1)
    return file.read(1)


def _folders(path: Path) -> list[Path]:
    return sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink()) if path.is_dir() else []


def _day(name: str) -> date:
    try:
        return date.fromisoformat(name)
    except ValueError:  # a date such as 2026-13-45 is not one of ours
        return date.max


def _at_work(files: Iterable[Path]) -> bool:
    since = (datetime.now(UTC) - _AT_WORK).timestamp()
    return any(path.name.endswith(_PARTIAL) and path.stat().st_mtime > since for path in files)
