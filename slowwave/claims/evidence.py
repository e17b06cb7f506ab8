"""Evidence: the page that keeps what was said as it was said, by whom, in which session and over which surface. It is never changed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from slowwave.claims.remember_request import RememberRequest
from slowwave.claims.subject_ref import slug_of
from slowwave.corpus.session_page import session_page

_SLUG: Final = 48


class EvidencePage(NamedTuple):
    """A page: its path and title, its text, its fields, and the lines in which the statement stands (from 1)."""

    path: str
    title: str
    page: str
    fields: Mapping[str, object]
    first_line: int
    last_line: int


def evidence(request: RememberRequest, title: str, said: str, now: datetime) -> EvidencePage:
    """The page of a statement about a subject, by its day."""
    stamp = f"{now:%Y%m%dt%H%M%S%f}"
    path = (
        f"sources/semantic/{now:%Y/%m/%d}/{_slug(request.subject)}-{stamp}-{secrets.token_hex(6)}-{request.action}.md"
    )
    return _page(path, request, title, said, now)


def capture(request: RememberRequest, said: str, now: datetime, *, quarantined: bool) -> EvidencePage:
    """The page of a statement that is about no subject: in the inbox, or set aside in quarantine."""
    slug = _slug(request.subject or said[:_SLUG])
    if quarantined:
        path = f"inbox/quarantine/{slug}-{secrets.token_hex(6)}.md"
        return _page(path, request, path, said, now)
    return _page(f"inbox/semantic/{now:%Y%m%dt%H%M%S%f}-{slug}.md", request, said.splitlines()[0][:80], said, now)


def said_on(page: str) -> str:
    """What was said, of the text of a page."""
    return page.partition("\n---\n\n")[2].removesuffix("\n")


def _page(path: str, request: RememberRequest, title: str, said: str, now: datetime) -> EvidencePage:
    told = {
        "title": title,
        "action": request.action,
        "kind": request.kind,
        "created": now.date().isoformat(),
        "said_at": now.isoformat(),
        "occurred_at": None if request.occurred_at is None else request.occurred_at.isoformat(),
        "agent": request.agent or None,
        "session_id": request.session_id or None,
        "origin_surface": request.origin_surface or None,
        "source": request.source or None,
        "reason": request.reason or None,
    }
    written = {name: value for name, value in told.items() if value is not None}
    page = session_page(written, said)
    first = page[: page.index(f"\n\n{said}") + 2].count("\n") + 1 if said else 1
    fields: dict[str, object] = {k: v for k, v in written.items() if k in ("agent", "session_id", "created")}
    return EvidencePage(path, title, page, fields | {"frontmatter": written}, first, first + said.count("\n"))


def _slug(text: str) -> str:
    return slug_of(text.rpartition(":")[2])[:_SLUG].strip("-") or "statement"
