"""Inputs, results and declarations of audits and planners; ``slowwave.operations.registry`` finds them."""

from __future__ import annotations

from slowwave.operations.operation import BUDGET_SPENT, Audit, Inputs, Operation, Planner, Proposal, operation
from slowwave.operations.registry import (
    AUDITS,
    FORBIDDEN,
    PLANNERS,
    WEEKLY,
    khora_kinds,
    named,
    operations,
    permits,
    run_audit,
    run_planner,
    skip_reason,
    weekly,
    weekly_operations,
)

__all__ = [
    "AUDITS",
    "BUDGET_SPENT",
    "FORBIDDEN",
    "PLANNERS",
    "WEEKLY",
    "Audit",
    "Inputs",
    "Operation",
    "Planner",
    "Proposal",
    "khora_kinds",
    "named",
    "operation",
    "operations",
    "permits",
    "run_audit",
    "run_planner",
    "skip_reason",
    "weekly",
    "weekly_operations",
]
