"""Drafts of a review and their approval: one approval for each plan, and items that are superseded by amended ones."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any, Final, Literal

from psycopg.rows import class_row

from slowwave.changes.cells import Cell
from slowwave.changes.mutation import Mutation, Row
from slowwave.errors import ProbesFailed, Refused
from slowwave.plans.commands import APPROVER, argument
from slowwave.plans.gate import POLICY, check_approver, check_name, lock_plan, refuse_state, reject_items, sign_items
from slowwave.plans.items import Decision, Item
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan, verify_sealed
from slowwave.plans.permitted import Permits
from slowwave.plans.review.groups import GivenAnswer, person_answered
from slowwave.plans.states import find_plan
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.runs import move_run
from slowwave.store.tables import few_collections

# Superseding: once the no on an amended item is approved, the plan made from the item supersedes it. Until then both are pending.

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
    """Return the pairs of rows that a rejection of split items remembers, by item id.

    A pair is a row that was taken out and one that stays. ``amended`` maps items to the plans made from them. Items without a merge in
    such a plan are left out. One query.
    """
    found: list[Any] = connection.execute(_STAYING, (sorted(set(amended.values())),)).fetchall() if amended else []
    staying = {str(plan): {str(row) for row in rows} for plan, rows in found}
    return {
        s.id: [_pair(s.item, stay, away) for stay, away in product(sorted(stays), sorted(members - stays))]
        for s in items
        if (stays := staying.get(amended.get(s.id, ""))) and stays < (members := _members(s.item))
    }


def follows(plan_hash: str) -> str:
    """Return the name by which a follow-up plan refers to the plan whose answers it was made from."""
    return f"after {plan_hash}"


def withdraw_following(connection: Connection, plan_hash: str, reason: str) -> None:
    """Withdraw the plans that follow from the answers of a plan, recursively, because an answer has changed."""
    for (made,) in connection.execute(_FOLLOWING, (follows(plan_hash),)).fetchall():
        withdraw_following(connection, str(made), reason)
        withdraw(connection, str(made), reason)


def withdraw(connection: Connection, plan_hash: str, reason: str) -> None:
    """Withdraw a plan that was made from an item, if nobody has approved it.

    No rejection is remembered, so the same plan may be proposed again.
    """
    if run := connection.execute(_WITHDRAW_PLAN, (plan_hash,)).fetchone():
        connection.execute(_WITHDRAW_ITEMS, {"plan": plan_hash, "reason": reason})
        move_run(connection, str(run[0]), "rejected", ("awaiting_approval",))


def _members(item: Item) -> set[str]:
    merge = item.mutation
    return {row.id for row in ((merge.keep, *merge.absorb) if merge.keep else ())}


def _pair(item: Item, *rows: str) -> Item:
    """Return the merge of two members alone as a rejection remembers it: with the guards of these rows."""
    merge = item.mutation
    guards = tuple(g for g in merge.guards if g.table == merge.table and g.row in rows)
    pair = Mutation("merge_rows", merge.table, guards=guards, rows=tuple(Row(row) for row in sorted(rows)))
    return Item(item.operation, Decision.MERGE, pair)


# Drafts: verdicts of reviewers on the items of a plan before anybody approves. They change nothing and can be undone.
#
# Every verdict is a new row, also if a reviewer changes it; the latest of a reviewer counts. Drafts are stored with the plan, so that a
# review continues where it was left, and two reviewers have separate drafts. Drafts of items that are no longer pending, and drafts that
# an approval has covered, no longer count.

Verdict = Literal["yes", "no", "skip", "none"]
"""The verdicts; ``none`` removes the reviewer's verdict on the item."""

VERDICTS: Final = ("yes", "no", "skip", "none")
_AS: Final[Mapping[str, Verdict]] = {"yes": "yes", "no": "no", "skip": "skip"}
_LONGEST: Final = 2_000

