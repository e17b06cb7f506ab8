"""What must hold of a namespace after every apply and undo, asked in plain SQL. Nothing here repairs.

Each answer has its denominator: how many rows, cells or events were looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slowwave.applying.events import verify_chain
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

_RETIRED_ENDPOINTS: Final = """
SELECT count(*), count(*) FILTER (WHERE s.invalidated_by IS NOT NULL OR t.invalidated_by IS NOT NULL),
  count(*) FILTER (WHERE s.invalidated_at IS NOT NULL OR t.invalidated_at IS NOT NULL)
FROM memory.relationships r JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
WHERE r.namespace_id = %s AND r.invalidated_at IS NULL
"""
_PLANNED_AND_WRITTEN: Final = """
WITH last AS (
  SELECT approval_id, run_id, plan_hash FROM night.applied WHERE namespace_id = %s ORDER BY recorded_at DESC LIMIT 1
), items AS (
  SELECT i.item_id, i.mutation FROM last JOIN night.approvals a ON a.id = last.approval_id
  JOIN night.plan_items i ON i.plan_hash = last.plan_hash AND i.item_id = ANY(a.item_ids) WHERE i.status IN ('applied', 'undone')
), planned AS (
  SELECT item_id, w ->> 0, w ->> 1, w ->> 2, w ->> 3 FROM items, jsonb_array_elements(mutation -> 'writes') w
  UNION ALL SELECT item_id, d ->> 0, d ->> 1, d ->> 2, '' FROM items, jsonb_array_elements(mutation -> 'deletes') d
), written AS (
  SELECT j.item_id, table_name, row_id::text, row_key, column_name FROM night.journal j JOIN last USING (run_id) WHERE action <> 'insert'
), inserts AS (
  SELECT coalesce(sum(jsonb_array_length(mutation -> 'inserts')), 0) - (SELECT count(*) FROM night.journal j
    JOIN last USING (run_id) WHERE action = 'insert') AS spared FROM items
)
SELECT (SELECT count(*) FROM planned), (SELECT count(*) FROM (TABLE planned EXCEPT TABLE written) x),
  (SELECT count(*) FROM (TABLE written EXCEPT TABLE planned) x), (SELECT spared FROM inserts)
"""


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """Whether an invariant holds, how much was looked at, how much is wrong, and a sentence."""

    holds: bool
    looked_at: int
    wrong: int
    sentence: str


def retired_endpoints(connection: Connection, namespace: str) -> InvariantResult:
    """No live relationship may touch a retired entity; those whose entity was retired before any run are named apart.

    A merge moves the ends of its edges to the survivor and an archive ends its edges, so an edge that still leads to what one of
    our items retired is a fault of ours. An edge to an entity that an agent retired is a finding, and no fault.
    """
    row = connection.execute(_RETIRED_ENDPOINTS, (namespace_id(connection, namespace),)).fetchone()
    live, ours, all_ = (int(str(n)) for n in row) if row else (0, 0, 0)
    return InvariantResult(
        not ours,
        live,
        ours,
        f"{ours:,} of {live:,} live relationships touch an entity that a run retired; {all_ - ours:,} touch one that was "
        "retired by others.",
    )


def changed_as_planned(connection: Connection, namespace: str) -> InvariantResult:
    """The cells that the last apply run journalled are exactly those that its items planned to write.

    Rows that an item was to insert may be there already (an alias that another item brought): fewer inserts are no fault, more are.
    """
    row = connection.execute(_PLANNED_AND_WRITTEN, (namespace_id(connection, namespace),)).fetchone()
    planned, missing, extra, spared = (int(str(n)) for n in row) if row else (0, 0, 0, 0)
    wrong = missing + extra + max(0, -spared)
    return InvariantResult(
        not wrong,
        planned,
        wrong,
        f"Of {planned:,} cells planned by the last apply run, {missing:,} were not written; {extra:,} were written unplanned; "
        f"{max(0, -spared):,} rows were inserted unplanned.",
    )


def event_chain(connection: Connection, namespace: str) -> InvariantResult:
    """Every event of the namespace is linked to the one before it by its hash."""
    events, broken = verify_chain(connection, namespace_id(connection, namespace))
    if broken is None:
        return InvariantResult(True, events, 0, f"All {events:,} events of the chain are linked.")
    return InvariantResult(
        False, events, 1, f"Event {broken:,} does not follow from the one before it: the chain was changed."
    )
