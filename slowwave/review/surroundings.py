"""What stands around a question: what was planned, applied and rejected about its rows before, and which rows they are linked with.

Both are read as they are now, and bounded: a person looks at a few lines, not at a log. All of memory passes ``quotable``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.store.connect import Connection
from slowwave.texts.quotation import quotable_all

MOST_EVENTS: Final = 10
MOST_LINKS: Final = 12
_LONGEST: Final = 300  # characters of a name or a reason

_EVENTS: Final = """
(SELECT p.recorded_at, 'planned', i.operation, i.status, '' FROM night.plan_items i JOIN night.plans p USING (plan_hash)
  WHERE i.item_id = %(item)s AND i.plan_hash <> %(plan)s AND p.namespace_id = %(namespace)s AND p.recorded_at < %(made)s
  ORDER BY p.recorded_at DESC LIMIT %(most)s)
UNION ALL
(SELECT max(j.recorded_at), CASE WHEN bool_or(j.undoes IS NOT NULL) THEN 'undone' ELSE 'applied' END,
  coalesce((SELECT i.operation FROM night.plan_items i WHERE i.item_id = j.item_id LIMIT 1), ''), '', ''
  FROM night.journal j WHERE j.row_id = ANY(%(rows)s::uuid[]) AND j.namespace_id = %(namespace)s
  GROUP BY j.run_id, j.item_id ORDER BY 1 DESC LIMIT %(most)s)
UNION ALL
(SELECT DISTINCT r.recorded_at, CASE WHEN w.rejection_id IS NULL THEN 'rejected' ELSE 'withdrawn' END, r.operation,
  night.signed_as(r.rejected_by, r.policy_id), r.reason
  FROM night.rejections r LEFT JOIN night.withdrawals w ON w.rejection_id = r.id
  WHERE r.namespace_id = %(namespace)s AND r.row_ids && %(rows)s::uuid[] ORDER BY 1 DESC LIMIT %(most)s)
ORDER BY 1 DESC LIMIT %(most)s
"""
_LINKS: Final = """
SELECT DISTINCT s.name, r.relationship_type, t.name FROM memory.relationships r
JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
WHERE (r.source_entity_id = ANY(%(rows)s::uuid[]) OR r.target_entity_id = ANY(%(rows)s::uuid[])) AND r.namespace_id = %(namespace)s
  AND r.invalidated_at IS NULL ORDER BY 1, 2, 3 LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class PastEvent:
    """What happened about the rows of a question: ``planned`` (its very item, in an earlier plan), ``applied``, ``undone``, ``rejected``,
    or rejected and ``withdrawn`` since.

    ``about`` is the status that the planned item has, or who rejected; ``reason`` is why.
    """

    at: datetime
    what: str
    operation: str
    about: str
    reason: str

    def sentence(self) -> str:
        """The event in a line, without its date."""
        name = self.operation or "an operation that is not known any more"
        match self.what:
            case "rejected" | "withdrawn":
                since = ", withdrawn since" if self.what == "withdrawn" else ""
                return f"rejected by {self.about}{since}, {name}: {self.reason}"
            case "planned":
                return f"planned the same, {name}, which was left {self.about.replace('_', ' ')}"
            case _:
                return f"{self.what}, {name}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The latest events about the rows of a question, the newest first, and their relationships as source, type and target."""

    history: tuple[PastEvent, ...] = ()
    links: tuple[tuple[str, str, str], ...] = ()


def surroundings(connection: Connection, plan: StoredPlan, item: StoredItem) -> Surroundings:
    """History and links of an item's rows, on a connection of a reader. Two queries by index, but for the namespace's rejections."""
    mutation = item.item.mutation
    about: dict[str, Any] = {"rows": list(mutation.row_ids()), "namespace": plan.header.namespace_id}
    past: list[Any] = connection.execute(
        _EVENTS, {**about, "item": item.id, "plan": plan.plan_hash, "made": plan.recorded_at, "most": MOST_EVENTS}
    ).fetchall()
    links: list[Any] = (
        connection.execute(_LINKS, {**about, "most": MOST_LINKS}).fetchall() if mutation.table == "entities" else []
    )
    texts = [*(str(row[4]) for row in past), *(str(name) for link in links for name in link)]
    said = [str(text)[:_LONGEST] for text in quotable_all(texts)]
    names = said[len(past) :]
    return Surroundings(
        tuple(PastEvent(row[0], row[1], row[2], row[3], reason) for row, reason in zip(past, said, strict=False)),
        tuple(zip(names[::3], names[1::3], names[2::3], strict=True)),
    )
