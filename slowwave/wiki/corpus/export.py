"""Export of a corpus's pages as files, byte for byte, and on request of all their versions as a git history."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final

from slowwave.errors import Refused
from slowwave.sources.git import QUIET, git_environment
from slowwave.store.logins import Connection
from slowwave.text.screening import screen
from slowwave.wiki.corpus.corpora import UNFOLLOWED, Corpus

_SECONDS: Final = 600
_FETCH: Final = 200

_LIVE: Final = (
    "SELECT path, content FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL ORDER BY path"
)
_HISTORY: Final = """
SELECT at, path, content FROM (
  SELECT CASE WHEN d.version_of IS NOT NULL THEN d.recorded_at ELSE coalesce(
    (SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = d.id), d.recorded_at) END AS at, d.path, d.content
  FROM memory.documents d WHERE d.corpus_id = %(corpus)s
  UNION ALL
  SELECT d.invalidated_at, d.path, NULL FROM memory.documents d WHERE d.corpus_id = %(corpus)s AND d.invalidated_at IS NOT NULL
) event ORDER BY at, content IS NOT NULL, path
"""
"""Events in order: written pages (with text) and removed pages (without). A page removed and written at the same time was changed."""


@dataclass(frozen=True, slots=True)
class CorpusExport:
    """Result of an export: the numbers of pages, of their bytes, and of commits if a git history was requested."""

    folder: str
    pages: int
    bytes: int
    commits: int = 0


def export_corpora(
    connection: Connection, corpora: Sequence[Corpus], folder: Path, *, git: bool = False
) -> list[CorpusExport]:
    """Write corpora to a folder that is empty or does not exist; several corpora get a subfolder each, by name.

    Raises ``Refused``.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} is not empty, so nothing was written. Name a folder that is empty or not there yet.")
    if git and shutil.which("git") is None:
        raise Refused("There is no git on PATH, so nothing was written. Install it, or leave --git out.")
    done: list[CorpusExport] = []
    names: dict[str, int] = {}
    for corpus in corpora:
        name = corpus.root.rstrip(":") if corpus.root in UNFOLLOWED else Path(corpus.root).name or "corpus"
        names[name] = names.get(name, 0) + 1
        target = folder if len(corpora) == 1 else folder / (name if names[name] == 1 else f"{name}-{names[name]}")
        if git:
            _refuse_secrets(connection, corpus)
        pages, size = _write(connection, corpus, target)
        done.append(CorpusExport(str(target), pages, size, _commit(connection, corpus, target) if git else 0))
    return done


def _write(connection: Connection, corpus: Corpus, target: Path) -> tuple[int, int]:
    target.mkdir(parents=True, exist_ok=True)
    pages = size = 0
    for path, content in _rows(connection, _LIVE, (corpus.id,)):
        file = target / _inside(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        body = content.encode()
        write_new(file, body)
        pages += 1
        size += len(body)
    return pages, size


def write_new(file: Path, body: bytes) -> None:
    """Write a file that does not exist yet; an existing file or link is neither followed nor overwritten."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as opened:
        opened.write(body)


def _commit(connection: Connection, corpus: Corpus, target: Path) -> int:
    """Commit the history of a corpus, one commit per point in time, and return the number of commits.

    The files themselves have already been written.
    """
    commits = 0

    def stream() -> Iterator[bytes]:
        nonlocal commits
        for at, events in groupby(_rows(connection, _HISTORY, {"corpus": corpus.id}), key=lambda event: event[0]):
            parts = list(events)
            commits += 1
            yield from _commit_of(at, parts)

    _git(target, "-c", "init.defaultBranch=main", "init", "--quiet")
    with subprocess.Popen(
        ["git", *QUIET, "fast-import", "--quiet", "--done"],
        cwd=target,
        env=git_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:  # if reading fails, the input ends without "done", and git fails as well
        assert process.stdin is not None  # noqa: S101 - it was asked for
        try:
            for piece in stream():
                process.stdin.write(piece)
            process.stdin.write(b"done\n")
        except BrokenPipeError:
            pass  # git reports its error on standard error
        _, output = process.communicate(timeout=_SECONDS)
    if process.returncode:
        raise Refused(
            f"git did not take the history: {output.decode(errors='replace').splitlines()[-1:]}. The files stand without it."
        )
    _git(target, "reset", "--quiet", "main")
    return commits


def _commit_of(at: datetime, events: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    written = {path for _, path, content in events if content is not None}
    removed = {path for _, path, content in events if content is None} - written
    message = f"{len(written)} pages written, {len(removed)} removed\n".encode()
    seconds = int(at.timestamp())
    yield (
        f"commit refs/heads/main\ncommitter slowwave <slowwave@localhost> {seconds} +0000\ndata {len(message)}\n".encode()
        + message
    )
    for path in sorted(removed):
        yield f"D {_quoted(path)}\n".encode()
    for _, path, content in events:
        if content is not None:
            body = content.encode()
            yield f"M 100644 inline {_quoted(path)}\ndata {len(body)}\n".encode() + body + b"\n"


def _refuse_secrets(connection: Connection, corpus: Corpus) -> None:
    """Raise ``Refused`` if a page or an earlier version contains a secret, because a commit is hard to undo."""
    query = "SELECT path, content FROM memory.documents WHERE corpus_id = %s ORDER BY path"
    found = {
        path
        for path, content in _rows(connection, query, (corpus.id,))
        if any(f.kind == "secret" for f in screen(content))
    }
    if found:
        names = ", ".join(sorted(found)[:5])
        raise Refused(
            f"A secret stands in {names}{' and others' if len(found) > 5 else ''}, now or in an earlier version, so there is no history in "
            "git and nothing was written. Export without --git."
        )


def _rows(connection: Connection, query: str, values: Any) -> Generator[tuple[Any, ...]]:
    """Yield the rows of a query in batches."""
    with connection.transaction(), connection.cursor(name="slowwave_export") as cursor:
        cursor.itersize = _FETCH
        cursor.execute(query.encode(), values)
        yield from cursor


def _inside(path: str) -> PurePosixPath:
    found = PurePosixPath(path)
    if found.is_absolute() or ".." in found.parts or not found.parts or found.parts[0] == ".git":
        raise Refused(f"{path!r} is no path within a folder, so the export stopped there.")
    return found


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _git(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["git", *QUIET, *arguments],
        cwd=folder,
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise Refused(
            f"git failed: {done.stderr.decode(errors='replace').strip()[:300]} The files stand without a history."
        )
