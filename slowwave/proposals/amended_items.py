"""Amended items: what a reviewer makes of a question instead of yes or no. A member is taken out of a merge, or a new text is worded anew.

A sealed plan stays as it was sealed. So what a person makes of an item is sealed as a plan of its own beside it, from a fresh snapshot
and with the probes of any plan, and waits there as a question. Of the item that it came from a draft says no, which can be taken back
until it is signed; the new plan goes with it. Words that a person types are screened as an agent's are. They may say what no source does,
and the item names such words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from slowwave.errors import Refused
from slowwave.mutations.cells import RELATIONSHIPS, TOLD, VERSION, Cell, Value, Write
from slowwave.mutations.lose_conflict import Loss, lose_conflict
from slowwave.mutations.merge_alike import Alike
from slowwave.mutations.merge_facts import merge_facts
from slowwave.mutations.merge_memories import merge_memories
from slowwave.mutations.merge_rows import Merge, merge_rows
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.new_version import NewVersion, new_versions
from slowwave.mutations.simulate import simulate
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.plans.gate import POLICY, check_name, refuse_state
from slowwave.plans.items import Item
from slowwave.plans.latest import find_plan
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan
from slowwave.reports.model import Report
from slowwave.review.drafts import NewDraft, save_drafts
from slowwave.review.session import read_session
from slowwave.review.superseding import withdraw
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.texts.quotation import quote
from slowwave.texts.screening import counting, screen

MOST_CHARACTERS: Final = 20_000
"""Characters of a text that a reviewer types."""

FEWEST: Final = 3
"""Members of a merge of which one can be taken out."""

TRIGGER: Final = "review"
_QUOTED: Final = 400  # characters of a text that the evidence quotes

Otherwise = Literal["other", "neither", "other_name"]
"""An answer that differs from the sealed item: the other side is right, both sides end, or a merge keeps the other name."""

_ANSWERED: Final = "A reviewer answered so."
_REASONS: Final = {
    "other": "{by} answered that the other one is right.",
    "neither": "{by} answered that both end.",
    "other_name": "{by} answered that they are the same and keep the other name.",
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
    """The item that was made, the plan in which it waits, and the item that it takes the place of."""

    namespace: str
    plan_hash: str
    item: str
    of: str


def amendable(stored: StoredItem) -> str:
    """How an item that waits can be amended: ``split``, ``edit`` or not at all."""
    if stored.status != "pending":
        return ""
    if stored.kind == "new_version":
        return "edit"
    merge = stored.item.mutation if stored.kind == "merge_rows" else None
    return "split" if merge and len(merge.absorb) + 1 >= FEWEST else ""


def split(store: Store, namespace: str, plan_hash: str, item: str, *, out: Collection[str], by: str) -> Amended:
    """Take rows out of a merge that waits: the rest of it waits as a new plan, and a draft of ``by`` says no to the whole.

    ``out`` are ids of members; two at least have to be left. Once the no is signed, the pairs of a row that was taken out and one that
    stays are never merged, while those that stay may be. Raises ``Refused`` for what is no merge, or does not wait, where a row changed
    since the plan was made, and where nothing can be sealed.
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
    told = [str(n) for n in names] if isinstance(names, Sequence) and len(names) == len(members) else []
    kept = [n for row, n in zip(members, told, strict=False) if row.id in left]
    taken = [n for row, n in zip(members, told, strict=False) if row.id in out] or gone
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
    amended = _Amendment(replace(of, decision="review", risk="high", probability=chance), evidence, proposed)
    reason = f"Split by {by}: {len(gone):,} of {len(members):,} rows were taken out."
    return _sealed(store, plan, stored, amended, reason, by)


