"""The last answer to a question about tables, kept as long as the tables are: the audits and planners of one night ask the same."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Last(Generic[Answer]):
    """An answer, and what it was given for: tables or matrices, held by weak references, and whatever else was asked."""

    def __init__(self) -> None:
        self._known: tuple[tuple[weakref.ReferenceType[object], ...], object, Answer] | None = None

    def of(self, tables: Sequence[object], asked: object, find: Callable[[], Answer]) -> Answer:
        """What was found in these very tables when the same was asked, or what ``find`` finds now."""
        if self._known is not None:
            held, what, answer = self._known
            alive = [reference() for reference in held]
            if what == asked and len(alive) == len(tables) and all(map(operator.is_, alive, tables)):
                return answer
        found = find()
        self._known = tuple(weakref.ref(table, self._let_go) for table in tables), asked, found
        return found

    def _let_go(self, gone: weakref.ReferenceType[object]) -> None:
        """Forget the answer with the first of its tables that goes: it may be as large as they are."""
        known = self._known
        if known is not None and any(reference is gone for reference in known[0]):
            self._known = None
