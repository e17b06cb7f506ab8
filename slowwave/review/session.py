"""A review session: a plan, with the plans that came of its answers. Its answers are signed together, one approval a plan.

A plan is linked to another one by its run, which names what it was made of: an item that a reviewer amended, or the plan whose answers
its questions follow from. Links are read from the ledger, so a session goes on wherever it was left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell
from slowwave.plans.items import Item
from slowwave.plans.latest import find_plan
from slowwave.plans.ledger import StoredPlan, read_plan
from slowwave.review.drafts import Draft, current_drafts
from slowwave.review.signing import Coverage, Signature, coverage, sign
from slowwave.review.superseding import follows, withdraw
from slowwave.store.connect import Connection, Store

_CHANGED: Final = "The answer that it was made of was changed."
_LINKED: Final = """
SELECT q.plan_hash, r.parameters #>> '{proposal,of}' FROM night.runs r JOIN night.plans q ON q.run_id = r.id
WHERE r.namespace_id = %(namespace)s AND r.trigger = 'review' AND q.state IN ('awaiting_approval', 'approved') AND q.expires_at > now()
  AND r.parameters #>> '{proposal,of}' = ANY(%(of)s) ORDER BY q.recorded_at, q.plan_hash
"""
_PARENT: Final = """
SELECT coalesce(o.plan_hash, d.plan_hash) FROM night.plans p JOIN night.runs r ON r.id = p.run_id
LEFT JOIN night.plans o ON o.plan_hash = substr(r.parameters #>> '{proposal,of}', length('after ') + 1)
LEFT JOIN LATERAL (SELECT plan_hash FROM night.review_drafts WHERE amended = p.plan_hash ORDER BY id DESC LIMIT 1) d ON true
WHERE p.plan_hash = %(plan)s AND r.trigger = 'review' AND coalesce(o.plan_hash, d.plan_hash) IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """One plan of a session, with what stands of its items. ``of`` is the item that it was made of, or how it follows from a plan."""

    plan: StoredPlan
    drafts: dict[str, Draft]
    of: str = ""

    @property
    def covers(self) -> Coverage:
        """What an approval of the answers does with its items."""
        return coverage(self.plan, self.drafts)


def read_session(store: Store, namespace: str, plan_hash: str) -> list[SessionPlan]:
    """Read a plan and the plans that came of its answers, in the order in which they were made.

    The first is the plan that the session began with, whichever of its plans is named. An amended plan whose answer was changed since
    is left out. Four queries a plan.
    """
    with store.connect("approver") as connection:
        return _linked(connection, first_plan(connection, find_plan(connection, namespace, plan_hash.strip())))


def first_plan(connection: Connection, plan_hash: str) -> str:
    """Return the plan with which the session of a plan began: the plan itself, unless it came of answers."""
    seen = {plan_hash}
    while (row := connection.execute(_PARENT, {"plan": plan_hash}).fetchone()) and str(row[0]) not in seen:
        plan_hash = str(row[0])
        seen.add(plan_hash)
    return plan_hash


def session_digest(session: Sequence[SessionPlan]) -> str:
    """Name exactly the items and answers of a session, as ``Coverage.digest`` does those of a plan."""
    return hashlib.sha256("\n".join(s.plan.plan_hash + s.covers.digest for s in session).encode()).hexdigest()


def resting_on_decided(session: Sequence[SessionPlan]) -> frozenset[str]:
    """Return the hashes of the plans that came of answers and rest on items of the first plan that planners decided.

    Their questions were planned as these items leave memory, so an approval without them would name rows as they never were. A plan that
    rests on such a plan is one of them. Cost: linear in the cells of the session.
    """
    root, *others = session
    before = [s.item for s in root.covers.decided]
    found: set[str] = set()
    for one in others:
        items = [s.item for s in (*one.covers.yes, *one.covers.no)]
        if _share_cells(items, before):
            found.add(one.plan.plan_hash)
            before += [s.item for s in one.covers.yes]
    return frozenset(found)


def _share_cells(items: Sequence[Item], before: Sequence[Item]) -> bool:
    """Whether some item writes or rests on a cell that an earlier one writes, or writes one that an earlier one rests on."""
    writes, guards = (
        frozenset[Cell]().union(*cells) for cells in ([i.writes() for i in before], [i.guards() for i in before])
    )
    return any(
        not (item.writes() | item.guards()).isdisjoint(writes) or not item.writes().isdisjoint(guards) for item in items
    )


def sign_session(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    reviewer: str,
    include_decided: bool = True,
    force: bool = False,
    note: str = "",
    shown: str | None = None,
) -> tuple[Signature, ...]:
    """Sign the answers of a plan, then those of the plans that came of its answers: one approval a plan, each all or nothing.

    ``include_decided`` is about the plan itself. Without it, the plans of ``resting_on_decided`` stay open: their signatures say that
    nothing was approved. A plan that came of an answer which was changed since is withdrawn. Raises as ``sign`` does; plans that were
    signed before a later one is refused stay signed, and signing again goes on with the others.
    """
    found = read_session(store, namespace, plan_hash)
    root, *others = found
    known = {s.plan.plan_hash: s.covers.digest for s in found}
    if shown is not None and shown != session_digest(found):
        sign(store, namespace, root.plan.plan_hash, reviewer=reviewer, shown="")  # refuses, and says why
    done: list[Signature] = []
    resting = frozenset[str]() if include_decided else resting_on_decided(found)
    open_ = [s for s in others if s.plan.plan_hash in resting]
    answered = [s for s in others if (s.covers.yes or s.covers.no) and s not in open_]
    if open_ and not (answered or root.covers.yes or root.covers.no):
        raise Refused(
            f"All answers rest on items of plan {root.plan.plan_hash[:12]} that planners decided, and these are left out. Nothing was "
            "approved. Approve the decided items together with the answers."
        )
    if root.covers.yes or root.covers.no or (root.covers.decided and include_decided) or not answered:
        name = root.plan.plan_hash
        done.append(
            sign(
                *(store, namespace, name),
                reviewer=reviewer,
                include_decided=include_decided,
                force=force,
                note=note,
                shown=known[name],
            )
        )
    for one in answered:
        name = one.plan.plan_hash
        done.append(
            sign(
                *(store, namespace, name),
                reviewer=reviewer,
                include_decided=False,
                force=force,
                note=note,
                shown=known[name],
            )
        )
    done += [
        Signature(
            namespace, s.plan.plan_hash, reviewer, None, 0, 0, len(s.covers.yes) + len(s.covers.no) + len(s.covers.left)
        )
        for s in open_
    ]
    kept = {s.plan.plan_hash for s in found}
    with store.connect("approver") as connection, connection.transaction():
        for gone in _stale(connection, root.plan, kept, {i: d.amended for s in found for i, d in s.drafts.items()}):
            withdraw(connection, gone, _CHANGED)
    return tuple(done)


def _linked(connection: Connection, root: str) -> list[SessionPlan]:
    first = read_plan(connection, root)
    found = [SessionPlan(first, current_drafts(connection, root))]
    at = 0
    while at < len(found):
        parent = found[at]
        names = [
            *(s.id for s in parent.plan.items if s.status in ("pending", "rejected")),
            follows(parent.plan.plan_hash),
        ]
        values = {"namespace": first.header.namespace_id, "of": names}
        rows: list[Any] = connection.execute(_LINKED, values).fetchall()
        for made, of in rows:
            draft = parent.drafts.get(str(of))
            amends = not str(of).startswith(follows(""))
            if str(made) in {s.plan.plan_hash for s in found} or (amends and draft and draft.amended != str(made)):
                continue
            found.append(SessionPlan(read_plan(connection, str(made)), current_drafts(connection, str(made)), str(of)))
        at += 1
    return found


def _stale(connection: Connection, root: StoredPlan, kept: set[str], amended: dict[str, str]) -> list[str]:
    """The plans that were made of items whose answer names another plan by now, or none."""
    values = {"namespace": root.header.namespace_id, "of": list(amended)}
    rows: list[Any] = connection.execute(_LINKED, values).fetchall()
    return [str(made) for made, of in rows if str(made) not in kept and amended.get(str(of)) != str(made)]
