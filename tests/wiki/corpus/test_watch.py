"""A folder that is watched is synced when a page changes, and not when something else does."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import corpora_of
from slowwave.wiki.corpus.sync import CorpusSync, watch_corpora
from tests.waiting import until
from tests.wiki.corpus.folders import Folder


def test_a_saved_page_is_synced(tmp_path: Path, store: Store) -> None:
    folder = Folder(tmp_path / "notes", store)
    folder.write("a.md", "# A\n")
    folder.sync()
    with store.connect("reader") as connection:
        corpora = corpora_of(connection, folder.corpus().namespace_id)
    told: list[CorpusSync] = []
    stop = threading.Event()
    watcher = threading.Thread(
        target=watch_corpora,
        args=(store, folder.slug, corpora, folder.embedder, told.append, lambda _: None),
        kwargs={"stop": stop, "debounce": 0.05},
    )
    watcher.start()
    try:
        until(lambda: told)
        assert told[0].unchanged == 1
        (folder.root / "b.md").write_text("# B\n")
        until(lambda: sum(one.new for one in told) == 1)
        (folder.root / "deep").mkdir()
        (folder.root / "deep" / "c.md").write_text("# C\n")
        until(lambda: sum(one.new for one in told) == 2)
        seen = len(told)
        (folder.root / "picture.png").write_bytes(b"x")
        (folder.root / ".hidden.md").write_text("# Hidden\n")
        (folder.root / "a.md").write_text("# A, edited\n")
        until(lambda: sum(one.changed for one in told) == 1)
        assert len(told) >= seen + 1
    finally:
        stop.set()
        watcher.join()
    assert list(folder.live()) == ["a.md", "b.md", "deep/c.md"]


def test_there_is_nothing_to_watch_without_a_folder(store: Store, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "notes", store)
    with pytest.raises(Refused, match="no folder to watch"):
        watch_corpora(store, "notes", [], folder.embedder, lambda _: None, lambda _: None)
