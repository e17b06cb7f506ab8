"""Keep folders that are worked on in place in step with their rows, in either direction."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import class_row

from slowwave.bindings.checks import hidden_rows, missing_grants
from slowwave.bindings.connect import Connected, connect_store, disconnect_store, note_changes
from slowwave.bindings.stores import (
    ConnectedStore,
    connected_names,
    connected_store,
    connected_stores,
    namespaces_of,
    slug_of,
    store_named,
)
from slowwave.errors import BindingError, Refused, StoreError, UndoBlocked
from slowwave.models.embedder import Embedder
from slowwave.night.delivery import deliver
from slowwave.night.followers import warn
from slowwave.sources.folder_sources import (
    LETTA,
    NOTHING,
    TREE,
    Commit,
    LettaBlocks,
    checked_address,
    is_folder,
    source_of,
)
from slowwave.sources.merging import BlockRow, Merged, Segment, merged, nearest
from slowwave.sources.page_files import FileMark, FolderScan, Unsettled, content_hash, decoded
from slowwave.sources.write_files import Unwritable
from slowwave.store.claims import NamespaceClaim
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.frontmatter import UnreadableFile
from slowwave.text.tokens import counted

# Folders that are edited in place: their rows and their files are synchronised in both directions.
#
# A file that a person changed since it was last read becomes rows. A file whose rows a plan or an undo changed is rewritten from them. If
# both happened, the person's text is kept, and the plan's changes of other blocks are made next to it. Repeating this changes nothing, and
# nothing is lost if the process ends halfway: a row records the text of its file only once the file has it.

STANDS_STILL: Final = 1.0
"""Seconds for which a file must be unchanged before it is read: editors write in several steps."""

_EMBEDDED: Final = 256
_BREAK: Final = re.compile(r"\r\n?|\n")
_PATIENCE: Final = "60s"

_FILES: Final = "SELECT path, size, mtime, hash FROM memory.folder_files WHERE folder = %s"
_DUE: Final = """
SELECT DISTINCT path FROM memory.folder_blocks
WHERE folder = %s AND said <> CASE WHEN gone OR kind = 'left' THEN '' ELSE lead || body || tail END
"""
_ROWS: Final = """
SELECT id::text, kind, section, lead, body, tail, said, gone, day FROM memory.folder_blocks
WHERE folder = %s AND path = %s ORDER BY position, id FOR UPDATE
"""
_JOURNALLED: Final = "SELECT DISTINCT row_id::text FROM night.journal WHERE row_id = ANY(%s::uuid[])"
_LEFT: Final = "UPDATE memory.folder_blocks SET kind = 'left', said = '' WHERE id = ANY(%s::uuid[])"
_ENDED: Final = "DELETE FROM memory.folder_blocks WHERE id = ANY(%s::uuid[])"
_KEPT: Final = """
UPDATE memory.folder_blocks b SET position = n.position, kind = n.kind, section = n.section, day = n.day, lead = n.lead, body = n.body,
  tail = n.tail, vector = CASE WHEN b.body = n.body THEN b.vector END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[])
  AS n (id, position, kind, section, day, lead, body, tail)
WHERE b.id = n.id AND (b.position, b.kind, b.section, b.day, b.lead, b.body, b.tail)
  IS DISTINCT FROM (n.position, n.kind, n.section, n.day, n.lead, n.body, n.tail)
"""
_NEW: Final = """
INSERT INTO memory.folder_blocks (id, folder, path, position, kind, section, day, lead, body, tail, said, recorded_at)
SELECT n.id, %s, %s, n.position, n.kind, n.section, n.day, n.lead, n.body, n.tail, n.lead || n.body || n.tail, coalesce(n.day, %s)
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[])
  AS n (id, position, kind, section, day, lead, body, tail)
