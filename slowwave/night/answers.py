"""Answers to questions: amended items and their plans, single answers, and answers for groups of questions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import RELATIONSHIPS, TOLD, VERSION, Cell, Value, Write, canonical
from slowwave.changes.merges import Alike, Merge, merge_facts, merge_memories, merge_rows
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Loss, NewVersion, lose_conflict, new_versions
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused, SlowwaveError
from slowwave.night.follow_up import TRIGGER, commute, leaves_questions, seal_follow_ups
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.operations.conflicts.decide import FRAMES, OPERATION, folded_relation
from slowwave.operations.options import ResolveConflictsOptions
from slowwave.plans.commands import argument
from slowwave.plans.gate import POLICY, check_name, refuse_state
from slowwave.plans.items import Decision, Item
from slowwave.plans.ledger import StoredItem, StoredPlan, code_of, read_plan
from slowwave.plans.questions import SAID, said_hash
from slowwave.plans.report import Report
from slowwave.plans.review.drafts import (
    Draft,
    NewDraft,
    Verdict,
    add_note,
    asking_operations,
    current_drafts,
    first_plan,
    read_session,
    save_drafts,
    withdraw,
)
from slowwave.plans.review.queue import AlikeQuestions
from slowwave.plans.states import find_plan, latest_plan
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_settings
from slowwave.text.quotation import quotable, quote
from slowwave.text.screening import counting, screen

# Amended items: a reviewer changes a question instead of answering yes or no, by taking a member out of a merge or editing a new text.
#
# A sealed plan stays as it was sealed. So the amended item is sealed as a separate plan, from a fresh snapshot and with the probes of any
# plan, and is pending there as a question. A draft rejects the original item; it can be withdrawn until it is approved, and the new plan is
# removed with it. Text that a person types is screened as an agent's is. It may contain words that no source has, and the item then lists
# these words.

MOST_CHARACTERS: Final = 20_000
"""The most characters of a text that a reviewer types."""

FEWEST: Final = 3
"""The fewest members of a merge from which one can be taken out."""

_QUOTED: Final = 400  # characters of a text that the evidence quotes

Otherwise = Literal["other", "neither", "other_name", "ended"]
"""An answer that differs from the sealed item: the other side is right, both sides end, a merge keeps the other name, or a memory ends
instead of taking the words of its source.
"""

_ANSWERED: Final = "A reviewer answered so."
_REASONS: Final = {
    "other": "{by} answered that the other one is right.",
    "neither": "{by} answered that both end.",
    "other_name": "{by} answered that they are the same and keep the other name.",
    "ended": "{by} answered that the memory ends.",
}
_NAMED: Final = 50  # words without a source that an item names
_MEANWHILE: Final = "The item that it was made of was decided meanwhile."
_CHANGED: Final = "A row of it says something else since the plan was made: run the night again. Nothing was changed."
_SAID: Final = """
SELECT content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT content FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = ANY(%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Amended:
    """An amended item, the plan in which it is pending, and the item that it replaces."""

    namespace: str
    plan_hash: str
    item: str
    of: str


def amendable(stored: StoredItem) -> str:
    """Return how a pending item can be amended: ``split``, ``edit``, or an empty string if it cannot."""
    if stored.status != "pending":
        return ""
    if stored.kind == "new_version":
        return "edit"
    merge = stored.item.mutation if stored.kind == "merge_rows" else None
    return "split" if merge and len(merge.absorb) + 1 >= FEWEST else ""


def split(store: Store, namespace: str, plan_hash: str, item: str, *, out: Collection[str], by: str) -> Amended:
    """Take rows out of a pending merge: the rest becomes a new plan, and a draft by ``by`` rejects the whole merge.

    ``out`` are ids of members; at least two members must be left. Once the draft is approved, a row that was taken out and one that stays
    are never merged as a pair, while those that stay may be. Raises ``Refused`` for an item that is no merge or is not pending, if a row
    changed since the plan was made, and if nothing can be sealed.
    """
    plan, stored = _waiting(store, namespace, plan_hash, item, by)
    of = stored.item
    merge = of.mutation
    if merge.keep is None:
        raise Refused("That item merges nothing, so there is nothing to take out of it. Nothing was changed.")
    members = (merge.keep, *merge.absorb)
    left = [row.id for row in members if row.id not in out]
    gone = [row.id for row in members if row.id in out]
    if len(gone) != len(set(out)) or not gone:
        raise Refused("Name at least one member of the merge to be taken out, and nothing else. Nothing was changed.")
    if len(left) < 2:
        raise Refused("Fewer than two members would be left, which is no merge: say no instead. Nothing was changed.")
    names = of.evidence.get("names")
    member_names = [str(n) for n in names] if isinstance(names, Sequence) and len(names) == len(members) else []
    kept = [n for row, n in zip(members, member_names, strict=False) if row.id in left]
    taken = [n for row, n in zip(members, member_names, strict=False) if row.id in out] or gone
    pairs = _pairs_left(of, taken)
    evidence: dict[str, object] = {
        **{name: value for name, value in of.evidence.items() if name not in ("waterfall", "pairs", "names", "judges")},
        **({"names": kept} if kept else {}),
        **({"pairs": pairs} if pairs else {}),
        **{"split by": by, "taken out": taken, "split from": f"item {of.id} of plan {plan.plan_hash[:12]}"},
    }

    def proposed(inputs: Inputs) -> Mutation:
        made = _merged(inputs.snapshot, merge.table, left)
        if _differ(merge, made, left):
            raise Refused(_CHANGED)
        return made

    chance = min((float(str(p["probability"])) for p in pairs if "probability" in p), default=of.probability)
    amended = _Amendment(replace(of, decision=Decision.REVIEW, risk="high", probability=chance), evidence, proposed)
    reason = f"Split by {by}: {len(gone):,} of {len(members):,} rows were taken out."
    return _sealed(store, plan, stored, amended, reason, by)


def answer_otherwise(
    store: Store, namespace: str, plan_hash: str, item: str, *, answer: Otherwise, by: str, note: str = ""
) -> Amended:
    """Give an answer that the item does not propose: it becomes a new plan, with a draft by ``by`` that approves it.

    - ``other``: the side that would end stays, and the side that would stay ends.
    - ``neither``: both sides end.
    - ``other_name``: the rows are merged, and the survivor keeps the name of the other row.
    - ``ended``: a memory that differs from its source ends.

    A draft by ``by`` rejects the item as it was sealed. Raises ``Refused`` if the item does not ask that, if a row changed since the plan
    was made, and if nothing can be sealed.
    """
    plan, stored = _waiting(store, namespace, plan_hash, item, by)
    if answer not in otherwise(stored):
        raise Refused(f"That question has no answer {str(answer)[:32]!r}. Nothing was changed.")
    of = stored.item
    if answer == "other_name":
        evidence, proposed = _renamed(stored)
    else:
        evidence, proposed = _ended_memory(of) if answer == "ended" else _other_sides(of, answer)
    evidence |= {"answered by": by, "answered from": f"item {of.id} of plan {plan.plan_hash[:12]}"}
    amended = _Amendment(replace(of, decision=Decision.REVIEW), evidence, proposed)
    made = _sealed(store, plan, stored, amended, note or _REASONS[answer].format(by=by), by)
    save_drafts(store, namespace, made.plan_hash, [NewDraft(made.item, "yes", note)], reviewer=by)
    return made


def otherwise(stored: StoredItem) -> tuple[Otherwise, ...]:
    """Return the answers to a pending question, other than yes and no, that make an amended item of it."""
    if stored.status != "pending" or not stored.is_question:
        return ()
    item = stored.item
    if _sides(item):
        return "other", "neither"
    if item.mutation.kind == "new_version" and "unsupported" in item.evidence:
        return ("ended",)
    return ("other_name",) if item.mutation.table == "entities" and _other_name(item) else ()


def _sides(item: Item) -> tuple[str, tuple[str, ...]] | None:
    """Return the surviving row and the ended rows of an item that asks which of two sides is right; None for other items."""
    mutation, ends = item.mutation, tuple(row.id for row in item.mutation.rows)
    if mutation.kind != "invalidate_rows" or mutation.inserts or mutation.deletes or not ends:
        return None
    if "winner_id" in item.evidence:
        return str(item.evidence["winner_id"]), ends
    if {"earlier", "later"} <= item.evidence.keys() and mutation.table == "memory_facts":
        successors = {str(w.value) for w in mutation.writes if w.cell.column == "superseded_by"}
        return (successors.pop(), ends) if len(successors) == 1 else None
    return None


def _other_sides(of: Item, answer: Otherwise) -> tuple[dict[str, object], Callable[[Inputs], Mutation]]:
    """Build the evidence and the mutation that end the side which would stay, alone or together with the other side."""
    sides = _sides(of)
    if sides is None:
        raise Refused("That question is not about two sides. Nothing was changed.")
    (stays, ends), item_evidence = sides, of.evidence
    was = (
        item_evidence.get("winner", item_evidence.get("later")),
        item_evidence.get("loser", item_evidence.get("earlier")),
    )
    rest = {
        k: v
        for k, v in item_evidence.items()
        if k not in ("winner", "loser", "earlier", "later", "winner_id", "equal", "why", "side")
    }
    if answer == "other":
        evidence = {**rest, "winner": was[1], "loser": was[0], "winner_id": ends[0], "why": _ANSWERED}
        loss = Loss(ends[0], (stays,), ())
    else:
        evidence = {**rest, "both end": [str(side) for side in was], "why": _ANSWERED}
        loss = Loss("", (stays, *ends), ())
    written = {w.cell.column for w in of.mutation.writes} | {"invalidated_at", "valid_to", "is_active"}
    columns = {
        VERSION if c == TOLD else c for g in of.mutation.guards if g.table == of.mutation.table for c in g.columns
    }
    loss = replace(loss, rests_on=tuple(sorted(columns - written)))

    def proposed(inputs: Inputs) -> Mutation:
        equal = _still_equal(inputs.snapshot, of)
        whole = replace(loss, losers=(*loss.losers, *(row for row in equal if row not in loss.losers)))
        (made,) = lose_conflict(inputs.snapshot, of.mutation.table, [whole])
        then, now = _cells(of.mutation), _cells(made)
        if any(then[cell] != now[cell] for cell in then.keys() & now.keys()):
            raise Refused(_CHANGED)
        return made

    return evidence, proposed


def _ended_memory(of: Item) -> tuple[dict[str, object], Callable[[Inputs], Mutation]]:
    """Build the evidence and the mutation that end a memory which would take the words of its source."""
    row = of.mutation.rows[0].id
    columns = {VERSION, *(c for g in of.mutation.guards if g.table == "memories" for c in g.columns)}
    loss = Loss("", (row,), tuple(sorted(columns - {TOLD, "invalidated_at", "valid_to"})))
    evidence = {k: v for k, v in of.evidence.items() if k not in ("before", "after")}

    def proposed(inputs: Inputs) -> Mutation:
        (made,) = lose_conflict(inputs.snapshot, "memories", [loss])
        then, now = _cells(of.mutation), _cells(made)
        if any(then[cell] != now[cell] for cell in then.keys() & now.keys()):
            raise Refused(_CHANGED)
        return made

    return evidence | {"loser": of.evidence.get("before"), "reason": _ANSWERED}, proposed


def _still_equal(snapshot: Snapshot, of: Item) -> list[str]:
    """Return the live rows that state what the side states which would stay, unless they were changed since the plan was made."""
    table, equal = of.mutation.table, of.evidence.get("equal")
    if not isinstance(equal, Mapping):
        return []
    rows = snapshot.live(table).select(["id", *SAID[table]])
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(map(str, equal)), pa.string())))
    seen = {str(row["id"]): {c: canonical(v) for c, v in row.items()} for row in rows.to_pylist()}
    return [id_ for id_, row in sorted(seen.items()) if said_hash(table, row) == equal[id_]]


