"""Sync of followed folders with their documents, watching of folders, and their status."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

from watchfiles import Change, watch

from slowwave.errors import Refused, SettingsError
from slowwave.models.embedder import Embedder
from slowwave.night.retention import Freshness
from slowwave.sources.loading import BATCH_CHARACTERS, LoadedVectors, Progress, batches, refuse_read_only, row_id
from slowwave.sources.page_files import (
    FileMark,
    FolderScan,
    LeftOut,
    Unsettled,
    content_hash,
    page_file,
    read_bytes,
    scan_folder,
)
from slowwave.sources.profile import Profile, profile
from slowwave.sources.rows import BadRow, Screening
from slowwave.store.connect import Store
from slowwave.store.load import analyse
from slowwave.store.logins import Connection, another
from slowwave.store.settings import Settings
from slowwave.text.frontmatter import UnreadableFile
from slowwave.wiki.corpus.corpora import FORGOTTEN_FILE, UNFOLLOWED, Corpus, load_tombstones, mark_synced, save_state
from slowwave.wiki.corpus.links import known_names, resolve_links, write_mentions
from slowwave.wiki.corpus.pending_files import follow_files, has_pending
from slowwave.wiki.corpus.writing import PageTally, PageWrite, PageWriter

# Sync: a folder's files become a corpus's documents. Changed files are read, missing files are retired, moved files keep their identity.
#
# A sync can be stopped at any point and run again: batches that were written are kept, and files whose text equals their document are not
# written again. Each namespace has one sync at a time.

DEBOUNCE: Final = 1.0
"""Seconds without a change before a file is read, because editors write in several steps."""

_DOCUMENTS: Final = """
SELECT d.id::text, coalesce(d.path, p.path), d.content_hash, p.path IS NOT NULL
FROM (SELECT * FROM memory.documents WHERE corpus_id = %(corpus)s AND invalidated_at IS NULL) d
FULL JOIN (SELECT path FROM memory.pending_files WHERE corpus_id = %(corpus)s) p ON p.path = d.path
"""
_LOCK_SYNC: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 2))"
_NO_TIMEOUT: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"
_STATE: Final = "SELECT sync_state FROM memory.corpora WHERE id = %s"
_DOCUMENT_IDS: Final = "SELECT id::text FROM memory.documents WHERE corpus_id = %s"

Clock = Callable[[], float]
"""Seconds since 1970, like the modification times of files."""


@dataclass(frozen=True, slots=True)
class CorpusSync:
    """Result of a sync. ``unsettled`` are paths that were being written: the next sync reads them."""

    corpus: str
    root: str
    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    unchanged: int = 0
    unsettled: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    superseded: tuple[str, ...] = ()
    """Paths that an agent wrote and a person edited: the person's text is the page, the agent's text is a version before it."""
    added: Mapping[str, int] = field(default_factory=dict)
    chunks_embedded: int = 0
    vectors_reused: int = 0
    links_resolved: int = 0
    screened: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the result in the form of ``--json``."""
        counts = {name: getattr(self, name) for name in ("new", "changed", "moved", "gone", "unchanged")}
        return {
            "corpus": self.corpus,
            "root": self.root,
            **counts,
            "unsettled": list(self.unsettled),
            "left_out": [out.to_json() for out in self.left_out],
            "superseded": list(self.superseded),
            "added": dict(self.added),
            "chunks_embedded": self.chunks_embedded,
            "vectors_reused": self.vectors_reused,
            "links_resolved": self.links_resolved,
            "screened": dict(self.screened),
            "quarantined": self.quarantined,
        }


@dataclass(frozen=True, slots=True)
class _Work:
    """A file to be read and written."""

    path: str
    mark: FileMark
    hash: str
    document_id: str
    formerly: Literal["", "changed", "moved"]


@contextmanager
def one_sync(connection: Connection, namespace_id: str, slug: str) -> Generator[None]:
    """Hold the lock for syncing a namespace. Raises ``Refused`` if another sync holds it.

    A second connection holds it in a transaction, because a sync has several transactions and behind a pooler no lock outlasts one. That
    transaction has no snapshot, so it keeps no row from being vacuumed.
    """
    with another(connection) as lock, lock.transaction(force_rollback=True):
        lock.execute(_NO_TIMEOUT)
        row = lock.execute(_LOCK_SYNC, (namespace_id,)).fetchone()
        if row is None or not row[0]:
            raise Refused(
                f"Another sync of {slug} is at work, so this one did nothing. Wait until it is done, or let it go on alone."
            )
        yield


