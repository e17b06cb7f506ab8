"""Pages in git: the page files of one namespace, and nothing else, are committed when they have changed.

Git is called without a shell, without hooks, prompts, signing or inherited ``GIT_`` variables, and always with a time limit. No remote is
ever touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slowwave.errors import Refused
from slowwave.sources.blocks import MEMORY

_SECONDS: Final = 30
_BUSY_SECONDS: Final = 30  # longest wait for another git in the same repository, which namespaces may share
_BUSY_PAUSE: Final = 0.2
# The configuration of a user may set a separate author and committer, which would take precedence over ``user.*``.
IDENTITY: Final = (
    *("-c", "user.name=slowwave", "-c", "user.email=slowwave@localhost"),
    *("-c", "author.name=slowwave", "-c", "author.email=slowwave@localhost"),
    *("-c", "committer.name=slowwave", "-c", "committer.email=slowwave@localhost"),
)
QUIET: Final = (
    *("--literal-pathspecs", "--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "core.quotePath=false"),
)
_ENTRY: Final = re.compile(r"^- (.*) \[[0-9a-f]{8}\]\(mem:([0-9a-f-]{36})\)$", re.MULTILINE)
_FIGURES: Final = re.compile(r" _\([^()]*\)_$")
_SPOKEN: Final = re.compile(r"\\(?=[^\w\s])")
_FATAL: Final = re.compile(r"^(?:fatal|error): ")
_LOST: Final = "did not match any file"
"""The error of git for a newly added file if another git process has written an index that it had read before."""

_LOCKED: Final = re.compile(r"\.lock': File exists|cannot lock ref")
_BULLETS: Final = 20
_BULLET: Final = 80


def commit_pages(base: Path, name: str, files: Sequence[str], *, run_id: str, undo: bool) -> tuple[str, str]:
    """Commit files of the folder ``name`` of the workspace.

    Returns the commit's id and a sentence about what went wrong; either may be empty. A workspace outside any repository becomes one.
    Nothing is committed if nothing changed, or if a file holds a secret, even one that a person wrote.
    """
    if not files:
        return "", ""
    program = shutil.which("git")
    if program is None:
        return "", "There is no git on PATH, so pages are not committed. Install it, or set SLOWWAVE_PAGES_GIT=false."
    try:
        return _commit(program, base, name, files, run_id, undo=undo), ""
    except Refused as problem:
        return "", str(problem)
    except subprocess.TimeoutExpired:
        return (
            "",
            f"git took longer than {_SECONDS} seconds, so pages are not committed. Run `slowwave pages sync ALL` later.",
        )
    except OSError as problem:
        return "", f"git could not be run ({problem.strerror}), so pages are not committed."


def _commit(program: str, base: Path, name: str, files: Sequence[str], run_id: str, *, undo: bool) -> str:
    deadline = time.monotonic() + _BUSY_SECONDS

    def git(*arguments: str, unless: str | None = None) -> str:
        """Return the output of git; empty if it failed with a message that contains ``unless``."""
        while True:
            done = subprocess.run(
                [program, *QUIET, *IDENTITY, *arguments],
                cwd=base,
                env=git_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
            if not done.returncode:
                return done.stdout.decode(errors="replace")
            message = done.stderr.decode(errors="replace")
            if unless is not None and unless in message:
                return ""
            if not _LOCKED.search(message) or time.monotonic() >= deadline:
                raise Refused(
                    f"git {_verb(arguments)} failed, so pages are not committed: {_why(message)} Then run `slowwave pages sync ALL`."
                )
            time.sleep(_BUSY_PAUSE)

    if not git("rev-parse", "--show-toplevel", unless="not a git repository"):
        git("-c", "init.defaultBranch=main", "init", "--quiet")
    paths = [f"{name}/{file}" for file in files]
    _refuse_secrets(base, paths)
    known = frozenset(git("ls-files", "-z", "--", *paths).split("\0"))
    paths = [path for path in paths if path in known or (base / path).exists()]
    if not paths:
        return ""
    if not git("status", "--porcelain", "--", *paths):
        return ""
    before = git("show", f"HEAD:./{name}/{MEMORY}", unless="")
    subject, body = _message(before, _read(base / name / MEMORY), run_id, undo=undo)
    add = ("add", "--all", "--", *paths)
    commit = ("commit", "--no-verify", "--only", "-m", subject, "-m", body, "--", *paths)
    git(*add)
    while not git(*commit, unless=_LOST if time.monotonic() < deadline else None):
        git(*add)
    return git("rev-parse", "HEAD").strip()


def _message(before: str, after: str, run_id: str, *, undo: bool) -> tuple[str, str]:
    """Return subject and body (nexo 3.3): how many memories the index has gained, and the first of them."""
    known = {memory for _, memory in _ENTRY.findall(before)}
    new = [line for line, memory in _ENTRY.findall(after) if memory not in known]
    subject = f"dream: {len(new)} promotion(s)" if new else "dream: pages rendered again"
    message = [f"Run: {run_id}"] if run_id else []
    if undo:
        return f"dream: undo{f' by run {run_id[:8]}' if run_id else ''}", "\n".join(message)
    bullets = [_bullet(line) for line in new[:_BULLETS]]
    return subject, "\n\n".join(part for part in ("\n".join(message), "\n".join(bullets)) if part)


def _bullet(line: str) -> str:
    """Format an entry as plain text, without figures and backslashes."""
    bullet = "- " + _SPOKEN.sub("", _FIGURES.sub("", line))
    return bullet if len(bullet) <= _BULLET else bullet[: _BULLET - 1].rstrip() + "…"


def _refuse_secrets(base: Path, paths: Sequence[str]) -> None:
    """Refuse files that hold a secret, by name, because a commit is hard to undo."""
    from slowwave.text.screening import screen

    found = [path for path in paths if any(f.kind == "secret" for f in screen(_read(base / path)))]
    if found:
        raise Refused(
            f"{', '.join(found)}: a secret stands in the file, so pages are not committed. Take it out, then run `slowwave pages sync ALL`."
        )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _why(message: str) -> str:
    """Return the line in which git states the error; the lines after it are advice."""
    lines = message.strip().splitlines() or [""]
    line = next((line for line in lines if _FATAL.match(line)), lines[-1])
    return "".join(c for c in line if c.isprintable())[:300]


def _verb(arguments: Sequence[str]) -> str:
    return next((a for n, a in enumerate(arguments) if not a.startswith("-") and arguments[n - 1] != "-c"), "")


def git_environment() -> dict[str, str]:
    """Return the environment without variables that point git at another repository, index, editor or identity."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SLOWWAVE_"))}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