_HOLD: Final = "SELECT 1 FROM night.plans WHERE plan_hash = %s FOR SHARE"
_HOLD_ALONE: Final = "SELECT 1 FROM night.plans WHERE plan_hash = %s FOR NO KEY UPDATE"
_STATUS: Final = """
SELECT w.item_id::text, i.status FROM unnest(%s::uuid[]) w(item_id)
LEFT JOIN night.plan_items i ON i.plan_hash = %s AND i.item_id = w.item_id ORDER BY w.item_id
"""
_OPEN: Final = """
SELECT d.*, NULL::timestamptz AS followed FROM night.review_drafts d JOIN night.plan_items i USING (plan_hash, item_id)
WHERE d.plan_hash = %(plan)s AND i.status = 'pending'
  AND d.id > (SELECT coalesce(max(s.last_draft), 0) FROM night.review_signatures s WHERE s.plan_hash = %(plan)s)
UNION ALL
SELECT d.*, o.recorded_at FROM night.plans p
JOIN night.plans o ON o.namespace_id = p.namespace_id AND o.recorded_at < p.recorded_at AND o.state IN ('superseded', 'expired')
JOIN night.review_drafts d ON d.plan_hash = o.plan_hash
JOIN night.plan_items w ON w.plan_hash = o.plan_hash AND w.item_id = d.item_id AND w.status = 'pending'
JOIN night.plan_items i ON i.plan_hash = p.plan_hash AND i.item_id = d.item_id AND i.status = 'pending'
WHERE p.plan_hash = %(plan)s AND NOT EXISTS (
  SELECT 1 FROM night.review_signatures s JOIN night.plan_items c ON c.plan_hash = s.plan_hash AND c.item_id = d.item_id
  WHERE s.namespace_id = p.namespace_id AND (s.recorded_at >= d.recorded_at OR (s.plan_hash = d.plan_hash AND s.last_draft >= d.id)))
"""
"""SQL: drafts on the pending items of a plan, and drafts on identical items in plans that it superseded.

``followed`` is when such an earlier plan was made. An item's id is its content, so a draft follows only to an identical item. An approval
uses up the drafts before it, whichever plan the item was in.
"""

_SAVE: Final = f"""
INSERT INTO night.review_drafts (namespace_id, plan_hash, item_id, verdict, note, amended, reviewer)
SELECT %(namespace)s, %(plan)s, d.item_id, d.verdict, d.note,
  CASE WHEN d.verdict = 'no' THEN coalesce(nullif(d.amended, ''), CASE WHEN d.alone THEN NULL ELSE b.amended END) END, %(reviewer)s
FROM unnest(%(items)s::uuid[], %(verdicts)s::text[], %(notes)s::text[], %(amended)s::text[], %(alone)s::bool[]) WITH ORDINALITY
  d(item_id, verdict, note, amended, alone, n)
LEFT JOIN (
  SELECT DISTINCT ON (item_id) item_id, amended FROM ({_OPEN}) said
  WHERE reviewer = %(reviewer)s AND item_id = ANY(%(items)s::uuid[]) ORDER BY item_id, id DESC
) b USING (item_id)
ORDER BY d.n
"""
"""SQL: save drafts. A repeated no, for example with another note, keeps the plan made from the item."""

_CURRENT: Final = f"""
SELECT item, verdict, note, amended, reviewer, recorded_at, followed FROM (
  SELECT DISTINCT ON (item_id, reviewer) id, item_id::text AS item, verdict, note,
    coalesce(amended, '') AS amended, reviewer, recorded_at, followed
  FROM ({_OPEN}) said WHERE %(items)s::uuid[] IS NULL OR item_id = ANY(%(items)s::uuid[]) ORDER BY item_id, reviewer, id DESC) latest
WHERE verdict <> 'none' ORDER BY id
"""
_GIVEN: Final = f"""
SELECT said.item_id::text AS item, said.plan_hash, said.reviewer, said.verdict, said.recorded_at, n.together,
  said.undoes IS NOT NULL AS restored, EXISTS (SELECT 1 FROM night.review_drafts u WHERE u.undoes = said.id) AS undone
FROM ({_OPEN}) said JOIN (
  SELECT b.plan_hash, b.reviewer, b.recorded_at, count(*) AS together FROM night.review_drafts b
  JOIN night.plans p ON p.plan_hash = %(plan)s AND p.namespace_id = b.namespace_id GROUP BY 1, 2, 3
) n USING (plan_hash, reviewer, recorded_at) ORDER BY said.id
"""
"""SQL: every answer that may count for a plan, with the number of answers stored at once. No login can choose ``recorded_at``."""

