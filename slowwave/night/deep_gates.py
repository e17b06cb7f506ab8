"""The gates of a deep pass, in their order: whether one is due, and the name of the gate that says no (nexo 3.4).

Whoever asks for one by hand passes ``too_soon``, ``scanned``, ``too_few_sessions`` and the switch; nobody passes the others, the lock
least of all. What is asked stands in the ledger, not in the memory of a process: a restart forgets no stamp, and a failed pass counts as
tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg.rows import class_row

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.runs.claims import holders
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id, namespace_settings, namespaces

DeepGate = Literal[
    "disabled",
    "no_model",
    "undecided",
    "read_only",
    "nothing_to_read",
    "budget_spent",
    "too_soon",
    "scanned",
    "too_few_sessions",
    "locked",
]
"""nexo's eight (its switch, another scheduler, a remote mode, a folder, hours, scans, sessions, the lock) and two that models need here."""

_SLACK_HOURS: Final = 0.5  # a schedule of a day is not held back by the minutes that the pass before took to begin
_IDLE_MINUTES: Final = 30  # after its last turn a session counts as over

_STATE: Final = """
WITH tried AS (
  SELECT max(started_at) AS any, max(started_at) FILTER (WHERE state NOT IN ('planning', 'crashed', 'cancelled')) AS done FROM night.runs
  WHERE namespace_id = %(scope)s AND mode = 'deep' AND started_at <= clock_timestamp())
SELECT n.read_only, tried.done AS since, extract(epoch FROM now() - tried.done)::float / 3600 AS hours,
  extract(epoch FROM now() - tried.any)::float / 60 AS minutes,
  EXISTS (SELECT 1 FROM night.plans p JOIN night.runs r ON r.id = p.run_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
    WHERE p.namespace_id = n.id AND r.mode = 'deep' AND p.state = 'awaiting_approval' AND p.expires_at > now() AND i.status = 'pending')
    AS undecided,
  EXISTS (SELECT 1 FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL)
    OR EXISTS (SELECT 1 FROM memory.documents d WHERE d.namespace_id = n.id AND d.invalidated_at IS NULL) AS readable,
  (SELECT coalesce(sum(u.input_tokens + u.output_tokens), 0)::bigint FROM night.llm_usage u WHERE u.namespace_id = n.id
    AND u.operation = 'deep_pass' AND u.recorded_at > now() - interval '7 days') AS tokens
FROM memory.namespaces n, tried WHERE n.id = %(scope)s
"""
_SESSIONS: Final = """
SELECT count(DISTINCT session) FROM (
  SELECT coalesce(d.metadata #>> '{frontmatter,session_id}', d.id::text) AS session,
    greatest(d.recorded_at, (SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = d.id)) AS changed,
    d.metadata #>> '{frontmatter,status}' = 'active' AS active
  FROM memory.documents d WHERE d.namespace_id = %(scope)s AND d.plane = 'sessions' AND d.invalidated_at IS NULL AND d.version_of IS NULL
  UNION ALL SELECT session_id, recorded_at, true FROM memory.memories
  WHERE namespace_id = %(scope)s AND session_id IS NOT NULL AND invalidated_at IS NULL) said
WHERE (%(since)s::timestamptz IS NULL OR changed > %(since)s)
  AND NOT (coalesce(active, false) AND changed > now() - make_interval(mins => %(idle)s))
"""
"""Sessions since the last pass, as pages or as what memories name; one that is under way is not counted yet."""


@dataclass(frozen=True, slots=True)
class DeepState:
    """What the gates ask of the ledger: ``since`` is when the last pass began that came to its end."""

    read_only: bool
    since: datetime | None
    hours: float | None
    minutes: float | None
    undecided: bool
    readable: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class DeepClosed:
    """A gate that says no, and the sentence that says why, beginning with the namespace."""

    gate: DeepGate
    sentence: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.sentence}"


def deep_state(connection: Connection, scope: str) -> DeepState:
    """What the ledger knows of a namespace's deep passes."""
    with connection.cursor(row_factory=class_row(DeepState)) as cursor:
        found = cursor.execute(_STATE, {"scope": scope}).fetchone()
    return found or DeepState(False, None, None, None, False, False, 0)


