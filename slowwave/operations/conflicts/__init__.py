"""Conflicts: rows that cannot both be true. Found here over a snapshot; kept in the ledger by ``slowwave.plans.conflicts``, decided by
``slowwave.operations.planners.resolve_conflicts``.
"""

from __future__ import annotations
