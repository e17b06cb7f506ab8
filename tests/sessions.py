"""Sessions as a snapshot holds them, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from slowwave.snapshots.snapshot import Snapshot
from slowwave.wiki.claims.session_statements import SessionPage
from slowwave.wiki.corpus.requests import session_page
from slowwave.wiki.operations.digest_text import body_hash
from tests.snapshots import make_snapshot, uid
from tests.working_week import WeekSession

OVER = datetime(2026, 5, 11, 3, 0, tzinfo=UTC)
"""The night after the week."""


def page_of(session: WeekSession) -> SessionPage:
    """A session as its page, with a head."""
    day = date(2026, 5, session.day)
    fields = {"title": session.name, "type": "session", "status": "done", "agent": "team", "session_id": session.name}
    text = session_page(fields, session.content.rstrip())
    return SessionPage(uid(session.path), session.path, body_hash(text), "team", session.name, day, text)


def sessions_snapshot(
    sessions: Iterable[WeekSession],
    taken_at: datetime = OVER,
    *,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    **fields: object,
) -> Snapshot:
    """A snapshot with these sessions, each with some more ``fields``, and rows of other tables."""
    more: dict[str, Any] = {name: list(rows) for name, rows in (tables or {}).items()}
    pages: list[dict[str, Any]] = [
        {
            "id": page.id,
            "path": page.path,
            "title": page.session_id,
            "content": page.text,
            "content_hash": page.hash,
            "plane": "sessions",
            "corpus_id": uid("sessions"),
            "recorded_at": datetime(page.day.year, page.day.month, page.day.day, tzinfo=UTC) + timedelta(hours=20),
            "metadata": {
                "status": "done",
                "agent": "team",
                "session_id": page.session_id,
                "updated": str(page.day),
                **fields,
            },
        }
        for page in map(page_of, sessions)
    ]
    corpora = [{"id": uid("sessions"), "root": "sessions:", "profile": "dory"}, *more.pop("corpora", [])]
    documents = [*pages, *more.pop("documents", [])]
    return replace(make_snapshot(documents=documents, corpora=corpora, **more), taken_at=taken_at)