def _cells(mutation: Mutation) -> dict[tuple[str, str], Value]:
    """Return (row, column) → the value that a mutation saw, for cells that it depends on or writes."""
    seen = [*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)]
    return {(c.row, VERSION if c.column == TOLD else c.column): v for c, v in seen if c.table == mutation.table}


def other_name(stored: StoredItem) -> str:
    """Return the name that the survivor of a merge would not keep; empty if there is none."""
    item = stored.item
    row, names = _other_name(item), item.evidence.get("names")
    rows = [merged.id for merged in ((item.mutation.keep, *item.mutation.absorb) if item.mutation.keep else ())]
    return str(names[rows.index(row)]) if row and isinstance(names, Sequence) else ""


def _other_name(item: Item) -> str:
    """Return the row of a merge whose name the survivor would not keep, or an empty string if all rows have one name."""
    merge, names = item.mutation, item.evidence.get("names")
    if merge.keep is None or not isinstance(names, Sequence) or len(names) != len(merge.absorb) + 1:
        return ""
    kept = next((str(w.value) for w in merge.writes if _names_survivor(w, merge)), str(names[0]))
    rows = (merge.keep, *merge.absorb)
    return next((row.id for row, name in zip(rows, names, strict=True) if str(name) != kept), "")


def _names_survivor(write: Write, merge: Mutation) -> bool:
    return merge.keep is not None and write.cell == Cell("entities", merge.keep.id, "name") and write.action == "set"


