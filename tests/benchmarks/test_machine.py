"""Figures say what they were measured on, and of which code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import machine


def test_figures_name_their_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven characters, a plus where tracked files differ from it, but for the pages that hold figures; unknown outside of a checkout."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.commit() == "unknown"
    git("init", "--quiet")
    (tmp_path / "docs").mkdir()
    for name in ("file", "docs/page.md"):
        (tmp_path / name).write_text("one")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    known = git("rev-parse", "HEAD")[:7]
    assert machine.machine()["commit"] == known
    (tmp_path / "docs" / "page.md").write_text("figures")
    assert machine.commit() == known
    (tmp_path / "file").write_text("two")
    assert machine.commit() == f"{known}+"