_ASKING: Final = f"""
SELECT DISTINCT operation FROM night.plan_items WHERE plan_hash = %(plan)s AND status = 'pending' AND decision = 'review'
  AND item_id NOT IN (SELECT item_id FROM ({_OPEN}) said WHERE verdict <> 'none')
"""
_TAKE_BACK: Final = f"""
WITH mine AS (
  SELECT * FROM ({_OPEN}) said WHERE reviewer = %(reviewer)s AND undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM night.review_drafts u WHERE u.undoes = said.id)
), own AS (SELECT * FROM mine WHERE followed IS NULL
), last AS (SELECT * FROM own WHERE recorded_at = (SELECT m.recorded_at FROM own m ORDER BY m.id DESC LIMIT 1)), back AS (
INSERT INTO night.review_drafts (namespace_id, plan_hash, item_id, verdict, note, amended, reviewer, undoes)
SELECT l.namespace_id, l.plan_hash, l.item_id, coalesce(b.verdict, 'none'), coalesce(b.note, ''), b.amended, l.reviewer, l.id FROM last l
LEFT JOIN LATERAL (
  SELECT m.verdict, m.note, m.amended FROM mine m WHERE m.item_id = l.item_id AND m.id < l.id ORDER BY m.id DESC LIMIT 1) b ON true
RETURNING item_id, amended)
SELECT b.item_id::text, l.amended FROM back b JOIN last l USING (item_id)
"""


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A reviewer's verdict on an item, named by its full id, with an optional note.

    ``amended`` is the plan that was made from a no. A no that is ``alone`` replaces an earlier no together with its plan; any other keeps
    the plan.
    """

    item: str
    verdict: Verdict
    note: str = ""
    amended: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """The current verdict on an item: the latest yes or no of all reviewers, else the latest skip.

    ``against`` are the reviewers with the opposite verdict. If the verdict was given on an earlier plan with the same item, ``followed``
    is when that plan was made. ``amended`` is the hash of the plan that was made from the item, if it was amended.
    """

    item: str
    verdict: str
    note: str
    reviewer: str
    recorded_at: datetime
    against: tuple[str, ...] = ()
    followed: datetime | None = None
    amended: str = ""


@dataclass(frozen=True, slots=True)
class _ReviewerVerdict:
    """The verdict of one reviewer on an item."""

    item: str
    verdict: str
    note: str
    reviewer: str
    recorded_at: datetime
    followed: datetime | None
    amended: str


def save_drafts(store: Store, namespace: str, plan_hash: str, drafts: Sequence[NewDraft], *, reviewer: str) -> int:
    """Save the verdicts of one reviewer, all or none; return how many.

    Raises ``Refused`` for a plan that can no longer be decided, an item that is not pending, and one named twice. Waits for an approval
    in progress, but not for other reviewers.
    """
    _check(drafts, reviewer)
    ids = [draft.item for draft in drafts]
    with store.connect("approver") as connection, connection.transaction():
        plan = find_plan(connection, namespace, plan_hash.strip())
        connection.execute(_HOLD, (plan,))
        header = read_plan(connection, plan, item=ids[0])
        refuse_state(connection, header)
        for id_, status in connection.execute(_STATUS, (ids, plan)):
            if status is None:
                raise Refused(f"{id_} is no item of plan {plan[:12]}. Nothing was kept.")
            if status != "pending":
                raise Refused(f"Item {id_} of plan {plan[:12]} is {status} already. Nothing was kept.")
        before = current_drafts(connection, plan, ids)
        if any(_changes(draft, before[draft.item]) for draft in drafts if draft.item in before):
            withdraw_following(connection, plan, f"An answer was changed by {reviewer}.")
        connection.execute(
            _SAVE.encode(),
            {
                **{"namespace": header.header.namespace_id, "plan": plan, "reviewer": reviewer, "items": ids},
                "verdicts": [d.verdict for d in drafts],
                "notes": [d.note.strip() for d in drafts],
                "amended": [d.amended for d in drafts],
                "alone": [d.alone for d in drafts],
            },
        )
    return len(ids)


def add_note(store: Store, namespace: str, plan_hash: str, item: str, note: str, *, reviewer: str) -> None:
    """Add a note to an answer and keep the answer: the reviewer's own, else the latest of the others.

    Raises ``Refused`` if nobody has answered the item, and as ``save_drafts`` does.
    """
    with store.connect("approver") as connection:
        given = _verdicts(connection, find_plan(connection, namespace, plan_hash.strip()), [item]).get(item, [])
    own = next((one for one in given if one.reviewer == reviewer), given[-1] if given else None)
    if own is None:
        raise Refused("That question has no answer to which a note could be added. Nothing was kept. Answer it first.")
    draft = NewDraft(item, _AS[own.verdict], note, own.amended)
    save_drafts(store, namespace, plan_hash, [draft], reviewer=reviewer)


def read_drafts(store: Store, namespace: str, plan_hash: str) -> dict[str, Draft]:
    """Return item → current draft, over all reviewers."""
    with store.connect("approver") as connection:
        return current_drafts(connection, find_plan(connection, namespace, plan_hash.strip()))


def current_drafts(connection: Connection, plan_hash: str, items: Sequence[str] | None = None) -> dict[str, Draft]:
    """Return item → current draft for a plan by its full hash, or for some of its items, on an approver's connection.

    Cost: linear in the drafts that are returned; the database scans those of the plan.
    """
    return {item: _of_all(rows) for item, rows in _verdicts(connection, plan_hash, items).items()}


def answered_by_person(connection: Connection, plan: StoredPlan, drafts: Mapping[str, Draft]) -> frozenset[str]:
    """Return the pending items of a plan whose current answer a person gave to this very question, or for a checked group.

    See ``slowwave.plans.review.groups.person_answered``. Cost: one query over the drafts of the namespace.
    """
    with connection.cursor(row_factory=class_row(GivenAnswer)) as cursor:
        given = cursor.execute(_GIVEN.encode(), {"plan": plan.plan_hash}).fetchall()
    pending = [s for s in plan.items if s.status == "pending"]
    verdicts = {id_: draft.verdict for id_, draft in drafts.items() if not draft.against}
    return person_answered(pending, given, plan.plan_hash, verdicts)


def asking_operations(connection: Connection, plan_hash: str) -> frozenset[str]:
    """Return the operations of a plan with a question that nobody has answered, on an approver's connection."""
    return frozenset(str(name) for (name,) in connection.execute(_ASKING.encode(), {"plan": plan_hash}))