def _renamed(stored: StoredItem) -> tuple[dict[str, object], Callable[[Inputs], Mutation]]:
    """Return the evidence and the mutation of a merge whose survivor gets the name that it would not keep."""
    merge, name = stored.item.mutation, other_name(stored)
    rows = [merge.keep.id, *(row.id for row in merge.absorb)] if merge.keep else []

    def proposed(inputs: Inputs) -> Mutation:
        made = _merged(inputs.snapshot, merge.table, rows, name)
        if _differ(merge, made, rows):
            raise Refused(_CHANGED)
        return made

    return dict(stored.item.evidence), proposed


def edit(store: Store, namespace: str, plan_hash: str, item: str, *, text: str, by: str) -> Amended:
    """Replace the proposed text of an item: the edited item becomes a new plan, with a draft by ``by`` that approves it.

    A draft by ``by`` rejects the item as it was sealed. The evidence of the new item lists the words that no source contains. Only items
    that give a memory a new version can be edited. Raises ``Refused`` for a text that screening rejects, that is empty, too long or the
    proposed one, and if the memory has changed since.
    """
    plan, stored = _waiting(store, namespace, plan_hash, item, by)
    of, wording = stored.item, text.replace("\r\n", "\n").strip()
    version = next((i for i in of.mutation.inserts if i.table == "memory_versions"), None)
    if of.mutation.kind != "new_version" or version is None or len(of.mutation.rows) != 1:
        raise Refused("That item gives no memory a new text, so there is nothing to word anew. Nothing was changed.")
    _refuse_text(wording, str(version.values.get("content")))
    memory = of.mutation.rows[0].id
    with store.connect("reader") as connection:
        sources = [str(t) for (t,) in connection.execute(_SAID, {"ids": [memory, *of.sources]})]
    unsaid = sorted(_words(wording).difference(*map(_words, sources)))
    evidence: dict[str, object] = {
        **of.evidence,
        **{name: quote(wording, _QUOTED) for name in ("after", "says") if name in of.evidence},
        **{"edited by": by, "edited from": f"item {of.id} of plan {plan.plan_hash[:12]}"},
        **({"words without a source": unsaid[:_NAMED]} if unsaid else {}),
    }
    change = _again(of.mutation, memory, wording, str(version.values.get("reason") or ""))
    before = next((w.seen for w in of.mutation.writes if w.cell.column == "current_version_id"), None)

    def proposed(inputs: Inputs) -> Mutation:
        fits = inputs.embed if inputs.snapshot.vectors["memory_vectors"].model else None
        vectors = np.asarray(fits([wording]), np.float32) if fits else None
        (made,) = new_versions(inputs.snapshot, [change], vectors)
        if before != next((w.seen for w in made.writes if w.cell.column == "current_version_id"), None):
            raise Refused(_CHANGED)
        return made

    amended = _Amendment(replace(of, decision=Decision.REVIEW), evidence, proposed)
    made = _sealed(store, plan, stored, amended, f"Superseded by the words of {by}.", by)
    save_drafts(store, namespace, made.plan_hash, [NewDraft(made.item, "yes")], reviewer=by)
    return made


