"""A folder and its documents: what is new, changed, moved, gone or unchanged, and what cannot be read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import Refused
from slowwave.store import load
from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import add_corpus
from slowwave.wiki.corpus.sync import one_sync, sync_corpus
from tests.toy import key
from tests.wiki.corpus.folders import Folder


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Folder:
    return Folder(tmp_path / "notes", store)


def counts(outcome: object) -> tuple[int, ...]:
    return tuple(getattr(outcome, name) for name in ("new", "changed", "moved", "gone", "unchanged"))


def test_a_folder_is_synced_edited_and_synced_again(folder: Folder) -> None:
    """Every kind of change at once; a document keeps its id, and what it said stands as a version."""
    for name in ("stays", "edited", "moves", "goes"):
        folder.write(f"{name}.md", f"# {name}\n\nThis is the page {name}.\n")
    assert counts(folder.sync()) == (4, 0, 0, 0, 0)
    before = folder.live()
    folder.write("edited.md", "# edited\n\nThis page says something else.\n", age=60)
    folder.move("moves.md", "deep/moved.md")
    (folder.root / "goes.md").unlink()
    folder.write("new.md", "# new\n\nA page.\n")
    assert counts(folder.sync()) == (1, 1, 1, 1, 1)
    after = folder.live()
    assert after["deep/moved.md"] == before["moves.md"]
    assert (after["stays.md"], after["edited.md"]) == (before["stays.md"], before["edited.md"])
    assert "goes.md" not in after
    assert folder.ask(
        "SELECT count(*) FROM memory.documents WHERE id = %s AND invalidated_at IS NOT NULL", before["goes.md"]
    ) == [(1,)]
    versions = folder.ask(
        "SELECT version_of::text, path, content FROM memory.documents WHERE version_of IS NOT NULL ORDER BY path"
    )
    assert versions == [
        (before["edited.md"], "edited.md", "# edited\n\nThis is the page edited.\n"),
        (before["moves.md"], "moves.md", "# moves\n\nThis is the page moves.\n"),
    ]
    live = folder.ask("SELECT c.content FROM memory.chunks c WHERE c.invalidated_at IS NULL ORDER BY 1")
    assert [text for (text,) in live] == [
        "# edited\n\nThis page says something else.",
        "# moves\n\nThis is the page moves.",
        "# new\n\nA page.",
        "# stays\n\nThis is the page stays.",
    ]


def test_an_unchanged_folder_writes_nothing_and_a_changed_one_is_a_change_of_the_namespace(folder: Folder) -> None:
    """A night is `unchanged` by the count of changes; touching a file changes nothing."""
    folder.write("a.md", "# A\n\nOne.\n")
    folder.sync()
    counter = "SELECT count(*) FROM memory.changes"
    before = folder.ask(counter)
    assert counts(folder.sync()) == (0, 0, 0, 0, 1)
    folder.touch("a.md", 30)
    assert counts(folder.sync()) == (0, 0, 0, 0, 1)
    assert folder.ask(counter) == before
    folder.write("a.md", "# A\n\nTwo.\n", age=20)
    folder.sync()
    assert folder.ask(counter) > before


def test_many_pages_renew_the_statistics_by_which_searches_are_planned(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "MANY", 3)
    for name in ("one", "two", "three"):
        folder.write(f"{name}.md", f"# {name}\n\nThis is the page {name}.\n")
    folder.sync()
    assert folder.ask("SELECT reltuples FROM pg_class WHERE oid = 'memory.documents'::regclass") == [(3,)]


def test_equal_text_is_embedded_once(folder: Folder) -> None:
    """A moved file, a file that comes back, a copy: their vectors are there."""
    folder.write("a.md", "# A\n\nThe same words.\n")
    assert folder.sync().chunks_embedded == 1
    folder.move("a.md", "b.md")
    folder.write("copy.md", "# A\n\nThe same words.\n")
    outcome = folder.sync()
    assert (outcome.moved, outcome.new, outcome.chunks_embedded, outcome.vectors_reused) == (1, 1, 0, 1)
    (folder.root / "b.md").unlink()
    (folder.root / "copy.md").unlink()
    folder.sync(emptied=True)
    folder.write("back.md", "# A\n\nThe same words.\n")
    outcome = folder.sync()
    assert (outcome.chunks_embedded, outcome.vectors_reused) == (0, 1)
    assert folder.embedder.texts == ["# A\n\nThe same words."]


def test_a_paragraph_that_nobody_changed_is_not_embedded_again(folder: Folder) -> None:
    """Of a long page whose second section was edited, the other sections keep their chunks and vectors."""
    sections = [f"## Part {n}\n\n" + " ".join(f"word{n}x{k}" for k in range(250)) + "\n\n" for n in range(6)]
    folder.write("long.md", "".join(sections))
    first = folder.sync()
    sections[1] = "## Part 1\n\nShort now.\n\n"
    folder.write("long.md", "".join(sections), age=60)
    second = folder.sync()
    assert second.changed == 1
    assert second.chunks_embedded < first.chunks_embedded / 2


def test_what_cannot_be_read_is_named_and_changes_nothing(folder: Folder) -> None:
    """By file, line and reason; a document whose file is broken now stays as it was."""
    folder.write("fine.md", "# Fine\n\nWords.\n")
    folder.write("breaks.md", "# Whole\n\nWords of the page.\n")
    folder.sync()
    before = folder.live()
    folder.write("breaks.md", "---\ntitle: a\ntitle: b\n---\nNew words.\n", age=60)
    folder.write("alias.md", "---\nok: 1\nbomb: &a [x]\nmore: *a\n---\n")
    folder.write("binary.md", b"# fine\n\nthen\0\x01\x02")
    folder.write("latin.md", "# Caf\xe9\n".encode("latin-1"))
    folder.write("huge.md", b"x" * 50_000_001)
    outcome = folder.sync()
    assert counts(outcome) == (0, 0, 0, 0, 1)
    assert [(out.path, out.line) for out in outcome.left_out] == [
        ("alias.md", 3), ("binary.md", 3), ("breaks.md", 3), ("huge.md", 0), ("latin.md", 1),
    ]  # fmt: skip
    assert folder.live() == before
    assert folder.ask("SELECT content FROM memory.documents WHERE path = 'breaks.md'") == [
        ("# Whole\n\nWords of the page.\n",)
    ]


def test_dory_a_symlink_out_of_the_folder_is_rejected(folder: Folder, tmp_path: Path) -> None:
    """Neither a file nor a folder outside is read; a link within names what is taken."""
    (tmp_path / "secret.md").write_text("# Secret\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.md").write_text("# Other\n")
    folder.write("a.md", "# A\n")
    (folder.root / "out.md").symlink_to(tmp_path / "secret.md")
    (folder.root / "away").symlink_to(tmp_path / "elsewhere")
    (folder.root / "again.md").symlink_to(folder.root / "a.md")
    outcome = folder.sync()
    assert list(folder.live()) == ["a.md"]
    assert [(out.path, out.reason.split(";")[0]) for out in outcome.left_out] == [
        ("again.md", "it is a link"),
        ("out.md", "it is a link out of the folder"),
    ]


def test_names_that_differ_in_case_are_one_page(folder: Folder) -> None:
    """The one that is known stays; the other is named."""
    folder.write("Note.md", "# One\n")
    folder.sync()
    folder.write("NOTE.md", "# Two\n")
    outcome = folder.sync()
    assert list(folder.live()) == ["Note.md"]
    assert [out.path for out in outcome.left_out] == ["NOTE.md"]


def test_a_file_that_is_being_written_is_waited_for_once(folder: Folder) -> None:
    """It is read when it stands still, and the next time when it does not."""
    folder.write("calm.md", "# Calm\n")
    folder.write("young.md", "# Half", age=0.2)
    paused: list[float] = []
    outcome = folder.sync(pause=paused.append)
    assert outcome.new == 2
    assert 0 < paused[0] <= 1

    folder.write("young.md", "# Half written", age=0.1)
    outcome = folder.sync(pause=lambda _: folder.write("young.md", "# Half written by now", age=0.05) and None)
    assert (outcome.unsettled, outcome.changed) == (("young.md",), 0)
    assert folder.ask("SELECT content FROM memory.documents WHERE path = 'young.md' AND invalidated_at IS NULL") == [
        ("# Half",)
    ]
    folder.clock += 10
    assert folder.sync().changed == 1


def test_an_empty_or_missing_folder_takes_nothing_away(folder: Folder) -> None:
    """A disk that is not mounted is no deletion of everything."""
    file = folder.write("a.md", "# A\n")
    folder.sync()
    file.unlink()
    with pytest.raises(Refused, match="1 documents"):
        folder.sync()
    assert list(folder.live()) == ["a.md"]
    assert folder.sync(emptied=True).gone == 1
    corpus = folder.corpus()
    folder.root.rmdir()
    with folder.store.connect("owner") as connection, pytest.raises(Refused, match="no folder"):
        sync_corpus(connection, folder.slug, corpus, folder.embedder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_looked_into_takes_nothing_away(folder: Folder) -> None:
    folder.write("closed/a.md", "# A\n")
    folder.sync()
    (folder.root / "closed").chmod(0)
    try:
        outcome = folder.sync()
    finally:
        (folder.root / "closed").chmod(0o700)
    assert (outcome.gone, [out.path for out in outcome.left_out]) == (0, ["closed"])


def test_one_sync_at_a_time(folder: Folder) -> None:
    """The second is told so, and does nothing."""
    folder.write("a.md", "# A\n")
    with folder.store.connect("owner") as connection:
        corpus = add_corpus(connection, folder.slug, folder.root)
        with one_sync(connection, corpus.namespace_id, folder.slug), pytest.raises(Refused, match="Another sync"):
            folder.sync()
    assert folder.sync().new == 1


def test_a_sync_that_was_stopped_goes_on(folder: Folder) -> None:
    """Batches before the stop stand, and are not written again; links are set right by the next sync."""
    for n in range(40):
        folder.write(f"page{n:02}.md", f"# Page {n}\n\n[[page{(n + 1) % 40:02}]] " + "words " * 2_000)

    good = folder.embedder.embed

    def once(texts: Sequence[str]) -> np.ndarray:
        folder.embedder.embed = failing  # type: ignore[method-assign]
        return good(texts)

    def failing(texts: Sequence[str]) -> np.ndarray:
        raise ConnectionError

    folder.embedder.embed = once  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        folder.sync()
    folder.embedder.embed = good  # type: ignore[method-assign]
    stood = len(folder.live())
    assert 0 < stood < 40
    outcome = folder.sync()
    assert (outcome.new, outcome.unchanged) == (40 - stood, stood)
    assert {target for *_, target in folder.links()} == {f"page{n:02}.md" for n in range(40)}


def test_a_page_with_a_secret_is_refused_or_kept_out_of_sight(tmp_path: Path, store: Store) -> None:
    """As imports are: by the setting of the namespace. A quarantined page has no chunks and no links, and its file is exported as it is."""
    folder = Folder(tmp_path / "notes", store)
    folder.write("fine.md", "# Fine\n")
    folder.sync()
    with store.connect("owner") as owner:
        owner.execute("""UPDATE memory.namespaces SET settings = '{"screening_on_import": "block"}'""")
    folder.write("leak.md", f"# Leak\n\nsee [[fine]] and {key()}\n")
    outcome = folder.sync()
    assert [(out.path, "secret" in out.reason) for out in outcome.left_out] == [("leak.md", True)]
    with store.connect("owner") as owner:
        owner.execute("""UPDATE memory.namespaces SET settings = '{"screening_on_import": "quarantine"}'""")
    outcome = folder.sync()
    assert (outcome.new, outcome.quarantined, dict(outcome.screened)) == (1, 1, {"secret": 1})
    assert folder.links() == []
    assert folder.ask("SELECT count(*) FROM memory.chunks WHERE content LIKE '%%AKIA%%'") == [(0,)]
    assert folder.ask("SELECT metadata FROM memory.documents WHERE path = 'leak.md'") == [({"quarantined": True},)]