def sync_corpus(
    connection: Connection,
    slug: str,
    corpus: Corpus,
    embedder: Embedder,
    *,
    emptied: bool = False,
    progress: Progress | None = None,
    clock: Clock = time.time,
    pause: Callable[[float], None] = time.sleep,
) -> CorpusSync:
    """Update a corpus to match its folder. ``emptied`` confirms that the folder is meant to have no pages.

    Raises ``Refused`` (no folder, another sync, a read-only namespace, a folder that is empty but was not), ``EmbeddingError`` and
    ``StoreError``; batches that were written before the error are kept.
    """
    if corpus.folder is None:
        raise Refused(
            "These pages have no folder to look at. `slowwave import sessions FILE --namespace NAME` adds sessions, "
            "`slowwave corpus write NAME PATH --kind create` pages."
        )
    refuse_read_only(connection, [slug])
    with one_sync(connection, corpus.namespace_id, slug):
        return _Sync(connection, slug, corpus, corpus.folder, embedder, progress, clock, pause).run(emptied=emptied)


class _Sync:
    def __init__(
        self,
        connection: Connection,
        slug: str,
        corpus: Corpus,
        folder: Path,
        embedder: Embedder,
        progress: Progress | None,
        clock: Clock,
        pause: Callable[[float], None],
    ) -> None:
        self._connection, self._slug, self._corpus, self._folder = connection, slug, corpus, folder
        self._progress, self._clock, self._pause = progress, clock, pause
        self._profile: Profile = profile(corpus.profile)
        self._tally = PageTally()
        self._writer = PageWriter(connection, slug, corpus, LoadedVectors(embedder), self._tally)
        self._model = embedder.model
        self._screening = Screening.from_connection(connection)
        self._tombstones = load_tombstones(connection, corpus.namespace_id)
        self._documents: dict[str, tuple[str, str]] = {}
        """Path → id and hash of the live documents."""
        self._state: dict[str, Any] = {}
        self._pending: set[str] = set()
        """Paths of pending files: agents wrote their pages, so the files on disk are not read."""
        self._unsettled: list[str] = []
        self._counts: Counter[str] = Counter()

    def run(self, *, emptied: bool) -> CorpusSync:
        begun = self._clock()
        connection = self._connection
        state: Any = connection.execute(_STATE, (self._corpus.id,)).fetchone()
        self._state = dict(state[0]) if state else {}
        following = follow_files(connection, self._corpus)
        for id_, path, hash_, pending in connection.execute(_DOCUMENTS, {"corpus": self._corpus.id}):
            if id_ is not None:
                self._documents[str(path)] = (str(id_), str(hash_))
            if pending:
                self._pending.add(str(path))
        scan = scan_folder(self._folder, self._profile, self._documents)
        for path in self._pending:
            scan.files.pop(path, None)
        scan.left_out.extend(LeftOut(path, 0, reason) for path, reason in following.left.items())
        if not scan.files and not scan.left_out and self._documents and not emptied:
            raise Refused(
                f"{self._folder} holds no page, and {len(self._documents):,} documents came from it, so nothing was taken for gone. Mount "
                "what should be there, or say --emptied."
            )
        files: dict[str, list[Any]] = self._state.get("files", {})
        seen: dict[str, list[Any]] = {}
        fresh = self._fresh(scan, files, seen, begun, frozenset(following.written))
        work, gone = self._sorted_out(scan, fresh)
        self._counts["unchanged"] = len(scan.files) - len(work) - len(self._unsettled) - self._counts["unread"]
        unfinished = bool(work or gone) or not self._state.get("whole", False)
        if unfinished:
            save_state(connection, self._corpus, {**self._state, "whole": False})
        written = self._write(work, scan, seen)
        if gone:
            self._writer.retire([self._documents[path][0] for path in gone])
        if self._state.get("model") != self._model:
            self._writer.embed_bare()
        followed = [self._documents[path][0] for path in following.written if path in self._documents]
        resolved, names = self._link(unfinished, [*written, *followed])
        whole = {"whole": True, "files": seen, "names": names, "model": self._model}
        turned = any(self._state.get(name) != value for name, value in whole.items() if name != "whole")
        # Count the changes. Otherwise a folder that returned to an earlier state could not be told from one that never changed.
        whole["turn"] = self._state.get("turn", 0) + turned
        if unfinished or whole != self._state:
            save_state(connection, self._corpus, whole)
        mark_synced(connection, self._corpus)
        analyse(connection, self._tally.added)
        counts = {name: self._counts[name] for name in ("new", "changed", "moved", "unchanged")}
        return CorpusSync(
            self._corpus.id,
            self._corpus.root,
            **counts,
            gone=len(gone),
            unsettled=tuple(sorted(self._unsettled)),
            left_out=tuple(sorted(scan.left_out, key=lambda out: out.path)),
            superseded=tuple(sorted({*following.edited} - {out.path for out in scan.left_out})),
            added=dict(self._tally.added),
            chunks_embedded=self._tally.chunks_embedded,
            vectors_reused=self._tally.vectors_reused,
            links_resolved=resolved,
            screened=dict(self._screening.found),
            quarantined=self._screening.quarantined,
        )

    def _fresh(
        self,
        scan: FolderScan,
        files: Mapping[str, list[Any]],
        seen: dict[str, list[Any]],
        begun: float,
        ours: frozenset[str],
    ) -> dict[str, tuple[FileMark, str]]:
        """Return the mark and the hash of each file that was touched since the last sync, by path; each file is read once.

        Files that are still being written are waited for once, except those in ``ours``. Files that the next sync may skip are added to
        ``seen``.
        """
        touched: list[str] = []
        for path, mark in scan.files.items():
            known = files.get(path)
            document = self._documents.get(path)
            if known and document and known == [mark.size, mark.mtime, document[1]]:
                seen[path] = known
            else:
                touched.append(path)
        young = [path for path in touched if path not in ours and self._young(scan.files[path])]
        found: dict[str, tuple[FileMark, str]] = {}
        waiting = frozenset(young)
        for path in (path for path in touched if path not in waiting):
            self._hash(path, scan, found)
        if young:
            newest = max(scan.files[path].mtime for path in young) / 1e9
            self._pause(max(0.0, min(DEBOUNCE, newest + DEBOUNCE - self._clock())))
            for path in young:
                self._hash(path, scan, found)
        for path, (mark, hash_) in found.items():
            # A file touched within the clock tick of this sync would look unchanged to the next one.
            if mark.mtime / 1e9 < begun:
                seen[path] = [mark.size, mark.mtime, hash_]
        return found

    def _young(self, mark: FileMark) -> bool:
        now = self._clock()
        return now - DEBOUNCE < mark.mtime / 1e9 <= now + DEBOUNCE

    def _hash(self, path: str, scan: FolderScan, found: dict[str, tuple[FileMark, str]]) -> None:
        mark = scan.files[path]
        try:
            found[path] = (mark, content_hash(read_bytes(self._folder / path, mark, self._profile.largest_file)))
        except Unsettled:
            self._unsettled.append(path)
        except UnreadableFile as problem:
            self._leave(scan, path, problem.line, str(problem))

    def _leave(self, scan: FolderScan, path: str, line: int, reason: str) -> None:
        """Record a file that cannot be imported; its document stays as it is."""
        scan.left_out.append(LeftOut(path, line, reason))
        self._counts["unread"] += 1

    def _sorted_out(self, scan: FolderScan, fresh: Mapping[str, tuple[FileMark, str]]) -> tuple[list[_Work], list[str]]:
        """Return the pages to write, and the paths of documents whose files are gone.

        A new file with the same text as a gone one is treated as that document, moved.
        """
        untold = {out.path for out in scan.left_out}
        closed = tuple(scan.closed)
        gone = [
            path
            for path in self._documents
            if path not in scan.files
            and path not in untold
            and path not in self._pending
            and not path.startswith(closed or ("\0",))
        ]
        left: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(gone):
            left[self._documents[path][1]].append(path)
        taken = {str(id_) for (id_,) in self._connection.execute(_DOCUMENT_IDS, (self._corpus.id,))}
        work: list[_Work] = []
        for path, (mark, hash_) in fresh.items():
            if self._tombstones.refuse(path, hash_, is_new=path not in self._documents):
                self._leave(scan, path, 0, FORGOTTEN_FILE)
                continue
            if path in self._documents:
                id_, before = self._documents[path]
                if before != hash_:
                    work.append(_Work(path, mark, hash_, id_, "changed"))
                continue
            if left[hash_]:
                name = PurePosixPath(path).name
                former = min(left[hash_], key=lambda old: (PurePosixPath(old).name != name, old))
                left[hash_].remove(former)
                gone.remove(former)
                work.append(_Work(path, mark, hash_, self._documents[former][0], "moved"))
            else:
                work.append(_Work(path, mark, hash_, _new_id(self._corpus.id, path, taken), ""))
        return work, gone

    def _write(self, work: Sequence[_Work], scan: FolderScan, seen: dict[str, list[Any]]) -> list[str]:
        written: list[str] = []
        done = 0
        for batch in batches(work, lambda one: one.mark.size, BATCH_CHARACTERS):
            pages: list[PageWrite] = []
            for one in batch:
                page = self._read(one, scan)
                if page is None:
                    seen.pop(one.path, None)
                else:
                    pages.append(page)
                    self._counts[one.formerly or "new"] += 1
            if pages:
                self._writer.write(pages)
                written += [page.document_id for page in pages]
            done += len(batch)
            if self._progress is not None:
                self._progress(done, len(work))
        return written

    def _read(self, one: _Work, scan: FolderScan) -> PageWrite | None:
        try:
            content = read_bytes(self._folder / one.path, one.mark, self._profile.largest_file)
            if content_hash(content) != one.hash:
                raise Unsettled
            file = page_file(one.path, content, self._profile)
            state = self._screening.state(self._slug, file.text)
        except Unsettled:
            self._unsettled.append(one.path)
            return None
        except UnreadableFile as problem:
            self._leave(scan, one.path, problem.line, str(problem))
            return None
        except BadRow as problem:
            self._leave(scan, one.path, 0, str(problem))
            return None
        return PageWrite(file, one.document_id, one.formerly, state)

    def _link(self, unfinished: bool, written: Sequence[str]) -> tuple[int, dict[str, str]]:
        """Update the links and mentions of all pages; if no page of the folder changed, update only mentions of new names."""
        connection = self._connection
        names = known_names(connection, self._corpus)
        whole = self._state.get("whole", False)
        before: dict[str, str] = self._state.get("names", {}) if whole else names.keys()
        resolved = 0
        with connection.transaction():
            if unfinished:
                resolved = resolve_links(connection, self._corpus)
            every = written if whole else [*(id_ for id_, _ in self._documents.values()), *written]
            if every or before != names.keys():
                write_mentions(connection, self._corpus, names, before, every, self._tally)
        return resolved, names.keys()


