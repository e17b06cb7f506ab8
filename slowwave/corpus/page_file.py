"""A file of a corpus, read: its bytes as text, its fields, chunks and links. How it is stored belongs to ``slowwave.corpus.writing``."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowwave.corpus.chunking import MarkdownChunk, chunks_of
from slowwave.corpus.fields import PageFields, fields_of
from slowwave.corpus.markdown import MarkdownPage, markdown_page
from slowwave.corpus.profile import Profile
from slowwave.imports.rows import storable
from slowwave.imports.screening import BadRow
from slowwave.texts.frontmatter import UnreadableFile, frontmatter


class Unsettled(Exception):  # noqa: N818 - a finding of this package, always caught in it
    """A file that is being written: it changed while it was read, or is gone again. It is read the next time."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """What tells that a file has not been touched: its size in bytes and its modification time in nanoseconds."""

    size: int
    mtime: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileMark:
        """From what the system says."""
        return cls(found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page of a corpus. ``text`` is the whole file; encoded, it is its bytes again."""

    path: str
    content_hash: str
    text: str
    body_line: int
    written: Mapping[str, Any]
    fields: PageFields
    page: MarkdownPage
    chunks: tuple[MarkdownChunk, ...]


def read_bytes(file: Path, mark: FileMark, largest: int) -> bytes:
    """The bytes of a regular file that still is as ``mark`` says. Raises ``Unsettled``, and ``UnreadableFile`` for what cannot be read."""
    if mark.size > largest:
        raise UnreadableFile(f"it has {mark.size:,} bytes, more than {largest:,}")
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableFile("it is no file")
            content = opened.read(largest + 1)
            after = os.fstat(descriptor)
    except FileNotFoundError:
        raise Unsettled from None
    except OSError as problem:
        raise UnreadableFile(f"it cannot be read ({problem.strerror})") from None
    if not FileMark.of(before) == FileMark.of(after) == mark:
        raise Unsettled
    return content


def page_file(path: str, content: bytes, profile: Profile) -> PageFile:
    """A page from its bytes. Raises ``UnreadableFile``, with the line where there is one."""
    text = decoded(content)
    head = frontmatter(text)
    try:
        storable(head.fields, "its frontmatter")
    except BadRow as problem:
        raise UnreadableFile(str(problem), 1) from None
    body_line = head.lines + 1
    body = text[head.end :] if head.lines else text.removeprefix("\ufeff")
    page = markdown_page(body, body_line)
    return PageFile(
        path,
        content_hash(content),
        text,
        body_line,
        head.fields,
        fields_of(head.fields, path, page, profile),
        page,
        tuple(chunks_of(text, body_line)),
    )


def content_hash(content: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def decoded(content: bytes) -> str:
    """The text of a file's bytes. Raises ``UnreadableFile`` with the line for a NUL byte and for what is not UTF-8."""
    if (nul := content.find(b"\0")) >= 0:
        raise UnreadableFile("it is no text (it holds a NUL byte)", content.count(b"\n", 0, nul) + 1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UnreadableFile("it is not UTF-8", content.count(b"\n", 0, problem.start) + 1) from None
