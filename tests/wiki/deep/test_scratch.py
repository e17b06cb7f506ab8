"""The scratch folder: what a name can reach, and what none can (nexo 3.4, 3.7)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.wiki.deep.scratch import LONGEST_FILE, Scratch


@pytest.fixture
def copy(tmp_path: Path) -> Scratch:
    """A copy with a topic file and a session, beside a file that is nobody's business."""
    root = tmp_path / "copy"
    for folder in ("memories", "sessions", "pages"):
        (root / folder).mkdir(parents=True)
    (root / "memories" / "rowan.md").write_text("# rowan\n")
    (root / "sessions" / "one.md").write_text("A talk.\n")
    (tmp_path / "secret.md").write_text("Nobody's business.\n")
    return Scratch(root, lambda name: name.startswith(("memories/", "pages/")))


def test_files_are_listed_read_and_written(copy: Scratch) -> None:
    """A file that is there and a new one, by names relative to the folder."""
    copy.write("memories/rowan.md", "# rowan\n\n- Mara keeps the timetable.\n")
    copy.write("memories/new.md", "# new\n")
    assert list(copy.files()) == ["memories/new.md", "memories/rowan.md", "sessions/one.md"]
    assert list(copy.files("memories")) == ["memories/new.md", "memories/rowan.md"]
    assert copy.read("memories/rowan.md").endswith("timetable.\n")
    assert not list((copy.root / "memories").glob(".*"))


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md",
        "memories/../../secret.md",
        "/etc/hostname",
        "~/secret.md",
        "./memories/rowan.md",
        "memories//rowan.md",
        "memories/.hidden.md",
        "memories/rowan.md\x00.png",
        "memories\\rowan.md",
        "memories/rowan.md\n",
        "",
        "memories/" + "x" * 400,
        "memories/Ro\u0301wan.md",
        "-rf",
    ],
)
def test_3_7_deep_names_that_could_mean_another_file_are_refused(copy: Scratch, name: str) -> None:
    """``..``, absolute, hidden, not as they look: neither read nor written."""
    for attempt in (copy.read, lambda n: copy.write(n, "x")):
        with pytest.raises(Refused):
            attempt(name)
    assert (copy.root.parent / "secret.md").read_text() == "Nobody's business.\n"


def _link(copy: Scratch) -> str:
    (copy.root / "memories" / "out.md").symlink_to(copy.root.parent / "secret.md")
    return "memories/out.md"


def _linked_folder(copy: Scratch) -> str:
    (copy.root / "memories" / "up").symlink_to(copy.root.parent)
    return "memories/up/secret.md"


def _hard_link(copy: Scratch) -> str:
    os.link(copy.root.parent / "secret.md", copy.root / "memories" / "hard.md")
    return "memories/hard.md"


def _pipe(copy: Scratch) -> str:
    os.mkfifo(copy.root / "memories" / "pipe.md")
    return "memories/pipe.md"


@pytest.mark.parametrize("plant", [_link, _linked_folder, _hard_link, _pipe], ids=lambda plant: plant.__name__[1:])
def test_3_7_deep_links_and_what_is_no_file_are_neither_read_nor_written(
    copy: Scratch, plant: Callable[[Scratch], str]
) -> None:
    """However one came there: the real file stays as it is, and nobody reads it. No pipe makes anybody wait."""
    name = plant(copy)
    with pytest.raises(Refused):
        copy.read(name)
    with pytest.raises(Refused):
        copy.write(name, "x")
    assert (copy.root.parent / "secret.md").read_text() == "Nobody's business.\n"


def test_3_7_deep_a_missing_parent_is_refused(copy: Scratch) -> None:
    """A folder is not made by the way."""
    with pytest.raises(Refused):
        copy.write("memories/new/rowan.md", "x")
    assert not (copy.root / "memories" / "new").exists()


def test_deep_the_same_name_in_other_letters_is_refused(copy: Scratch) -> None:
    """On some disks it is the same file, and what may be written is decided by its name."""
    with pytest.raises(Refused):
        copy.write("memories/ROWAN.md", "x")
    with pytest.raises(Refused):
        copy.read("Memories/rowan.md")


def test_deep_sessions_are_only_read(copy: Scratch) -> None:
    """What may be written is decided by name, before anything is opened."""
    with pytest.raises(Refused):
        copy.write("sessions/one.md", "x")
    assert copy.read("sessions/one.md") == "A talk.\n"


def test_deep_files_that_are_no_text_or_too_long_are_refused(copy: Scratch) -> None:
    """Bounds on what comes in."""
    (copy.root / "memories" / "long.md").write_bytes(b"x" * (LONGEST_FILE + 1))
    (copy.root / "memories" / "bytes.md").write_bytes(b"\xff\xfe")
    for name in ("memories/long.md", "memories/bytes.md"):
        with pytest.raises(Refused):
            copy.read(name)
    with pytest.raises(Refused):
        copy.write("memories/rowan.md", "half a \ud83d")
