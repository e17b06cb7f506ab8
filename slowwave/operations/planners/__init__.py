"""Planners: each reads a snapshot and proposes items; none writes anything. One module a planner, found by the registry."""

from __future__ import annotations
