"""How folders that are worked on in place stand against what was read of them: by names, sizes and times, without reading a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from slowwave.bindings.connected import ConnectedStore, connected_stores, slug_of
from slowwave.errors import Refused
from slowwave.folders.sources import is_folder, source_of
from slowwave.store.connect import Connection

_SEEN: Final = "SELECT path, size, mtime FROM memory.folder_files WHERE folder = %s"


@dataclass(frozen=True, slots=True)
class TreeState:
    """A connected folder by its namespace. ``changed``: a night would read a file, or take one for gone; ``newest`` is
    when a file was written last, in seconds since 1970. ``fingerprint`` is another whenever a file is.
    """

    namespace: str
    changed: bool
    fingerprint: str
    newest: float
    problem: str = ""


def tree_states(connection: Connection, namespaces: Collection[str]) -> list[TreeState]:
    """The connected folders that are among some namespaces. Two queries and one for each folder, and a look at each of its files."""
    folders = [of for of in connected_stores(connection) if is_folder(of) and slug_of(of.name, None) in namespaces]
    return [_state(connection, of) for of in folders]


def _state(connection: Connection, of: ConnectedStore) -> TreeState:
    namespace = slug_of(of.name, None)
    seen = {str(path): [size, mtime] for path, size, mtime in connection.execute(_SEEN, (of.name,))}
    try:
        source = source_of(of)
        scan = source.scan()
    except Refused as problem:
        return TreeState(namespace, False, "", 0.0, str(problem))
    left_out = {out.path for out in scan.left_out}
    now = {path: [mark.size, mark.mtime] for path, mark in scan.files.items()}
    closed = tuple(scan.closed)
    known = {path: mark for path, mark in seen.items() if path not in left_out and not path.startswith(closed)}
    return TreeState(
        namespace,
        now != known,
        hashlib.sha256(json.dumps(now, sort_keys=True).encode()).hexdigest()[:32],
        max((source.written_at(mark) or 0.0 for mark in scan.files.values()), default=0.0),
    )
