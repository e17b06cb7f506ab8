"""What became of runs: of a plan run its plan as it is called now, of an apply run whether it was undone. Counted when somebody looks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from slowwave.plans.states import shown_state
from slowwave.store.connect import Connection

_PLANNED: Final = """
SELECT p.run_id::text, p.state, night.item_counts(p.plan_hash), p.expires_at FROM night.plans p
  WHERE p.run_id = ANY(%(runs)s::uuid[]) AND p.state <> 'empty'
"""
_APPLIED: Final = """
SELECT d.run_id::text, (SELECT coalesce(jsonb_object_agg(s.status, s.items), '{}') FROM (SELECT i.status, count(*) AS items
    FROM night.plan_items i WHERE i.plan_hash = a.plan_hash AND i.item_id = ANY(a.item_ids) GROUP BY i.status) s)
  FROM night.applied d JOIN night.approvals a ON a.id = d.approval_id WHERE d.run_id = ANY(%(runs)s::uuid[])
"""


def run_states(connection: Connection, run_ids: Collection[str]) -> dict[str, str]:
    """Run → its state where the ledger's word for it says less: that of its plan, or ``undone`` and ``partly_undone``. Two queries."""
    runs = {"runs": sorted(run_ids)}
    found = {
        str(run): shown_state(state, counts, expires)
        for run, state, counts, expires in connection.execute(_PLANNED, runs).fetchall()
    }
    for run, counts in connection.execute(_APPLIED, runs).fetchall():
        state = shown_state("approved", counts)
        if state in ("undone", "partly_undone"):
            found[str(run)] = state
    return found
