"""Which items of a plan are shown, in which order and under which heading: questions for a person first, each under what it asks.

Pure functions of the items; names, widths and printing belong to the surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, get_args

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredItem
from slowwave.plans.questions import HEADINGS

Sort = Literal["plan", "probability", "risk", "operation"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
"""By the order of the plan, the least probable first, the greatest risk first, or by operation."""

_RISKS: Final = {"high": 0, "medium": 1, "low": 2}
_SORTED: Final[Mapping[Sort, Callable[[StoredItem], tuple[object, ...]]]] = {
    "plan": lambda _: (),
    "probability": lambda s: (s.probability,),
    "risk": lambda s: (_RISKS.get(s.risk, 3), s.probability),
    "operation": lambda s: (s.operation,),
}
_WAITING: Final = ("pending", "approved")


@dataclass(frozen=True, slots=True)
class Selection:
    """What somebody asked to see. ``decisions`` and ``operations`` are alternatives, none of them is all; ``decisions`` may say ``auto``
    for all that is no review. ``limit`` items make a page; None is all of them.
    """

    decisions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    sort: str = "plan"
    limit: int | None = None
    page: int = 1

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise Refused(f"{self.sort[:40]!r} is no order of items. Sort by {', '.join(SORTS[:-1])} or {SORTS[-1]}.")

    @property
    def narrows(self) -> bool:
        """Whether it leaves any item out."""
        return bool(self.decisions or self.operations or self.limit is not None)


@dataclass(frozen=True, slots=True)
class SelectedItems:
    """``items`` are those of the page, in the order in which they are shown; ``first`` is the place of the first of them among the
    ``matching``, counted from 1.
    """

    items: tuple[StoredItem, ...]
    first: int
    matching: int
    of: int
    page: int
    pages: int

    def groups(self) -> Iterator[tuple[str, list[StoredItem]]]:
        """Heading → its items on this page."""
        for heading, items in groupby(self.items, heading_of):
            yield heading, list(items)


def choose(items: Sequence[StoredItem], selection: Selection) -> SelectedItems:
    """The items of a page. A decision, an operation or a page that the plan has none of is refused with those that it has.

    Order: what waits for a person's answer by what is asked, then what was decided by operation, then what was deferred; inside of each
    as ``sort`` says.
    """
    _refuse_unknown("decision", selection.decisions, {"review", "auto", *(s.decision for s in items)})
    _refuse_unknown("operation", selection.operations, {s.operation for s in items})
    matching = [
        s
        for s in items
        if (not selection.decisions or s.decision in selection.decisions or _auto(s, selection.decisions))
        and (not selection.operations or s.operation in selection.operations)
    ]
    places = {heading: n for n, heading in enumerate(dict.fromkeys(heading_of(s) for s in matching))}
    by = next(by for name, by in _SORTED.items() if name == selection.sort)
    matching.sort(key=lambda s: (_rank(s), places[heading_of(s)], by(s)))
    size = selection.limit or max(1, len(matching))
    pages = max(1, -(-len(matching) // size))
    if not 1 <= selection.page <= pages:
        raise Refused(f"There is no page {selection.page:,}: {len(matching):,} items make {pages:,} of {size:,}.")
    begin = (selection.page - 1) * size
    return SelectedItems(
        tuple(matching[begin : begin + size]), begin + 1, len(matching), len(items), selection.page, pages
    )


def heading_of(stored: StoredItem) -> str:
    """Under what an item is shown: what a person is asked, else what was decided by which operation, and at which risk."""
    if stored.status == "deferred":
        return "Deferred to the next night"
    if stored.decision == "review":
        return asked(stored)
    return f"{stored.operation} · {stored.decision} · {stored.risk} risk"


def asked(stored: StoredItem) -> str:
    """What a review item asks, without the values and rows that it asks about: by its code, or by its sentence where it has none."""
    if stored.question in HEADINGS:
        return HEADINGS[stored.question]
    question, mark, _ = stored.reason.partition("?")
    if mark:
        return f"{question}?"
    return HEADINGS["value_lost" if stored.reason.startswith("Would lose") else "change"]


def _rank(stored: StoredItem) -> int:
    if stored.status == "deferred":
        return 3
    if stored.decision == "review":
        return 0 if stored.status in _WAITING else 2
    return 1


def _auto(stored: StoredItem, decisions: Sequence[str]) -> bool:
    return "auto" in decisions and stored.decision != "review"


def _refuse_unknown(what: str, given: Sequence[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise Refused(f"The plan has no {what} {name[:40]!r}. It has {', '.join(sorted(known)) or 'none'}.")
