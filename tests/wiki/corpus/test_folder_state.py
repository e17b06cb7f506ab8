"""How folders stand: changed means that a sync would do something, and a failed one is not tried on the same state again."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.store.connect import Store
from slowwave.wiki.corpus.sync import FolderState, folder_states
from tests.wiki.corpus.folders import CountingEmbedder, Folder


@pytest.fixture
def folder(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_ENDPOINT", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", "tests-8")
    made = Folder(tmp_path / "notes", store)
    made.write("a.md", "# A\n")
    made.write("b.md", "# B\n")
    made.sync()
    return made


def state(folder: Folder) -> FolderState:
    with folder.store.connect("reader") as connection:
        (found,) = folder_states(connection, [folder.slug])
    return found


def test_a_folder_is_changed_until_it_is_synced(folder: Folder) -> None:
    """Edited, new, moved, gone, there again as it was: each is seen without reading, and no fingerprint comes back."""
    prints = [state(folder).fingerprint]
    assert not state(folder).changed

    def step() -> None:
        assert state(folder).changed
        prints.append(state(folder).fingerprint)
        folder.sync()
        assert not state(folder).changed

    folder.write("a.md", "# A, edited\n", age=60)
    step()
    folder.write("c.md", "# C\n")
    step()
    folder.move("c.md", "d.md")
    step()
    (folder.root / "d.md").rename(folder.root.parent / "d.md")
    step()
    (folder.root.parent / "d.md").rename(folder.root / "d.md")
    step()
    (folder.root / "d.md").unlink()
    step()
    assert len(set(prints)) == len(prints)


def test_what_is_no_page_changes_nothing(folder: Folder) -> None:
    folder.write("picture.png", b"x")
    folder.write(".hidden.md", "# Hidden\n")
    assert not state(folder).changed


def test_a_file_that_cannot_be_read_leaves_one_fingerprint(folder: Folder) -> None:
    """It stays undone, and is not worth another run until somebody mends it."""
    folder.write("broken.md", "---\na: [\n---\n")
    before = state(folder)
    for _ in range(2):
        assert folder.sync().left_out
        assert (state(folder).changed, state(folder).fingerprint) == (True, before.fingerprint)
    folder.write("broken.md", "---\na: []\n---\n", age=60)
    assert state(folder).fingerprint != before.fingerprint
    folder.sync()
    assert not state(folder).changed


def test_another_model_is_a_change(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", "tests-other")
    assert state(folder).changed
    folder.embedder = CountingEmbedder("tests-other")
    folder.sync()
    assert not state(folder).changed


def test_a_folder_that_is_not_there_is_told_and_not_taken_for_empty(folder: Folder) -> None:
    for file in folder.root.iterdir():
        file.unlink()
    assert state(folder).changed
    folder.root.rmdir()
    found = state(folder)
    assert (found.changed, "no folder" in found.problem) == (False, True)


def test_read_only_namespaces_and_others_are_left_out(folder: Folder) -> None:
    with folder.store.connect("reader") as connection:
        assert folder_states(connection, ["another"]) == []
    with folder.store.connect("owner") as owner:
        owner.execute("UPDATE memory.namespaces SET read_only = true")
    with folder.store.connect("reader") as connection:
        assert folder_states(connection, [folder.slug]) == []
