"""Pages into rows: vectors by what a chunk says, and a change of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slowwave.store.connect import Store
from slowwave.wiki.corpus import writing
from slowwave.wiki.corpus.sync import corpus_status
from tests.wiki.corpus.folders import CountingEmbedder, Folder

VECTORS = "SELECT model, count(*) FROM memory.chunk_vectors GROUP BY model ORDER BY model"


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Folder:
    made = Folder(tmp_path / "notes", store)
    for n in range(7):
        made.write(f"{n}.md", f"# Page {n}\n\nOf its own.\n")
    made.write("copy.md", "# Page 0\n\nOf its own.\n")
    made.sync()
    return made


def bare(folder: Folder, model: str) -> int:
    with folder.store.connect("reader") as connection:
        (found,) = corpus_status(connection, folder.corpus().namespace_id, model)
    return found.chunks_without_vector


def test_another_model_embeds_what_stands_and_the_first_one_s_vectors_stay(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text once, though nothing in the folder changed; no row has a vector of one model under the name of another."""
    monkeypatch.setattr(writing, "_EMBEDDED", 3)
    folder.embedder = CountingEmbedder("tests-other")
    outcome = folder.sync()
    assert (outcome.unchanged, outcome.chunks_embedded + outcome.vectors_reused) == (8, 8)
    assert sorted(folder.embedder.texts) == [f"# Page {n}\n\nOf its own." for n in range(7)]
    assert folder.ask(VECTORS) == [("tests-8", 8), ("tests-other", 8)]
    assert bare(folder, "tests-other") == 0
    again = folder.sync()
    assert (again.chunks_embedded, again.added) == (0, {})
    folder.embedder = CountingEmbedder()
    assert (folder.sync().chunks_embedded, folder.embedder.texts) == (0, [])


def test_a_change_of_the_model_goes_on_where_it_was_stopped(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that fails after the first batch: what it embedded stands, and is not paid for again."""
    monkeypatch.setattr(writing, "_EMBEDDED", 3)
    folder.embedder = other = CountingEmbedder("tests-other")
    good = other.embed

    def once(texts: Sequence[str]) -> np.ndarray:
        other.embed = failing  # type: ignore[method-assign]
        return good(texts)

    def failing(texts: Sequence[str]) -> np.ndarray:
        raise ConnectionError

    other.embed = once  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        folder.sync()
    left = bare(folder, "tests-other")
    assert 0 < left < 8
    other.embed = good  # type: ignore[method-assign]
    folder.sync()
    assert bare(folder, "tests-other") == 0
    assert len(other.texts) == 7


def test_a_page_that_is_gone_is_not_embedded_again(folder: Folder) -> None:
    """Nor is what a page said before."""
    (folder.root / "6.md").unlink()
    folder.write("5.md", "# Page 5\n\nEdited.\n", age=60)
    folder.sync()
    folder.embedder = CountingEmbedder("tests-other")
    folder.sync()
    assert "# Page 6\n\nOf its own." not in folder.embedder.texts
    assert "# Page 5\n\nOf its own." not in folder.embedder.texts
    assert folder.ask(VECTORS)[1] == ("tests-other", 7)
