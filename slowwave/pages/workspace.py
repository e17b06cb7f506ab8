"""The workspace: the files of a namespace follow the rows of its pages.

``sync_pages`` makes the folder agree with the rows as they are now, however often it is called and wherever it was interrupted. It
only ever touches blocks of its own: what a person wrote around one stays, and a block that a person edited is left alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowwave.config.settings import Settings
from slowwave.errors import Refused
from slowwave.mutations.render_page import PATH
from slowwave.pages.blocks import find, is_page, placed
from slowwave.pages.folder import Changed, Folder, opened
from slowwave.pages.git import commit_pages
from slowwave.store.connect import Store
from slowwave.store.paths import path_part

_ATTEMPTS: Final = 3  # at a file that somebody writes at the same moment

_BODIES: Final = """
SELECT p.path, p.body FROM memory.pages p JOIN memory.namespaces n ON n.id = p.namespace_id
WHERE n.slug = %s AND p.invalidated_at IS NULL ORDER BY p.path
"""


@dataclass(frozen=True, slots=True)
class PageSync:
    """What came of it: file names, and sentences about what was left alone. ``commit`` is the git commit, empty for none."""

    folder: str = ""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    commit: str = ""


def sync_pages(store: Store, namespace: str, settings: Settings, *, run_id: str = "", undo: bool = False) -> PageSync:
    """Let the files follow the live pages of a namespace, and commit them where ``pages_git`` is set.

    Without a ``workspace_path`` nothing is done. A block whose row is gone or empty leaves its file, and a file in which nothing else
    stands goes with it. What cannot be written is a sentence in ``problems``, never an error. ``run_id`` and ``undo`` word the commit.
    """
    if not settings.workspace_path:
        return PageSync()
    name = path_part(namespace)
    try:
        base = Path(settings.workspace_path).expanduser().absolute()
    except (RuntimeError, OSError):  # the user after ~ is not known, or the folder that we are in is gone
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
            outcome = _follow(folder, _bodies(store, namespace))  # read again: another sync may have held the folder
            problems, commit = outcome.problems, ""
            if settings.pages_git:
                files = (*outcome.written, *outcome.removed, *outcome.unchanged)
                commit, trouble = commit_pages(base, name, files, run_id=run_id, undo=undo)
                problems += (trouble,) if trouble else ()
    except Refused as problem:
        return PageSync(str(base / name), problems=(str(problem),))
    return PageSync(str(base / name), outcome.written, outcome.removed, outcome.unchanged, problems, commit)


def _bodies(store: Store, namespace: str) -> dict[str, str]:
    """Path → body of the live pages."""
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
    """What came of one file; empty for a file that has and gets no block."""
    try:
        seen = folder.read(path)
    except Refused:
        if body:
            raise
        return ""  # no text, so there is no block in it
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
