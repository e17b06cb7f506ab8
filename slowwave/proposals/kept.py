"""Proposals as the store keeps them: made, listed and decided with a server's login, which changes no memory and signs no plan by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from slowwave.claims.forgotten_claims import claims_meant
from slowwave.config.settings import Settings
from slowwave.corpus.page_write import check_size, screened
from slowwave.errors import Forbidden, NotInCorpus, Refused
from slowwave.proposals.proposal_request import (
    ProposalApplyRequest,
    ProposalByIdRequest,
    ProposalRejectRequest,
    ProposalRequest,
    ProposalResponse,
    ProposalsRequest,
    ProposalsResponse,
    ProposedChange,
    Status,
)
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

_PROPOSE: Final = """
SELECT memory.propose(%s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::text, %s::text[], %s::text, %s::text)"""
_DECIDE: Final = "SELECT memory.decide_proposal(%s::text, %s::text, %s::uuid, %s::text, %s::text, %s::text)"
_SOURCES: Final = """
SELECT d.path, d.content_hash FROM memory.documents d
 WHERE d.namespace_id = %s AND d.path = ANY(%s) AND d.invalidated_at IS NULL ORDER BY d.path, d.content_hash"""
_STATUS: Final = """CASE WHEN p.state <> 'planned' THEN p.state
  WHEN p.verdict = 'approve' OR EXISTS (
    SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'approved') THEN 'approved'
  WHEN EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending')
    AND n.state IN ('awaiting_approval', 'approved') THEN CASE WHEN n.expires_at <= now() THEN 'expired'
      WHEN p.verdict = 'reject' THEN 'rejected' ELSE 'pending' END
  WHEN n.state IN ('expired', 'superseded') THEN 'expired'
  ELSE coalesce((SELECT CASE WHEN bool_and(i.status IN ('applied', 'noop')) THEN 'applied'
      WHEN bool_or(i.status = 'applied') THEN 'partly_applied' WHEN bool_or(i.status = 'undone') THEN 'undone'
      WHEN bool_or(i.status = 'skipped_stale') THEN 'stale' WHEN bool_or(i.status = 'rejected') THEN 'rejected' ELSE 'refused' END
    FROM night.plan_items i WHERE i.plan_hash = p.plan_hash), 'rejected') END"""
_FORGOTTEN: Final = """
SELECT d.path, d.content_hash, (SELECT count(*) FROM memory.documents v WHERE v.version_of = d.id) FROM memory.documents d
 WHERE d.namespace_id = %s AND d.path = ANY(%s) AND d.invalidated_at IS NULL ORDER BY d.path, d.content_hash"""
_LIST: Final = f"""
SELECT * FROM (SELECT p.id::text, {_STATUS} AS status, p.about,
  CASE WHEN %(whole)s THEN p.actions ELSE '[]' END AS actions, jsonb_array_length(p.actions) AS changes,
  p.reason, p.sources, p.agent, p.session_id, p.recorded_at, p.plan_hash, p.verdict_by,
  CASE WHEN p.said = '' THEN p.verdict_reason ELSE p.said END AS message,
  ARRAY(SELECT i.evidence #>> '{{evidence,still_held}}' FROM night.plan_items i WHERE i.plan_hash = p.plan_hash
    AND i.evidence #> '{{evidence,still_held}}' IS NOT NULL ORDER BY i.item_id) AS still_held
  FROM memory.proposals p LEFT JOIN night.plans n ON n.plan_hash = p.plan_hash
  WHERE p.namespace_id = %(namespace)s AND p.id::text LIKE %(beginning)s ORDER BY p.recorded_at DESC, p.id) found
WHERE %(status)s::text IS NULL OR status = %(status)s LIMIT %(limit)s"""  # noqa: S608 - no value stands in it


def propose(
    connection: Connection, namespace: str, request: ProposalRequest, settings: Settings, *, token: str = ""
) -> ProposalResponse:
    """Keep a proposal; the same, on what it rests on still, is the one that is there, whatever became of it.

    Raises ``Refused`` for what screening refuses or what is out of bounds, ``Forbidden`` without a token that may propose.
    """
    scope = namespace_id(connection, namespace)
    for action in request.actions:
        _screen(action, settings)
    _refuse_found(f"{request.reason}\n{request.agent}\n{request.session_id}", settings)
    actions = [_asked(action) for action in request.actions]
    about = "; ".join(action.about() for action in request.actions)
    values = (
        *(namespace, token, _fingerprint(connection, scope, request, actions), about[:300] or "a change"),
        *(json.dumps(actions, ensure_ascii=False), request.reason, list(request.source_paths)),
        *(request.agent, request.session_id),
    )
    row: Any = _call(connection, _PROPOSE, values)
    found = proposal(connection, namespace, ProposalByIdRequest(id=row["id"]))
    return found.model_copy(update={"known": bool(row["known"])})


def proposals(connection: Connection, namespace: str, request: ProposalsRequest) -> ProposalsResponse:
    """Proposals of a namespace, the newest first, each without the changes that it asks for: 200 of them may be 400 MB."""
    return ProposalsResponse(proposals=tuple(_read(connection, namespace, "", request.status, request.limit)))


def proposal(connection: Connection, namespace: str, request: ProposalByIdRequest) -> ProposalResponse:
    """A proposal by its id or first characters. Raises ``NotInCorpus`` where there is none."""
    found = _read(connection, namespace, request.id, None, 2)
    if not found:
        raise NotInCorpus(f"{request.id!r} is no proposal of {namespace}.")
    if len(found) > 1:
        raise Refused(f"{request.id!r} begins the ids of several proposals. Give more of the id.")
    return found[0]


def decide(
    connection: Connection, namespace: str, request: ProposalApplyRequest | ProposalRejectRequest, *, token: str = ""
) -> ProposalResponse:
    """Say what becomes of a proposal, by a token that may approve. Its plan is signed, or rejected, by whoever plans next."""
    found = proposal(connection, namespace, ProposalByIdRequest(id=request.id))
    approves = isinstance(request, ProposalApplyRequest)
    seen = request.plan_hash if isinstance(request, ProposalApplyRequest) else found.plan_hash
    what = "approve" if approves else "reject"
    _call(connection, _DECIDE, (namespace, token, found.id, what, seen, request.reason))
    return proposal(connection, namespace, ProposalByIdRequest(id=found.id))


def _read(
    connection: Connection, namespace: str, beginning: str, status: Status | None, limit: int
) -> list[ProposalResponse]:
    values = {
        "namespace": namespace_id(connection, namespace),
        "beginning": f"{beginning}%",
        "whole": bool(beginning),
        "status": status,
        "limit": limit,
    }
    rows: Any = connection.execute(_LIST.encode(), values).fetchall()
    names = (
        "id",
        "status",
        "about",
        "actions",
        "changes",
        "reason",
        "source_paths",
        "agent",
        "session_id",
        "recorded_at",
        "plan_hash",
    )
    return [
        ProposalResponse(**dict(zip((*names, "decided_by", "message", "still_held"), row, strict=True))) for row in rows
    ]


def _asked(action: ProposedChange) -> dict[str, object]:
    """A change as it is kept: what a dry run or a flag would change of its meaning is left out."""
    left_out = {"statement": {"dry_run", "allow_canonical", "soft", "force_inbox"}, "page": {"dry_run", "soft"}}
    return action.model_dump(mode="json", exclude=left_out, exclude_none=True)  # pyright: ignore[reportArgumentType]


def _fingerprint(connection: Connection, scope: str, request: ProposalRequest, actions: Sequence[object]) -> str:
    """What is asked for and what it rests on: the pages that it names as sources and those that it would write, as they stand, and the
    claims that it would forget. What came anew under an old name may be forgotten anew.
    """
    pages = [action.page.target for action in request.actions if action.page is not None]
    rows = connection.execute(_SOURCES, (scope, [*request.source_paths, *pages])).fetchall()
    rests_on: list[list[object]] = [list(row) for row in rows]
    if gone := [
        page.target for action in request.actions if (page := action.page) is not None and page.kind == "forget"
    ]:
        rests_on += [list(row) for row in connection.execute(_FORGOTTEN, (scope, gone))]
    for said in (action.statement for action in request.actions):
        if said is not None and said.action == "forget":
            rests_on.append([*sorted(claim.id for claim in claims_meant(connection, scope, said)[1])])
    told = json.dumps([_bare(actions), rests_on], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


def _bare(actions: Sequence[object]) -> list[object]:
    """The changes without who asks for them, and why."""
    who = {"agent", "session_id", "reason", "origin_surface"}
    return [
        {
            of: {k: v for k, v in asked.items() if k not in who}
            for of, asked in action.items()
            if isinstance(asked, dict)
        }
        for action in actions
        if isinstance(action, dict)
    ]


def _screen(action: ProposedChange, settings: Settings) -> None:
    if action.page is not None:
        check_size(action.page.content, settings)
        fields = json.dumps(action.page.frontmatter, ensure_ascii=False, default=str)
        page = action.page
        _refuse_found("\n".join((page.content, fields, page.reason, page.agent, page.session_id)), settings)
    if action.statement is not None:
        said = action.statement
        _refuse_found(
            "\n".join((said.content, said.subject, said.reason, said.source, said.agent, said.session_id)), settings
        )


def _refuse_found(text: str, settings: Settings) -> None:
    """A proposal is read by people and kept: nothing of it may be what screening finds, whatever is done with what is written."""
    if found := screened(text, "", settings.model_copy(update={"screening_on_write": "block"})).refused:
        raise Refused(f"The proposal holds what screening refuses ({found}). Nothing was kept: take it out.")


def _call(connection: Connection, query: str, values: Sequence[object]) -> Any:
    try:
        row = connection.execute(query.encode(), values).fetchone()
    except psycopg.errors.InsufficientPrivilege as problem:
        raise Forbidden(problem.diag.message_primary or "The token may not.") from None
    except (psycopg.errors.RaiseException, psycopg.errors.NoDataFound, psycopg.errors.SerializationFailure) as problem:
        raise Refused(problem.diag.message_primary or "It was refused.") from None
    return row[0] if row else None
