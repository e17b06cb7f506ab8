"""The files of a folder, an archive or a single file that is migrated: their bytes, and what cannot be taken, with the reason.

Nothing is unpacked to disk, no link is followed, and every size is bounded before it is read.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from slowwave.corpus.folder_scan import LeftOut, scan_folder
from slowwave.corpus.page_file import FileMark, Unsettled, read_bytes
from slowwave.corpus.profile import profile
from slowwave.errors import Refused
from slowwave.texts.frontmatter import UnreadableFile

TEXTS: Final = (".md", ".markdown", ".txt", ".yaml", ".yml", ".toml", ".csv")
RECORDS: Final = (".json", ".jsonl", ".ndjson", ".af")
ARCHIVES: Final = (".zip",)
SUFFIXES: Final = (*TEXTS, *RECORDS, *ARCHIVES)

LARGEST_TEXT: Final = 2_000_000
"""Bytes of a file that becomes one page."""
LARGEST_RECORDS: Final = 256 * 1024 * 1024
"""Bytes of a file that holds many conversations, memories or rows; it is read whole."""
MOST_FILES: Final = 100_000

EXPORTED: Final = re.compile(r"conversations(?:-\d{1,4})?\.json|memories\.json|projects\.json")
"""What is read of an archive: the files by which ChatGPT and Claude hand out what they keep."""

_RATIO: Final = 200
"""Bytes that one byte of an archive may become."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file by its path within what is migrated; ``day`` is when it was last written, in UTC."""

    path: str
    content: bytes
    sha256: str
    day: date

    @property
    def suffix(self) -> str:
        """Its ending in small letters."""
        return PurePosixPath(self.path).suffix.lower()


@dataclass(slots=True)
class SourceFolder:
    """What lies there, by path: files that are read, files of other kinds counted by ending, and what cannot be taken."""

    root: Path
    label: str
    files: dict[str, FileMark] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    bad: list[LeftOut] = field(default_factory=list)
    noted: list[LeftOut] = field(default_factory=list)

    def read(self) -> Iterator[SourceFile]:
        """The files in the order of their paths, one at a time; those that cannot be read go to ``bad``."""
        for path, mark in self.files.items():
            suffix = PurePosixPath(path).suffix.lower()
            file = self.root / path if self.root.is_dir() else self.root
            try:
                content = read_bytes(file, mark, LARGEST_TEXT if suffix in TEXTS else LARGEST_RECORDS)
            except Unsettled:
                self.bad.append(LeftOut(path, 0, "it is being written; migrate again when it stands still"))
                continue
            except UnreadableFile as problem:
                self.bad.append(LeftOut(path, problem.line, str(problem)))
                continue
            day = datetime.fromtimestamp(mark.mtime / 1e9, UTC).date()
            if suffix in ARCHIVES:
                yield from self._members(path, content, day)
            else:
                yield _source(path, content, day)

    def _members(self, path: str, content: bytes, day: date) -> Iterator[SourceFile]:
        try:
            yield from [_source(f"{path}/{name}", data, day) for name, data in _exported(content)]
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as problem:
            self.bad.append(
                LeftOut(path, 0, f"it is no archive that can be read ({type(problem).__name__}); unpack it")
            )
        except UnreadableFile as problem:
            self.bad.append(LeftOut(path, 0, str(problem)))


def source_folder(root: Path) -> SourceFolder:
    """What lies in a folder, or a single file. Only names are looked at. Raises ``Refused`` where there is nothing to read."""
    root = root.expanduser()
    if root.is_symlink() and not root.is_dir():
        raise Refused(f"{root} is a link. Nothing was read. Name the file itself.")
    if root.is_file():
        found = SourceFolder(root, root.stem or root.name)
        if root.suffix.lower() not in SUFFIXES:
            raise Refused(f"{root.name} is of no kind that is read ({', '.join(SUFFIXES)}). Nothing was planned.")
        found.files[root.name] = FileMark.of(root.lstat())
        return found
    root = root.resolve()
    everything = profile("plain").model_copy(update={"include": ("**/*", "*"), "exclude": ()})
    scan = scan_folder(root, everything)
    found = SourceFolder(root, root.name)
    for path, mark in scan.files.items():
        suffix = PurePosixPath(path).suffix.lower()
        if suffix in SUFFIXES:
            found.files[path] = mark
        else:
            found.others[suffix or "no ending"] += 1
    for out in scan.left_out:
        (found.noted if out.reason.startswith("it is a link; ") else found.bad).append(out)
    if len(found.files) > MOST_FILES:
        raise Refused(
            f"{root} holds {len(found.files):,} files, more than {MOST_FILES:,}. Nothing was planned. Migrate its folders one by one."
        )
    if not found.files and not found.bad:
        raise Refused(f"{root} holds no file that is read ({', '.join(SUFFIXES)}). Nothing was planned.")
    return found


def _source(path: str, content: bytes, day: date) -> SourceFile:
    return SourceFile(path, content, hashlib.sha256(content).hexdigest(), day)


def _exported(content: bytes) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of the files of an export within an archive. Raises ``UnreadableFile``, and what ``zipfile`` raises."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        wanted = [
            info
            for info in archive.infolist()
            if EXPORTED.fullmatch(PurePosixPath(info.filename).name) and len(PurePosixPath(info.filename).parts) <= 2
        ]
        if not wanted:
            raise UnreadableFile(
                "the archive holds no conversations.json, memories.json or projects.json; unpack it and migrate the folder"
            )
        names = [PurePosixPath(info.filename).name for info in wanted]
        if len(set(names)) < len(names):
            raise UnreadableFile("the archive holds a file twice; unpack it and migrate the folder")
        for name, info in zip(names, wanted, strict=True):
            if info.flag_bits & 1:
                raise UnreadableFile("the archive is encrypted; unpack it and migrate the folder")
            most = min(LARGEST_RECORDS, _RATIO * max(info.compress_size, 1_000))
            with archive.open(info) as member:
                data = member.read(most + 1)
            if len(data) > most:
                raise UnreadableFile(
                    f"{name} in the archive becomes more than {most:,} bytes; unpack it if that is meant"
                )
            yield name, data
