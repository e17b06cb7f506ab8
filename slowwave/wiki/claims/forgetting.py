"""Forgetting of claims at run time or by a plan, and the wording of responses to requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.claims import Forgetter, forget_claims
from slowwave.changes.mutation import Mutation
from slowwave.errors import Forbidden, Refused
from slowwave.plans.commands import argument
from slowwave.search.words import words
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted
from slowwave.wiki.claims.claim import Claim, EvidencePage, Succession, evidence, to_forget
from slowwave.wiki.claims.request import CORE, RememberPreview, RememberRequest, RememberResponse, StillHeld, SubjectRef
from slowwave.wiki.claims.screened_request import ScreenedRequest, screened_request
from slowwave.wiki.claims.subjects import Resolution, Subject, resolve
from slowwave.wiki.corpus.corpora import EVIDENCE_ROOT
from slowwave.wiki.corpus.planned_pages import PlannedPage, page_texts

# The sentences in a response of ``remember``: what was done, what is known already, and what to do next.


def unresolved(request: RememberRequest, found: Resolution, warnings: tuple[str, ...] = ()) -> RememberResponse:
    """Build the response for a statement whose subject is not clear: nothing is stored, and all candidates are listed."""
    return RememberResponse.of_fields(
        resolved=found.outcome,
        action=request.action,
        kind=request.kind,
        subject_ref="",
        target_path="",
        result="rejected",
        confidence="low",
        indexed=False,
        quarantined=False,
        message=_why(request, found),
        candidates=found.candidates,
        warnings=warnings,
    )


def conclusion(
    request: RememberRequest,
    found: Resolution,
    *,
    repeated: Claim | None,
    place: Succession,
    opposed: tuple[str, ...],
    near: int,
    path: str,
    hidden: bool,
) -> str:
    """Describe what happened to a statement, or what would happen in a dry run."""
    parts = ["Nothing was stored; what follows is what would be."] if request.dry_run else []
    if hidden:
        parts.append(
            "It is quarantined, as screening found something in it: no search finds it, and it changes nothing."
        )
        return " ".join(parts)
    if found.outcome == "created":
        parts.append(f"{found.new} is a new subject.")
    if repeated is not None:
        parts.append(f"Said before, on {repeated.recorded_at:%Y-%m-%d}: evidence added to that claim.")
    elif place.until is not None:
        parts.append(f"Something newer is known, so it is history: it held until {place.until:%Y-%m-%d}.")
    else:
        parts.append("Remembered.")
    if place.closes:
        ends = "1 statement ends" if len(place.closes) == 1 else f"{len(place.closes):,} statements end"
        parts.append(f"{ends} where it begins (`replaced`).")
    if opposed:
        stands = "stands" if len(opposed) == 1 else "stand"
        parts.append(
            f"It contradicts {counted(len(opposed), 'statement')} that still {stands} (`conflicts_with`): "
            "say it again with action=replace and "
            "these claim_ids if they are no longer so, or keep both, and a night's audit lists them."
        )
    if near and repeated is None:
        parts.append(
            f"Near to it {'is' if near == 1 else 'are'} {counted(near, 'statement')} (`known`): both are kept."
        )
    if request.allow_canonical:
        parts.append(f"{path} is not changed by day: a night's plan does that.")
    return " ".join(parts)


def previewed(
    request: RememberRequest, found: Resolution, subject_ref: str, target: SubjectRef, evidence_path: str
) -> RememberPreview:
    """Build the preview of a dry run for the subject ``subject_ref``, whose statement belongs on the page of ``target``."""
    return RememberPreview(
        action=request.action,
        subject=request.subject,
        subject_ref=subject_ref,
        target_subject_ref=str(target),
        target_path=target.path,
        family=target.family,
        kind=request.kind,
        resolved_mode=found.outcome,
        matched_by=found.matched_by,
        match_confidence=found.sureness,
        evidence_path=evidence_path,
        canonical_target=True,
    )


def refusal(problem: psycopg.Error) -> Refused:
    """Return the store's own error message as a ``Refused``."""
    message = problem.diag.message_primary or "It was refused. Nothing was stored."
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            f"{message} A server takes it from each request; one that a client starts, from the variable SLOWWAVE_TOKEN."
        )
    return Refused(message)


def _why(request: RememberRequest, found: Resolution) -> str:
    done = "forgotten" if request.action == "forget" else "stored"
    if found.candidates:
        one = found.candidates[0].subject_ref
        if all(other.subject_ref == one for other in found.candidates):
            return (
                f"{request.subject!r} may mean {len(found.candidates)} rows with one name and reference, {one}. Nothing was {done}: let a "
                "night merge them, or give one of them another name first."
            )
        also = "" if request.scope is None else f", or a reference of your own, {request.scope}:…, for a new subject"
        return f"{request.subject!r} may mean {_list(found)}. Nothing was {done}: name one by its reference, such as {one}{also}."
    if request.scope == "core" or request.subject.startswith("core:"):
        return f"The subjects of core are {', '.join(CORE)}. Nothing was {done}."
    if request.action == "forget":
        return f"Nothing is known about {request.subject!r}. Nothing was forgotten."
    return (
        f"Nothing is known about {request.subject!r}. Nothing was stored: give the scope of a new subject (person, project, concept, "
        "decision or core), or soft to put it aside."
    )


