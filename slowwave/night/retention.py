"""Removal of old data and of namespaces, and reports of what is late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from psycopg import sql
from sqlalchemy import Table

from slowwave.errors import Refused, SettingsError
from slowwave.night.reports import expire_reports, reports_path
from slowwave.night.status import holds_back_audits
from slowwave.plans.commands import argument
from slowwave.snapshots.files import database_base, remove_snapshot
from slowwave.store.claims import forget_turns
from slowwave.store.connect import Store, path_part
from slowwave.store.logins import Connection
from slowwave.store.migrate import make_partitions_ahead
from slowwave.store.namespaces import namespace_id, unknown_namespace
from slowwave.store.runs import HOLDING
from slowwave.store.settings import Settings
from slowwave.store.tables import metadata

# Retention: data that only explains the past is removed when it is old. This covers report files, findings, token counts, items that will
# not be decided, requests for nights, messages to endpoints, items of sessions that agents withdrew, the text of proposals that had no
# result, and, if a namespace wants it, before-images.
#
# Approvals, applied plans, the journal, the event chain and the plans themselves are kept for ever. Nothing is removed that a plan which
# can still be applied, or an undo that is still promised, would need. Snapshots are removed when a new one is taken.

_BUDGET_DAYS: Final = 2
"""Token counts younger than this are part of the day's budget."""

_WEEK_DAYS: Final = 8
"""The same for token counts of runs: deep passes have a budget of seven days."""

_PROPOSALS: Final = "SELECT memory.forget_proposals(%s::uuid, %s::timestamptz)"
_RUNS: Final = "SELECT id::text FROM night.runs WHERE namespace_id = %(namespace)s"

_SCOPE: Final = """
    WITH newest AS (
      SELECT id FROM night.runs WHERE namespace_id = %(namespace)s ORDER BY started_at DESC, id LIMIT %(keep_runs)s
    ), holding AS (
      SELECT id, plan_hash FROM night.runs WHERE namespace_id = %(namespace)s AND state = ANY(%(holding)s)
    ), open AS (
      SELECT a.id, a.plan_hash FROM night.open_approvals a WHERE a.namespace_id = %(namespace)s
    )
"""
"""The newest runs, unfinished runs, and approvals that may still be applied."""

_STATEMENTS: Final = {
    "findings": """
        DELETE FROM night.findings f WHERE f.namespace_id = %(namespace)s AND f.recorded_at < %(before)s
        AND NOT EXISTS (SELECT 1 FROM newest n WHERE n.id = f.run_id)
        AND NOT EXISTS (SELECT 1 FROM open o WHERE f.details ->> 'approval_id' = o.id::text)""",
    "llm_usage": """
        DELETE FROM night.llm_usage u WHERE u.namespace_id = %(namespace)s
        AND u.recorded_at < least(%(before)s, now() - make_interval(days => %(week_days)s))
        AND NOT EXISTS (SELECT 1 FROM newest n WHERE n.id = u.run_id)
        AND NOT EXISTS (SELECT 1 FROM holding h WHERE h.id = u.run_id)""",
    "model_answers": """
        DELETE FROM night.model_answers a WHERE a.namespace_id = %(namespace)s AND a.recorded_at < %(before)s""",
    "model_calls": """
        DELETE FROM memory.model_calls c WHERE c.namespace_id = %(namespace)s
        AND c.recorded_at < least(%(before)s, now() - make_interval(days => %(budget_days)s))""",
    "night_requests": """
        DELETE FROM memory.night_requests q WHERE q.namespace_id = %(namespace)s AND q.recorded_at < %(before)s""",
    "notices": """
        DELETE FROM night.notices n WHERE n.recorded_at < %(before)s AND (n.namespace_id = %(namespace)s OR n.namespace_id IS NULL)""",
    "plan_items": """
        DELETE FROM night.plan_items i USING night.plans p WHERE p.plan_hash = i.plan_hash AND i.namespace_id = %(namespace)s
        AND p.namespace_id = %(namespace)s AND p.recorded_at < %(before)s AND (p.state IN ('superseded', 'expired', 'rejected', 'empty')
          OR NOT EXISTS (SELECT 1 FROM night.plan_items w WHERE w.plan_hash = p.plan_hash AND w.status IN ('pending', 'approved')))
        AND i.status NOT IN ('applied', 'undone') AND NOT (i.status = 'rejected' AND i.mutation ->> 'kind' = 'merge_rows')
        AND p.plan_hash IS DISTINCT FROM (SELECT plan_hash FROM night.plans WHERE namespace_id = %(namespace)s AND state <> 'empty'
          ORDER BY recorded_at DESC LIMIT 1)
        AND NOT EXISTS (SELECT 1 FROM newest n WHERE n.id = p.run_id)
        AND NOT EXISTS (SELECT 1 FROM open o WHERE o.plan_hash = p.plan_hash)
        AND NOT EXISTS (SELECT 1 FROM holding h WHERE h.plan_hash = p.plan_hash)""",
    "session_items": """
        DELETE FROM memory.session_items i WHERE i.namespace_id = %(namespace)s AND i.invalidated_at < %(before)s""",
    "snapshots": """
        DELETE FROM night.snapshots s WHERE s.namespace_id = %(namespace)s AND s.deleted_at < %(before)s
        AND s.id <> (SELECT id FROM night.snapshots WHERE namespace_id = %(namespace)s ORDER BY taken_at DESC LIMIT 1)""",
}
"""Applied items can be undone, and rejected merges are examples for the weights: both are kept, as is the latest plan."""

