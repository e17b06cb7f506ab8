"""Answer a question in its own words: this one, the other one, both stay, both end; of a merge: same, different, same with the other name.

An answer that agrees with the sealed item, or leaves everything as it is, is a draft of yes or no. Any other is an amended item
(``slowwave.proposals.amended_items``), which waits in a plan of its own with a yes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused, SlowwaveError
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.proposals.amended_items import Amended, Otherwise, answer_otherwise, other_name, otherwise
from slowwave.proposals.follow_up import commute, leaves_questions, seal_follow_ups
from slowwave.review.drafts import NewDraft, Verdict, add_note, asking_operations, current_drafts, save_drafts
from slowwave.review.queue import code_of
from slowwave.review.session import first_plan, read_session
from slowwave.store.connect import Connection, Store
from slowwave.texts.quotation import quotable


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One answer of a question: its name in the API, its key, its label on a button, and the draft or amendment that it makes."""

    name: str
    key: str
    label: str
    verdict: Verdict = "no"
    amends: Otherwise | None = None


_SIDES: Final = (
    AnswerChoice("this", "1", "This one", "yes"),
    AnswerChoice("other", "2", "The other one", amends="other"),
    AnswerChoice("both", "b", "Both stay"),
    AnswerChoice("neither", "0", "Both end", amends="neither"),
)
_MERGES: Final = (
    AnswerChoice("same", "1", "Same", "yes"),
    AnswerChoice("different", "2", "Different"),
    AnswerChoice("other_name", "3", "Same, with the other name", amends="other_name"),
)
_PLAIN: Final = (AnswerChoice("yes", "y", "Yes", "yes"), AnswerChoice("no", "n", "No"))
_SETTLED: Final = "Settled by the answer to item {item}."
_SETTLED_BY: Final = re.compile(r"Settled by the answer to item \S+\.")
_ALWAYS: Final = (*_PLAIN, AnswerChoice("skip", "s", "Skip", "skip"))


ANSWERS: Final = (*_SIDES, *_MERGES, *_ALWAYS)
"""All answers that there are, in the order of their buttons."""


def answers_of(stored: StoredItem) -> tuple[AnswerChoice, ...]:
    """Return the answers that a question offers, without skip; an item that asks only yes or no offers those."""
    amends = otherwise(stored)
    if "other" in amends:
        return _SIDES
    if stored.kind == "merge_rows" and code_of(stored) == "same":
        return tuple(a for a in _MERGES if a.amends is None or a.amends in amends)
    return _PLAIN


def describe_answers(stored: StoredItem) -> list[tuple[AnswerChoice, str]]:
    """Return the answers of a question with what follows from each, in words that quote memory without secrets."""
    offered, evidence = answers_of(stored), stored.item.evidence
    stays, ends = (
        f"“{quotable(str(evidence.get(new, evidence.get(old, ''))))}”"
        for new, old in (("winner", "later"), ("loser", "earlier"))
    )
    says = {
        "this": f"{stays} stays; {ends} ends.",
        "other": f"{ends} stays; {stays} ends.",
        "both": "Nothing changes, and this is not asked again while both rows say what they say.",
        "neither": f"{stays} ends, and {ends} ends.",
        "same": "They are merged as proposed.",
        "different": "They stay apart, and this is not asked again while the rows say what they say.",
        "other_name": f"They are merged, and the result is called “{quotable(other_name(stored))}”.",
    }
    return [(one, str(says[one.name])) for one in offered if one.name in says]


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """An answer that was kept: the amended item that it made, if any, and the plans of the questions that follow from it.

    ``problem`` says why those could not be sealed; the answer is kept all the same.
    """

    amended: Amended | None = None
    follow_ups: tuple[str, ...] = ()
    problem: str = ""


def answer(store: Store, plan: StoredPlan, item: str, name: str, *, by: str, note: str = "") -> AnswerOutcome:
    """Give one answer to a question of a plan, then seal the questions that follow from it.

    ``yes``, ``no`` and ``skip`` are taken for every question. A no by another name drops an amended item that an earlier answer made.
    An answer that ends the side that would stay settles the other open questions about that side: they get a no, until the answer changes.
    Raises ``Refused`` for an answer that the question does not offer, and for an item that does not wait.
    """
    stored = next((s for s in plan.items if s.id == item), None)
    if stored is None:
        raise Refused(f"{item[:64]} is no item of plan {plan.plan_hash[:12]}. Nothing was kept.")
    offered = answers_of(stored) if name not in ("yes", "no", "skip") else _ALWAYS
    chosen = next((a for a in offered if a.name == name), None)
    if chosen is None:
        names = ", ".join(dict.fromkeys(a.name for a in (*offered, *_ALWAYS)))
        raise Refused(f"{name[:32]!r} is no answer to that question: it is one of {names}. Nothing was kept.")
    namespace, made = plan.header.namespace, None
    changed = _reopen(store, plan, [item], by=by)
    if chosen.amends:
        made = answer_otherwise(store, namespace, plan.plan_hash, item, answer=chosen.amends, by=by, note=note)
        _settle(store, namespace, made, item, by=by)
    else:
        draft = NewDraft(item, chosen.verdict, note, alone=name != "no")
        save_drafts(store, namespace, plan.plan_hash, [draft], reviewer=by)
    if chosen.verdict == "skip":
        return AnswerOutcome(made)
    return _seal_following(store, plan, [item], made, changed=changed, by=by)