def _list(found: Resolution) -> str:
    return " or ".join(f"{c.name} ({c.subject_ref})" for c in found.candidates)


# Forgetting at run time: claims about a subject and their evidence leave memory in one transaction, and a page records that they did.
#
# The rows are kept, retired; a night purges claims once their retention ends. The response counts all other places that hold the words,
# so that no one finds them by surprise later.

NO_REASON: Final = "Nobody said why."
"""Text of a tombstone without a reason."""

_FORGET: Final = """
SELECT memory.forget(%s::text, %s::text, %s::uuid, %s::uuid[], %s::text, %s::text, %s::text, %s::text, %s::text, %s::text, %s::jsonb)"""

_ELSEWHERE: Final = """
SELECT count(DISTINCT t.id) FILTER (WHERE t.kind = 'memories'), count(DISTINCT t.id) FILTER (WHERE t.kind = 'chunks')
  FROM unnest(%(queries)s::text[]) AS q (said) JOIN memory.search_texts t ON t.words @@ q.said::tsquery
 WHERE t.namespace_id = %(namespace)s AND t.live AND t.kind IN ('memories', 'chunks') AND t.id <> ALL (%(but)s::uuid[])"""


def forget(
    connection: Connection,
    namespace: str,
    scope: str,
    screened: ScreenedRequest,
    found: Resolution,
    *,
    token: str,
    now: datetime,
) -> RememberResponse:
    """Forget the claims of a kind about a subject (``note``: of every kind), or the one that states ``content``.

    Claims that have ended and those in quarantine are forgotten as well, because the request is meant to remove every trace.
    """
    request, subject = screened.request, found.subject
    if subject is None:
        raise AssertionError
    with connection.transaction():
        claims = chosen_claims(connection, scope, subject, request)
        statements = [claim.statement for claim in claims]
        page = tombstone(request, subject, len(claims), now)
        held: dict[str, Any] = {}
        if claims and not request.dry_run:
            values = (
                *(
                    namespace,
                    token,
                    subject.id,
                    [claim.id for claim in claims],
                    request.agent,
                    request.session_id or None,
                ),
                *(
                    request.reason or NO_REASON,
                    page.path,
                    page.title,
                    page.page,
                    json.dumps(page.fields, ensure_ascii=False),
                ),
            )
            try:
                row = connection.execute(_FORGET, values).fetchone()
            except psycopg.errors.SerializationFailure:
                raise Refused(
                    "The subject is being written by somebody else. Nothing was forgotten: try again."
                ) from None
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException) as problem:
                raise refusal(problem) from None
            held = row[0] if row else {}  # type: ignore[assignment]
        elsewhere = said_elsewhere(connection, scope, statements) if held else (0, 0)
        naming = said_elsewhere(connection, scope, [subject.name], [claim.id for claim in claims])[0]
    counts = StillHeld(
        versions=held.get("versions", 0),
        evidence=held.get("evidence", 0),
        snapshots=held.get("snapshots", 0),
        memories=elsewhere[0],
        passages=elsewhere[1],
        plans=held.get("plans", 0),
    )
    ref = subject.ref
    return RememberResponse.of_fields(
        resolved=found.outcome,
        action="forget",
        kind=request.kind,
        subject_ref=str(ref),
        target_path=ref.path,
        result="forgotten" if held else "preview" if request.dry_run else "rejected",
        confidence=found.sureness,
        indexed=bool(held),
        quarantined=False,
        message=_message(request, len(claims), counts if held else None)
        + _still_named(namespace, subject.name, naming),
        evidence_path=page.path if claims else "",
        matched_by=found.matched_by,
        forgotten=tuple(claim.id for claim in claims),
        still_held=counts if held else None,
        warnings=screened.warnings,
        preview=previewed(request, found, str(ref), ref, page.path) if request.dry_run else None,
    )


def chosen_claims(connection: Connection, scope: str, subject: Subject, request: RememberRequest) -> list[Claim]:
    """Return the claims that a request to forget selects.

    These are all claims of the subject and kind, limited to the ids that the request names, if any, and to statements with the same
    meaning as its content, if any.
    """
    claims = to_forget(connection, scope, subject.ids, request.kind)
    chosen = [claim for claim in claims if not request.claim_ids or claim.id in request.claim_ids]
    if not request.content:
        return chosen
    from slowwave.text.sameness import sameness

    return [claim for claim in chosen if sameness(request.content, claim.statement).decision == "same"]


def tombstone(request: RememberRequest, subject: Subject, count: int, now: datetime) -> EvidencePage:
    """Build the page that records that claims of a subject were forgotten, and why; it does not repeat their text."""
    of = "" if request.kind == "note" else f" of the kind {request.kind}"
    sentence = (
        f"{counted(count, 'statement')}{of} {'was' if count == 1 else 'were'} forgotten. {request.reason or NO_REASON}"
    )
    return evidence(request.model_copy(update={"content": ""}), subject.name, sentence, now)