@dataclass(frozen=True, slots=True)
class _Amendment:
    """An amendment of an item: its new evidence, and a function that builds its mutation from a fresh snapshot."""

    of: Item
    evidence: dict[str, object]
    proposed: Callable[[Inputs], Mutation]

    def item(self, inputs: Inputs) -> Item:
        """Build the amended item from the snapshot."""
        of = self.of
        return Item(
            *(of.operation, of.decision, self.proposed(inputs), self.evidence),
            *(of.risk, of.sources, of.tokens, of.probability),
        )


def _waiting(store: Store, namespace: str, plan_hash: str, item: str, by: str) -> tuple[StoredPlan, StoredItem]:
    check_name(by)
    if by.lower() == POLICY:
        raise Refused("A policy amends nothing: name the person who does. Nothing was changed.")
    with store.connect("approver") as connection:
        plan = read_plan(connection, find_plan(connection, namespace, plan_hash.strip()), item=item)
        refuse_state(connection, plan)
    found = next((s for s in plan.items if s.id == item), None)
    if found is None or found.status != "pending":
        raise Refused(f"Item {item[:64]} does not wait in plan {plan.plan_hash[:12]}. Nothing was changed.")
    return plan, found


def _sealed(
    store: Store,
    plan: StoredPlan,
    stored: StoredItem,
    amendment: _Amendment,
    reason: str,
    by: str,
) -> Amended:
    """Seal the amended item, then draft a no to the original; if that was decided meanwhile, remove the new plan."""
    namespace, of = plan.header.namespace, amendment.of

    problems: list[Refused] = []

    def propose(inputs: Inputs) -> Proposal:
        """Propose the amended item; a refusal gives an empty plan instead of a failed run."""
        items: tuple[Item, ...] = ()
        try:
            items = (amendment.item(inputs),)
        except Refused as problem:
            problems.append(problem)
        return Proposal(items, Report(of.operation, reason, numbers={"items": len(items)}))

    session = read_session(store, namespace, plan.plan_hash)
    answered = [s.item for one in session for s in one.covers.yes if s.id != stored.id]
    follows = (
        session[0].plan.plan_hash != plan.plan_hash
    )  # then its item was planned on the state after earlier answers
    night = seal_proposal(
        *(store, namespace, of.operation, propose),
        of=stored.id,
        trigger=TRIGGER,
        by=by,
        after=(lambda snapshot: simulate(snapshot, answered)) if follows else None,
    )
    if problems:
        raise problems[0]
    if night.plan is None or len(night.plan.items) != 1 or night.state == "empty":
        raise Refused("What would be left was rejected before, or waits in another plan already. Nothing was changed.")
    (made,) = night.plan.items
    try:
        draft = NewDraft(stored.id, "no", reason, amended=night.plan.plan_hash)
        save_drafts(store, namespace, plan.plan_hash, [draft], reviewer=by)
    except Refused:
        with store.connect("approver") as connection, connection.transaction():
            withdraw(connection, night.plan.plan_hash, _MEANWHILE)
        raise
    return Amended(namespace, night.plan.plan_hash, made.id, stored.id)