_BEFORE_IMAGES: Final = """
    DELETE FROM night.before_images b USING night.journal j, night.runs r WHERE j.id = b.journal_id AND r.id = j.run_id
    AND b.namespace_id = %(namespace)s AND r.namespace_id = %(namespace)s
    AND coalesce(r.finished_at, r.heartbeat_at) < now() - make_interval(days => %(undo_days)s)
    AND NOT EXISTS (SELECT 1 FROM holding h WHERE h.id = r.id) AND NOT EXISTS (SELECT 1 FROM open o WHERE o.id = r.approval_id)"""
"""Before-images of a run are removed together, so that the run can be undone completely or not at all."""


def retain(store: Store, namespace: str, settings: Settings) -> dict[str, int]:
    """Remove what is past its retention in a namespace; return the number of runs with report files and of rows by table.

    A row is removed if it is older than ``retention_days`` and also not of the newest ``retention_runs_per_namespace`` runs.
    Before-images are removed ``undo_retention_days`` after the end of their run, and never if that is 0. Undo of such a run is then
    refused with a message. Time: linear in the rows that are left and removed. Raises ``Refused`` for an unknown namespace.
    """
    before = datetime.now(UTC) - timedelta(days=settings.retention_days)
    removed: dict[str, int] = {}
    with store.connect("applier") as connection:
        parameters: dict[str, object] = {
            "namespace": namespace_id(connection, namespace),
            "before": before,
            "keep_runs": settings.retention_runs_per_namespace,
            "budget_days": _BUDGET_DAYS,
            "week_days": _WEEK_DAYS,
            "holding": list(HOLDING),
            "undo_days": settings.undo_retention_days,
        }
        removed["report_runs"] = expire_reports(
            reports_path(settings),
            before,
            namespace,
            keep_runs=settings.retention_runs_per_namespace,
            runs_of=_runs(connection, parameters),
        )
        for table, statement in _STATEMENTS.items():
            removed[table] = _delete(connection, statement, parameters)
        removed["proposals"] = _forget_proposals(connection, str(parameters["namespace"]), before)
        removed["deep_turns"] = forget_turns(connection, str(parameters["namespace"]), before)
        removed["before_images"] = (
            _delete(connection, _BEFORE_IMAGES, parameters) if settings.undo_retention_days else 0
        )
    make_partitions_ahead(store)
    return removed


def _runs(connection: Connection, parameters: dict[str, object]) -> frozenset[str]:
    """Return the names that this ledger's runs of a namespace have in report files."""
    rows = connection.execute(_RUNS, parameters)
    return frozenset(path_part(str(run)) for (run,) in rows)


def _forget_proposals(connection: Connection, namespace_id: str, before: datetime) -> int:
    """Remove old proposals, after the items of plans, because some of these depend on them."""
    row = connection.execute(_PROPOSALS, (namespace_id, before)).fetchone()
    return int(str(row[0])) if row else 0


def _delete(connection: Connection, statement: str, parameters: dict[str, object]) -> int:
    with connection.transaction():
        return connection.execute((_SCOPE + statement).encode(), parameters).rowcount


# Freshness: namespaces that are not audited, plans that are not reviewed, and applies that do nothing, according to the ledger.
#
# Each check is one query for all given namespaces, and reports how many were checked. Nothing here repairs.

