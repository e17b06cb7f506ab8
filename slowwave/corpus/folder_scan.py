"""The files of a folder: which a profile takes, how each stands, and what is left out, with the reason.

Only names and marks are looked at here; reading belongs to ``slowwave.corpus.page_file``.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.corpus.page_file import FileMark
from slowwave.corpus.profile import Profile
from slowwave.errors import Refused


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not taken: ``line`` where that is known (0: the whole file)."""

    path: str
    line: int
    reason: str

    def to_json(self) -> dict[str, object]:
        """As ``--json`` shows it."""
        return {"path": self.path, "line": self.line, "reason": self.reason}


@dataclass(slots=True)
class FolderScan:
    """Pages by relative path (with slashes), what was left out, and folders that could not be looked into."""

    files: dict[str, FileMark] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


def scan_folder(root: Path, profile: Profile, known: Collection[str] = ()) -> FolderScan:
    """Look through a folder. Names that begin with a dot are passed over, and links to folders are not followed.

    A link to a file is left out with a word: within the folder the file itself is taken, outside of it nothing is. Of names that differ in
    case or accents' spelling alone, that which is ``known`` is taken, else the first. Raises ``Refused`` where there is no folder.
    """
    found = FolderScan()
    if not root.is_dir():
        raise Refused(
            f"{root} is no folder that can be read, so nothing was looked at and nothing is taken for gone. "
            "Mount it, or add the corpus under its new name."
        )
    inside = root.resolve()
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as problem:
            found.closed.append(folder)
            found.left_out.append(
                LeftOut(folder.rstrip("/") or ".", 0, f"the folder cannot be read ({problem.strerror})")
            )
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{path}/")
            elif profile.takes(path):
                _look(entry, path, inside, found)
    _leave_doubles(found, frozenset(known))
    found.files = dict(sorted(found.files.items()))
    found.left_out.sort(key=lambda out: out.path)
    return found


def _look(entry: os.DirEntry[str], path: str, inside: Path, found: FolderScan) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        found.left_out.append(LeftOut(path.encode(errors="replace").decode(), 0, "its name is not UTF-8"))
        return
    if entry.is_symlink():
        within = Path(entry.path).resolve().is_relative_to(inside)
        reason = "it is a link; the file that it names is taken" if within else "it is a link out of the folder"
        found.left_out.append(LeftOut(path, 0, reason))
        return
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone since the folder was listed
    if stat.S_ISREG(status.st_mode):
        found.files[path] = FileMark.of(status)
    else:
        found.left_out.append(LeftOut(path, 0, "it is no file"))


def _leave_doubles(found: FolderScan, known: frozenset[str]) -> None:
    """Where names are one name on other systems, one is taken."""
    spelled: defaultdict[str, list[str]] = defaultdict(list)
    for path in found.files:
        spelled[unicodedata.normalize("NFC", path).casefold()].append(path)
    for paths in spelled.values():
        taken, *others = sorted(paths, key=lambda path: (path not in known, path))
        for path in others:
            del found.files[path]
            found.left_out.append(
                LeftOut(path, 0, f"its name differs from {taken} in case alone, and many systems hold one of the two")
            )
