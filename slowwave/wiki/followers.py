"""Page files that follow the rows after an apply or an undo; a failure there never undoes what was committed.

These are the files of the workspace, into which pages are rendered, and of followed folders, for which a plan wrote pages.
"""

from __future__ import annotations

from collections.abc import Collection

from slowwave.errors import UndoBlocked
from slowwave.night.followers import warn
from slowwave.plans.commands import argument
from slowwave.store.claims import NamespaceClaim
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.corpora import FORGOTTEN_FILE, corpora_of, load_tombstones
from slowwave.wiki.corpus.pending_files import SUPERSEDED, follow_files, has_pending
from slowwave.wiki.pages.workspace import PageSync, sync_pages


class PageFollower:
    """A follower that updates files of rendered pages and of followed folders after a run."""

    def before_night(self, store: Store, namespace: str) -> None:
        """Do nothing: edits of people in these files are synced while agents run, not at night."""

    def before_write(self, store: Store, connection: Connection, namespace: str) -> None:
        """Do nothing: an edited file stays and becomes the page's next version."""

    def after_write(
        self, store: Store, claim: NamespaceClaim, settings: Settings, wrote: Collection[str], *, undo: bool = False
    ) -> None:
        """Render pages into the workspace if any was written, and write files of followed folders if a document was."""
        if "pages" in wrote:
            follow_pages(store, claim, settings, undo=undo)
        if "documents" in wrote:
            follow_folders(store, claim)

    def explain(self, store: Store, problem: UndoBlocked) -> UndoBlocked:
        """Return the refusal unchanged: its rows have their names."""
        return problem


def follow_folders(store: Store, claim: NamespaceClaim) -> None:
    """Update the files of followed folders from their pages.

    A person's edit stays and becomes the page's next version. A file that could not be written stays noted, causes a warning on the run
    and follows with the next sync.
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
        warning = f"{problems[0]} `slowwave corpus sync {argument(claim.namespace)}` tries again."
        warn(store, claim, "corpus", [warning, *problems[1:]])


def follow_pages(store: Store, claim: NamespaceClaim, settings: Settings, *, undo: bool = False) -> PageSync:
    """Update the workspace from the rows.

    Files that could not be written cause a warning on the run; ``slowwave pages sync`` repairs them.
    """
    try:
        outcome = sync_pages(store, claim.namespace, settings, run_id=claim.run_id, undo=undo)
    except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
        again = f"`slowwave pages sync {argument(claim.namespace)}` tries again."
        message = f"Files of pages could not follow ({type(problem).__name__}). {again}"
        outcome = PageSync(problems=(message,))
    if outcome.problems:
        warn(store, claim, "compile_pages", outcome.problems)
    return outcome
