"""Proposals become plans: each that was kept is sealed as a plan of its own, and what tokens decided is signed or rejected by the gate.

Whoever does this has the logins of planner and approver; a server has neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from slowwave.claims.forgotten_claims import forgotten_claims
from slowwave.claims.nearness import nearness
from slowwave.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.claims.remember import Considered, considered
from slowwave.claims.remember_request import RememberRequest, RememberResponse
from slowwave.claims.subject_naming import name_of
from slowwave.claims.subjects import names_of
from slowwave.corpus.corpora import EVIDENCE_ROOT, PAGES_ROOT
from slowwave.corpus.forgotten_pages import page_held, planned_forgetting
from slowwave.corpus.page_request import WriteRequest
from slowwave.corpus.page_rows import PagePlace, page_place
from slowwave.corpus.page_write import text_of
from slowwave.corpus.planned_page import PlannedPage, planned_pages
from slowwave.errors import Refused, SnapshotError
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.plans.gate import approve, reject
from slowwave.plans.items import Item
from slowwave.proposals.proposal_request import ProposedChange
from slowwave.reports.model import Report
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

OPERATION: Final = "proposed_changes"
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
"""Held until the transaction ends: who comes second finds sealed what the first has sealed."""
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
    """What became of proposals, by id: the plans that were ``sealed``, why others could not be (``refused``), those that were ``signed`` or
    ``rejected`` as tokens had decided.
    """

    sealed: Mapping[str, str]
    refused: Mapping[str, str]
    signed: Sequence[str] = ()
    rejected: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A proposal that is to be planned."""

    id: str
    fingerprint: str
    changes: tuple[ProposedChange, ...]
    reason: str
    agent: str
    session_id: str


def settle(store: Store, namespace: str, *, id_: str = "", wait: float = 0.0) -> Settled:
    """Seal what is kept (or the one proposal whose id begins with ``id_``), then sign and reject what tokens decided.

    Each proposal is a plan with an item a change. One that cannot be planned is refused for good, with the sentence why: whoever proposed
    it may propose it anew. Raises as ``seal_proposal`` where the namespace cannot be planned at all; ``wait`` as there.
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
            continue  # it names what was said after the snapshot: the next settling sees it
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
    """Note what became of a proposal; False where somebody decided it meanwhile."""
    with store.connect("planner") as connection:
        return connection.execute(query.encode(), (value, id_)).rowcount == 1


def _sign(store: Store, namespace: str, scope: str) -> tuple[list[str], list[str]]:
    """Do what tokens decided. What the gate refuses is said on the proposal, and stays with a person."""
    signed: list[str] = []
    rejected: list[str] = []
    with store.connect("approver") as connection:
        decided: Any = connection.execute(_DECIDED, (scope,)).fetchall()
    for id_, plan_hash, verdict, by, why, still in decided:
        if verdict == "approve" and not still:
            with store.connect("approver") as connection:
                connection.execute(_UNDECIDED, (_WITHDRAWN, id_))
            continue
        said = why
        try:
            if verdict == "approve":
                approve(store, namespace, plan_hash, approver=by, channel=CHANNEL, note=why)
                signed.append(id_)
            else:
                reject(store, namespace, plan_hash, rejected_by=by, reason=why)
                rejected.append(id_)
        except Refused as problem:
            said = str(problem)
        with store.connect("approver") as connection:
            connection.execute(_DONE, (said[:1_000], id_))
    return signed, rejected


class _Statement(NamedTuple):
    """What a proposal says of a subject: its id, or the reference of one to be made."""

    subject: str
    request: RememberRequest
    said: str

    def excludes(self, other: _Statement, names: frozenset[str]) -> bool:
        """Whether one of the two repeats, ends or contradicts the other, which is weighed against what is known and not against a plan."""
        if self.subject != other.subject:
            return False
        if self.request.kind == other.request.kind and "replace" in (self.request.action, other.request.action):
            return True
        found = nearness(self.said, self.request.kind, other.said, other.request.kind, names).relation
        notes = "note" in (self.request.kind, other.request.kind)
        return found == "same" or (found == "contradicts" and not notes)


@dataclass(slots=True)
class _Asked:
    """A proposal on its way to a plan. ``problem`` says why there is nothing to plan."""

    store: Store
    namespace: str
    kept: _Kept
    problem: str = ""
    statements: list[_Statement] = field(default_factory=list)

    def proposed(self, inputs: Inputs) -> Proposal:
        """The items of the proposal, one a change; none, and ``problem``, where one of them cannot be."""
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
        return Item(OPERATION, "forget", mutation, self._evidence(shown), risk="high")

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
        return Item(OPERATION, "forget", mutation, self._evidence(shown), risk="high")

    def _statement(self, inputs: Inputs, request: RememberRequest, now: datetime) -> Item:
        with self.store.connect("reader") as connection:
            if request.action == "forget":
                return self._forgotten_claims(inputs, connection, request)
            found = considered(connection, self.namespace, request, inputs.settings, now)
            if isinstance(found, RememberResponse):
                raise Refused(found.message)
            self._refuse_excluded(connection, found)
        about, said = found.found, found.screened
        subject = (
            about.subject.id
            if about.subject is not None
            else NewSubject(str(about.new), str(name_of(said.request, about)))
        )
        claim = PlannedClaim(
            request.kind,
            said.said,
            min(said.since, now),
            found.place.until,
            request.confidence,
            quote=said.said,
            closes=found.place.closes,
            contradicts=found.opposed,
            supports=found.repeated,
            session_id=said.request.session_id or self.kept.session_id,
            agent=said.request.agent or self.kept.agent,
            reason=said.request.reason or self.kept.reason,
            ended_by=found.place.ended_by or "",
        )
        if found.repeated:
            claim = replace(claim, contradicts=(), closes=(), ended_by="")
        page = PlannedPage(found.page.path, found.page.page, EVIDENCE_ROOT, self.kept.fingerprint)
        group = SubjectClaims(subject, (claim,), (page,))
        (mutation,) = planned_claims(inputs.snapshot, inputs.settings, inputs.embed, [group])
        shown = {"names": [request.subject], "statement": said.said, "kind": request.kind}
        return Item(OPERATION, request.action, mutation, self._evidence(shown), risk="medium")

    def _refuse_excluded(self, connection: Connection, found: Considered) -> None:
        """Items of one plan do not make each other stale, so of what they say of one subject nothing may end the other."""
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
