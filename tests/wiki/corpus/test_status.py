"""What corpora hold, in figures: rows that live, versions, what similarity does not see, links that lead nowhere."""

from __future__ import annotations

from pathlib import Path

from slowwave.store.connect import Store
from slowwave.wiki.corpus.sync import CorpusStatus, corpus_status
from tests.wiki.corpus.folders import Folder


def status(folder: Folder, model: str = "tests-8") -> list[CorpusStatus]:
    with folder.store.connect("reader") as connection:
        return corpus_status(connection, folder.corpus().namespace_id, model)


def test_what_is_gone_is_not_counted_and_what_was_is_a_version(tmp_path: Path, store: Store) -> None:
    folder = Folder(tmp_path / "notes", store)
    folder.write("a.md", "# A\n\n[[b]] and [[nowhere]]\n")
    folder.write("b.md", "# B\n")
    folder.sync()
    folder.write("b.md", "# B\n\nEdited.\n", age=60)
    folder.write("gone.md", "# Gone\n\n[[nowhere]]\n")
    folder.sync()
    (folder.root / "gone.md").unlink()
    folder.sync()
    (found,) = status(folder)
    assert (found.root, found.profile, found.pages, found.versions, found.chunks) == (
        str(folder.root),
        "plain",
        2,
        1,
        2,
    )
    assert (found.links, found.broken_links, found.quarantined, found.chunks_without_vector) == (2, 1, 0, 0)
    assert found.synced_at is not None
    assert found.to_json()["synced_at"] == found.synced_at.isoformat()


def test_vectors_of_another_model_are_none(tmp_path: Path, store: Store) -> None:
    """What a change of the model leaves to do."""
    folder = Folder(tmp_path / "notes", store)
    folder.write("a.md", "# A\n")
    folder.sync()
    assert [one.chunks_without_vector for one in status(folder, "another")] == [1]


def test_corpora_are_told_apart(tmp_path: Path, store: Store) -> None:
    """Each with its own, in the order in which they were added."""
    for n, name in enumerate(("one", "two"), 1):
        folder = Folder(tmp_path / name, store)
        for k in range(n):
            folder.write(f"{k}.md", f"# {name} {k}\n")
        folder.sync()
    assert [(Path(one.root).name, one.pages, one.chunks) for one in status(folder)] == [("one", 1, 1), ("two", 2, 2)]
