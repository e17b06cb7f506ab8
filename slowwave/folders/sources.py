"""Where the texts of a connected folder lie: a source is scanned, read, brought to what its rows say, and committed.

Files of a file system are one (here), memory blocks behind Letta's API another (``slowwave.folders.letta_source``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol

from slowwave.bindings.connected import ConnectedStore
from slowwave.corpus.folder_scan import FolderScan, scan_folder
from slowwave.corpus.page_file import FileMark, content_hash, read_bytes
from slowwave.corpus.pending_files import bring_file
from slowwave.corpus.profile import profile
from slowwave.folders.history import Commit, commit_files, committable
from slowwave.folders.segments import Segment, segments_of

TREE: Final = "folder"
"""The binding of stores that are folders."""

LETTA: Final = "letta_api"
"""The binding of stores that are the memory blocks of a Letta server, behind its API."""

_PROFILE: Final = "plain"
"""How files are read."""


class TextSource(Protocol):
    """Texts by their paths, wherever they lie."""

    @property
    def noun(self) -> str:
        """What one of its texts is called."""
        ...

    @property
    def root(self) -> str:
        """Where they lie, as a person is told."""
        ...

    def opened(self) -> AbstractContextManager[object]:
        """What is held while the texts are worked on."""
        ...

    def scan(self, known: Collection[str] = ()) -> FolderScan:
        """What is there, each with a mark that is another once the text is. Raises ``Refused`` where that cannot be seen."""
        ...

    def read(self, path: str, mark: FileMark) -> bytes:
        """The bytes of one. Raises ``Unsettled``, and ``UnreadableFile`` for what cannot be read."""
        ...

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Write one that still is as ``was_hash`` (SHA-256) says; None where it is not, and nothing of another's was written over. Doing it
        again does nothing. Raises ``Unwritable`` and ``OSError``."""
        ...

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """Those whose change can be committed alone; asked before they are written."""
        ...

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """Note what was written in the source's own history, where it has one."""
        ...

    def segments(self, text: str, path: str) -> list[Segment]:
        """The segments of a text."""
        ...

    def written_at(self, mark: FileMark) -> float | None:
        """When one was written, in seconds since 1970; None where the source does not say, whose texts then are whole at any time."""
        ...

    def shut(self, paths: Collection[str]) -> list[str]:
        """Those of the texts that cannot be written by this login, as far as can be seen without writing."""
        ...


def is_folder(of: ConnectedStore) -> bool:
    """Whether a connected store is one whose texts its rows follow: a folder, or blocks of Letta's API."""
    return of.kind in (TREE, LETTA)


def source_of(of: ConnectedStore) -> TextSource:
    """Where the texts of a connected folder lie."""
    root = of.parameters.get("root", "")
    if of.kind == LETTA:
        from slowwave.folders.letta_source import LettaBlocks

        return LettaBlocks(root)
    return FileTree(Path(root))


class FileTree:
    """Markdown files under a folder."""

    noun = "file"

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> str:
        """The folder."""
        return str(self._root)

    def opened(self) -> AbstractContextManager[object]:
        """Nothing is held."""
        return nullcontext()

    def scan(self, known: Collection[str] = ()) -> FolderScan:
        """Names, sizes and times; no file is read."""
        return scan_folder(self._root, profile(_PROFILE), known)

    def read(self, path: str, mark: FileMark) -> bytes:
        """A regular file that still is as its mark says."""
        return read_bytes(self._root / path, mark, profile(_PROFILE).largest_file)

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Replaced whole, never through a link."""
        if bring_file(self._root, path, was_hash, wanted, content_hash(wanted)):
            return None
        return FileMark.of((self._root / path).stat(follow_symlinks=False))

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """Those that git knows and that are as they were committed last."""
        return committable(self._root, paths)

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """One commit, where the folder lies in a git work tree."""
        return commit_files(self._root, written, clean, subject, body)

    def segments(self, text: str, path: str) -> list[Segment]:
        """A block is an item of a list, or a paragraph."""
        return segments_of(text, path)

    def written_at(self, mark: FileMark) -> float | None:
        """The time of the file."""
        return mark.mtime / 1e9

    def shut(self, paths: Collection[str]) -> list[str]:
        """Those in whose folder this login may write nothing."""
        return [path for path in paths if not os.access((self._root / path).parent, os.W_OK)]
