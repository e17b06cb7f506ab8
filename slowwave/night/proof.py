"""Seal the planners' items and prove the plan: the simulated outcome passes the probes and needs no further changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import pyarrow as pa

from slowwave.changes.simulate import simulate, simulate_anew
from slowwave.night.runs import Probes
from slowwave.operations import PLANNERS, Inputs, Operation, Proposal, permits, run_planner, skip_reason
from slowwave.operations.rejections import find_settled_pairs
from slowwave.plans.items import Decision, Item
from slowwave.plans.permitted import Permits
from slowwave.plans.probes.isolation import chain, isolation_probe, merged_into
from slowwave.plans.probes.radius import LIMITS, HeldOver, harm, harmful, lone, unlisted, waiting
from slowwave.plans.probes.texts import specifics_probe, statements_probe, with_reviews
from slowwave.plans.questions import questions
from slowwave.plans.seal import (
    ArrangedItems,
    DreamScope,
    Header,
    Plan,
    arrange,
    arranged_again,
    leaving,
    sealed,
    within,
    without,
)
from slowwave.snapshots.export import release
from slowwave.snapshots.models import ModelDatabase, load_models, run_models, stale_models, with_parents
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.tokens import counted

# Convergence: the planners, run again on the simulated outcome of the night, plan nothing.
#
# A planner that reads nothing of what the plan changes is not run again, because it would propose the same items. Matching is the most
# expensive of the others. It compares again only the rows that the plan touches and their candidates, with the weights that it has learnt
# tonight; every other pair was compared tonight on the same evidence.
#
# What the planners still plan is reported by class. A *deferred* item lost a conflict tonight and comes back as intended. A page that
# *follows* reports what tonight's other items did. A *review* that existed before is a question to a person and is not counted at all.
# Everything else is *new*, and the plan does not converge. Rows are compared through merges: a pair with an absorbed row is the pair with
# its survivor.

_MATCHED: Final = frozenset(
    ("name", "entity_type", "attributes", "source", "source_document_ids", "invalidated_at", "valid_to")
)
"""The columns of an entity that matching uses."""


SHOWN: Final = 100
"""The number of remaining items that are stored with a plan."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """An item of the second planning, and why it is there."""

    operation: str
    decision: str
    rows: tuple[str, ...]
    why: Literal["deferred", "follows", "new"]


@dataclass(frozen=True, slots=True)
class ConvergenceProbe:
    """The result of a second planning on the simulated outcome.

    ``items`` counts how many of ``remaining`` are new; pending reviews are in neither.
    """

    items: int
    remaining: tuple[Remaining, ...]

    @property
    def passed(self) -> bool:
        """Return whether a second night would plan only deferred items and pages that report tonight's changes."""
        return not self.items

    def to_json(self) -> dict[str, object]:
        """Return the probe as plans store and show it, with the first ``SHOWN`` remaining items, new ones before deferred ones."""
        shown = sorted(self.remaining, key=lambda r: r.why != "new")[:SHOWN]
        return {
            "items": self.items,
            "deferred": self._count("deferred"),
            "follows": self._count("follows"),
            "remaining": [asdict(r) for r in shown],
            "passed": self.passed,
        }

    def _count(self, why: str) -> int:
        return sum(r.why == why for r in self.remaining)

    def sentence(self) -> str:
        """Describe the result for an operator."""
        deferred, pages = self._count("deferred"), self._count("follows")
        later = f" It plans {deferred:,} of the items that this plan leaves for a later night." if deferred else ""
        later += (
            f" It also writes {counted(pages, 'page')} that {'lists' if pages == 1 else 'list'} the changes."
            if pages
            else ""
        )
        if self.passed:
            return f"A second night after this plan plans nothing new.{later}"
        new = Counter(r.operation for r in self.remaining if r.why == "new")
        operations = ", ".join(f"{n:,} of {operation}" for operation, n in sorted(new.items()))
        return f"A second night after this plan would plan {counted(self.items, 'new item')}: {operations}.{later}"


