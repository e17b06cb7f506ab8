"""States of plans and runs as people read them, the summaries that runs wrote, and the latest plan of a namespace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from slowwave.errors import INTERRUPTED, Refused
from slowwave.plans.commands import argument
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.tokens import counted, suggest_id

# Plan items (one decision of a planner each), their states, and the patterns that decide without a question.

# The displayed state of a plan: its state in the ledger, refined by the states of its items.
#
# The ledger stores what was decided about a plan. Whether that is done, partly done or undone depends on its items. It is counted on
# request, so it cannot be out of date.

STATES: Final = (
    *("awaiting_approval", "approved", "rejected", "expired", "superseded", "empty"),
    *("partly_approved", "partly_applied", "applied", "failed", "partly_undone", "undone"),
)
"""The states of the ledger, followed by those that depend on the items."""

_ORDER: Final = ("pending", "approved", "applied", "undone", "skipped_stale", "noop", "failed", "rejected", "deferred")

_WORDS: Final = {
    "skipped_stale": "skipped because a row changed",
    "noop": "already so",
    "deferred": "left for a later night",
}


def shown_state(state: object, items: object, expires_at: object = None) -> str:
    """Return the state to show: ``state`` of the ledger, refined by ``items`` by status and the plan's expiry.

    ``items`` come from ``night.item_counts``. ``partly_…`` means that the rest of the plan is pending, failed or still applied, and
    ``failed`` that items failed and none was applied.
    """
    counts = _counts(items)
    if state == "awaiting_approval":
        if isinstance(expires_at, datetime) and expires_at <= datetime.now(UTC):
            return "expired"
        return "rejected" if counts and set(counts) <= {"rejected", "deferred"} else "awaiting_approval"
    if state != "approved" or not counts:
        return str(state)
    waits = "pending" in counts
    if "approved" in counts:
        return "partly_approved" if waits else "approved"
    if "undone" in counts:
        return "partly_undone" if "applied" in counts else "undone"
    if "failed" in counts and not {"applied", "noop"} & counts.keys():
        return "failed"
    return "partly_applied" if waits or "failed" in counts else "applied"


def items_text(items: object, questions: int = 0) -> str:
    """Format items by status, such as ``990 pending, 10 applied``, without statuses that have no items.

    ``questions`` is how many of the pending items are questions, if these are named: ``964 decided and 26 questions pending``.
    """
    counts = _counts(items)
    words = {s: f"{n:,} {_WORDS.get(s, s)}" for s, n in counts.items()}
    if questions:
        decided = counts["pending"] - questions
        words["pending"] = f"{f'{decided:,} decided and ' if decided else ''}{counted(questions, 'question')} pending"
    return ", ".join(words[s] for s in _ORDER if s in counts) or "no items"


def _counts(items: object) -> dict[str, int]:
    found = items if isinstance(items, Mapping) else {}
    return {str(status): int(str(n)) for status, n in found.items() if n}


# The displayed states of runs: for a plan run the state of its plan, for an apply run whether it was undone. Counted on request.

_PLANNED: Final = """
SELECT p.run_id::text, p.state, night.item_counts(p.plan_hash), p.expires_at FROM night.plans p
  WHERE p.run_id = ANY(%(runs)s::uuid[]) AND p.state <> 'empty'
"""
_APPLIED: Final = """
SELECT d.run_id::text, (SELECT coalesce(jsonb_object_agg(s.status, s.items), '{}') FROM (SELECT i.status, count(*) AS items
    FROM night.plan_items i WHERE i.plan_hash = a.plan_hash AND i.item_id = ANY(a.item_ids) GROUP BY i.status) s)
  FROM night.applied d JOIN night.approvals a ON a.id = d.approval_id WHERE d.run_id = ANY(%(runs)s::uuid[])
"""
_STOPPED: Final = (
    "SELECT id::text FROM night.runs WHERE id = ANY(%(runs)s::uuid[]) AND state = 'crashed' AND error = %(error)s"
)


def run_states(connection: Connection, run_ids: Collection[str]) -> dict[str, str]:
    """Return run → state for the runs whose state in the ledger is less precise. Three queries.

    A plan run has the state of its plan; an apply run is ``undone`` or ``partly_undone`` if it was. A run that Ctrl-C ended is
    ``interrupted``.
    """
    runs: dict[str, object] = {"runs": sorted(run_ids)}
    found = {
        str(run): shown_state(state, counts, expires)
        for run, state, counts, expires in connection.execute(_PLANNED, runs).fetchall()
    }
    for run, counts in connection.execute(_APPLIED, runs).fetchall():
        state = shown_state("approved", counts)
        if state in ("undone", "partly_undone"):
            found[str(run)] = state
    stopped = connection.execute(_STOPPED, runs | {"error": INTERRUPTED}).fetchall()
    return found | {str(run): "interrupted" for (run,) in stopped}


# The summaries that runs wrote.

_CONSOLIDATIONS: Final = """
SELECT j.run_id::text, count(*), sum((e ->> 'source_count')::int), avg((e ->> 'cluster_similarity')::float),
  sum((e ->> 'token_savings')::int)