def answer_otherwise(
    store: Store, namespace: str, plan_hash: str, item: str, *, answer: Otherwise, by: str, note: str = ""
) -> Amended:
    """Answer a question otherwise than its item proposes: what was answered waits as a new plan, with a draft of ``by`` that says yes.

    ``other``: the side that would end stays, and the side that would stay ends. ``neither``: both end. ``other_name``: the rows are
    merged, and the survivor keeps the name of the other one. A draft of ``by`` says no to the item as it was sealed. Raises ``Refused``
    if the item does not ask that, if a row changed since the plan was made, and if nothing can be sealed.
    """
    plan, stored = _waiting(store, namespace, plan_hash, item, by)
    if answer not in otherwise(stored):
        raise Refused(f"That question has no answer {str(answer)[:32]!r}. Nothing was changed.")
    of = stored.item
    evidence, proposed = _renamed(stored) if answer == "other_name" else _other_sides(of, answer)
    evidence |= {"answered by": by, "answered from": f"item {of.id} of plan {plan.plan_hash[:12]}"}
    amended = _Amendment(replace(of, decision="review"), evidence, proposed)
    made = _sealed(store, plan, stored, amended, note or _REASONS[answer].format(by=by), by)
    save_drafts(store, namespace, made.plan_hash, [NewDraft(made.item, "yes", note)], reviewer=by)
    return made


def otherwise(stored: StoredItem) -> tuple[Otherwise, ...]:
    """Return the answers to a pending question, next to yes and no, that make an amended item of it."""
    if stored.status != "pending" or stored.decision != "review":
        return ()
    item = stored.item
    if _sides(item):
        return "other", "neither"
    return ("other_name",) if item.mutation.table == "entities" and _other_name(item) else ()


def _sides(item: Item) -> tuple[str, tuple[str, ...]] | None:
    """The row that stays and the rows that end, of an item that asks which of two sides is right."""
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
    """The evidence and the mutation of an item that ends the side that would stay, alone or with the other one."""
    sides = _sides(of)
    if sides is None:
        raise Refused("That question is not about two sides. Nothing was changed.")
    (stays, ends), told = sides, of.evidence
    was = (told.get("winner", told.get("later")), told.get("loser", told.get("earlier")))
    rest = {k: v for k, v in told.items() if k not in ("winner", "loser", "earlier", "later", "winner_id", "why")}
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
        (made,) = lose_conflict(inputs.snapshot, of.mutation.table, [loss])
        then, now = _cells(of.mutation), _cells(made)
        if any(then[cell] != now[cell] for cell in then.keys() & now.keys()):
            raise Refused(_CHANGED)
        return made

    return evidence, proposed


def _cells(mutation: Mutation) -> dict[tuple[str, str], Value]:
    """Row and column → the value that a mutation saw, whether it rests on it or writes it."""
    seen = [*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)]
    return {(c.row, VERSION if c.column == TOLD else c.column): v for c, v in seen if c.table == mutation.table}


def other_name(stored: StoredItem) -> str:
    """Return the name that the survivor of a merge would not keep; empty if there is none."""
    item = stored.item
    row, names = _other_name(item), item.evidence.get("names")
    rows = [merged.id for merged in ((item.mutation.keep, *item.mutation.absorb) if item.mutation.keep else ())]
    return str(names[rows.index(row)]) if row and isinstance(names, Sequence) else ""


def _other_name(item: Item) -> str:
    """The row of a merge whose name the survivor would not keep; empty if all have one name."""
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
    """Word a proposed text anew: it waits as a new plan, and a draft of ``by`` says no to the item. Its evidence names the words that no
    source says.

    Only for an item that gives a memory a new version. Raises ``Refused`` for what screening finds, for a text that is empty, too long or
    the one that was proposed, and where the memory has changed since.
    """
    plan, stored = _waiting(store, namespace, plan_hash, item, by)
    of, said = stored.item, text.replace("\r\n", "\n").strip()
    version = next((i for i in of.mutation.inserts if i.table == "memory_versions"), None)
    if of.mutation.kind != "new_version" or version is None or len(of.mutation.rows) != 1:
        raise Refused("That item gives no memory a new text, so there is nothing to word anew. Nothing was changed.")
    _refuse_text(said, str(version.values.get("content")))
    memory = of.mutation.rows[0].id
    with store.connect("reader") as connection:
        sources = [str(t) for (t,) in connection.execute(_SAID, {"ids": [memory, *of.sources]})]
    unsaid = sorted(_words(said).difference(*map(_words, sources)))
    evidence: dict[str, object] = {
        **of.evidence,
        **{name: quote(said, _QUOTED) for name in ("after", "says") if name in of.evidence},
        **{"edited by": by, "edited from": f"item {of.id} of plan {plan.plan_hash[:12]}"},
        **({"words without a source": unsaid[:_NAMED]} if unsaid else {}),
    }
    change = _again(of.mutation, memory, said, str(version.values.get("reason") or ""))
    before = next((w.seen for w in of.mutation.writes if w.cell.column == "current_version_id"), None)

    def proposed(inputs: Inputs) -> Mutation:
        fits = inputs.embed if inputs.snapshot.vectors["memory_vectors"].model else None
        vectors = np.asarray(fits([said]), np.float32) if fits else None
        (made,) = new_versions(inputs.snapshot, [change], vectors)
        if before != next((w.seen for w in made.writes if w.cell.column == "current_version_id"), None):
            raise Refused(_CHANGED)
        return made

    amended = _Amendment(replace(of, decision="review"), evidence, proposed)
    return _sealed(store, plan, stored, amended, f"Superseded by the words of {by}.", by)


