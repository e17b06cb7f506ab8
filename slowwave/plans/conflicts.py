"""The ledger of conflicts, which every plan with an audit writes, planners read and people rule on.

A row is one pair of rows that contradict each other. Its resolution is ``detected`` (open), ``deferred`` (judges left it open), ``kept``
(both may remain), ``prefer`` (a person named the winner) or ``invalidated`` (one of the rows is retired). A person's verdict is final:
only another person or a changed text of a row replaces it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
from psycopg.types.json import Jsonb

from slowwave.changes.mutation import Mutation
from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.plans.gate import APPROVER
from slowwave.plans.items import Item
from slowwave.plans.outcome import ItemOutcome, OutcomeRow, find_outcome
from slowwave.plans.questions import SAID
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.quotation import quotable

_OPEN: Final = """
SELECT row_a_id::text, row_b_id::text, table_name FROM night.conflicts WHERE namespace_id = %(scope)s
  AND table_name = ANY(%(tables)s)
"""
_RESOLVE: Final = """
UPDATE night.conflicts SET resolution = %s, winner_id = %s, loser_id = %s, resolved_by = %s, note = %s, resolved_at = now()
  WHERE id = %s AND namespace_id = (SELECT id FROM memory.namespaces WHERE slug = %s) AND resolution <> 'invalidated'
"""
_WITHDRAW: Final = """
INSERT INTO night.withdrawals (rejection_id, namespace_id, withdrawn_by, reason)
SELECT r.id, r.namespace_id, c.resolved_by, 'Ruled so later, on conflict ' || c.id || '.'
FROM night.conflicts c JOIN night.rejections r ON r.namespace_id = c.namespace_id AND r.operation = 'resolve_conflicts'
JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = r.item_id
WHERE c.id = %s AND c.resolution = 'prefer' AND i.evidence #>> '{evidence,seen}' = c.seen
  AND i.evidence #>> '{evidence,winner_id}' = c.winner_id::text
ON CONFLICT (rejection_id) DO NOTHING
"""
"""SQL: withdraw the rejections of the items that do what a person ruled now, while the texts of the rows are unchanged."""

Side = Literal["a", "b", "both"]

_IDS: Final = uuid.UUID("b2f0c3f6-6f43-5b0e-9d5e-2f6f0a1f6c55")
_PREFIX: Final = re.compile(r"[0-9a-f-]{1,36}")


@dataclass(frozen=True, slots=True)
class StoredConflict:
    """One conflict of the ledger, with the current text of both rows."""

    id: str
    table: str
    row_a_id: str
    row_b_id: str
    reason: str
    resolution: str
    evidence: Mapping[str, object]
    recorded_at: datetime
    resolved_at: datetime | None
    winner_id: str | None
    loser_id: str | None
    resolved_by: str | None
    note: str
    a: str
    b: str
    outcome: ItemOutcome | None = None
    """The row that stays and the row that ends: by the item of a plan that decides or proposes it, else by a person's verdict."""

    def to_json(self) -> dict[str, object]:
        """Return the conflict as ``slowwave conflicts list --json`` shows it."""
        return {
            "id": self.id,
            "table": self.table,
            "row_a_id": self.row_a_id,
            "row_b_id": self.row_b_id,
            "a": self.a,
            "b": self.b,
            "reason": self.reason,
            "resolution": self.resolution,
            "evidence": dict(self.evidence),
            "recorded_at": self.recorded_at.isoformat(),
            "resolved_at": self.resolved_at.isoformat() if self.resolved_at else None,
            "winner_id": self.winner_id,
            "loser_id": self.loser_id,
            "resolved_by": self.resolved_by,
            "note": self.note,
            "outcome": self.outcome.to_json() if self.outcome else None,
        }


def conflicts_in(reports: Iterable[Report]) -> list[Mapping[str, Any]]:
    """Return the details of all findings about a conflict: the ``conflict`` and, after judges, their ``verdict``."""
    found = [f.details for report in reports for f in report.findings if "conflict" in f.details]
    return [details for details in found if isinstance(details["conflict"], Mapping)]


