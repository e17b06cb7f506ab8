"""The files of a folder: which are pages, and what is left out, each with its reason."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.sources.page_files import FileMark, scan_folder
from slowwave.sources.profile import profile


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_pages_by_profile_in_order_with_their_marks(tmp_path: Path) -> None:
    """Folders and files that begin with a dot, other kinds of files, and what the profile leaves out are not looked at."""
    write(tmp_path, "b.md", "a/c.markdown", ".obsidian/x.md", ".hidden.md", "picture.png", "templates/daily.md")
    found = scan_folder(tmp_path, profile("vault"))
    assert list(found.files) == ["a/c.markdown", "b.md"]
    assert found.files["b.md"] == FileMark.from_stat((tmp_path / "b.md").stat())
    assert found.left_out == found.closed == []
    assert "templates/daily.md" in scan_folder(tmp_path, profile("plain")).files


def test_links_are_named_and_never_followed(tmp_path: Path) -> None:
    """Within the folder the file itself is taken; out of it nothing is; a link to a folder is no folder."""
    root = tmp_path / "root"
    write(root, "a.md")
    write(tmp_path, "outside/secret.md")
    (root / "again.md").symlink_to(root / "a.md")
    (root / "out.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "away").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe.md")
    found = scan_folder(root, profile("plain"))
    assert list(found.files) == ["a.md"]
    assert {out.path: out.reason for out in found.left_out} == {
        "again.md": "it is a link; the file that it names is taken",
        "out.md": "it is a link out of the folder",
        "pipe.md": "it is no file",
    }


def test_of_names_that_are_one_elsewhere_the_known_one_is_taken(tmp_path: Path) -> None:
    """By case and by how an accent is spelled; where none is known, the first."""
    accents = [unicodedata.normalize(form, "Caf\u00e9.md") for form in ("NFC", "NFD")]
    write(tmp_path, "NOTE.md", "Note.md", *accents)
    if len(list(tmp_path.iterdir())) < 4:
        pytest.skip("this file system holds one of the two")
    assert "NOTE.md" in scan_folder(tmp_path, profile("plain")).files
    found = scan_folder(tmp_path, profile("plain"), ["Note.md", accents[0]])
    assert sorted(found.files) == sorted(["Note.md", accents[0]])
    assert sorted(out.path for out in found.left_out) == sorted(["NOTE.md", accents[1]])


def test_no_folder_is_no_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no folder"):
        scan_folder(tmp_path / "absent", profile("plain"))
