"""Files that followed a plan as one commit, where their folder lies in a git work tree of somebody's.

Only files that git knows and that held nothing uncommitted before they were written are committed, so a commit is of the plan alone and
nobody's unfinished work is in it. Nothing is initialised, staged beside it, pushed or rewritten. What hinders git hinders no apply.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowwave.pages.git import IDENTITY, QUIET, git_environment

_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Commit:
    """Its id, and a sentence about what was not committed; either may be empty."""

    id: str = ""
    problem: str = ""


NOTHING: Final = Commit()


def committable(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Those of the files that git knows and that are as they were committed last; none outside a work tree, or without git."""
    if not paths or _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return frozenset()
    known = _git(root, "ls-files", "-z", "--", *paths)
    changed = _git(root, "diff", "--name-only", "--relative", "-z", "HEAD", "--", *paths)
    if known is None or changed is None:
        return frozenset()
    return frozenset(known.split("\0")) & frozenset(paths) - frozenset(changed.split("\0"))


def commit_files(root: Path, paths: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
    """Commit those of the written files that were ``clean`` before."""
    if not clean and _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return NOTHING
    chosen = sorted(set(paths) & set(clean))
    left = sorted(set(paths) - set(clean))
    told = (
        f"{left[0]}{f' and {len(left) - 1:,} more files' if left[1:] else ''} had changes that were not committed, or git does not know "
        "them: what was written to them is left for you to commit."
        if left
        else ""
    )
    if not chosen:
        return Commit("", told)
    if _git(root, "commit", "--quiet", "--no-verify", "--only", "-m", subject, "-m", body, "--", *chosen) is None:
        return Commit("", f"git did not take the commit, so what was written is left for you to commit. {told}".strip())
    return Commit(_git(root, "rev-parse", "HEAD") or "", told)


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints; None where it failed, is not there, or took too long."""
    program = shutil.which("git")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *QUIET, *IDENTITY, *arguments],
            cwd=root,
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="replace").strip("\n")