def _merged(snapshot: Snapshot, table: str, left: Sequence[str], name: str = "") -> Mutation:
    """Return the merge of the remaining rows into the first of them; an entity gets ``name``, or the best of the names."""
    keep, *absorb = left
    if table == "entities":
        return merge_rows(snapshot, [Merge(keep, tuple(absorb), name=name)])[0]
    return (merge_facts if table == "memory_facts" else merge_memories)(snapshot, [Alike(keep, tuple(absorb))])[0]


def _differ(planned: Mutation, now: Mutation, rows: Sequence[str]) -> bool:
    """Return whether the plan saw other values in the rows than there are now, in the cells that both mutations guard.

    Edges are ignored, because they are not part of a row's content.
    """

    def seen(merge: Mutation) -> dict[object, object]:
        own = (g for g in merge.guards if g.table == merge.table and g.row in rows)
        return {cell: value for g in own for cell, value in g.cells() if cell.column != RELATIONSHIPS}

    then, found = seen(planned), seen(now)
    return any(then[cell] != found[cell] for cell in then.keys() & found.keys())


def _pairs_left(of: Item, taken: Sequence[str]) -> list[dict[str, object]]:
    """Return the links of a cluster that name none of the members taken out."""
    pairs = of.evidence.get("pairs")
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        return []
    named = [dict(p) for p in pairs if isinstance(p, dict)]
    return [p for p in named if isinstance(n := p.get("names"), list) and not {str(x) for x in n} & set(taken)]


def _again(mutation: Mutation, memory: str, text: str, reason: str) -> NewVersion:
    """Build the same change as a mutation, with another text."""
    own = [g for g in mutation.guards if g.table == "memories"]
    rests = tuple(c for g in own if g.row == memory for c in g.columns if c not in (VERSION, TOLD))
    set_ = {w.cell.column: w.value for w in mutation.writes if (w.cell.table, w.action) == ("memories", "set")}
    attributes = json.loads(str(set_["attributes"])) if "attributes" in set_ else None
    stage, state = (str(set_[c]) if c in set_ else None for c in ("stage", "state"))
    because = tuple(g.row for g in own if g.row != memory)
    return NewVersion(memory, text, reason, stage, attributes, state, rests, because)


def _refuse_text(text: str, proposed: str) -> None:
    if not text or "\x00" in text:
        raise Refused("The text is empty, or holds a character that no text may hold. Nothing was changed.")
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"A text has at most {MOST_CHARACTERS:,} characters. Nothing was changed.")
    if text == proposed.strip():
        raise Refused("That is the text that is proposed: say yes to it. Nothing was changed.")
    if found := sorted({d.kind for d in counting(screen(text))}):
        raise Refused(f"The text holds what screening refuses ({', '.join(found)}). Nothing was changed: take it out.")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


# Answers to a question in its own terms: this one, the other one, both stay, both end; for a merge: same, different, same with the other
# name.
#
# An answer that agrees with the sealed item, or leaves everything as it is, is a draft of yes or no. Any other answer is an amended item,
# which is pending in a separate plan with a yes.


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """An answer to a question: its name in the API, its key, its button label, and the draft or amendment that it makes."""

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
_TASKS: Final = (AnswerChoice("this", "1", "It is done", "yes"), AnswerChoice("both", "b", "It is not done"))
_MERGES: Final = (
    AnswerChoice("same", "1", "Same", "yes"),
    AnswerChoice("different", "2", "Different"),
    AnswerChoice("other_name", "3", "Same, with the other name", amends="other_name"),
)
_WORDINGS: Final = (
    AnswerChoice("source", "1", "The words of the source", "yes"),
    AnswerChoice("kept", "2", "Keep the memory"),
    AnswerChoice("ended", "0", "End the memory", amends="ended"),
)
_PLAIN: Final = (AnswerChoice("yes", "y", "Yes", "yes"), AnswerChoice("no", "n", "No"))
_SETTLED: Final = "Settled by the answer to item {item}."
_SETTLED_BY: Final = re.compile(r"Settled by the answer to item \S+\.")
_ALWAYS: Final = (*_PLAIN, AnswerChoice("skip", "s", "Skip", "skip"))


