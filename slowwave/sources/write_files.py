"""Write files that follow their rows: text that an agent wrote into a followed folder at run time.

A process with write access to the folder writes the files. The rows are committed first and record which files are still to be written
(``memory.pending_files``), so a process that ends in between loses nothing, and the next one continues; repeating is harmless. A file
that differs from its state before the write was edited by a person. If the agent only added text, that text is merged into the file.
Otherwise the file stays as it is, and the next sync takes it as the page's next version, with the agent's text as the version before it.

Every folder on the path is opened by its name within its parent and never through a link, so no file outside of the root is written.
"""

from __future__ import annotations

import os
import secrets
import stat
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from slowwave.sources.page_files import content_hash

_MARK: Final = ".slowwave-"
"""A part of the names of temporary files; they begin with a dot, and scans skip such names."""


class Unwritable(Exception):  # noqa: N818 - a finding of this module, always caught
    """A file that cannot be written now; the text of the error is the reason."""


def bring_file(root: Path, path: str, was_hash: str | None, wanted: bytes | None, hash_: str | None) -> bool:
    """Bring one file under ``root`` to the content ``wanted``, whose hash is ``hash_``; None removes the file.

    Returns whether the file holds a person's text, which is neither the wanted nor the previous content, and is kept. Raises
    ``Unwritable`` and ``OSError``.
    """
    *folders, name = path.split("/")
    with open_folder(root, folders, make=wanted is not None) as folder:
        if folder is None:
            return False
        _refuse_doubles(folder, name)
        found = _hash_of(folder, name)
        if found == hash_:  # includes the case that both are None: the file is absent, as wanted
            return False
        if found is not None and found != was_hash:
            return True
        if wanted is None:
            return _remove(folder, name, was_hash)
        return _replace(folder, name, wanted, was_hash) if found else _create(folder, name, wanted)


@contextmanager
def open_folder(root: Path, folders: Sequence[str], *, make: bool) -> Generator[int | None]:
    """Yield a descriptor of a folder under the root; with ``make``, create a missing folder, otherwise yield None for it."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        at = os.open(root, flags)
    except OSError as problem:
        raise Unwritable(f"{root} cannot be opened ({problem.strerror})") from None
    try:
        for name in folders:
            _refuse_doubles(at, name)
            try:
                inner = os.open(name, flags, dir_fd=at)
            except FileNotFoundError:
                if not make:
                    yield None
                    return
                os.mkdir(name, dir_fd=at)
                os.fsync(at)
                inner = os.open(name, flags, dir_fd=at)
            except OSError:
                raise Unwritable(f"{name} is no folder, or a link") from None
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _refuse_doubles(folder: int, name: str) -> None:
    """Refuse a name if the folder has another spelling of it, because many systems treat both as one file."""
    wanted = unicodedata.normalize("NFC", name).casefold()
    for other in os.listdir(folder):
        if other.startswith(f".{name}{_MARK}"):
            os.unlink(other, dir_fd=folder)  # left by a process that ended while writing
        elif other != name and unicodedata.normalize("NFC", other).casefold() == wanted:
            raise Unwritable(f"{other} stands there, whose name differs in case alone")


def _hash_of(folder: int, name: str) -> str | None:
    """Return the SHA-256 of a file, None if there is none."""
    found = read_file(folder, name)
    return None if found is None else content_hash(found)


def read_file(folder: int, name: str) -> bytes | None:
    """Read a file, None if there is none."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Unwritable(f"{name} is a link, or cannot be read ({problem.strerror})") from None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unwritable(f"{name} is no file")
        return opened.read()


def _create(folder: int, name: str, content: bytes) -> bool:
    """Create a new file; return True if another writer has created it meanwhile, whose file is kept."""
    made = _temporary(folder, name, content, 0o666)
    try:
        os.link(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return True
    finally:
        os.unlink(made, dir_fd=folder)
        os.fsync(folder)
    return False


def _replace(folder: int, name: str, content: bytes, was_hash: str | None) -> bool:
    """Replace the content of a file.

    Returns whether a person edited it up to this very moment, in which case their text is put back.
    """
    mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    made = _temporary(folder, name, content, mode)
    before = f".{name}{_MARK}{secrets.token_hex(6)}"
    os.link(name, before, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    edited = _hash_of(folder, before) != was_hash
    if edited:
        os.rename(before, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(before, dir_fd=folder)
    os.fsync(folder)
    return edited


def _remove(folder: int, name: str, was_hash: str | None) -> bool:
    """Remove the file of a page that is gone.

    Edits of a person are put back and reported as by ``_replace``.
    """
    before = f".{name}{_MARK}{secrets.token_hex(6)}"
    os.rename(name, before, src_dir_fd=folder, dst_dir_fd=folder)
    edited = _hash_of(folder, before) != was_hash
    if edited:
        with suppress(FileExistsError):
            os.link(before, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(before, dir_fd=folder)
    os.fsync(folder)
    return edited


def _temporary(folder: int, name: str, content: bytes, mode: int) -> str:
    """Write a temporary file next to the file, flush it to disk, and return its name."""
    made = f".{name}{_MARK}{secrets.token_hex(6)}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(descriptor)
    return made
