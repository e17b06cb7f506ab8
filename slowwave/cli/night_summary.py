"""What nights of many namespaces came to, on one page: totals, where most is to be decided, what failed, and what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slowwave.cli.session import err, program, say, show_table, suggest
from slowwave.errors import SlowwaveError
from slowwave.plans.commands import argument
from slowwave.texts.counted import counted

if TYPE_CHECKING:
    from slowwave.night.outcome import Night


LISTED: Final = 10
"""Namespaces, and operations, that are named."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A namespace with items to decide: those that an approval of its plan covers, and those that are asked one by one."""

    namespace: str
    decided: int
    reviews: int


@dataclass(slots=True)
class NightTotals:
    """Counts of nights as they end: a night of a thousand users need not be kept whole to be told."""

    looked: int = 0
    unchanged: int = 0
    removed: int = 0
    off: int = 0
    held: int = 0
    new: int = 0
    carried: int = 0
    deferred: int = 0
    operations: dict[str, Counter[str]] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    held_back: Counter[str] = field(default_factory=Counter)
    without_vectors: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    planned: list[_Planned] = field(default_factory=list)
    by_policy: list[str] = field(default_factory=list)
    failures: list[tuple[str, SlowwaveError]] = field(default_factory=list)

    def add(self, one: Night) -> None:
        """Count one night."""
        from slowwave.night.outcome import per_operation
        from slowwave.operations.coverage import compared_no_vectors

        for name, report in {**one.reports, **one.proposals}.items():
            if compared_no_vectors(report):
                (self.without_vectors if report.skipped else self.limited)[name] += 1
        self.looked += 1
        self.removed += bool(one.removed_store)
        self.unchanged += bool(one.skipped) and not one.removed_store
        self.new += one.new_items
        self.carried += one.carried_items
        self.findings.update({name: r.finding_count for name, r in one.reports.items() if r.finding_count})
        if one.plan is None or not one.plan.items:
            proposals, why = one.held_back
            if proposals:
                self.held += 1
                self.held_back[why] += proposals
            return
        self.deferred += len(one.plan.deferred)
        counted = per_operation(one.plan.items)
        for operation, decisions in counted.items():
            self.operations.setdefault(operation, Counter()).update(decisions)
        if one.state in ("approved", "partly_approved"):
            self.by_policy.append(one.namespace)
        reviews = sum(decisions.get("review", 0) for decisions in counted.values())
        decided = len(one.plan.items) - reviews
        self.planned.append(_Planned(one.namespace, decided, reviews))

    def most(self) -> list[_Planned]:
        """Those with most to review first, then those with most to approve, then by name."""
        return sorted(self.planned, key=lambda p: (-p.reviews, -p.decided, p.namespace))[:LISTED]

    def show(self, plan_of: Callable[[str], str | None]) -> None:
        """Print it; what failed is ``show_failures``'s to say. ``plan_of`` says in which plan the items of a namespace wait: those that a
        night found again wait in the one before."""
        nothing = self.looked - self.unchanged - self.removed - self.held - len(self.planned)
        parts = [
            f"{len(self.planned):,} with a plan",
            *([f"{self.held:,} whose proposals are not planned"] if self.held else []),
            *([f"{nothing:,} with nothing to do"] if nothing else []),
            *([f"{self.unchanged:,} unchanged"] if self.unchanged else []),
            *([f"{self.removed:,} of stores that were removed and are not read"] if self.removed else []),
            *([f"{self.off:,} whose nights are off"] if self.off else []),
            *([f"{len(self.failures):,} failed"] if self.failures else []),
        ]
        say(f"{self.looked + self.off + len(self.failures):,} namespaces: {', '.join(parts)}.")
        reviews, decided = sum(p.reviews for p in self.planned), sum(p.decided for p in self.planned)
        late = f", {self.deferred:,} deferred" if self.deferred else ""
        say(
            f"{counted(self.new, 'new item')}, {self.carried:,} carried over{late}: {decided:,} to approve, {counted(reviews, 'question')}."
        )
        if self.findings:
            say(f"Found by audits: {_counts_text(self.findings)}.")
        if self.operations:
            say(f"Proposed: {_counts_text({name: sum(n.values()) for name, n in self.operations.items()})}.")
        if self.without_vectors:
            say(f"Did not run where no memory has a vector: {_counts_text(self.without_vectors)} (namespaces).")
        if self.limited:
            say(f"Compared no memories by meaning, for want of vectors: {_counts_text(self.limited)} (namespaces).")
        if self.without_vectors or self.limited:
            say("The night of one of these namespaces names the command that adds vectors.")
        for why, many in self.held_back.most_common(1):
            say(f"{counted(many, 'proposal is', 'proposals are')} not planned. {why}")
        if self.planned:
            show_table(
                "Most to review",
                ("namespace", "questions", "to approve", "plan"),
                [
                    (p.namespace, f"{p.reviews:,}", f"{p.decided:,}", (plan_of(p.namespace) or "")[:12])
                    for p in self.most()
                ],
            )
            first = argument(self.most()[0].namespace)
            suggest("A plan, then all of them in a browser", f"{program()} plans show {first}", f"{program()} review")
        if self.by_policy:
            one = argument(self.by_policy[0])
            suggest(f"A policy approved items of {len(self.by_policy):,} plans. The first", f"{program()} apply {one}")
        if self.removed:
            suggest("A store that was removed can be connected again", f"{program()} connect --help")
        suggest("What each night says", f"{program()} night ALL --force --verbose")


def show_failures(failures: Sequence[tuple[str, SlowwaveError]]) -> None:
    """Those that failed of the same are named in one sentence, on standard error."""
    alike: dict[str, list[tuple[str, SlowwaveError]]] = {}
    for name, problem in failures:
        alike.setdefault(re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "", str(problem)), []).append((name, problem))
    for same in alike.values():
        names = [name for name, _ in same]
        more = f" and {len(names) - LISTED:,} more; of the first" if len(names) > LISTED else ""
        say(f"{', '.join(names[:LISTED])}{more}: {same[0][1]}", console=err)


def _counts_text(counts: Mapping[str, int]) -> str:
    """Counts by name, the most first, the tail as how many there are of it."""
    ordered = sorted(((n, name) for name, n in counts.items() if n), key=lambda pair: (-pair[0], pair[1]))
    rest = sum(n for n, _ in ordered[LISTED:])
    return ", ".join(f"{name} {n:,}" for n, name in ordered[:LISTED]) + (f", others {rest:,}" if rest else "")
