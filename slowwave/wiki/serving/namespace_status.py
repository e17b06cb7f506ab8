"""The status of a namespace: its row counts, the time of its last plan and sync, and its pending plan.

The queries run with the ``server`` login, which can read the plans of nights but not the errors of their runs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from psycopg.rows import dict_row
from pydantic import BaseModel, ConfigDict

from slowwave.errors import Refused
from slowwave.store.logins import Connection

_STATUS: Final = """
SELECT n.read_only,
  (SELECT count(*) FROM memory.documents d WHERE d.namespace_id = n.id AND d.invalidated_at IS NULL) AS documents,
  (SELECT count(*) FROM memory.chunks c WHERE c.namespace_id = n.id AND c.invalidated_at IS NULL) AS chunks,
  (SELECT count(*) FROM memory.entities e WHERE e.namespace_id = n.id AND e.invalidated_at IS NULL) AS entities,
  (SELECT count(*) FROM memory.relationships r WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL) AS relationships,
  (SELECT count(*) FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL) AS memories,
  (SELECT max(synced_at) FROM memory.corpora c WHERE c.namespace_id = n.id AND c.invalidated_at IS NULL) AS synced_at,
  (SELECT max(recorded_at) FROM night.plans p WHERE p.namespace_id = n.id) AS planned_at,
  w.plan_hash, w.expires_at,
  (SELECT count(*) FROM night.plan_items i WHERE i.plan_hash = w.plan_hash AND i.status = 'pending') AS items
FROM memory.namespaces n LEFT JOIN LATERAL (
  SELECT plan_hash, expires_at FROM night.plans p
  WHERE p.namespace_id = n.id AND p.state = 'awaiting_approval' AND p.expires_at > now() ORDER BY recorded_at DESC LIMIT 1
) w ON true WHERE n.slug = %s
"""

_CHANGED: Final = """
SELECT (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id),
  (SELECT array_agg((p.plan_hash, p.state) ORDER BY p.recorded_at DESC) FROM (
    SELECT plan_hash, state, recorded_at FROM night.plans WHERE namespace_id = n.id ORDER BY recorded_at DESC LIMIT 1) p)::text, n.read_only
FROM memory.namespaces n WHERE n.slug = %s
"""


class StatusRequest(BaseModel):
    """An empty request: the caller has one namespace."""

    model_config = ConfigDict(extra="forbid")


class Holdings(BaseModel):
    """Live rows of a namespace."""

    documents: int
    chunks: int
    entities: int
    relationships: int
    memories: int


class WaitingPlan(BaseModel):
    """A pending plan."""

    plan_hash: str
    items: int
    expires_at: datetime


class StatusResponse(BaseModel):
    """The status of a namespace.

    ``planned_at`` is the time of the last plan of a night, ``synced_at`` the time when a folder was last synced.
    """

    namespace: str
    read_only: bool
    holds: Holdings
    planned_at: datetime | None = None
    synced_at: datetime | None = None
    waiting: WaitingPlan | None = None


def namespace_status(connection: Connection, namespace: str, request: StatusRequest) -> StatusResponse:
    """Return the status of a namespace. Raises ``Refused`` if there is no namespace of that name."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_STATUS, (namespace,)).fetchone()
    if row is None:
        raise Refused(f"There is no namespace {namespace!r}.")
    return StatusResponse(
        namespace=namespace,
        holds=Holdings.model_validate(row),
        waiting=WaitingPlan.model_validate(row) if row["plan_hash"] else None,
        **{name: row[name] for name in ("read_only", "planned_at", "synced_at")},
    )


def changed(connection: Connection, namespace: str) -> tuple[object, ...]:
    """Return a value that changes when the answer of ``namespace_status`` may change.

    Its first element is the count of changes of memory. It is cheaper to compute than the answer.
    """
    row = connection.execute(_CHANGED, (namespace,)).fetchone()
    if row is None:
        raise Refused(f"There is no namespace {namespace!r}.")
    return row
