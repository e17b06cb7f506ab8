"""Forgetting by day: statements about a subject leave memory with what was said of them, in one transaction, and a page says that they did.

The rows stay, retired; a night purges claims once their retention is over. What else holds the words is counted and told: nobody finds it
out later.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import psycopg

from slowwave.claims.answer_text import previewed, refusal
from slowwave.claims.claim import Claim, to_forget
from slowwave.claims.evidence import EvidencePage, evidence
from slowwave.claims.remember_request import RememberRequest, RememberResponse, StillHeld
from slowwave.claims.screened_request import ScreenedRequest
from slowwave.claims.subjects import Resolution, Subject
from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.search.words import words
from slowwave.store.connect import Connection
from slowwave.texts.counted import counted

NO_REASON: Final = "Nobody said why."
"""What a tombstone says where no reason was given."""

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
    """Forget the statements of a kind (``note``: of any) about a subject, or of those the one that ``content`` says.

    Claims that have ended and those in quarantine go with the others: who asks for this wants to hear nothing of it again.
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
    """What a request to forget means: all claims of the subject and kind; those that are named, where some are; those that say what is
    said, where something is.
    """
    claims = to_forget(connection, scope, subject.ids, request.kind)
    chosen = [claim for claim in claims if not request.claim_ids or claim.id in request.claim_ids]
    if not request.content:
        return chosen
    from slowwave.texts.sameness import sameness

    return [claim for claim in chosen if sameness(request.content, claim.statement).decision == "same"]


def tombstone(request: RememberRequest, subject: Subject, count: int, now: datetime) -> EvidencePage:
    """The page that says that claims of a subject went, and why; what was said is not repeated on it."""
    of = "" if request.kind == "note" else f" of the kind {request.kind}"
    said = (
        f"{counted(count, 'statement')}{of} {'was' if count == 1 else 'were'} forgotten. {request.reason or NO_REASON}"
    )
    return evidence(request.model_copy(update={"content": ""}), subject.name, said, now)


def said_elsewhere(
    connection: Connection, namespace_id: str, statements: Sequence[str], but: Sequence[str] = ()
) -> tuple[int, int]:
    """Live memories, and live passages, with all the words of a statement, ``but`` some. One query, by the index of words."""
    tag = namespace_id[:8]
    queries = sorted(
        {" & ".join(f"'{tag}:{word}'" for word in dict.fromkeys(words(text))) for text in statements} - {""}
    )
    row = connection.execute(_ELSEWHERE, {"queries": queries, "namespace": namespace_id, "but": list(but)}).fetchone()
    return (int(str(row[0])), int(str(row[1]))) if row else (0, 0)


def nothing_said(request: RememberRequest) -> str:
    """Why nothing of a subject is to forget."""
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
