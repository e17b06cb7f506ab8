"""Gates: whether a night is due that nobody asked for, cheapest question first, and the name of the gate that says no.

A closed gate is no failure: whoever asks shows its name and its sentence. A person who runs a night by hand meets only ``disabled`` and
``unchanged``. The cooldown of a single operation and its budget belong to the planners, whose reports count what they left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

import psycopg

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError, StoreError
from slowwave.night.runs import Unchanged, last_nights, unchanged
from slowwave.runs.claims import holders
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id, namespace_settings

_READ_ONLY: Final = "SELECT 1 FROM memory.namespaces WHERE id = %s AND read_only"
_TOKENS_TODAY: Final = """
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint FROM night.llm_usage WHERE namespace_id = %s
  AND recorded_at > now() - interval '24 hours'
"""

_CONNECTED: Final = "SELECT 1 FROM night.store_namespaces WHERE namespace_id = %s"

Gate = Literal[
    "disabled",
    "read_only",
    "unchanged",
    "budget_spent",
    "too_soon",
    "too_few_new_records",
    "too_few_sessions",
    "cooldown",
    "locked",
]
"""The gates of operations.md 6, in the order in which they are asked; ``cooldown`` is one of operations and closes no night."""

LONGEST_WEEKLY_WAIT_DAYS: Final = 28
"""Days after which few new sessions hold the weekly operations back no longer: what is never spoken of ages as well."""

_SLACK_HOURS: Final = 0.5
"""A schedule of a day is not held back by the minutes that the night before took to begin; never more than a tenth of the gate."""

_NEWS: Final = """
SELECT count(*), greatest(count(DISTINCT session), count(DISTINCT (recorded_at AT TIME ZONE 'UTC')::date)) FROM (
  SELECT session_id AS session, recorded_at FROM memory.memories
  WHERE namespace_id = %(scope)s AND recorded_at > %(since)s AND kind <> 'summary'  -- summaries are what nights write themselves
  UNION ALL SELECT session_id, recorded_at FROM memory.memory_facts WHERE namespace_id = %(scope)s AND recorded_at > %(since)s
  UNION ALL SELECT NULL, recorded_at FROM memory.entities WHERE namespace_id = %(scope)s AND recorded_at > %(since)s
  UNION ALL SELECT NULL, recorded_at FROM memory.relationships WHERE namespace_id = %(scope)s AND recorded_at > %(since)s
  UNION ALL SELECT metadata ->> 'session_id', greatest(recorded_at, invalidated_at) FROM memory.documents  -- pages written or gone
  WHERE namespace_id = %(scope)s AND corpus_id IS NOT NULL AND greatest(recorded_at, invalidated_at) > %(since)s
) news
"""
"""Rows recorded since an instant, and their sessions: by name, or the days of recording where those are more, since not every agent
names its sessions."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A gate that says no, and the sentence that says why, beginning with the namespace."""

    gate: Gate
    sentence: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class NightDue:
    """Whether a scheduled night is due, and ``weekly`` whether with the weekly operations.

    ``closed`` is the gate that holds back the night, or of a night that is due the one that holds back the weekly operations.
    """

    night: bool
    weekly: bool = False
    closed: Closed | None = None


def gate(
    store: Store, namespace: str, settings: Settings, *, weekly: bool = False, force: bool = False
) -> Closed | None:
    """The first gate that is closed for a night of the namespace, or None (mnemo 2.3, nexo 3.4).

    ``weekly`` asks for a night with the weekly operations, which needs new sessions instead of new records, and no change: age alone is
    work for them. ``force``, as ``reflection_mode`` always, passes the gates of cadence. Nights of some operations or rows alone do not
    count as nights; the first night is never too soon. Times are compared as instants by the database.

    Seven queries at most; the dearest counts the namespace's new rows (linear in its rows).
    """
    asked = _Asked(namespace, settings, weekly, force or settings.reflection_mode == "always")
    with store.connect("reader") as connection:
        return _closed(connection, asked, unchanged=lambda: unchanged(store, namespace))


def due(store: Store, namespace: str, *, weekly: bool = False) -> NightDue:
    """What the schedule does for the namespace. With ``weekly`` the plain night is due where only the weekly operations are not.

    Settings that are not valid hold nothing back: the run is opened, and ends with the sentence. The same holds for a gate that rows of
    the namespace make fail, so that no namespace keeps others from their nights.
    """
    with store.connect("reader") as connection:
        try:
            settings = namespace_settings(connection, namespace)
        except SettingsError:
            return NightDue(night=True, weekly=weekly)
    try:
        closed = gate(store, namespace, settings, weekly=weekly)
    except (StoreError, psycopg.OperationalError):
        raise
    except Exception:  # noqa: BLE001 - the run that it lets begin says what it is
        closed = None
    if closed is None:
        return NightDue(night=True, weekly=weekly)
    if weekly and closed.gate in ("budget_spent", "too_few_sessions"):
        plain = gate(store, namespace, settings)
        return NightDue(night=False, closed=plain) if plain else NightDue(night=True, closed=closed)
    return NightDue(night=False, closed=closed)


