"""The Markdown page on which a person reviews and approves a plan."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slowwave.night.run_events import Level, cut, redact, redact_report, redact_rows
from slowwave.night.runs import Night, per_operation
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome
from slowwave.plans.questions import ReviewQuestion
from slowwave.plans.report import Report, escape, markdown_table
from slowwave.plans.seal import Plan
from slowwave.plans.waterfall import Step, markdown, percent
from slowwave.plans.why import why
from slowwave.plans.writings import KINDS, about
from slowwave.text.tokens import counted

# The page on which a person reviews and approves a plan, as Markdown: the verdict, the evidence for its weakest merges, the whole report.
#
# The page is made of values that are already redacted. Where a plan is approved belongs to the interface that shows the page.

INLINE: Final = 990
"""Markdown of under 1,000 characters is shown without a click."""

SIDES: Final = 800
"""The most characters of an item's line in a table: the sentence of an item with two sides quotes up to 300 of each."""


@dataclass(frozen=True, slots=True)
class ExplainedItem:
    """The explanation of an item: the names of its rows, the probability of the match, and the rows side by side, by field."""

    item: str
    names: tuple[str, ...]
    probability: float
    sentence: str
    steps: tuple[Step, ...]
    verdict: str
    notes: tuple[str, ...]
    rows: Sequence[Mapping[str, object]]

    def markdown(self, namespace: str) -> str:
        """Format the evidence step by step, the doubts, and the command that prints all of it."""
        parts = [
            f"#### {' = '.join(escape(name, 60) for name in self.names)}: {percent(self.probability)}",
            escape(self.sentence, SIDES),
            markdown(self.steps),
            escape(self.verdict, 400),
            _bullets(self.notes),
            markdown_table(self.rows),
            f"slowwave why {escape(namespace)} {self.item}",
        ]
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, eq=False)
class PlanPage:
    """The content of a plan's page.

    ``counts`` maps operation → decision → number of items. ``deferred`` are rows that describe the items that are left for another night.
    ``explained`` maps a heading to the items explained under it and the number of items of that kind. ``proven`` holds the sentences of
    the probes, ``needs_force`` those of the probes that failed. ``why_nothing`` says why the plan has nothing new. An approval of the
    plan covers its ``decided_items`` and answers none of its ``questions``. Items that policies settled are in neither.
    """

    namespace: str
    plan_hash: str
    snapshot_id: str
    state: str
    expiry_days: int
    level: Level
    new_items: int
    carried_items: int
    decided_items: int
    questions: int
    counts: Mapping[str, Mapping[str, int]]
    items: Sequence[Mapping[str, object]]
    deferred: Sequence[Mapping[str, object]]
    explained: Mapping[str, tuple[Sequence[ExplainedItem], int]]
    reports: Mapping[str, Report]
    proven: tuple[str, ...]
    needs_force: tuple[str, ...]
    why_nothing: tuple[str, ...]
    lapse: str = ""

    def summary(self, approve_at: str) -> str:
        """Format a Markdown summary of under 1,000 characters with the link ``approve_at``.

        If not everything fits, rows of the table are removed and the link stays.
        """
        verdict, ending = self._verdict(approve_at)
        if failed := list(self.needs_force):
            more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            verdict += f" A probe failed: {escape(failed[0], 160)}{more} Approving it all the same takes a `note` that says why."
        hidden = (
            f"Names and texts are hidden, as `redact_text` is all: {_command('plans show', self.namespace)} shows them."
            if self.level == "all"
            else ""
        )
        rows: list[Mapping[str, object]] = [
            {"operation": operation, "decision": decision, "items": f"{count:,}"}
            for operation, decisions in self.counts.items()
            for decision, count in decisions.items()
        ]
        while True:
            text = "\n\n".join(part for part in (verdict, markdown_table(rows), hidden, ending) if part)
            if len(text) <= INLINE or not rows:
                return text
            rows = rows[:-1]

    def _verdict(self, approve_at: str) -> tuple[str, str]:
        """Return what is to be decided, and the end of the summary."""
        decided = counted(self.decided_items, "item")
        asked = counted(self.questions, "question")
        left = f", leave {asked} open" if self.questions else ""
        link = f"**[Approve {decided}{left}]({approve_at})**\n\n`{self.plan_hash}`"
        if not self.decided_items:
            link = f"No item can be approved before its question is answered: see `review`.\n\n`{self.plan_hash}`"
        match self.state:
            case "awaiting_approval" | "partly_approved":
                policy = "The namespace's policy approved low-risk items of this plan. "
                before = (
                    f" {self.carried_items:,} of them {'was' if self.carried_items == 1 else 'were'} asked before."
                    if self.carried_items
                    else ""
                )
                return (
                    f"{policy if self.state == 'partly_approved' else ''}**{decided} and {asked} wait for approval**, "
                    f"for {counted(self.expiry_days, 'day')}.{before}{f' {self.lapse}' if self.lapse else ''}"
                ), link
            case "approved":
                return "**The namespace's policy approved low-risk items of this plan.**", f"`{self.plan_hash}`"
            case _:
                waiting = counted(self.carried_items, "review item waits", "review items wait")
                carried = f"{waiting} in the plan before." if self.carried_items else ""
                return "**Nothing new to decide.**", carried

    def probes(self) -> str:
        """Format the sentences of the probes as a list."""
        return _bullets(self.proven)

    def why(self) -> str:
        """Format the evidence of the explained items; empty if there are none."""
        parts: list[str] = []
        for heading, (explained, of) in self.explained.items():
            parts.append(f"### {heading} ({len(explained)} of {of:,})")
            parts += [explanation.markdown(self.namespace) for explanation in explained]
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """Format the full report: proofs, results of audits and planners, the first 100 items, the first 50 that are left out."""
        headlines = [{"operation": name, "result": report.headline} for name, report in self.reports.items()]
        deferred = self.deferred[:50]
        listed = _command("plans show", self.namespace, "--json")
        parts = [
            f"### Plan {self.plan_hash}",
            f"Snapshot {escape(self.snapshot_id)} · {counted(self.decided_items, 'decided item')}, "
            f"{counted(self.questions, 'question')} ({self.carried_items:,} asked before), "
            f"{counted(len(self.deferred), 'item')} left for another night.",
            *(("#### Why there is nothing new", _bullets(self.why_nothing)) if self.why_nothing else ()),
            *(("#### What was proven", self.probes()) if self.proven else ()),
            "#### What audits and planners say",
            markdown_table(headlines),
            f"#### Items ({min(len(self.items), 100)} of {len(self.items):,}; {listed} lists all)",
            markdown_table(self.items[:100], SIDES),
            *(
                (
                    f"#### Left for another night ({len(deferred)} of {len(self.deferred):,})",
                    markdown_table(deferred, SIDES),
                )
                if deferred
                else ()
            ),
        ]
        return "\n\n".join(part for part in parts if part)


