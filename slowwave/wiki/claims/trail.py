"""The trail of claims: the evidence of each claim and its events, and the history of a subject.

``GET /v1/claims/ID`` and ``slowwave why NS CLAIM`` show the trail of a claim. ``slowwave history NS SUBJECT`` shows what was believed
about a subject, when, and why that changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import NotInCorpus, Refused
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.wiki.claims.claim import Status, said_on
from slowwave.wiki.claims.request import Family, SubjectCandidate, SubjectRef, family_of, slug_of
from slowwave.wiki.claims.subjects import resolve

MOST: Final = 200
"""Maximum number of claims in one history."""

_LEAST: Final = 4
_HEX: Final = "[0-9a-f-]"

_COLUMNS: Final = """
SELECT m.id::text, m.attributes->>'claim_kind', v.content, m.valid_from, m.valid_to, m.recorded_at, m.invalidated_at, m.state, m.author,
  m.session_id, m.confidence, m.source_document_ids::text[], e.id::text, e.name, e.entity_type,
  CASE WHEN e.source = 'semantic' THEN e.external_id END
FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
  LEFT JOIN LATERAL (SELECT e.* FROM memory.entities e
    WHERE e.id = ANY (memory.merged_with((m.attributes->>'entity_id')::uuid)) AND e.merged_into IS NULL) e ON true
WHERE m.namespace_id = %(namespace)s AND m.kind = 'claim'"""

_ONE: Final = f"{_COLUMNS} AND m.id::text LIKE %(beginning)s ORDER BY m.id LIMIT 2"

_OF_SUBJECT: Final = f"""{_COLUMNS} AND m.attributes->>'entity_id' = ANY (%(subjects)s::text[])
ORDER BY m.valid_from DESC NULLS LAST, m.recorded_at DESC, m.id LIMIT %(limit)s"""

_EVENTS: Final = """
SELECT c.claim_id::text, c.event, c.recorded_at, c.agent, c.session_id, c.reason, c.other_id::text, c.evidence_id::text
  FROM memory.claim_events c WHERE c.claim_id = ANY (%s::uuid[]) ORDER BY c.recorded_at,
  array_position('{added,supported,replaced,contradicted,retired,invalidated}', c.event), c.id"""

_EVIDENCE: Final = """
SELECT d.id::text, d.path, d.content, d.recorded_at, d.invalidated_at IS NOT NULL, d.metadata->'frontmatter', d.title
  FROM memory.documents d WHERE d.id = ANY (%s::uuid[])"""


class ClaimEvent(BaseModel):
    """An event of a claim.

    ``other_id`` is the claim that replaced or contradicts it; ``evidence_path`` is the page of the statement.
    """

    event: str
    at: datetime
    agent: str
    session_id: str | None = None
    reason: str = ""
    other_id: str | None = None
    evidence_path: str | None = None


class ClaimEvidence(BaseModel):
    """A page that is evidence of a claim: the statement, its author, the session, and the surface that received it."""

    path: str
    said: str
    at: datetime
    agent: str = ""
    session_id: str = ""
    origin_surface: str = ""
    source: str = ""


class BelievedClaim(BaseModel):
    """A claim with its current status.

    ``since`` and ``until`` bound the period in which it held; ``said_at`` is when it was stated.
    """

    id: str
    kind: str
    statement: str
    status: Status
    since: datetime
    until: datetime | None = None
    said_at: datetime
    agent: str = ""
    session_id: str | None = None
    confidence: float = 1.0
    events: tuple[ClaimEvent, ...] = ()


class ClaimRequest(BaseModel):
    """Request for a claim by its id."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(
        min_length=_LEAST, max_length=36, pattern=f"^{_HEX}+$", description="Id of a claim, or its first characters."
    )


class ClaimResponse(BelievedClaim):
    """A claim with the pages that are its evidence."""

    subject_ref: str
    subject: str
    evidence: tuple[ClaimEvidence, ...] = ()


class SubjectHistoryRequest(BaseModel):
    """Request for a subject by its name, an alias or a reference."""

    model_config = ConfigDict(extra="forbid")

    subject: str = Field(
        min_length=1, max_length=200, description="Whom or what: a name, an alias, or a reference (project:rowan)."
    )
    scope: Family | None = Field(default=None, description="The family of the subject, where several have the name.")
    limit: int = Field(default=50, ge=1, le=MOST, description="How many claims at most, the newest first.")


class SubjectHistoryResponse(BaseModel):
    """Beliefs about a subject over time, the newest first; ``candidates`` lists possible subjects if the name is ambiguous."""

    subject_ref: str
    subject: str
    claims: tuple[BelievedClaim, ...] = ()
    candidates: tuple[SubjectCandidate, ...] = ()


