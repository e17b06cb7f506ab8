"""``slowwave corpus get`` and ``link``: what a person reads, and what a program does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.store.connect import Store
from tests.surfaces.cli.conftest import Run
from tests.wiki.corpus.folders import Folder


@pytest.fixture
def notes(tmp_path: Path, store: Store) -> Folder:
    folder = Folder(tmp_path / "notes", store, "vault")
    folder.write("a.md", "# A\n\n[[b]], [[c]], [[a]], [[gone]]\n")
    folder.write("b.md", "# B\r\n\r\nright to left: \u202egpj.exe \x1b[31mred\n\n[[c#No such]]")
    folder.write("c.md", "# C\n")
    folder.sync()
    return folder


def test_a_page_is_printed_as_text_that_cannot_speak_to_a_terminal(notes: Folder, run: Run) -> None:
    """Escapes and direction marks are blanks; JSON has the bytes and the hash."""
    code, out, _ = run("corpus", "get", "notes", "b", "--from", "3")
    assert (code, out) == (0, "right to left:  gpj.exe  [31mred\n\n[[c#No such]]\n")
    found = json.loads(run("corpus", "get", "notes", "b", "--json")[1])
    assert found["content"].encode() == (notes.root / "b.md").read_bytes()
    assert len(found["hash"]) == 64


def test_edges_that_are_cut_off_are_told(notes: Folder, run: Run) -> None:
    code, out, _ = run("corpus", "link", "notes", "neighbors", "a.md", "--max-edges", "1")
    assert code == 0
    assert "1 of 2 edges; --max-edges shows more" in out
    assert json.loads(run("corpus", "link", "notes", "neighbors", "a.md", "--exclude", "b", "--json")[1])["count"] == 1


def test_lint_tells_how_much_is_broken(notes: Folder, run: Run) -> None:
    code, out, _ = run("corpus", "link", "notes", "lint")
    assert code == 0
    assert "Links that lead nowhere: 2, on 2 pages." in out
    assert "Pages that link to themselves: a.md" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("corpus", "link", "notes", "neighbors"), "asks for a page"),
        (("corpus", "link", "notes", "neighbors", "a.md", "--direction", "up"), "direction"),
        (("corpus", "link", "notes", "lint", "--corpus", "absent"), "Corpora: notes"),
        (("corpus", "get", "notes", "a.md", "--from", "0"), "from"),
        (("corpus", "get", "notes", "a.md", "--from", "99"), "no line 99"),
    ],
)
def test_what_may_not_be_asked_is_refused_in_words(
    notes: Folder, run: Run, arguments: tuple[str, ...], words: str
) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert words in err