def _verdicts(connection: Connection, plan_hash: str, items: Sequence[str] | None) -> dict[str, list[_ReviewerVerdict]]:
    """Return item → the latest verdict of each reviewer, oldest first."""
    found: dict[str, list[_ReviewerVerdict]] = {}
    values = {"plan": plan_hash, "items": None if items is None else list(items)}
    with connection.cursor(row_factory=class_row(_ReviewerVerdict)) as cursor:
        for row in cursor.execute(_CURRENT.encode(), values):
            found.setdefault(row.item, []).append(row)
    return found


def _changes(draft: NewDraft, before: Draft) -> bool:
    """Return whether a draft changes the existing answer, rather than repeating it (for example with another note)."""
    if before.verdict == "skip":
        return False
    amended = bool(draft.amended) and draft.amended != before.amended
    return draft.verdict != before.verdict or amended or (draft.alone and bool(before.amended))


def undo_last(store: Store, namespace: str, plan_hash: str, *, reviewer: str) -> tuple[str, ...]:
    """Undo what the reviewer saved last and restore their earlier verdicts on these items; return the items.

    Calling it again goes one step further back. Empty if no draft of theirs is left; drafts covered by an approval stay. A plan that was
    made from an item is withdrawn with the verdict, unless it is approved.
    """
    check_name(reviewer)
    with store.connect("approver") as connection, connection.transaction():
        plan = find_plan(connection, namespace, plan_hash.strip())
        connection.execute(_HOLD_ALONE, (plan,))
        rows = connection.execute(_TAKE_BACK.encode(), {"plan": plan, "reviewer": reviewer}).fetchall()
        if rows:
            withdraw_following(connection, plan, f"Taken back by {reviewer}.")
        for plan_made in sorted({str(made) for _, made in rows if made}):
            withdraw(connection, plan_made, f"Taken back by {reviewer}.")
    return tuple(sorted(str(item) for item, _ in rows))


def _of_all(rows: Sequence[_ReviewerVerdict]) -> Draft:
    """Return one draft from the verdicts of several reviewers on an item, the latest last."""
    decided = [row for row in rows if row.verdict != "skip"] or rows
    last = decided[-1]
    against = tuple(sorted(row.reviewer for row in decided if row.verdict != last.verdict))
    amended = next((row.amended for row in reversed(decided) if row.amended), "") if last.verdict == "no" else ""
    fields = (last.item, last.verdict, last.note, last.reviewer, last.recorded_at)
    return Draft(*fields, against, last.followed, amended)


def _check(drafts: Sequence[NewDraft], reviewer: str) -> None:
    check_name(reviewer)
    if reviewer.lower() == POLICY:
        raise Refused("A policy reviews nothing: give your own name. Nothing was kept.")
    if not drafts:
        raise Refused("There is no verdict to keep: name at least one item.")
    if twice := [item for item, n in Counter(draft.item for draft in drafts).items() if n > 1]:
        raise Refused(f"Item {twice[0][:64]} has more than one verdict. Nothing was kept.")
    for draft in drafts:
        if draft.verdict not in VERDICTS:
            raise Refused(
                f"{draft.verdict[:32]!r} is no verdict: it is one of {', '.join(VERDICTS)}. Nothing was kept."
            )
        if len(draft.note.strip()) > _LONGEST:
            raise Refused(f"A note has at most {_LONGEST:,} characters. Nothing was kept.")
        if "\x00" in draft.note:
            raise Refused("A note holds a character that no text may hold. Nothing was kept.")
        try:
            uuid.UUID(draft.item)
        except ValueError:
            raise Refused(f"{draft.item[:64]!r} is no id of an item. Nothing was kept.") from None


# Reconsidering: withdrawing an approved rejection, so that the next night may propose the same again.
#
# The item stays rejected in its plan, and both are kept on record. Verdicts that are not approved yet are drafts, which are undone
# separately.

