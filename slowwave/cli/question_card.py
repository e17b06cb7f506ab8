"""The card of a question in the terminal: what is asked, the rows side by side, what weighs most, and what follows from yes and from no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from slowwave.cli.listing import one_line
from slowwave.cli.session import out, say, show_table
from slowwave.reports.waterfall import reading

if TYPE_CHECKING:
    from slowwave.plans.ledger import StoredPlan
    from slowwave.review.card import Card, MarkedRun
    from slowwave.review.queue import Queue, Waiting
    from slowwave.store.connect import Store

LONGEST: Final = 300
"""Characters of a line of memory that are shown."""

_STEPS: Final = 4


def show_card(store: Store, plan: StoredPlan, asked: Queue, current: Waiting) -> None:
    """The card of a question."""
    from slowwave.proposals.answers import describe_answers
    from slowwave.review.card import card

    stored = next(s for s in plan.items if s.id == current.id)
    shown = card(store, plan, stored)
    of = next(group for group in asked.groups if group.code == current.code)
    out.print()
    out.print(Text(f"{of.label}  {of.counts['open']:,} open of {sum(of.counts.values()):,}", "bold"))
    say(f"{shown.operation} · {shown.risk} risk · item {shown.id}")
    say(shown.question)
    say(one_line(shown.sentence, LONGEST))
    if shown.lines:
        show_table("Rows", ("", *shown.heads), [(line.name, *map(_cell, line.cells)) for line in shown.lines])
    _evidence(shown)
    for line in (*shown.writing, *shown.lost)[:20]:
        say(one_line(line, LONGEST), indent=2)
    for note in shown.notes:
        say(f"· {one_line(note, LONGEST)}")
    for source in shown.sources[:2]:
        say(f"{source.kind} {source.id[:8]}: {one_line(source.sentence, LONGEST)}", indent=2)
    for event in shown.around.history[:3]:
        say(f"{event.at:%Y-%m-%d}: {one_line(event.sentence(), LONGEST)}", indent=2)
    if stored.decision == "review":
        for one, says in describe_answers(stored):
            say(f"{one.key}: {one.label}: {one_line(says, LONGEST)}")
    say(f"yes: {one_line(shown.if_yes, LONGEST)}")
    say(f"no: {shown.if_no}")


def _evidence(shown: Card) -> None:
    """What weighs most, and how likely it makes the rows one thing."""
    for step in sorted(shown.steps, key=lambda step: -abs(step.weight))[:_STEPS]:
        say(f"{step.weight:+.1f} {one_line(step.says, LONGEST)} ({reading(step.weight)})", indent=2)
    if shown.verdict:
        say(one_line(shown.verdict, LONGEST))


def _cell(runs: Sequence[MarkedRun]) -> str:
    """A cell with the words in brackets that another row lacks."""
    return "".join(f"[{run.text.rstrip()}] " if run.differs else run.text for run in runs).strip()
