"""Planners: each reads a snapshot and proposes items; none writes anything.

Each planner is one module, which the registry finds.
"""

from __future__ import annotations
