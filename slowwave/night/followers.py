"""Followers keep files in step with rows, such as folders that are worked on in place and pages that are written as files.

A package adds a follower by an entry point of the group ``slowwave.followers``, which names a class without arguments. The night calls
each follower before it reads a namespace. Apply and undo call each before they write and after their rows changed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol

import psycopg

from slowwave.errors import SettingsError, SlowwaveError, UndoBlocked
from slowwave.operations.registry import GROUP as OPERATIONS
from slowwave.store.claims import NamespaceClaim
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings

GROUP: Final = "slowwave.followers"
"""The group of entry points by which packages add followers."""


_NOTE_FINDING: Final = """
INSERT INTO night.findings (id, namespace_id, run_id, operation, severity, message)
  VALUES (gen_random_uuid(), %s, %s, %s, 'warning', %s)
"""

_LOG: Final = logging.getLogger(__name__)


class Follower(Protocol):
    """Files or pages that follow the rows of a namespace."""

    def before_night(self, store: Store, namespace: str) -> None:
        """Update the rows of a namespace, given its name, from its files.

        Raises ``Refused`` if the files cannot be read.
        """
        ...

    def before_write(self, store: Store, connection: Connection, namespace: str) -> None:
        """Do the same before an apply or an undo, which ``connection`` has begun."""
        ...

    def after_write(
        self, store: Store, claim: NamespaceClaim, settings: Settings, wrote: Collection[str], *, undo: bool = False
    ) -> None:
        """Update the files from the rows; ``wrote`` names which of the tables ``pages`` and ``documents`` the run wrote.

        The rows are committed, so any failure here becomes a warning on the run and is never raised.
        """
        ...

    def explain(self, store: Store, problem: UndoBlocked) -> UndoBlocked:
        """Return the refusal of an undo, extended by the places in files of the rows that it names."""
        ...


@cache
def followers() -> tuple[Follower, ...]:
    """Return every installed follower, by the name of its entry point."""
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return tuple(made for point in points if (made := _load(point)) is not None)


def _load(point: EntryPoint) -> Follower | None:
    """Return a follower, or None if the package that contains it is not installed."""
    try:
        return point.load()()
    except ModuleNotFoundError as problem:
        if problem.name and point.module.startswith(problem.name) and point.dist and point.dist.name == "slowwave":
            return None
        raise SettingsError(
            f"The entry point {point.name} = {point.value} of {GROUP} cannot be loaded ({problem}). Repair that package or uninstall it."
        ) from problem


def diagnose_installation() -> list[Diagnosis]:
    """Find entry points that the installation lacks: an editable one keeps those of the day on which it was made.

    Without them a night runs no planner of pages and claims, and files do not follow their rows.
    """
    missing = [
        group
        for group in (OPERATIONS, GROUP)
        if not any(point.dist and point.dist.name == "slowwave" for point in entry_points(group=group))
    ]
    if not missing:
        return []
    return [
        Diagnosis(
            f"The installation lacks the entry points {' and '.join(missing)}, so nights leave out the planners of pages and claims, or "
            "files do not follow their rows.",
            "Install Slowwave again: `pip install .`, or `pip install -e .` in a checkout.",
        )
    ]


_NAMED: Final = 5


def warn(store: Store, claim: NamespaceClaim, about: str, problems: Sequence[str]) -> None:
    """Record why files could not follow, as warnings on the run; they are shown under the operation ``about``.

    The first ``_NAMED`` are recorded, and the number of the others.
    """
    if len(problems) > _NAMED:
        problems = [*problems[:_NAMED], f"So it is with {len(problems) - _NAMED:,} more."]
    for problem in problems:
        _LOG.warning("Run %s: %s", claim.run_id, problem)
    try:
        with store.connect("applier") as connection, connection.cursor() as cursor:
            cursor.executemany(
                _NOTE_FINDING,
                [(claim.namespace_id, claim.run_id, about, problem) for problem in problems],
            )
    except (SlowwaveError, psycopg.Error) as problem:
        _LOG.warning("Run %s: the warnings could not be recorded (%s).", claim.run_id, type(problem).__name__)
