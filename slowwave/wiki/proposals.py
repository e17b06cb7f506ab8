"""Proposals of agents: stored at run time, sealed as separate plans, decided by people or tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from pydantic import ValidationError

from slowwave.errors import Forbidden, NotInCorpus, Refused, SnapshotError
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal, operations, permits
from slowwave.plans.gate import approve, reject
from slowwave.plans.items import OPERATION, Decision, Item
from slowwave.plans.report import Report
from slowwave.search.request import settings_of
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.wiki.claims.forgetting import claims_meant, forgotten_claims
from slowwave.wiki.claims.nearness import nearness
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.claims.remember import Considered, considered
from slowwave.wiki.claims.request import RememberRequest, RememberResponse
from slowwave.wiki.claims.subject_naming import name_of
from slowwave.wiki.claims.subjects import names_of
from slowwave.wiki.corpus.corpora import EVIDENCE_ROOT, PAGES_ROOT
from slowwave.wiki.corpus.page_write import check_size, screened, text_of
from slowwave.wiki.corpus.pages import PagePlace, page_place
from slowwave.wiki.corpus.planned_pages import PlannedPage, page_held, planned_forgetting, planned_pages
from slowwave.wiki.corpus.requests import WriteRequest
from slowwave.wiki.proposal_request import (
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

# Planning of proposals: each stored proposal is sealed as a separate plan, and the gate approves or rejects what tokens decided.
#
# This needs the logins of planner and approver; a server has neither.

CHANNEL: Final = "http"
"""The channel of an approval that a token gave."""

_KEPT: Final = """
SELECT p.id::text, p.fingerprint, p.actions, p.reason, p.agent, p.session_id FROM memory.proposals p
 WHERE p.namespace_id = %s AND p.state = 'kept' AND (%s = '' OR p.id::text LIKE %s || '%%') ORDER BY p.recorded_at, p.id"""
_DECIDED: Final = """
SELECT p.id::text, p.verdict_plan, p.verdict, p.verdict_by, p.verdict_reason,
  memory.may_approve_still(p.namespace_id, p.verdict_by) FROM memory.proposals p
 WHERE p.namespace_id = %s AND p.state = 'planned' AND p.verdict IN ('approve', 'reject') ORDER BY p.verdict_at, p.id"""
_ALONE: Final = "SELECT memory.lock_name(%s || 'settle', 4)"
"""SQL: a lock until the transaction ends. The second process finds the plans that the first one has sealed."""
_PLANNED: Final = "UPDATE memory.proposals SET state = 'planned', plan_hash = %s WHERE id = %s AND state = 'kept'"
_REFUSED: Final = "UPDATE memory.proposals SET state = 'refused', said = %s WHERE id = %s AND state = 'kept'"
_DONE: Final = "UPDATE memory.proposals SET verdict = 'done', said = %s WHERE id = %s"
_PLAN_HOLDS: Final = "The plan holds them too, so that it can be undone."
_UNDECIDED: Final = "UPDATE memory.proposals SET verdict = NULL, said = %s WHERE id = %s"
_WITHDRAWN: Final = "It was approved by a token that may approve no longer, so nothing was signed: let another decide."
_STRANGE: Final = "It asks for a change of a form that is not known here: propose it anew."
_QUOTED: Final = 120  # characters of a statement in a sentence
_MEANWHILE: Final = "The proposal was rejected while it was planned."
_BEFORE: Final = "It was rejected or undone before, and what it rests on has not changed."


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of settling proposals, by id.

    ``sealed`` are the plans that were sealed, ``refused`` the reasons why other proposals could not be planned, ``signed`` and
    ``rejected`` the proposals that were approved or rejected as tokens had decided.
    """

    sealed: Mapping[str, str]
    refused: Mapping[str, str]
    signed: Sequence[str] = ()
    rejected: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored proposal that is to be planned."""

    id: str
    fingerprint: str
    changes: tuple[ProposedChange, ...]
    reason: str
    agent: str
    session_id: str


def settle(store: Store, namespace: str, *, id_: str = "", wait: float = 0.0) -> Settled:
    """Seal the stored proposals, or those whose id begins with ``id_``, then approve and reject what tokens decided.

    Each proposal is a plan with one item per change. One that cannot be planned is refused for good, with the reason, and may be proposed
    anew. Raises as ``seal_proposal`` does if the namespace cannot be planned at all; ``wait`` is passed on to it.
    """
    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
    with store.connect("planner") as alone, alone.transaction():
        alone.execute(_ALONE, (scope,))
        return _settled(store, namespace, scope, id_, wait)


def _settled(store: Store, namespace: str, scope: str, id_: str, wait: float) -> Settled:
    with store.connect("reader") as connection:
        rows: Any = connection.execute(_KEPT, (scope, id_, id_)).fetchall()
    sealed: dict[str, str] = {}
    refused: dict[str, str] = {}
    for id_, fingerprint, actions, reason, agent, session in rows:
        try:
            changes = tuple(ProposedChange.model_validate(a) for a in actions)
        except ValidationError:
            refused[id_] = _STRANGE
            _mark(store, _REFUSED, _STRANGE, id_)
            continue
        kept = _Kept(id_, fingerprint, changes, reason, agent, session)
        asked = _Asked(store, namespace, kept)
        try:
            night = seal_proposal(store, namespace, OPERATION, asked.proposed, of=id_, trigger="proposal", wait=wait)
        except SnapshotError:
            continue  # it refers to statements made after the snapshot; the next run plans it
        if night.plan is None or not night.plan.items or night.state == "empty":
            refused[id_] = asked.problem or _BEFORE
            _mark(store, _REFUSED, refused[id_][:1_000], id_)
        elif _mark(store, _PLANNED, night.plan.plan_hash, id_):
            sealed[id_] = night.plan.plan_hash
        else:
            reject(store, namespace, night.plan.plan_hash, rejected_by=OPERATION, reason=_MEANWHILE)
    signed, rejected = _sign(store, namespace, scope)
    return Settled(sealed, refused, signed, rejected)


def _mark(store: Store, query: str, value: str, id_: str) -> bool:
    """Record the outcome of a proposal; return False if somebody decided it meanwhile."""
    with store.connect("planner") as connection:
        return connection.execute(query.encode(), (value, id_)).rowcount == 1


def _sign(store: Store, namespace: str, scope: str) -> tuple[list[str], list[str]]:
    """Approve or reject plans as tokens decided.

    If the gate refuses, its reason is stored with the proposal, and a person has to decide.
    """
    signed: list[str] = []
    rejected: list[str] = []
    with store.connect("approver") as connection:
        decided: Any = connection.execute(_DECIDED, (scope,)).fetchall()
    for id_, plan_hash, verdict, by, why, still in decided:
        if verdict == "approve" and not still:
            with store.connect("approver") as connection:
                connection.execute(_UNDECIDED, (_WITHDRAWN, id_))
            continue
        outcome = why
        try:
            if verdict == "approve":
                approve(store, namespace, plan_hash, approver=by, permits=permits(), channel=CHANNEL, note=why)
                signed.append(id_)
            else:
                reject(store, namespace, plan_hash, rejected_by=by, reason=why)
                rejected.append(id_)
        except Refused as problem:
            outcome = str(problem)
        with store.connect("approver") as connection:
            connection.execute(_DONE, (outcome[:1_000], id_))
    return signed, rejected


class _Statement(NamedTuple):
    """A proposed statement about a subject, which is an existing id or the reference of a new one."""

    subject: str
    request: RememberRequest
    said: str

    def excludes(self, other: _Statement, names: frozenset[str]) -> bool:
        """Return whether one of two statements repeats, ends or contradicts the other.

        A statement is compared with what is known, not with a plan, so both cannot be in one plan.
        """
        if self.subject != other.subject:
            return False
        if self.request.kind == other.request.kind and "replace" in (self.request.action, other.request.action):
            return True
        found = nearness(self.said, self.request.kind, other.said, other.request.kind, names).relation
        notes = "note" in (self.request.kind, other.request.kind)
        return found == "same" or (found == "contradicts" and not notes)


@dataclass(slots=True)
class _Asked:
    """A proposal that is being planned. ``problem`` states why nothing can be planned."""

    store: Store
    namespace: str
    kept: _Kept
    problem: str = ""
    statements: list[_Statement] = field(default_factory=list)

    def proposed(self, inputs: Inputs) -> Proposal:
        """Return the items of the proposal, one per change, or none and set ``problem`` if one of them is impossible."""
        items: list[Item] = []
        try:
            items = [self._item(inputs, change) for change in self.kept.changes]
        except Refused as problem:
            self.problem = str(problem)
        done = f"{len(items):,} of {len(self.kept.changes):,} changes of proposal {self.kept.id[:8]} would be made."
        return Proposal(tuple(items), Report(OPERATION, self.problem or done, numbers={"items": len(items)}))

    def _item(self, inputs: Inputs, change: ProposedChange) -> Item:
        now = inputs.snapshot.taken_at
        if change.page is not None:
            return self._page(inputs, change.page, now)
        if change.statement is None:
            raise AssertionError
        return self._statement(inputs, change.statement, now)

    def _page(self, inputs: Inputs, request: WriteRequest, now: datetime) -> Item:
        snapshot = inputs.snapshot
        with self.store.connect("reader") as connection:
            place = page_place(connection, snapshot.namespace_id, request.target, request.corpus)
            if request.kind == "forget":
                return self._forgotten_page(inputs, connection, request, place)
        root = place.corpus.root if place.corpus else PAGES_ROOT
        page = PlannedPage(place.path, text_of(request, place, now), root, self.kept.fingerprint)
        (mutation,) = planned_pages(snapshot, inputs.settings, inputs.embed, [page])
        return Item(
            OPERATION,
            request.kind,
            mutation,
            self._evidence({"path": place.path, "names": [place.path]}),
            risk="medium",
        )

    def _forgotten_page(self, inputs: Inputs, connection: Connection, request: WriteRequest, place: PagePlace) -> Item:
        if not request.agent:
            request = request.model_copy(update={"agent": self.kept.agent})
        mutation = planned_forgetting(inputs.snapshot, inputs.settings, place, request, self.kept.fingerprint)
        held = page_held(connection, place.id)
        shown = {"path": place.path, "names": [place.path], "still_held": f"{held.sentence()} {_PLAN_HOLDS}"}
        return Item(OPERATION, Decision.FORGET, mutation, self._evidence(shown), risk="high")

    def _forgotten_claims(self, inputs: Inputs, connection: Connection, request: RememberRequest) -> Item:
        kept = self.kept
        mutation, held = forgotten_claims(
            connection,
            inputs.snapshot,
            inputs.settings,
            request.model_copy(update={"reason": request.reason or kept.reason}),
            agent=kept.agent,
            session_id=kept.session_id,
            made_from=kept.fingerprint,
        )
        shown = {"names": [request.subject], "still_held": f"{held.sentence()} {_PLAN_HOLDS}"}
        return Item(OPERATION, Decision.FORGET, mutation, self._evidence(shown), risk="high")

    def _statement(self, inputs: Inputs, request: RememberRequest, now: datetime) -> Item:
        with self.store.connect("reader") as connection:
            if request.action == "forget":
                return self._forgotten_claims(inputs, connection, request)
            found = considered(connection, self.namespace, request, inputs.settings, now)
            if isinstance(found, RememberResponse):
                raise Refused(found.message)
            self._refuse_excluded(connection, found)
        about, screened = found.found, found.screened
        subject = (
            about.subject.id
            if about.subject is not None
            else NewSubject(str(about.new), str(name_of(screened.request, about)))
        )
        claim = PlannedClaim(
            request.kind,
            screened.said,
            min(screened.since, now),
            found.place.until,
            request.confidence,
            quote=screened.said,
            closes=found.place.closes,
            contradicts=found.opposed,
            supports=found.repeated,
            session_id=screened.request.session_id or self.kept.session_id,
            agent=screened.request.agent or self.kept.agent,
            reason=screened.request.reason or self.kept.reason,
            ended_by=found.place.ended_by or "",
        )
        if found.repeated:
            claim = replace(claim, contradicts=(), closes=(), ended_by="")
        page = PlannedPage(found.page.path, found.page.page, EVIDENCE_ROOT, self.kept.fingerprint)
        group = SubjectClaims(subject, (claim,), (page,))
        (mutation,) = planned_claims(inputs.snapshot, inputs.settings, inputs.embed, [group])
        shown = {"names": [request.subject], "statement": screened.said, "kind": request.kind}
        return Item(OPERATION, request.action, mutation, self._evidence(shown), risk="medium")

    def _refuse_excluded(self, connection: Connection, found: Considered) -> None:
        """Refuse a statement that ends, repeats or contradicts another statement of the proposal about the same subject.

        Items of one plan do not make each other stale, so both would be applied.
        """
        about, screened = found.found, found.screened
        subject = str(about.new) if about.subject is None else about.subject.id
        names = frozenset[str]() if about.subject is None else names_of(connection, about.subject)
        statement = _Statement(subject, screened.request, screened.said)
        for other in self.statements:
            if statement.excludes(other, names):
                raise Refused(
                    f"Of {screened.request.subject} it says {other.said[:_QUOTED]!r} and {statement.said[:_QUOTED]!r}, one of which "
                    "repeats or ends the other: propose the first, and the second once the first is applied."
                )
        self.statements.append(statement)

    def _evidence(self, shown: Mapping[str, object]) -> dict[str, object]:
        return {**shown, "proposal": self.kept.id, "agent": self.kept.agent, "why": self.kept.reason}


# Storage of proposals: made, listed and decided with a server's login, which cannot change memory or approve a plan.

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
    """Store a proposal, or return the existing one if the same was proposed before and its sources have not changed.

    The existing one is returned whatever its outcome. Raises ``Refused`` for content that screening refuses and for values out of bounds,
    ``Forbidden`` without a token that may propose.
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
    """Return proposals of a namespace, newest first, without their changes: 200 of them may have 400 MB."""
    return ProposalsResponse(proposals=tuple(_read(connection, namespace, "", request.status, request.limit)))


