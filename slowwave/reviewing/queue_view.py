"""The queue of a plan as a page shows it: light rows in groups and pages, the choices there are, and questions that are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredPlan
from slowwave.plans.questions import CODES, HEADINGS
from slowwave.reports.waterfall import percent
from slowwave.review.drafts import Draft
from slowwave.review.queue import Queue, State, Waiting, queue
from slowwave.review.sorts import SORTS, Sort
from slowwave.reviewing.chosen import STATES, ChoiceField, Chosen

PAGE: Final = 250
"""Questions of one page."""

_SIGNS: Final[Mapping[State, str]] = {"open": "○", "yes": "✓", "no": "✕", "skip": "–"}
_RISKS: Final = ("high", "medium", "low")
_ORDERS: Final[Mapping[Sort, str]] = {
    "information": "What settles most first",
    "risk": "Highest risk first",
    "probability": "Most probable first",
    "operation": "By operation",
}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A question in the queue, as text: ``title`` quotes memory. ``said`` is what became of it, with who said so."""

    item: str
    href: str
    title: str
    operation: str
    risk: str
    odds: str
    verdict: State
    sign: str
    said: str
    note: str
    amended: str = ""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of a page that ask the same, and how many of all that ask it are open."""

    code: str
    label: str
    rows: Sequence[QueueRow]
    open: int
    all: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """The groups of one page, how many pages there are, and all rows that were chosen."""

    groups: Sequence[RowGroup]
    pages: int
    rows: Sequence[QueueRow]


def chosen_queue(
    plan: StoredPlan, drafts: Mapping[str, Draft], chosen: Chosen, names: Mapping[str, str] | None = None
) -> Queue:
    """The queue of a plan, filtered and ordered as was chosen; a value that is none of a filter's filters nothing."""
    states: dict[str, State] = {state: state for state in _SIGNS}
    sorts: dict[str, Sort] = {sort: sort for sort in SORTS}
    return queue(
        plan,
        drafts,
        sort=sorts.get(chosen.sort, "information"),
        state=states.get(chosen.state),
        operation=chosen.operation or None,
        risk=chosen.risk or None,
        search=chosen.text,
        names=names,
    )


def queue_page(found: Queue, chosen: Chosen, path: str) -> QueuePage:
    """The rows of a queue by what they ask, and of those the ones of the page; their links begin with ``path``."""
    groups = {g.code: g for g in found.groups if chosen.question in ("", g.code) and g.items}
    wanted = [w for g in groups.values() for w in g.items]
    pages = max(1, -(-len(wanted) // PAGE))
    first = (min(chosen.page, pages) - 1) * PAGE
    rows = {w.id: queue_row(w, f"{path}?{chosen.query(item=w.id)}") for w in wanted}
    shown = [
        RowGroup(
            code=code,
            label=groups[code].label,
            rows=[rows[w.id] for w in of],
            open=groups[code].counts["open"],
            all=sum(groups[code].counts.values()),
        )
        for code, of in groupby(wanted[first : first + PAGE], key=lambda w: w.code)
    ]
    return QueuePage(shown, pages, list(rows.values()))


def queue_row(waiting: Waiting, href: str) -> QueueRow:
    """A question as a row that leads to ``href``."""
    draft = waiting.draft
    said = said_of(draft, STATES[waiting.state].lower()) if draft else STATES[waiting.state].lower()
    return QueueRow(
        item=waiting.id,
        href=href,
        title=waiting.title,
        operation=waiting.operation,
        risk=waiting.risk,
        odds=percent(waiting.probability),
        verdict=waiting.state,
        sign=_SIGNS[waiting.state],
        said=said,
        note=draft.note if draft else "",
        amended=draft.amended if draft else "",
    )


def said_of(draft: Draft, verdict: str) -> str:
    """Who said what of an item, and whether they said it of an earlier plan."""
    against = f"; not so {', '.join(draft.against)}" if draft.against else ""
    followed = f", from the plan of {draft.followed:%Y-%m-%d}" if draft.followed else ""
    instead = f", plan {draft.amended[:12]} instead" if draft.amended else ""
    return f"{verdict}, {draft.reviewer}{followed}{against}{instead}"


def choices(plan: StoredPlan, chosen: Chosen) -> list[ChoiceField]:
    """The filters that make sense for a plan, and the orders there are."""
    asked = [s for s in plan.items if s.decision == "review" and s.status == "pending"]
    codes, operations = {s.question for s in asked}, sorted({s.operation for s in asked})
    return [
        ChoiceField(
            "question", "Question", [("", "All"), *((c, HEADINGS[c]) for c in CODES if c in codes)], chosen.question
        ),
        ChoiceField("operation", "Operation", [("", "All"), *((name, name) for name in operations)], chosen.operation),
        ChoiceField("risk", "Risk", [("", "All"), *((risk, risk) for risk in _RISKS)], chosen.risk),
        ChoiceField("state", "Verdict", list(STATES.items()), chosen.state),
        ChoiceField("sort", "Order", list(_ORDERS.items()), chosen.sort or "information"),
    ]


def alike(found: Queue, item: str, at_least: float | None) -> tuple[Waiting, float, list[Waiting]]:
    """A question, the probability from which others count, and the open ones of its operation that ask the same, the least probable first.

    Without ``at_least`` it is the question's own probability. Raises ``Refused`` for an item that does not wait.
    """
    of = next((w for w in found.items if w.id == item), None)
    if of is None:
        raise Refused("That question does not wait in this plan any more. Nothing was written.")
    least = of.probability if at_least is None else at_least
    kind = (of.code, of.operation)
    same = [w for w in found.items if (w.code, w.operation) == kind and w.state == "open" and w.probability >= least]
    return of, least, sorted(same, key=lambda w: (w.probability, w.id))


def spread(rows: Sequence[Waiting], most: int) -> list[Waiting]:
    """At most so many of the rows, evenly from the first to the last."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(n * (len(rows) - 1) / (most - 1))] for n in range(most)]
