"""The card of a question as HTML: ``slowwave.review.card`` says what stands on it, and this how it looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup

from slowwave.plans.ledger import StoredItem
from slowwave.reports.waterfall import Step, percent, reading
from slowwave.review.card import Card, ComparedLine, MarkedRun
from slowwave.reviewing.rendering import LONGEST, visible

_NAMES: Final = ("id", "external id")
_WIDEST: Final = 10.0  # nats that fill one side of a bar
_HALF: Final = 96.0
_MARKS: Final[Mapping[str, str]] = {"+ ": "came", "- ": "went", "~ ": "ours", "  ": "stays"}


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of the comparison, its cells as HTML. What only names a row (``named``) differs always, and nothing follows from it."""

    name: str
    cells: Sequence[Markup]
    differs: bool
    named: bool


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


def card_values(card: Card, stored: StoredItem, path: str = "") -> dict[str, object]:
    """What the template of a card shows; ``path`` is the address of its plan, for the rest of what is cut."""
    rest = f"{path}/items/{stored.id}/text" if path else ""
    return {
        "card": card,
        "odds": percent(card.probability),
        "state": "" if stored.status == "pending" else f"{stored.status}: {stored.reason}".removesuffix(": "),
        "seen": "What the plan saw" if stored.kind == "merge_rows" else "What it would change",
        "lines": _lines(card.lines, rest),
        "writing": marked_lines(card.writing),
        "lost": marked_lines(card.lost),
        "steps": [_step(step) for step in card.steps],
    }


def marked_lines(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each line of a diff with the style class of its first character."""
    return [(_MARKS.get(line[:2], "ours"), line) for line in lines]


def cell(runs: Sequence[MarkedRun], *, mark: bool = True, rest: str = "") -> Markup:
    """The runs of a cell as HTML; ``mark`` says whether those that differ are marked, ``rest`` where a longer text goes on."""
    if not any(run.text for run in runs):
        return Markup('<span class="nothing">nothing</span>')
    text = Markup("<bdi>{}</bdi>").format(Markup("").join(_pieces(runs, mark=mark)))
    if sum(len(run.text) for run in runs) < LONGEST:
        return text
    if rest:
        return text + Markup(' <a class="cut" href="{}">… the rest of the text</a>').format(rest)
    return text + Markup(' <span class="cut">… only its first {:,} characters are shown</span>').format(LONGEST)


def _pieces(runs: Sequence[MarkedRun], *, mark: bool) -> Iterator[Markup]:
    for run in runs:
        word = run.text.rstrip()
        yield Markup("<mark>{}</mark>").format(visible(word)) if mark and run.differs else visible(word)
        yield visible(run.text[len(word) :])


def _lines(lines: Sequence[ComparedLine], rest: str) -> list[CardLine]:
    """The lines of a comparison, those that name rows last."""
    made = [_line(line, rest, named=line.name in _NAMES) for line in lines]
    return [line for line in made if not line.named] + [line for line in made if line.named]


def _line(line: ComparedLine, rest: str, *, named: bool) -> CardLine:
    several = sum(bool(runs) for runs in line.cells) > 1 and not named
    more = [
        f"{rest}?{urlencode({'line': line.name, 'cell': n, 'begin': LONGEST})}" if rest else ""
        for n in range(len(line.cells))
    ]
    cells = [cell(runs, mark=several, rest=to) for runs, to in zip(line.cells, more, strict=True)]
    return CardLine(line.name, cells, several and line.differs, named)


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
