"""Claims as a person reads them: what one rests on, and what was believed of a subject."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from slowwave.claims.trail import (
    BelievedClaim,
    ClaimRequest,
    ClaimResponse,
    SubjectHistoryResponse,
    claim,
)
from slowwave.cli.session import out, say, short, show_json, show_table, suggest
from slowwave.errors import NotInCorpus
from slowwave.plans.commands import argument
from slowwave.store.connect import Store

_ID: Final = re.compile(r"[0-9a-f-]{4,36}")

_SAID: Final = {
    "added": "said",
    "supported": "said again",
    "replaced": "replaced",
    "contradicted": "contradicted",
    "retired": "forgotten",
    "invalidated": "invalidated",
}


def claim_of(store: Store, namespace: str, beginning: str) -> ClaimResponse | None:
    """The claim whose id begins so; None where there is none. Raises ``Refused`` where there are several."""
    if not _ID.fullmatch(beginning):
        return None
    try:
        with store.connect("reader") as connection:
            return claim(connection, namespace, ClaimRequest(id=beginning))
    except NotInCorpus:
        return None


def show_claim(namespace: str, found: ClaimResponse, *, json: bool) -> None:
    """What a claim rests on and what became of it."""
    if json:
        show_json({"namespace": namespace, **found.model_dump(mode="json")})
        return
    out.print(f"[bold]{found.id}[/] of {found.subject_ref}")
    say(f"{found.kind} · {found.status} · {_period(found)} · confidence {found.confidence:g}")
    out.print()
    say(found.statement or "It was forgotten: its words are not shown.")
    show_table("What became of it", ("when", "what", "by", "session", "other claim", "why"), map(list, _events(found)))
    if found.evidence:
        pages = [(e.path, _instant(e.at), e.agent, e.origin_surface, e.source, short(e.said)) for e in found.evidence]
        show_table("What it rests on", ("page", "said", "by", "over", "from", "words"), pages)
    suggest("More of it", f"slowwave history {argument(namespace)} {argument(found.subject_ref)}")


def show_history(namespace: str, found: SubjectHistoryResponse, *, json: bool) -> None:
    """What was believed of a subject, the newest first."""
    if json:
        show_json({"namespace": namespace, **found.model_dump(mode="json")})
        return
    if found.candidates:
        say(f"{found.subject} may mean:")
        for candidate in found.candidates:
            say(f"{candidate.name} ({candidate.subject_ref})", indent=2)
        return
    if not found.claims:
        say(f"Nothing was said about {found.subject} ({found.subject_ref}) by day.")
        return
    rows = [
        (c.id[:8], c.kind, c.status, _period(c), short(c.statement) or "(forgotten)", "; ".join(_changes(c)))
        for c in found.claims
    ]
    show_table(
        f"{found.subject} ({found.subject_ref})",
        ("claim", "kind", "status", "true", "statement", "why it changed"),
        rows,
    )
    suggest("What one rests on", f"slowwave why {argument(namespace)} {found.claims[0].id[:8]}")


def _changes(claim: BelievedClaim) -> list[str]:
    """What became of a claim after it was said, in words."""
    told: list[str] = []
    for event in claim.events:
        if event.event == "added":
            continue
        by = f" by {event.other_id[:8]}" if event.other_id else ""
        why = f": {event.reason.removesuffix('.')}" if event.reason else ""
        told.append(f"{_SAID.get(event.event, event.event)}{by} on {event.at:%Y-%m-%d}{why}")
    return told


def _events(found: BelievedClaim) -> list[tuple[str, ...]]:
    return [
        (
            *(_instant(e.at), _SAID.get(e.event, e.event), e.agent, e.session_id or ""),
            *((e.other_id or "")[:8], e.reason),
        )
        for e in found.events
    ]


def _period(claim: BelievedClaim) -> str:
    since = f"{claim.since.astimezone(UTC):%Y-%m-%d}"
    return f"since {since}" if claim.until is None else f"{since} to {claim.until.astimezone(UTC):%Y-%m-%d}"


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"