def _new_id(corpus_id: str, path: str, taken: set[str]) -> str:
    """Return the id of a document that begins at a path; if the id is taken, use the next number."""
    n = 0
    while (found := row_id(corpus_id, "documents", path, str(n))) in taken:
        n += 1
    taken.add(found)
    return found


# The state of followed folders compared with their last sync: by names, sizes, times and the model, without reading a file.

_FOLLOWED: Final = """
SELECT n.slug, n.settings, k.sync_state,
  (SELECT count(*) || ' ' || max(p.recorded_at) FROM memory.pending_files p WHERE p.corpus_id = k.id) AS pending,
  k.id::text, k.namespace_id::text, k.root, k.profile, k.standing, k.synced_at
FROM memory.corpora k JOIN memory.namespaces n ON n.id = k.namespace_id
WHERE n.slug = ANY(%s) AND NOT n.read_only AND k.invalidated_at IS NULL AND k.root <> ALL(%s) ORDER BY n.slug, k.recorded_at, k.id
"""


@dataclass(frozen=True, slots=True)
class FolderState:
    """The state of a followed folder of a namespace.

    ``changed`` is whether a sync would find changes, including pages that agents wrote and that are not on disk yet. ``problem`` is the
    reason if that is unknown. ``fingerprint`` changes whenever a file, the model or such a page does, and after each sync that found
    changes: while it stays the same, a failed sync need not be tried again.
    """

    namespace: str
    corpus: Corpus
    changed: bool
    fingerprint: str
    problem: str = ""


