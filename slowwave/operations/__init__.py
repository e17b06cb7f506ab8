"""What every audit and planner is given, gives and declares; finding them belongs to ``slowwave.operations.registry``."""

from __future__ import annotations

from slowwave.operations.inputs import BUDGET_SPENT, Inputs, Proposal
from slowwave.operations.registry import AUDITS, PLANNERS, khora_kinds, operations, weekly_operations
from slowwave.operations.run import FORBIDDEN, named, run_audit, run_planner, skip_reason, weekly
from slowwave.operations.spec import Audit, Operation, Planner, operation

__all__ = [
    "AUDITS",
    "BUDGET_SPENT",
    "FORBIDDEN",
    "PLANNERS",
    "Audit",
    "Inputs",
    "Operation",
    "Planner",
    "Proposal",
    "khora_kinds",
    "named",
    "operation",
    "operations",
    "run_audit",
    "run_planner",
    "skip_reason",
    "weekly",
    "weekly_operations",
]
