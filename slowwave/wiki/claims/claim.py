"""Claims as rows with their evidence, claims near to a statement, and the succession of claims in time."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from slowwave.search.words import asked
from slowwave.store.logins import Connection
from slowwave.wiki.claims.request import RememberRequest, slug_of
from slowwave.wiki.corpus.requests import session_page

# Succession: when each of several statements held, if only one holds at a time. Pure.
#
# Each statement begins at its own instant and ends where the next one begins, no matter when it was stated. So a statement that arrives
# late takes its place in history and never ends a newer one, and the result does not depend on the order of arrival.


class Period(NamedTuple):
    """The period of a statement, from ``since`` until just before ``until``."""

    id: str
    since: datetime
    until: datetime | None


class Succession(NamedTuple):
    """The place of a new statement in time.

    ``closes`` are the statements that end where it begins. If a later statement follows, the new one ends at ``until``, where
    ``ended_by`` begins.
    """

    closes: tuple[str, ...]
    until: datetime | None = None
    ended_by: str | None = None


def succession(since: datetime, periods: Iterable[Period]) -> Succession:
    """Return the place of a statement that holds from ``since`` in the succession of others.

    Of statements that begin at the same instant, the last one stated holds.
    """
    closes: list[str] = []
    later: Period | None = None
    for period in periods:
        if period.since > since:
            later = period if later is None or (period.since, period.id) < (later.since, later.id) else later
        elif period.until is None or period.until > since:
            closes.append(period.id)
    closed = tuple(sorted(closes))
    return Succession(closed) if later is None else Succession(closed, later.since, later.id)


# Claims as rows: statements about a subject, the period in which each holds, and whether it is still active.

Status = Literal["active", "replaced", "retired", "invalidated", "quarantined", "merged", "archived"]

COMPARED: Final = 8
"""Claims of a subject that a statement is compared with: those that share the most words with it."""

_OF_SUBJECT: Final = """
m.namespace_id = %(namespace)s AND m.kind = 'claim' AND m.attributes->>'entity_id' = ANY (%(subjects)s::text[])"""

_STANDS: Final = "m.invalidated_at IS NULL AND m.state = 'active'"

_COLUMNS: Final = """
m.id::text, coalesce(m.attributes->>'claim_kind', ''), v.content, m.valid_from, m.valid_to, m.recorded_at, m.author, m.session_id,
m.confidence"""

_STATES: Final = "coalesce(jsonb_exists_any(m.attributes->'relations', %(relations)s), false)"

_NEAREST: Final = f"""
SELECT {_COLUMNS} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
  JOIN memory.search_texts t ON t.id = m.id
 WHERE {_OF_SUBJECT} AND {_STANDS} AND (t.words @@ %(query)s::tsquery OR {_STATES}
   OR %(states)s AND m.attributes->>'claim_kind' = 'state')
 ORDER BY {_STATES} DESC, ts_rank(t.words, %(query)s::tsquery, 0) DESC, m.recorded_at DESC, m.id LIMIT %(limit)s"""  # noqa: S608

_PERIODS: Final = f"""
SELECT m.id::text, m.valid_from, m.valid_to FROM memory.memories m
 WHERE {_OF_SUBJECT} AND {_STANDS} AND m.attributes->>'claim_kind' = %(kind)s AND m.valid_from IS NOT NULL"""  # noqa: S608

_NAMED: Final = f"""
SELECT m.id::text, m.valid_from, m.valid_to FROM memory.memories m
 WHERE {_OF_SUBJECT} AND {_STANDS} AND m.id = ANY (%(ids)s::uuid[]) AND m.valid_from IS NOT NULL"""  # noqa: S608

_TO_FORGET: Final = f"""
SELECT {_COLUMNS} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
 WHERE {_OF_SUBJECT} AND m.invalidated_at IS NULL AND (%(kind)s = 'note' OR m.attributes->>'claim_kind' = %(kind)s)
 ORDER BY m.valid_from, m.id"""  # noqa: S608


class Claim(NamedTuple):
    """A claim that holds or has ended."""

    id: str
    kind: str
    statement: str
    since: datetime
    until: datetime | None
    recorded_at: datetime
    agent: str
    session_id: str | None
    confidence: float

    @property
    def period(self) -> Period:
        """Return the period in which the claim held."""
        return Period(self.id, self.since, self.until)

    def holds(self, at: datetime) -> bool:
        """Return whether the claim holds at an instant."""
        return self.since <= at and (self.until is None or self.until > at)


def nearest(
    connection: Connection,
    namespace_id: str,
    subject_ids: Sequence[str],
    statement: str,
    heading: str,
    relations: Sequence[str] = (),
    *,
    states: bool = False,
) -> list[Claim]:
    """Return the claims of a subject (by its ids) that are nearest to a statement, including those that have ended.

    Claims that state one of its ``relations`` come first, then those that share the most words with it. With ``states``, the newest
    states come last, even if they share no words. ``heading`` is the subject's name, whose words are ignored because all claims share
    them.
    """
    named = set(asked(heading))
    statement_words = dict.fromkeys(asked(statement))
    query_words = [word for word in statement_words if word not in named] or list(statement_words)
    if not query_words:
        return []
    tag = namespace_id[:8]
    query = " | ".join(f"'{tag}:{word}'" for word in query_words)
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "query": query, "limit": COMPARED}
    return _claims(
        connection.execute(_NEAREST.encode(), values | {"relations": list(relations), "states": states}).fetchall()
    )


def periods(connection: Connection, namespace_id: str, subject_ids: Sequence[str], kind: str) -> list[Period]:
    """Return the periods of the active claims of a subject and kind."""
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "kind": kind}
    rows: list[Any] = list(connection.execute(_PERIODS.encode(), values))
    return [Period(str(id_), since, until) for id_, since, until in rows]


def named_periods(
    connection: Connection, namespace_id: str, subject_ids: Sequence[str], ids: Sequence[str]
) -> list[Period]:
    """Return the periods of those named claims that are active and belong to the subject."""
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "ids": list(ids)}
    rows: list[Any] = list(connection.execute(_NAMED.encode(), values))
    return [Period(str(id_), since, until) for id_, since, until in rows]


def to_forget(connection: Connection, namespace_id: str, subject_ids: Sequence[str], kind: str) -> list[Claim]:
    """Return the claims of a subject that were not forgotten, including those that have ended or are quarantined.

    The kind ``note`` selects claims of every kind.
    """
    values = {"namespace": namespace_id, "subjects": list(subject_ids), "kind": kind}
    return _claims(connection.execute(_TO_FORGET.encode(), values).fetchall())


def _claims(rows: Sequence[Sequence[Any]]) -> list[Claim]:
    return [Claim(str(id_), str(kind), str(text), since or recorded, until, recorded, str(agent), session, float(sure))
            for id_, kind, text, since, until, recorded, agent, session, sure in rows]  # fmt: skip


# Evidence: the page that keeps a statement unchanged, with its author, its session and the surface that received it. It never changes.

_SLUG: Final = 48


class EvidencePage(NamedTuple):
    """An evidence page: path, title, text, fields, and the lines that contain the statement (counted from 1)."""

    path: str
    title: str
    page: str
    fields: Mapping[str, object]
    first_line: int
    last_line: int


def evidence(request: RememberRequest, title: str, said: str, now: datetime) -> EvidencePage:
    """Build the evidence page of a statement about a subject, at a path with the date."""
    stamp = f"{now:%Y%m%dt%H%M%S%f}"
    path = (
        f"sources/semantic/{now:%Y/%m/%d}/{_slug(request.subject)}-{stamp}-{secrets.token_hex(6)}-{request.action}.md"
    )
    return _page(path, request, title, said, now)


def capture(request: RememberRequest, said: str, now: datetime, *, quarantined: bool) -> EvidencePage:
    """Build the page of a statement without a known subject, in the inbox or in quarantine."""
    slug = _slug(request.subject or said[:_SLUG])
    if quarantined:
        path = f"inbox/quarantine/{slug}-{secrets.token_hex(6)}.md"
        return _page(path, request, path, said, now)
    return _page(f"inbox/semantic/{now:%Y%m%dt%H%M%S%f}-{slug}.md", request, said.splitlines()[0][:80], said, now)


def said_on(page: str) -> str:
    """Return the statement from the text of an evidence page."""
    return page.partition("\n---\n\n")[2].removesuffix("\n")


def _page(path: str, request: RememberRequest, title: str, said: str, now: datetime) -> EvidencePage:
    attributes = {
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
    written = {name: value for name, value in attributes.items() if value is not None}
    page = session_page(written, said)
    first = page[: page.index(f"\n\n{said}") + 2].count("\n") + 1 if said else 1
    fields: dict[str, object] = {k: v for k, v in written.items() if k in ("agent", "session_id", "created")}
    return EvidencePage(path, title, page, fields | {"frontmatter": written}, first, first + said.count("\n"))


def _slug(text: str) -> str:
    return slug_of(text.rpartition(":")[2])[:_SLUG].strip("-") or "statement"
