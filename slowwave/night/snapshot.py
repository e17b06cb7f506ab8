"""The snapshot of a night as files, and the results that its steps compute from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import fsspec
import numpy as np
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem
from psycopg.types.json import Jsonb

from slowwave.errors import SnapshotError
from slowwave.operations import Proposal
from slowwave.plans.items import Item
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import (
    Snapshot,
    database_base,
    folder_of,
    load_snapshot,
    remove_snapshot,
    save_snapshot,
)
from slowwave.store.connect import Store
from slowwave.store.logins import hand_over, make_private
from slowwave.store.settings import Settings

# The snapshot of a night: a namespace is exported to files and noted in the ledger, and old snapshots are removed.

_NOTE_SNAPSHOT: Final = """
INSERT INTO night.snapshots (id, namespace_id, location, change_counter, vector_model, row_counts, taken_at)
  VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_OLD_SNAPSHOTS: Final = """
SELECT s.id, s.location FROM night.snapshots s WHERE s.namespace_id = %s AND s.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM night.plans p WHERE p.namespace_id = s.namespace_id AND p.state IN ('awaiting_approval', 'approved')
    AND p.expires_at > now() AND s.id IN (p.snapshot_id, p.summary ->> 'snapshot_id')
    AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending'))
ORDER BY s.taken_at DESC, s.id OFFSET %s
"""
"""The snapshots after the newest, except those of pending plans: when a part of such a plan is approved, it is checked separately."""
_NOTE_DELETED: Final = "UPDATE night.snapshots SET deleted_at = now() WHERE id = ANY(%s)"


_UNTOUCHED: Final = """
SELECT n.settings = %(settings)s AND (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id) = %(counter)s
  AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.namespace_id = n.id AND r.id::text <> %(run)s
    AND coalesce(r.finished_at, r.heartbeat_at) >= %(taken)s)
  AND NOT EXISTS (SELECT 1 FROM night.rejections r WHERE r.namespace_id = n.id AND r.recorded_at >= %(taken)s)
FROM memory.namespaces n WHERE n.id = %(namespace)s
"""
"""Returns whether nothing that Slowwave itself did since a snapshot was read has changed it."""


def take_snapshot(store: Store, namespace: str, base: str = "") -> str:
    """Take a snapshot of a namespace as ``snapshot_of_night`` does, and return its location."""
    return _taken(store, namespace, base)[0]


def snapshot_of_night(
    store: Store,
    namespace: str,
    base: str = "",
    *,
    now: datetime | None = None,
    exported: Snapshot | None = None,
    run_id: str = "",
) -> Snapshot:
    """Take the snapshot that a night reads: export it to files, note it in the ledger, and remove old ones.

    The newest ``snapshot_keep_nights`` are kept, and in addition the snapshot of every plan with items that are pending approval.

    ``exported`` is the namespace as it was read together with others a moment ago, before the run ``run_id`` claimed it. It is used
    unless another run or a person has touched the namespace since. Because it is small, it is returned from memory and not loaded from
    its files.

    With ``now`` the snapshot carries that instant; the ledger keeps the real one.
    """
    location, taken = _taken(store, namespace, base, now, exported, run_id)
    return load_snapshot(location) if taken is None else taken


def _taken(
    store: Store,
    namespace: str,
    base: str,
    now: datetime | None = None,
    exported: Snapshot | None = None,
    run_id: str = "",
) -> tuple[str, Snapshot | None]:
    """Return the location of the snapshot, and the snapshot itself if it was read together with others."""
    base = base or database_base(store)
    settings = Settings.for_namespace({})
    together = exported is not None and _untouched(store, exported, run_id)
    snapshot = exported if exported and together else export_snapshot(store, namespace, model=settings.embedding_model)
    dated = snapshot if now is None else replace(snapshot, taken_at=now.astimezone(UTC))
    location = save_snapshot(dated, base)
    with store.connect("planner") as connection:
        connection.execute(
            _NOTE_SNAPSHOT,
            (
                *(snapshot.snapshot_id, snapshot.namespace_id, location, snapshot.change_counter),
                *(snapshot.vectors["entity_vectors"].model, Jsonb({k: len(t) for k, t in snapshot.tables.items()})),
                snapshot.taken_at,
            ),
        )
        old = connection.execute(
            _OLD_SNAPSHOTS,
            (snapshot.namespace_id, Settings.for_namespace(snapshot.settings).snapshot_keep_nights),
        ).fetchall()
        gone = [str(id_) for id_, place in old if remove_snapshot(str(place), namespace, str(id_), base)]
        if gone:
            connection.execute(_NOTE_DELETED, (gone,))
    return location, dated if together else None


def _untouched(store: Store, snapshot: Snapshot, run_id: str) -> bool:
    since = {
        "settings": Jsonb(dict(snapshot.settings)),
        "counter": snapshot.change_counter,
        "run": run_id,
        "taken": snapshot.taken_at,
        "namespace": snapshot.namespace_id,
    }
    with store.connect("reader") as connection:
        row = connection.execute(_UNTOUCHED, since).fetchone()
    return bool(row and row[0])


# What a night computes from a snapshot, as files next to the snapshot's own: tables of models, reports, proposals.
#
# A result belongs to one snapshot and is removed with it (retention, erasure). A small pointer file for each name states which snapshot its
# newest result comes from, so that nothing is stored twice. Results hold memory text, as snapshots do.

