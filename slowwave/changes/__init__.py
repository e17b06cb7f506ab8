"""The closed algebra of changes: what each kind may do, and how any of them is simulated, applied and undone."""

from __future__ import annotations
