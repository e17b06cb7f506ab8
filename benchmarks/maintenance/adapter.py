"""The interface between the benchmark and a memory system: one class with a name and four methods.

To measure another system, write such a class (``adapters.KeepNewest`` has nine lines), put it into ``adapters.ADAPTERS`` and run
``python -m benchmarks.maintenance``. The scorer calls ``load`` once, ``live``, ``maintain`` once, then ``live`` and ``questions``. Each
history gets a new instance, so a system with a server uses a new namespace or user in ``load``. Keep the ids of statements next to what
you store, for instance as metadata: the scorer must know which statements a stored text came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol


class Statement(NamedTuple):
    """A note or a message of one user, in English.

    ``id`` counts from 0 within a history, in the order of ``at`` (UTC). Statements of one day share a ``session``. A ``note`` was written
    to be remembered, a ``message`` is a turn of a conversation with an assistant.
    """

    id: int
    text: str
    at: datetime
    session: str
    kind: Literal["note", "message"] = "note"
    author: str = "user"


class LiveText(NamedTuple):
    """A text that the system would return to an agent by default.

    ``sources`` are the ids of the statements that the text still presents as true: one for a stored statement, several after a merge. A
    statement that the text marks as over is not a source.
    """

    text: str
    sources: frozenset[int]


class Question(NamedTuple):
    """A question to a person that is open after maintenance.

    ``statements`` are the ids of the statements that an answer would end, merge or keep: usually two. A question about several pairs is
    several questions. ``about`` is ``other`` for questions about something else, such as a spelling, a date or a secret.
    """

    statements: frozenset[int]
    about: Literal["change", "other"] = "change"


class MemorySystem(Protocol):
    """A memory system under test."""

    name: str

    def load(self, statements: Sequence[Statement]) -> None:
        """Store all statements of a history, oldest first, each at its own time."""
        ...

    def maintain(self) -> None:
        """Do once what the system does without a person. Nobody answers its questions before the score is taken."""
        ...

    def live(self) -> Sequence[LiveText]:
        """Return the texts that an agent finds by default, in any order."""
        ...

    def questions(self) -> Sequence[Question]:
        """Return the open questions; an empty sequence if the system never asks."""
        ...
