"""Audits: each reads a snapshot and says what it found; none proposes or writes anything."""

from __future__ import annotations

from typing import Final

from slowwave.audits.abstention_drift import abstention_drift
from slowwave.audits.census import census
from slowwave.audits.contradictions import contradictions
from slowwave.audits.dead_references import dead_references
from slowwave.audits.decay_due import decay_due
from slowwave.audits.neighbour_graph import neighbour_graph
from slowwave.audits.orphans import orphans
from slowwave.audits.relative_dates import relative_dates
from slowwave.audits.relevance import relevance
from slowwave.audits.safety_scan import safety_scan
from slowwave.audits.schema_drift import schema_drift
from slowwave.audits.session_backlog import session_backlog
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
    "neighbour_graph": neighbour_graph,
    "relevance": relevance,
    "relative_dates": relative_dates,
    "decay_due": decay_due,
    "safety_scan": safety_scan,
    "session_backlog": session_backlog,
}
"""Every audit by name, in the order of a night."""
