"""Succession: of statements that hold one at a time, which one held when. Pure.

Each begins at its instant and ends where the next one begins, whenever it was said. So a statement that arrives late takes its place in
history and never ends a newer one, and what is told in the end does not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple


class Period(NamedTuple):
    """A statement that holds from ``since`` until just before ``until``."""

    id: str
    since: datetime
    until: datetime | None


class Succession(NamedTuple):
    """``closes`` end where the new statement begins. It ends at ``until``, where ``ended_by`` begins, if anything came after it."""

    closes: tuple[str, ...]
    until: datetime | None = None
    ended_by: str | None = None


def succession(since: datetime, periods: Iterable[Period]) -> Succession:
    """The place of a statement that holds from ``since`` among others. Of those that begin at the same instant the one said last holds."""
    closes: list[str] = []
    later: Period | None = None
    for period in periods:
        if period.since > since:
            later = period if later is None or (period.since, period.id) < (later.since, later.id) else later
        elif period.until is None or period.until > since:
            closes.append(period.id)
    closed = tuple(sorted(closes))
    return Succession(closed) if later is None else Succession(closed, later.since, later.id)