ANSWERS: Final = (*_SIDES, *_MERGES, *_WORDINGS, *_ALWAYS)
"""Every answer, in the order of the buttons."""


def answers_of(stored: StoredItem) -> tuple[AnswerChoice, ...]:
    """Return the answers that a question offers, without skip; an item that asks only yes or no offers these two."""
    amends = otherwise(stored)
    if "other" in amends:
        return _TASKS if code_of(stored) == "done" else _SIDES
    if "ended" in amends:
        return _WORDINGS
    if stored.kind == "merge_rows" and code_of(stored) == "same":
        return tuple(a for a in _MERGES if a.amends is None or a.amends in amends)
    return _PLAIN


_INSTEAD: Final = """
SELECT plan_hash, evidence -> 'evidence' FROM night.plan_items WHERE plan_hash = ANY(%s) AND decision = 'review'
"""


def given_answers(store: Store, plan: StoredPlan, drafts: Mapping[str, Draft]) -> dict[str, str]:
    """Return item → the name of the answer that its draft stands for, such as "the other one", as buttons name it.

    One query if an item was amended, else none.
    """
    hashes = sorted({draft.amended for draft in drafts.values() if draft.amended})
    instead: dict[str, str] = {}
    if hashes:
        with store.connect("approver") as connection:
            rows = connection.execute(_INSTEAD, (hashes,)).fetchall()
        instead = {str(hash_): _amended_answer(given) for hash_, given in rows if isinstance(given, dict)}
    named: dict[str, str] = {}
    for stored in plan.items:
        draft = drafts.get(stored.id)
        if draft is None:
            continue
        if draft.amended:
            named[stored.id] = instead.get(draft.amended, "changed")
        elif draft.verdict == "skip":
            named[stored.id] = "skipped"
        elif _SETTLED_BY.match(draft.note):
            named[stored.id] = "settled by another answer"
        else:
            offered = (a.label for a in answers_of(stored) if a.verdict == draft.verdict and not a.amends)
            named[stored.id] = next(offered, draft.verdict).lower()
    return named


def count_answers(plan: StoredPlan, answers: Mapping[str, str]) -> dict[str, int]:
    """Return how often each answer was given to the pending questions of a plan; yes, no and skipped are always counted."""
    asked = {s.id for s in plan.items if s.is_question and s.status == "pending"}
    given = Counter(answer for item, answer in answers.items() if item in asked)
    return {"yes": 0, "no": 0, "skipped": 0} | dict(sorted(given.items()))


def _amended_answer(evidence: Mapping[str, object]) -> str:
    """Return the name of the answer that made an amended item, by the item's evidence."""
    if "split by" in evidence:
        return "members taken out"
    if "edited by" in evidence:
        return "text edited"
    if "unsupported" in evidence:
        name = "ended"
    else:
        name = "neither" if "both end" in evidence else "other" if "winner" in evidence else "other_name"
    return next(a.label for a in ANSWERS if a.name == name).lower()


def describe_answers(stored: StoredItem) -> list[tuple[AnswerChoice, str]]:
    """Return the answers of a question and what follows from each, with secrets in quotes of memory removed."""
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
        "source": f"The memory states “{quotable(str(evidence.get('after', '')))}”. Its present text stays on record.",
        "kept": "Nothing changes, and this is not asked again while the memory says what it says.",
        "ended": "No search returns the memory any more. It stays stored.",
        "other_name": f"They are merged, and the result is called “{quotable(other_name(stored))}”.",
    }
    return [(one, str(says[one.name])) for one in offered if one.name in says]


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of a stored answer: the amended item, if any, and the plans of the questions that follow from it.

    ``problem`` states why those plans could not be sealed; the answer is stored all the same.
    """

    amended: Amended | None = None
    follow_ups: tuple[str, ...] = ()
    problem: str = ""


def answer(store: Store, plan: StoredPlan, item: str, name: str, *, by: str, note: str = "") -> AnswerOutcome:
    """Store one answer to a question of a plan, then seal the questions that follow from it.

    ``yes``, ``no`` and ``skip`` are accepted for every question. A no by another name drops an amended item that an earlier answer made.
    An answer that ends the side that would stay settles the other open questions about that side: they get a no, until the answer
    changes. Raises ``Refused`` for an answer that the question does not offer, and for an item that is not pending.
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
        try:
            made = answer_otherwise(store, namespace, plan.plan_hash, item, answer=chosen.amends, by=by, note=note)
        except Refused as refused:
            if str(refused) == _CHANGED and (settled := _settled_by(store, plan, item)):
                raise Refused(
                    f"{settled} It ended a row that this question is about: change that answer first."
                ) from None
            raise
        _settle(store, namespace, made, item, by=by)
    else:
        draft = NewDraft(item, chosen.verdict, note, alone=name != "no")
        save_drafts(store, namespace, plan.plan_hash, [draft], reviewer=by)
    if chosen.verdict == "skip":
        return AnswerOutcome(made)
    return _seal_following(store, plan, [item], made, changed=changed, by=by)


