"""A namespace at one instant: Arrow tables with their schema, mapped vectors, and results kept while tables exist."""

from __future__ import annotations

import hashlib
import json
import mmap
import operator
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakSet

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.errors import SnapshotError
from slowwave.store.connect import Store, identity, path_part
from slowwave.store.logins import hand_over, make_private
from slowwave.store.server import default_home
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, conflicts, rejections

# A namespace at one instant, as Arrow tables and memory-mapped vectors.
#
# Column types: ids are 36-character strings, ``uuid[]`` are lists of them, ``jsonb`` is PostgreSQL's JSON text, instants are
# ``timestamp[us, UTC]``. ``slowwave.snapshots.export`` reads a snapshot from PostgreSQL.


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of one model: ``ids`` (n, as in the row table) and ``matrix`` (n, d) float32, sorted by id."""

    model: str
    ids: pa.Array
    matrix: np.ndarray

    @classmethod
    def empty(cls, model: str = "") -> Vectors:
        """Return an empty set of vectors."""
        return cls(model, pa.array([], pa.string()), np.empty((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: pa.Array) -> np.ndarray:
        """Return the row numbers of ``ids`` in ``matrix`` (int64, -1 for an id without a vector)."""
        found = pc.index_in(ids, value_set=self.ids)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that a night leaves unchanged, because it cannot read the value of ``column``.

    ``kind`` is the reason (``store.readable_rows.REASONS``).
    """

    table: str
    row_id: str
    column: str
    kind: str


Answer = TypeVar("Answer")