def claim(connection: Connection, namespace: str, request: ClaimRequest) -> ClaimResponse:
    """Return a claim and its trail; a forgotten claim is shown without its words.

    Raises ``NotInCorpus`` if no claim has that id, and ``Refused`` if several ids begin with it.
    """
    values = {"namespace": namespace_id(connection, namespace), "beginning": f"{request.id}%"}
    rows: list[Any] = list(connection.execute(_ONE.encode(), values))
    if not rows:
        raise NotInCorpus(f"{request.id!r} is no claim of {namespace}. `history` with a subject lists its claims.")
    if len(rows) > 1:
        raise Refused(f"{request.id!r} begins the ids of several claims. Give more of the id.")
    row: tuple[Any, ...] = rows[0]
    (believed,) = _believed(connection, rows)
    retired = believed.status == "retired"
    pages = {} if retired else _pages(connection, row[11])
    name, entity_type, external = (str(value or "") for value in row[13:16])
    ref = SubjectRef.read(external) or SubjectRef(family_of(entity_type), slug_of(name))
    return ClaimResponse(
        **believed.model_dump(),
        subject_ref=str(ref),
        subject=name,
        evidence=tuple(_evidence(pages[id_]) for id_ in row[11] if id_ in pages),
    )


def subject_history(connection: Connection, namespace: str, request: SubjectHistoryRequest) -> SubjectHistoryResponse:
    """Return what was believed about a subject. Raises ``NotInCorpus`` for an unknown subject."""
    scope = namespace_id(connection, namespace)
    found = resolve(connection, scope, request.subject, request.scope)
    if found.candidates:
        return SubjectHistoryResponse(subject_ref="", subject=request.subject, candidates=found.candidates)
    if found.new is not None and found.matched_by == "page":  # a page is about the subject, but there are no claims yet
        return SubjectHistoryResponse(subject_ref=str(found.new), subject=found.name)
    if found.subject is None:
        raise NotInCorpus(f"Nothing is known about {request.subject!r} in {namespace}.")
    values = {"namespace": scope, "subjects": list(found.subject.ids), "limit": request.limit}
    rows: list[Any] = list(connection.execute(_OF_SUBJECT.encode(), values))
    return SubjectHistoryResponse(
        subject_ref=str(found.subject.ref), subject=found.subject.name, claims=tuple(_believed(connection, rows))
    )


def _believed(connection: Connection, rows: Sequence[Any]) -> list[BelievedClaim]:
    events: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    noted: list[Any] = list(connection.execute(_EVENTS, ([row[0] for row in rows],)))
    for event in noted:
        events[event[0]].append(event)
    pages = _pages(connection, sorted({e[7] for found in events.values() for e in found if e[7]}))
    believed_claims: list[BelievedClaim] = []
    for id_, kind, statement, since, until, recorded, invalidated, state, author, session, sure, *_ in rows:
        status = _status({str(e[1]) for e in events[id_]}, state, until, invalidated)
        believed_claims.append(
            BelievedClaim(
                id=id_,
                kind=kind or "",
                statement="" if status == "retired" else statement,
                status=status,
                since=since or recorded,
                until=until,
                said_at=recorded,
                agent=author,
                session_id=session,
                confidence=sure,
                events=tuple(_event(e, pages) for e in events[id_]),
            )
        )
    return believed_claims


def _status(events: set[str], state: str, until: datetime | None, invalidated: datetime | None) -> Status:
    """Return the current status of a claim.

    A night retires rows without an event here; its own ledger records what it did.
    """
    if "retired" in events:
        return "retired"
    if state == "merged":
        return "merged"
    if invalidated is not None:
        return "invalidated"
    if state in ("quarantined", "archived"):
        return "quarantined" if state == "quarantined" else "archived"
    return "active" if until is None or until > datetime.now(until.tzinfo) else "replaced"


def _event(row: Sequence[Any], pages: Mapping[str, Sequence[Any]]) -> ClaimEvent:
    _, event, at, agent, session, reason, other, evidence = row
    return ClaimEvent(
        event=event,
        at=at,
        agent=agent,
        session_id=session,
        reason=reason,
        other_id=other,
        evidence_path=str(pages[evidence][1]) if evidence in pages else None,
    )


def _pages(connection: Connection, ids: Sequence[str]) -> dict[str, Sequence[Any]]:
    rows: Sequence[Any] = connection.execute(_EVIDENCE, (list(ids),)).fetchall() if ids else []
    return {str(row[0]): row for row in rows}


def _evidence(row: Sequence[Any]) -> ClaimEvidence:
    _, path, content, at, _, written, title = row
    fields: Mapping[str, Any] = written if isinstance(written, dict) else {}
    return ClaimEvidence(
        path=path or title,
        said=said_on(content),
        at=at,
        **{name: str(fields[name]) for name in ("agent", "session_id", "origin_surface", "source") if fields.get(name)},
    )