def folder_states(connection: Connection, namespaces: Collection[str]) -> list[FolderState]:
    """Return the folders that some namespaces follow, except those of read-only namespaces.

    Runs one query and scans each folder.
    """
    rows: Any = connection.execute(_FOLLOWED.encode(), (list(namespaces), list(UNFOLLOWED))).fetchall()
    return [
        _state(slug, overlay, synced, pending or "", Corpus(*corpus))
        for slug, overlay, synced, pending, *corpus in rows
    ]


def _state(
    slug: str, overlay: Mapping[str, Any], synced: Mapping[str, Any], pending: str, corpus: Corpus
) -> FolderState:
    seen: Mapping[str, list[Any]] = synced.get("files", {})
    try:
        model = Settings.for_namespace(overlay).embedding_model
        scan = scan_folder(corpus.folder, profile(corpus.profile), seen) if corpus.folder else FolderScan()
    except (Refused, SettingsError) as problem:
        return FolderState(slug, corpus, False, "", str(problem))
    now = {path: [mark.size, mark.mtime] for path, mark in scan.files.items()}
    before = {path: mark[:2] for path, mark in seen.items()}
    content = json.dumps([corpus.id, synced.get("turn"), model, now, pending], sort_keys=True).encode()
    return FolderState(
        slug,
        corpus,
        bool(pending) or now != before or synced.get("model") != model or not synced.get("whole", False),
        hashlib.sha256(content).hexdigest()[:32],
    )


