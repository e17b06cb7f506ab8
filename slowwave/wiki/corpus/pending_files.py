"""Pending files: pages that an agent wrote at run time and that are still to be written to a followed folder.

A process with the rights to the folder writes them. The rows are committed first and name the pending files (``memory.pending_files``),
so a process that stops in between loses nothing and the next one continues; repeating the work changes nothing. A file that differs from
its state before the write was edited by a person. If the agent only added text, that text is merged into the file. Otherwise the file
stays as it is, and the next sync makes it the page's next version, with the agent's text as the version before it.

Every folder on the path is opened by its name within its parent and never through a link, so no file outside of the root is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from slowwave.sources.page_files import content_hash
from slowwave.sources.write_files import Unwritable, bring_file, open_folder, read_file
from slowwave.store.logins import Connection
from slowwave.wiki.corpus.corpora import Corpus
from slowwave.wiki.corpus.page_text import merged_page

_BATCH: Final = 100  # files that one transaction waits for
SUPERSEDED: Final = (
    "a person edited the file since the last sync, so it keeps that text. The agent's text is the version before it."
)
"""Warning for a write whose file was edited by a person."""

_PENDING: Final = "SELECT path FROM memory.pending_files WHERE corpus_id = %s AND (%s::text[] IS NULL OR path = ANY(%s)) ORDER BY path"
_LOCK: Final = "SELECT memory.lock_name(%s || path, 3) FROM unnest(%s::text[]) AS path"
_ROWS: Final = """
SELECT p.path, p.was_hash, d.content, d.content_hash, v.content FROM memory.pending_files p
  LEFT JOIN memory.documents d ON d.corpus_id = p.corpus_id AND d.path = p.path AND d.invalidated_at IS NULL
  LEFT JOIN LATERAL (SELECT o.content FROM memory.documents o WHERE o.version_of = d.id AND o.content_hash = p.was_hash
    ORDER BY o.invalidated_at DESC LIMIT 1) v ON true
 WHERE p.corpus_id = %s AND p.path = ANY(%s) ORDER BY p.path"""
_SETTLED: Final = "DELETE FROM memory.pending_files WHERE corpus_id = %s AND path = ANY(%s)"
_WAITING_CORPORA: Final = "SELECT DISTINCT corpus_id::text FROM memory.pending_files WHERE corpus_id = ANY(%s::uuid[])"


@dataclass(slots=True)
class Following:
    """Result of bringing files up to date with their rows.

    - ``written``: paths whose files were written or removed.
    - ``merged``: those of them where an agent's addition was merged into text that a person edited.
    - ``edited``: paths that a person edited and that stay as they are.
    - ``left``: paths that were left, with reasons.
    """

    written: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def follow_files(connection: Connection, corpus: Corpus, paths: Collection[str] | None = None) -> Following:
    """Update the files of a corpus, or some of them, to match their rows. The connection must own memory."""
    done = Following()
    chosen = None if paths is None else sorted(set(paths))
    pending = [str(path) for (path,) in connection.execute(_PENDING, (corpus.id, chosen, chosen))]
    for start in range(0, len(pending), _BATCH):
        _follow(connection, corpus, pending[start : start + _BATCH], done)
    return done


def has_pending(connection: Connection, corpora: Sequence[str]) -> list[str]:
    """Return the ids of those corpora that have pending files."""
    rows = connection.execute(_WAITING_CORPORA, (list(corpora),))
    return [str(id_) for (id_,) in rows]


def histories_of(corpus: Corpus) -> int:
    """Count the git histories that contain the folder of a corpus."""
    folder = corpus.folder
    return 0 if folder is None else sum((up / ".git").exists() for up in (folder, *folder.parents))


def _follow(connection: Connection, corpus: Corpus, paths: Sequence[str], done: Following) -> None:
    """Update some files while no other writer changes their pages."""
    settled: list[str] = []
    with connection.transaction():
        connection.execute(_LOCK, (corpus.namespace_id, list(paths)))
        rows: Any = connection.execute(_ROWS, (corpus.id, list(paths))).fetchall()
        for path, was_hash, content, hash_, before in rows:
            try:
                if corpus.folder is None:
                    raise Unwritable("its corpus has no folder")
                wanted = None if content is None else content.encode()
                kept = bring_file(corpus.folder, path, was_hash, wanted, hash_)
                if kept and content is not None and before is not None and _merge(corpus.folder, path, before, content):
                    done.merged.append(path)
                    kept = False
            except (Unwritable, OSError) as problem:
                reason = problem.strerror if isinstance(problem, OSError) else str(problem)
                done.left[path] = f"the file has not followed yet: {reason}"
                continue
            settled.append(path)
            (done.edited if kept else done.written).append(path)
        connection.execute(_SETTLED, (corpus.id, settled))


def _merge(root: Path, path: str, before: str, after: str) -> bool:
    """Merge an agent's addition into a file that a person edited, and return whether the file holds both now.

    ``before`` is the page that both started from.
    """
    *folders, name = path.split("/")
    with open_folder(root, folders, make=False) as folder:
        found = None if folder is None else read_file(folder, name)
    try:
        text = None if found is None else found.decode()
    except UnicodeDecodeError:
        return False
    merged = None if text is None else merged_page(before, after, text)
    if found is None or merged is None:
        return False
    wanted = merged.encode()
    return not bring_file(root, path, content_hash(found), wanted, content_hash(wanted))
