"""Sessions as pages: followed transcripts, and sessions that agents submit."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from slowwave.errors import AlreadyThere, Forbidden, Refused
from slowwave.models.embedder import Embedder
from slowwave.sources.loading import BATCH_CHARACTERS, LoadedVectors, Progress, batches, refuse_read_only, row_id
from slowwave.sources.page_files import PageFile, content_hash, page_file
from slowwave.sources.profile import profile
from slowwave.sources.rows import BadRow, OnError, RowCheck, Screening, SkippedRow
from slowwave.store.configured_models import embedder_for
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.frontmatter import Frontmatter, UnreadableFile, frontmatter
from slowwave.wiki.corpus.corpora import (
    FORGOTTEN_SESSION,
    SESSIONS_PROFILE,
    SESSIONS_ROOT,
    load_tombstones,
    sessions_corpus,
)
from slowwave.wiki.corpus.pages import passage_vectors
from slowwave.wiki.corpus.requests import SessionIngestRequest, SessionIngestResponse, session_page
from slowwave.wiki.corpus.sync import Clock, one_sync
from slowwave.wiki.corpus.transcripts import Transcript, cleaned, read_transcripts
from slowwave.wiki.corpus.writing import PageTally, PageWrite, PageWriter

# Sessions: transcripts as pages of a separate corpus in the plane ``sessions``, which ranks lower.

IDLE: Final = 30 * 60
"""Seconds after its last turn during which a session counts as active."""

_UNSAFE: Final = re.compile(r"[^a-z0-9._-]+")

_LIVE_SESSIONS: Final = """
SELECT id::text, path, content_hash FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class SessionImport:
    """Result of an import of sessions: sessions by outcome, and lines read and skipped."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    seen: int = 0
    turns: int = 0
    skipped: tuple[SkippedRow, ...] = ()
    screened: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the result in the form of ``--json``."""
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
    """Import the sessions of JSONL files; a session that has grown becomes a new version of its page.

    All files are read before anything is written. Sessions that were imported with another model get vectors of this model as well.
    Raises ``ImportRefused``.
    """
    refuse_read_only(connection, [slug])
    checks = [RowCheck.from_connection(connection, path, on_error) for path in paths]
    transcripts = [found for path, check in zip(paths, checks, strict=True) for found in read_transcripts(path, check)]
    pages = {session_path(found): found for found in transcripts}
    corpus = sessions_corpus(connection, slug)
    layout, screening = profile(corpus.profile), Screening.from_connection(connection)
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
    """Return the path of a session's page; the same session always has the same path."""
    day = found.begun.date().isoformat() if found.begun else "undated"
    return f"logs/sessions/{_safe(found.agent)}/{day}-{_safe(found.session_id)}.md"


def session_place(agent: str, name: str) -> str:
    """Return the default path for a session page of an agent that does not name a path."""
    return f"logs/sessions/{_safe(agent)}/{_safe(name)}.md"


def session_markdown(found: Transcript, now: float) -> str:
    """Format a session as a page. ``now`` (seconds since 1970) decides whether the session is still active."""
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


# Storing a session that an agent submits: as a page of the plane ``sessions``, or as the next version of one.
#
# Submitting the same session again changes nothing; a session that has grown becomes a new version. Lines that call tools and secrets are
# removed as in imports, and the setting ``screening_on_import`` decides what else is refused or kept from recall. The function
# ``memory.ingest_session`` defines what a server's login may write, and every entry point uses it.

_OWN: Final = ("title", "created", "tags", "sensitivity")
"""Fields of the content's own frontmatter that are kept."""

_LONGEST_TITLE: Final = 80
_SPEAKER: Final = re.compile(
    r"^[#*\s]*(?:user|human|assistant|agent|system)\b[*:\s]*(?:\d{4}-\d\d-\d\d[ T][\d:Z]+)?[*:\s]*", re.I
)

_STORED: Final = """
SELECT d.content_hash, d.metadata->>'updated' FROM memory.documents d JOIN memory.corpora c ON c.id = d.corpus_id AND c.root = %s
 WHERE d.namespace_id = %s AND d.path = %s AND d.invalidated_at IS NULL"""

_INGEST: Final = """
SELECT memory.ingest_session(%s::text, %s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::timestamptz, %s::boolean, %s::text[],
  %s::integer[], %s::integer[], %s::text, %s::text[], %s::real[])"""


