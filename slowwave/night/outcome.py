"""What a night came to: its reports, its plan and what the plan proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.plans.items import Item
from slowwave.plans.seal import Plan
from slowwave.reports.model import Report
from slowwave.texts.quotation import quotable


@dataclass(frozen=True, slots=True)
class Probes:
    """What a plan proved before anyone sees it: JSON by probe, a sentence each, and what needs force to approve; ``waits`` are those of the
    sentences that tell what was left for another night.
    """

    results: Mapping[str, object]
    sentences: tuple[str, ...]
    needs_force: tuple[str, ...]
    waits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", quotable(self.results))  # they name what would be lost


@dataclass(frozen=True, slots=True, eq=False)
class Night:
    """What a night produced. ``new_items`` is 0 when nothing is to be decided, and ``why_nothing`` has the sentences that say why;
    ``skipped`` says why there was none, and ``removed_store`` which store is connected no more, if that is why; ``held_back`` is how many
    proposals are for no plan there, and why; ``rejected`` is how many questions accepted policies rejected. ``settled`` are the
    ids of the items that policies approved or rejected. ``state`` is the plan's, see ``slowwave.plans.states``.
    """

    namespace: str
    run_id: str = ""
    snapshot_id: str = ""
    reports: Mapping[str, Report] = field(default_factory=dict)
    proposals: Mapping[str, Report] = field(default_factory=dict)
    plan: Plan | None = None
    state: str = ""
    probes: Probes | None = None
    new_items: int = 0
    carried_items: int = 0
    skipped: str = ""
    removed_store: str = ""
    why_nothing: tuple[str, ...] = ()
    held_back: tuple[int, str] = (0, "")
    rejected: int = 0
    settled: frozenset[str] = frozenset()

    def pending(self, *, questions: bool) -> int:
        """Count the items of the plan that no policy settled: its questions, or the items that planners decided."""
        items = self.plan.items if self.plan else ()
        return sum((i.decision == "review") == questions and i.id not in self.settled for i in items)

    def to_json(self) -> dict[str, object]:
        """As the command line's ``--json`` shows it."""
        return {
            "namespace": self.namespace,
            "run_id": self.run_id,
            "snapshot_id": self.snapshot_id,
            "plan_hash": self.plan.plan_hash if self.plan else None,
            "state": self.state,
            "new_items": self.new_items,
            "carried_items": self.carried_items,
            "decided_items": self.pending(questions=False),
            "questions": self.pending(questions=True),
            "rejected_items": self.rejected,
            "deferred_items": len(self.plan.deferred) if self.plan else 0,
            "items": per_operation(self.plan.items) if self.plan else {},
            "audits": {name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.reports.items()},
            "planners": {
                name: {"headline": r.headline, "numbers": dict(r.numbers)} for name, r in self.proposals.items()
            },
            "probes": dict(self.probes.results) if self.probes else {},
            "skipped": self.skipped,
            "why_nothing": list(self.why_nothing),
        }


def per_operation(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """Operation → decision → how many items."""
    counts: dict[str, dict[str, int]] = {}
    for item in items:
        decisions = counts.setdefault(item.operation, {})
        decisions[item.decision] = decisions.get(item.decision, 0) + 1
    return counts
