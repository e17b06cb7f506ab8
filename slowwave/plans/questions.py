"""What a review item asks a person: one short sentence, kept beside the item as its ``reason``.

A person is asked for one of several reasons: whether rows are the same, whether a value may be lost, which of two sides is right, whether
something may go. The sentence names rows and lost values, and no text of memory beyond them; secrets do not pass. It is no part of an
item's id or subject, on which rejections rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slowwave.mutations.mutation import Mutation
from slowwave.plans.items import Item

SAME: Final = {"memory_facts": "say the same", "memories": "tell the same"}
"""Table → what merged rows have in common; rows of other tables are one thing."""

_LONGEST: Final = 300
_TERMS: Final = 5

Losses = Mapping[str, Sequence[tuple[str, str]]]
"""Item → (row, term) of what it would lose."""


def questions(items: Iterable[Item], lost: Losses, *, only: frozenset[str] = frozenset()) -> dict[str, str]:
    """Review item → what it asks. For those of ``only`` the planner had decided, and what they would lose is the whole question."""
    return {i.id: question(i, lost.get(i.id, ()), only=i.id in only) for i in items if i.decision == "review"}


def question(item: Item, lost: Sequence[tuple[str, str]] = (), *, only: bool = False) -> str:
    """The sentence for one item, without what screening takes out of it; at most some 300 characters."""
    from slowwave.texts.screening import redact  # its rules take a while to load

    loss = f"would lose {losses(item, lost)}" if lost else ""
    if loss and only:
        return redact(f"{loss[0].upper()}{loss[1:]}.")
    asked = f"{_asked(item)} It {loss}." if loss else _asked(item)
    reason = item.evidence.get("reason")
    message = f"{asked} {reason}" if isinstance(reason, str) and reason else asked
    return redact(message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…")


def losses(item: Item, lost: Sequence[tuple[str, str]]) -> str:
    """What would be lost, row by row: "12.50 EUR and Tuesday of row 17"; the first few terms of each."""
    rows: dict[str, list[str]] = defaultdict(list)
    for row, term in lost:
        rows[row].append(term)
    parts: list[str] = []
    for row, terms in rows.items():
        shown = sorted(terms)[:_TERMS]
        more = f" and {len(terms) - len(shown)} more" if len(terms) > len(shown) else ""
        parts.append(f"{', '.join(term[:60] for term in shown)}{more} of row {_named(item.mutation, row)}")
    return "; ".join(parts)


def _named(mutation: Mutation, id_: str) -> str:
    rows = (*mutation.rows, *mutation.absorb, *((mutation.keep,) if mutation.keep else ()))
    return next((row.external_id for row in rows if row.id == id_ and row.external_id), id_[:8])


def _asked(item: Item) -> str:
    mutation = item.mutation
    states = {w.value for w in mutation.writes if w.cell.column == "state"}
    if mutation.keep:
        return f"Are these {_SAME_ASKED.get(mutation.table, 'rows one thing')}?"
    if "earlier" in item.evidence and "later" in item.evidence:
        return "Has the later one replaced the earlier one?"
    if "winner_id" in item.evidence:
        return "Which of the two is right?"
    if mutation.deletes:
        return "May these rows be deleted?"
    if "quarantined" in states:
        return "Should this leave recall?"
    if mutation.kind == "invalidate_rows":
        return "May this row go?"
    return "May this be changed?"


_SAME_ASKED: Final = {"memory_facts": "facts the same", "memories": "memories the same"}