def holds_back_audits(connection: Connection, namespace: str, settings: Settings) -> bool:
    """Whether a gate keeps the schedule from auditing the namespace for as long as nothing else happens in it."""
    asked = _Asked(namespace, settings, weekly=False, hurried=settings.reflection_mode == "always")
    closed = _closed(connection, asked, unchanged=lambda: None)
    return closed is not None and closed.gate in ("disabled", "read_only", "too_few_new_records")


@dataclass(frozen=True, slots=True)
class _Asked:
    namespace: str
    settings: Settings
    weekly: bool
    hurried: bool


def _closed(connection: Connection, asked: _Asked, *, unchanged: Callable[[], Unchanged | None]) -> Closed | None:
    """The gates in their order; what none of the former needs is asked last."""
    name, settings = asked.namespace, asked.settings
    scope = namespace_id(connection, name)
    if not settings.enabled:
        return Closed("disabled", f"{name} is disabled: `enabled` is false in its settings or in SLOWWAVE_ENABLED.")
    if connection.execute(_READ_ONLY, (scope,)).fetchone():
        return Closed("read_only", f"{name} is read-only: nothing that a night plans could be applied to it.")
    if (same := unchanged()) and (same.removed or not asked.weekly):
        since = f"{name} is {same.why}: nothing was written, and no setting or verdict changed."
        return Closed("unchanged", f"{name} has nothing to do: {same.why}." if same.removed else since)
    if asked.weekly and (why := _budget_spent(connection, scope, settings)):
        return Closed("budget_spent", f"{name} {why}")
    if not asked.hurried and (held := _cadence(connection, asked, scope)):
        return held
    for holder in holders(connection, scope, settings.heartbeat_expiry_seconds):
        if holder.alive:
            return Closed("locked", f"{name} is held by run {holder.run_id}, which is {holder.state}.")
    return None


def _budget_spent(connection: Connection, scope: str, settings: Settings) -> str:
    """Whether models are set and their tokens of 24 hours are spent."""
    limit = settings.llm_max_tokens_per_namespace_per_day
    if not limit or not (
        settings.judge_models or settings.operations.community_summaries.model or settings.consolidation_model
    ):
        return ""
    row = connection.execute(
        _TOKENS_TODAY,
        (scope,),
    ).fetchone()
    spent = int(str(row[0])) if row else 0
    return f"has spent {spent:,} of {limit:,} tokens in 24 hours." if spent >= limit else ""


def _cadence(connection: Connection, asked: _Asked, scope: str) -> Closed | None:
    """The gates that only hold back for a while."""
    name, settings, last = asked.namespace, asked.settings, last_nights(connection, scope)
    least = settings.gate_min_hours
    if last.night and last.hours < least - min(_SLACK_HOURS, least / 10):
        return Closed("too_soon", f"{name} had a night {last.hours:,.1f} hours ago, and gate_min_hours is {least:g}.")
    if connection.execute(_CONNECTED, (scope,)).fetchone():
        return None  # what is new in a store of others is not told apart from what changed
    records, sessions = _news(connection, scope, last.weekly if asked.weekly else last.night)
    if asked.weekly:
        if sessions >= settings.gate_min_sessions or last.weekly_days >= LONGEST_WEEKLY_WAIT_DAYS:
            return None
        few = f"{sessions:,} new sessions since its last weekly night, and gate_min_sessions is"
        return Closed("too_few_sessions", f"{name} has {few} {settings.gate_min_sessions:,}.")
    if records >= settings.gate_min_new_records:
        return None
    few = f"{records:,} new records since its last night, and gate_min_new_records is"
    return Closed("too_few_new_records", f"{name} has {few} {settings.gate_min_new_records:,}.")


def _news(connection: Connection, scope: str, since: datetime | None) -> tuple[int, int]:
    """New records and new sessions since an instant, or all there are."""
    given = {"scope": scope, "since": since or datetime.min.replace(tzinfo=UTC)}
    row = connection.execute(_NEWS, given).fetchone()
    return (int(str(row[0])), int(str(row[1]))) if row else (0, 0)