_LEAST: Final = 4
_FIND: Final = """
SELECT DISTINCT n.name, r.item_id::text, r.operation, r.subject, EXISTS (SELECT 1 FROM night.withdrawals w WHERE w.rejection_id = r.id)
FROM unnest(%s::text[]) n(name) JOIN night.rejections r ON r.namespace_id = %s AND starts_with(r.item_id::text, n.name)
"""
_WITHDRAW: Final = """
INSERT INTO night.withdrawals (rejection_id, namespace_id, withdrawn_by, reason)
SELECT r.id, r.namespace_id, %(by)s, %(reason)s FROM night.rejections r
WHERE r.namespace_id = %(namespace)s AND ((r.operation, r.subject) IN (SELECT * FROM unnest(%(operations)s::text[], %(subjects)s::text[]))
  OR r.plan_hash IN (SELECT d.amended FROM night.review_drafts d
    WHERE d.namespace_id = r.namespace_id AND d.item_id = ANY(%(items)s::uuid[])))
ON CONFLICT (rejection_id) DO NOTHING
"""
"""SQL: withdraw rejections. An item of a plan made from the answer to one of the items is about the same rows, so its rejection, such as
by undo, is withdrawn as well.
"""


@dataclass(frozen=True, slots=True)
class Reconsidered:
    """Items whose rejection was withdrawn, and how many rejections that were, including others of the same proposal."""

    namespace: str
    items: tuple[str, ...]
    withdrawn: int


def reconsider(store: Store, namespace: str, items: Sequence[str], *, withdrawn_by: str, reason: str) -> Reconsidered:
    """Withdraw the rejections of items (ids or their first characters), all or none; also those of undone items.

    All rejections of the same proposal are withdrawn. Raises ``Refused`` if an item was not rejected or its rejection is already
    withdrawn.
    """
    check_name(withdrawn_by)
    if withdrawn_by.lower() == POLICY:
        raise Refused("A policy reconsiders nothing: name the person who does, with --by. Nothing was withdrawn.")
    if not reason.strip():
        raise Refused("To withdraw a rejection needs a reason, which stays on record with it. Give --reason.")
    if not items:
        raise Refused("Name at least one item whose rejection is to be withdrawn.")
    with store.connect("approver") as connection, connection.transaction():
        scope = namespace_id(connection, namespace)
        found = _rejected(connection, namespace, scope, items)
        withdrawn = connection.execute(
            _WITHDRAW,
            {
                **{"by": withdrawn_by, "reason": reason.strip()[:2000], "namespace": scope},
                **{"operations": [o for _, o, _ in found], "subjects": [s for _, _, s in found]},
                "items": [item for item, _, _ in found],
            },
        ).rowcount
    return Reconsidered(namespace, tuple(dict.fromkeys(item for item, _, _ in found)), withdrawn)


