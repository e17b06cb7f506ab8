"""A file, read: its bytes while it stands still, and its text, fields, chunks and links."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from slowwave.sources.page_files import FileMark, Unsettled, page_file, read_bytes
from slowwave.sources.profile import profile
from slowwave.text.frontmatter import UnreadableFile

LARGEST = 1_000


def mark(file: Path) -> FileMark:
    return FileMark.from_stat(file.stat())


def test_a_file_that_changed_or_went_is_read_the_next_time(tmp_path: Path) -> None:
    """Its size or its time is another than when the folder was looked at."""
    file = tmp_path / "a.md"
    file.write_text("one")
    seen = mark(file)
    assert read_bytes(file, seen, LARGEST) == b"one"
    os.utime(file, ns=(seen.mtime, seen.mtime + 1))
    with pytest.raises(Unsettled):
        read_bytes(file, seen, LARGEST)
    file.unlink()
    with pytest.raises(Unsettled):
        read_bytes(file, seen, LARGEST)


def test_what_is_no_file_of_the_folder_is_not_read(tmp_path: Path) -> None:
    """Too large, a link that took a file's place, a pipe that would never end."""
    file = tmp_path / "a.md"
    file.write_bytes(b"x" * (LARGEST + 1))
    with pytest.raises(UnreadableFile, match="1,001 bytes"):
        read_bytes(file, mark(file), LARGEST)
    (tmp_path / "link.md").symlink_to(file)
    with pytest.raises(UnreadableFile):
        read_bytes(tmp_path / "link.md", mark(file), 10 * LARGEST)
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(UnreadableFile):
        read_bytes(tmp_path / "pipe.md", mark(tmp_path / "pipe.md"), LARGEST)


def test_a_page_keeps_its_bytes_and_counts_lines_of_the_file() -> None:
    """A byte order mark, carriage returns, frontmatter: headings and links stand where an editor shows them."""
    content = "\ufeff---\r\ntitle: Crane\r\n---\r\n# Heading\r\n\r\nSee [[Harbor]].\r\n".encode()
    found = page_file("crane.md", content, profile("vault"))
    assert found.text.encode() == content
    assert found.content_hash == hashlib.sha256(content).hexdigest()
    assert (found.body_line, found.fields.title, dict(found.written)) == (4, "Crane", {"title": "Crane"})
    assert [(heading.text, heading.line) for heading in found.page.headings] == [("Heading", 4)]
    assert [(link.target, link.line) for link in found.page.links] == [("Harbor", 6)]
    assert [(chunk.start_line, chunk.end_line) for chunk in found.chunks] == [(1, 6)]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"fine\n\0", 2), (b"fine\nfine\n\xff", 3), (b'---\na: "\\0"\n---\n', 1), (b"---\na: [\n---\n", 3)],
)
def test_what_is_no_text_is_named_by_its_line(content: bytes, line: int) -> None:
    with pytest.raises(UnreadableFile) as caught:
        page_file("a.md", content, profile("plain"))
    assert caught.value.line == line