_NIGHTS: Final = """
SELECT n.slug, n.settings, extract(epoch FROM now() - coalesce(s.taken_at, n.recorded_at)) / 86400, s.taken_at
  FROM memory.namespaces n LEFT JOIN LATERAL (SELECT taken_at, change_counter FROM night.snapshots x WHERE x.namespace_id = n.id
  ORDER BY taken_at DESC LIMIT 1) s ON true WHERE n.slug = ANY(%s) AND (SELECT count(*) FROM memory.changes c
  WHERE c.namespace_id = n.id) > coalesce(s.change_counter, 0) ORDER BY n.slug
"""
_PLANS: Final = """
SELECT n.slug, n.settings, left(p.plan_hash, 12), extract(epoch FROM now() - p.recorded_at) / 86400, p.expires_at
  FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = ANY(%s) AND p.state = 'awaiting_approval'
  AND p.expires_at > now() ORDER BY p.recorded_at
"""
_IDLE_APPLIES: Final = 3  # applies in a row without a change that are no coincidence
_APPLIES: Final = """
SELECT n.slug, array_agg((a.counts ->> 'applied')::int ORDER BY a.recorded_at DESC) FROM night.applied a
  JOIN memory.namespaces n ON n.id = a.namespace_id WHERE n.slug = ANY(%s) GROUP BY n.slug ORDER BY n.slug
"""


@dataclass(frozen=True, slots=True)
class Freshness:
    """The result of a check: ``late`` has a sentence for each late namespace, ``looked_at`` counts the checked namespaces."""

    looked_at: int
    late: tuple[str, ...]


