"""Nights of three small namespaces, compared in full with their records: items, winners, questions, probes, reports, apply and undo.

A difference means that behaviour has changed. ``TEST_RENEW_RECORDS=1`` writes the records anew where that is intended.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS
from slowwave.plans.items import Item
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, VECTORS, metadata
from tests.memories import ask, remember
from tests.night.recorded import HERE, NOW, Tables, generate
from tests.permitting import approve
from tests.snapshots import uid

TOPICS: Final = ("memories", "graph", "pages")
SEED: Final = 1

NOT_IN_NIGHTS: Final = {
    "weekly_reflections": "It needs a model.",
    "deep_pass": "It runs separately with a model, and plans nothing within a night.",
    "import_corpus": "It plans the folder that `slowwave migrate` names.",
    "proposed_changes": "It plans the proposals of agents, which `slowwave proposals plan` names.",
}
"""The operations that no night plans anything with, and the reason."""

_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Matches ``uid("mara")``, but not its first eight characters alone."""
_HASH: Final = re.compile(r"\b[0-9a-f]{24,64}\b")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z|\+00:00|\+00)")
"""Matches ``2026-03-01T03:00:00+00:00``, but no date alone."""
_VECTOR: Final = re.compile(r"\[?-?[0-9.][-0-9.e+, ]{1000,}\]?|[A-Za-z0-9+/=]{1000,}")
"""Matches the 512 numbers of a vector as text or base64, but no sentence."""
_WIDTH: Final = 240
"""Characters of a line of a record: most writes and guards of an item fit."""
_DRIFT: Final = timedelta(minutes=5)
"""How far the server's clock may be ahead."""
_SHOWN: Final = 200
"""Lines of a difference that a failure shows."""


class Recorder:
    """Write values of a night in a form that is equal on each machine.

    Ids are the names of their rows, and ids that the night makes are numbered in each value. Instants after ``began`` are those of the
    apply. Vectors are left out and numbers rounded, because their last digits depend on the processor.
    """

    def __init__(self, tables: Tables, began: datetime) -> None:
        self._names = {uid(row["id"]): f"<{row['id']}>" for rows in tables.values() for row in rows}
        self._items: dict[str, str] = {}
        self._began = began
        self._made: dict[str, str] = {}

    def name_items(self, items: Iterable[Item]) -> None:
        """Let each item have its operation, its decision and its rows as a name."""
        for item in sorted(items, key=lambda item: json.dumps(self.write(item.to_json() | {"id": ""}))):
            rows = [self._names[row].strip("<>") for row in sorted(item.mutation.row_ids()) if row in self._names]
            written = rows or [
                str(insert.values["path"]) for insert in item.mutation.inserts if insert.values.get("path")
            ]
            name = f"{item.operation} {item.decision}: {', '.join(dict.fromkeys(sorted(written)))}"
            same = sum(other.startswith(name) for other in self._items.values())
            self._items[item.id] = f"{name} ({same + 1})" if same else name

    def name(self, item_id: str) -> str:
        """Return the name of an item."""
        return self._items.get(item_id, item_id)

    def write(self, value: Any) -> Any:
        """Return JSON values without anything that differs from machine to machine."""
        self._made = {}
        return self._write(value)

    def _write(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._write_text(value)
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, Mapping):
            return {self._write(str(key)): self._write(inner) for key, inner in value.items()}
        if isinstance(value, Iterable):
            return [self._write(inner) for inner in value]
        return value

    def _write_text(self, text: str) -> str:
        if _VECTOR.fullmatch(text):
            return "<vector>"
        text = _ID.sub(self._write_id, text)
        text = _HASH.sub(lambda found: self._items.get(found[0], found[0][:8]), text)
        return _INSTANT.sub(self._write_instant, text)

    def _write_id(self, found: re.Match[str]) -> str:
        known = self._items.get(found[0]) or self._names.get(found[0])
        return known or self._made.setdefault(found[0], f"<new {len(self._made) + 1}>")

    def _write_instant(self, found: re.Match[str]) -> str:
        instant = datetime.fromisoformat(found[0])
        return "<apply>" if self._began <= instant <= datetime.now(UTC) + _DRIFT else instant.isoformat()


