"""Snapshots as files, in a folder or in an object store, and mapped into memory."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, cast
from weakref import WeakSet

import fsspec
import numpy as np
import pyarrow as pa

from slowwave.errors import SnapshotError
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, UnreadableRow, Vectors, arrow_schema
from slowwave.store.connect import Store, identity, path_part
from slowwave.store.logins import hand_over, make_private
from slowwave.store.server import default_home

# Snapshots as files: ``BASE/db.IDENTITY/namespace/snapshot_id/table.arrow``, written once and memory-mapped.
#
# BASE is a folder or an fsspec URL. IDENTITY identifies the database (``slowwave.store.connect``), since several may share a BASE and have
# namespaces with one name. ``meta.json`` is written last: a folder without it is not a snapshot. It names every file with its size, and
# with its hash if the files are remote; the ledger holds its own hash. A table without rows has no file. Local files are mapped into
# memory, remote ones are cached first. They contain memory text, so only the owner may access the folders. Version 0.1.0 wrote
# ``BASE/namespace/snapshot_id``; such snapshots are found by their location, and are removed when the ledger no longer lists them.

_META: Final = "meta.json"
_mapped: Final[WeakSet[mmap.mmap]] = WeakSet()
"""The files of snapshots that this process has mapped and still uses."""

_LARGE: Final = 1 << 20
"""Size in bytes from which on a table gets a separate file."""

_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,79}")
_FILE: Final = re.compile(r"[a-z][a-z_]{0,59}(\.ids)?\.(arrow|npy)")
_OBJECT_STORES: Final = frozenset(("s3", "gs", "abfs"))
"""File systems whose folders need not be made; making one would make a missing bucket, which a typing error must not do."""

_CACHE_GIB: Final = 5.0
_UNUSED_SECONDS: Final = 24 * 3600
"""Age at which a cached snapshot is removed: memory text must not outlive its snapshot on a worker for long."""


@dataclass(frozen=True, slots=True)
class SavedSnapshot:
    """Hold the location of a snapshot's files, and the hash of their ``meta.json``, which names and hashes the others."""

    location: str
    digest: str