def convergence_probe(
    inputs: Inputs,
    after: Snapshot,
    replan: Callable[[Inputs], Sequence[Item]],
    run_models: Callable[[Snapshot], Mapping[str, pa.Table]],
    *,
    deferred: Sequence[Item] = (),
    reviews: Sequence[Item] = (),
) -> ConvergenceProbe:
    """Run the planners (``replan``) on ``after`` with its models, and return what they still plan.

    ``deferred`` and ``reviews`` are the first plan's items that are not part of ``after``. An item counts as deferred if it is a deferred
    one or shares its operation and a row with one. It counts as a pending review if its operation and all its rows are those of one.
    """
    items = replan(replace(inputs, snapshot=after, models=run_models(after)))
    into = merged_into(after)
    asked = {(item.operation, _survivors(item, into)) for item in reviews}
    late = {item.id for item in deferred}
    held: dict[str, set[str]] = defaultdict(set)
    for item in deferred:
        held[item.operation] |= _survivors(item, into)
    changed = any(after.tables[name] is not table for name, table in inputs.snapshot.tables.items() if name != "pages")
    remaining: list[Remaining] = []
    for item in items:
        rows = _survivors(item, into)
        if (item.operation, rows) not in asked:
            why = "new" if item.id not in late and held[item.operation].isdisjoint(rows) else "deferred"
            if item.mutation.kind == "render_page" and changed:
                why = "follows"
            remaining.append(Remaining(item.operation, item.decision, tuple(sorted(rows)), why))
    return ConvergenceProbe(sum(r.why == "new" for r in remaining), tuple(remaining))


def changed_tables(before: Snapshot, after: Snapshot) -> frozenset[str]:
    """Return the tables and vector tables that differ in ``after``; simulation leaves the others as they are."""
    tables = (name for name, table in before.tables.items() if after.tables[name] is not table)
    vectors = (name for name, vectors in before.vectors.items() if after.vectors[name] is not vectors)
    return frozenset((*tables, *vectors))


def sees(planner: Operation[Proposal], tables: Collection[str], models: Collection[str]) -> bool:
    """Return whether a planner reads any of these tables or models; if not, it would only repeat its proposals."""
    return not (frozenset(tables).isdisjoint(planner.reads) and frozenset(models).isdisjoint(planner.models))


def touched(decided: Iterable[Item], waiting: Iterable[Item]) -> frozenset[str]:
    """Return the ids of the entities whose pairs a matcher must compare again once the ``decided`` items are done.

    These are entities with rewritten cells, vectors or aliases, and the rows of ``waiting`` items, which must be proposed again. What
    items change about rows that they do not write is up to the planner (``Proposal.nearer``).
    """
    found = {row for item in waiting for row in item.mutation.row_ids()}
    for item in decided:
        for cell in (write.cell for write in item.mutation.writes):
            if cell.table == "entity_vectors" or (cell.table == "entities" and cell.column in _MATCHED):
                found.add(cell.row)
        named = (insert.row or insert.values.get("entity_id") for insert in item.mutation.inserts)
        found.update(str(row) for row in named if row)
    return frozenset(found)


def _survivors(item: Item, into: Mapping[str, str]) -> frozenset[str]:
    """Return the rows that the item concerns and the members of its inserts, each as the row that it was merged into."""
    members = (id_ for ids in item.mutation.members() for id_ in ids)
    return frozenset(chain(row, into)[-1] for row in (*item.mutation.row_ids(), *members))


# Sealing, and the proof of what is sealed: the outcome of a plan is checked before anyone sees the plan.
#
# What each probe checks belongs to ``slowwave.plans.probes``.


