"""Trees: what changed in a run's folder, by hashes alone (nexo 3.4: an audit of calls sees no write of a command)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.wiki.deep.scratch import escapes, tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("copy/memories", "copy/sessions"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "copy/memories/a.md").write_text("a")
    (tmp_path / "copy/sessions/s.md").write_text("s")
    return tmp_path


def may_write(name: str) -> bool:
    return name.startswith("memories/")


def _beside(folder: Path) -> None:
    (folder / "beside.md").write_text("x")


def _session(folder: Path) -> None:
    (folder / "copy/sessions/s.md").write_text("another")


def _new_session(folder: Path) -> None:
    (folder / "copy/sessions/t.md").write_text("t")


def _deleted(folder: Path) -> None:
    (folder / "copy/memories/a.md").unlink()


def _link(folder: Path) -> None:
    (folder / "copy/memories/l.md").symlink_to("/etc/hostname")


def _link_for_a_file(folder: Path) -> None:
    (folder / "copy/memories/a.md").unlink()
    (folder / "copy/memories/a.md").symlink_to(folder / "copy/sessions/s.md")


def _second_name(folder: Path) -> None:
    os.link(folder / "copy/memories/a.md", folder / "copy/memories/b.md")


def _folder(folder: Path) -> None:
    (folder / "copy/memories/new").mkdir()


@pytest.mark.parametrize(
    ("done", "named"),
    [
        (_beside, ["beside.md"]),
        (_session, ["sessions/s.md"]),
        (_new_session, ["sessions/t.md"]),
        (_deleted, ["memories/a.md"]),
        (_link, ["memories/l.md"]),
        (_link_for_a_file, ["memories/a.md"]),
        (_second_name, ["memories/a.md", "memories/b.md"]),
        (_folder, ["memories/new"]),
    ],
    ids=lambda value: value.__name__[1:] if callable(value) else "",
)
def test_3_4_deep_what_no_tool_can_have_done_is_an_escape(
    folder: Path, done: Callable[[Path], None], named: list[str]
) -> None:
    """Whoever did it, and whatever was said of it."""
    before = tree(folder)
    done(folder)
    assert [escape.name for escape in escapes(before, tree(folder), may_write)] == named


def test_deep_changed_and_new_files_where_they_may_be_are_none(folder: Path) -> None:
    """That is the work."""
    before = tree(folder)
    (folder / "copy/memories/a.md").write_text("b")
    (folder / "copy/memories/b.md").write_text("b")
    assert escapes(before, tree(folder), may_write) == ()
