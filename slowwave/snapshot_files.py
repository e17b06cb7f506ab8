"""Snapshots as files: ``BASE/namespace/snapshot_id/table.arrow``, written once, read by mapping.

BASE is a folder or an fsspec URL. ``meta.json`` is written last: a folder without it is not a snapshot. Local files are mapped
into memory, remote ones are cached first. They hold memory text, so folders are for their owner only.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import fsspec
import numpy as np
import pyarrow as pa

from slowwave.errors import SnapshotError
from slowwave.snapshot import Snapshot, Vectors
from slowwave.store.server import default_home

_META: Final = "meta.json"


def base_path() -> str:
    """``SLOWWAVE_SNAPSHOTS``: a folder or an fsspec URL; by default a folder beside the embedded server's data."""
    return os.environ.get("SLOWWAVE_SNAPSHOTS") or str(default_home() / "snapshots")


def save_snapshot(snapshot: Snapshot, base: str) -> str:
    """Write every table and vector; returns the snapshot's location. An id that is there already is refused."""
    location = f"{base.rstrip('/')}/{snapshot.namespace}/{snapshot.snapshot_id}"
    system, path = fsspec.url_to_fs(location)
    if system.exists(f"{path}/{_META}"):
        raise SnapshotError(f"Snapshot {snapshot.snapshot_id} is written already, and snapshots are never overwritten.")
    with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
        _write_files(snapshot, Path(folder))
        if _is_local(system):
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            staged = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copytree(folder, staged)
            staged.chmod(0o700)
            staged.rename(target)
        else:
            names = sorted(p.name for p in Path(folder).iterdir() if p.name != _META)
            system.makedirs(path, exist_ok=True)
            for name in (*names, _META):
                system.put_file(str(Path(folder, name)), f"{path}/{name}")
    return location


def load_snapshot(location: str) -> Snapshot:
    """Read a snapshot back; its tables and vectors stay on disk until they are looked at."""
    system, path = fsspec.url_to_fs(location)
    if not system.exists(f"{path}/{_META}"):
        raise SnapshotError(
            f"There is no snapshot at {location}: it was never finished, or retention removed it. Run the night again."
        )
    folder = Path(path) if _is_local(system) else _cached(system, path)
    meta = json.loads((folder / _META).read_text())
    return replace(
        _snapshot(meta),
        tables={name: _read_table(folder / f"{name}.arrow") for name in meta["tables"]},
        vectors={name: _read_vectors(folder, name, model) for name, model in meta["vectors"].items()},
    )


def load_table(location: str, name: str) -> pa.Table:
    """One table of a snapshot."""
    return load_snapshot(location).table(name)


def remove_old(namespace: str, base: str, keep: int) -> list[str]:
    """Delete all but the newest ``keep`` snapshots of a namespace; returns the locations removed."""
    system, path = fsspec.url_to_fs(f"{base.rstrip('/')}/{namespace}")
    if not system.exists(path):
        return []
    found = sorted(str(p) for p in system.ls(path, detail=False) if not Path(str(p)).name.startswith("."))
    gone = found[: max(0, len(found) - keep)]
    for old in gone:
        system.rm(old, recursive=True)
    return gone


def _write_files(snapshot: Snapshot, folder: Path) -> None:
    for name, table in snapshot.tables.items():
        with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    for name, vectors in snapshot.vectors.items():
        np.save(folder / f"{name}.npy", vectors.matrix, allow_pickle=False)
        ids = pa.table({"id": vectors.ids})
        with pa.OSFile(str(folder / f"{name}.ids.arrow"), "wb") as sink, pa.ipc.new_file(sink, ids.schema) as writer:
            writer.write_table(ids)
    meta = {
        "namespace_id": snapshot.namespace_id,
        "namespace": snapshot.namespace,
        "snapshot_id": snapshot.snapshot_id,
        "taken_at": snapshot.taken_at.isoformat(),
        "change_counter": snapshot.change_counter,
        "read_only": snapshot.read_only,
        "settings": dict(snapshot.settings),
        "tables": sorted(snapshot.tables),
        "vectors": {name: v.model for name, v in snapshot.vectors.items()},
    }
    (folder / _META).write_text(json.dumps(meta))
    for file in folder.iterdir():
        file.chmod(0o600)


def _snapshot(meta: dict[str, Any]) -> Snapshot:
    return Snapshot(
        namespace_id=meta["namespace_id"],
        namespace=meta["namespace"],
        snapshot_id=meta["snapshot_id"],
        taken_at=datetime.fromisoformat(meta["taken_at"]),
        change_counter=meta["change_counter"],
        read_only=meta["read_only"],
        settings=meta["settings"],
    )


def _read_table(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _read_vectors(folder: Path, name: str, model: str) -> Vectors:
    ids = _read_table(folder / f"{name}.ids.arrow")["id"].combine_chunks()
    matrix = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    return Vectors(model, ids, matrix)


def _is_local(system: fsspec.AbstractFileSystem) -> bool:
    protocol = system.protocol
    return "file" in ((protocol,) if isinstance(protocol, str) else protocol)


def _cached(system: fsspec.AbstractFileSystem, path: str) -> Path:
    folder = Path(tempfile.gettempdir(), f"slowwave-cache-{os.getuid()}", path.strip("/").replace("/", "_"))
    if not (folder / _META).exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = [Path(str(p)).name for p in system.ls(path, detail=False)]
        for name in (*(n for n in names if n != _META), _META):
            system.get_file(f"{path}/{name}", str(folder / name))
    return folder
