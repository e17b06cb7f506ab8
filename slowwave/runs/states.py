"""The states of a run, and which may follow which: the one table of transitions.

The trigger ``states`` of ``night.runs`` refuses in the database what is not in the table; a test compares the two. Every statement that
changes a state takes the states that it comes from from here, so that whoever lost a race changes nothing and learns so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

Mode = Literal["plan", "apply", "undo", "deep"]
"""What a run is for. A ``plan`` run goes on as what becomes of its plan, and so does a ``deep`` one, whose plan comes of a model's work on
a scratch copy; ``apply`` and ``undo`` runs write."""

State = Literal[
    "planning",
    "applying",
    "paused",
    "crashed",
    "cancelled",
    "refused",
    "awaiting_approval",
    "approved",
    "completed",
    "empty",
    "rejected",
    "expired",
    "superseded",
]
"""``empty`` is in rows of earlier versions alone: a plan run that finds nothing is ``completed``. A rule said no to a
run that is ``refused``, and its error says why: an undo that could not be done exactly and changed nothing, or an apply, of which what it
committed stands and which the next attempt goes on with."""

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    "planning": frozenset({"awaiting_approval", "completed", "crashed", "cancelled"}),
    "applying": frozenset({"completed", "crashed", "cancelled", "paused", "refused"}),
    "paused": frozenset({"applying", "cancelled"}),
    "crashed": frozenset({"planning", "applying", "cancelled"}),
    "cancelled": frozenset({"planning", "applying"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired", "superseded"}),
    "approved": frozenset({"awaiting_approval", "rejected", "superseded"}),
    "completed": frozenset(),
    "refused": frozenset({"applying", "cancelled"}),
    "empty": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
    "superseded": frozenset(),
}
"""State → the states that may follow it. A run is inserted as ``planning`` or ``applying``."""

FINAL: Final = frozenset(state for state, after in TRANSITIONS.items() if not after)
"""The states that nothing follows."""

HOLDING: Final[tuple[State, ...]] = ("planning", "applying")
"""The states of a run that holds its namespace."""


def sources(to: State, among: Iterable[State] | None = None) -> list[State]:
    """The states from which a run may go to ``to``: all of them, or those ``among`` which the caller names.

    Raises ``ValueError`` for one that ``to`` may not follow: a statement that named it would be refused by the database.
    """
    allowed: list[State] = [state for state, after in TRANSITIONS.items() if to in after]
    if among is None:
        return allowed
    chosen = list(among)
    if beyond := [state for state in chosen if state not in allowed]:
        raise ValueError(f"A run that is {', '.join(beyond)} cannot become {to}.")
    return chosen