def write_conflicts(
    connection: Connection,
    scope: str,
    run_id: str,
    found: Sequence[Mapping[str, Any]],
    snapshot: Snapshot,
    *,
    complete: bool = True,
) -> int:
    """Write the conflicts that a night found in the namespace with id ``scope``; return how many rows changed.

    ``found`` are details as ``conflicts_in`` returns them. A new pair is inserted. A known pair takes the new reason and evidence and is
    open again if the text of its rows changed. With ``complete``, when the whole audit ran, known conflicts that were not found are
    checked as well: they become ``invalidated`` if a row is retired, and ``kept`` if both rows are live and agree. Cost: at most four
    statements over the pairs, each linear in them.
    """
    rows = [_row(details, run_id) for details in found]
    values = {"scope": scope, "run": run_id, "by": f"run:{run_id}", "tables": list(SAID), "found": Jsonb(rows)}
    changed = connection.execute(_UPSERT, values).rowcount if rows else 0
    known = connection.execute(_OPEN, values).fetchall() if complete else []
    if known:
        values |= {"live": _live(snapshot, known)}
        changed += sum(connection.execute(statement, values).rowcount for statement in (_RETIRED, _AGREED))
    return changed


_PERSON: Final = "(c.resolved_by IS NOT NULL AND position(':' in c.resolved_by) = 0)"

_FOUND: Final = (
    "jsonb_to_recordset(%(found)s) AS f(id uuid, table_name text, row_a_id uuid, row_b_id uuid, reason text, evidence jsonb, seen text, "
    "resolution text, winner_id uuid, loser_id uuid, resolved_by text, note text)"
)

_UPSERT: Final = f"""
INSERT INTO night.conflicts AS c (id, namespace_id, table_name, row_a_id, row_b_id, reason, evidence, seen, run_id, resolution, winner_id,
  loser_id, resolved_by, note, resolved_at)
SELECT DISTINCT ON (row_a_id, row_b_id) id, %(scope)s::uuid, table_name, row_a_id, row_b_id, reason, evidence, seen, %(run)s::uuid,
  coalesce(resolution, 'detected'), winner_id, loser_id, resolved_by, coalesce(note, ''),
  CASE WHEN resolution = 'kept' THEN now() END
FROM {_FOUND} ORDER BY row_a_id, row_b_id, resolution NULLS LAST
ON CONFLICT (namespace_id, row_a_id, row_b_id) DO UPDATE SET
  table_name = excluded.table_name, reason = excluded.reason, evidence = excluded.evidence, seen = excluded.seen, run_id = excluded.run_id,
  resolution = excluded.resolution, winner_id = excluded.winner_id, loser_id = excluded.loser_id, resolved_by = excluded.resolved_by,
  note = excluded.note, resolved_at = excluded.resolved_at
WHERE c.seen <> excluded.seen OR (NOT {_PERSON} AND (excluded.resolved_by IS NOT NULL OR c.resolved_by ~ '^(run|candidates):'))
"""

_RETIRED: Final = f"""
UPDATE night.conflicts c SET resolution = 'invalidated', resolved_at = now(), resolved_by = %(by)s,
  winner_id = CASE WHEN c.row_a_id = ANY(%(live)s::uuid[]) THEN c.row_a_id WHEN c.row_b_id = ANY(%(live)s::uuid[]) THEN c.row_b_id END,
  loser_id = CASE WHEN c.row_a_id = ANY(%(live)s::uuid[]) THEN c.row_b_id WHEN c.row_b_id = ANY(%(live)s::uuid[]) THEN c.row_a_id END
WHERE c.namespace_id = %(scope)s AND c.table_name = ANY(%(tables)s) AND c.resolution <> 'invalidated' AND NOT {_PERSON}
  AND NOT (c.row_a_id = ANY(%(live)s::uuid[]) AND c.row_b_id = ANY(%(live)s::uuid[]))
"""

