"""What an answer of ``remember`` says in sentences: what was done, what is known already, what to do next."""

from __future__ import annotations

import psycopg

from slowwave.claims.claim import Claim
from slowwave.claims.remember_request import RememberPreview, RememberRequest, RememberResponse
from slowwave.claims.subject_ref import CORE, SubjectRef
from slowwave.claims.subjects import Resolution
from slowwave.claims.succession import Succession
from slowwave.errors import Forbidden, Refused
from slowwave.texts.counted import counted


def unresolved(request: RememberRequest, found: Resolution, warnings: tuple[str, ...] = ()) -> RememberResponse:
    """The answer where nobody can tell whom or what a statement is about: nothing is stored, and all who may be meant are named."""
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
    """What became of a statement, or would."""
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
    """What a dry run says besides: of ``subject_ref``, whose statement would belong on the page of ``target``."""
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
    """What the store's own rules said, as it said it."""
    said = problem.diag.message_primary or "It was refused. Nothing was stored."
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            f"{said} A server takes it from each request; one that a client starts, from the variable SLOWWAVE_TOKEN."
        )
    return Refused(said)


def _why(request: RememberRequest, found: Resolution) -> str:
    done = "forgotten" if request.action == "forget" else "stored"
    if found.candidates:
        one = found.candidates[0].subject_ref
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
