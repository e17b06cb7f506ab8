"""Conflicts: rows that cannot both be true.

This package finds them in a snapshot. ``slowwave.plans.conflicts`` keeps them in the ledger, and
``slowwave.operations.planners.resolve_conflicts`` decides them.
"""

from __future__ import annotations
