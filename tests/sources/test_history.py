"""Commits of files that followed a plan: of what git knows and nobody was working on, and of nothing else."""

from __future__ import annotations

from pathlib import Path

from slowwave.sources.folder_sources import NOTHING, commit_files, committable
from tests.sources.test_following import git, write


def test_only_files_without_changes_of_somebodys_are_committed(tmp_path: Path) -> None:
    """In a folder inside of a work tree; what is staged beside them stays staged."""
    root = tmp_path / "repository" / "notes"
    for name in ("a.md", "b.md", "c.md"):
        write(root, name, "- one\n")
    git(root.parent, "init", "--quiet")
    git(root.parent, "add", "--all")
    git(root.parent, "commit", "--quiet", "-m", "mine")
    write(root, "b.md", "- one\n- mine\n")
    write(root, "c.md", "- staged\n")
    git(root, "add", "c.md")
    write(root, "new.md", "- unknown\n")
    paths = ["a.md", "b.md", "c.md", "new.md"]
    clean = committable(root, paths)
    assert clean == {"a.md"}
    for path in paths:
        write(root, path, "- written\n")
    done = commit_files(root, paths, clean, "follow", "Run: 1")
    assert git(root, "show", "--name-only", "--format=%s", done.id).split() == ["follow", "notes/a.md"]
    assert done.problem.startswith("b.md, c.md, new.md had changes that were not committed")
    assert git(root, "diff", "--cached", "--name-only").split() == ["notes/c.md"]


def test_a_folder_without_git_gets_none(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "- one\n")
    assert committable(tmp_path, ["a.md"]) == frozenset()
    assert commit_files(tmp_path, ["a.md"], frozenset(), "follow", "") == NOTHING
    assert not (tmp_path / ".git").exists()