def audited(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Check that changed namespaces were audited within ``freshness_audit_days``.

    A namespace counts as changed if it changed since its last snapshot or never had one. A namespace without changes is not audited again
    and is not late. Nor is one that a gate keeps from its nights, because it is disabled, read-only or has too few new records.
    """
    rows = connection.execute(
        _NIGHTS,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, overlay, days, taken in rows:
        settings = _settings(overlay)
        limit = settings.freshness_audit_days
        if float(str(days)) > limit and not holds_back_audits(connection, str(slug), settings):
            since = (
                f"was last audited {float(str(days)):.0f} days ago and has changed since"
                if taken
                else "was never audited"
            )
            late.append(
                f"{slug} {since} (limit {limit} days). Look at the nightly schedule, or run `slowwave night {argument(str(slug))}`."
            )
    return Freshness(len(namespaces), tuple(late))


def decided(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Check that no plan has been pending for longer than ``freshness_plan_days``."""
    rows = connection.execute(
        _PLANS,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, overlay, short, days, expires in rows:
        limit = _settings(overlay).freshness_plan_days
        if float(str(days)) > limit:
            late.append(
                f"Plan {short} of {slug} has waited {float(str(days)):.0f} days (limit {limit}) and expires on {expires:%Y-%m-%d}. "
                f"Read it with `slowwave plans show {argument(str(slug))}`; approve or reject it."
            )
    return Freshness(len(namespaces), tuple(late))


def effective(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Check that at least one of the last three applies changed something.

    Fewer applies prove nothing, so they pass.
    """
    rows = connection.execute(
        _APPLIES,
        (list(namespaces),),
    ).fetchall()
    late: list[str] = []
    for slug, applied in rows:
        last = applied[:_IDLE_APPLIES] if isinstance(applied, list) else []
        if len(last) == _IDLE_APPLIES and not any(last):
            late.append(
                f"The last {_IDLE_APPLIES} applies in {slug} changed nothing: all of their items were stale or failed. "
                f"Memory changes faster than plans are approved, or something refuses the writes: "
                f"`slowwave runs list {argument(str(slug))}`."
            )
    return Freshness(len(namespaces), tuple(late))


def _settings(overlay: object) -> Settings:
    return Settings.for_namespace(overlay if isinstance(overlay, dict) else {})


# Removing a namespace: it is deleted if it never had a plan, else its nights end and its history stays.

_LEDGER: Final = frozenset(
    (
        *("memory.changes", "night.findings", "night.runs", "night.snapshots", "night.store_namespaces"),
        *("night.llm_usage", "night.notices", "memory.night_requests"),
    )
)
"""Tables whose rows only record nights. They are removed with a namespace that has no other rows."""

_NAMESPACE: Final = "SELECT id::text, settings FROM memory.namespaces WHERE slug = %s FOR UPDATE"
_CONNECTED: Final = """
SELECT s.name FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
WHERE k.namespace_id = %s AND s.disconnected_at IS NULL
"""
_UNUSED: Final = """
SELECT n.slug FROM night.store_namespaces k JOIN memory.namespaces n ON n.id = k.namespace_id WHERE k.store = %s
AND NOT EXISTS (SELECT 1 FROM night.plans p WHERE p.namespace_id = n.id) ORDER BY n.slug
"""
_SNAPSHOTS: Final = "SELECT location, id FROM night.snapshots WHERE namespace_id = %s AND deleted_at IS NULL"
_LIVE: Final = """
SELECT (SELECT count(*) FROM memory.memories WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.documents WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.entities WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
  + (SELECT count(*) FROM memory.memory_facts WHERE namespace_id = %(id)s AND invalidated_at IS NULL)
"""
_END_NIGHTS: Final = "UPDATE memory.namespaces SET settings = settings || '{\"enabled\": false}' WHERE id = %s"
_DELETE: Final = "DELETE FROM memory.namespaces WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Removal:
    """The result of removing a namespace.

    ``kept`` counts the rows that stay, by table. It is empty if the namespace was ``deleted``.
    """

    namespace: str
    deleted: bool
    kept: dict[str, int]
    retention_days: int
    undo_retention_days: int

    def to_json(self) -> dict[str, object]:
        """Return the result as ``slowwave namespace remove --json`` shows it."""
        return {
            "namespace": self.namespace,
            "deleted": self.deleted,
            "kept": self.kept,
            "retention_days": self.retention_days,
            "undo_retention_days": self.undo_retention_days,
        }


def remove_namespace(store: Store, namespace: str) -> Removal:
    """Delete a namespace that has no memory and no plan; for one with a history, end its nights and keep the history.

    Needs the owner's login. Raises ``Refused`` for an unknown namespace, for one of a connected store, whose rows are not Slowwave's, and
    for one that holds live memory.
    """
    with store.connect("owner") as connection, connection.transaction():
        row = connection.execute(_NAMESPACE, (namespace,)).fetchone()
        if row is None:
            raise unknown_namespace(connection, namespace)
        namespace_id, own = str(row[0]), row[1]
        if connected := connection.execute(_CONNECTED, (namespace_id,)).fetchone():
            raise Refused(
                f"{namespace} belongs to the connected store {connected[0]}, which would add it again. Remove the store first: "
                f"`slowwave connect remove {connected[0]}`. Nothing was removed."
            )
        live = connection.execute(_LIVE, {"id": namespace_id}).fetchone()
        if live and live[0]:
            raise Refused(
                f"{namespace} holds {int(str(live[0])):,} live rows of memory, and removing a namespace deletes none. To end its nights "
                f"alone: `slowwave namespace set {argument(namespace)} enabled=false`. Nothing was removed."
            )
        try:
            settings = Settings.for_namespace(own if isinstance(own, dict) else {})
        except SettingsError:  # an invalid setting is no reason to keep a namespace
            settings = Settings.for_namespace({})
        counts = _row_counts(connection, namespace_id)
        kept = {name: n for name, n in counts.items() if n and name not in _LEDGER}
        if not kept:
            snapshots = connection.execute(_SNAPSHOTS, (namespace_id,)).fetchall()
            for table in _tables():
                if counts[_name(table)]:
                    connection.execute(
                        sql.SQL("DELETE FROM {} WHERE namespace_id = %s").format(_identifier(table)), (namespace_id,)
                    )
            connection.execute(_DELETE, (namespace_id,))
            base = database_base(store)
            for location, snapshot_id in snapshots:
                remove_snapshot(str(location), namespace, str(snapshot_id), base)
        else:
            connection.execute(_END_NIGHTS, (namespace_id,))
    return Removal(namespace, not kept, kept, settings.retention_days, settings.undo_retention_days)


def remove_unplanned(store: Store, connected: str) -> list[str]:
    """Delete the namespaces of a disconnected store for which no night ever made a plan; return their names."""
    with store.connect("owner") as connection:
        names = [str(name) for (name,) in connection.execute(_UNUSED, (connected,))]
    return [name for name in names if remove_namespace(store, name).deleted]


def _tables() -> list[Table]:
    """Return every table with rows of namespaces, tables that refer to others first."""
    return [table for table in reversed(metadata.sorted_tables) if "namespace_id" in table.columns]


def _row_counts(connection: Connection, namespace_id: str) -> dict[str, int]:
    """Return table → number of rows of the namespace, in one statement."""
    counts = sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {} WHERE namespace_id = {})").format(
            _identifier(table), sql.Literal(namespace_id)
        )
        for table in _tables()
    )
    row: Any = connection.execute(sql.SQL("SELECT {}").format(counts)).fetchone()
    return {_name(table): int(n) for table, n in zip(_tables(), row, strict=True)}


def _identifier(table: Table) -> sql.Identifier:
    return sql.Identifier(str(table.schema), table.name)


def _name(table: Table) -> str:
    return f"{table.schema}.{table.name}"
