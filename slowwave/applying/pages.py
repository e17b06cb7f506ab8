"""Files of pages after an apply or an undo: they follow the rows, and what hinders them never undoes what was committed."""

from __future__ import annotations

import logging
from typing import Final

import psycopg

from slowwave.config.settings import Settings
from slowwave.errors import SlowwaveError
from slowwave.pages.workspace import PageSync, sync_pages
from slowwave.runs.writing import NamespaceClaim
from slowwave.store.connect import Connection, Store

_PAGE_ENTRY: Final = "SELECT 1 FROM night.journal WHERE run_id = %s AND table_name = 'pages' LIMIT 1"
_NOTE_FINDING: Final = """
INSERT INTO night.findings (id, namespace_id, run_id, operation, severity, message)
  VALUES (gen_random_uuid(), %s, %s, 'compile_pages', 'warning', %s)
"""

_LOG: Final = logging.getLogger(__name__)


def wrote_pages(connection: Connection, run_id: str) -> bool:
    """Whether a run wrote, or took back, a page."""
    row = connection.execute(_PAGE_ENTRY, (run_id,)).fetchone()
    return row is not None


def follow_pages(store: Store, claim: NamespaceClaim, settings: Settings, *, undo: bool = False) -> PageSync:
    """Bring the workspace to where the rows are. What could not be written is a warning on the run; ``slowwave pages sync`` repairs it."""
    try:
        outcome = sync_pages(store, claim.namespace, settings, run_id=claim.run_id, undo=undo)
    except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
        message = f"Files of pages could not follow ({type(problem).__name__}). `slowwave pages sync {claim.namespace}` tries again."
        outcome = PageSync(problems=(message,))
    if outcome.problems:
        _warn(store, claim, outcome)
    return outcome


def _warn(store: Store, claim: NamespaceClaim, outcome: PageSync) -> None:
    for problem in outcome.problems:
        _LOG.warning("Run %s: %s", claim.run_id, problem)
    try:
        with store.connect("applier") as connection, connection.cursor() as cursor:
            cursor.executemany(
                _NOTE_FINDING,
                [(claim.namespace_id, claim.run_id, problem) for problem in outcome.problems],
            )
    except (SlowwaveError, psycopg.Error) as problem:
        _LOG.warning("Run %s: the warnings could not be recorded (%s).", claim.run_id, type(problem).__name__)