def _command(name: str, namespace: str, *more: str) -> str:
    """Format a command as Markdown code that can be pasted into a shell.

    Its arguments are left out if they contain a backquote or an unprintable character.
    """
    words = f"slowwave {name} {shlex.join((namespace, *more))}"
    return f"`{words}`" if words.isprintable() and "`" not in words else f"`slowwave {name}`"


_AT_ITS_LIMIT: Final = "no item: the plan is at its limit"


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {escape(sentence, 400)}" for sentence in sentences)


# The content of the page for a night's plan: its items as text, and which of them are explained.
#
# Everything is redacted here.

EXPLAINED: Final = 10
"""The number of merges, and also of reviews, whose evidence the page shows."""


def page_of(night: Night, expiry_days: int, level: Level) -> PlanPage:
    """Build the page of a night's plan, with as much content of memory as ``level`` allows.

    Raises ``TypeError`` for a night that made no plan.
    """
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
        deferred=_left(plan, level),
        explained=explained(plan.items, level, probes.results),
        reports=reports,
        proven=probes.sentences,
        needs_force=probes.needs_force,
        why_nothing=_why_nothing(night, reports),
        lapse=night.lapse(),
    )


def explained(
    items: Sequence[Item], level: Level, probes: Mapping[str, object]
) -> dict[str, tuple[list[ExplainedItem], int]]:
    """Return the weakest merges, then the reviews that come closest to a merge, by heading and with their total number.

    Empty headings are left out. Evidence quotes memory in every line, so ``all`` leaves nothing to show.
    """
    weighed = [item for item in items if level != "all" and item.evidence.get("waterfall")]
    merges = sorted((i for i in weighed if not i.is_question), key=lambda i: (i.probability, i.id))
    reviews = sorted((i for i in weighed if i.is_question), key=lambda i: (-i.probability, i.id))
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
    return sorted(items, key=lambda item: not item.is_question)


def _left(plan: Plan, level: Level) -> list[Mapping[str, object]]:
    """Return a row for each item that conflicts with one of the plan, or for which the plan has no room: the changes in words."""
    items = {item.id: item for item in plan.items}
    return [
        {
            "change": _what(item, level),
            "conflicts with": _what(items[winner], level)
            if (winner := plan.deferred[item.id]) in items
            else _AT_ITS_LIMIT,
            "item": item.id,
        }
        for item in plan.deferred_items
    ]


def _row(item: Item, asks: ReviewQuestion | None, level: Level) -> dict[str, object]:
    return {
        "change": _what(item, level),
        "question": asks.code.replace("_", " ") if asks else "",
        "risk": item.risk,
        "probability": round(item.probability, 4) if "waterfall" in item.evidence else None,
        "operation": item.operation,
        "decision": item.decision,
        "item": item.id,
    }


def _what(item: Item, level: Level) -> str:
    """Describe the item: the side that stays and the side that ends, else its rows by their own text."""
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
        name = str(redact(sides.name, level)) if sides.name else ""
        return f"{subject}{replace(sides, stays=stays, ends=ends, name=name).sentence()}"
    if item.mutation.kind in KINDS:
        return str(redact(about(item.mutation), level))
    if isinstance(names := shown.evidence.get("names"), list):
        return " = ".join(map(str, names))
    return plain


def _why_nothing(night: Night, reports: Mapping[str, Report]) -> tuple[str, ...]:
    """Return the sentences of a night without news.

    Sentences of planners are taken from their redacted reports. The others contain only counts.
    """
    if not night.why_nothing:
        return ()
    ran = [name for name, report in night.proposals.items() if not report.skipped]
    return (*(f"{name}: {reports[name].headline}" for name in ran), *night.why_nothing[len(ran) :])