# Watching folders: changes are synced once the files have been unchanged for a second, and pending files of agents are written.

_LOOK: Final = 2_000  # milliseconds after which rows are checked if no file changes
_STEP: Final = 50  # milliseconds between two checks of the system's file events


def watch_corpora(
    store: Store,
    slug: str,
    corpora: Sequence[Corpus],
    embedder: Embedder,
    tell: Callable[[CorpusSync], None],
    refused: Callable[[Refused], None],
    *,
    stop: threading.Event | None = None,
    debounce: float = DEBOUNCE,
) -> None:
    """Sync now and again whenever a page changes, until ``stop`` is set or the process is interrupted.

    Each sync opens a separate connection, so no connection stays open in between. A sync that is refused because another one is running
    is reported, and the next change tries again.
    """
    roots = {corpus.folder: corpus for corpus in corpora if corpus.folder is not None}
    if not roots:
        raise Refused("There is no folder to watch. `slowwave corpus add NAMESPACE FOLDER` follows one.")

    def sync(corpus: Corpus) -> None:
        try:
            with store.connect("owner") as connection:
                tell(sync_corpus(connection, slug, corpus, embedder))
        except Refused as problem:
            refused(problem)

    for corpus in roots.values():
        sync(corpus)
    for changes in watch(
        *roots,
        watch_filter=lambda _, path: _of(roots, path) is not None,
        debounce=int(debounce * 1_000),
        step=_STEP,
        stop_event=stop,
        rust_timeout=_LOOK,
        yield_on_timeout=True,
    ):
        for corpus in _touched(roots, changes) if changes else _awaited(store, roots):
            sync(corpus)


def _awaited(store: Store, roots: dict[Path, Corpus]) -> list[Corpus]:
    """Return the corpora with pending files: pages that agents wrote and that are not on disk yet."""
    with store.connect("reader") as connection:
        ids = has_pending(connection, [corpus.id for corpus in roots.values()])
    return [corpus for corpus in roots.values() if corpus.id in ids]


def _touched(roots: dict[Path, Corpus], changes: set[tuple[Change, str]]) -> list[Corpus]:
    found = {corpus.id: corpus for _, path in changes if (corpus := _of(roots, path)) is not None}
    return list(found.values())


def _of(roots: dict[Path, Corpus], path: str) -> Corpus | None:
    """Return the corpus that a path belongs to, as a page or as a folder of pages."""
    for root, corpus in roots.items():
        if Path(path).is_relative_to(root):
            relative = Path(path).relative_to(root).as_posix()
            hidden = any(part.startswith(".") for part in relative.split("/"))
            if not hidden and (profile(corpus.profile).takes(relative) or not Path(path).suffix):
                return corpus
    return None


# Figures about the corpora of a namespace.

