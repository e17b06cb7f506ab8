"""The workspace: files of a namespace that follow the rows of its pages and never leave their folder."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shlex
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowwave.changes.pages import PATH
from slowwave.errors import Refused
from slowwave.sources.blocks import find, is_page, placed
from slowwave.sources.git import commit_pages
from slowwave.store.connect import Store, path_part
from slowwave.store.settings import Settings

# A namespace's folder in the workspace: files are read and written without ever leaving it.
#
# The folder is opened once and files are named relative to it, so that neither a name nor a symbolic link leads elsewhere. A file is
# replaced as a whole or not at all.

_LARGEST: Final = 5_000_000  # bytes of a file that is read
_HELD_SECONDS: Final = 120  # longest wait for a locked folder; another sync needs less, including git
_HELD_PAUSE: Final = 0.1
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file when it was read: its text, and a mark that shows whether it was written since."""

    text: str
    mark: tuple[int, int, int]
    mode: int


class Changed(Exception):  # noqa: N818 - the file's, and the writer tries again
    """The error for a file that another program changed in the meantime."""


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. The messages of the ``Refused`` errors that it raises follow the name of a file."""

    handle: int

    def names(self) -> list[str]:
        """Return the names of the Markdown files in the folder."""
        try:
            with os.scandir(self.handle) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(".md"))
        except OSError as problem:
            raise Refused(f"The folder of the namespace {_in_words(problem)}") from None

    def read(self, name: str) -> FileState | None:
        """Read a file with its line ends unchanged; None if there is no such file."""
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
        """Replace a file, or create it with access for its owner only. The file is durable on return.

        Raises ``Changed`` if the file is not as it was ``seen``.
        """
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
        """Remove a file. Raises ``Changed`` if it is not as it was ``seen``."""
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
    """Open the folder ``name`` of the workspace ``base`` and lock it against other writers of pages.

    Yields None if the folder does not exist and ``make`` is false. Raises ``Refused`` with a whole sentence, for example if the folder is
    a link, a file, or out of reach.
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
    """Lock the folder, for a limited time only, so that a program that never releases it cannot block an apply."""
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


# The workspace: the files of a namespace follow the rows of its pages.
#
# ``sync_pages`` makes the folder agree with the current rows, however often it is called and wherever it was interrupted. It only changes
# its own blocks: text that a person wrote around one stays, and a block that a person edited is left alone.

_ATTEMPTS: Final = 3  # attempts at a file that another process writes at the same moment

_BODIES: Final = """
SELECT p.path, p.body FROM memory.pages p JOIN memory.namespaces n ON n.id = p.namespace_id
WHERE n.slug = %s AND p.invalidated_at IS NULL ORDER BY p.path
"""


@dataclass(frozen=True, slots=True)
class PageSync:
    """The result of a sync: file names by outcome, and sentences about files that were left alone.

    ``commit`` is the git commit, empty if there is none.
    """

    folder: str = ""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    commit: str = ""


def sync_pages(store: Store, namespace: str, settings: Settings, *, run_id: str = "", undo: bool = False) -> PageSync:
    """Make the files follow the live pages of a namespace, and commit them if ``pages_git`` is set.

    Without a ``workspace_path`` nothing is done. A block whose row is gone or empty is removed from its file, and a file with no other
    content is deleted. Files that cannot be written are reported as sentences in ``problems``, never as an error. ``run_id`` and ``undo``
    determine the commit message.
    """
    if not settings.workspace_path:
        return PageSync()
    name = path_part(namespace)
    try:
        base = Path(settings.workspace_path).expanduser().absolute()
    except (RuntimeError, OSError):  # the user after ~ is unknown, or the working directory is gone
        return PageSync(
            problems=(
                f"The workspace cannot be found: correct SLOWWAVE_WORKSPACE_PATH and run `slowwave pages sync {shlex.quote(namespace)}`.",
            )
        )
    wanted = any(_bodies(store, namespace).values())
    try:
        with opened(base, name, make=wanted) as folder:
            if folder is None:
                return PageSync(str(base / name))
            # Read again, because another sync may have held the folder.
            outcome = _follow(folder, _bodies(store, namespace))
            problems, commit = outcome.problems, ""
            if settings.pages_git:
                files = (*outcome.written, *outcome.removed, *outcome.unchanged)
                commit, trouble = commit_pages(base, name, files, run_id=run_id, undo=undo)
                problems += (trouble,) if trouble else ()
    except Refused as problem:
        return PageSync(str(base / name), problems=(str(problem),))
    return PageSync(str(base / name), outcome.written, outcome.removed, outcome.unchanged, problems, commit)


def _bodies(store: Store, namespace: str) -> dict[str, str]:
    """Return the bodies of the live pages by path."""
    with store.connect("reader") as connection:
        rows = connection.execute(_BODIES, (namespace,)).fetchall()
    return {str(path): str(body) for path, body in rows}


def _follow(folder: Folder, bodies: Mapping[str, str]) -> PageSync:
    done: dict[str, list[str]] = {"written": [], "removed": [], "unchanged": []}
    problems: list[str] = []
    for path in sorted({*bodies, *folder.names()}):
        if not PATH.fullmatch(path):
            if path in bodies:
                problems.append(
                    f"The page {path[:64]!r} is no plain name of a Markdown file, so it stays in the store."
                )
            continue
        body = bodies.get(path, "")
        try:
            if not is_page(body):
                raise Refused("was edited in the store, or not written by a render, so its file was left alone.")
            if outcome := _patiently(folder, path, body):
                done[outcome].append(path)
        except Refused as problem:
            problems.append(f"{path} {problem}")
    return PageSync(
        written=tuple(done["written"]),
        removed=tuple(done["removed"]),
        unchanged=tuple(done["unchanged"]),
        problems=tuple(problems),
    )


def _patiently(folder: Folder, path: str, body: str) -> str:
    for _ in range(_ATTEMPTS):
        try:
            return _one(folder, path, body)
        except Changed:
            continue
    raise Refused("is being written by somebody else, so it was left alone. Run `slowwave pages sync ALL` later.")


def _one(folder: Folder, path: str, body: str) -> str:
    """Sync one file and return the outcome; empty for a file that has no block and gets none."""
    try:
        seen = folder.read(path)
    except Refused:
        if body:
            raise
        return ""  # without text there is no block in the file
    text = seen.text if seen else ""
    if not body and find(text) is None:
        return ""
    wanted = placed(text, body)
    if wanted == text:
        return "unchanged"
    if not wanted.strip() and seen:
        folder.remove(path, seen)
        return "removed"
    folder.write(path, wanted, seen)
    return "written"