class LastAnswers:
    """The last answer to each question about tables, because the audits and planners of one night ask the same questions.

    An answer is kept with the tables or matrices that it was given for, held by weak references, and with further parameters.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[weakref.ReferenceType[object], ...], object, Any]] = {}

    def find_once(
        self, question: str, tables: Sequence[object], parameters: object, find: Callable[[], Answer]
    ) -> Answer:
        """Return the stored answer to the question for these very tables and equal parameters, or else the result of ``find``."""
        if known := self._known.get(question):
            held, given, answer = known
            alive = [reference() for reference in held]
            if given == parameters and len(alive) == len(tables) and all(map(operator.is_, alive, tables)):
                return answer
        found = find()

        def forget(gone: weakref.ReferenceType[object]) -> None:
            # As soon as one of its tables is freed, because the answer may be as large as they are.
            if any(reference is gone for reference in self._known.get(question, ((),))[0]):
                del self._known[question]

        self._known[question] = tuple(weakref.ref(table, forget) for table in tables), parameters, found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One consistent view of a namespace; tables are sorted by id.

    Rows that are ``left_out`` are present with a readable value in place of the original, so that references to them do not count as
    dead. No plan changes them. Snapshots that are made of each other (``dataclasses.replace``) share their ``answers``, because they share
    tables.
    """

    namespace_id: str
    namespace: str
    snapshot_id: str
    taken_at: datetime
    change_counter: int
    read_only: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    left_out: tuple[UnreadableRow, ...] = ()
    answers: LastAnswers = field(default_factory=LastAnswers, repr=False)

    def table(self, name: str) -> pa.Table:
        """Return the whole table, including retired rows.

        Raises ``SnapshotError`` if the snapshot has no such table.
        """
        try:
            return self.tables[name]
        except KeyError:
            raise SnapshotError(
                f"Snapshot {self.snapshot_id} has no table {name!r}. An operation is given the tables that it declares in reads: declare "
                "it there. A snapshot of an earlier version has fewer: run the night again."
            ) from None

    def live(self, name: str, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the rows that are neither invalidated nor ended before the snapshot was taken, with some columns or all.

        The rows are copied unless all are live: name the columns if few are read.
        """
        table = self.table(name)
        chosen = table if columns is None else table.select(list(dict.fromkeys(columns)))
        if not table.num_rows:
            return chosen
        names = set(table.column_names)
        mask = None
        if "invalidated_at" in names and (ends := table["invalidated_at"]).null_count < len(ends):
            mask = pc.is_null(ends)
        if "valid_to" in names and table["valid_to"].null_count < table.num_rows:
            now = pa.scalar(self.taken_at, pa.timestamp("us", tz="UTC"))
            current = pc.or_(pc.is_null(table["valid_to"]), pc.fill_null(pc.greater(table["valid_to"], now), False))
            mask = current if mask is None else pc.and_(mask, current)
        return chosen if mask is None or pc.all(mask, min_count=0).as_py() else chosen.filter(mask)


# Arrow schemas of a snapshot's tables, derived from the catalogue of columns. This is the only mapping from PostgreSQL's types to Arrow's.

decisions: Final = Table(
    "decisions",
    MetaData(),  # a query over the ledger, no table of the store
    Column("id", Uuid, primary_key=True),  # of the item
    Column("operation", Text, nullable=False),
    Column("decision", Text, nullable=False),  # merge, or review if the plan was in doubt
    Column("status", Text, nullable=False),  # applied, rejected, undone
    Column("keep_id", Uuid, nullable=False),
    Column("seen", JSONB, nullable=False),  # [row, column, value] of the cells that the plan saw
    Column("recorded_at", DateTime(timezone=True), nullable=False),  # of the plan
    schema="night",
)
"""Decisions about merges, by people or their policies: the newest 10,000."""

SNAPSHOT_TABLES: Final = {table.name: table for table in (*EXPORTED, rejections, conflicts, decisions)}
"""Name → table, for everything in a snapshot except vectors."""

INSTANT: Final = pa.timestamp("us", tz="UTC")

_LEFT_OUT: Final = frozenset({*DERIVED_COLUMNS, "namespace_id", "policy_id"})


def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table's rows in a snapshot, in the order of its columns.

    Left out are ``namespace_id`` (a snapshot has only one), ``policy_id``, and the columns that triggers maintain. Every field is
    nullable, as the results of Arrow's functions are, so that schemas compare equal. Raises ``TypeError`` for a type without a mapping.
    """
    return pa.schema(
        [pa.field(column.name, _arrow_type(column.type)) for column in table.columns if column.name not in _LEFT_OUT]
    )


def _arrow_type(sql_type: object) -> pa.DataType:
    """Return the Arrow type of an SQL type.

    Double and BigInteger are recognised by their base classes. Vectors have no mapping, because they are stored separately.
    """
    match sql_type:
        case ARRAY():
            item: Any = sql_type.item_type
            return pa.list_(_arrow_type(item))
        case Uuid() | Text() | JSONB():
            return pa.string()
        case DateTime():
            return INSTANT
        case Boolean():
            return pa.bool_()
        case Integer():
            return pa.int64()
        case Double():
            return pa.float64()
        case _:
            raise TypeError(
                f"The column type {sql_type!r} has no place in a snapshot; add it to slowwave.snapshots.snapshot."
            )


# Snapshots as files: ``BASE/db.IDENTITY/namespace/snapshot_id/table.arrow``, written once and memory-mapped.
#
# BASE is a folder or an fsspec URL. IDENTITY identifies the database (``slowwave.store.connect``), since several may share a BASE and have
# namespaces with one name. ``meta.json`` is written last: a folder without it is not a snapshot. A table without rows has no file. Local
# files are mapped into memory, remote ones are cached first. They contain memory text, so only the owner may access the folders. Version
# 0.1.0 wrote ``BASE/namespace/snapshot_id``; such snapshots are found by their location, and are removed when the ledger no longer lists
# them.

_META: Final = "meta.json"
_mapped: Final[WeakSet[mmap.mmap]] = WeakSet()
"""The files of snapshots that this process has mapped and still uses."""

_LARGE: Final = 1 << 20
"""Size in bytes from which on a table gets a separate file."""

_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,79}")


def base_path() -> str:
    """Return ``SLOWWAVE_SNAPSHOTS``: a folder or an fsspec URL.

    The default is a folder next to the embedded server's data.
    """
    return os.environ.get("SLOWWAVE_SNAPSHOTS") or str(default_home() / "snapshots")


def database_base(store: Store) -> str:
    """Return the part of ``base_path`` that is reserved for this database."""
    return f"{base_path().rstrip('/')}/db.{identity(store)}"


def folder_of(base: str, namespace: str) -> str:
    """Return the folder of a namespace's snapshots in the base folder of a database."""
    return f"{base.rstrip('/')}/{path_part(namespace)}"


