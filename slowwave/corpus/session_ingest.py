"""Taking a session that an agent hands in: a page of the plane ``sessions``, or the next version of one.

The same session handed in again changes nothing; one that has grown becomes a new version. Lines that call tools and secrets are taken out
as imports take them out, and the setting ``screening_on_import`` decides what else is refused or kept from recall. What a server's login
may write is the function ``memory.ingest_session``, which every way in uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import psycopg

from slowwave.config.settings import Settings
from slowwave.corpus.corpora import FORGOTTEN_SESSION, SESSIONS_PROFILE, SESSIONS_ROOT, load_tombstones
from slowwave.corpus.page_file import PageFile, page_file
from slowwave.corpus.passage_vectors import passage_vectors
from slowwave.corpus.profile import profile
from slowwave.corpus.session_page import session_page
from slowwave.corpus.session_request import SessionIngestRequest, SessionIngestResponse
from slowwave.corpus.transcripts import cleaned
from slowwave.errors import AlreadyThere, Forbidden, Refused
from slowwave.imports.screening import BadRow, Screening
from slowwave.language.embedder import Embedder, embedder_for
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.texts.frontmatter import Frontmatter, UnreadableFile, frontmatter

_OWN: Final = ("title", "created", "tags", "sensitivity")
"""What of the content's own frontmatter is kept."""

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
    """Store a session of a namespace (its name). ``token`` is what a login that does not own memory shows.

    Raises ``Refused`` for what cannot be taken, ``AlreadyThere`` where the path is another's, ``Forbidden`` without a token that may write.
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
    told = SessionIngestResponse(stored=True, path=file.path, reindexed=False, result=str(row[0]))  # pyright: ignore[reportArgumentType]
    more: dict[str, Any] = {"quarantined": True} if hidden else {}
    return told.model_copy(update=more | ({"warnings": (vectors.warning,)} if vectors.warning else {}))


def _file(request: SessionIngestRequest, updated: str) -> PageFile:
    """The page that a session is. Raises ``Refused`` where nothing is left of it, or its head cannot be read."""
    content = request.content.replace("\r\n", "\n").replace("\0", "")
    try:
        own = frontmatter(content)
        said = cleaned(content[own.end :] if own.lines else content)
        if not said:
            raise Refused("Nothing is left of the session once calls of tools are taken out. Nothing was stored.")
        text = session_page({**_own(own, said), **_session_fields(request, updated)}, said)
        return page_file(request.path, text.encode("utf-8", "replace"), profile(SESSIONS_PROFILE))
    except UnreadableFile as problem:
        raise Refused(f"The session cannot be taken: {problem}. Nothing was stored.") from None


def _own(own: Frontmatter, said: str) -> Mapping[str, Any]:
    """What a page says of itself, and a title whatever it says."""
    lines = (_SPEAKER.sub("", line).strip("#* \t") for line in said.splitlines())
    first = next((line for line in lines if line), "Session")
    kept = {name: own.fields[name] for name in _OWN if own.fields.get(name)}
    return {"title": first[:_LONGEST_TITLE], **kept}


def _session_fields(request: SessionIngestRequest, updated: str) -> Mapping[str, str | None]:
    """What the request says of a session; whatever the content's frontmatter says of these does not count."""
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
    """What the store's own rules said, as it said it."""
    said = problem.diag.message_primary or "The session was refused."
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            f"{said} A server takes it from each request; one that a client starts, from the variable SLOWWAVE_TOKEN."
        )
    return AlreadyThere(said) if isinstance(problem, psycopg.errors.UniqueViolation) else Refused(said)
