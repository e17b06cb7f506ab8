"""A night: snapshot, models, operations, probes and the sealed plan; when one is due, and what it reports."""

from __future__ import annotations