_STATUS = """
SELECT k.id::text, k.root, k.profile, k.standing, k.synced_at,
  p.pages, p.versions, p.quarantined, c.chunks, c.bare, l.links, l.broken
FROM memory.corpora k
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE d.invalidated_at IS NULL) AS pages, count(*) FILTER (WHERE d.version_of IS NOT NULL) AS versions,
    count(*) FILTER (WHERE d.invalidated_at IS NULL AND jsonb_exists(d.metadata, 'quarantined')) AS quarantined
  FROM memory.documents d WHERE d.corpus_id = k.id) p
CROSS JOIN LATERAL (
  SELECT count(*) AS chunks,
    count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM memory.chunk_vectors v WHERE v.id = c.id AND v.model = %(model)s)) AS bare
  FROM memory.documents d JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL
  WHERE d.corpus_id = k.id AND d.invalidated_at IS NULL) c
CROSS JOIN LATERAL (
  SELECT count(*) AS links, count(*) FILTER (WHERE l.kind <> 'mention' AND l.target_document_id IS NULL) AS broken
  FROM memory.documents d JOIN memory.links l ON l.document_id = d.id AND l.invalidated_at IS NULL
  WHERE d.corpus_id = k.id AND d.invalidated_at IS NULL) l
WHERE k.namespace_id = %(namespace)s AND k.invalidated_at IS NULL ORDER BY k.recorded_at, k.id
"""


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """The status of one corpus. ``chunks_without_vector`` have no vector of the current model; a night embeds them."""

    corpus: str
    root: str
    profile: str
    standing: float
    synced_at: datetime | None
    pages: int
    versions: int
    quarantined: int
    chunks: int
    chunks_without_vector: int
    links: int
    broken_links: int

    def to_json(self) -> dict[str, object]:
        """Return the status in the form of ``--json``."""
        shown: dict[str, object] = asdict(self)
        return shown | {"synced_at": self.synced_at.isoformat() if self.synced_at else None}


def corpus_status(connection: Connection, namespace_id: str, model: str) -> list[CorpusStatus]:
    """Return the status of the corpora of a namespace, in the order in which they were added."""
    rows: Any = connection.execute(_STATUS.encode(), {"namespace": namespace_id, "model": model}).fetchall()
    return [CorpusStatus(*row) for row in rows]


# Freshness of search at run time: folders that changed since their last sync, and chunks without a vector.

_SETTINGS: Final = "SELECT id::text, slug, settings FROM memory.namespaces WHERE slug = ANY(%s) ORDER BY slug"
_BARE: Final = """
SELECT m.slug, m.model, count(*) FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS m (namespace_id, slug, model)
JOIN memory.documents d ON d.namespace_id = m.namespace_id AND d.corpus_id IS NOT NULL AND d.invalidated_at IS NULL
JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL
WHERE NOT EXISTS (SELECT 1 FROM memory.chunk_vectors v WHERE v.id = c.id AND v.model = m.model)
GROUP BY m.slug, m.model ORDER BY m.slug
"""


def folders_are_synced(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Check that the folders that namespaces follow exist and are unchanged since their last sync.

    A file that cannot be read keeps its folder late until someone repairs the file; `slowwave corpus sync` names it.
    """
    states = folder_states(connection, namespaces)
    late = [
        f"{state.namespace}: {state.problem or f'{Path(state.corpus.root).name} has changed since it was synced.'}"
        for state in states
        if state.changed or state.problem
    ]
    return Freshness(len({state.namespace for state in states}), tuple(late))


def chunks_have_vectors(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Check that every chunk of a corpus has a vector of its namespace's embedding model, so that vector search finds it.

    After a change of the model, the next sync creates the vectors.
    """
    asked: list[tuple[str, str, str]] = []
    late: list[str] = []
    rows: Any = connection.execute(_SETTINGS, (list(namespaces),)).fetchall()
    for id_, slug, overlay in rows:
        try:
            asked.append((id_, slug, Settings.for_namespace(overlay).embedding_model))
        except SettingsError as problem:
            late.append(f"{slug}: {problem}")
    found = connection.execute(_BARE.encode(), [list(column) for column in zip(*asked, strict=True)] or [[], [], []])
    late += [f"{slug}: {n:,} chunks have no vector of the model {model}." for slug, model, n in found]
    return Freshness(len(rows), tuple(late))
