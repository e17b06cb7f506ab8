"""What a night's plan puts on the page that people approve it from: its items in words, and which of them are explained.

Everything is redacted here; how the page looks belongs to ``slowwave.reports.plan_page``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from slowwave.night.outcome import Night, per_operation
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome
from slowwave.plans.questions import ReviewQuestion
from slowwave.plans.why import why
from slowwave.plans.writings import KINDS, about
from slowwave.reports.model import Report
from slowwave.reports.plan_page import SIDES, ExplainedItem, PlanPage
from slowwave.reports.redaction import Level, cut, redact, redact_report, redact_rows

EXPLAINED: Final = 10
"""Merges, and as many reviews, whose evidence the page shows."""


def page_of(night: Night, expiry_days: int, level: Level) -> PlanPage:
    """The page of a night's plan, with as much of memory as ``level`` lets it. Raises ``TypeError`` for a night that made no plan."""
    plan, probes = night.plan, night.probes
    if plan is None or probes is None:
        raise TypeError("A night that made no plan has nothing to show.")
    reports = {n: redact_report(report, level) for n, report in {**night.reports, **night.proposals}.items()}
    return PlanPage(
        namespace=night.namespace,
        plan_hash=plan.plan_hash,
        snapshot_id=night.snapshot_id,
        state=night.state,
        expiry_days=expiry_days,
        level=level,
        new_items=night.new_items,
        carried_items=night.carried_items,
        decided_items=night.pending(questions=False),
        questions=night.pending(questions=True),
        counts=per_operation(plan.items),
        items=[_row(item, plan.questions.get(item.id), level) for item in _questions_first(plan.items)],
        deferred=plan.deferred,
        explained=explained(plan.items, level, probes.results),
        reports=reports,
        proven=probes.sentences,
        needs_force=probes.needs_force,
        why_nothing=_why_nothing(night, reports),
    )


def explained(
    items: Sequence[Item], level: Level, probes: Mapping[str, object]
) -> dict[str, tuple[list[ExplainedItem], int]]:
    """The weakest merges, then the reviews that come nearest to one, by heading and with how many there are; what is empty is left out.

    Evidence quotes memory in every line, so ``all`` leaves nothing to show.
    """
    weighed = [item for item in items if level != "all" and item.evidence.get("waterfall")]
    merges = sorted((i for i in weighed if i.decision != "review"), key=lambda i: (i.probability, i.id))
    reviews = sorted((i for i in weighed if i.decision == "review"), key=lambda i: (-i.probability, i.id))
    found = {"Merges, the weakest first": merges, "For review, the likeliest first": reviews}
    return {
        heading: ([_explanation(item, level, probes) for item in of[:EXPLAINED]], len(of))
        for heading, of in found.items()
        if of
    }


def _explanation(item: Item, level: Level, probes: Mapping[str, object]) -> ExplainedItem:
    evidence = redact(dict(item.evidence), level)
    account = why(replace(item, evidence=evidence if isinstance(evidence, dict) else {}), probes)
    return ExplainedItem(
        item=item.id,
        names=tuple(row.fields.get("name", "") for row in account.rows),
        probability=item.probability,
        sentence=account.sentence if level == "none" else cut(account.sentence, SIDES),
        steps=account.steps,
        verdict=account.verdict,
        notes=tuple(str(redact(note, level)) for note in account.notes),
        rows=redact_rows(account.side_by_side(), level),
    )


def _questions_first(items: Sequence[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.decision != "review")


def _row(item: Item, asks: ReviewQuestion | None, level: Level) -> dict[str, object]:
    return {
        "operation": item.operation,
        "decision": item.decision,
        "question": asks.code if asks else "",
        "risk": item.risk,
        "probability": round(item.probability, 4),
        "what": _what(item, level),
        "rows": ", ".join(item.mutation.row_ids()),
        "item": item.id,
    }


def _what(item: Item, level: Level) -> str:
    """Describe the item: which side stays and which ends, else its rows in their own words."""
    plain = f"{item.mutation.kind} {item.mutation.table}"
    if level == "all":
        return plain
    redacted = redact(dict(item.evidence), level)
    shown = replace(item, evidence=redacted if isinstance(redacted, dict) else {}, sealed_id=item.id)
    if sides := find_outcome(shown):
        stays, ends = (
            tuple(replace(row, text=str(redact(row.text, level))) for row in rows) for rows in (sides.stays, sides.ends)
        )
        subject = f"{redact(about(item.mutation), level)}: " if item.mutation.kind in KINDS else ""
        return f"{subject}{replace(sides, stays=stays, ends=ends).sentence()}"
    if item.mutation.kind in KINDS:
        return str(redact(about(item.mutation), level))
    if isinstance(names := shown.evidence.get("names"), list):
        return " = ".join(map(str, names))
    return plain


def _why_nothing(night: Night, reports: Mapping[str, Report]) -> tuple[str, ...]:
    """The sentences of a night without news: those of planners as their redacted reports say them, the others hold counts alone."""
    if not night.why_nothing:
        return ()
    ran = [name for name, report in night.proposals.items() if not report.skipped]
    return (*(f"{name}: {reports[name].headline}" for name in ran), *night.why_nothing[len(ran) :])
