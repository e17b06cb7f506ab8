"""Who owns what root makes: the account in whose folder it is made.

A service has its home, and now and then an administrator runs a command as root. What root makes there belongs to the service's account,
which else could neither read nor remove it. For every other account nothing here does anything.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path


def keeper(path: Path) -> tuple[int, int] | None:
    """For root: the account and group of the folder in which ``path`` is or will be, when it is another account that has a name."""
    if os.geteuid() != 0:
        return None
    nearest = next((p for p in (path, *path.parents) if p.is_dir()), None)
    owner = nearest.stat() if nearest else None
    if owner is None or owner.st_uid == 0:
        return None
    try:
        pwd.getpwuid(owner.st_uid)
    except KeyError:
        return None
    return owner.st_uid, owner.st_gid


def hand_over(path: Path) -> None:
    """Give a file or folder that was just made to the keeper of its folder; a symbolic link is not followed."""
    if found := keeper(path.parent):
        os.chown(path, *found, follow_symlinks=False)


def make_private(path: Path, mode: int = 0o700) -> None:
    """The folder and those above it that are missing, each for its owner only, who is the keeper of what was there."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=mode, exist_ok=True)
            hand_over(folder)
