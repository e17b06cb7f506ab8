"""Watching folders: what changes in them is synced once it has stood still for a second, and what agents write follows into them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from watchfiles import Change, watch

from slowwave.corpus.corpora import Corpus
from slowwave.corpus.pending_files import has_pending
from slowwave.corpus.profile import profile
from slowwave.corpus.sync import DEBOUNCE, CorpusSync, sync_corpus
from slowwave.errors import Refused
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Store

_LOOK: Final = 2_000  # milliseconds after which, where no file changes, rows are looked at
_STEP: Final = 50  # milliseconds between two looks at what the system reports


def watch_corpora(
    store: Store,
    slug: str,
    corpora: Sequence[Corpus],
    embedder: Embedder,
    tell: Callable[[CorpusSync], None],
    refused: Callable[[Refused], None],
    *,
    stop: threading.Event | None = None,
    debounce: float = DEBOUNCE,
) -> None:
    """Sync now, and again whenever a page changes, until ``stop`` is set or the process is interrupted.

    Each sync has a connection of its own, so that none waits open. A sync that is refused (another one is at work) is told, and the next
    change tries again.
    """
    roots = {corpus.folder: corpus for corpus in corpora if corpus.folder is not None}
    if not roots:
        raise Refused("There is no folder to watch. `slowwave corpus add NAMESPACE FOLDER` follows one.")

    def sync(corpus: Corpus) -> None:
        try:
            with store.connect("owner") as connection:
                tell(sync_corpus(connection, slug, corpus, embedder))
        except Refused as problem:
            refused(problem)

    for corpus in roots.values():
        sync(corpus)
    for changes in watch(
        *roots,
        watch_filter=lambda _, path: _of(roots, path) is not None,
        debounce=int(debounce * 1_000),
        step=_STEP,
        stop_event=stop,
        rust_timeout=_LOOK,
        yield_on_timeout=True,
    ):
        for corpus in _touched(roots, changes) if changes else _awaited(store, roots):
            sync(corpus)


def _awaited(store: Store, roots: dict[Path, Corpus]) -> list[Corpus]:
    """The corpora whose files have yet to follow what agents wrote."""
    with store.connect("reader") as connection:
        ids = has_pending(connection, [corpus.id for corpus in roots.values()])
    return [corpus for corpus in roots.values() if corpus.id in ids]


def _touched(roots: dict[Path, Corpus], changes: set[tuple[Change, str]]) -> list[Corpus]:
    found = {corpus.id: corpus for _, path in changes if (corpus := _of(roots, path)) is not None}
    return list(found.values())


def _of(roots: dict[Path, Corpus], path: str) -> Corpus | None:
    """The corpus whose page, or folder of pages, a path is."""
    for root, corpus in roots.items():
        if Path(path).is_relative_to(root):
            relative = Path(path).relative_to(root).as_posix()
            hidden = any(part.startswith(".") for part in relative.split("/"))
            if not hidden and (profile(corpus.profile).takes(relative) or not Path(path).suffix):
                return corpus
    return None
