"""Drafts: what reviewers say of the items of a plan before anybody signs. They change nothing and can be taken back.

A row is added for each, also where somebody changes their mind; the latest of a reviewer counts. They are stored with the plan, so that a
review goes on wherever it was left, and two reviewers each have their own. What they say of items that no longer wait, and what a
signature has covered, counts no more.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg.rows import class_row

from slowwave.errors import Refused
from slowwave.plans.gate import POLICY, check_name, refuse_state
from slowwave.plans.latest import find_plan
from slowwave.plans.ledger import read_plan
from slowwave.review.superseding import withdraw, withdraw_following
from slowwave.store.connect import Connection, Store

Verdict = Literal["yes", "no", "skip", "none"]
"""``none`` takes back what the reviewer said of the item."""

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
"""What was said of the items of a plan that wait, and what was said of the very same items in plans whose place it took (``followed``: when
those were made). An item's id is its content, so a draft follows to what says the same, and to nothing else. A signature spends what stood
before it, wherever the item was."""

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
"""  # noqa: S608 - a query of this module
"""A no that is said again, such as with another note, keeps the plan that came of the item."""

_CURRENT: Final = f"""
SELECT item, verdict, note, amended, reviewer, recorded_at, followed FROM (
  SELECT DISTINCT ON (item_id, reviewer) id, item_id::text AS item, verdict, note,
    coalesce(amended, '') AS amended, reviewer, recorded_at, followed
  FROM ({_OPEN}) said WHERE %(items)s::uuid[] IS NULL OR item_id = ANY(%(items)s::uuid[]) ORDER BY item_id, reviewer, id DESC) latest
WHERE verdict <> 'none' ORDER BY id
"""  # noqa: S608 - a query of this module
_ASKING: Final = f"""
SELECT DISTINCT operation FROM night.plan_items WHERE plan_hash = %(plan)s AND status = 'pending' AND decision = 'review'
  AND item_id NOT IN (SELECT item_id FROM ({_OPEN}) said WHERE verdict <> 'none')
"""  # noqa: S608 - a query of this module
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
"""  # noqa: S608 - a query of this module


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A verdict on an item, named by its whole id, and why, where a person wants to say so; ``amended`` is the plan that came of a no.

    A no that is ``alone`` replaces an earlier no together with the plan that came of that; any other keeps the plan.
    """

    item: str
    verdict: Verdict
    note: str = ""
    amended: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands of an item: the latest yes or no of all reviewers, else the latest skip; ``against`` are who say the opposite.

    ``followed`` is when the plan was made of which it was said, where that was an earlier one with the same item; ``amended`` is the
    hash of the plan that came of the item, where it was amended.
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
    """What one reviewer says of an item."""

    item: str
    verdict: str
    note: str
    reviewer: str
    recorded_at: datetime
    followed: datetime | None
    amended: str


def save_drafts(store: Store, namespace: str, plan_hash: str, drafts: Sequence[NewDraft], *, reviewer: str) -> int:
    """Add the verdicts of one reviewer, all or none; returns how many.

    Refused for a plan that nobody can decide about any more, an item that does not wait, and one named twice. A signature under way is
    waited for; other reviewers are not.
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
    """Add a note to an answer, which stays as it is: the reviewer's own, else the latest of the others.

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
    """Item → what stands of it, over all reviewers."""
    with store.connect("approver") as connection:
        return current_drafts(connection, find_plan(connection, namespace, plan_hash.strip()))


def current_drafts(connection: Connection, plan_hash: str, items: Sequence[str] | None = None) -> dict[str, Draft]:
    """Return the same for a plan by its whole hash, or for some of its items, on a connection of an approver.

    Cost: linear in the drafts that are returned; the database scans those of the plan.
    """
    return {item: _of_all(rows) for item, rows in _verdicts(connection, plan_hash, items).items()}


def asking_operations(connection: Connection, plan_hash: str) -> frozenset[str]:
    """Return the operations of a plan that have a question without any answer, on a connection of an approver."""
    return frozenset(str(name) for (name,) in connection.execute(_ASKING.encode(), {"plan": plan_hash}))


def _verdicts(connection: Connection, plan_hash: str, items: Sequence[str] | None) -> dict[str, list[_ReviewerVerdict]]:
    """Item → the latest verdict of each reviewer, the oldest first."""
    found: dict[str, list[_ReviewerVerdict]] = {}
    values = {"plan": plan_hash, "items": None if items is None else list(items)}
    with connection.cursor(row_factory=class_row(_ReviewerVerdict)) as cursor:
        for row in cursor.execute(_CURRENT.encode(), values):
            found.setdefault(row.item, []).append(row)
    return found


def _changes(draft: NewDraft, before: Draft) -> bool:
    """Whether a draft changes the answer that there is, rather than repeats it, such as with another note."""
    if before.verdict == "skip":
        return False
    amended = bool(draft.amended) and draft.amended != before.amended
    return draft.verdict != before.verdict or amended or (draft.alone and bool(before.amended))


def undo_last(store: Store, namespace: str, plan_hash: str, *, reviewer: str) -> tuple[str, ...]:
    """Take back what the reviewer saved last, and say again what they had said of those items before; returns the items.

    Called again it goes one further back. Empty where nothing of theirs is left; what a signature covered stays. A plan that came of an
    item goes with the verdict, unless it is signed.
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
    """One draft of what several reviewers say of an item, the latest last."""
    decided = [row for row in rows if row.verdict != "skip"] or rows
    last = decided[-1]
    against = tuple(sorted(row.reviewer for row in decided if row.verdict != last.verdict))
    amended = next((row.amended for row in reversed(decided) if row.amended), "") if last.verdict == "no" else ""
    told = (last.item, last.verdict, last.note, last.reviewer, last.recorded_at)
    return Draft(*told, against, last.followed, amended)


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