@dataclass(frozen=True, slots=True)
class _Amendment:
    """What becomes of an item: its new evidence, and how its mutation is made of a fresh snapshot."""

    of: Item
    evidence: dict[str, object]
    proposed: Callable[[Inputs], Mutation]

    def item(self, inputs: Inputs) -> Item:
        """The item, as of the snapshot."""
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
    """Seal the amended item, then draft a no to the one that it comes from; where that was decided meanwhile, the new plan goes."""
    namespace, of = plan.header.namespace, amendment.of

    problems: list[Refused] = []

    def propose(inputs: Inputs) -> Proposal:
        """A refusal makes an empty plan, not a run that failed."""
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
    """Return the merge of the rows that are left into the first of them; an entity gets ``name``, or the best of the names."""
    keep, *absorb = left
    if table == "entities":
        return merge_rows(snapshot, [Merge(keep, tuple(absorb), name=name)])[0]
    return (merge_facts if table == "memory_facts" else merge_memories)(snapshot, [Alike(keep, tuple(absorb))])[0]


def _differ(planned: Mutation, now: Mutation, rows: Sequence[str]) -> bool:
    """Whether a plan saw other values in the rows than there are now, of what both look at; edges are no part of what a row says."""

    def seen(merge: Mutation) -> dict[object, object]:
        own = (g for g in merge.guards if g.table == merge.table and g.row in rows)
        return {cell: value for g in own for cell, value in g.cells() if cell.column != RELATIONSHIPS}

    then, found = seen(planned), seen(now)
    return any(then[cell] != found[cell] for cell in then.keys() & found.keys())


def _pairs_left(of: Item, taken: Sequence[str]) -> list[dict[str, object]]:
    """The links of a cluster that speak of none of those that were taken out."""
    pairs = of.evidence.get("pairs")
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        return []
    named = [dict(p) for p in pairs if isinstance(p, dict)]
    return [p for p in named if isinstance(n := p.get("names"), list) and not {str(x) for x in n} & set(taken)]


def _again(mutation: Mutation, memory: str, text: str, reason: str) -> NewVersion:
    """The change that a mutation makes, with another text."""
    own = [g for g in mutation.guards if g.table == "memories"]
    rests = tuple(c for g in own if g.row == memory for c in g.columns if c not in (VERSION, TOLD))
    set_ = {w.cell.column: w.value for w in mutation.writes if (w.cell.table, w.action) == ("memories", "set")}
    attributes = json.loads(str(set_["attributes"])) if "attributes" in set_ else None
    stage, state = (str(set_[c]) if c in set_ else None for c in ("stage", "state"))
    because = tuple(g.row for g in own if g.row != memory)
    return NewVersion(memory, text, reason, stage, attributes, state, rests, because)


def _refuse_text(said: str, proposed: str) -> None:
    if not said or "\x00" in said:
        raise Refused("The text is empty, or holds a character that no text may hold. Nothing was changed.")
    if len(said) > MOST_CHARACTERS:
        raise Refused(f"A text has at most {MOST_CHARACTERS:,} characters. Nothing was changed.")
    if said == proposed.strip():
        raise Refused("That is the text that is proposed: say yes to it. Nothing was changed.")
    if found := sorted({d.kind for d in counting(screen(said))}):
        raise Refused(f"The text holds what screening refuses ({', '.join(found)}). Nothing was changed: take it out.")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
