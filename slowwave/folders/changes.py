"""Looking at what others wrote, before a night: files of folders become rows, then every connected store is asked what changed."""

from __future__ import annotations

from typing import Final

from slowwave.bindings.changes import note_change, note_changes
from slowwave.bindings.checks import hidden_rows
from slowwave.bindings.connected import connected_names, store_named
from slowwave.config.settings import Settings
from slowwave.errors import BindingError, Refused, StoreError
from slowwave.folders.following import folder_of, follow_folder
from slowwave.folders.sources import is_folder
from slowwave.language.embedder import embedder_for
from slowwave.reports.notices import deliver
from slowwave.store.connect import Store

_ID: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s"


def look_at_stores(store: Store) -> list[str]:
    """Every connected store; returns, as sentences, which folders could not be looked at, whose rows stay as they were, and which tables
    hide some of their rows."""
    with store.connect("reader") as connection:
        names = connected_names(connection)
    problems: list[str] = []
    for name in names:
        try:
            with store.connect("reader") as connection:
                of = store_named(connection, name)
            if is_folder(of):
                follow_folder(store, of, embedder=embedder_for(Settings.for_namespace({})))
            else:
                problems += [f"{said} `slowwave doctor` says what to do." for said in hidden_rows(store, of)]
        except Refused as problem:
            problems.append(str(problem))
        except (BindingError, StoreError):
            continue  # its own night says why
    note_changes(store)
    deliver(store)  # what those who are told of writes did not take then
    return problems


def look_at_store(store: Store, namespace: str) -> None:
    """The store of one namespace alone, by its name; nothing for our own memory. Raises ``Refused`` for a folder that is not there."""
    with store.connect("reader") as connection:
        row = connection.execute(_ID, (namespace,)).fetchone()
    if row is not None and (of := folder_of(store, str(row[0]))) is not None:
        follow_folder(store, of, embedder=embedder_for(Settings.for_namespace({})))
    note_change(store, namespace)
