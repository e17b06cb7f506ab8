"""Connecting a folder of Markdown, or the blocks behind Letta's API, to be read, and letting go of one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from slowwave.bindings.connected import connected_stores
from slowwave.bindings.connecting import Connected, connect_store, disconnect_store
from slowwave.errors import Refused
from slowwave.folders.following import FolderSync, follow_folder
from slowwave.folders.letta_source import LettaBlocks, checked_address
from slowwave.folders.sources import LETTA, TREE, is_folder
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Store

_DELETE_BLOCKS: Final = "DELETE FROM memory.folder_blocks WHERE folder = %s"
_DELETE_FILES: Final = "DELETE FROM memory.folder_files WHERE folder = %s"


@dataclass(frozen=True, slots=True)
class ConnectedFolder:
    """The store as it was found, and what was read of its files."""

    connected: Connected
    sync: FolderSync


def connect_folder(
    store: Store, folder: Path, embedder: Embedder, *, name: str = "", emptied: bool = False
) -> ConnectedFolder:
    """Connect a folder: its files become rows, and it a namespace of the store's name. No file is changed.

    Raises ``Refused`` for what is no folder, one that lies in another that is connected, and a name that another store has.
    """
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise Refused(f"{folder} is no folder. Name the folder that holds the Markdown files. Nothing was connected.")
    name = name or _named(root)
    with store.connect("owner") as connection:
        for other in connected_stores(connection):
            there = Path(other.parameters.get("root", "")) if other.kind == TREE else None
            if other.name == name and there != root:
                raise Refused(
                    f"Another store is connected as {name}. Give this one a name by --name; nothing was connected."
                )
            if other.name != name and there is not None and (root.is_relative_to(there) or there.is_relative_to(root)):
                raise Refused(
                    f"{root} and {there}, which is connected as {other.name}, lie in each other, and a file is worked on in one place. "
                    "Nothing was connected."
                )
    return _connected(store, TREE, str(root), embedder, name, emptied=emptied)


def connect_letta(
    store: Store, url: str, embedder: Embedder, *, name: str = "letta_api", emptied: bool = False
) -> ConnectedFolder:
    """Connect the memory blocks of a Letta server through its API: their lines become rows, and they a namespace of the store's name.
    Nothing is written to the server.

    Raises ``Refused`` for what is no address, a server that does not answer or takes no key, and a name that another store has.
    """
    root = checked_address(url)
    with store.connect("owner") as connection:
        for other in connected_stores(connection):
            there = other.parameters.get("root", "") if other.kind == LETTA else None
            if other.name == name and there != root:
                raise Refused(
                    f"Another store is connected as {name}. Give this one a name by --name; nothing was connected."
                )
            if other.name != name and there == root:
                raise Refused(
                    f"The blocks at {root} are connected as {other.name} already, and a block is worked on in one place. "
                    "Nothing was connected."
                )
    LettaBlocks(root).scan()  # before anything is noted
    return _connected(store, LETTA, root, embedder, name, emptied=emptied)


def _connected(store: Store, kind: str, root: str, embedder: Embedder, name: str, *, emptied: bool) -> ConnectedFolder:
    given = {"folder": name, "root": root}
    first = connect_store(store, kind, parameters=given, name=name, embedding_model=embedder.model)
    sync = follow_folder(store, first.store, embedder=embedder, emptied=emptied)
    again = connect_store(store, kind, parameters=given, name=name, embedding_model=embedder.model)
    return ConnectedFolder(replace(again, new_namespaces=first.new_namespaces), sync)


def disconnect(store: Store, name: str) -> None:
    """Read a store no more. Of a folder the rows go, which are a copy of its files; the files stay as they are."""
    with store.connect("owner") as connection:
        folder = any(of.name == name and is_folder(of) for of in connected_stores(connection))
    disconnect_store(store, name)
    if folder:
        with store.connect("owner") as connection, connection.transaction():
            connection.execute(_DELETE_BLOCKS, (name,))
            connection.execute(_DELETE_FILES, (name,))


def _named(root: Path) -> str:
    """A name for a folder: its own, made plain; of one that is called ``memory``, as agents call theirs, the name above it as well."""
    own = root.name.lower()
    plain = re.sub(r"[^a-z0-9]+", "_", f"{root.parent.name.lower()}_{own}" if own == "memory" else own).strip("_")
    return (plain if plain[:1].isalpha() else f"folder_{plain}").strip("_")[:31].rstrip("_")