def new_sessions(connection: Connection, scope: str, since: datetime | None) -> int:
    """Sessions since an instant, or all, without those under way."""
    row = connection.execute(_SESSIONS, {"scope": scope, "since": since, "idle": _IDLE_MINUTES}).fetchone()
    return int(str(row[0])) if row else 0


def deep_gate(store: Store, namespace: str, settings: Settings, *, force: bool = False) -> DeepClosed | None:
    """The first gate that is closed for a deep pass, or None; three queries. With ``force`` those of cadence and the switch are passed."""
    with store.connect("reader") as connection:
        return next(_closed(connection, namespace, settings, force=force), None)


def deep_gates(store: Store) -> dict[str, DeepClosed | None]:
    """Namespace → its gate, as the schedule asks. Settings that are not valid hold it back: nobody asked for a pass."""
    with store.connect("reader") as connection:
        found: dict[str, DeepClosed | None] = {}
        for name in namespaces(store):
            try:
                settings = namespace_settings(connection, name)
            except SettingsError as problem:
                found[name] = DeepClosed("disabled", f"{name} has settings that are not valid: {problem}")
                continue
            found[name] = next(_closed(connection, name, settings, force=False), None)
    return found


def _closed(connection: Connection, name: str, settings: Settings, *, force: bool) -> Iterator[DeepClosed]:
    scope, options = namespace_id(connection, name), settings.operations.deep_pass
    if not settings.enabled:
        yield DeepClosed("disabled", f"{name} is disabled: `enabled` is false in its settings or in SLOWWAVE_ENABLED.")
    if not options.enabled and not force:
        variable = "SLOWWAVE_OPERATIONS__DEEP_PASS__ENABLED"
        yield DeepClosed(
            "disabled", f"{name} has no scheduled deep pass: operations.deep_pass.enabled is off ({variable})."
        )
    if not options.model:
        variable = "SLOWWAVE_OPERATIONS__DEEP_PASS__MODEL"
        yield DeepClosed(
            "no_model", f"{name} has no model for a deep pass: set {variable}, and SLOWWAVE_WRITER_ENDPOINT."
        )
    state = deep_state(connection, scope)
    if state.undecided and not force:
        yield DeepClosed("undecided", f"{name} has a plan of its last deep pass that nobody has decided yet.")
    if state.read_only:
        yield DeepClosed("read_only", f"{name} is read-only: nothing that a deep pass plans could be applied to it.")
    if not state.readable:
        yield DeepClosed(
            "nothing_to_read", f"{name} holds no memory and no page, so a scratch copy of it would be empty."
        )
    if options.max_tokens_per_week and state.tokens >= options.max_tokens_per_week:
        spent = f"{state.tokens:,} of {options.max_tokens_per_week:,} tokens on deep passes in seven days."
        yield DeepClosed("budget_spent", f"{name} has spent {spent}")
    if not force:
        yield from _cadence(connection, name, scope, settings, state)
    for holder in holders(connection, scope, settings.heartbeat_expiry_seconds):
        if holder.alive:
            yield DeepClosed("locked", f"{name} is held by run {holder.run_id}, which is {holder.state}.")


def _cadence(
    connection: Connection, name: str, scope: str, settings: Settings, state: DeepState
) -> Iterator[DeepClosed]:
    options = settings.operations.deep_pass
    least = options.min_hours - min(_SLACK_HOURS, options.min_hours / 10)
    if state.hours is not None and state.hours < least:
        ago = f"{state.hours:,.1f} hours ago, and operations.deep_pass.min_hours is {options.min_hours:g}."
        yield DeepClosed("too_soon", f"{name} had a deep pass {ago}")
    if state.minutes is not None and state.minutes < options.scan_minutes:
        ago = f"{state.minutes:,.0f} minutes ago, and operations.deep_pass.scan_minutes is {options.scan_minutes:g}."
        yield DeepClosed("scanned", f"{name} began a deep pass {ago}")
    if (sessions := new_sessions(connection, scope, state.since)) < options.min_sessions:
        few = f"{sessions:,} sessions since its last deep pass, and operations.deep_pass.min_sessions is {options.min_sessions:,}."
        yield DeepClosed("too_few_sessions", f"{name} has {few}")
