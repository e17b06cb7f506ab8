"""The assets of this project: a night of each namespace from snapshot to plan, and what people and jobs do with the plan."""

from slowwave.dagster import build_assets, build_checks

ASSETS = build_assets()
"""Snapshot, SQL models, audits, planners and plan; approvals, applied changes and the assets that follow them."""

CHECKS = build_checks()
"""The store's contract in Great Expectations, the invariants of applied plans, and the freshness alarms."""