def answer_many(store: Store, plan: StoredPlan, drafts: Sequence[NewDraft], *, by: str) -> AnswerOutcome:
    """Answer many questions of a plan with yes, no or skip at once, then seal the questions that follow from them.

    Either all answers are stored or none. Raises as ``save_drafts`` does.
    """
    given = [draft.item for draft in drafts if draft.verdict != "skip"]
    changed = _reopen(store, plan, [draft.item for draft in drafts], by=by)
    save_drafts(store, plan.header.namespace, plan.plan_hash, drafts, reviewer=by)
    return _seal_following(store, plan, given, None, changed=changed, by=by) if given else AnswerOutcome()


def answer_alike(
    store: Store,
    plan: StoredPlan,
    group: AlikeQuestions,
    verdict: Verdict | Literal["each"],
    *,
    by: str,
    checked: Mapping[str, Verdict] | None = None,
    note: str = "",
) -> AnswerOutcome:
    """Answer all questions of a group at once, after the answers to its sample were stored one by one.

    ``checked`` has the reviewer's answer to each question of ``group.sample``; empty if the sample was not checked, and then an approval
    counts the answer against the caps of the blast radius. If one of ``checked`` differs from ``verdict``, only the answers to the sample
    are stored, and ``problem`` says so. ``each`` answers each relation as its part of the sample was answered, and leaves those with both
    answers open. Raises ``Refused`` for a sample that is not checked completely, and as ``save_drafts`` does.
    """
    sample = {w.id for w in group.sample}
    given: dict[str, Verdict] = dict(checked or {})
    if verdict not in ("yes", "no", *(("each",) if given else ())) or any(
        one not in ("yes", "no") for one in given.values()
    ):
        raise Refused("An answer for a group is yes or no. Nothing was kept.")
    if not group.items:
        raise Refused("No question of this group is open any more. Nothing was kept.")
    if given and given.keys() != sample:
        raise Refused(
            f"{len(sample & given.keys()):,} of the {len(sample):,} questions of the sample are checked. Check all of them or none. "
            "Nothing was kept."
        )
    for item, one in given.items():
        # Each in a transaction of its own, which is how answers to single questions are known.
        save_drafts(store, plan.header.namespace, plan.plan_hash, [NewDraft(item, one)], reviewer=by)
    if verdict == "each":
        drafts: list[NewDraft] = []
        for part in group.parts:
            agreed: set[Verdict] = {given[w.id] for w in part if w.id in sample}
            drafts += [NewDraft(w.id, one, note) for one in agreed for w in part if len(agreed) == 1]
        if not drafts:
            return _seal_following(store, plan, sorted(given), None, changed=False, by=by)
        return answer_many(store, plan, drafts, by=by)
    others = sum(one != verdict for one in given.values())
    if others:
        done = _seal_following(store, plan, sorted(given), None, changed=False, by=by)
        kept = (
            f"{others:,} of the {len(sample):,} questions that you checked have another answer than the group would get. Your answers to "
            "these are kept, and the rest of the group stays open. Answer it one by one, or check a new sample."
        )
        return replace(done, problem=f"{kept} {done.problem}".strip())
    return answer_many(store, plan, [NewDraft(w.id, verdict, note) for w in group.items], by=by)


_RELATIONS: Final = """
SELECT evidence -> 'evidence' ->> 'relation', evidence -> 'evidence' -> 'also_named' FROM night.plan_items
WHERE plan_hash = %s AND operation = %s AND evidence -> 'evidence' ? 'relation' ORDER BY ordinal
"""


def newest_wins_command(store: Store, plan: StoredPlan, group: AlikeQuestions) -> str:
    """Return the command that lets the newest value of a group's relation win in later nights; empty for other groups.

    It keeps the relations that the namespace names already. A person runs it; no answer does.
    """
    if group.form is None or group.form.direction != "later":
        return ""
    namespace = plan.header.namespace
    with store.connect("reader") as connection:
        settings = namespace_settings(connection, namespace)
    known = settings.options("resolve_conflicts", ResolveConflictsOptions).newest_wins
    relations = list(dict.fromkeys((*known, str(quotable(group.form.relation)))))
    value = f"operations.resolve_conflicts.newest_wins={json.dumps(relations, ensure_ascii=False)}"
    return f"slowwave namespace set {argument(namespace)} {argument(value)}"


