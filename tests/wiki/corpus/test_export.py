"""Export: the files again, byte for byte, and every version that was synced as a history."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import corpora_of
from slowwave.wiki.corpus.export import CorpusExport, export_corpora
from tests.memories import remember
from tests.toy import key
from tests.wiki.corpus.folders import Folder
from tests.wiki.corpus.pages import put

ODD = {
    "plain.md": b"# Plain\n\nWords.\n",
    "crlf.md": b"\xef\xbb\xbf---\r\ntitle: With a mark\r\ntags: [a]\r\n---\r\n\r\nText\r\n\r\n",
    "no end.md": b"---\nx: 1\n---\n\n\n# \tHeading  \nno line feed at the end",
    "empty.md": b"",
    'deep/er/qu"ote \xc3\xa4.md'.encode("latin-1").decode(): b"# \xc3\xa4\n\n\x0c\n\xe2\x80\xa8 separators \x7f\n",
    "blank.md": b"\n\n\n",
}


def export(folder: Folder, target: Path, *, git: bool = False) -> list[CorpusExport]:
    with folder.store.connect("reader") as connection:
        return export_corpora(connection, corpora_of(connection, folder.corpus().namespace_id), target, git=git)


def tree(root: Path) -> dict[str, bytes]:
    return {
        f.relative_to(root).as_posix(): f.read_bytes() for f in root.rglob("*") if f.is_file() and ".git" not in f.parts
    }


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Folder:
    made = Folder(tmp_path / "notes", store)
    for path, content in ODD.items():
        made.write(path, content)
    assert made.sync().new == len(ODD)
    return made


def test_an_unchanged_file_is_the_same_bytes(folder: Folder, tmp_path: Path) -> None:
    """Marks, ends of lines, what is missing at the end, odd names."""
    (done,) = export(folder, tmp_path / "out")
    assert tree(tmp_path / "out") == tree(folder.root) == ODD
    assert (done.pages, done.bytes, done.commits) == (len(ODD), sum(map(len, ODD.values())), 0)


def test_nothing_is_overwritten(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.md").write_text("mine")
    with pytest.raises(Refused, match="not empty"):
        export(folder, tmp_path / "out")
    assert tree(tmp_path / "out") == {"mine.md": b"mine"}


def test_the_history_is_every_version_that_was_synced(folder: Folder, tmp_path: Path) -> None:
    """One commit an instant: written, edited and renamed, removed; the last one is the folder, and git sees no change in it."""
    folder.write("plain.md", "# Plain\n\nOther words.\n", age=60)
    folder.move("blank.md", "deep/void.md")
    folder.sync()
    (folder.root / "empty.md").unlink()
    folder.sync()
    target = tmp_path / "out"
    (done,) = export(folder, target, git=True)
    assert done.commits == 3
    assert tree(target) == tree(folder.root)
    assert git(target, "status", "--porcelain") == ""
    assert git(target, "log", "--format=%s", "--reverse").splitlines() == [
        "6 pages written, 0 removed", "2 pages written, 1 removed", "0 pages written, 1 removed",
    ]  # fmt: skip
    assert git(target, "show", "HEAD~2:plain.md") == "# Plain\n\nWords.\n"
    assert git(target, "show", "HEAD~1:plain.md") == "# Plain\n\nOther words.\n"
    assert "blank.md" in git(target, "ls-tree", "-r", "--name-only", "HEAD~2")


def test_a_secret_of_any_version_keeps_the_history_out_of_git(folder: Folder, tmp_path: Path) -> None:
    """What is committed is hard to take back; without --git the files are written."""
    folder.write("leak.md", f"# Leak\n\n{key()}\n")
    folder.sync()
    folder.write("leak.md", "# Leak\n\nTaken out.\n", age=60)
    folder.sync()
    with pytest.raises(Refused, match=r"leak\.md"):
        export(folder, tmp_path / "out", git=True)
    assert not (tmp_path / "out").exists()
    export(folder, tmp_path / "out")
    assert tree(tmp_path / "out")["leak.md"] == b"# Leak\n\nTaken out.\n"


def test_pages_that_agents_wrote_in_no_folder_are_exported_as_files(tmp_path: Path, store: Store) -> None:
    """Beside a followed folder's, in a folder of their own."""
    remember(store, "acme")
    put(store, content="The spring tide is at six.")
    folder = Folder(tmp_path / "notes", store, slug="acme")
    folder.write("a.md", "# A\n")
    folder.sync()
    with store.connect("reader") as connection:
        export_corpora(connection, corpora_of(connection, folder.corpus().namespace_id), tmp_path / "out")
    assert sorted(tree(tmp_path / "out")) == ["notes/a.md", "pages/ideas/tides.md"]