_POINTERS: Final = ".latest"  # snapshots' own names never begin with a dot


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A value and the location of the snapshot that it was computed from."""

    location: str
    value: Any


def save_result(result: Result, name: str) -> None:
    """Write a table, a report or a proposal next to its snapshot; an older one of that name is replaced as a whole."""
    value = result.value
    if isinstance(value, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, value.schema) as writer:
            writer.write_table(value)
        _write(f"{result.location}/{name}.arrow", sink.getvalue().to_pybytes())
    elif isinstance(value, Report):
        _write(f"{result.location}/{name}.json", _json({"report": asdict(value)}))
    elif isinstance(value, Proposal):
        rest = {
            "report": asdict(value.report),
            "learnt": _encoded(tuple((value.learnt or {}).items())),
            "nearer": value.nearer,
        }
        items = ",".join(item.sealed().line() for item in value.items)  # most of it, and JSON already
        _write(f"{result.location}/{name}.json", f'{{"items":[{items}],'.encode() + _json(rest)[1:])
    else:
        raise TypeError(f"A {type(value).__name__} is no result of a night.")


def load_table_result(location: str, name: str) -> pa.Table:
    """Load the table of a model; a local file is memory-mapped."""
    system, path = fsspec.url_to_fs(f"{location}/{name}.arrow")
    try:
        source = pa.memory_map(path) if isinstance(system, LocalFileSystem) else pa.BufferReader(system.cat_file(path))
        return pa.ipc.open_file(source).read_all()
    except FileNotFoundError:
        raise _missing(location, name) from None


def load_report(location: str, name: str) -> Report:
    """Load the report of an audit; lists in the JSON become tuples again."""
    return _report(_read_json(location, name)["report"])


def load_proposal(location: str, name: str) -> Proposal:
    """Load the items, the report and the weights of a planner.

    Item ids are computed again from their content.
    """
    found = _read_json(location, name)
    items = tuple(Item.from_json(item) for item in found["items"])
    return Proposal(items, _report(found["report"]), dict(_decoded(found["learnt"])) or None, tuple(found["nearer"]))


def point(location: str, name: str) -> None:
    """Note that the newest result of ``name`` comes from the snapshot at ``location``."""
    parent, snapshot_id = location.rsplit("/", 1)
    _write(f"{parent}/{_POINTERS}/{name}", snapshot_id.encode())


def latest(base: str, namespace: str, name: str) -> str:
    """Return the location of the snapshot with the newest result of ``name``; ``base`` is the location of the database's own."""
    parent = folder_of(base, namespace)
    system, path = fsspec.url_to_fs(f"{parent}/{_POINTERS}/{name}")
    try:
        return f"{parent}/{system.cat_file(path).decode()}"
    except FileNotFoundError:
        raise _missing(parent, name) from None


def one_location(results: Mapping[str, Result]) -> str:
    """Return the location of the snapshot that all ``results`` come from; raise ``SnapshotError`` if it is not exactly one."""
    by_location = {result.location: name for name, result in results.items()}
    if len(by_location) != 1:
        message = ", ".join(
            f"{name} of {location.rsplit('/', 1)[-1]}" for location, name in sorted(by_location.items())
        )
        raise SnapshotError(
            f"Inputs come from different snapshots ({message or 'there are none'}), and they would not fit together. "
            "Run the whole night again, from the snapshot on."
        )
    return next(iter(by_location))


def _write(url: str, content: bytes) -> None:
    system, path = fsspec.url_to_fs(url)
    if not isinstance(system, LocalFileSystem):
        system.pipe_file(path, content)
        return
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        make_private(target.parent)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        hand_over(temporary)
        temporary.replace(target)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise SnapshotError(
            f"A result cannot be written beside its snapshot, to {target}: {problem.strerror or problem}. Make room there, or run the "
            "night again if retention removed the snapshot."
        ) from None


def _read_json(location: str, name: str) -> dict[str, Any]:
    system, path = fsspec.url_to_fs(f"{location}/{name}.json")
    try:
        return json.loads(system.cat_file(path))
    except FileNotFoundError:
        raise _missing(location, name) from None


def _json(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, separators=(",", ":"), default=_scalar).encode()


def _scalar(value: object) -> object:
    """Return NumPy's scalars as Python's, and any other value as its text."""
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


def _encoded(value: Any) -> Any:
    """Return weights as JSON: arrays with their type, values of the library's classes with their names."""
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "values": value.tolist()}
    if is_dataclass(value):
        return {"class": type(value).__name__, **{f.name: _encoded(getattr(value, f.name)) for f in fields(value)}}
    return [_encoded(part) for part in value] if isinstance(value, tuple) else value


def _decoded(value: Any) -> Any:
    """Invert ``_encoded``; every list was a tuple."""
    from slowwave.matching.compare import Comparison  # loads SciPy, which is not needed to import this module
    from slowwave.matching.weights import Weights

    if isinstance(value, list):
        return tuple(map(_decoded, value))
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["values"], value["array"])
    known = {"Weights": Weights, "Comparison": Comparison}
    return known[value["class"]](**{name: _decoded(part) for name, part in value.items() if name != "class"})


def _report(found: Mapping[str, Any]) -> Report:
    return Report(
        operation=found["operation"],
        headline=found["headline"],
        numbers=found["numbers"],
        findings=tuple(
            Finding(f["message"], tuple(f["rows"]), f["severity"], f["details"], f.get("coverage", False))
            for f in found["findings"]
        ),
        table=tuple(found["table"]),
        plots=tuple(Bars(**p) for p in found["plots"]),
        details=found["details"],
        skipped=found["skipped"],
        started_at=found["started_at"],
        seconds=found["seconds"],
    )


def _missing(location: str, name: str) -> SnapshotError:
    return SnapshotError(
        f"There is no result of {name} at {location}: it was not computed, or retention removed its snapshot. "
        "Materialize it, or run the night again."
    )