FROM (SELECT DISTINCT run_id, item_id FROM night.journal WHERE run_id = ANY(%s::uuid[])) j
JOIN night.runs r ON r.id = j.run_id AND r.mode = 'apply'
JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = j.item_id, LATERAL (SELECT i.evidence -> 'evidence') AS x (e)
WHERE i.operation = 'consolidate_clusters' AND i.status = 'applied' GROUP BY 1
"""


def consolidations_of(connection: Connection, run_ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the figures of the summaries that each apply run wrote, by run id.

    The figures are ``summaries``, ``sources``, ``similarity`` (the mean over the clusters) and ``token_savings``, as in Plugged.in's
    ``dream_consolidations``. They count the items that the run applied and that were not undone. Runs without such items are left out.
    """
    rows = connection.execute(_CONSOLIDATIONS, (list(run_ids),)).fetchall() if run_ids else []
    return {
        str(run): {
            "summaries": int(str(n)),
            "sources": int(str(sources)),
            "similarity": round(float(str(similarity)), 4),
            "token_savings": int(str(saved)),
        }
        for run, n, sources, similarity, saved in rows
    }


# The ledger of plans, written by planners and read by everyone.
#
# It holds plans with their items in order, the latest plan of a namespace and the token budget.

# The default plan of a namespace: the night's, unless it is decided and another one is pending.

_PLANS: Final = """
SELECT p.plan_hash, p.recorded_at, r.parameters ? 'proposal' AS aside,
  p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND EXISTS (
    SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending') AS waits
  FROM night.plans p JOIN night.runs r ON r.id = p.run_id WHERE p.namespace_id = %s AND p.state <> 'empty'"""
_LATEST: Final = f"""
WITH plans AS ({_PLANS}), newest AS (
  (SELECT * FROM plans WHERE NOT aside ORDER BY recorded_at DESC LIMIT 1)
  UNION ALL (SELECT * FROM plans WHERE aside ORDER BY waits DESC, recorded_at DESC LIMIT 1))
SELECT plan_hash FROM newest ORDER BY waits DESC, aside LIMIT 1
"""
_WAITING: Final = f"WITH plans AS ({_PLANS}) SELECT plan_hash FROM plans WHERE waits ORDER BY aside, recorded_at DESC"
_LAST_NIGHT: Final = """
SELECT recorded_at, coalesce(summary ->> 'why_held_back', ''), (SELECT coalesce(sum(n.value::int), 0)
  FROM jsonb_each(coalesce(summary -> 'held_back', '{}')) o, jsonb_each_text(o.value) n)
FROM night.plans WHERE namespace_id = %s ORDER BY recorded_at DESC LIMIT 1
"""
_HASHES: Final = "SELECT plan_hash FROM night.plans WHERE namespace_id = %s ORDER BY recorded_at DESC LIMIT 1000"
_BY_PREFIX: Final = "SELECT plan_hash FROM night.plans WHERE namespace_id = %s AND starts_with(plan_hash, %s) LIMIT 2"


def latest_plan(connection: Connection, namespace: str) -> str | None:
    """Return the hash of the namespace's newest plan of a night that is not empty, or None.

    If that plan does not exist or is decided, a pending plan of a proposal or of a separate pass comes first.
    """
    found = connection.execute(_LATEST.encode(), (namespace_id(connection, namespace),)).fetchone()
    return str(found[0]) if found else None


def no_plan(connection: Connection, namespace: str) -> str:
    """Return a sentence on why a namespace has no plan to decide: its last night found nothing, or there was none."""
    row = connection.execute(_LAST_NIGHT, (namespace_id(connection, namespace),)).fetchone()
    if row and isinstance(row[0], datetime):
        at, why, proposed = row[0], str(row[1]), int(str(row[2]))
        found = f"proposed {counted(proposed, 'change')} for no plan. {why}" if proposed else "found nothing new."
        return f"{namespace} has nothing to decide: its night of {at:%Y-%m-%d %H:%M} UTC {found}"
    return f"{namespace} has no plan yet: run `slowwave night {argument(namespace)}` first."


def find_plan(connection: Connection, namespace: str, prefix: str) -> str:
    """Return the full hash of a plan of the namespace by its first characters; refuse no match and several."""
    found = [str(h) for (h,) in connection.execute(_BY_PREFIX, (namespace_id(connection, namespace), prefix))]
    if len(found) == 1 and prefix:
        return found[0]
    newest = latest_plan(connection, namespace)
    hint = f"Its latest plan is {newest[:12]}." if newest else no_plan(connection, namespace)
    if found:
        raise Refused(f"{prefix[:64]!r} names more than one plan of {namespace}. {hint}")
    known = [str(h) for (h,) in connection.execute(_HASHES, (namespace_id(connection, namespace),))]
    raise Refused(f"{prefix[:64]!r} is no plan of {namespace}.{suggest_id(prefix[:64], known)} {hint}")


def waiting_plans(connection: Connection, namespace: str) -> list[str]:
    """Return the hashes of all pending plans: the night's, then those of proposals and separate passes, newest first."""
    rows: Any = connection.execute(_WAITING.encode(), (namespace_id(connection, namespace),)).fetchall()
    return [str(hash_) for (hash_,) in rows]
