"""Audits: each reads a snapshot and says what it found; none proposes or writes anything. One module an audit, found by the registry."""

from __future__ import annotations
