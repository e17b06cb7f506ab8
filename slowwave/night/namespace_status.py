"""How each namespace stands: its plan, what of it waits for a person, what became of it, its last night and its next. Read, never changed.

One query for all namespaces, in one word and a few numbers each; ``slowwave.night.digest`` tells the same in a page, and
``slowwave.plans.status`` counts over all of them for monitoring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from psycopg.rows import class_row

from slowwave.plans.states import shown_state
from slowwave.plans.status import ENABLED
from slowwave.store.connect import Connection

NIGHTLY_HOUR: Final = 3
"""The hour, in UTC, at which the schedule of Dagster (``jobs.schedules``) asks whether nights are due."""

_STATUS: Final = f"""
SELECT n.slug AS namespace, n.read_only, n.settings,
  {ENABLED} AS enabled,
  EXISTS (SELECT 1 FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
    WHERE k.namespace_id = n.id AND s.disconnected_at IS NOT NULL) AS store_removed,
  f.held_back, coalesce(f.why, '') AS why_not_planned, f.secrets,
  coalesce(p.plan_hash, '') AS plan_hash, coalesce(p.state, '') AS state, p.recorded_at, p.expires_at,
  coalesce(night.item_counts(p.plan_hash), '{{}}') AS counts,
  CASE WHEN p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() THEN i.decided ELSE 0 END AS to_approve,
  CASE WHEN p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() THEN i.asked ELSE 0 END AS questions,
  i.operations, coalesce(p.summary -> 'needs_force', '[]') AS failed,
  (SELECT count(*) FROM night.open_approvals a WHERE a.namespace_id = n.id) AS approvals,
  (SELECT count(*) FROM night.half_signed_approvals a WHERE a.namespace_id = n.id) AS half_signed,
  h.mode AS run_mode, h.state AS run_state, extract(epoch FROM now() - h.heartbeat_at)::float AS heartbeat_age,
  l.last_success, l.last_failure, a.recorded_at AS last_apply,
  (SELECT count(*) FROM night.conflicts c WHERE c.namespace_id = n.id AND c.resolved_at IS NULL) AS conflicts,
  EXISTS (SELECT 1 FROM night.plans e WHERE e.namespace_id = n.id) AS planned_once,
  EXISTS (SELECT 1 FROM memory.changes c WHERE c.namespace_id = n.id AND (l.last_success IS NULL OR c.recorded_at > l.begun)) AS changed