def session_ingest(
    connection: Connection,
    namespace: str,
    request: SessionIngestRequest,
    settings: Settings,
    *,
    token: str = "",
    embedder: Callable[[Settings], Embedder] = embedder_for,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> SessionIngestResponse:
    """Store a session of a namespace, given by name.

    ``token`` is the token of a login that does not own memory. Raises ``Refused`` for a request that cannot be accepted, ``AlreadyThere``
    if the path belongs to another session, ``Forbidden`` without a token that permits writing.
    """
    scope = namespace_id(connection, namespace)
    stored = connection.execute(_STORED, (SESSIONS_ROOT, scope, request.path)).fetchone()
    hash_, day = (str(stored[0]), str(stored[1] or "")) if stored else ("", "")
    file = _file(request, day if day and request.updated is None else _day(request, now))
    if file.content_hash == hash_:
        return SessionIngestResponse(stored=True, path=file.path, reindexed=False, result="unchanged")
    file = _file(request, _day(request, now))
    if load_tombstones(connection, scope).refuse(file.path, file.content_hash, is_new=not stored):
        raise Refused(f"{file.path}: {FORGOTTEN_SESSION} Nothing was stored.")
    screening = Screening(settings.screening_on_import)
    try:
        hidden = screening.state(namespace, file.text) == "quarantined"
    except BadRow as problem:
        raise Refused(f"The session cannot be taken: {problem}. Nothing was stored.") from None
    chunks = () if hidden else file.chunks
    texts = {chunk.content_hash: chunk.content for chunk in chunks}
    vectors = passage_vectors(connection, scope, texts, settings, embedder, "session")
    values = {**file.fields.values, "frontmatter": dict(file.written)}
    try:
        row = connection.execute(
            _INGEST,
            (
                *(namespace, token, file.path, file.path if hidden else file.fields.title, file.text),
                *(json.dumps(values, ensure_ascii=False), file.fields.day, hidden),
                [chunk.content for chunk in chunks],
                [chunk.start_line for chunk in chunks],
                [chunk.end_line for chunk in chunks],
                *(settings.embedding_model, list(vectors.hashes), vectors.matrix.tolist() if vectors.hashes else None),
            ),
        ).fetchone()
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UniqueViolation,
        psycopg.errors.RaiseException,
    ) as problem:
        raise _refusal(problem) from None
    assert row is not None  # noqa: S101 - a function's value
    response = SessionIngestResponse(stored=True, path=file.path, reindexed=False, result=str(row[0]))  # pyright: ignore[reportArgumentType]
    more: dict[str, Any] = {"quarantined": True} if hidden else {}
    return response.model_copy(update=more | ({"warnings": (vectors.warning,)} if vectors.warning else {}))


def _file(request: SessionIngestRequest, updated: str) -> PageFile:
    """Build the page of a session.

    Raises ``Refused`` if nothing is left of the session, or if its head cannot be parsed.
    """
    content = request.content.replace("\r\n", "\n").replace("\0", "")
    try:
        own = frontmatter(content)
        body = cleaned(content[own.end :] if own.lines else content)
        if not body:
            raise Refused("Nothing is left of the session once calls of tools are taken out. Nothing was stored.")
        text = session_page({**_own(own, body), **_session_fields(request, updated)}, body)
        return page_file(request.path, text.encode("utf-8", "replace"), profile(SESSIONS_PROFILE))
    except UnreadableFile as problem:
        raise Refused(f"The session cannot be taken: {problem}. Nothing was stored.") from None


def _own(own: Frontmatter, said: str) -> Mapping[str, Any]:
    """Return the fields that a page sets itself, always with a title."""
    lines = (_SPEAKER.sub("", line).strip("#* \t") for line in said.splitlines())
    first = next((line for line in lines if line), "Session")
    kept = {name: own.fields[name] for name in _OWN if own.fields.get(name)}
    return {"title": first[:_LONGEST_TITLE], **kept}


def _session_fields(request: SessionIngestRequest, updated: str) -> Mapping[str, str | None]:
    """Return the fields of a session from the request; they override the same fields in the content's frontmatter."""
    return {
        "type": "session",
        "status": request.status,
        "source_kind": "extracted",
        "temperature": "warm",
        "agent": request.agent,
        "device": request.device or None,
        "session_id": request.session_id,
        "captured_from": request.captured_from or None,
        "updated": updated,
    }


def _day(request: SessionIngestRequest, now: Callable[[], datetime]) -> str:
    moment = request.updated or now()
    return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date().isoformat()


def _refusal(problem: psycopg.Error) -> Refused:
    """Return the store's own error message as a ``Refused``."""
    message = problem.diag.message_primary or "The session was refused."
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            f"{message} A server takes it from each request; one that a client starts, from the variable SLOWWAVE_TOKEN."
        )
    return AlreadyThere(message) if isinstance(problem, psycopg.errors.UniqueViolation) else Refused(message)
