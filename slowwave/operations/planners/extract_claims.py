"""``extract_claims``: what people said plainly in sessions, and what pages state, becomes claims about their subjects (Dory 4.8).

What a sentence claims is read by ``slowwave.texts.plain_claims``, of whom by ``claim_candidates``, what becomes of it beside what is known
by ``claim_groups``. A claim rests on the session or page that says it, and quotes the sentence. Digests of ours are not read: they tell
what sessions say, and the sessions are read themselves. Cost: that of reading sessions and pages, and some comparisons a claim; linear.

A claim that ends an earlier one is a question (``slowwave.config.decides_alone``). All other claims add rows and retire nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, Field

from slowwave.claims.planned_claims import planned_claims
from slowwave.errors import Refused
from slowwave.mutations.mutation import Mutation
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.planners.claim_candidates import Naming, of_sessions
from slowwave.operations.planners.claim_groups import ClaimGroups, PlannedGroup
from slowwave.operations.planners.claim_pages import of_pages
from slowwave.operations.planners.claim_rejections import without_rejected
from slowwave.operations.planners.claim_subjects import KnownSubjects
from slowwave.operations.planners.claim_writing import ClaimWriting
from slowwave.operations.planners.session_statements import finished_sessions, read_session, things_named
from slowwave.plans.items import Item, ask_unless_measured
from slowwave.plans.permitted import OF_CLAIMS, Permit
from slowwave.reports.model import Finding, Report
from slowwave.texts.quotation import quote

OPERATION: Final = "extract_claims"
_QUOTED: Final = 300  # characters
_SHOWN: Final = 20


class ClaimOptions(BaseModel):
    """What may be set of it."""

    pages: bool = Field(default=True, description="Whether durable pages are read beside sessions.")
    may_claim: tuple[str, ...] = Field(
        default=(),
        description="Privacy classes that may be claimed (credentials, financial, health, legal, contact, personal), and private.",
    )


@operation(
    kind="planner",
    reads=(
        *("documents", "corpora", "chunks", "chunk_vectors", "links", "entities", "entity_aliases", "entity_vectors"),
        *("memories", "memory_versions", "memory_vectors", "rejections"),
    ),
    after=("digest_sessions",),
    switch=False,
    weekly=True,
    permits=(Permit("write_claims", {"memories"}, beside=OF_CLAIMS, retires=None),),
    options=ClaimOptions,
)
def extract_claims(inputs: Inputs) -> Proposal:
    """What people said plainly in sessions and pages becomes claims: preferences, decisions, states, dates and facts, each with its quote.

    A claim that is known gets evidence instead; a state ends the one before it by the time at which it was said; what contradicts a claim
    stands beside it, and both are marked. Nothing is inferred, and a name that may mean several subjects claims nothing: a finding says so.
    """
    snapshot = inputs.snapshot
    options = inputs.settings.options(OPERATION, ClaimOptions)
    found = finished_sessions(snapshot, options.may_claim)
    sessions = [read_session(page, options.may_claim) for page in found.pages]
    known = KnownSubjects.of(snapshot)
    naming = Naming(known, things_named(sessions))
    candidates = of_sessions(sessions, naming)
    writing = ClaimWriting(inputs.consolidator, inputs.budget, options.may_claim)
    candidates += writing.candidates(sessions, naming)
    of_page = of_pages(snapshot, naming, options.may_claim) if options.pages else []
    groups = ClaimGroups.of(snapshot, known)
    said = [one for one in (*candidates, *of_page) if one.since <= snapshot.taken_at]
    wanted = without_rejected(snapshot, inputs.settings, OPERATION, groups.planned(said))
    planned, refused = _mutations(inputs, wanted)
    items = [_item(one, mutation) for one, mutation in planned]
    numbers: dict[str, int | float] = {
        "sessions": len(found.pages),
        "waiting": found.waiting,
        "sentences told": sum(len(s.told) for s in sessions),
        "claims in sessions": len(candidates),
        "claims on pages": len(of_page),
        "new claims": sum(not claim.supports for one, _ in planned for claim in one.group.claims),
        "new subjects": sum(not isinstance(one.group.subject, str) for one, _ in planned),
        **groups.counts,
        **naming.counts,
        **writing.numbers(),
        "items": len(items),
    }
    return Proposal(
        tuple(items),
        Report(
            OPERATION,
            _headline(numbers),
            numbers,
            (*_doubts(naming), *refused, *writing.findings()),
            _table([one for one, _ in planned]),
        ),
    )


def _mutations(
    inputs: Inputs, groups: Sequence[PlannedGroup]
) -> tuple[list[tuple[PlannedGroup, Mutation]], list[Finding]]:
    """A mutation for each group, and what was refused: one group that cannot be planned holds up no other."""

    def made(those: Sequence[PlannedGroup]) -> list[tuple[PlannedGroup, Mutation]]:
        found = planned_claims(inputs.snapshot, inputs.settings, inputs.embed, [one.group for one in those])
        return list(zip(those, found, strict=True))

    if not groups:
        return [], []
    try:
        return made(groups), []
    except Refused:
        pass
    planned: list[tuple[PlannedGroup, Mutation]] = []
    refused: list[Finding] = []
    for group in groups:
        try:
            planned += made([group])
        except Refused as problem:
            refused.append(Finding(str(problem), (), "warning"))
    return planned, refused


def _item(planned: PlannedGroup, mutation: Mutation) -> Item:
    claims = planned.group.claims
    told = [
        {
            "statement": claim.statement,
            "kind": claim.kind,
            "since": claim.since.isoformat(),
            "until": claim.until.isoformat() if claim.until else None,
            "closes": list(claim.closes),
            "contradicts": list(claim.contradicts),
            "supports": claim.supports or None,
            "quotes": [{"text": quote(c.quote, _QUOTED), "source": c.source} for c in behind],
        }
        for claim, behind in zip(claims, planned.behind, strict=True)
    ]
    decision = "support" if all(claim.supports for claim in claims) else "write"
    documents = tuple(dict.fromkeys(id_ for claim in claims for id_ in claim.documents))
    evidence = {"subject": planned.name, "claims": told}
    item = Item(OPERATION, decision, mutation, evidence, sources=documents, probability=planned.confidence)
    return ask_unless_measured(item, "claim that ends another") if any(claim.closes for claim in claims) else item


def _headline(numbers: dict[str, int | float]) -> str:
    new, subjects = int(numbers["new claims"]), int(numbers["new subjects"])
    if not numbers["items"]:
        return "Nobody said anything plainly that is not known."
    return f"{new:,} claims would be written, {subjects:,} of their subjects are new."


def _doubts(naming: Naming) -> Sequence[Finding]:
    return [
        Finding(
            f"{name!r} may mean {' or '.join(f'{s.name} ({s.ref})' for s in candidates)}, so what was said of it is no "
            "claim. Give one of them an alias, or merge them if they are one.",
            tuple(s.id for s in candidates),
            "info",
        )
        for name, candidates in sorted(naming.ambiguous.items())
    ]


def _table(planned: Sequence[PlannedGroup]) -> tuple[dict[str, object], ...]:
    rows: list[dict[str, object]] = [
        {"subject": one.name, "kind": claim.kind, "statement": claim.statement, "quotes": len(behind)}
        for one in planned
        for claim, behind in zip(one.group.claims, one.behind, strict=True)
    ]
    return tuple(rows[:_SHOWN])