FROM memory.namespaces n
LEFT JOIN LATERAL (
  SELECT p.*, r.parameters ? 'proposal' AS aside, p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND EXISTS (
      SELECT 1 FROM night.plan_items w WHERE w.plan_hash = p.plan_hash AND w.status = 'pending') AS waits,
    row_number() OVER (PARTITION BY r.parameters ? 'proposal' ORDER BY p.recorded_at DESC) AS age
  FROM night.plans p JOIN night.runs r ON r.id = p.run_id WHERE p.namespace_id = n.id AND p.state <> 'empty'
  ORDER BY (NOT r.parameters ? 'proposal') AND row_number() OVER (PARTITION BY r.parameters ? 'proposal' ORDER BY p.recorded_at DESC) > 1,
    waits DESC, aside, p.recorded_at DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (
  SELECT sum(s.pending) FILTER (WHERE s.decision <> 'review') AS decided, sum(s.pending) FILTER (WHERE s.decision = 'review') AS asked,
    coalesce(jsonb_object_agg(s.operation || ' ' || s.decision, s.pending) FILTER (WHERE s.pending > 0), '{{}}') AS operations
  FROM (SELECT operation, decision, count(*) FILTER (WHERE status = 'pending') AS pending FROM night.plan_items
    WHERE plan_hash = p.plan_hash GROUP BY operation, decision) s) i ON true
LEFT JOIN LATERAL (
  SELECT e.summary -> 'held_back' AS held_back, coalesce(e.summary ->> 'why_held_back',
      'redact_or_quarantine: ' || (e.summary #>> '{{left_out,redact_or_quarantine}}')) AS why,
    coalesce((e.summary #>> '{{audits,safety_scan,numbers,rows with secret findings}}')::int, 0) AS secrets
  FROM night.plans e WHERE e.namespace_id = n.id ORDER BY e.recorded_at DESC LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT mode, state, heartbeat_at FROM night.runs r WHERE r.namespace_id = n.id
  AND r.state IN ('planning', 'applying', 'paused') ORDER BY r.started_at DESC LIMIT 1) h ON true
LEFT JOIN LATERAL (
  SELECT max(coalesce(r.finished_at, r.started_at)) FILTER (WHERE r.ended) AS last_success,
    max(r.started_at) FILTER (WHERE r.ended) AS begun,
    max(r.started_at) FILTER (WHERE r.state = 'crashed') AS last_failure
  FROM (SELECT *, state NOT IN ('planning', 'crashed', 'cancelled', 'paused') AS ended FROM night.runs
    WHERE namespace_id = n.id AND mode = 'plan') r) l ON true
LEFT JOIN LATERAL (SELECT recorded_at FROM night.applied d WHERE d.namespace_id = n.id ORDER BY d.recorded_at DESC LIMIT 1) a ON true
WHERE %(namespace)s::text IS NULL OR n.slug = %(namespace)s ORDER BY n.slug
"""  # noqa: S608 - a constant of ours


@dataclass(frozen=True, slots=True)
class NamespaceStatus:
    """One namespace. ``plan_hash`` is its latest plan that asked somebody, ``state`` what that is called now, empty where there is none.

    ``to_approve`` and ``questions`` are its items that wait for a person, ``operations`` operation and decision → how many of those;
    ``counts`` all its items by status. ``failed`` are the sentences of probes that it failed; ``approvals`` are signed and
    not applied, ``half_signed`` lack a signature.
    ``run`` is what is under way (planning, applying, undoing, paused), or stuck. ``last_night`` is when the last night ended well,
    ``last_failure`` when one crashed after it. ``next_night`` is when the schedule asks next, or the word that keeps it from a night.
    ``not_planned`` counts the changes that its last night proposed for no plan, because its connected store may not be written.
    ``why_not_planned`` is the sentence about that, or about secrets that could not be planned in a store that may be written. ``secrets``
    counts the rows with a secret, where there is such a sentence. A namespace whose store was removed asks for nothing.
    """

    namespace: str
    plan_hash: str
    state: str
    counts: Mapping[str, int]
    to_approve: int
    questions: int
    operations: Mapping[str, int]
    failed: tuple[str, ...]
    approvals: int
    half_signed: int
    conflicts: int
    run: str
    last_night: datetime | None
    last_failure: datetime | None
    last_apply: datetime | None
    next_night: datetime | str
    store_removed: bool = False
    not_planned: int = 0
    why_not_planned: str = ""
    secrets: int = 0

    @property
    def stale(self) -> int:
        """Items of the plan whose rows had changed when it was applied."""
        return self.counts.get("skipped_stale", 0)

    @property
    def word(self) -> str:
        """How it stands, in a few words: what is under way, what waits, else what became of the plan."""
        if self.run:
            return self.run
        if self.store_removed:
            return "store removed"
        if self.last_failure:
            return "night failed"
        if self.approvals:
            return "approved, not applied"
        if self.half_signed and not self.to_approve:
            return "needs a signature"
        if self.to_approve or self.questions:
            return "probe failed" if self.failed else "needs a person"
        if self.secrets:
            return "secret found"
        if self.not_planned:
            return "changes not planned"
        if not self.state:
            return "nothing to decide" if self.last_night else "no night yet"
        return self.state.replace("_", " ")

    def to_json(self) -> dict[str, object]:
        """As ``slowwave status --json`` shows it."""
        return {**asdict(self), "word": self.word, "stale": self.stale}


def read_namespace_status(
    connection: Connection, namespace: str | None = None, now: datetime | None = None
) -> list[NamespaceStatus]:
    """All namespaces by name, or one; ``now`` is what the next night is counted from.

    One query, linear in the runs and in the items of the latest plans.
    """
    at = now or datetime.now(UTC)
    with connection.cursor(row_factory=class_row(_Row)) as cursor:
        rows = cursor.execute(_STATUS.encode(), {"namespace": namespace}).fetchall()
    return [_status(row, at) for row in rows]


@dataclass(frozen=True, slots=True)
class _Row:
    namespace: str
    read_only: bool
    settings: Any
    enabled: bool
    store_removed: bool
    held_back: dict[str, dict[str, int]] | None
    why_not_planned: str
    secrets: int | None
    plan_hash: str
    state: str
    recorded_at: datetime | None
    expires_at: datetime | None
    counts: dict[str, int]
    to_approve: int | None
    questions: int | None
    operations: dict[str, int] | None
    failed: list[str]
    approvals: int
    half_signed: int
    run_mode: str | None
    run_state: str | None
    heartbeat_age: float | None
    last_success: datetime | None
    last_failure: datetime | None
    last_apply: datetime | None
    conflicts: int
    planned_once: bool
    changed: bool


def _status(row: _Row, now: datetime) -> NamespaceStatus:
    not_planned = sum(sum(decisions.values()) for decisions in (row.held_back or {}).values())
    asks = not row.store_removed
    failed_since = row.last_failure and (row.last_success is None or row.last_failure > row.last_success)
    return NamespaceStatus(
        namespace=row.namespace,
        plan_hash=row.plan_hash,
        state=shown_state(row.state, row.counts, row.expires_at) if row.state else "",
        counts={str(status): int(n) for status, n in row.counts.items()},
        to_approve=int(row.to_approve or 0) if asks else 0,
        questions=int(row.questions or 0) if asks else 0,
        operations={str(name): int(n) for name, n in (row.operations or {}).items()},
        failed=tuple(map(str, row.failed)) if row.to_approve and asks else (),
        approvals=row.approvals if asks else 0,
        half_signed=row.half_signed if asks else 0,
        conflicts=row.conflicts,
        run=_run(row),
        last_night=row.last_success,
        last_failure=row.last_failure if failed_since and asks else None,
        last_apply=row.last_apply,
        next_night=_next(row, now),
        store_removed=row.store_removed,
        not_planned=not_planned if asks else 0,
        why_not_planned=row.why_not_planned if asks else "",
        secrets=(row.secrets or 0) if row.why_not_planned and asks else 0,
    )


def _run(row: _Row) -> str:
    if row.run_state is None or row.run_mode is None:
        return ""
    from slowwave.runs.heartbeat import (
        expiry_of,
        has_expired,
    )  # settings take a while to load, and mostly nothing is under way

    if row.run_state in ("planning", "applying") and has_expired(row.heartbeat_age or 0, expiry_of(row.settings)):
        return f"{row.run_mode} stuck"
    return "undoing" if row.run_mode == "undo" and row.run_state == "applying" else row.run_state


def _next(row: _Row, now: datetime) -> datetime | str:
    if row.store_removed:
        return "store removed"
    if not row.enabled:
        return "off"
    if row.read_only:
        return "read-only"
    if not row.changed:
        return "unchanged"
    today = now.astimezone(UTC).replace(hour=NIGHTLY_HOUR, minute=0, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def words(statuses: Sequence[NamespaceStatus]) -> dict[str, int]:
    """How many namespaces stand how."""
    found: dict[str, int] = {}
    for one in statuses:
        found[one.word] = found.get(one.word, 0) + 1
    return found