def find_unknown_relations(store: Store, namespace: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which relations for ``newest_wins`` no conflict of the latest plan has, and the relations that it has, in their order.

    Both are empty if the namespace has no plan, and ``frames`` is always known.
    """
    with store.connect("reader") as connection:
        if (plan := latest_plan(connection, namespace)) is None:
            return [], []
        rows = connection.execute(_RELATIONS, (plan, OPERATION)).fetchall()
    also = [name for _, others in rows if isinstance(others, list) for name in others]
    known = {FRAMES, *(folded_relation(str(name)) for name in (*(relation for relation, _ in rows), *also))}
    unknown = [name for name in names if folded_relation(name) not in known]
    return unknown, list(dict.fromkeys(str(relation) for relation, _ in rows))


def note_answer(store: Store, plan: StoredPlan, item: str, note: str, *, by: str) -> None:
    """Add a note to the answer of a question.

    The answer, the plans that came of it and the questions that it settled stay as they are. Raises ``Refused`` if the question has no
    answer.
    """
    if all(stored.id != item for stored in plan.items):
        raise Refused(f"{item[:64]} is no item of plan {plan.plan_hash[:12]}. Nothing was kept.")
    settled = _settled_by(store, plan, item)
    if settled and not note.startswith(settled):
        note = f"{settled} {note}".strip()
    add_note(store, plan.header.namespace, plan.plan_hash, item, note, reviewer=by)


def _settled_by(store: Store, plan: StoredPlan, item: str) -> str:
    """Return the sentence that names the answer which settled a question; empty if none did."""
    with store.connect("approver") as connection:
        present = current_drafts(connection, plan.plan_hash, [item]).get(item)
    settled = _SETTLED_BY.match(present.note) if present else None
    return settled[0] if settled else ""


def _seal_following(
    store: Store, plan: StoredPlan, items: Sequence[str], made: Amended | None, *, changed: bool, by: str
) -> AnswerOutcome:
    """Seal the questions that follow from answers to ``items``.

    A problem is returned and not raised, because the answers are stored all the same.
    """
    with store.connect("approver") as connection:
        first = first_plan(connection, plan.plan_hash)
        if first == plan.plan_hash and not _may_follow(connection, plan, frozenset(items), changed=changed):
            return AnswerOutcome(made)
    try:
        return AnswerOutcome(made, seal_follow_ups(store, plan.header.namespace, first, by=by))
    except SlowwaveError as problem:  # such as a night that holds the namespace
        return AnswerOutcome(made, problem=f"The questions that follow could not be sealed: {problem}")


def _may_follow(connection: Connection, plan: StoredPlan, items: frozenset[str], *, changed: bool) -> bool:
    """Return whether the session must be checked for follow-up questions.

    The check reads all items and answers of the session. It is needed if a deferred question shares a cell with one of ``items``, if an
    operation that left out questions has no open one, if no question is open at all, or if an answer changed, because that withdrew the
    plans that followed.
    """
    late = [s for s in plan.items if s.status == "deferred" and s.is_question]
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
    """Prevent that rows which an amended item ends are decided otherwise in the same session.

    Open questions that depend on a row which it ends get a no: what they ask is planned again without that row. Decided items that
    conflict with it get a skip and stay pending, because applied first they would make the answer stale.
    """
    session = read_session(store, namespace, made.plan_hash)
    amended = next((s.item for one in session for s in one.plan.items if s.id == made.item), None)
    if amended is None:
        return
    for one in session:
        drafts = [
            NewDraft(s.id, "no", _SETTLED.format(item=item[:8]))
            for s in one.covers.left
            if s.id != item and s.is_question and not amended.writes().isdisjoint(s.item.writes() | s.item.guards())
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
    """Reopen the questions that the present answers to ``items`` settle, because these answers are about to change.

    Returns whether one of the items has an answer. Only an answer that made an amended item settles other questions.
    """
    known = {stored.id for stored in plan.items}.intersection(items)
    with store.connect("approver") as connection:
        present = current_drafts(connection, plan.plan_hash, sorted(known))
    for id_, draft in present.items():
        if draft.amended or draft.against:
            _reopen_settled(store, plan.header.namespace, plan.plan_hash, id_, by=by)
    return any(draft.verdict != "skip" for draft in present.values())


def _reopen_settled(store: Store, namespace: str, plan_hash: str, item: str, *, by: str) -> None:
    """Reopen the questions that the present answer to ``item`` settles, because it is about to change."""
    for one in read_session(store, namespace, plan_hash):
        note = _SETTLED.format(item=item[:8])
        again = [d.item for d in one.drafts.values() if d.note.startswith(note) and d.reviewer == by]
        if again:
            drafts = [NewDraft(id_, "skip") for id_ in again]
            save_drafts(store, namespace, one.plan.plan_hash, drafts, reviewer=by)
