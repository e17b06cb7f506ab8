"""Connecting a folder of Markdown, to be read, and letting go of one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.bindings.connected import connected_stores
from slowwave.bindings.connecting import Connected, connect_store, disconnect_store
from slowwave.errors import Refused
from slowwave.folders.following import KIND, FolderSync, follow_folder, is_folder
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Store


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
            there = Path(other.parameters.get("root", "")) if is_folder(other) else None
            if other.name == name and there != root:
                raise Refused(
                    f"Another store is connected as {name}. Give this one a name by --name; nothing was connected."
                )
            if other.name != name and there is not None and (root.is_relative_to(there) or there.is_relative_to(root)):
                raise Refused(
                    f"{root} and {there}, which is connected as {other.name}, lie in each other, and a file is worked on in one place. "
                    "Nothing was connected."
                )
    given = {"folder": name, "root": str(root)}
    first = connect_store(store, KIND, parameters=given, name=name, embedding_model=embedder.model)
    sync = follow_folder(store, first.store, embedder=embedder, emptied=emptied)
    again = connect_store(store, KIND, parameters=given, name=name, embedding_model=embedder.model)
    return ConnectedFolder(replace(again, new_namespaces=first.new_namespaces), sync)


def disconnect(store: Store, name: str) -> None:
    """Read a store no more. Of a folder the rows go, which are a copy of its files; the files stay as they are."""
    with store.connect("owner") as connection:
        folder = any(of.name == name and is_folder(of) for of in connected_stores(connection))
    disconnect_store(store, name)
    if folder:
        with store.connect("owner") as connection, connection.transaction():
            connection.execute("DELETE FROM memory.folder_blocks WHERE folder = %s", (name,))
            connection.execute("DELETE FROM memory.folder_files WHERE folder = %s", (name,))


def _named(root: Path) -> str:
    """A name for a folder: its own, made plain; of one that is called ``memory``, as agents call theirs, the name above it as well."""
    own = root.name.lower()
    plain = re.sub(r"[^a-z0-9]+", "_", f"{root.parent.name.lower()}_{own}" if own == "memory" else own).strip("_")
    return (plain if plain[:1].isalpha() else f"folder_{plain}").strip("_")[:31].rstrip("_")
