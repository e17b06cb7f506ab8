"""The scratch folder: files by name, every one reached part by part without following a link.

A name is relative, with slashes. What a tool may read or write is decided here, whatever asked for it; how often and how much belongs to
``slowwave.deep.tools``, what became of the folder to ``slowwave.deep.tree``.
"""

from __future__ import annotations

import os
import secrets
import stat
import unicodedata
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowwave.errors import Refused

LONGEST_NAME: Final = 300
"""Bytes of a name."""

LONGEST_FILE: Final = 1_000_000
"""Bytes of a file that is read whole."""

_DEEPEST: Final = 12
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of which files may be read, and those written that ``may_write`` says. Every method raises ``Refused``, in words for
    whoever asked, and has done nothing then."""

    root: Path
    may_write: Callable[[str], bool]

    def files(self, folder: str = "") -> Iterator[str]:
        """The names of all regular files under a folder, in order; links and what else is no file are not shown."""
        with self._folder(parts_of(folder) if folder not in ("", ".") else ()) as opened:
            yield from _below(opened, "" if folder in ("", ".") else f"{folder.strip('/')}/")

    def read(self, name: str) -> str:
        """The text of a file."""
        *parents, last = parts_of(name)
        with self._folder(parents) as opened:
            try:
                descriptor = os.open(_as_listed(opened, last, name), _READ, dir_fd=opened)
            except OSError:
                raise _absent(name) from None
            with os.fdopen(descriptor, "rb") as file:
                _refuse_odd(os.fstat(descriptor), name)
                body = file.read(LONGEST_FILE + 1)
        if len(body) > LONGEST_FILE:
            raise Refused(f"{shown(name)} has more than {LONGEST_FILE:,} bytes.")
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise Refused(f"{shown(name)} is no text.") from None

    def write(self, name: str, text: str) -> None:
        """Give a file this text; a new one is made in a folder that is there."""
        *parents, last = parts_of(name)
        if not self.may_write("/".join((*parents, last))):
            raise Refused(
                f"{shown(name)} is not yours to change. The files that are lie under memories/ and pages/, and MEMORY.md."
            )
        try:
            body = text.encode()
        except UnicodeEncodeError:
            raise Refused("The text holds half a character, so it is no text.") from None
        with self._folder(parents) as opened:
            try:
                there = os.stat(_as_listed(opened, last, name, new=True), dir_fd=opened, follow_symlinks=False)
                _refuse_odd(there, name)
            except FileNotFoundError:
                pass
            beside = f".{secrets.token_hex(8)}"
            try:
                with os.fdopen(os.open(beside, _NEW, 0o600, dir_fd=opened), "wb") as file:
                    file.write(body)
                os.rename(beside, last, src_dir_fd=opened, dst_dir_fd=opened)
            except OSError as problem:
                _forget(beside, opened)
                raise Refused(f"{shown(name)} cannot be written ({problem.strerror}).") from None

    @contextmanager
    def _folder(self, parts: tuple[str, ...] | list[str]) -> Generator[int]:
        """The folder at the end of some parts; each is opened from the one above it, and none may be a link."""
        opened = os.open(self.root, _FOLDER)
        try:
            for part in parts:
                try:
                    below = os.open(_as_listed(opened, part, part), _FOLDER, dir_fd=opened)
                except OSError:
                    raise Refused(f"There is no folder {shown('/'.join(parts))}.") from None
                os.close(opened)
                opened = below
            if not _path_of(opened, self.root, parts).resolve().is_relative_to(self.root.resolve()):
                raise Refused(f"{shown('/'.join(parts))} lies outside.")
            yield opened
        finally:
            os.close(opened)


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name. Raises ``Refused`` for one that could mean a file elsewhere: absolute, with ``..``, hidden, not as it looks."""
    plain = unicodedata.normalize("NFC", name) == name and name.isprintable() and "\\" not in name
    parts = tuple(name.split("/"))
    if (
        not plain
        or len(name.encode("utf-8", "replace")) > LONGEST_NAME
        or len(parts) > _DEEPEST
        or any(not part or part.startswith((".", "~", "-")) or part != part.strip() for part in parts)
    ):
        raise Refused(
            f"{shown(name)} is no name of a file here. Names are relative to the folder, as `memories/rowan.md`, without . and .. ."
        )
    return parts


def shown(name: str) -> str:
    """A name as it may stand in a sentence, whoever chose it."""
    return ascii(name[:80])


def _as_listed(opened: int, part: str, name: str, *, new: bool = False) -> str:
    """A part as its folder has it. One that is there in other letters would be the same file on some disks, so it is refused."""
    if not any(entry != part and _alike(entry) == _alike(part) for entry in os.listdir(opened)):
        return part
    raise Refused(f"{shown(name)} is there in other letters. Use its name as it is listed.") if new else _absent(name)


def _alike(part: str) -> str:
    return unicodedata.normalize("NFC", part).casefold()


def _refuse_odd(there: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(there.st_mode):
        raise Refused(f"{shown(name)} is no file.")
    if there.st_nlink != 1:
        raise Refused(f"{shown(name)} has another name elsewhere, so it is left alone.")


def _path_of(opened: int, root: Path, parts: tuple[str, ...] | list[str]) -> Path:
    """Where an open folder lies: as the system says where it can, else by its name."""
    told = Path(f"/proc/self/fd/{opened}")
    return told.readlink() if told.is_symlink() else root.joinpath(*parts)


def _below(opened: int, prefix: str) -> Iterator[str]:
    with os.scandir(opened) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            yield f"{prefix}{entry.name}"
        elif entry.is_dir(follow_symlinks=False) and prefix.count("/") < _DEEPEST:
            below = os.open(entry.name, _FOLDER, dir_fd=opened)
            try:
                yield from _below(below, f"{prefix}{entry.name}/")
            finally:
                os.close(below)


def _forget(name: str, opened: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=opened)


def _absent(name: str) -> Refused:
    return Refused(f"There is no file {shown(name)}.")