def said_elsewhere(
    connection: Connection, namespace_id: str, statements: Sequence[str], but: Sequence[str] = ()
) -> tuple[int, int]:
    """Count the live memories and live passages that contain all words of a statement, except the memories in ``but``.

    Runs one query, on the index of words.
    """
    tag = namespace_id[:8]
    queries = sorted(
        {" & ".join(f"'{tag}:{word}'" for word in dict.fromkeys(words(text))) for text in statements} - {""}
    )
    row = connection.execute(_ELSEWHERE, {"queries": queries, "namespace": namespace_id, "but": list(but)}).fetchone()
    return (int(str(row[0])), int(str(row[1]))) if row else (0, 0)


def nothing_said(request: RememberRequest) -> str:
    """Return the message that a request to forget selects no claim."""
    what = "says that" if request.content else "is among these" if request.claim_ids else "is of that kind"
    return f"No statement about {request.subject!r} {what}. Nothing was forgotten."


def _still_named(namespace: str, name: str, count: int) -> str:
    """State how many other memories name the subject, and the command that plans to delete them; empty if none does."""
    if not count:
        return ""
    memories = counted(count, "other memory names", "other memories name")
    command = f"slowwave forget {argument(namespace)} --entity {argument(name)}"
    return f" {memories} {name!r}; ending claims leaves them. `{command}` plans to delete them for good."


def _message(request: RememberRequest, count: int, held: StillHeld | None) -> str:
    if not count:
        return nothing_said(request)
    if held is None:
        return f"Nothing was changed: {counted(count, 'statement')} would be forgotten."
    return f"{counted(count, 'statement')} forgotten: no search finds {'this claim' if count == 1 else 'these claims'}. {held.sentence()}"


# Claims that a plan forgets: the effect of a request to forget on a snapshot, in the form of ``forget_rows``, and what else holds the
# words.
#
# This is the counterpart for plans of forgetting at run time.

_KEPT: Final = """
SELECT (SELECT count(*) FROM memory.memory_versions v WHERE v.memory_id = ANY (%(claims)s::uuid[])),
  (SELECT count(*) FROM night.snapshots s WHERE s.namespace_id = %(namespace)s AND s.deleted_at IS NULL),
  cardinality(memory.plans_that_made(%(claims)s::uuid[]))"""


def claims_meant(connection: Connection, namespace_id: str, request: RememberRequest) -> tuple[Subject, list[Claim]]:
    """Return the subject of a request to forget, and the claims that it selects.

    Raises ``Refused`` if the subject is not clear, or if there are no such claims.
    """
    found = resolve(connection, namespace_id, request.subject, request.scope)
    if found.subject is None or found.outcome == "ambiguous":
        raise Refused(unresolved(request, found).message)
    claims = chosen_claims(connection, namespace_id, found.subject, request)
    if not claims:
        raise Refused(nothing_said(request))
    return found.subject, claims


def forgotten_claims(
    connection: Connection,
    snapshot: Snapshot,
    settings: Settings,
    request: RememberRequest,
    *,
    agent: str = "",
    session_id: str = "",
    made_from: str = "",
) -> tuple[Mutation, StillHeld]:
    """Return the mutation that forgets the claims of a request and their evidence, and what will still hold their words.

    Raises ``Refused`` as ``claims_meant`` does, and for text that screening refuses. Claims stored after the snapshot are not forgotten.
    """
    asked = screened_request(snapshot.namespace, request, settings, snapshot.taken_at).request
    subject, claims = claims_meant(connection, snapshot.namespace_id, asked)
    there = snapshot.table("memories")["id"]
    known = set(there.filter(pc.is_in(there, value_set=pa.array([c.id for c in claims], pa.string()))).to_pylist())
    ids = [claim.id for claim in claims if claim.id in known]
    page = tombstone(asked, subject, len(ids), snapshot.taken_at)
    (text,) = page_texts(snapshot, settings, None, [PlannedPage(page.path, page.page, EVIDENCE_ROOT, made_from)])
    by = Forgetter(asked.reason or NO_REASON, asked.agent or agent, asked.session_id or session_id)
    mutation = forget_claims(snapshot, subject.ids, ids, text, by)
    return mutation, _held(connection, snapshot.namespace_id, mutation, [c for c in claims if c.id in known])


def _held(connection: Connection, namespace_id: str, mutation: Mutation, claims: Sequence[Claim]) -> StillHeld:
    ended = [w.cell for w in mutation.writes if w.cell.column == "invalidated_at"]
    values = {"claims": [claim.id for claim in claims], "namespace": namespace_id}
    row = connection.execute(_KEPT, values).fetchone() or (0, 0, 0)
    gone = [cell.row for cell in ended if cell.table in ("memories", "chunks")]
    memories, passages = said_elsewhere(connection, namespace_id, [claim.statement for claim in claims], gone)
    return StillHeld(
        versions=int(str(row[0])),
        evidence=sum(cell.table == "documents" for cell in ended),
        snapshots=int(str(row[1])),
        memories=memories,
        passages=passages,
        plans=int(str(row[2])),
    )