def save_snapshot(snapshot: Snapshot, base: str) -> str:
    """Write every table and vector, and return the snapshot's location; an existing id is refused.

    Raises ``SnapshotError`` if the files cannot be written, and then removes all of them.
    """
    location = f"{folder_of(base, snapshot.namespace)}/{snapshot.snapshot_id}"
    system, path = fsspec.url_to_fs(location)
    try:
        if system.exists(f"{path}/{_META}"):
            raise SnapshotError(
                f"Snapshot {snapshot.snapshot_id} is written already, and snapshots are never overwritten."
            )
        if _is_local(system):
            _write_folder(snapshot, Path(path))
        else:
            _upload(snapshot, system, path)
    except OSError as problem:
        raise SnapshotError(
            f"The snapshot cannot be written to {base}: {problem.strerror or problem}. Nothing of it stays. Make room "
            "there or let this account write there, or set SLOWWAVE_SNAPSHOTS to another folder."
        ) from None
    return location


def _write_folder(snapshot: Snapshot, target: Path) -> None:
    """Write under another name and rename last, so that an interrupted write is no snapshot, and a failed one leaves nothing."""
    make_private(target.parent)
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        staged.mkdir(mode=0o700)
        _write_files(snapshot, staged)
        for made in (staged, *staged.iterdir()):
            hand_over(made)
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def _upload(snapshot: Snapshot, system: fsspec.AbstractFileSystem, path: str) -> None:
    with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
        _write_files(snapshot, Path(folder))
        names = sorted(p.name for p in Path(folder).iterdir() if p.name != _META)
        try:
            system.makedirs(path, exist_ok=True)
            for name in (*names, _META):
                system.put_file(str(Path(folder, name)), f"{path}/{name}")
        except BaseException:
            with suppress(OSError):
                system.rm(path, recursive=True)
            raise


def load_snapshot(location: str) -> Snapshot:
    """Load a snapshot; its tables and vectors stay on disk until they are used."""
    system, path = fsspec.url_to_fs(location)
    if not system.exists(f"{path}/{_META}"):
        raise SnapshotError(
            f"There is no snapshot at {location}: it was never finished, or retention removed it. Run the night again."
        )
    folder = Path(path) if _is_local(system) else _cached(system, path)
    meta = json.loads((folder / _META).read_text())
    there = {name.name for name in folder.iterdir()}
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


def load_listed_snapshot(location: str, namespace: str, snapshot_id: str, base: str) -> Snapshot:
    """Load a snapshot that a ledger lists; ``base`` is the database's own.

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
    snapshot = load_snapshot(place)
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
    except OSError:
        return False
    return True


def _says(system: fsspec.AbstractFileSystem, path: str, namespace: str, snapshot_id: str) -> bool:
    try:
        meta = json.loads(system.cat_file(f"{path}/{_META}"))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and (meta.get("namespace"), meta.get("snapshot_id")) == (namespace, snapshot_id)


def _write_files(snapshot: Snapshot, folder: Path) -> None:
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
        "left_out": [list(astuple(row)) for row in snapshot.left_out],
        "lengths": {name: v.matrix.shape[1] for name, v in snapshot.vectors.items()},
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
    protocol = system.protocol
    return "file" in ((protocol,) if isinstance(protocol, str) else protocol)


def _cached(system: fsspec.AbstractFileSystem, path: str) -> Path:
    folder = _cache(system, path)
    if not (folder / _META).exists():
        folder.parent.mkdir(exist_ok=True, mode=0o700)
        status = folder.parent.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise SnapshotError(
                f"{folder.parent} is not this account's own folder, so no snapshot is cached there. Remove it, or set TMPDIR."
            )
        folder.parent.chmod(0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        names = [Path(str(p)).name for p in system.ls(path, detail=False)]
        for name in (*(n for n in names if n != _META), _META):
            system.get_file(f"{path}/{name}", str(folder / name))
    return folder


def _cache(system: fsspec.AbstractFileSystem, path: str) -> Path:
    """Return the cache folder of a remote snapshot.

    It depends on the full address, because two buckets may hold the same path.
    """
    name = hashlib.sha256(system.unstrip_protocol(path).encode()).hexdigest()[:32]
    return Path(tempfile.gettempdir(), f"slowwave-cache-{os.getuid()}", name)
