"""Remembering at run time: a statement becomes a claim with its evidence, or evidence of a claim that states the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import psycopg

from slowwave.errors import EmbeddingError, Refused
from slowwave.models.embedder import Embedder, entity_text
from slowwave.store.configured_models import embedder_for
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, refuse_connected
from slowwave.store.settings import Settings
from slowwave.wiki.claims.claim import (
    Claim,
    EvidencePage,
    Period,
    Succession,
    capture,
    evidence,
    named_periods,
    nearest,
    periods,
    succession,
)
from slowwave.wiki.claims.forgetting import conclusion, forget, previewed, refusal, unresolved
from slowwave.wiki.claims.nearness import Nearness, nearness
from slowwave.wiki.claims.request import KnownStatement, Relation, RememberRequest, RememberResponse
from slowwave.wiki.claims.screened_request import ScreenedRequest, screened_request
from slowwave.wiki.claims.subject_naming import chosen, name_of, relations_of, target_of
from slowwave.wiki.claims.subjects import Resolution, Subject, names_of, resolve

# Vectors of statements, computed before any lock is taken. Without them a statement can only be found by words, until a night adds
# vectors.

_NO_CLAIMS: Final = (
    "it has no claims that could end, since its memories lie in that store's own tables. Nothing was changed. Let the store's client "
    "delete them; the next night reads what is left."
)
_MODEL: Final = """
SELECT (SELECT v.dimensions FROM memory.vector_models v WHERE v.model = %s),
  pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'memory.vector_models'::regclass), 'USAGE')"""
_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


class ClaimVectors(NamedTuple):
    """One vector for each text, or no vectors and a warning that gives the reason."""

    vectors: Sequence[list[float]] = ()
    warning: str = ""

    def get(self, place: int) -> list[float] | None:
        """Return the vector of a text by its index, or None if there is none."""
        return self.vectors[place] if place < len(self.vectors) else None


def claim_vectors(
    connection: Connection, texts: Sequence[str], settings: Settings, embedder: Callable[[Settings], Embedder]
) -> ClaimVectors:
    """Embed texts with the namespace's model. A model that the store does not know is registered if the login may do so."""
    model = settings.embedding_model
    row = connection.execute(_MODEL, (model,)).fetchone()
    dimensions, owns = row or (None, False)
    if dimensions is None and not owns:
        return ClaimVectors(
            warning=f"The store has no vector of {model} yet: words find it, and a night adds its vector."
        )
    try:
        matrix = embedder(settings).embed(texts)
    except EmbeddingError as problem:
        return ClaimVectors(warning=f"Words find it, and a night adds its vector. {problem}")
    if dimensions is None:
        connection.execute(_REGISTER_MODEL, (model, matrix.shape[1]))
    return ClaimVectors(matrix.tolist())


# Remembering at run time: a statement becomes a claim with its evidence, or evidence of an equal claim, in one transaction.
#
# The response includes near claims. If only one of two statements can be true at a time, the new one ends the old one; otherwise a
# contradicting claim is kept next to it, and both are marked. The function ``memory.remember`` defines what a server's login may write,
# and every entry point uses it. No canonical page is changed.

_ATTEMPTS: Final = 3
_LOCK: Final = "SELECT memory.lock_subject(%s::uuid, %s::text)"

_REMEMBER: Final = """
SELECT memory.remember(%s::text, %s::text, %s::uuid, %s::text, %s::text, %s::text, %s::text, %s::text, %s::boolean, %s::float8, %s::text,
  %s::text, %s::jsonb, %s::text, %s::timestamptz, %s::timestamptz, %s::uuid, %s::uuid, %s::uuid[], %s::uuid[], %s::text, %s::text, %s::text,
  %s::jsonb, %s::integer, %s::integer, %s::text, %s::real[], %s::real[])"""

_CAPTURE: Final = """
SELECT memory.capture(%s::text, %s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::boolean, %s::text, %s::integer, %s::integer,
  %s::text, %s::real[])"""


_ALONE: Final = Succession(())