def proposal(connection: Connection, namespace: str, request: ProposalByIdRequest) -> ProposalResponse:
    """Return a proposal by its id or first characters.

    Raises ``NotInCorpus`` if there is none, and ``Refused`` if there are several.
    """
    found = _read(connection, namespace, request.id, None, 2)
    if not found:
        raise NotInCorpus(f"{request.id!r} is no proposal of {namespace}.")
    if len(found) > 1:
        raise Refused(f"{request.id!r} begins the ids of several proposals. Give more of the id.")
    return found[0]


def decide(
    connection: Connection, namespace: str, request: ProposalApplyRequest | ProposalRejectRequest, *, token: str = ""
) -> ProposalResponse:
    """Record a token's decision on a proposal; the token must be allowed to approve.

    The next planning run approves or rejects its plan accordingly.
    """
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
    """Return a change as it is stored, without dry-run options and flags that would change its meaning."""
    left_out = {"statement": {"dry_run", "allow_canonical", "soft", "force_inbox"}, "page": {"dry_run", "soft"}}
    return action.model_dump(mode="json", exclude=left_out, exclude_none=True)  # pyright: ignore[reportArgumentType]


def _fingerprint(connection: Connection, scope: str, request: ProposalRequest, actions: Sequence[object]) -> str:
    """Return a hash of the requested changes and of what they rest on.

    They rest on the current content of the pages that they name as sources or would write, and on the claims that they would forget. A
    new row under an old name can therefore be forgotten again.
    """
    pages = [action.page.target for action in request.actions if action.page is not None]
    rows = connection.execute(_SOURCES, (scope, [*request.source_paths, *pages])).fetchall()
    rests_on: list[list[object]] = [list(row) for row in rows]
    if gone := [
        page.target for action in request.actions if (page := action.page) is not None and page.kind == "forget"
    ]:
        rests_on += [list(row) for row in connection.execute(_FORGOTTEN, (scope, gone))]
    for statement in (action.statement for action in request.actions):
        if statement is not None and statement.action == "forget":
            rests_on.append([*sorted(claim.id for claim in claims_meant(connection, scope, statement)[1])])
    identity = json.dumps([_bare(actions), rests_on], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()


def _bare(actions: Sequence[object]) -> list[object]:
    """Return the changes without who asks for them and why."""
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
        statement = action.statement
        _refuse_found(
            "\n".join(
                (
                    statement.content,
                    statement.subject,
                    statement.reason,
                    statement.source,
                    statement.agent,
                    statement.session_id,
                )
            ),
            settings,
        )


def _refuse_found(text: str, settings: Settings) -> None:
    """Refuse a proposal whose text screening would find, because proposals are stored and read by people.

    The setting for screening of writes makes no difference.
    """
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


# Namespaces with a proposal to be sealed or a token's decision to be carried out, for the sensor in Dagster.

_WAITING: Final = """
SELECT n.slug, left(encode(sha256(convert_to(string_agg(concat_ws(':', p.id, p.state, p.verdict), ' ' ORDER BY p.id), 'UTF8')), 'hex'), 16)
  FROM memory.proposals p JOIN memory.namespaces n ON n.id = p.namespace_id AND NOT n.read_only
 WHERE p.state = 'kept' OR p.state = 'planned' AND p.verdict IN ('approve', 'reject') GROUP BY n.slug ORDER BY n.slug"""


def waiting_proposals(store: Store) -> dict[str, str]:
    """Return namespace → a fingerprint of its pending proposals.

    Namespaces in which nights or the operation ``proposed_changes`` are off are left out.
    """
    operation = operations()[OPERATION]
    with store.connect("reader") as connection:
        rows: Any = connection.execute(_WAITING).fetchall()
        settings = {name: settings_of(connection, name) for name, _ in rows}
    return {name: mark for name, mark in rows if settings[name].enabled and operation.is_on(settings[name])}
