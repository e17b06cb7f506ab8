"""The waterfall of a decision: each piece of evidence with its weight, and the probability after it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slowwave.plans.report import escape

if TYPE_CHECKING:
    from rich.table import Table


# The waterfall of a decision for people: each piece of evidence, its weight, and the probability of a match so far.
#
# Weights are log-odds (nats): they add up, and the logistic function turns them into a probability. A block of a bar is one nat, which is
# 2.7 times likelier, so bars of different items are comparable. The same steps are shown in Markdown and in the terminal.
# ``slowwave.matching`` defines the evidence and its weights; its words may quote memory, which is untrusted.

_LONGEST_BAR: Final = 10
_LONGEST_TEXT: Final = 200
_SILENT: Final = 0.05  # nats that are too small to show


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of evidence in words, its weight, and the sum of weights up to it (both in nats)."""

    says: str
    weight: float
    total: float

    @property
    def probability(self) -> float:
        """Return the probability of a match given this evidence and all before it."""
        return _logistic(self.total)

    def to_json(self) -> dict[str, object]:
        """Return the step as ``--json`` shows it."""
        return {
            "says": self.says,
            "weight": self.weight,
            "reading": reading(self.weight),
            "total": round(self.total, 3),
            "probability": round(self.probability, 6),
        }


def steps(waterfall: object) -> tuple[Step, ...]:
    """Return the steps of an item's ``waterfall``, which may be empty.

    A waterfall is a list of mappings with ``evidence``, ``weight`` and optionally ``detail`` (a phrase), ``level`` and ``value``. Entries
    in another form are left out.
    """
    found: list[Step] = []
    total = 0.0
    for piece in waterfall if isinstance(waterfall, Sequence) else ():
        if isinstance(piece, Mapping) and isinstance(weight := piece.get("weight"), int | float):
            total += weight
            found.append(Step(_says(piece), float(weight), total))
    return tuple(found)


def markdown(found: Sequence[Step]) -> str:
    """Return the steps as a Markdown table; bars against a match end where those for it begin."""
    lines = ["| Evidence | Against | For | Weight | That is | So far |", "| :-- | --: | :-- | --: | :-- | --: |"]
    for step in found:
        against, speaks_for = bars(step.weight)
        numbers = (f"{step.weight:+.2f}", reading(step.weight), percent(step.probability))
        unbroken = (number.replace(" ", "\u00a0") for number in numbers)
        lines.append("| " + " | ".join((escape(step.says, _LONGEST_TEXT), against, speaks_for, *unbroken)) + " |")
    return "\n".join(lines)


def terminal(found: Sequence[Step]) -> Table:
    """Return the steps as a Rich table; text from memory is plain text in it."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("Evidence", overflow="fold")
    table.add_column("Against", justify="right", style="red", no_wrap=True)
    table.add_column("For", style="green", no_wrap=True)
    table.add_column("Weight", justify="right", no_wrap=True)
    table.add_column("That is")
    table.add_column("So far", justify="right", no_wrap=True)
    for step in found:
        says = Text("".join(c if c.isprintable() else " " for c in step.says)[:_LONGEST_TEXT])
        numbers = (f"{step.weight:+.2f}", reading(step.weight), percent(step.probability))
        table.add_row(says, *bars(step.weight), *numbers)
    return table


def bars(weight: float) -> tuple[str, str]:
    """Return the bar of a weight as (against, for a match): one block per nat, at most ten."""
    halves = min(round(2 * abs(weight)), 2 * _LONGEST_BAR)
    whole = "█" * (halves // 2)
    if weight < 0:
        return "▐" * (halves % 2) + whole, ""
    return "", whole + "▌" * (halves % 2)


def reading(weight: float) -> str:
    """Return the meaning of a weight, such as ``20 times likelier``."""
    if abs(weight) < _SILENT:
        return "says nothing"
    factor = math.exp(abs(weight))
    return f"{_round(factor)} times {'likelier' if weight > 0 else 'less likely'}"


def percent(probability: float) -> str:
    """Format a probability for a person; rounding never makes it certain."""
    if probability > 0.999:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"


def one_in(share: float) -> str:
    """Format a small share as ``about one in 500``."""
    return "fewer than one in ten thousand" if share < 1e-4 else f"about one in {_round(1 / share)}"


def _round(number: float) -> str:
    """Format a number with at most two significant figures."""
    if number < 9.95:
        return f"{number:.2g}"
    size = 10 ** (math.floor(math.log10(number)) - 1)
    return f"{round(number / size) * size:,}"


def _says(piece: Mapping[object, object]) -> str:
    """Return the phrase of a piece of evidence with its value, or words made from its names if it has no phrase."""
    detail, value = piece.get("detail"), piece.get("value")
    if detail is None:
        detail = " ".join(str(part) for k in ("evidence", "level") if (part := piece.get(k))).replace("_", " ")
        detail = detail[:1].upper() + detail[1:]
    return str(detail) if value is None or value == "" else f"{detail} ({value})"


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, odds))))
