"""The card of a question as a page shows it: what it asks, its rows side by side, what follows from an answer, and why it is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.why import why
from slowwave.reports.waterfall import Step, percent, reading
from slowwave.review.queue import LABELS, code_of
from slowwave.reviewing.rendering import LONGEST, left_out, visible

IF_NO: Final = "Nothing changes in memory. It is rejected with your note, and not asked again unless its rows change."

_NAMES: Final = ("id", "external id")
_WORD: Final = re.compile(r"\s+|[^\s]+")
_WIDEST: Final = 10.0  # nats that fill one side of a bar
_HALF: Final = 96.0
_MARKS: Final = {"+ ": "came", "- ": "went", "  ": "stays"}


@dataclass(frozen=True, slots=True)
class CardLine:
    """One column of the rows that are compared, as HTML; ``differs`` where two rows that state it do not state the same.

    What only names a row (``named``) differs always, and nothing follows from it.
    """

    name: str
    cells: Sequence[Markup]
    differs: bool
    named: bool = False


@dataclass(frozen=True, slots=True)
class CardStep:
    """One piece of evidence: its bar from ``x`` on (0 to 200, 100 says nothing), what its weight means, and how probable it is so far."""

    says: str
    weight: str
    kind: str
    x: float
    width: float
    reading: str
    so_far: str


@dataclass(frozen=True, slots=True)
class CardView:
    """What the template of a card shows."""

    label: str
    operation: str
    risk: str
    odds: str
    state: str
    question: str
    sentence: str
    seen: str
    heads: Sequence[str]
    lines: Sequence[CardLine]
    writing: Sequence[tuple[str, str]]
    if_yes: str
    if_no: str
    steps: Sequence[CardStep]
    verdict: str
    evidence: Sequence[tuple[str, str]]
    notes: Sequence[str]
    sources: Sequence[tuple[str, str]]


def card_view(
    plan: StoredPlan, stored: StoredItem, texts: Mapping[str, str], quotes: Sequence[tuple[str, str]]
) -> CardView:
    """The card of a plan's item; ``texts`` are those that it cites, ``quotes`` its sources as name and passage."""
    item = stored.item
    told = why(item, plan.probes, texts)
    done = why(replace(item, decision="change", sealed_id=item.id), plan.probes, texts)
    lines = told.side_by_side()
    return CardView(
        label=LABELS[code_of(stored)],
        operation=stored.operation,
        risk=stored.risk,
        odds=percent(stored.probability),
        state="" if stored.status == "pending" else f"{stored.status}: {stored.reason}".removesuffix(": "),
        question=told.asks.sentence if told.asks else told.sentence,
        sentence=told.sentence,
        seen="What the plan saw" if item.mutation.keep else "What it would change",
        heads=[name for name in (lines[0] if lines else {}) if name],
        lines=_lines(lines),
        writing=[(_MARKS.get(line[:2], "ours"), line) for line in told.writing],
        if_yes=done.sentence,
        if_no=IF_NO,
        steps=[_step(step) for step in told.steps],
        verdict=told.verdict,
        evidence=list(told.evidence.items()),
        notes=told.notes,
        sources=quotes,
    )


def marked(texts: Sequence[str]) -> tuple[list[Markup], bool]:
    """Texts as HTML, in each the words marked that another one, which says anything, lacks; and whether there is any. Time: linear."""
    cut = [text[:LONGEST] for text in texts]
    words = [set(text.split()) for text in cut]
    said = [own for own in words if own]
    common = said[0].intersection(*said[1:]) if said else set[str]()
    differs = any(own != common for own in said)
    cells = [_cell(text, own - common if len(said) > 1 else set()) for text, own in zip(cut, words, strict=True)]
    return [cell + left_out(len(text) - LONGEST) for cell, text in zip(cells, texts, strict=True)], differs


def _cell(text: str, apart: set[str]) -> Markup:
    if not text:
        return Markup('<span class="nothing">nothing</span>')
    return Markup("<bdi>{}</bdi>").format(Markup("").join(_runs(text, apart)))


def _runs(text: str, apart: set[str]) -> Iterator[Markup]:
    """The text in runs of words that are marked, spaces between them included, and of those that are not."""
    run, of, space = "", False, ""
    for piece in _WORD.findall(text):
        if piece.isspace():
            space += piece
            continue
        if (piece in apart) != of:
            yield _run(run, of)
            yield visible(space)
            run, of, space = piece, piece in apart, ""
        else:
            run, space = run + space + piece, ""
    yield _run(run, of)
    yield visible(space)


def _run(text: str, of: bool) -> Markup:
    return Markup("<mark>{}</mark>").format(visible(text)) if of and text else visible(text)


def _lines(lines: Sequence[Mapping[str, str]]) -> list[CardLine]:
    """The lines of a comparison, those that name rows last."""
    made = [_line(line) for line in lines]
    return [line for line in made if not line.named] + [line for line in made if line.named]


def _line(line: Mapping[str, str]) -> CardLine:
    values = [value for name, value in line.items() if name]
    if line[""] in _NAMES:
        return CardLine(line[""], [_cell(value, set()) for value in values], differs=False, named=True)
    cells, differs = marked(values)
    return CardLine(line[""].removeprefix("· "), cells, differs)


def _step(step: Step) -> CardStep:
    width = round(min(abs(step.weight), _WIDEST) / _WIDEST * _HALF, 1)
    return CardStep(
        says=step.says,
        weight=f"{step.weight:+.2f}",
        kind="against" if step.weight < 0 else "for",
        x=100 - width if step.weight < 0 else 100,
        width=width,
        reading=reading(step.weight),
        so_far=percent(step.probability),
    )