def prove(
    header: Header,
    items: Sequence[Item],
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    *,
    scope: DreamScope | None = None,
    ops: Collection[str] | None = None,
    kept: list[ModelDatabase] | None = None,
) -> tuple[Plan, Probes]:
    """Seal items and check the outcome that they lead to; ``kept`` is that of ``run_models``.

    Merges that would lose a specific go to review and are sealed as that. If no planner ran, as in a night of audits alone, there is no
    outcome to check: the plan is empty and nothing is proven.
    """
    snapshot, settings = inputs.snapshot, inputs.settings
    allowed = permits()
    if not items and all(p.report.skipped for p in proposals.values()):
        return sealed(header, arrange((), allowed)), Probes({}, (), ())
    arranged, waits = _within_caps(arrange(items, allowed), allowed, snapshot, settings)
    decided = _decided(arranged)
    after = simulate(snapshot, decided)
    release()
    specifics = specifics_probe(snapshot, after, decided)
    losing = specifics.items_losing()
    asked = {i.id: replace(i, decision=Decision.REVIEW, risk="high") for i in decided if i.id in losing}
    if asked:
        arranged = arranged_again(arranged, asked, allowed)
        done, decided = decided, _decided(arranged)
        after = simulate_anew(snapshot, decided, after, done)
    reviews = [i for i in arranged.items if i.is_question]
    specifics = with_reviews(specifics, snapshot, after, reviews, {old: item.id for old, item in asked.items()})
    asks = questions(reviews, specifics.by_item(), only=specifics.items_losing())
    release()
    harmed = harm(snapshot, after, decided, settings, inputs.embed, allowed)
    spared = harmful(decided, harmed.leave_out, allowed)
    if spared.ids:
        arranged, done = leaving(arranged, spared.ids), decided
        decided = _decided(arranged)
        after = simulate_anew(snapshot, decided, after, done)
        specifics = with_reviews(
            specifics_probe(snapshot, after, decided),
            snapshot,
            after,
            reviews,
            {old: item.id for old, item in asked.items()},
        )
        harmed = harm(snapshot, after, decided, settings, inputs.embed, allowed)
    early = unlisted(arranged.items)
    if early.ids:
        arranged, done = leaving(arranged, early.ids), decided
        decided = _decided(arranged)
        after = simulate_anew(snapshot, decided, after, done)
    pages = lone(decided) if ops is None else HeldOver()
    if pages.ids:
        arranged, decided, after = leaving(arranged, pages.ids), [], snapshot
    recall, radius = harmed.recall, harmed.radius
    release()
    statements = statements_probe(snapshot, after, decided)
    isolation = isolation_probe(snapshot, arranged.items)
    release()
    models = load_models()
    changed = changed_tables(snapshot, after)
    stale = stale_models(models, changed)
    asked_models = bool(
        inputs.judges or inputs.writer or inputs.consolidator or inputs.nli
    )  # the second check does not need these answers
    learnt = {name: p.learnt for name, p in proposals.items() if p.learnt is not None}
    focus = touched(decided, [*reviews, *arranged.deferred_items]).union(*(p.nearer for p in proposals.values()))

    planners = {name: planner for name, planner in PLANNERS.items() if not skip_reason(planner, settings, ops)}
    again = {n for n, p in planners.items() if n not in proposals or asked_models or sees(p, changed, stale)}
    needed = with_parents(models, {model for name in again for model in planners[name].models})

    def planned_again(name: str, inputs: Inputs) -> Sequence[Item]:
        if name not in again:
            return proposals[name].items
        release()
        return run_planner(planners[name], inputs, ops, items_alone=True).items

    convergence = convergence_probe(
        # Questions that judges left open stay questions to a person, and text that a model wrote is not written twice.
        replace(inputs, judges=(), writer=None, consolidator=None, nli=None, focus=focus, learnt=learnt, planned=()),
        after,
        lambda outcome: within(
            scope or DreamScope(),
            outcome.snapshot,
            not_rejected(outcome.snapshot, [item for name in planners for item in planned_again(name, outcome)]),
        ),
        lambda future: run_models(
            needed, future, settings, known={n: t for n, t in inputs.models.items() if n not in stale}, kept=kept
        ),
        deferred=arranged.deferred_items,
        reviews=reviews,
    )
    release()
    left = tuple(sentence for held in (waits, spared, early, pages) for sentence in held.sentences())
    probes = (convergence, recall, specifics, statements, radius, isolation)
    return replace(sealed(header, arranged), questions=asks), Probes(
        results={
            "convergence": convergence.to_json(),
            "recall": recall.to_json(),
            "specifics": specifics.to_json(),
            "statements": statements.to_json(),
            "blast_radius": radius.to_json(),
            "isolation": isolation.to_json(),
            "limits": {name: getattr(settings, name) for name in LIMITS},
        },
        sentences=(
            *left,
            *(p.sentence() for p in probes),
            *((harmed.advice,) if harmed.advice else ()),
        ),
        needs_force=harmed.needs_force(),
        waits=left,
    )


def _within_caps(
    arranged: ArrangedItems, allowed: Permits, snapshot: Snapshot, settings: Settings
) -> tuple[ArrangedItems, HeldOver]:
    """Return the arranged items without the housekeeping that must be held over, and the items held over.

    Items that conflicted with the removed ones may then enter the plan, and are counted in turn.
    """
    waits = HeldOver()
    while (late := waiting(snapshot, _decided(arranged), settings, allowed)).ids:
        arranged, waits = without(arranged, late.ids, allowed), waits.and_(late)
    return arranged, waits


def not_rejected(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """Return the items that no user has rejected or undone for the same rows.

    If the data that an item depends on has changed, it counts as a new item.
    """
    table = snapshot.table("rejections")
    rejected = set(zip(table["operation"].to_pylist(), table["subject"].to_pylist(), strict=True))
    left = [i for i in items if not rejected or (i.operation, i.subject()) not in rejected]
    settled = find_settled_pairs(snapshot, left) if rejected else frozenset[str]()
    return [i for i in left if i.id not in settled]


def _decided(arranged: ArrangedItems) -> list[Item]:
    """Return the items that an approval covers if it names none: all but review items."""
    return [i for i in arranged.items if not i.is_question]