def _rejected(connection: Connection, namespace: str, scope: str, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return id, operation and subject of the rejected items that are named. One query."""
    begins = [name.strip().lower() for name in names]
    by_prefix: dict[str, list[tuple[str, str, str, bool]]] = {}
    for begin, *row in connection.execute(_FIND, ([b for b in begins if len(b) >= _LEAST], scope)):
        item, operation, subject, gone = row
        by_prefix.setdefault(str(begin), []).append((str(item), str(operation), str(subject), bool(gone)))
    named = zip(names, begins, strict=True)
    return [meant for name, begin in named for meant in _meant(namespace, name, by_prefix.get(begin, []))]


def _meant(namespace: str, name: str, rows: Sequence[tuple[str, str, str, bool]]) -> list[tuple[str, str, str]]:
    """Return the rejections that a name means; an item that was split has several."""
    ids = sorted({item for item, *_ in rows})
    if len(ids) != 1:
        what = "begins several rejected items" if ids else "is no item that was rejected"
        raise Refused(f"{name[:64]!r} {what} in {namespace}. `slowwave plans show {argument(namespace)}` lists items.")
    standing = [(item, operation, subject) for item, operation, subject, gone in rows if not gone]
    if not standing:
        raise Refused(f"The rejection of item {ids[0]} was withdrawn already. Nothing was withdrawn.")
    return standing


# The approval of a plan's drafts: one approval of every yes, with the items that need no person, and a rejection of every no.
#
# Drafts have no effect until then. All of it is one transaction: either all verdicts take effect, or none.

CHANNEL: Final = "review"
UNEXPLAINED: Final = "Rejected in review."
"""The reason of a rejection without a note."""

_NAMED: Final = 3
_NOTE_SIGNATURE: Final = """
INSERT INTO night.review_signatures (namespace_id, plan_hash, approval_id, signed_by, approved, rejected) VALUES (%s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """The result of approving a review: its approval, if any, and how many items were approved, rejected and left pending.

    ``lacks`` states that a further approver is needed, see ``slowwave.plans.signatures``; empty if not.
    """

    namespace: str
    plan_hash: str
    signed_by: str
    approval_id: str | None
    approved: int
    rejected: int
    left: int
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The pending items of a plan, by what an approval does with them.

    ``yes`` and ``no`` are items with that answer, ``decided`` are items that planners decided and nobody answered, and ``left`` stay
    pending.
    """

    yes: tuple[StoredItem, ...]
    no: tuple[StoredItem, ...]
    decided: tuple[StoredItem, ...]
    left: tuple[StoredItem, ...]

    @property
    def digest(self) -> str:
        """Return a hash of exactly these items and verdicts.

        A page sends it back, so that it approves what it showed.
        """
        parts = (f"{name} {s.id}" for name in ("yes", "no", "decided") for s in getattr(self, name))
        return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def coverage(plan: StoredPlan, drafts: Mapping[str, Draft]) -> Coverage:
    """Group the pending items of a plan by what an approval of these drafts does with them."""
    found: dict[str, list[StoredItem]] = {"yes": [], "no": [], "decided": [], "left": []}
    for stored in plan.items:
        if stored.status != "pending":
            continue
        verdict = drafts[stored.id].verdict if stored.id in drafts else ""
        kind = verdict if verdict in ("yes", "no") else "left" if verdict or stored.is_question else "decided"
        found[kind].append(stored)
    return Coverage(*(tuple(found[kind]) for kind in ("yes", "no", "decided", "left")))


@few_collections()
def sign(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    reviewer: str,
    permits: Permits,
    include_decided: bool = True,
    force: bool = False,
    note: str = "",
    shown: str | None = None,
) -> Signature:
    """Approve what all reviewers drafted: every yes is approved, every no rejected with its note, skipped items stay pending.

    Of an item that was split, only the pairs of a row that was taken out and one that stays are remembered as rejected.
    ``include_decided`` also approves items that need no person and have no draft. The checks of ``slowwave.plans.gate.approve`` apply.
    ``shown`` is the ``Coverage.digest`` of what the reviewer saw. Raises ``Refused`` if two reviewers contradict each other, if there is
    nothing to approve, or if answers or items have changed since ``shown``.
    """
    check_approver(reviewer, CHANNEL)
    with store.connect("approver") as connection, connection.transaction():
        return _sign_plan(
            *(store, connection, namespace, plan_hash, reviewer, permits),
            include_decided=include_decided,
            force=force,
            note=note,
            shown=shown,
        )


def _sign_plan(
    store: Store,
    connection: Connection,
    namespace: str,
    plan_hash: str,
    reviewer: str,
    permits: Permits,
    *,
    include_decided: bool,
    force: bool,
    note: str,
    shown: str | None,
) -> Signature:
    """Approve the drafts of one plan as ``sign`` does, in the caller's transaction; the plan is locked until it ends."""
    plan = lock_plan(connection, namespace, plan_hash)
    refuse_state(connection, plan)
    verify_sealed(plan, "approved")
    drafts = current_drafts(connection, plan.plan_hash)
    _refuse_contradictions(plan, drafts)
    found = coverage(plan, drafts)
    if shown is not None and shown != found.digest:
        raise Refused(
            "The answers or items have changed since this page was shown, so it does not list what would be approved. "
            "Nothing was approved. Read the list again, then approve."
        )
    yes = [*found.yes, *(found.decided if include_decided else ())]
    no = [(s, drafts[s.id].note or UNEXPLAINED) for s in found.no]
    if not yes and not no and found.decided:
        raise Refused(
            f"There is nothing to sign: no question is answered, and the items of plan {plan.plan_hash[:12]} that need no answer are "
            "left out. Answer a question, or sign those items too."
        )
    if not yes and not no:
        raise Refused(_nothing_to_sign(namespace, plan.plan_hash))
    approval = (
        sign_items(
            *(store, connection, plan, yes, reviewer, CHANNEL, permits),
            force=force,
            note=note,
            answered=answered_by_person(connection, plan, drafts) & {s.id for s in found.yes},
        )
        if yes
        else None
    )
    if no:
        amended = {s.id: made for s, _ in no if (made := drafts[s.id].amended)}
        parts = parts_rejected(connection, amended, [s for s, _ in no])
        reject_items(connection, plan, no, reviewer, instead=parts)
    approval_id = approval.id if approval else None
    connection.execute(
        _NOTE_SIGNATURE,
        (plan.header.namespace_id, plan.plan_hash, approval_id, reviewer, len(yes), len(no)),
    )
    left = len(found.left) + (0 if include_decided else len(found.decided))
    lacks = approval.lacks if approval else ""
    return Signature(namespace, plan.plan_hash, reviewer, approval_id, len(yes), len(no), left, lacks)


def _nothing_to_sign(namespace: str, plan_hash: str) -> str:
    return (
        f"There is nothing to sign: nobody answered yes or no to a pending question of plan {plan_hash[:12]}, and it has no item that "
        f"needs no answer. Answer a question first: `slowwave plans review {argument(namespace)} {plan_hash[:12]} --by {APPROVER}`."
    )


def _refuse_contradictions(plan: StoredPlan, drafts: Mapping[str, Draft]) -> None:
    """Refuse to approve while two reviewers contradict each other on an item."""
    found = [drafts[s.id] for s in plan.items if s.id in drafts and drafts[s.id].against]
    if not found:
        return
    contradictions = "; ".join(
        f"{draft.item}: {draft.verdict} by {draft.reviewer}, but not by {', '.join(draft.against)}"
        for draft in found[:_NAMED]
    )
    more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    raise Refused(
        f"Reviewers contradict each other about {len(found):,} of the items ({contradictions}{more}). One of each two has to take "
        "theirs back, or to say the same. Nothing was signed."
    )


# Review sessions. A session is a plan with the plans made from its answers; they are approved together, with one approval for each plan.
#
# A plan is linked to another one by its run, which names what the plan was made from: an item that a reviewer amended, or the plan whose
# answers its questions follow from. Links are read from the ledger, so a session continues where it was left.

_CHANGED: Final = "The answer that it was made of was changed."
_LINKED: Final = """
SELECT q.plan_hash, r.parameters #>> '{proposal,of}' FROM night.runs r JOIN night.plans q ON q.run_id = r.id
WHERE r.namespace_id = %(namespace)s AND r.trigger = 'review' AND q.state IN ('awaiting_approval', 'approved') AND q.expires_at > now()
  AND r.parameters #>> '{proposal,of}' = ANY(%(of)s) ORDER BY q.recorded_at, q.plan_hash
"""
_PARENT: Final = """
SELECT o.plan_hash FROM night.plans p JOIN night.runs r ON r.id = p.run_id JOIN night.plans o ON o.namespace_id = p.namespace_id
WHERE p.plan_hash = %(plan)s AND r.trigger = 'review'
  AND (o.state IN ('awaiting_approval', 'approved') AND o.expires_at > now() OR %(ended)s)
  AND (o.plan_hash = substr(r.parameters #>> '{proposal,of}', length('after ') + 1) OR EXISTS (
    SELECT 1 FROM night.review_drafts d JOIN night.plan_items i ON i.item_id = d.item_id AND i.plan_hash = o.plan_hash
    WHERE d.amended = p.plan_hash AND (d.plan_hash = o.plan_hash OR i.status = 'pending')))
ORDER BY o.recorded_at DESC LIMIT 1
"""
"""SQL: the plan whose answers a plan was made from. Drafts follow an item into a later plan that proposes it again."""

_SESSION: Final = """
WITH RECURSIVE session AS (
  SELECT %(first)s::text AS plan_hash
  UNION
  SELECT q.plan_hash FROM session s JOIN LATERAL (
    SELECT d.amended AS plan_hash FROM night.review_drafts d WHERE d.plan_hash = s.plan_hash AND d.amended IS NOT NULL
    UNION ALL
    SELECT p.plan_hash FROM night.plans p JOIN night.runs r ON r.id = p.run_id
    WHERE r.trigger = 'review' AND r.parameters #>> '{proposal,of}' = %(after)s || s.plan_hash
  ) q ON true)
SELECT plan_hash FROM night.plans JOIN session USING (plan_hash) ORDER BY recorded_at, plan_hash
"""


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """One plan of a session, with the drafts of its items.

    ``of`` is the item that it was made from, or how it follows from a plan.
    """

    plan: StoredPlan
    drafts: dict[str, Draft]
    of: str = ""

    @property
    def covers(self) -> Coverage:
        """Return what an approval of the answers does with its items."""
        return coverage(self.plan, self.drafts)

    @property
    def open(self) -> list[StoredItem]:
        """Return its questions that nobody answered or skipped."""
        return [s for s in self.covers.left if s.is_question and s.id not in self.drafts]


def read_session(store: Store, namespace: str, plan_hash: str) -> list[SessionPlan]:
    """Return a plan and the plans made from its answers, in the order in which they were made.

    The first is the plan that the session began with, whichever of its plans is named. An amended plan whose answer was changed since is
    left out. Four queries a plan.
    """
    with store.connect("approver") as connection:
        return _linked(connection, first_plan(connection, find_plan(connection, namespace, plan_hash.strip())))


def plan_with_open(store: Store, namespace: str, plan_hash: str) -> StoredPlan | None:
    """Return the first other plan of a plan's session that has an open question; None if all are answered."""
    session = read_session(store, namespace, plan_hash)
    return next((one.plan for one in session if one.open and one.plan.plan_hash != plan_hash), None)


def first_plan(connection: Connection, plan_hash: str, *, ended: bool = False) -> str:
    """Return the plan with which the session of a plan began: the plan itself, unless it was made from answers.

    A plan that can no longer be decided is passed over, so that what was made from its answers can still be approved, unless ``ended``.
    """
    seen = [plan_hash]
    while row := connection.execute(_PARENT, {"plan": seen[-1], "ended": ended}).fetchone():
        if (parent := str(row[0])) in seen:
            break
        seen.append(parent)
    return seen[-1]


def session_hashes(store: Store, plan_hash: str) -> list[str]:
    """Return the hashes of all plans of a plan's session, also of those that are signed or applied, in the order they were made."""
    with store.connect("approver") as connection:
        first = first_plan(connection, plan_hash, ended=True)
        rows: list[Any] = connection.execute(_SESSION, {"first": first, "after": follows("")}).fetchall()
    return [str(hash_) for (hash_,) in rows]


def session_digest(session: Sequence[SessionPlan]) -> str:
    """Return a hash of the items and answers of a session, as ``Coverage.digest`` does for a plan."""
    return hashlib.sha256("\n".join(s.plan.plan_hash + s.covers.digest for s in session).encode()).hexdigest()


def resting_on_decided(session: Sequence[SessionPlan]) -> frozenset[str]:
    """Return the hashes of plans made from answers that depend on items of the first plan that planners decided.

    Their questions were planned for the rows as these items leave them, so an approval without them would name rows as they never were. A
    plan that depends on such a plan is included. Cost: linear in the cells of the session.
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
    """Return whether two items conflict on a cell.

    They do if an item writes or reads a cell that an earlier one writes, or writes one that an earlier one reads.
    """
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
    permits: Permits,
    include_decided: bool = True,
    force: bool = False,
    note: str = "",
    shown: str | None = None,
) -> tuple[Signature, ...]:
    """Approve the answers of a plan and of the plans made from its answers: one approval a plan, all of them or none.

    ``include_decided`` concerns the plan itself. Without it, the plans of ``resting_on_decided`` stay open; their ``Signature`` states
    that nothing was approved. A plan made from an answer that was changed since is withdrawn. Raises as ``sign`` does, and then leaves
    every plan and every answer as it was. The plans stay locked until the last one is judged.
    """
    found = read_session(store, namespace, plan_hash)
    root, *others = found
    known = {s.plan.plan_hash: s.covers.digest for s in found}
    if shown is not None and shown != session_digest(found):
        sign(
            store, namespace, root.plan.plan_hash, reviewer=reviewer, permits=permits, shown=""
        )  # refuses, and says why
    done: list[Signature] = []
    resting = frozenset[str]() if include_decided else resting_on_decided(found)
    open_ = [s for s in others if s.plan.plan_hash in resting]
    answered = [s for s in others if (s.covers.yes or s.covers.no) and s not in open_]
    if open_ and not (answered or root.covers.yes or root.covers.no):
        raise Refused(
            f"All answers rest on items of plan {root.plan.plan_hash[:12]} that planners decided, and these are left out. Nothing was "
            "approved. Approve the decided items together with the answers."
        )
    signs_root = bool(root.covers.yes or root.covers.no or (root.covers.decided and include_decided))
    named = next(s.plan.plan_hash for s in found if s.plan.plan_hash.startswith(plan_hash.strip()))
    if not signs_root and not answered and named != root.plan.plan_hash:
        raise Refused(_nothing_to_sign(namespace, named))
    chosen = [(root, include_decided)] if signs_root or not answered else []
    chosen += [(s, False) for s in answered]
    kept = {s.plan.plan_hash for s in found}
    amended = {i: d.amended for s in found for i, d in s.drafts.items()}
    check_approver(reviewer, CHANNEL)
    with store.connect("approver") as connection, connection.transaction():
        for one, decided in chosen:
            name = one.plan.plan_hash
            try:
                done.append(
                    _sign_plan(
                        *(store, connection, namespace, name, reviewer, permits),
                        include_decided=decided,
                        force=force,
                        note=note,
                        shown=known[name],
                    )
                )
            except ProbesFailed as problem:
                if len(chosen) == 1:
                    raise
                raise ProbesFailed(
                    f"{problem} Nothing was approved, because the {len(chosen):,} plans of this review are approved together; all answers "
                    f"are kept. To change one of this plan, undo it with u in `slowwave plans review {argument(namespace)} {name[:12]} "
                    f"--by {APPROVER}`."
                ) from None
        for gone in _stale(connection, root.plan, kept, amended):
            withdraw(connection, gone, _CHANGED)
    done += [
        Signature(
            namespace, s.plan.plan_hash, reviewer, None, 0, 0, len(s.covers.yes) + len(s.covers.no) + len(s.covers.left)
        )
        for s in open_
    ]
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
    """Return the plans made from items whose answer now names another plan, or none."""
    values = {"namespace": root.header.namespace_id, "of": list(amended)}
    rows: list[Any] = connection.execute(_LINKED, values).fetchall()
    return [str(made) for made, of in rows if str(made) not in kept and amended.get(str(of)) != str(made)]
