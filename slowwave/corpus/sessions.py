"""Sessions: transcripts as pages of a corpus of their own, which stands lower and is of the plane ``sessions``."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from slowwave.corpus.corpora import FORGOTTEN_SESSION, load_tombstones, sessions_corpus
from slowwave.corpus.page_file import content_hash, page_file
from slowwave.corpus.profile import profile
from slowwave.corpus.session_page import session_page
from slowwave.corpus.sync import Clock, one_sync
from slowwave.corpus.transcripts import Transcript, read_transcripts
from slowwave.corpus.writing import PageTally, PageWrite, PageWriter
from slowwave.imports.batches import BATCH_CHARACTERS, Progress, batches
from slowwave.imports.loading import LoadedVectors
from slowwave.imports.namespaces import refuse_read_only
from slowwave.imports.rows import OnError, RowCheck, SkippedRow
from slowwave.imports.screening import BadRow, Screening
from slowwave.imports.stored import row_id
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Connection

IDLE: Final = 30 * 60
"""Seconds after its last turn for which a session counts as active."""

_UNSAFE: Final = re.compile(r"[^a-z0-9._-]+")

_LIVE_SESSIONS: Final = """
SELECT id::text, path, content_hash FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class SessionImport:
    """What an import of sessions did: sessions by what became of them, lines read and left out."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    seen: int = 0
    turns: int = 0
    skipped: tuple[SkippedRow, ...] = ()
    screened: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0

    def to_json(self) -> dict[str, object]:
        """As ``--json`` shows it."""
        skipped = [{"file": out.file, "line": out.line, "reason": out.reason} for out in self.skipped]
        counts = {name: getattr(self, name) for name in ("new", "changed", "unchanged", "seen", "turns", "quarantined")}
        return {**counts, "skipped": skipped, "screened": dict(self.screened)}


def import_sessions(
    connection: Connection,
    paths: Sequence[Path],
    slug: str,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    progress: Progress | None = None,
    clock: Clock = time.time,
) -> SessionImport:
    """Import the sessions of JSONL files. A session that has grown since becomes a new version of its page. Raises ``ImportRefused``.

    All files are read before anything is written. Sessions that were imported with another model get vectors of this one as well.
    """
    refuse_read_only(connection, [slug])
    checks = [RowCheck.of(connection, path, on_error) for path in paths]
    transcripts = [found for path, check in zip(paths, checks, strict=True) for found in read_transcripts(path, check)]
    pages = {session_path(found): found for found in transcripts}
    corpus = sessions_corpus(connection, slug)
    layout, screening = profile(corpus.profile), Screening.of(connection)
    skipped = [out for check in checks for out in check.skipped]
    counts: Counter[str] = Counter()
    tally = PageTally()
    tombstones = load_tombstones(connection, corpus.namespace_id)
    with one_sync(connection, corpus.namespace_id, slug):
        held = {
            str(path): (str(id_), str(hash_)) for id_, path, hash_ in connection.execute(_LIVE_SESSIONS, (corpus.id,))
        }
        work: list[PageWrite] = []
        for path, transcript in pages.items():
            content = session_markdown(transcript, clock()).encode()
            id_, before = held.get(path, (row_id(corpus.id, "documents", path), ""))
            if before == content_hash(content):
                counts["unchanged"] += 1
                continue
            if tombstones.refuse(path, content_hash(content), is_new=not before):
                skipped.append(SkippedRow(path, 0, FORGOTTEN_SESSION))
                continue
            try:
                file = page_file(path, content, layout)
                state = screening.state(slug, file.text)
            except BadRow as problem:
                skipped.append(SkippedRow(path, 0, str(problem)))
                continue
            work.append(PageWrite(file, id_, "changed" if before else "", state))
        writer = PageWriter(connection, slug, corpus, LoadedVectors(embedder), tally)
        done = 0
        for batch in batches(work, lambda page: len(page.file.text), BATCH_CHARACTERS):
            writer.write(batch)
            for page in batch:
                counts[page.formerly or "new"] += 1
            done += len(batch)
            if progress is not None:
                progress(done, len(work))
        writer.embed_bare()
    return SessionImport(
        counts["new"],
        counts["changed"],
        counts["unchanged"],
        sum(check.seen for check in checks),
        sum(len(found.turns) for found in pages.values()),
        tuple(skipped),
        dict(screening.found),
        screening.quarantined,
    )


def session_path(found: Transcript) -> str:
    """Where a session's page lies: the same session always at the same place."""
    day = found.begun.date().isoformat() if found.begun else "undated"
    return f"logs/sessions/{_safe(found.agent)}/{day}-{_safe(found.session_id)}.md"


def session_place(agent: str, name: str) -> str:
    """Where a page of an agent's sessions lies that says no more of its place."""
    return f"logs/sessions/{_safe(agent)}/{_safe(name)}.md"


def session_markdown(found: Transcript, now: float) -> str:
    """A session as a page. ``now`` (seconds since 1970) decides whether it is still going on."""
    active = found.ended is not None and now - found.ended.timestamp() < IDLE
    title = (
        next((turn.text for turn in found.turns if turn.role == "user"), found.turns[0].text)
        .strip()
        .splitlines()[0][:80]
    )
    fields: dict[str, str | None] = {
        "title": title,
        "type": "session",
        "status": "active" if active else "done",
        "source_kind": "extracted",
        "temperature": "warm",
        "agent": found.agent,
        "session_id": found.session_id,
        "folder": found.folder or None,
        "created": found.begun.date().isoformat() if found.begun else None,
        "updated": found.ended.date().isoformat() if found.ended else None,
    }
    turns = "\n\n".join(
        f"**{turn.role}**{f' {turn.at:%Y-%m-%d %H:%M}' if turn.at else ''}\n\n{turn.text}" for turn in found.turns
    )
    return session_page(fields, turns)


def _safe(name: str) -> str:
    return _UNSAFE.sub("-", name.lower()).strip("-.")[:80] or "session"
