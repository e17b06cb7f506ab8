"""``proposed_changes``: changes that agents propose at run time, sealed as separate plans (``slowwave.wiki.proposals``).

A night proposes none of them. Each is proposed by name and approved by a person, so it needs no measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from slowwave.operations import Inputs, Proposal, operation
from slowwave.plans.permitted import OF_CLAIMS, OF_PAGES, PAGE_PARTS, Permit
from slowwave.plans.report import Report


@operation(
    kind="planner",
    reads=("documents", "memories", "rejections"),
    switch=False,
    permits=(
        Permit("write_page", {"documents"}, risk="medium", beside=OF_PAGES, ends=PAGE_PARTS),
        Permit(
            *("forget_rows", {"documents", "memories"}, "high"),
            beside={"corpora", "documents", "chunks", "links", "claim_events"},
            retires=None,
            ends=PAGE_PARTS | {"documents"},
        ),
        Permit("forget_rows", {"erasures"}, "high"),
        Permit("write_claims", {"memories"}, risk="medium", beside=OF_CLAIMS, retires=None, ends=PAGE_PARTS),
    ),
)
def proposed_changes(inputs: Inputs) -> Proposal:
    """Propose the pages and statements of agents: each proposal is a separate plan that needs approval by a person.

    `slowwave proposals plan` seals these plans; a night does not propose anything here.
    """
    return Proposal((), Report("proposed_changes", "What agents propose is sealed as plans of its own."))