def base_path() -> str:
    """Return ``SLOWWAVE_SNAPSHOTS``: a folder or an fsspec URL.

    The default is a folder next to the embedded server's data. Raises ``SnapshotError`` for a URL that holds a login: locations are stored
    in the ledger and shown in messages.
    """
    base = os.environ.get("SLOWWAVE_SNAPSHOTS") or str(default_home() / "snapshots")
    scheme, separator, rest = base.partition("://")
    if separator and "@" in rest.partition("/")[0] and scheme not in ("abfs", "abfss"):  # there it is container@account
        raise SnapshotError(
            f"SLOWWAVE_SNAPSHOTS holds a login ({scheme}://…@…). Give only the address, and the login by the variables of the "
            "storage's own library, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    return base


def database_base(store: Store) -> str:
    """Return the part of ``base_path`` that is reserved for this database."""
    return f"{base_path().rstrip('/')}/db.{identity(store)}"


def folder_of(base: str, namespace: str) -> str:
    """Return the folder of a namespace's snapshots in the base folder of a database."""
    return f"{base.rstrip('/')}/{path_part(namespace)}"


def save_snapshot(snapshot: Snapshot, base: str) -> SavedSnapshot:
    """Write every table and vector; an existing id is refused.

    Files of an object store stay in the cache too, because the night reads them next. Raises ``SnapshotError`` if the files cannot be
    written, and then removes all of them.
    """
    location = f"{folder_of(base, snapshot.namespace)}/{snapshot.snapshot_id}"
    with _storage(base, "written to", f"Nothing of it stays. {_MAY_WRITE}"):
        system, path = fsspec.url_to_fs(location)
        if system.exists(f"{path}/{_META}"):
            raise SnapshotError(
                f"Snapshot {snapshot.snapshot_id} is written already, and snapshots are never overwritten."
            )
        size = sum(t.nbytes for t in snapshot.tables.values()) + sum(v.matrix.nbytes for v in snapshot.vectors.values())
        meta = _save(system, path, partial(_write_snapshot, snapshot), size)
    return SavedSnapshot(location, hashlib.sha256(meta).hexdigest())


def save_files(location: str, write: Callable[[Path], Mapping[str, Any]], size: int) -> None:
    """Save files of ``size`` bytes in a folder of a snapshot, unless the folder is complete already.

    ``write`` writes them into a folder and returns what ``open_files`` returns about them. Names of files are those of ``_FILE``.
    """
    with _storage(location, "written to", _MAY_WRITE):
        system, path = fsspec.url_to_fs(location)
        if not system.exists(f"{path}/{_META}"):
            _save(system, path, write, size)


def open_files(location: str) -> tuple[Path, dict[str, Any]]:
    """Return the local folder with the files that ``save_files`` saved, and what it was told about them.

    Raises ``SnapshotError`` if they are not there or not complete.
    """
    with _storage(location, "read from", "Run the night again"):
        system, path = fsspec.url_to_fs(location)
        if not system.exists(f"{path}/{_META}"):
            raise SnapshotError(f"{_META} is missing at {location}: it was never finished, or it was removed.")
        folder = Path(path) if _is_local(system) else _cached(system, path, location)
        meta = json.loads((folder / _META).read_bytes())
        for name, (size, _) in meta["files"].items():
            if not (folder / name).exists() or (folder / name).stat().st_size != size:
                raise SnapshotError(f"{name} is missing or truncated at {location}.")
        return folder, meta


def put_file(location: str, content: bytes) -> None:
    """Save one file next to those of ``save_files``; it appears whole or not at all."""
    with _storage(location, "written to", _MAY_WRITE):
        system, path = fsspec.url_to_fs(location)
        if not _is_local(system):
            system.pipe_file(path, content)
            return
        make_private(Path(path).parent)
        staged = Path(f"{path}.{os.getpid()}")
        staged.write_bytes(content)
        staged.chmod(0o600)
        hand_over(staged)
        staged.rename(path)


def get_file(location: str) -> bytes | None:
    """Return the content of a file that ``put_file`` saved, or None if there is none."""
    with _storage(location, "read from", "Run the night again"):
        system, path = fsspec.url_to_fs(location)
        return cast("bytes", system.cat_file(path)) if system.exists(path) else None


def remove_files(location: str) -> None:
    """Remove a folder of ``save_files`` and the folders in it, as far as that is possible; retention removes the rest."""
    with suppress(Exception):
        system, path = fsspec.url_to_fs(location)
        system.rm(path, recursive=True)


def _save(system: fsspec.AbstractFileSystem, path: str, write: Callable[[Path], Mapping[str, Any]], size: int) -> bytes:
    """Save what ``write`` writes; return the content of ``meta.json``."""
    return _write_folder(write, Path(path)) if _is_local(system) else _upload(write, size, system, path)


_MAY_WRITE: Final = "Check that the folder or bucket exists and has room, and that this account may write there"


@contextmanager
def _storage(base: str, how: str, remedy: str) -> Generator[None]:
    """Turn what a file system raises into a sentence.

    Libraries of object stores raise classes of their own for an expired login or an unreachable server, so every exception is caught.
    """
    try:
        yield
    except SnapshotError:
        raise
    except Exception as problem:  # noqa: BLE001 - see above
        if isinstance(problem, ImportError):
            remedy = "Install the library of this storage on every machine (of S3 by the extra s3)"
        words = getattr(problem, "strerror", None) or str(problem).partition("\n")[0][:200] or type(problem).__name__
        raise SnapshotError(
            f"The snapshot cannot be {how} {base}: {words}. {remedy}, or set SLOWWAVE_SNAPSHOTS to another folder."
        ) from None


def _write_folder(write: Callable[[Path], Mapping[str, Any]], target: Path) -> bytes:
    """Write under another name and rename last, so that an interrupted write is no snapshot, and a failed one leaves nothing."""
    make_private(target.parent)
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        staged.mkdir(mode=0o700)
        meta = _write_files(write, staged, hashed=False)
        for made in (staged, *staged.iterdir()):
            hand_over(made)
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return meta


def _upload(
    write: Callable[[Path], Mapping[str, Any]], size: int, system: fsspec.AbstractFileSystem, path: str
) -> bytes:
    """Write the files into the cache and send them, ``meta.json`` last."""
    with _new_in_cache(system, path, size) as folder:
        meta = _write_files(write, folder, hashed=True)
        names = sorted(p.name for p in folder.iterdir() if p.name != _META)
        try:
            if _scheme(system) not in _OBJECT_STORES:
                system.makedirs(path, exist_ok=True)
            for name in (*names, _META):
                system.put_file(str(folder / name), f"{path}/{name}")
        except BaseException:
            with suppress(Exception):  # the first problem is the one to report
                system.rm(path, recursive=True)
            raise
    return meta


def load_snapshot(location: str, digest: str = "") -> Snapshot:
    """Load a snapshot; its tables and vectors stay on disk until they are used.

    With ``digest``, the one that the ledger holds, the files must be those that were saved. Raises ``SnapshotError`` if there is no such
    snapshot, if a file is missing, truncated or another one, and if the storage cannot be read.
    """
    with _storage(location, "read from", "Run the night again"):
        system, path = fsspec.url_to_fs(location)
        if not system.exists(f"{path}/{_META}"):
            raise SnapshotError(
                f"There is no snapshot at {location}: it was never finished, or retention removed it. Run the night again."
            )
        folder = Path(path) if _is_local(system) else _cached(system, path, location)
        written = (folder / _META).read_bytes()
        if digest and hashlib.sha256(written).hexdigest() != digest:
            raise SnapshotError(_damaged(location, _META, "is another one than was saved"))
        meta = json.loads(written)
        there = {file.name: file.stat().st_size for file in folder.iterdir()}
        for name, (size, _) in meta.get("files", {}).items():
            if there.get(name) != size:
                raise SnapshotError(_damaged(location, name, "is missing" if name not in there else "is truncated"))
        return replace(
            _snapshot(meta),
            tables={name: _table(folder, name, there) for name in meta["tables"]},
            vectors={
                name: _no_vectors(model, meta["lengths"][name])
                if f"{name}.npy" not in there
                else _read_vectors(folder, name, model)
                for name, model in meta["vectors"].items()
            },
        )


def _damaged(location: str, name: str, how: str) -> str:
    return f"The snapshot at {location} is damaged: {name} {how}. Nothing was planned or approved on it. Run the night again."


def load_listed_snapshot(location: str, namespace: str, snapshot_id: str, base: str, digest: str = "") -> Snapshot:
    """Load a snapshot that a ledger lists; ``base`` is the database's own, and ``digest`` the ledger's hash of it.

    A location is a row of the ledger, and rows can be written. Only the folder that belongs to this snapshot below the base is ever
    opened, in the present layout or in that of 0.1.0. The location's scheme is compared as text, so that no other file system is set up.

    Raises:
        SnapshotError: The location is another one, or there are no files of this snapshot.
    """
    wanted = _place(location)
    place = next((own for own in _own_places(base, namespace, snapshot_id) if _place(own) == wanted), None)
    if place is None:
        raise SnapshotError(
            f"Snapshot {snapshot_id[:64]} is listed at {location[:200]!r}, which is not its folder below {base}, so it is not opened. If "
            "SLOWWAVE_SNAPSHOTS was changed since, set it as it was; else run the night again."
        )
    snapshot = load_snapshot(place, digest)
    if (snapshot.snapshot_id, snapshot.namespace) != (snapshot_id, namespace):
        raise SnapshotError(f"The files of snapshot {snapshot_id[:64]} are those of another one.")
    return snapshot


def _own_places(base: str, namespace: str, snapshot_id: str) -> tuple[str, ...]:
    """Return the two folders that a snapshot may have: the present one and that of version 0.1.0.

    Returns none if the name of the snapshot or of its namespace would leave the base.
    """
    if not _ID.fullmatch(snapshot_id) or "/" in namespace or namespace.startswith("."):
        return ()
    return (
        f"{folder_of(base, namespace)}/{snapshot_id}",
        f"{base.rstrip('/').rpartition('/')[0]}/{namespace}/{snapshot_id}",
    )


def _place(location: str) -> tuple[str, str]:
    """Return the scheme and the path of a location.

    Local paths are made absolute, so that two spellings of one folder are equal.
    """
    scheme, separator, path = location.partition("://")
    if not separator:
        return "file", str(Path(location).resolve())
    return (scheme, str(Path(path).resolve())) if scheme == "file" else (scheme, path)


def remove_snapshot(location: str, namespace: str, snapshot_id: str, base: str) -> bool:
    """Delete a snapshot that a ledger lists; ``base`` is the database's own.

    Returns False if the snapshot was left alone. A location is a row of the ledger, and rows can be written: only the exact folder of
    this snapshot of this database is ever removed, in the present layout or in that of 0.1.0, and in the latter only if its files
    identify it as that snapshot.
    """
    places = _own_places(base, namespace, snapshot_id)
    if location not in places:
        return False
    try:
        system, path = fsspec.url_to_fs(location)
        if location == places[1] and not _says(system, path, namespace, snapshot_id):
            return not system.exists(path)
        system.rm(path, recursive=True)
        if not _is_local(system):
            shutil.rmtree(_cache(system, path), ignore_errors=True)
    except FileNotFoundError:
        return True
    except Exception:  # noqa: BLE001 - see ``_storage``
        return False
    return True


def _says(system: fsspec.AbstractFileSystem, path: str, namespace: str, snapshot_id: str) -> bool:
    try:
        meta = json.loads(system.cat_file(f"{path}/{_META}"))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and (meta.get("namespace"), meta.get("snapshot_id")) == (namespace, snapshot_id)


def _write_files(write: Callable[[Path], Mapping[str, Any]], folder: Path, *, hashed: bool) -> bytes:
    """Write files, and their sizes and, if ``hashed``, SHA-256 into ``meta.json``, whose content is returned."""
    meta = dict(write(folder))
    meta["files"] = {p.name: (p.stat().st_size, _hash(p) if hashed else "") for p in sorted(folder.iterdir())}
    written = json.dumps(meta).encode()
    (folder / _META).write_bytes(written)
    for file in folder.iterdir():
        file.chmod(0o600)
    return written


def _write_snapshot(snapshot: Snapshot, folder: Path) -> dict[str, Any]:
    """Write the tables and vectors of a snapshot, and return all else that is known of it."""
    for name, table in snapshot.tables.items():
        if not table.num_rows and name in SNAPSHOT_TABLES:  # most tables of a connected store have no rows
            continue
        with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    for name, vectors in snapshot.vectors.items():
        if not len(vectors):
            continue
        np.save(folder / f"{name}.npy", vectors.matrix, allow_pickle=False)
        ids = pa.table({"id": vectors.ids})
        with pa.OSFile(str(folder / f"{name}.ids.arrow"), "wb") as sink, pa.ipc.new_file(sink, ids.schema) as writer:
            writer.write_table(ids)
    return {
        "namespace_id": snapshot.namespace_id,
        "namespace": snapshot.namespace,
        "snapshot_id": snapshot.snapshot_id,
        "taken_at": snapshot.taken_at.isoformat(),
        "change_counter": snapshot.change_counter,
        "read_only": snapshot.read_only,
        "settings": dict(snapshot.settings),
        "tables": sorted(snapshot.tables),
        "vectors": {name: v.model for name, v in snapshot.vectors.items()},
        "left_out": [list(astuple(row)) for row in snapshot.left_out],
        "lengths": {name: v.matrix.shape[1] for name, v in snapshot.vectors.items()},
    }


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _snapshot(meta: dict[str, Any]) -> Snapshot:
    return Snapshot(
        namespace_id=meta["namespace_id"],
        namespace=meta["namespace"],
        snapshot_id=meta["snapshot_id"],
        taken_at=datetime.fromisoformat(meta["taken_at"]),
        change_counter=meta["change_counter"],
        read_only=meta["read_only"],
        settings=meta["settings"],
        left_out=tuple(UnreadableRow(*row) for row in meta.get("left_out", ())),
    )


def on_disk(table: pa.Table) -> pa.Table:
    """Return the same table mapped from an unnamed file, so that ``let_go`` can release its pages.

    Returns the table itself if it is small, or if there is no space for the file. Cost: writing it once.
    """
    if table.nbytes < _LARGE:
        return table
    try:
        with tempfile.TemporaryFile(prefix="slowwave-") as file:
            with pa.ipc.new_file(pa.PythonFile(file, "w"), table.schema) as writer:
                writer.write_table(table)
            file.flush()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return table
    _mapped.add(mapped)
    return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()


def let_go() -> None:
    """Release the pages of mapped snapshots to the system; pages that are used again come from its file cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for file in list(_mapped):
            file.madvise(mmap.MADV_DONTNEED)


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return mapped


def _read_table(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.py_buffer(_map(path))).read_all()


def _table(folder: Path, name: str, there: Collection[str]) -> pa.Table:
    file = f"{name}.arrow"
    return _read_table(folder / file) if file in there else arrow_schema(SNAPSHOT_TABLES[name]).empty_table()


def _read_vectors(folder: Path, name: str, model: str) -> Vectors:
    ids = _read_table(folder / f"{name}.ids.arrow")["id"].combine_chunks()
    matrix = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    if isinstance(matrix.base, mmap.mmap):
        _mapped.add(matrix.base)
    return Vectors(model, ids, matrix)


def _no_vectors(model: str, length: int) -> Vectors:
    return replace(Vectors.empty(model), matrix=np.empty((0, length), np.float32))


def _is_local(system: fsspec.AbstractFileSystem) -> bool:
    return _scheme(system) == "file"


def _scheme(system: fsspec.AbstractFileSystem) -> str:
    protocol = system.protocol
    return protocol if isinstance(protocol, str) else protocol[0]


# The cache of remote snapshots: one folder for each, under a name that depends on the full address, because two buckets may hold the same
# path. A folder is complete from the moment it has its name. Those that are unused for a day go, and then the longest unused ones until
# the new one fits; files that another process has mapped stay readable for it.


def _cached(system: fsspec.AbstractFileSystem, path: str, location: str) -> Path:
    """Return the cached folder of a remote snapshot; it is fetched and compared with its hashes first if it is not there."""
    folder = _cache(system, path)
    if not (folder / _META).exists():
        written = cast("bytes", system.cat_file(f"{path}/{_META}"))
        files: dict[str, tuple[int, str]] = json.loads(written).get("files", {})
        if not files or not all(map(_FILE.fullmatch, files)):
            raise SnapshotError(_damaged(location, _META, "does not name its files"))
        with _new_in_cache(system, path, sum(size for size, _ in files.values())) as staged:
            for name, (_, expected) in files.items():
                try:
                    system.get_file(f"{path}/{name}", str(staged / name))
                except FileNotFoundError:
                    raise SnapshotError(_damaged(location, name, "is missing")) from None
                if _hash(staged / name) != expected:
                    raise SnapshotError(_damaged(location, name, "is truncated or was changed"))
            (staged / _META).write_bytes(written)
    with suppress(OSError):
        os.utime(folder)
    return folder


@contextmanager
def _new_in_cache(system: fsspec.AbstractFileSystem, path: str, size: int) -> Generator[Path]:
    """Yield a folder to write to, which becomes the cached folder of a snapshot unless the body raises.

    Raises ``SnapshotError`` if ``size`` bytes do not fit the cache, or if the cache belongs to somebody else.
    """
    folder = _cache(system, path)
    root = folder.parent
    root.mkdir(exist_ok=True, mode=0o700)
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise SnapshotError(
            f"{root} is not this account's own folder, so no snapshot is cached there. Remove it, or set TMPDIR."
        )
    root.chmod(0o700)
    _make_room(root, size)
    staged = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=root))
    try:
        yield staged
        with suppress(OSError):  # another process was faster, and its folder has the same files
            staged.rename(folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _make_room(root: Path, size: int) -> None:
    """Remove cached snapshots until ``size`` more bytes fit the limit of the cache."""
    gib = _cache_gib()
    limit = int(gib * (1 << 30))
    if size > limit:
        raise SnapshotError(
            f"The snapshot takes {size / (1 << 30):,.1f} GiB, and the cache of this machine holds {gib:g}. Set "
            "SLOWWAVE_SNAPSHOT_CACHE_GIB to a larger number."
        )
    folders: list[tuple[float, int, Path]] = []
    for one in root.iterdir():
        with suppress(OSError):  # another process may remove it meanwhile
            folders.append((one.stat().st_mtime, sum(file.stat().st_size for file in one.iterdir()), one))
    folders.sort()
    whole = sum(bytes_ for _, bytes_, _ in folders)
    for used, bytes_, one in folders:
        if whole + size <= limit and time.time() - used < _UNUSED_SECONDS:
            break
        shutil.rmtree(one, ignore_errors=True)
        whole -= bytes_


def _cache_gib() -> float:
    given = os.environ.get("SLOWWAVE_SNAPSHOT_CACHE_GIB", "")
    try:
        limit = float(given or _CACHE_GIB)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1 << 20:
        raise SnapshotError(f"SLOWWAVE_SNAPSHOT_CACHE_GIB is {given[:32]!r}: give a number of GiB, such as 5.")
    return limit


def _cache(system: fsspec.AbstractFileSystem, path: str) -> Path:
    name = hashlib.sha256(system.unstrip_protocol(path).encode()).hexdigest()[:32]
    return Path(tempfile.gettempdir(), f"slowwave-cache-{os.getuid()}", name)