@dataclass(frozen=True, slots=True)
class _Known:
    """Known claims near to a statement.

    ``repeated`` states the same. ``place`` is the position of the statement among those before and after it. ``opposed`` are claims that
    contradict it and are kept.
    """

    near: Sequence[tuple[Claim, Nearness]] = ()
    repeated: Claim | None = None
    place: Succession = _ALONE
    opposed: tuple[str, ...] = ()

    def as_statements(self) -> tuple[KnownStatement, ...]:
        """Return the claims in the form of a response: first those that state the same, then contradictions, then the rest."""
        order: list[Relation] = ["same", "contradicts", "near"]
        found: list[tuple[Claim, Relation]] = [(c, r) for r in order for c, n in self.near if n.relation == r]
        return tuple(
            KnownStatement(
                id=claim.id,
                kind=claim.kind,
                statement=claim.statement,
                relation=relation,
                since=claim.since.isoformat(),
                until=None if claim.until is None else claim.until.isoformat(),
            )
            for claim, relation in found
        )


def remember(
    connection: Connection,
    namespace: str,
    request: RememberRequest,
    settings: Settings,
    *,
    token: str = "",
    embedder: Callable[[Settings], Embedder] = embedder_for,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> RememberResponse:
    """Remember, replace or forget a statement in a namespace, given by name.

    ``token`` is the token of a login that does not own memory. Raises ``Refused`` for a request that cannot be accepted, ``Forbidden``
    without a token that permits writing. An ambiguous or unknown subject is not an error: the result is ``rejected``. Takes some
    milliseconds, whatever the size of the namespace.
    """
    moment = now()
    scope = namespace_id(connection, namespace)
    refuse_connected(connection, [namespace], *([_NO_CLAIMS] if request.action == "forget" else []))
    screened = screened_request(namespace, request, settings, moment)
    call = _Call(connection, namespace, scope, token, settings, screened, moment)
    if request.force_inbox:
        return call.captured(embedder, quarantined=screened.hidden)
    found = resolve(connection, scope, screened.request.subject, request.scope)
    if not screened.hidden:
        found, warning = chosen(connection, scope, screened.request, found, settings)
        screened = screened._replace(warnings=(*screened.warnings, *([warning] if warning else [])))
        call = replace(call, screened=screened)
    if found.outcome == "ambiguous" or (found.outcome == "unresolved" and not request.soft):
        return unresolved(screened.request, found, screened.warnings)
    if request.action == "forget":
        if found.subject is None:
            return unresolved(screened.request, found, screened.warnings)
        return forget(connection, namespace, scope, screened, found, token=token, now=moment)
    if found.outcome == "unresolved" or (screened.hidden and found.subject is None):
        return call.captured(embedder, quarantined=True)
    texts = [screened.said]
    if found.new is not None:
        texts.append(entity_text(screened.request.subject, found.new.family))
    vectors = ClaimVectors()
    if not (request.dry_run or screened.hidden):
        vectors = claim_vectors(connection, texts, settings, embedder)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with connection.transaction():
                return call.remembered(found, vectors)
        except psycopg.errors.SerializationFailure:
            if attempt == _ATTEMPTS:
                raise Refused("The subject is being written by somebody else. Nothing was stored: try again.") from None
    raise AssertionError


class Considered(NamedTuple):
    """Result of a request without storing it: its subject, its statement, what it repeats, ends or contradicts, and its page."""

    found: Resolution
    screened: ScreenedRequest
    repeated: str
    place: Succession
    opposed: tuple[str, ...]
    page: EvidencePage


def considered(
    connection: Connection, namespace: str, request: RememberRequest, settings: Settings, now: datetime
) -> Considered | RememberResponse:
    """Evaluate a request as ``remember`` would, for a plan.

    Returns a response instead if the subject is not clear. Raises as ``remember`` does.
    """
    scope = namespace_id(connection, namespace)
    screened = screened_request(namespace, request, settings, now)
    found = resolve(connection, scope, screened.request.subject, request.scope)
    if found.outcome in ("ambiguous", "unresolved") or screened.hidden:
        return unresolved(screened.request, found)
    call = _Call(connection, namespace, scope, "", settings, screened, now)
    known = _Known() if found.subject is None else call.known(found.subject)
    title = str(name_of(screened.request, found)) if found.subject is None else found.subject.name
    page = evidence(screened.request, title, screened.said, now)
    repeated = "" if known.repeated is None else known.repeated.id
    return Considered(found, screened, repeated, known.place, known.opposed, page)


@dataclass(frozen=True, slots=True)
class _Call:
    """One request against one namespace (``scope`` is its id)."""

    connection: Connection
    namespace: str
    scope: str
    token: str
    settings: Settings
    screened: ScreenedRequest
    now: datetime

    @property
    def request(self) -> RememberRequest:
        return self.screened.request

    def captured(self, embedder: Callable[[Settings], Embedder], *, quarantined: bool) -> RememberResponse:
        """Store the statement without a subject, in the inbox or in quarantine."""
        request, statement, hidden = self.request, self.screened.said, quarantined or self.screened.hidden
        page = capture(request, statement, self.now, quarantined=hidden)
        if not request.dry_run:
            vectors = ClaimVectors() if hidden else claim_vectors(self.connection, [statement], self.settings, embedder)
            self._run(
                _CAPTURE,
                *(
                    self.namespace,
                    self.token,
                    page.path,
                    page.title,
                    page.page,
                    json.dumps(page.fields, ensure_ascii=False),
                    hidden,
                ),
                *(
                    None if hidden else statement,
                    page.first_line,
                    page.last_line,
                    self.settings.embedding_model,
                    vectors.get(0),
                ),
            )
        why = (
            "It is set aside for a person to look at: no search finds it."
            if hidden
            else "It was kept in the inbox, about no subject."
        )
        return RememberResponse.of_fields(
            resolved="unresolved",
            action=request.action,
            kind=request.kind,
            subject_ref="",
            target_path=page.path,
            result="preview" if request.dry_run else "quarantined" if hidden else "written",
            confidence="low",
            indexed=not hidden and not request.dry_run,
            quarantined=hidden,
            message=f"{'Nothing was stored. ' if request.dry_run else ''}{why}",
            evidence_path=page.path,
            warnings=self.screened.warnings,
        )

    def remembered(self, found: Resolution, vectors: ClaimVectors) -> RememberResponse:
        """Store the statement inside the caller's transaction, which keeps the subject locked until it ends."""
        found = self._locked(found)
        subject = found.subject
        title = str(name_of(self.request, found)) if subject is None else subject.name
        page = evidence(self.request, title, self.screened.said, self.now)
        known = _Known() if subject is None or self.screened.hidden else self.known(subject)
        claim_id = None if self.request.dry_run else self._stored(found, known, page, vectors)
        return self._response(found, known, page, claim_id, vectors.warning)

    def _locked(self, found: Resolution) -> Resolution:
        """Lock the subject against other writers, and find it again if another writer has just created it."""
        if self.request.dry_run:
            return found
        if found.new is not None:
            self.connection.execute(_LOCK, (self.scope, str(found.new)))
            found = resolve(self.connection, self.scope, self.request.subject, self.request.scope)
        if found.subject is not None:
            self.connection.execute(_LOCK, (self.scope, found.subject.id))
        return found

    def known(self, subject: Subject) -> _Known:
        """Compare the statement with the nearest claims of its subject."""
        request, statement, since = self.request, self.screened.said, self.screened.since
        relations = relations_of(statement)
        claims = nearest(
            *(self.connection, self.scope, subject.ids, statement, subject.name, relations),
            states=request.kind == "state",
        )
        names = names_of(self.connection, subject) if claims and relations else frozenset[str]()
        near = [(claim, _relation(request, statement, claim, names)) for claim in claims]
        same = [c for c, n in near if n.relation == "same" and (c.until is None or c.holds(since))]
        repeated = min(same, key=lambda c: (not c.holds(since), c.recorded_at, c.id), default=None)
        if request.action == "replace" and request.claim_ids:
            held = self._named(subject)
        elif request.action == "replace":
            held = periods(self.connection, self.scope, subject.ids, request.kind)
        else:
            held = [claim.period for claim, n in near if n.ends]
        if repeated is not None:
            closed = (
                succession(since, [p for p in held if p.id != repeated.id]).closes
                if request.action == "replace"
                else ()
            )
            return _Known(near, repeated, Succession(closed))
        place = succession(since, held)
        following = {p.id for p in held}
        opposed = [
            claim.id
            for claim, n in near
            if n.relation == "contradicts" and claim.id not in following and _overlaps(claim.period, since, place.until)
        ]
        return _Known(near, None, place, tuple(opposed))

    def _named(self, subject: Subject) -> list[Period]:
        held = named_periods(self.connection, self.scope, subject.ids, self.request.claim_ids)
        if unknown := set(self.request.claim_ids) - {period.id for period in held}:
            raise Refused(f"{min(unknown)} is no claim about {subject.name} that stands. Nothing was stored.")
        return held

    def _stored(self, found: Resolution, known: _Known, page: EvidencePage, vectors: ClaimVectors) -> str:
        request, screened = self.request, self.screened
        more: dict[str, object] = {
            "relations": relations_of(screened.said) or None,
            "source": request.source or None,
            "origin_surface": request.origin_surface or None,
            "target_subject_ref": str(target_of(request, found)),
        }
        row = self._run(
            _REMEMBER,
            *(self.namespace, self.token, None if found.subject is None else found.subject.id),
            *(None if found.new is None else str(found.new), name_of(request, found), found.learnt or None),
            *(
                request.kind,
                screened.said,
                screened.hidden,
                request.confidence,
                request.agent,
                request.session_id or None,
            ),
            *(json.dumps({k: v for k, v in more.items() if v is not None}, ensure_ascii=False), request.reason),
            *(
                screened.since,
                known.place.until,
                known.place.ended_by,
                None if known.repeated is None else known.repeated.id,
            ),
            *(
                list(known.place.closes),
                list(known.opposed),
                page.path,
                page.title if not screened.hidden else page.path,
                page.page,
            ),
            *(
                json.dumps(page.fields, ensure_ascii=False),
                page.first_line,
                page.last_line,
                self.settings.embedding_model,
            ),
            *(vectors.get(0), vectors.get(1)),
        )
        return str(row["claim"])

    def _run(self, query: str, *values: object) -> Any:
        try:
            row = self.connection.execute(query.encode(), values).fetchone()
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException) as problem:
            raise refusal(problem) from None
        return row[0] if row else None

    def _response(
        self, found: Resolution, known: _Known, page: EvidencePage, claim_id: str | None, warning: str
    ) -> RememberResponse:
        request, hidden = self.request, self.screened.hidden
        ref = found.subject.ref if found.subject is not None else found.new
        target = target_of(request, found)
        replaced = known.place.closes
        done = "quarantined" if hidden else "replaced" if replaced or request.action == "replace" else "written"
        return RememberResponse.of_fields(
            resolved=found.outcome,
            action=request.action,
            kind=request.kind,
            subject_ref=str(ref),
            target_path=target.path,
            result="preview" if claim_id is None else done,
            confidence=found.sureness,
            indexed=claim_id is not None and not hidden,
            quarantined=hidden,
            message=conclusion(
                request,
                found,
                repeated=known.repeated,
                place=known.place,
                opposed=known.opposed,
                near=sum(n.relation == "near" for _, n in known.near),
                path=target.path,
                hidden=hidden,
            ),
            evidence_path=page.path,
            matched_by=found.matched_by,
            claim_id=claim_id,
            known=known.as_statements(),
            conflicts_with=known.opposed,
            replaced=replaced,
            warnings=(*self.screened.warnings, *((warning,) if warning else ())),
            preview=None if claim_id is not None else previewed(request, found, str(ref), target, page.path),
        )


def _relation(request: RememberRequest, said: str, claim: Claim, names: frozenset[str]) -> Nearness:
    """Return the relation of a statement to a claim; a note contradicts nothing, because it does not state a fact."""
    found = nearness(said, request.kind, claim.statement, claim.kind, names)
    if found.relation == "contradicts" and "note" in (request.kind, claim.kind):
        return Nearness("near")
    return found


def _overlaps(period: Period, since: datetime, until: datetime | None) -> bool:
    return (period.until is None or period.until > since) and (until is None or period.since < until)
