"""Convergence: the planners, run again on the night's simulated outcome, plan nothing.

A planner that reads nothing of what the plan changes is not run again: it would propose what it has proposed. Matching is the dear part
of the others. It looks again at the rows that the plan touches and their candidates, with the weights that it
has learnt tonight; every other pair was weighed tonight on the same evidence.

What they plan all the same is reported by class: *deferred* is an item that lost a conflict tonight and comes back as agreed; a page that
*follows* tells what tonight's other items did; a *review* that already stood is a question to a person and not counted at all;
everything else is *new*, and the plan does not converge.
Rows are compared through merges: a pair with an absorbed row is the pair with its survivor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import pyarrow as pa

from slowwave.operations import Inputs, Operation, Proposal
from slowwave.plans.items import Item
from slowwave.probes.merges import chain, merged_into
from slowwave.snapshots.snapshot import Snapshot

_MATCHED: Final = frozenset(
    ("name", "entity_type", "attributes", "source", "source_document_ids", "invalidated_at", "valid_to")
)
"""Columns of an entity that matching reads."""


SHOWN: Final = 100
"""Remaining items that are stored with a plan."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """An item of the second planning, with why it is there."""

    operation: str
    decision: str
    rows: tuple[str, ...]
    why: Literal["deferred", "follows", "new"]


@dataclass(frozen=True, slots=True)
class ConvergenceProbe:
    """``items`` is how many of ``remaining`` are new; pending reviews are in neither."""

    items: int
    remaining: tuple[Remaining, ...]

    @property
    def passed(self) -> bool:
        """Whether a second night would plan nothing but what was deferred, and pages that tell of tonight."""
        return not self.items

    def to_json(self) -> dict[str, object]:
        """As plans store and show it: of what remains the first ``SHOWN``, new items before deferred ones."""
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
        """What an operator reads."""
        deferred, pages = self._count("deferred"), self._count("follows")
        later = f" {deferred:,} deferred item{'s come' if deferred > 1 else ' comes'} back." if deferred else ""
        later += (
            f" {pages:,} page{'s that tell of it follow' if pages > 1 else ' that tells of it follows'}."
            if pages
            else ""
        )
        if self.passed:
            return f"A second night after this plan plans nothing new.{later}"
        counts = Counter(r.operation for r in self.remaining if r.why == "new")
        operations = ", ".join(f"{n:,} of {operation}" for operation, n in sorted(counts.items()))
        return f"A second night after this plan would plan {self.items:,} new items: {operations}.{later}"


def convergence_probe(
    inputs: Inputs,
    after: Snapshot,
    replan: Callable[[Inputs], Sequence[Item]],
    run_models: Callable[[Snapshot], Mapping[str, pa.Table]],
    *,
    deferred: Sequence[Item] = (),
    reviews: Sequence[Item] = (),
) -> ConvergenceProbe:
    """Run the planners (``replan``) on ``after`` with its models, and tell what they still plan.

    ``deferred`` and ``reviews`` are the first plan's items that are not part of ``after``. An item counts as deferred when it
    is a deferred one or shares its operation and a row with it, and as a pending review when operation and all rows are those of one.
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
    """The tables, and the tables of vectors, that are not the same in ``after``; simulation leaves the others as they are."""
    tables = (name for name, table in before.tables.items() if after.tables[name] is not table)
    vectors = (name for name, vectors in before.vectors.items() if after.vectors[name] is not vectors)
    return frozenset((*tables, *vectors))


def sees(planner: Operation[Proposal], tables: Collection[str], models: Collection[str]) -> bool:
    """Whether a planner reads any of these tables and models: else it would propose again what it has proposed."""
    return not (frozenset(tables).isdisjoint(planner.reads) and frozenset(models).isdisjoint(planner.models))


def touched(decided: Iterable[Item], waiting: Iterable[Item]) -> frozenset[str]:
    """Ids of the entities whose pairs a matcher has to look at again once the ``decided`` items are done.

    Those are entities with rewritten cells, vectors or aliases, and the rows of ``waiting`` items, which have to come back. What
    items change about rows that they do not write is the planner's to say (``Proposal.nearer``).
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
    """The rows it is about and the members of what it inserts, each as the row that it was merged into."""
    members = (id_ for ids in item.mutation.members() for id_ in ids)
    return frozenset(chain(row, into)[-1] for row in (*item.mutation.row_ids(), *members))
