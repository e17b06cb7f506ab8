"""A namespace's folder in the workspace: files read and written without ever leaving it.

The folder is opened once and files are named relative to it, so neither a name nor a symbolic link leads elsewhere. A file is replaced
whole or not at all.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowwave.errors import Refused

_LARGEST: Final = 5_000_000  # bytes of a file that is read
_HELD_SECONDS: Final = 120  # that a folder is waited for; another sync of it needs less, git and all
_HELD_PAUSE: Final = 0.1
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read: its text, and what tells whether somebody wrote it since."""

    text: str
    mark: tuple[int, int, int]
    mode: int


class Changed(Exception):  # noqa: N818 - the file's, and the writer tries again
    """The file was written by somebody else in the meantime."""


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. Sentences that it raises as ``Refused`` follow the name of a file."""

    handle: int

    def names(self) -> list[str]:
        """The names of its Markdown files."""
        try:
            with os.scandir(self.handle) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(".md"))
        except OSError as problem:
            raise Refused(f"The folder of the namespace {_in_words(problem)}") from None

    def read(self, name: str) -> FileState | None:
        """A file's text with its line ends as they are; None where there is no file."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.handle)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise Refused(_in_words(problem)) from None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise Refused("is no plain file, so it was left alone.")
            with os.fdopen(handle, "rb", closefd=False) as file:
                content = file.read(_LARGEST + 1)
        except OSError as problem:
            raise Refused(_in_words(problem)) from None
        finally:
            os.close(handle)
        if len(content) > _LARGEST:
            raise Refused(f"is larger than {_LARGEST:,} bytes, so it was left alone.")
        try:
            return FileState(content.decode(), _mark(status), stat.S_IMODE(status.st_mode))
        except UnicodeDecodeError:
            raise Refused("is not UTF-8 text, so it was left alone.") from None

    def write(self, name: str, text: str, seen: FileState | None) -> None:
        """Replace a file, or make it for its owner alone; raises ``Changed`` when it is not as it was ``seen``. Durable on return."""
        temporary = f".{name}.{secrets.token_hex(6)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(temporary, flags, 0o600, dir_fd=self.handle)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(text.encode())
                    file.flush()
                    os.fchmod(handle, seen.mode if seen else 0o600)
                    os.fsync(handle)
                self._check(name, seen)
                os.replace(temporary, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
            except BaseException:
                os.unlink(temporary, dir_fd=self.handle)
                raise
            os.fsync(self.handle)
        except OSError as problem:
            raise Refused(_in_words(problem)) from None

    def remove(self, name: str, seen: FileState) -> None:
        """Remove a file; raises ``Changed`` when it is not as it was ``seen``."""
        self._check(name, seen)
        try:
            os.unlink(name, dir_fd=self.handle)
            os.fsync(self.handle)
        except OSError as problem:
            raise Refused(_in_words(problem)) from None

    def _check(self, name: str, seen: FileState | None) -> None:
        try:
            now = _mark(os.stat(name, dir_fd=self.handle, follow_symlinks=False))
        except FileNotFoundError:
            now = None
        if now != (seen.mark if seen else None):
            raise Changed(name)


@contextmanager
def opened(base: Path, name: str, *, make: bool) -> Generator[Folder | None]:
    """The folder ``name`` of the workspace ``base``, held against other writers of pages; None where there is none and none is made.

    Raises ``Refused`` in whole sentences: it may be a link, a file, or out of reach.
    """
    handle = -1
    try:
        if make:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if make:
                _make(root, name)
            handle = os.open(name, _DIRECTORY, dir_fd=root)
        finally:
            os.close(root)
        _hold(handle)
    except FileNotFoundError:
        if make:
            raise Refused(
                f"The folder {name} of the workspace was removed while it was being opened. Try again."
            ) from None
        yield None
        return
    except OSError as problem:
        if handle >= 0:
            os.close(handle)
        raise Refused(
            f"The folder {name} of the workspace {_in_words(problem)} Correct it, or SLOWWAVE_WORKSPACE_PATH."
        ) from None
    try:
        yield Folder(handle)
    finally:
        os.close(handle)


def _hold(handle: int) -> None:
    """Take the folder's lock; whoever never lets go of it does not hold up an apply."""
    deadline = time.monotonic() + _HELD_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_HELD_PAUSE)
        else:
            return


def _make(root: int, name: str) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=root)
    except FileExistsError:
        return


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _in_words(problem: OSError) -> str:
    if problem.errno == errno.ELOOP or (problem.errno == errno.ENOTDIR):
        return "is a symbolic link or no folder, so it was left alone."
    if problem.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
        return f"was held by another program for {_HELD_SECONDS} seconds, so it was left alone. Run `slowwave pages sync ALL` later."
    return f"could not be read or written ({problem.strerror or type(problem).__name__})."
