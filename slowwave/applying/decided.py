"""What people and policies decided outside of Dagster, the oldest first: signatures, applies and undos. Read, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg.rows import class_row

from slowwave.store.connect import Store

_DECIDED: Final = """
SELECT d.*, n.slug AS namespace FROM (
  SELECT 'approval' AS what, a.id::text, a.namespace_id, a.recorded_at AS at, a.plan_hash, a.approver AS who, a.channel,
    jsonb_build_object('approved_items', cardinality(a.item_ids)) AS counts
  FROM night.approvals a WHERE a.channel <> 'launchpad'
  UNION ALL SELECT 'applied', r.id::text, a.namespace_id, a.recorded_at, a.plan_hash, '', '', a.counts
  FROM night.applied a JOIN night.runs r ON r.id = a.run_id WHERE coalesce(r.dagster_run_id, '') = ''
  UNION ALL SELECT 'undone', r.id::text, r.namespace_id, r.finished_at, coalesce(r.plan_hash, ''), '', '', r.counts
  FROM night.runs r WHERE r.mode = 'undo' AND r.state = 'completed' AND coalesce(r.dagster_run_id, '') = '' AND r.finished_at IS NOT NULL
) d JOIN memory.namespaces n ON n.id = d.namespace_id
WHERE d.at >= %(since)s AND NOT d.what || ' ' || d.id = ANY(%(known)s) ORDER BY d.at, d.id LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class DecisionOnRecord:
    """``id`` is that of the approval or of the run, ``at`` when it was committed or a little before; ``counts`` are items by outcome."""

    what: Literal["approval", "applied", "undone"]
    id: str
    namespace_id: object
    at: datetime
    plan_hash: str
    who: str
    channel: str
    counts: Mapping[str, object]
    namespace: str

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.what} {self.id}"


def decisions_since(store: Store, since: datetime, known: list[str], most: int) -> list[DecisionOnRecord]:
    """The oldest ``most`` decisions from ``since`` on whose keys are not ``known``. One query over signatures, applies and undos."""
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(DecisionOnRecord)) as cursor:
        return cursor.execute(_DECIDED, {"since": since, "known": known, "most": most}).fetchall()
