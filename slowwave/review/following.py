"""Drafts that did not follow: what was said in the plan before, of items that the plan which took its place does not have.

An item's id is its content. What says the same is the same item, and what was said of it follows by itself (``slowwave.review.drafts``).
What changed, or is not proposed any more, is another question or none, and nothing is concluded from what was said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from slowwave.mutations.mutation import Mutation
from slowwave.plans.items import Item
from slowwave.plans.latest import find_plan
from slowwave.review.drafts import current_drafts
from slowwave.review.queue import title_from
from slowwave.store.connect import Store
from slowwave.texts.quotation import quotable_all

_BEFORE: Final = """
SELECT o.plan_hash FROM night.plans p JOIN night.plans o ON o.namespace_id = p.namespace_id AND o.recorded_at < p.recorded_at
  AND o.state IN ('superseded', 'expired') AND EXISTS (SELECT 1 FROM night.review_drafts d WHERE d.plan_hash = o.plan_hash)
  AND NOT EXISTS (SELECT 1 FROM night.review_signatures s WHERE s.namespace_id = p.namespace_id AND s.recorded_at > o.recorded_at
                  AND s.plan_hash <> o.plan_hash)
WHERE p.plan_hash = %s ORDER BY o.recorded_at DESC LIMIT 1
"""
"""The last plan with drafts before one; none where a later plan was signed since."""

_GONE: Final = """
SELECT o.item_id::text, o.operation, o.decision, o.evidence -> 'evidence', o.mutation FROM night.plan_items o
WHERE o.plan_hash = %(before)s AND o.item_id = ANY(%(items)s::uuid[]) AND NOT EXISTS (
  SELECT 1 FROM night.plan_items i WHERE i.plan_hash = %(plan)s AND i.item_id = o.item_id AND i.status <> 'deferred')
ORDER BY o.ordinal
"""


@dataclass(frozen=True, slots=True)
class GoneDraft:
    """A yes or no of the plan before (``plan_hash``) whose item this plan does not have. Its title quotes memory, without secrets."""

    item: str
    plan_hash: str
    title: str
    verdict: str
    note: str
    reviewer: str


def gone_drafts(store: Store, namespace: str, plan_hash: str) -> list[GoneDraft]:
    """What was said in the last plan with drafts before this one, of items that this one lacks; skips are left out. Three queries."""
    with store.connect("approver") as connection:
        plan = find_plan(connection, namespace, plan_hash.strip())
        row = connection.execute(_BEFORE, (plan,)).fetchone()
        before = str(row[0]) if row else ""
        said = {i: d for i, d in current_drafts(connection, before).items() if d.verdict != "skip"} if before else {}
        found: list[Any] = (
            connection.execute(_GONE, {"before": before, "plan": plan, "items": sorted(said)}).fetchall()
            if said
            else []
        )
    items = (
        Item(operation, decision, Mutation.from_json(mutation), evidence)
        for _, operation, decision, evidence, mutation in found
    )
    titles = quotable_all([title_from(item) for item in items])
    return [
        GoneDraft(item, before, str(title), said[item].verdict, said[item].note, said[item].reviewer)
        for (item, *_), title in zip(found, titles, strict=True)
    ]
