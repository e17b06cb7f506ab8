"""Files of pages after an apply or an undo: they follow the rows, and what hinders them never undoes what was committed.

They are those of the workspace, into which pages are rendered, those of followed folders, of which a plan wrote pages, and those of folders
that are worked on in place, whose blocks are rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import psycopg

from slowwave.bindings.connected import ConnectedStore
from slowwave.config.settings import Settings
from slowwave.corpus.corpora import FORGOTTEN_FILE, corpora_of, load_tombstones
from slowwave.corpus.pending_files import SUPERSEDED, follow_files, has_pending
from slowwave.errors import Refused, SlowwaveError, UndoBlocked
from slowwave.folders.following import CommitWords, folder_of, follow_folder, places_of
from slowwave.mutations.mutation import Mutation
from slowwave.pages.workspace import PageSync, sync_pages
from slowwave.plans.commands import argument
from slowwave.runs.writing import NamespaceClaim
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

_PAGE_ENTRY: Final = "SELECT 1 FROM night.journal WHERE run_id = %s AND table_name = %s LIMIT 1"
_NOTE_FINDING: Final = """
INSERT INTO night.findings (id, namespace_id, run_id, operation, severity, message)
  VALUES (gen_random_uuid(), %s, %s, %s, 'warning', %s)
"""

_BLOCKS: Final = "memory.folder_blocks"

_LOG: Final = logging.getLogger(__name__)


def wrote_pages(connection: Connection, run_id: str, table: str = "pages") -> bool:
    """Whether a run wrote, or took back, a page: one that is rendered (``pages``) or one of a corpus (``documents``)."""
    row = connection.execute(_PAGE_ENTRY, (run_id, table)).fetchone()
    return row is not None


def follow_folders(store: Store, claim: NamespaceClaim) -> None:
    """Bring the files of followed folders to where their pages are. A person's edit stays, and is the page's next version; what could not
    be written stays noted, is a warning on the run, and follows with the next sync.
    """
    problems: list[str] = []
    try:
        with store.connect("applier") as connection:
            folders = {c.id: c for c in corpora_of(connection, claim.namespace_id) if c.folder is not None}
            for id_ in has_pending(connection, list(folders)):
                done = follow_files(connection, folders[id_])
                problems += [f"{path}: {why}" for path, why in done.left.items()]
                tombstones = load_tombstones(connection, claim.namespace_id) if done.edited else None
                for path in done.edited:
                    is_forgotten = tombstones is not None and tombstones.refuse(path, "", is_new=True)
                    problems.append(f"{path}: {FORGOTTEN_FILE if is_forgotten else SUPERSEDED}")
    except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
        problems.append(f"Files of folders could not follow ({type(problem).__name__}).")
    if problems:
        told = f"{problems[0]} `slowwave corpus sync {argument(claim.namespace)}` tries again."
        more = f" So it is with {len(problems) - 1:,} more." if problems[1:] else ""
        _warn(store, claim, "corpus", (f"{told}{more}",))


def bound_folder(store: Store, connection: Connection, namespace: str) -> ConnectedStore | None:
    """The folder that is worked on in place and that a namespace (its name) is, once its rows say what its files say; None for others.

    Raises ``Refused`` where the folder cannot be looked at: nothing is written to rows whose files nobody sees.
    """
    folder = folder_of(store, namespace_id(connection, namespace))
    if folder is not None:
        follow_folder(store, folder)
    return folder


def follow_bound_folder(store: Store, claim: NamespaceClaim, folder: ConnectedStore, *, undo: bool = False) -> None:
    """Bring the files of a folder that is worked on in place to where its rows are, as one commit; what hinders it is a warning on the run,
    and the next night, apply or undo tries again.
    """
    subject = "slowwave: undo of what was applied" if undo else "slowwave: files follow what was applied"
    try:
        problems = follow_folder(store, folder, why=CommitWords(subject, f"Run: {claim.run_id}")).hindered()
    except Refused as problem:
        problems = [str(problem)]
    except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
        problems = [f"Files of {folder.name} could not follow ({type(problem).__name__}). The next night tries again."]
    if problems:
        more = f" So it is with {len(problems) - 1:,} more." if problems[1:] else ""
        _warn(store, claim, "folder", (f"{problems[0].rstrip('.')}.{more}",))


def stood_in(mutation: Mutation) -> str:
    """A sentence that names the files or blocks, and their lines, whose rows a mutation is about; empty for rows of no folder."""
    if mutation.physical is None or all(write.cell.table != _BLOCKS for write in mutation.physical.writes):
        return ""
    rows = (*mutation.rows, *((mutation.keep,) if mutation.keep else ()), *mutation.absorb)
    places = sorted({row.external_id for row in rows if row.external_id})
    return f" When it was planned it stood in: {'; '.join(places)}." if places else ""


def named_in_files(store: Store, problem: UndoBlocked) -> UndoBlocked:
    """The same refusal, with the files and lines of the blocks that a person changed since."""
    places = places_of(store, problem.rows)
    said = f" In the files: {'; '.join(places)}." if places else ""
    return UndoBlocked(f"{problem}{said}", problem.rows, problem.items)


def follow_pages(store: Store, claim: NamespaceClaim, settings: Settings, *, undo: bool = False) -> PageSync:
    """Bring the workspace to where the rows are. What could not be written is a warning on the run; ``slowwave pages sync`` repairs it."""
    try:
        outcome = sync_pages(store, claim.namespace, settings, run_id=claim.run_id, undo=undo)
    except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
        again = f"`slowwave pages sync {argument(claim.namespace)}` tries again."
        message = f"Files of pages could not follow ({type(problem).__name__}). {again}"
        outcome = PageSync(problems=(message,))
    if outcome.problems:
        _warn(store, claim, "compile_pages", outcome.problems)
    return outcome


def _warn(store: Store, claim: NamespaceClaim, about: str, problems: Sequence[str]) -> None:
    for problem in problems:
        _LOG.warning("Run %s: %s", claim.run_id, problem)
    try:
        with store.connect("applier") as connection, connection.cursor() as cursor:
            cursor.executemany(
                _NOTE_FINDING,
                [(claim.namespace_id, claim.run_id, about, problem) for problem in problems],
            )
    except (SlowwaveError, psycopg.Error) as problem:
        _LOG.warning("Run %s: the warnings could not be recorded (%s).", claim.run_id, type(problem).__name__)
