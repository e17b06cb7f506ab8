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
from typing import Final

import numpy as np

from slowwave.errors import Refused
from slowwave.mutations.cells import RELATIONSHIPS, TOLD, VERSION
from slowwave.mutations.merge_alike import Alike
from slowwave.mutations.merge_facts import merge_facts
from slowwave.mutations.merge_memories import merge_memories
from slowwave.mutations.merge_rows import Merge, merge_rows
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.new_version import NewVersion, new_versions
from slowwave.night.proposal import seal_proposal
from slowwave.operations import Inputs, Proposal
from slowwave.plans.gate import POLICY, check_name, refuse_state
from slowwave.plans.items import Item
from slowwave.plans.latest import find_plan
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan
from slowwave.reports.model import Report
from slowwave.review.drafts import NewDraft, save_drafts
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

    night = seal_proposal(store, namespace, of.operation, propose, of=stored.id, trigger=TRIGGER, by=by)
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


def _merged(snapshot: Snapshot, table: str, left: Sequence[str]) -> Mutation:
    """The merge of those that are left, into the first of them."""
    keep, *absorb = left
    if table == "entities":
        return merge_rows(snapshot, [Merge(keep, tuple(absorb))])[0]
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