"""
_SAID: Final = """
UPDATE memory.folder_blocks b SET said = n.said FROM unnest(%s::uuid[], %s::text[]) AS n (id, said) WHERE b.id = n.id AND b.said <> n.said
"""
_SEEN: Final = """
INSERT INTO memory.folder_files (folder, path, size, mtime, hash) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (folder, path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, hash = excluded.hash
"""
_MOVED: Final = "UPDATE memory.folder_blocks SET path = %s WHERE folder = %s AND path = %s"
_GONE: Final = "DELETE FROM memory.folder_files WHERE folder = %s AND path = %s"
_IDS: Final = "SELECT id::text FROM memory.folder_blocks WHERE folder = %s"
_BARE: Final = """
SELECT id::text, body FROM memory.folder_blocks WHERE folder = %s AND kind = 'block' AND NOT gone AND vector IS NULL ORDER BY id LIMIT %s
"""
_EMBED: Final = """
UPDATE memory.folder_blocks b SET vector = n.vector::vector FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS n (id, body, vector)
WHERE b.id = n.id AND b.body = n.body
"""
_PLACED: Final = """
UPDATE memory.folder_blocks b SET place = n.place FROM unnest(%s::uuid[], %s::text[]) AS n (id, place)
WHERE b.id = n.id AND b.place <> n.place
"""
_NAMED: Final = "SELECT DISTINCT place FROM memory.folder_blocks WHERE id = ANY(%s::uuid[]) ORDER BY place"
_ERASED: Final = """
DELETE FROM memory.folder_blocks b WHERE b.folder = %s AND b.said = '' AND (b.gone OR b.kind = 'left')
  AND EXISTS (SELECT 1 FROM night.journal j WHERE j.row_id = b.id)
  AND NOT EXISTS (SELECT 1 FROM night.journal j JOIN night.before_images i ON i.journal_id = j.id WHERE j.row_id = b.id)
"""
"""Blocks that are no longer in any file and that no undo can restore, because their text was erased from the journal."""
_LOCK_TIMEOUT: Final = "SELECT set_config('lock_timeout', %s, true)"
_LOCK_FOLDER: Final = "SELECT memory.lock_name(%s, 38)"
_CLEAR_VECTORS: Final = "UPDATE memory.folder_blocks SET vector = NULL WHERE folder = %s"
_CHANGE_MODEL: Final = "UPDATE night.stores SET embedding_model = %s WHERE name = %s"


@dataclass(slots=True)
class FolderSync:
    """The result of bringing a folder and its rows in step.

    - Files that were ``read`` or are ``gone``, and blocks that are ``new`` or ``ended``, as counts.
    - ``written``: the files that were written.
    - ``left``: the files that cannot be taken or written now, with reasons.
    - ``aside``: those of them that no row's change is pending for.
    - ``commit``: the commit.
    """

    store: str
    root: str
    files: int = 0
    read: int = 0
    gone: int = 0
    new: int = 0
    ended: int = 0
    embedded: int = 0
    written: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()
    commit: Commit = NOTHING

    def problems(self) -> list[str]:
        """Return the problems that a person should know of, as sentences."""
        problems = [f"{path}: {why}" for path, why in sorted(self.left.items())]
        return [*problems, *([self.commit.problem] if self.commit.problem else [])]

    def hindered(self) -> list[str]:
        """Return the problems that keep a plan's changes from being written where they belong.

        Links and read-only blocks are not among them unless a change is pending for them.
        """
        problems = [f"{path}: {why}" for path, why in sorted(self.left.items()) if path not in self.aside]
        return [*([self.commit.problem] if self.commit.problem else []), *problems]

    def to_json(self) -> dict[str, object]:
        """Return the result as ``--json`` shows it."""
        counts = {name: getattr(self, name) for name in ("files", "read", "gone", "new", "ended", "embedded")}
        return {
            "store": self.store,
            "folder": self.root,
            **counts,
            "written": self.written,
            "left": self.left,
            "commit": self.commit.id or None,
        }


@dataclass(frozen=True, slots=True)
class CommitWords:
    """The subject and body of the commit of written files."""

    subject: str = "slowwave: files follow what was applied"
    body: str = ""


APPLIED: Final = CommitWords()


def folder_of(store: Store, namespace_id: str) -> ConnectedStore | None:
    """Return the folder that a namespace belongs to, or None for any other namespace."""
    with store.connect("reader") as connection:
        found = connected_store(connection, namespace_id)
    return found[0] if found is not None and is_folder(found[0]) else None


def follow_folder(
    store: Store,
    of: ConnectedStore,
    *,
    embedder: Embedder | None = None,
    emptied: bool = False,
    why: CommitWords = APPLIED,
    clock: Callable[[], float] = time.time,
    pause: Callable[[float], None] = time.sleep,
) -> FolderSync:
    """Bring the rows and the files of a folder in step.

    Without an ``embedder``, new blocks have no vector until the next night. ``emptied`` confirms that the folder is meant to have no
    page. Raises ``Refused`` if the folder cannot be read. Cost: a check of the size and time of each file; files that changed are read,
    and files whose rows changed are written.
    """
    with store.connect("owner") as connection, _alone(store, of.name):
        return _Following(connection, of, embedder, why, clock, pause).run(emptied=emptied)


def places_of(store: Store, rows: Sequence[str]) -> list[str]:
    """Return file and line of blocks, by the ids of their rows, as of the last time that their file was checked."""
    with store.connect("reader") as connection:
        found = connection.execute(_NAMED, (list(rows),)).fetchall()
    return [str(place) for (place,) in found if place]


@contextmanager
def _alone(store: Store, name: str) -> Generator[None]:
    """Let only one process at a time work on a folder.

    A transaction on a separate connection holds the lock. Raises ``Refused`` if another process holds it for a minute.
    """
    with store.connect("applier") as guard, guard.transaction():
        guard.execute(_LOCK_TIMEOUT, (_PATIENCE,))
        try:
            guard.execute(_LOCK_FOLDER, (name,))
        except psycopg.errors.LockNotAvailable:
            raise Refused(
                f"Another process has been reading the folder {name} for a minute. Try again later."
            ) from None
        yield


class _Following:
    def __init__(
        self,
        connection: Connection,
        of: ConnectedStore,
        embedder: Embedder | None,
        why: CommitWords,
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> None:
        self._connection, self._name, self._embedder, self._why = connection, of.name, embedder, why
        self._model = of.embedding_model
        self._source = source_of(of)
        self._clock, self._pause = clock, pause
        self._done = FolderSync(of.name, self._source.root)
        self._taken: set[str] | None = None

    def run(self, *, emptied: bool) -> FolderSync:
        with self._source.opened():
            return self._run(emptied=emptied)

    def _run(self, *, emptied: bool) -> FolderSync:
        known = {
            str(p): (int(str(s)), int(str(m)), str(h)) for p, s, m, h in self._connection.execute(_FILES, (self._name,))
        }
        self._connection.execute(_ERASED, (self._name,))
        due = {str(path) for (path,) in self._connection.execute(_DUE, (self._name,))}
        scan = self._source.scan(known)
        self._done.files = len(scan.files)
        self._done.left = {out.path: out.reason for out in scan.left_out}
        self._done.aside = frozenset(self._done.left) - due
        if known and not scan.files and not scan.left_out and not emptied:
            raise Refused(
                f"{self._source.root} holds no page, and {len(known):,} {self._source.noun}s were read from it, so nothing was taken for "
                "gone. Mount what should be there, or say --emptied."
            )
        self._gone(scan, known)
        touched = [p for p, mark in scan.files.items() if p not in known or known[p][:2] != (mark.size, mark.mtime)]
        touched = self._settled(scan, touched)
        chosen = sorted({*touched, *(path for path in due if path in scan.files)})
        clean = self._source.committable(sorted(due)) if due else frozenset[str]()
        for path in chosen:
            try:
                self._bring(path, scan.files[path])
            except Unsettled:
                self._done.left[path] = "it is being written, and is looked at the next time"
            except UnreadableFile as problem:
                self._done.left[path] = f"{f'line {problem.line}: ' if problem.line else ''}{problem}"
                self._done.aside |= {path} - due
            except (Unwritable, OSError) as problem:
                reason = problem.strerror if isinstance(problem, OSError) else str(problem)
                self._done.left[path] = f"the {self._source.noun} has not followed yet: {reason}"
        if self._done.written:
            self._done.commit = self._source.commit(self._done.written, clean, self._why.subject, self._why.body)
        if self._embedder is not None:
            self._embed(self._embedder)
        return self._done

    def _settled(self, scan: FolderScan, touched: Sequence[str]) -> list[str]:
        """Return the files that are no longer being written, after waiting once for those that are."""
        newest = max((self._source.written_at(scan.files[path]) or 0.0 for path in touched), default=0.0)
        now = self._clock()
        if now - STANDS_STILL < newest <= now + STANDS_STILL:
            self._pause(max(0.0, min(STANDS_STILL, newest + STANDS_STILL - now)))
            again = self._source.scan(scan.files)
            scan.files.clear()
            scan.files.update(again.files)
        return [path for path in touched if path in scan.files]

    def _gone(self, scan: FolderScan, known: Mapping[str, tuple[int, int, str]]) -> None:
        """Process files that no longer exist.

        A new file with the same text is the same file, moved, and keeps the rows.
        """
        untold = {*self._done.left}
        closed = tuple(scan.closed) or ("\0",)
        gone = [p for p in known if p not in scan.files and p not in untold and not p.startswith(closed)]
        if not gone:
            return
        fresh = {path: mark for path, mark in scan.files.items() if path not in known}
        for path in gone:
            moved = self._moved(fresh, known[path])
            with self._connection.transaction():
                if moved:
                    fresh.pop(moved)
                    self._connection.execute(_MOVED, (moved, self._name, path))
                else:
                    rows = self._rows(path)
                    self._end([row.id for row in rows])
                    self._done.gone += 1
                self._connection.execute(_GONE, (self._name, path))

    def _moved(self, fresh: Mapping[str, FileMark], known: tuple[int, int, str]) -> str:
        for path, mark in sorted(fresh.items()):
            try:
                if mark.size == known[0] and content_hash(self._source.read(path, mark)) == known[2]:
                    return path
            except (Unsettled, UnreadableFile):
                continue
        return ""

    def _bring(self, path: str, mark: FileMark) -> None:
        """Bring one file and its rows in step.

        No transaction is open while the file is written, because that may be a slow request. Before the write, its rows are committed
        with a text that differs from the file, so the write is known to be due. That it was written is committed right after.
        """
        content = self._source.read(path, mark)
        rows = self._agree(path, mark, content)
        wanted = "".join(row.wanted for row in rows).encode()
        if wanted == content:
            return
        brought = self._source.bring(path, content_hash(content), wanted)
        if brought is None:
            raise Unsettled
        self._done.written.append(path)
        with self._connection.transaction():
            self._say([row.followed for row in rows])
            self._see(path, brought, wanted)

    def _agree(self, path: str, mark: FileMark, content: bytes) -> list[BlockRow]:
        """Update the rows of a file with what a person wrote into it, and return them.

        Once a file has the text of all its rows, they are noted as followed.
        """
        now = decoded(content)
        with self._connection.transaction():
            rows = self._rows(path)
            if now not in ("".join(row.wanted for row in rows), "".join(row.said for row in rows)):
                segments = self._source.segments(now, path)
                before = nearest(rows, segments)
                self._say(before)
                self._take(path, mark, merged(before, segments))
                self._done.read += 1
                rows = self._rows(path)
            if now == "".join(row.wanted for row in rows):
                self._say([row.followed for row in rows])
            self._connection.execute(_PLACED, ([row.id for row in rows], _places(path, rows)))
            self._see(path, mark, content)
        return rows

    def _say(self, rows: Sequence[BlockRow]) -> None:
        """Note the text that the file has for rows.

        Changes of the rows since they were read are still to be written.
        """
        self._connection.execute(_SAID, ([row.id for row in rows], [row.said for row in rows]))

    def _see(self, path: str, mark: FileMark, content: bytes) -> None:
        self._connection.execute(_SEEN, (self._name, path, mark.size, mark.mtime, content_hash(content)))

    def _rows(self, path: str) -> list[BlockRow]:
        with self._connection.cursor(row_factory=class_row(BlockRow)) as cursor:
            return cursor.execute(_ROWS, (self._name, path)).fetchall()

    def _take(self, path: str, mark: FileMark, found: Merged) -> None:
        """Store what a person wrote as rows."""
        kept: list[tuple[object, ...]] = []
        new: list[tuple[object, ...]] = []
        times: Counter[str] = Counter()
        for position, (row, segment) in enumerate(found.parts):
            if row is None:
                assert segment is not None  # noqa: S101 - a part is one of both
                new.append((self._new_id(path, segment, times), position, *_columns(segment)))
            # The row's text comes from a plan: the file has yet to get it, or must not.
            elif segment is None or row.wanted != row.said:
                where = (row.kind, row.section, row.day)
                if segment is not None:
                    where = (row.kind, segment.section, segment.day)
                kept.append((row.id, position, *where, row.lead, row.body, row.tail))
            else:
                kept.append((row.id, position, *_columns(segment)))
        if kept:
            self._connection.execute(_KEPT, _turned(kept))
        self._end([row.id for row in found.ended])
        if new:
            written = self._source.written_at(mark)
            seconds = max(self._clock() if written is None else written, 0)
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
            self._connection.execute(_NEW, (self._name, path, when, *_turned(new)))
            self._done.new += sum(part[2] == "block" for part in new)

    def _end(self, ids: Sequence[str]) -> None:
        """End rows whose text a person removed or rewrote.

        Rows that a plan ever wrote are kept, so that an undo can report where they were.
        """
        if not ids:
            return
        journalled = {str(id_) for (id_,) in self._connection.execute(_JOURNALLED, (list(ids),))}
        self._connection.execute(_LEFT, (sorted(journalled),))
        self._connection.execute(_ENDED, (sorted(set(ids) - journalled),))
        self._done.ended += len(ids)

    def _new_id(self, path: str, segment: Segment, times: Counter[str]) -> str:
        """Return a new id for a block, derived from its file and its text; blocks with the same text get different ids."""
        if self._taken is None:
            self._taken = {str(id_) for (id_,) in self._connection.execute(_IDS, (self._name,))}
        text_hash = hashlib.sha256(segment.raw.encode()).hexdigest()
        while True:
            times[text_hash] += 1
            key = f"{self._name}\0{path}\0{text_hash}\0{times[text_hash]}"
            digest = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
            id_ = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"
            if id_ not in self._taken:
                self._taken.add(id_)
                return id_

    def _embed(self, embedder: Embedder) -> None:
        """Add vectors to blocks that have none, or to all blocks if the model has changed."""
        connection = self._connection
        if embedder.model != self._model:
            with connection.transaction():
                connection.execute(_CLEAR_VECTORS, (self._name,))
                connection.execute(_CHANGE_MODEL, (embedder.model, self._name))
        while rows := connection.execute(_BARE, (self._name, _EMBEDDED)).fetchall():
            texts: list[Any] = [body for _, body in rows]
            vectors = [f"[{','.join(map(repr, row))}]" for row in embedder.embed(texts).tolist()]
            connection.execute(_EMBED, ([id_ for id_, _ in rows], texts, vectors))
            self._done.embedded += len(rows)


def _columns(segment: Segment) -> tuple[object, ...]:
    """Return kind, section, day, lead, body and tail of a segment."""
    kind = "block" if segment.block else "other"
    return kind, segment.section, segment.day, segment.lead, segment.body, segment.tail


def _places(path: str, rows: Sequence[BlockRow]) -> list[str]:
    """Return file and line of each row; for a row that the file does not contain, the place where it would be."""
    found: list[str] = []
    line = 1
    for row in rows:
        found.append(f"{path}, line {line}" if row.kind != "other" else "")
        line += len(_BREAK.findall(row.wanted))
    return found


def _turned(rows: Sequence[tuple[object, ...]]) -> tuple[list[object], ...]:
    """Return the columns of some rows."""
    return tuple(list(column) for column in zip(*rows, strict=True))


# Reading the changes of other programs before a night: files of folders become rows, then every connected store is checked for changes.

_ID: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s"
_CHANGES: Final = """
SELECT i.operation, count(*), a.plan_hash, night.signed_as(a.approver, a.policy_id) FROM night.runs r
JOIN night.runs applied ON applied.id = coalesce(r.undo_of, r.id) JOIN night.approvals a ON a.id = applied.approval_id
JOIN night.plan_items i ON i.plan_hash = a.plan_hash
WHERE r.id = %s AND EXISTS (SELECT 1 FROM night.journal j WHERE j.run_id = r.id AND j.item_id = i.item_id)
GROUP BY i.operation, a.id ORDER BY i.operation
"""


def look_at_stores(store: Store) -> list[str]:
    """Check every connected store and return the problems as sentences.

    These are folders that could not be checked, whose rows stay as they were, tables that hide some of their rows, and stores without a
    namespace because rights are missing.
    """
    with store.connect("reader") as connection:
        names = connected_names(connection)
    problems: list[str] = []
    for name in names:
        try:
            with store.connect("reader") as connection:
                of = store_named(connection, name)
            if is_folder(of):
                follow_folder(store, of, embedder=embedder_for(Settings.for_namespace({})))
            else:
                hindered = [*hidden_rows(store, of), *_closed(store, of)]
                problems += [f"{problem} `slowwave doctor` says what to do." for problem in hindered]
        except Refused as problem:
            problems.append(str(problem))
        except (BindingError, StoreError):
            continue  # the night of that store reports the reason
    note_changes(store)
    deliver(store)  # again, for subscribers that did not accept earlier changes
    return problems


def _closed(store: Store, of: ConnectedStore) -> list[str]:
    """Return a sentence about a store that has no namespace because it cannot be read; the nights of others report the reason."""
    with store.connect("owner") as connection:
        if namespaces_of(connection, of.name) or not missing_grants(connection, of.binding):
            return []
    return [f"The store {of.name} cannot be read: rights of slowwave_reader on its tables are missing."]


def _commit_words(store: Store, run: str, *, undo: bool) -> CommitWords:
    """Return the words of the commit of an apply or undo run: its changes by operation, its plan, and who approved them."""
    with store.connect("reader") as connection:
        rows: list[Any] = connection.execute(_CHANGES, (run,)).fetchall()
    plan, approver = (str(rows[0][2])[:12], str(rows[0][3])) if rows else ("", "")
    changes = counted(sum(int(n) for _, n, *_ in rows), "change")
    body = [f"{operation}: {int(n):,}" for operation, n, *_ in rows]
    body += ["", *([f"Approved by {approver}."] if approver else []), *([f"Plan: {plan}"] if plan else [])]
    subject = f"{'undo of ' if undo else ''}{changes}{f' of plan {plan}' if plan else ''}"
    return CommitWords(f"slowwave: {subject}", "\n".join([*body, f"Run: {run}"]).strip())


class FolderFollower:
    """A follower of folders that are worked on in place and whose blocks are rows: it keeps files and rows in step."""

    def before_night(self, store: Store, namespace: str) -> None:
        """Update the rows of a folder from its files.

        Raises ``Refused`` for a folder that does not exist.
        """
        with store.connect("reader") as connection:
            row = connection.execute(_ID, (namespace,)).fetchone()
        if row is not None and (folder := folder_of(store, str(row[0]))) is not None:
            follow_folder(store, folder, embedder=embedder_for(Settings.for_namespace({})))

    def before_write(self, store: Store, connection: Connection, namespace: str) -> None:
        """Update the rows of a folder from its files before anything is written.

        Raises ``Refused`` if the folder cannot be read: rows whose files cannot be seen are not written.
        """
        if (folder := folder_of(store, namespace_id(connection, namespace))) is not None:
            follow_folder(store, folder)

    def after_write(
        self, store: Store, claim: NamespaceClaim, settings: Settings, wrote: Collection[str], *, undo: bool = False
    ) -> None:
        """Update the files of a folder from its rows, as one commit; the next night, apply or undo repeats what failed."""
        if (folder := folder_of(store, claim.namespace_id)) is None:
            return
        try:
            problems = follow_folder(store, folder, why=_commit_words(store, claim.run_id, undo=undo)).hindered()
        except Refused as problem:
            problems = [str(problem)]
        except Exception as problem:  # noqa: BLE001 - the rows are committed, and nothing about files may end the run
            problems = [
                f"Files of {folder.name} could not follow ({type(problem).__name__}). The next night tries again."
            ]
        if problems:
            warn(store, claim, "folder", [f"{problem.rstrip('.')}." for problem in problems])

    def explain(self, store: Store, problem: UndoBlocked) -> UndoBlocked:
        """Return the refusal with the files and lines of the blocks that a person changed since."""
        if not (places := places_of(store, problem.rows)):
            return problem
        return UndoBlocked(f"Changed in the files: {'; '.join(places)}. {problem}", problem.rows, problem.items)


# The differences between folders that are edited in place and their last reading: by names, sizes and times, without reading a file.

_SEEN_STATES: Final = "SELECT path, size, mtime FROM memory.folder_files WHERE folder = %s"


@dataclass(frozen=True, slots=True)
class TreeState:
    """The state of a connected folder, identified by its namespace.

    ``changed`` says that a night would read a file or find one gone. ``newest`` is the time of the last write to a file, in seconds since
    1970. ``fingerprint`` changes whenever a file does.
    """

    namespace: str
    changed: bool
    fingerprint: str
    newest: float
    problem: str = ""


def tree_states(connection: Connection, namespaces: Collection[str]) -> list[TreeState]:
    """Return the states of the connected folders among some namespaces.

    Costs two queries, one more for each folder, and a check of each of its files.
    """
    folders = [of for of in connected_stores(connection) if is_folder(of) and slug_of(of.name, None) in namespaces]
    return [_state(connection, of) for of in folders]


def _state(connection: Connection, of: ConnectedStore) -> TreeState:
    namespace = slug_of(of.name, None)
    seen = {str(path): [size, mtime] for path, size, mtime in connection.execute(_SEEN_STATES, (of.name,))}
    try:
        source = source_of(of)
        scan = source.scan()
    except Refused as problem:
        return TreeState(namespace, False, "", 0.0, str(problem))
    left_out = {out.path for out in scan.left_out}
    now = {path: [mark.size, mark.mtime] for path, mark in scan.files.items()}
    closed = tuple(scan.closed)
    known = {path: mark for path, mark in seen.items() if path not in left_out and not path.startswith(closed)}
    return TreeState(
        namespace,
        now != known,
        hashlib.sha256(json.dumps(now, sort_keys=True).encode()).hexdigest()[:32],
        max((source.written_at(mark) or 0.0 for mark in scan.files.values()), default=0.0),
    )


# Connecting a folder of Markdown, or the blocks behind Letta's API, and disconnecting it.

_DELETE_BLOCKS: Final = "DELETE FROM memory.folder_blocks WHERE folder = %s"
_DELETE_FILES: Final = "DELETE FROM memory.folder_files WHERE folder = %s"


@dataclass(frozen=True, slots=True)
class ConnectedFolder:
    """The store as it was found, and the result of reading its files."""

    connected: Connected
    sync: FolderSync


def connect_folder(
    store: Store, folder: Path, embedder: Embedder, *, name: str = "", emptied: bool = False
) -> ConnectedFolder:
    """Connect a folder: its files become rows, and the folder becomes a namespace with the store's name.

    No file is changed. Raises ``Refused`` for a path that is no folder, for a folder inside another connected one, and for a name that
    another store has.
    """
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise Refused(f"{folder} is no folder. Name the folder that holds the Markdown files. Nothing was connected.")
    name = name or _named(root)
    with store.connect("owner") as connection:
        for other in connected_stores(connection):
            there = Path(other.parameters.get("root", "")) if other.kind == TREE else None
            if other.name == name and there != root:
                raise Refused(
                    f"Another store is connected as {name}. Give this one a name by --name; nothing was connected."
                )
            if other.name != name and there is not None and (root.is_relative_to(there) or there.is_relative_to(root)):
                raise Refused(
                    f"{root} and {there}, which is connected as {other.name}, lie in each other, and a file is worked on in one place. "
                    "Nothing was connected."
                )
    return _connected(store, TREE, str(root), embedder, name, emptied=emptied)


def connect_letta(
    store: Store, url: str, embedder: Embedder, *, name: str = "letta_api", emptied: bool = False
) -> ConnectedFolder:
    """Connect the memory blocks of a Letta server through its API.

    Their lines become rows, and the blocks become a namespace with the store's name. Nothing is written to the server. Raises ``Refused``
    for an invalid address, for a server that does not answer or rejects the key, and for a name or an address that another store has.
    """
    root = checked_address(url)
    with store.connect("owner") as connection:
        for other in connected_stores(connection):
            there = other.parameters.get("root", "") if other.kind == LETTA else None
            if other.name == name and there != root:
                raise Refused(
                    f"Another store is connected as {name}. Give this one a name by --name; nothing was connected."
                )
            if other.name != name and there == root:
                raise Refused(
                    f"The blocks at {root} are connected as {other.name} already, and a block is worked on in one place. "
                    "Nothing was connected."
                )
    LettaBlocks(root).scan()  # fail before anything is stored
    return _connected(store, LETTA, root, embedder, name, emptied=emptied)


def _connected(store: Store, kind: str, root: str, embedder: Embedder, name: str, *, emptied: bool) -> ConnectedFolder:
    given = {"folder": name, "root": root}
    first = connect_store(store, kind, parameters=given, name=name, embedding_model=embedder.model)
    sync = follow_folder(store, first.store, embedder=embedder, emptied=emptied)
    again = connect_store(store, kind, parameters=given, name=name, embedding_model=embedder.model)
    return ConnectedFolder(replace(again, new_namespaces=first.new_namespaces, was_written=first.was_written), sync)


def disconnect(store: Store, name: str) -> None:
    """Disconnect a store, so that it is no longer read.

    The rows of a folder are removed, because they are a copy of its files. The files stay as they are.
    """
    with store.connect("owner") as connection:
        folder = any(of.name == name and is_folder(of) for of in connected_stores(connection))
    disconnect_store(store, name)
    if folder:
        with store.connect("owner") as connection, connection.transaction():
            connection.execute(_DELETE_BLOCKS, (name,))
            connection.execute(_DELETE_FILES, (name,))


def _named(root: Path) -> str:
    """Return a plain name for a folder, derived from its own name.

    A folder called ``memory``, as agents call theirs, also gets the name of its parent folder.
    """
    own = root.name.lower()
    plain = re.sub(r"[^a-z0-9]+", "_", f"{root.parent.name.lower()}_{own}" if own == "memory" else own).strip("_")
    return (plain if plain[:1].isalpha() else f"folder_{plain}").strip("_")[:31].rstrip("_")
