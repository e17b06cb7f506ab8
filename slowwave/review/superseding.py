"""Superseding: an item that a reviewer amended gives way to the plan that came of it once its no is signed; until then both wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import Any, Final

from slowwave.mutations.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem
from slowwave.runs.ledger import move_run
from slowwave.store.connect import Connection

_STAYING: Final = """
SELECT i.plan_hash, jsonb_build_array(i.mutation #> '{keep,id}') || jsonb_path_query_array(i.mutation, '$.absorb[*].id')
FROM night.plan_items i WHERE i.plan_hash = ANY(%s) AND i.mutation ->> 'kind' = 'merge_rows'
"""
_FOLLOWING: Final = """
SELECT q.plan_hash FROM night.runs r JOIN night.plans q ON q.run_id = r.id
WHERE r.parameters #>> '{proposal,of}' = %s AND r.trigger = 'review' AND q.state = 'awaiting_approval'
"""
_WITHDRAW_ITEMS: Final = """
UPDATE night.plan_items SET status = 'rejected', reason = %(reason)s WHERE plan_hash = %(plan)s AND status = 'pending'
"""
_WITHDRAW_PLAN: Final = """
UPDATE night.plans p SET state = 'rejected' WHERE plan_hash = %s AND state = 'awaiting_approval' AND NOT EXISTS (
  SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status NOT IN ('pending', 'rejected', 'deferred'))
RETURNING run_id::text
"""


def parts_rejected(
    connection: Connection, amended: Mapping[str, str], items: Collection[StoredItem]
) -> dict[str, list[Item]]:
    """What a rejection of items remembers where they were split: the pairs of a row that was taken out and one that stays, by item id.

    ``amended`` are the plans that came of items, by item id. An item of which no merge came is left out. One query.
    """
    found: list[Any] = connection.execute(_STAYING, (sorted(set(amended.values())),)).fetchall() if amended else []
    staying = {str(plan): {str(row) for row in rows} for plan, rows in found}
    return {
        s.id: [_pair(s.item, stay, away) for stay, away in product(sorted(stays), sorted(members - stays))]
        for s in items
        if (stays := staying.get(amended.get(s.id, ""))) and stays < (members := _members(s.item))
    }


def follows(plan_hash: str) -> str:
    """Name what a follow-up plan is made of: the answers of another plan."""
    return f"after {plan_hash}"


def withdraw_following(connection: Connection, plan_hash: str, reason: str) -> None:
    """Withdraw the plans that follow from the answers of a plan, and those that follow from theirs: an answer has changed."""
    for (made,) in connection.execute(_FOLLOWING, (follows(plan_hash),)).fetchall():
        withdraw_following(connection, str(made), reason)
        withdraw(connection, str(made), reason)


def withdraw(connection: Connection, plan_hash: str, reason: str) -> None:
    """Let a plan that came of an item go, where nobody signed it. No rejection is remembered: the same may be proposed again."""
    if run := connection.execute(_WITHDRAW_PLAN, (plan_hash,)).fetchone():
        connection.execute(_WITHDRAW_ITEMS, {"plan": plan_hash, "reason": reason})
        move_run(connection, str(run[0]), "rejected", ("awaiting_approval",))


def _members(item: Item) -> set[str]:
    merge = item.mutation
    return {row.id for row in ((merge.keep, *merge.absorb) if merge.keep else ())}


def _pair(item: Item, *rows: str) -> Item:
    """The merge of two members alone, as a rejection remembers it: by what the plan saw of them."""
    merge = item.mutation
    guards = tuple(g for g in merge.guards if g.table == merge.table and g.row in rows)
    pair = Mutation("merge_rows", merge.table, guards=guards, rows=tuple(Row(row) for row in sorted(rows)))
    return Item(item.operation, "merge", pair)
