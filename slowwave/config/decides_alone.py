"""Which rules may decide without a question, and the measurements that allow it.

A planner asks ``decides_alone`` with its operation and the pattern that found the change. The answer is yes only if the precision of the
pattern, measured on labelled texts that were not used to write it, has a 95 % lower bound of at least ``REQUIRED`` for its kind of change.
Otherwise the planner makes a question (``review``) of it. A pattern that is not in ``PATTERNS`` asks. ``python -m benchmarks.decisions``
measures the patterns; docs/decisions.md shows the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Change = Literal["meaning", "merge", "date", "mechanical"]
"""Meaning: retires, ends, quarantines, shortens or replaces words. Merge: of entities, facts or equal texts. Date: written next to its
phrase. Mechanical: follows from the rows alone, such as a reference to a row that does not exist."""

REQUIRED: Final[Mapping[Change, float]] = {"meaning": 0.99, "merge": 0.97, "date": 0.97, "mechanical": 0.0}
"""Kind of change → the lower bound of its precision from which a pattern decides alone: .99 takes 381 decisions without an error."""

_Z: Final = 1.959963984540054  # of a two-sided interval of 95 %


class Pattern(NamedTuple):
    """A pattern of an operation and its measurement: ``decisions`` on the kept-back half of ``data``, of which ``errors`` were wrong."""

    operation: str
    name: str
    change: Change
    decisions: int = 0
    errors: int = 0
    data: str = ""

    @property
    def lower_bound(self) -> float:
        """The lower end of the 95 % interval of the precision (Wilson 1927); 0 without a measurement."""
        return lower_bound(self.decisions, self.errors)

    @property
    def decides_alone(self) -> bool:
        """Whether the measurement allows decisions without a question."""
        return self.lower_bound >= REQUIRED[self.change]


def lower_bound(decisions: int, errors: int) -> float:
    """Return the lower end of Wilson's 95 % interval of the share of right decisions; 0 if there are none."""
    if not decisions:
        return 0.0
    right = (decisions - errors) / decisions
    spread = _Z * math.sqrt(right * (1 - right) / decisions + _Z**2 / (4 * decisions**2))
    return (right + _Z**2 / (2 * decisions) - spread) / (1 + _Z**2 / decisions)


PATTERNS: Final[tuple[Pattern, ...]] = (
    Pattern("gc_references", "dead reference", "mechanical"),
    Pattern("normalize_schema", "renamed type", "mechanical"),
    Pattern("purge_expired", "expired row", "mechanical"),
    # conflicts: benchmarks.decisions, kept-back half
    Pattern("mark_ended_statements", "another value", "meaning", 2, 0, "changed_facts notes"),
    Pattern("mark_ended_statements", "mention", "meaning", 6, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: description", "meaning", 4, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: figures", "meaning", 3, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: over", "meaning", 10, 1, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: relation lives in", "meaning", 1, 0, "changed_facts notes"),
    Pattern("resolve_conflicts", "memories: relation works for", "meaning", 1, 0, "changed_facts notes"),
    Pattern(
        "resolve_conflicts", "memories: texts", "meaning", 3, 0, "FEVER Symmetric, development set; changed_facts notes"
    ),
    # texts
    Pattern(
        "absolutize_dates",
        "counted from the day",
        "date",
        150,
        0,
        "duckling_en and memorybank, kept-back halves; unseen/dates*.toml",
    ),
    Pattern("absolutize_dates", "nearest date", "date", 65, 1, "duckling_en, kept-back half; unseen/dates*.toml"),
    Pattern("absolutize_dates", "counted from the day, replaced", "meaning", 150, 0, "as written next to the phrase"),
    Pattern("absolutize_dates", "nearest date, replaced", "meaning", 65, 1, "as written next to the phrase"),
    Pattern("redact_or_quarantine", "checksummed format", "mechanical", data="wrong in none of 9,346 harmless texts"),
    Pattern("redact_or_quarantine", "verified prefix", "mechanical", data="wrong in none of 9,346 harmless texts"),
    Pattern("redact_or_quarantine", "hidden characters", "mechanical", data="wrong in none of 9,346 harmless texts"),
)
"""Every pattern that may decide, with its measurement. One line per operation and pattern."""

_BY_NAME: Final[Mapping[tuple[str, str], Pattern]] = {(p.operation, p.name): p for p in PATTERNS}


def decides_alone(operation: str, pattern: str) -> bool:
    """Return whether a pattern of an operation may change rows without a question; False for one that is not declared."""
    found = _BY_NAME.get((operation, pattern))
    return found is not None and found.decides_alone


def why_asked(operation: str, pattern: str) -> str:
    """Return the sentence that tells an operator why a pattern asks although it is sure; empty for one that decides alone."""
    found = _BY_NAME.get((operation, pattern))
    if found is not None and found.decides_alone:
        return ""
    if found is None or not found.decisions:
        return f"The rule “{pattern}” is not measured well enough to decide without you."
    return (
        f"The rule “{pattern}” was right in {found.decisions - found.errors:,} of {found.decisions:,} measured cases; to decide without "
        f"you, the lower bound of its precision must be {REQUIRED[found.change]:.2f}, and it is {found.lower_bound:.3f}."
    )
