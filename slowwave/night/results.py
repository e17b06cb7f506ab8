"""What a night computes from a snapshot, as files beside the snapshot's own: tables of models, reports, proposals.

A result belongs to one snapshot and goes when the snapshot goes (retention, erasure). A small pointer file for each name says
which snapshot its newest result comes from, so that nothing is stored twice. Results hold memory text, as snapshots do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import fsspec
import numpy as np
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from slowwave.errors import SnapshotError
from slowwave.operations import Proposal
from slowwave.plans.items import Item
from slowwave.reports.model import Finding, Report
from slowwave.reports.plot import Bars
from slowwave.snapshots.files import folder_of
from slowwave.store.ownership import hand_over, make_private

_POINTERS: Final = ".latest"  # snapshots' own names never begin with a dot


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A value and the location of the snapshot that it was computed from."""

    location: str
    value: Any


def save_result(result: Result, name: str) -> None:
    """Write a table, a report or a proposal beside its snapshot; an older one of that name is replaced whole."""
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
    """A model's table; a local file is mapped, not read."""
    system, path = fsspec.url_to_fs(f"{location}/{name}.arrow")
    try:
        source = pa.memory_map(path) if isinstance(system, LocalFileSystem) else pa.BufferReader(system.cat_file(path))
        return pa.ipc.open_file(source).read_all()
    except FileNotFoundError:
        raise _missing(location, name) from None


def load_report(location: str, name: str) -> Report:
    """An audit's report; JSON made lists of its tuples, which are tuples again."""
    return _report(_read_json(location, name)["report"])


def load_proposal(location: str, name: str) -> Proposal:
    """A planner's items, report and weights. Item ids are computed again from their content."""
    found = _read_json(location, name)
    items = tuple(Item.from_json(item) for item in found["items"])
    return Proposal(items, _report(found["report"]), dict(_decoded(found["learnt"])) or None, tuple(found["nearer"]))


def point(location: str, name: str) -> None:
    """Note that the newest result of ``name`` comes from the snapshot at ``location``."""
    parent, snapshot_id = location.rsplit("/", 1)
    _write(f"{parent}/{_POINTERS}/{name}", snapshot_id.encode())


def latest(base: str, namespace: str, name: str) -> str:
    """The location of the snapshot that the newest result of ``name`` comes from; ``base`` is the database's own."""
    parent = folder_of(base, namespace)
    system, path = fsspec.url_to_fs(f"{parent}/{_POINTERS}/{name}")
    try:
        return f"{parent}/{system.cat_file(path).decode()}"
    except FileNotFoundError:
        raise _missing(parent, name) from None


def one_location(results: Mapping[str, Result]) -> str:
    """Where the snapshot of all ``results`` lies; results of several snapshots are refused."""
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
    """NumPy's scalars as Python's, anything else as its text."""
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


def _encoded(value: Any) -> Any:
    """Weights as JSON: arrays with their type, values of the library's classes with their names."""
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "values": value.tolist()}
    if is_dataclass(value):
        return {"class": type(value).__name__, **{f.name: _encoded(getattr(value, f.name)) for f in fields(value)}}
    return [_encoded(part) for part in value] if isinstance(value, tuple) else value


def _decoded(value: Any) -> Any:
    """The inverse of ``_encoded``; every list was a tuple."""
    from slowwave.matching.comparisons import Comparison  # brings SciPy, which definitions do without
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
