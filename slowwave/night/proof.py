"""Sealing, and the proof of what is sealed: the future that a plan makes is looked at before anyone sees it.

What each probe looks for belongs to ``slowwave.probes``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from slowwave.config.settings import Settings
from slowwave.mutations.simulate import simulate, simulate_anew
from slowwave.night.convergence import changed_tables, convergence_probe, sees, touched
from slowwave.night.outcome import Probes
from slowwave.operations import PLANNERS, Inputs, Proposal, run_planner
from slowwave.operations.planners.rejections import find_settled_pairs
from slowwave.plans.items import Item
from slowwave.plans.questions import questions
from slowwave.plans.scope import DreamScope, within
from slowwave.plans.seal import ArrangedItems, Header, Plan, arrange, arranged_again, leaving, sealed, without
from slowwave.probes.isolation import isolation_probe
from slowwave.probes.specifics import specifics_probe, with_reviews
from slowwave.probes.statements import statements_probe
from slowwave.probes.subset import LIMITS, harm
from slowwave.probes.waiting import HeldOver, harmful, lone, waiting
from slowwave.snapshots.memory_release import release
from slowwave.snapshots.models import load_models, run_models, stale_models
from slowwave.snapshots.snapshot import Snapshot


def prove(
    header: Header,
    items: Sequence[Item],
    inputs: Inputs,
    proposals: Mapping[str, Proposal],
    *,
    scope: DreamScope | None = None,
    ops: Collection[str] | None = None,
) -> tuple[Plan, Probes]:
    """Seal items and check the future that they make. Merges that would lose a specific go to review and are sealed as that.

    Where no planner ran, as in a night of audits alone, there is no future to look at: the plan is empty and nothing is proven.
    """
    snapshot, settings = inputs.snapshot, inputs.settings
    order = list(PLANNERS)
    if not items and all(p.report.skipped for p in proposals.values()):
        return sealed(header, arrange((), order)), Probes({}, (), ())
    arranged, waits = _within_caps(arrange(items, order), order, snapshot, settings)
    decided = _decided(arranged)
    after = simulate(snapshot, decided)
    release()
    specifics = specifics_probe(snapshot, after, decided)
    losing = specifics.items_losing()
    asked = {i.id: replace(i, decision="review", risk="high") for i in decided if i.id in losing}
    if asked:
        arranged = arranged_again(arranged, asked, order)
        done, decided = decided, _decided(arranged)
        after = simulate_anew(snapshot, decided, after, done)
    reviews = [i for i in arranged.items if i.decision == "review"]
    specifics = with_reviews(specifics, snapshot, after, reviews, {old: item.id for old, item in asked.items()})
    asks = questions(reviews, specifics.by_item(), only=specifics.items_losing())
    release()
    harmed = harm(snapshot, after, decided, settings, inputs.embed)
    spared = harmful(decided, harmed.leave_out)
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
        harmed = harm(snapshot, after, decided, settings, inputs.embed)
    pages = lone(decided) if ops is None else HeldOver()
    if pages.ids:
        arranged, decided, after = leaving(arranged, pages.ids), [], snapshot
    recall, radius = harmed.recall, harmed.radius
    release()
    told = statements_probe(snapshot, after, decided)
    isolation = isolation_probe(snapshot, arranged.items)
    release()
    models = load_models()
    changed = changed_tables(snapshot, after)
    stale = stale_models(models, changed)
    asked_models = bool(
        inputs.judges or inputs.writer or inputs.consolidator
    )  # whose answers the second look does without
    learnt = {name: p.learnt for name, p in proposals.items() if p.learnt is not None}
    focus = touched(decided, [*reviews, *arranged.deferred_items]).union(*(p.nearer for p in proposals.values()))

    def planned_again(name: str, again: Inputs) -> Sequence[Item]:
        if ops is not None and name not in ops:
            return ()
        if name in proposals and not asked_models and not sees(PLANNERS[name], changed, stale):
            return proposals[name].items
        release()
        return run_planner(PLANNERS[name], again, ops).items

    convergence = convergence_probe(
        # what judges left open stays a question to a person, and what a model wrote is not written twice
        replace(inputs, judges=(), writer=None, consolidator=None, focus=focus, learnt=learnt),
        after,
        lambda again: within(
            scope or DreamScope(),
            again.snapshot,
            not_rejected(again.snapshot, [item for name in PLANNERS for item in planned_again(name, again)]),
        ),
        lambda future: run_models(
            models, future, settings, known={n: t for n, t in inputs.models.items() if n not in stale}
        ),
        deferred=arranged.deferred_items,
        reviews=reviews,
    )
    release()
    left = tuple(sentence for held in (waits, spared, pages) for sentence in held.sentences())
    probes = (convergence, recall, specifics, told, radius, isolation)
    return replace(sealed(header, arranged), questions=asks), Probes(
        results={
            "convergence": convergence.to_json(),
            "recall": recall.to_json(),
            "specifics": specifics.to_json(),
            "statements": told.to_json(),
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
    arranged: ArrangedItems, order: Sequence[str], snapshot: Snapshot, settings: Settings
) -> tuple[ArrangedItems, HeldOver]:
    """The arranged items without the housekeeping that has to wait; what stood against it may stand then, and is counted in turn."""
    waits = HeldOver()
    while (late := waiting(snapshot, _decided(arranged), settings)).ids:
        arranged, waits = without(arranged, late.ids, order), waits.and_(late)
    return arranged, waits


def not_rejected(snapshot: Snapshot, items: Sequence[Item]) -> list[Item]:
    """The items that nobody has rejected or undone about these very rows; a change of what an item rests on makes it a new one."""
    table = snapshot.table("rejections")
    rejected = set(zip(table["operation"].to_pylist(), table["subject"].to_pylist(), strict=True))
    left = [i for i in items if not rejected or (i.operation, i.subject()) not in rejected]
    settled = find_settled_pairs(snapshot, left) if rejected else frozenset[str]()
    return [i for i in left if i.id not in settled]


def _decided(arranged: ArrangedItems) -> list[Item]:
    """What an approval covers when it names nothing: all but review items."""
    return [i for i in arranged.items if i.decision != "review"]