def answer_many(store: Store, plan: StoredPlan, drafts: Sequence[NewDraft], *, by: str) -> AnswerOutcome:
    """Give many questions of a plan a yes, a no or a skip at once, then seal the questions that follow from them.

    All answers are kept or none. Raises as ``save_drafts`` does.
    """
    given = [draft.item for draft in drafts if draft.verdict != "skip"]
    changed = _reopen(store, plan, [draft.item for draft in drafts], by=by)
    save_drafts(store, plan.header.namespace, plan.plan_hash, drafts, reviewer=by)
    return _seal_following(store, plan, given, None, changed=changed, by=by) if given else AnswerOutcome()


def note_answer(store: Store, plan: StoredPlan, item: str, note: str, *, by: str) -> None:
    """Add a note to the answer of a question, which stays as it is, with the plans that came of it and the questions that it settled.

    Raises ``Refused`` if the question has no answer.
    """
    if all(stored.id != item for stored in plan.items):
        raise Refused(f"{item[:64]} is no item of plan {plan.plan_hash[:12]}. Nothing was kept.")
    with store.connect("approver") as connection:
        present = current_drafts(connection, plan.plan_hash, [item]).get(item)
    settled = _SETTLED_BY.match(present.note) if present else None
    if settled and not note.startswith(settled[0]):
        note = f"{settled[0]} {note}".strip()
    add_note(store, plan.header.namespace, plan.plan_hash, item, note, reviewer=by)


def _seal_following(
    store: Store, plan: StoredPlan, items: Sequence[str], made: Amended | None, *, changed: bool, by: str
) -> AnswerOutcome:
    """Seal the questions that follow from answers to ``items``. A problem is returned, as the answers are kept all the same."""
    with store.connect("approver") as connection:
        first = first_plan(connection, plan.plan_hash)
        if first == plan.plan_hash and not _may_follow(connection, plan, frozenset(items), changed=changed):
            return AnswerOutcome(made)
    try:
        return AnswerOutcome(made, seal_follow_ups(store, plan.header.namespace, first, by=by))
    except SlowwaveError as problem:  # such as a night that holds the namespace
        return AnswerOutcome(made, problem=f"The questions that follow could not be sealed: {problem}")


def _may_follow(connection: Connection, plan: StoredPlan, items: frozenset[str], *, changed: bool) -> bool:
    """Whether the session has to be read for questions that follow, which costs as much as all of its items and answers.

    That is so if a deferred question shares a cell with one of ``items``, if an operation that left out questions has no open one, if no
    question is open at all, and if an answer changed, as that withdrew the plans that followed.
    """
    late = [s for s in plan.items if s.status == "deferred" and s.decision == "review"]
    left = leaves_questions(plan)
    if not late and not left:
        return False
    given = [s.item for s in plan.items if s.id in items]
    if changed or any(
        not commute(s.item, [item])
        for item in given
        for s in late
        if any(row in s.mutation for row in {row for _, row in item.rows()})  # reads only the items that share a row
    ):
        return True
    open_ = asking_operations(connection, plan.plan_hash)
    return not open_ or any(item.operation in left and item.operation not in open_ for item in given)


def _settle(store: Store, namespace: str, made: Amended, item: str, *, by: str) -> None:
    """Keep what an amended item ends from being decided otherwise in the same session.

    Open questions that rest on a row which it ends get a no: what they ask is planned again without that row. Decided items that conflict
    with it get a skip and stay pending: applied first, they would make the answer stale.
    """
    session = read_session(store, namespace, made.plan_hash)
    amended = next((s.item for one in session for s in one.plan.items if s.id == made.item), None)
    if amended is None:
        return
    for one in session:
        drafts = [
            NewDraft(s.id, "no", _SETTLED.format(item=item[:8]))
            for s in one.covers.left
            if s.id != item
            and s.decision == "review"
            and not amended.writes().isdisjoint(s.item.writes() | s.item.guards())
        ]
        drafts += [
            NewDraft(s.id, "skip", _SETTLED.format(item=item[:8]))
            for s in one.covers.decided
            if not (
                amended.writes().isdisjoint(s.item.writes() | s.item.guards())
                and s.item.writes().isdisjoint(amended.guards())
            )
        ]
        if drafts:
            save_drafts(store, namespace, one.plan.plan_hash, drafts, reviewer=by)


def _reopen(store: Store, plan: StoredPlan, items: Sequence[str], *, by: str) -> bool:
    """Open the questions again that the present answers to ``items`` settle, because they are about to change.

    Return whether one of the items has an answer. Only an answer that made an amended item settles other questions.
    """
    known = {stored.id for stored in plan.items}.intersection(items)
    with store.connect("approver") as connection:
        present = current_drafts(connection, plan.plan_hash, sorted(known))
    for id_, draft in present.items():
        if draft.amended or draft.against:
            _reopen_settled(store, plan.header.namespace, plan.plan_hash, id_, by=by)
    return any(draft.verdict != "skip" for draft in present.values())


def _reopen_settled(store: Store, namespace: str, plan_hash: str, item: str, *, by: str) -> None:
    """Open the questions again that the present answer to ``item`` settles, because it is about to change."""
    for one in read_session(store, namespace, plan_hash):
        note = _SETTLED.format(item=item[:8])
        again = [d.item for d in one.drafts.values() if d.note.startswith(note) and d.reviewer == by]
        if again:
            drafts = [NewDraft(id_, "skip") for id_ in again]
            save_drafts(store, namespace, one.plan.plan_hash, drafts, reviewer=by)
