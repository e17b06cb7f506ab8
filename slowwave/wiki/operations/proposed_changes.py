"""``proposed_changes``: changes that agents propose at run time, sealed as separate plans (``slowwave.wiki.proposals``).

A night proposes none of them. Each is proposed by name and approved by a person, so it needs no measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from slowwave.operations import Inputs, Proposal
from slowwave.plans.report import Report


def proposed_changes(inputs: Inputs) -> Proposal:
    """Propose the pages and statements of agents: each proposal is a separate plan that needs approval by a person."""
    return Proposal((), Report("proposed_changes", "What agents propose is sealed as plans of its own."))
