"""Trees: every name under a folder with what stands there, hashed, and what two of them differ in.

It follows no link and trusts nobody's account: what a model wrote is what the hashes say. The folder that is looked at is the one
*around* the scratch folder, so that what was written beside it shows.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COPY: Final = "copy"
"""The scratch folder's name within the folder of a run, which holds nothing else."""

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Escape:
    """One thing that no tool of ours can have done: its name, and what is wrong with it."""

    name: str
    what: str


def tree(folder: Path) -> dict[str, str]:
    """Name under ``folder`` → what stands there: SHA-256 of a file's bytes, else what it is. Files with a second name say so. Cost:
    linear in the bytes."""
    found: dict[str, str] = {}
    for at, folders, files in os.walk(folder, followlinks=False):
        base = Path(at)
        for name in (*folders, *files):
            there = (base / name).lstat()
            found[str((base / name).relative_to(folder))] = _described(base / name, there)
    return found


def escapes(
    before: Mapping[str, str], after: Mapping[str, str], may_write: Callable[[str], bool]
) -> tuple[Escape, ...]:
    """What changed between two trees of a run's folder and must not have, by name. Names in the scratch folder are shown without its own.

    ``may_write`` says of a name in the scratch folder whether it may change. Folders may not come or go; links and further names of a
    file are never right.
    """
    found: list[Escape] = []
    for path in sorted(before.keys() | after.keys()):
        was, is_ = before.get(path), after.get(path)
        if was == is_:
            continue
        inside = path.startswith(f"{COPY}/")
        name = path.removeprefix(f"{COPY}/") if inside else path
        if is_ is not None and not _is_hash(is_) and is_ != "folder":
            found.append(Escape(name, f"became {is_}"))
        elif not inside:
            found.append(
                Escape(name, "was written outside the copy" if was is None else "was changed outside the copy")
            )
        elif is_ is None:
            found.append(Escape(name, "was deleted"))
        elif is_ == "folder":
            found.append(Escape(name, "is a new folder"))
        elif not may_write(name):
            found.append(
                Escape(name, "was changed, and may only be read" if was else "is new where nothing may be written")
            )
    return tuple(found)


def _described(path: Path, there: os.stat_result) -> str:
    if stat.S_ISDIR(there.st_mode):
        return "folder"
    if stat.S_ISLNK(there.st_mode):
        return "a link"
    if not stat.S_ISREG(there.st_mode):
        return "no file"
    if there.st_nlink != 1:
        return "a file with another name elsewhere"
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _is_hash(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2
