"""Audits: each reads a snapshot and says what it found; none proposes or writes anything."""

from __future__ import annotations

from typing import Final

from slowwave.audits.abstention_drift import abstention_drift
from slowwave.audits.census import census
from slowwave.audits.contradictions import contradictions
from slowwave.audits.dead_references import dead_references
from slowwave.audits.orphans import orphans
from slowwave.audits.schema_drift import schema_drift
from slowwave.audits.tombstones import tombstones
from slowwave.operations import Audit

AUDITS: Final[dict[str, Audit]] = {
    "census": census,
    "schema_drift": schema_drift,
    "orphans": orphans,
    "dead_references": dead_references,
    "tombstones": tombstones,
    "abstention_drift": abstention_drift,
    "contradictions": contradictions,
}
"""Every audit by name, in the order of a night."""
