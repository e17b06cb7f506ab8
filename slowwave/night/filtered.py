"""What planners propose and which of it may enter a plan, and what the plan then says of the night that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowwave.bindings.writing import why_not_writable
from slowwave.night.outcome import Probes, per_operation
from slowwave.night.proof import not_rejected
from slowwave.operations import BUDGET_SPENT, Inputs, Proposal
from slowwave.plans.items import Item
from slowwave.plans.lowering import LoweredItems, lower_items
from slowwave.plans.scope import DreamScope, within
from slowwave.plans.seal import Plan
from slowwave.reports.model import Report, why_nothing
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.texts.counted import counted


@dataclass(frozen=True, slots=True)
class FilteredProposals:
    """``proposed`` items, how many of them were ``rejected`` before or lie ``out_of_scope``, and the others as the store holds their cells.

    ``held_back`` says why the store may not be written; then no item may enter the plan. ``unreadable`` items touch rows that the night
    leaves out.
    """

    proposed: Sequence[Item]
    rejected: int
    out_of_scope: int
    held_back: str
    lowered: LoweredItems
    unreadable: int = 0

    @property
    def not_planned(self) -> tuple[int, str]:
        """How many proposals are for no plan here, whatever they say, and why; none where the store may be written."""
        return len(self.proposed) if self.held_back else 0, self.held_back

    def why_nothing(self, proposals: Mapping[str, Proposal], carried: int) -> tuple[str, ...]:
        """Why the plan has nothing new in it, a sentence each; ``carried`` items wait in the plan before."""
        sentences = why_nothing(
            [p.report for p in proposals.values()],
            rejected=self.rejected,
            held_back=self.not_planned,
            out_of_scope=self.out_of_scope,
            carried=carried,
        )
        if self.unreadable:
            sentences = (
                *sentences,
                f"{counted(self.unreadable, 'proposal')} left out: rows that they touch hold values which no night can read. The census "
                "names the rows.",
            )
        return (*sentences, *self.lowered.sentences())


def filtered(
    store: Store, snapshot: Snapshot, proposals: Mapping[str, Proposal], scope: DreamScope
) -> FilteredProposals:
    """Leave out what was rejected about these very rows, what lies outside the scope, and all where the store is only read."""
    proposed = [i for p in proposals.values() for i in p.items]
    with store.connect("reader") as connection:
        held_back = why_not_writable(connection, snapshot.namespace_id)
    considered = [] if held_back else proposed
    readable = _readable(snapshot, considered)
    items = not_rejected(snapshot, readable)
    inside = within(scope, snapshot, items)
    lowered = lower_items(store, snapshot.namespace_id, inside)
    return FilteredProposals(
        proposed,
        len(readable) - len(items),
        len(items) - len(inside),
        held_back,
        lowered,
        unreadable=len(considered) - len(readable),
    )


def _readable(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """Leave out items that touch or quote a row which no night can read, or the memory of such a version."""
    odd = {row.row_id for row in snapshot.left_out}
    if not odd:
        return list(items)
    versions = snapshot.table("memory_versions").select(["id", "memory_id"]).to_pylist()
    odd |= {str(version["memory_id"]) for version in versions if version["id"] in odd}
    return [i for i in items if odd.isdisjoint({*(row for _, row in i.rows()), *i.sources})]


def plan_summary(
    plan: Plan,
    probes: Probes,
    made_of: FilteredProposals,
    inputs: Inputs,
    reports: Mapping[str, Report],
    proposals: Mapping[str, Proposal],
    by: str = "",
) -> dict[str, object]:
    """As the ledger stores it beside the plan: what pages, digests and the next night say of it. The plan's hash does not cover it."""
    held_back, lowered = made_of.held_back, made_of.lowered
    said = {**reports, **{name: p.report for name, p in proposals.items()}}
    return {
        "items": per_operation(plan.items),
        "deferred": len(plan.deferred),
        "rejected_before": made_of.rejected,
        **({"held_back": per_operation(made_of.proposed), "why_held_back": held_back} if held_back else {}),
        "out_of_scope": made_of.out_of_scope,
        "budget_spent": sum(int(p.report.numbers.get(BUDGET_SPENT, 0)) for p in proposals.values()),
        "skipped": {name: report.skipped for name, report in said.items() if report.skipped},
        "audits": {name: _report_json(report) for name, report in reports.items()},
        "planners": {name: _report_json(p.report) for name, p in proposals.items()},
        "sentences": [*probes.sentences, *lowered.sentences()],
        **({"left_out": dict(lowered.off)} if lowered.off else {}),
        "needs_force": list(probes.needs_force),
        "snapshot_id": inputs.snapshot.snapshot_id,
        **({"proposed_by": [by]} if by else {}),
        "baselines": {**inputs.baselines, **{name: dict(r.details) for name, r in reports.items() if r.details}},
    }


def _report_json(report: Report) -> dict[str, object]:
    return {"headline": report.headline, "numbers": dict(report.numbers)}
