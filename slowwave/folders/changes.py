"""Looking at what others wrote, before a night: files of folders become rows, then every connected store is asked what changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from slowwave.bindings.changes import note_change, note_changes
from slowwave.bindings.checks import hidden_rows
from slowwave.bindings.connected import connected_names, store_named
from slowwave.config.settings import Settings
from slowwave.errors import BindingError, Refused, StoreError, UndoBlocked
from slowwave.folders.following import CommitWords, folder_of, follow_folder, places_of
from slowwave.folders.sources import is_folder
from slowwave.language.embedder import embedder_for
from slowwave.night.followers import warn
from slowwave.reports.notices import deliver
from slowwave.runs.writing import NamespaceClaim
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

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
    FolderFollower().before_night(store, namespace)
    note_change(store, namespace)


class FolderFollower:
    """Folders that are worked on in place, whose blocks are rows: their files and their rows are kept in step."""

    def before_night(self, store: Store, namespace: str) -> None:
        """Bring the rows of a folder to what its files say. Raises ``Refused`` for a folder that is not there."""
        with store.connect("reader") as connection:
            row = connection.execute(_ID, (namespace,)).fetchone()
        if row is not None and (folder := folder_of(store, str(row[0]))) is not None:
            follow_folder(store, folder, embedder=embedder_for(Settings.for_namespace({})))

    def before_write(self, store: Store, connection: Connection, namespace: str) -> None:
        """Bring the rows of a folder to what its files say before anything is written.

        Raises ``Refused`` where the folder cannot be looked at: nothing is written to rows whose files nobody sees.
        """
        if (folder := folder_of(store, namespace_id(connection, namespace))) is not None:
            follow_folder(store, folder)

    def after_write(
        self, store: Store, claim: NamespaceClaim, settings: Settings, wrote: Collection[str], *, undo: bool = False
    ) -> None:
        """Bring the files of a folder to where its rows are, as one commit; the next night, apply or undo repeats what failed."""
        if (folder := folder_of(store, claim.namespace_id)) is None:
            return
        subject = "slowwave: undo of what was applied" if undo else "slowwave: files follow what was applied"
        try:
            problems = follow_folder(store, folder, why=CommitWords(subject, f"Run: {claim.run_id}")).hindered()
        except Refused as problem:
            problems = [str(problem)]
        except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
            problems = [
                f"Files of {folder.name} could not follow ({type(problem).__name__}). The next night tries again."
            ]
        if problems:
            more = f" So it is with {len(problems) - 1:,} more." if problems[1:] else ""
            warn(store, claim, "folder", (f"{problems[0].rstrip('.')}.{more}",))

    def explain(self, store: Store, problem: UndoBlocked) -> UndoBlocked:
        """Return the refusal with the files and lines of the blocks that a person changed since."""
        if not (places := places_of(store, problem.rows)):
            return problem
        return UndoBlocked(f"{problem} In the files: {'; '.join(places)}.", problem.rows, problem.items)