_AGREED: Final = f"""
UPDATE night.conflicts c SET resolution = 'kept', resolved_at = now(), resolved_by = %(by)s, winner_id = NULL, loser_id = NULL,
  note = 'The rows no longer contradict each other.'
WHERE c.namespace_id = %(scope)s AND c.table_name = ANY(%(tables)s) AND c.resolution <> 'kept' AND NOT {_PERSON}
  AND c.row_a_id = ANY(%(live)s::uuid[]) AND c.row_b_id = ANY(%(live)s::uuid[])
  AND (c.row_a_id, c.row_b_id) NOT IN (SELECT f.row_a_id, f.row_b_id FROM {_FOUND})
"""


_ACTIVE: Final[Mapping[str, Callable[[pa.Table], pa.ChunkedArray]]] = {
    "memory_facts": lambda rows: rows["is_active"],
    "memories": lambda rows: pc.equal(rows["state"], "active"),
}
"""Table → filter for the live rows that count as active."""


def _row(details: Mapping[str, Any], run_id: str) -> dict[str, object]:
    conflict, verdict = details["conflict"], details.get("verdict") or {}
    explanation = {"reason": conflict["reason"], "evidence": conflict["evidence"], "note": verdict.get("note")}
    return {
        "id": str(uuid.uuid5(_IDS, f"{run_id}/{conflict['row_a_id']}/{conflict['row_b_id']}")),
        "table_name": conflict["table"],
        **{k: conflict[k] for k in ("row_a_id", "row_b_id", "seen")},
        **{k: verdict.get(k) for k in ("resolution", "winner_id", "loser_id", "resolved_by")},
        **quotable(explanation),
    }


def _live(snapshot: Snapshot, known: Iterable[tuple[object, ...]]) -> list[str]:
    """Return the ids of the rows in known conflicts that are live in the snapshot."""
    wanted: dict[str, set[str]] = {}
    for a, b, table in known:
        wanted.setdefault(str(table), set()).update((str(a), str(b)))
    found: list[str] = []
    for table, ids in wanted.items():
        rows = snapshot.live(table)
        if table in _ACTIVE:
            rows = rows.filter(_ACTIVE[table](rows))
        found += rows["id"].filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string()))).to_pylist()
    return found


def list_conflicts(
    store: Store, namespace: str, *, resolutions: Sequence[str] = (), prefix: str = "", limit: int = 1000
) -> list[StoredConflict]:
    """Return conflicts of a namespace, open ones first, then the newest.

    ``resolutions`` and ``prefix`` (the first characters of ids) narrow the list.
    """
    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
        rows = connection.execute(_LIST, (scope, list(resolutions), list(resolutions), prefix, limit)).fetchall()
        found = [StoredConflict(*row) for row in rows]  # type: ignore[arg-type]
        decided: list[Any] = connection.execute(_DECIDING, {"scope": scope, "ids": [c.id for c in found]}).fetchall()
    items: dict[str, tuple[Item, str]] = {
        str(id_): (Item(operation, decision, Mutation.from_json(mutation), evidence), str(status))
        for id_, operation, decision, status, mutation, evidence in decided
    }
    return [replace(c, outcome=_outcome(c, *items.get(c.id, (None, "")))) for c in found]


_DECIDING: Final = """
SELECT DISTINCT ON (c.id) c.id::text, i.operation, i.decision, i.status, i.mutation, i.evidence -> 'evidence'
FROM night.conflicts c JOIN night.plans p ON p.namespace_id = c.namespace_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
WHERE c.namespace_id = %(scope)s AND c.id = ANY(%(ids)s::uuid[]) AND c.resolution <> 'kept' AND i.operation = 'resolve_conflicts'
  AND i.evidence #>> '{evidence,seen}' = c.seen
  AND (i.status IN ('approved', 'applied') OR (i.status = 'pending' AND p.state IN ('awaiting_approval', 'approved')))
ORDER BY c.id, p.recorded_at DESC
"""
"""SQL: the last item that decides or proposes each of some conflicts, while the texts of their rows are unchanged."""


