"""Retention: what only explains the past goes when it is old. Report files, findings, token counts, items nobody will decide, items of
sessions that agents took back, the words of proposals of which nothing came, and, where a namespace wants it, before-images.

Kept for ever are approvals, applied plans, the journal, the event chain and the plans themselves. Nothing goes that a plan which can
still be applied, or an undo that is still promised, would need. Snapshots go by themselves when a new one is taken.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from slowwave.config.settings import Settings
from slowwave.reports.files import expire_reports, reports_path
from slowwave.runs.planning import forget_turns
from slowwave.runs.states import HOLDING
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id
from slowwave.store.partitions import make_partitions_ahead
from slowwave.store.paths import path_part

_BUDGET_DAYS: Final = 2
"""Token counts younger than this are part of the day's budget."""

_WEEK_DAYS: Final = 8
"""Those of runs, of which deep passes have a budget of seven days."""

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
"""The newest runs, runs that go on, and approvals that may still be applied."""

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
"""Items that were applied can be undone, and merges that were rejected teach the weights: both stay, as does the latest plan."""

_BEFORE_IMAGES: Final = """
    DELETE FROM night.before_images b USING night.journal j, night.runs r WHERE j.id = b.journal_id AND r.id = j.run_id
    AND b.namespace_id = %(namespace)s AND r.namespace_id = %(namespace)s
    AND coalesce(r.finished_at, r.heartbeat_at) < now() - make_interval(days => %(undo_days)s)
    AND NOT EXISTS (SELECT 1 FROM holding h WHERE h.id = r.id) AND NOT EXISTS (SELECT 1 FROM open o WHERE o.id = r.approval_id)"""
"""Those of a run go together: it can be undone whole, or not at all."""


def retain(store: Store, namespace: str, settings: Settings) -> dict[str, int]:
    """Remove what is past its retention in a namespace; returns what was removed: runs with report files, and rows by table.

    Older than ``retention_days`` and not of the newest ``retention_runs_per_namespace`` runs, both must hold; before-images go
    ``undo_retention_days`` after the end of their run, and never when that is 0. Undo of such a run then refuses in words. Time: linear in
    the rows that are left and removed. Raises ``Refused`` for an unknown namespace.
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
    """The names of this ledger's runs in their files."""
    rows = connection.execute(_RUNS, parameters)
    return frozenset(path_part(str(run)) for (run,) in rows)


def _forget_proposals(connection: Connection, namespace_id: str, before: datetime) -> int:
    """After the items of plans, on some of which they rest."""
    row = connection.execute(_PROPOSALS, (namespace_id, before)).fetchone()
    return int(str(row[0])) if row else 0


def _delete(connection: Connection, statement: str, parameters: dict[str, object]) -> int:
    with connection.transaction():
        return connection.execute((_SCOPE + statement).encode(), parameters).rowcount
