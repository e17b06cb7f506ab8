"""Audits: each reads a snapshot and reports what it finds; none proposes or writes anything.

Each audit is one module, which the registry finds.
"""

from __future__ import annotations
