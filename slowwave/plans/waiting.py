"""Approvals that are pending for a run, failed attempts to apply, and decisions made outside Dagster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg.rows import class_row

from slowwave.plans.commands import argument
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.runs import HOLDING, expiry_of, has_expired

# Approvals for which sensors and the command line may start an apply.

_OPEN: Final = """
SELECT a.id::text AS approval_id, n.slug AS namespace FROM night.open_approvals a JOIN memory.namespaces n ON n.id = a.namespace_id
JOIN night.plans p ON p.plan_hash = a.plan_hash LEFT JOIN night.runs m ON m.id = p.run_id
WHERE (%(namespace)s::text IS NULL OR n.slug = %(namespace)s)
AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.approval_id = a.id AND r.state = ANY(%(closed)s))
ORDER BY a.recorded_at, m.trigger = 'review', p.recorded_at, a.id
"""
"""SQL: the plans of a review session are approved at one time, and a plan made from answers is applied after the plan it was made from."""
_HELD: Final = """
SELECT n.slug AS namespace, n.settings AS overlay, extract(epoch FROM clock_timestamp() - r.heartbeat_at)::float AS age FROM night.runs r
JOIN memory.namespaces n ON n.id = r.namespace_id WHERE r.state = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class _Held:
    """A namespace that a run holds, with the namespace's settings and the age of the run's heartbeat in seconds."""

    namespace: str
    overlay: object
    age: float


def waiting_approvals(store: Store, namespace: str | None = None, *, cancelled: bool = False) -> list[tuple[str, str]]:
    """Return approvals that a run may be started for (``night.open_approvals``) as (approval, namespace), oldest first.

    Approvals that are applied, expired or withdrawn are left out. Unless ``cancelled``, so are those whose run a person cancelled, and
    those of a namespace that a run holds now, because a new run could not start.
    """
    closed = [] if cancelled else ["cancelled"]
    with store.connect("reader") as connection:
        rows = connection.execute(_OPEN, {"namespace": namespace, "closed": closed}).fetchall()
        held = frozenset() if cancelled else _held(connection)
    return [(str(a), str(n)) for a, n in rows if str(n) not in held]


def _held(connection: Connection) -> frozenset[str]:
    """Return the namespaces in which a run is alive."""
    with connection.cursor(row_factory=class_row(_Held)) as cursor:
        held = cursor.execute(_HELD, (list(HOLDING),)).fetchall()
    return frozenset(one.namespace for one in held if not has_expired(one.age, expiry_of(one.overlay)))


# The finding for a person after failed attempts to apply an approval.

_FINDING: Final = """
INSERT INTO night.findings (id, namespace_id, operation, severity, message, details)
SELECT gen_random_uuid(), n.id, 'apply', 'error', %(message)s, jsonb_build_object('approval_id', %(id)s::text)
FROM memory.namespaces n WHERE n.slug = %(slug)s AND NOT EXISTS (
  SELECT 1 FROM night.findings f WHERE f.operation = 'apply' AND f.details ->> 'approval_id' = %(id)s::text)
"""


def give_up(store: Store, approval_id: str, namespace: str, attempts: int) -> bool:
    """Write the finding that an approval could not be applied; return False if it exists already."""
    message = (
        f"Approval {approval_id} was not applied in {attempts} attempts. Look at the failed runs, remove the cause, and run "
        f"`slowwave apply {argument(namespace)}`."
    )
    with store.connect("planner") as connection:
        written = connection.execute(_FINDING, {"message": message, "id": approval_id, "slug": namespace})
        return written.rowcount == 1


# Decisions of people and policies outside Dagster, oldest first: approvals, applies and undos. Read only.

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
    """A recorded approval, apply or undo.

    ``id`` is that of the approval or of the run. ``at`` is when it was committed or a little before. ``counts`` are items by outcome.
    """

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
        """Return a key that identifies the decision."""
        return f"{self.what} {self.id}"


def decisions_since(store: Store, since: datetime, known: list[str], most: int) -> list[DecisionOnRecord]:
    """Return the oldest ``most`` decisions since ``since`` whose keys are not in ``known``. One query."""
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(DecisionOnRecord)) as cursor:
        return cursor.execute(_DECIDED, {"since": since, "known": known, "most": most}).fetchall()