def _outcome(conflict: StoredConflict, item: Item | None, status: str) -> ItemOutcome | None:
    """Return which row stays and which ends.

    A person's verdict decides until an item that follows it is approved, because an older plan may propose the other side.
    """
    words = {conflict.row_a_id: quotable(conflict.a), conflict.row_b_id: quotable(conflict.b)}
    ruled = conflict.resolution == "prefer" and conflict.winner_id and conflict.loser_id
    if item is not None and (not ruled or status in ("approved", "applied")):
        return find_outcome(item, words, status)
    if not ruled:
        return None
    stays, ends = (
        (OutcomeRow(str(id_), words[str(id_)] or f"{conflict.table} {str(id_)[:8]}"),)
        for id_ in (conflict.winner_id, conflict.loser_id)
    )
    return ItemOutcome(stays, ends, f"{conflict.resolved_by} ruled so", proposed=True)


_TEXT: Final = """coalesce(
  (SELECT coalesce(nullif(f.fact_text, ''), f.subject || ' ' || f.predicate || ' ' || f.object) FROM memory.memory_facts f
    WHERE f.id = {row}),
  (SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = {row}),
  (SELECT s.name || ' ' || r.relationship_type || ' ' || t.name || coalesce(': ' || nullif(r.description, ''), '')
    || coalesce(' ' || nullif(r.properties::text, '{{}}'), '') FROM memory.relationships r JOIN memory.entities s
    ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id WHERE r.id = {row}), '')"""
"""SQL: the current text of a row."""

_LIST: Final = f"""
SELECT c.id::text, c.table_name, c.row_a_id::text, c.row_b_id::text, c.reason, c.resolution, c.evidence, c.recorded_at, c.resolved_at,
  c.winner_id::text, c.loser_id::text, c.resolved_by, c.note, {_TEXT.format(row="c.row_a_id")}, {_TEXT.format(row="c.row_b_id")}
FROM night.conflicts c WHERE c.namespace_id = %s AND (cardinality(%s::text[]) = 0 OR c.resolution = ANY(%s)) AND starts_with(c.id::text, %s)
ORDER BY c.resolution NOT IN ('detected', 'deferred'), c.recorded_at DESC, c.id LIMIT %s
"""


def resolve_conflict(
    store: Store, namespace: str, conflict_id: str, *, verdict: Side, by: str, note: str = ""
) -> StoredConflict:
    """Rule on a conflict, named by its id or its first characters: ``a`` or ``b`` is right, or ``both`` may remain.

    The next night proposes to retire the loser, also if an item that retires it was rejected or undone before the ruling. ``both`` is
    never asked again while the texts of the rows are unchanged. Ruling again replaces the verdict. Raises ``Refused`` for a name that no
    approver can have, an unknown or ambiguous id, and a conflict with a retired row.
    """
    if not APPROVER.fullmatch(by):
        raise Refused(
            "A verdict needs a name: letters, digits and . _ @ -, 2 to 64 of them. Give --by, so that others know whom to ask."
        )
    if verdict not in ("a", "b", "both"):
        raise Refused(
            f"A verdict is a, b or both, not {str(verdict)[:32]!r}. "
            f"`slowwave conflicts list {argument(namespace)}` shows which row is which."
        )
    found = list_conflicts(store, namespace, prefix=conflict_id, limit=2) if _PREFIX.fullmatch(conflict_id) else []
    if len(found) != 1:
        what = "names more than one conflict" if found else "is no conflict"
        raise Refused(
            f"{conflict_id[:64]!r} {what} of {namespace}. `slowwave conflicts list {argument(namespace)}` shows them."
        )
    one = found[0]
    winner, loser = {"a": (one.row_a_id, one.row_b_id), "b": (one.row_b_id, one.row_a_id), "both": (None, None)}[
        verdict
    ]
    with store.connect("approver") as connection, connection.transaction():
        changed = connection.execute(
            _RESOLVE,
            ("kept" if verdict == "both" else "prefer", winner, loser, by, note[:2000], one.id, namespace),
        )
        if changed.rowcount != 1:
            raise Refused(
                f"Conflict {one.id[:8]} was over at the last night: one of its rows was retired. If that is not undone yet, undo it; "
                "then run a night, and rule again."
            )
        connection.execute(_WITHDRAW, (one.id,))
    return list_conflicts(store, namespace, prefix=one.id)[0]