@pytest.mark.parametrize("topic", TOPICS)
def test_night_of_recorded_namespace_matches_record(store: Store, topic: str) -> None:
    """All that a night decides, and what apply and undo do to the tables, is as it was recorded."""
    lines = _format(_run(store, topic))
    file = HERE / f"{topic}.json"
    if os.environ.get("TEST_RENEW_RECORDS"):
        file.write_text("\n".join(lines) + "\n", "utf-8")
    changes = difflib.unified_diff(file.read_text("utf-8").splitlines(), lines, "recorded", "now", n=2, lineterm="")
    if shown := list(itertools.islice(changes, _SHOWN)):
        pytest.fail(
            "\n".join(
                (
                    f"The night of {topic!r} is not as {file.name} records it. If that is intended, set TEST_RENEW_RECORDS=1, run this",
                    "test again and commit the record with the change that explains it:",
                    *shown,
                )
            ),
            pytrace=False,
        )


def test_recorded_nights_cover_every_operation() -> None:
    """Each planner has an item in a record, except those that no night plans anything with."""
    records = [json.loads((HERE / f"{topic}.json").read_text("utf-8")) for topic in TOPICS]
    planned = {name.partition(" ")[0] for record in records for name in record["items"]}
    assert planned == PLANNERS.keys() - NOT_IN_NIGHTS.keys()


def _run(store: Store, topic: str) -> dict[str, Any]:
    """Run a night of the namespace with every operation, apply all of its items and undo them; return what came of it."""
    settings, tables = generate(topic, SEED)
    first = min((row["occurred_at"] for row in tables["recall_events"]), default=NOW)
    ask(store, "SELECT memory.ensure_recall_partitions(%s, %s)", first, NOW)
    remember(store, topic, settings, **tables)
    recorder = Recorder(tables, datetime.now(UTC))
    before = _hash_tables(store, recorder)
    whole = digest(store, topic)
    night = run_night(store, topic, ops="all", now=NOW)
    assert night.plan
    assert night.probes
    recorder.name_items([*night.plan.items, *night.plan.deferred_items])
    approval = approve(
        *(store, topic, night.plan.plan_hash), approver="mara", include_review=True, force=True, note="recorded"
    )
    applied = apply_approval(store, approval.id)
    after = _hash_tables(store, recorder)
    undo_run(store, applied.run_id)
    reports = {**night.reports, **night.proposals}
    return {
        "items": {
            recorder.name(item.id): recorder.write({key: value for key, value in item.to_json().items() if key != "id"})
            for item in (*night.plan.items, *night.plan.deferred_items)
        },
        "deferred": {recorder.name(loser): recorder.name(winner) for loser, winner in night.plan.deferred.items()},
        "questions": {
            recorder.name(item): [question.code, recorder.write(question.sentence)]
            for item, question in night.plan.questions.items()
        },
        "probes": recorder.write({**night.probes.results, "sentences": night.probes.sentences}),
        "needs force": recorder.write(night.probes.needs_force),
        "reports": {
            name: {
                **{key: value for key, value in recorder.write(report.numbers).items() if value},
                "findings": len(report.findings),
            }
            for name, report in reports.items()
        },
        "apply": applied.counts,
        "tables after apply": {name: rows for name, rows in after.items() if rows != before.get(name)},
        "tables before and after undo": [before, "equal" if digest(store, topic) == whole else "different"],
    }


def _hash_tables(store: Store, recorder: Recorder) -> dict[str, str]:
    """Return table → number of rows and a hash of them as the recorder writes them, without the numbers of vectors."""
    hashes: dict[str, str] = {}
    for table in (*EXPORTED, *(metadata.tables[f"memory.{name}"] for name in VECTORS)):
        columns = [column.name for column in table.c if column.name not in (*DERIVED_COLUMNS, "vector")]
        found = ask(store, f"SELECT {', '.join(columns)} FROM {table.fullname}")
        rows = sorted(json.dumps(recorder.write(list(map(_plain, row)))) for row in found)
        if rows:
            hashes[table.name] = f"{len(rows)} rows {hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]}"
    return hashes


def _plain(value: object) -> object:
    """Return a value of a column as JSON has it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _format(value: Any, indent: str = "", lead: str = "", end: str = "") -> list[str]:
    """Return JSON in lines: what fits is on one line, so that a difference shows little else."""
    line = f"{indent}{lead}{json.dumps(value, ensure_ascii=False, sort_keys=True)}{end}"
    if not isinstance(value, dict | list) or not value or (len(line) <= _WIDTH and indent):
        return [line]
    inner = indent + " "
    if isinstance(value, dict):
        parts = [(f"{json.dumps(key, ensure_ascii=False)}: ", value[key]) for key in sorted(value)]
    else:
        parts = [("", part) for part in value]
    last = len(parts) - 1
    lines = [
        line for n, (name, part) in enumerate(parts) for line in _format(part, inner, name, "," if n < last else "")
    ]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return [f"{indent}{lead}{opening}", *lines, f"{indent}{closing}{end}"]
