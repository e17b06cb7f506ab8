"""What a set of items does to recall, to how much changes and to what is said: of a whole plan, or of the part that is approved.

Items of a plan commute, so any part of it makes a future of its own, and it is that future which is judged. Items that fail are named:
those whose rows recall no longer finds, and the operations behind most of what is retired.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.language import Embed
from slowwave.mutations.cells import inserted_id
from slowwave.mutations.simulate import simulate, simulate_anew
from slowwave.plans.items import Item
from slowwave.probes.blast_radius import TYPES, BlastRadius, blast_radius
from slowwave.probes.recall import Baseline, RecallProbe, recall_probe
from slowwave.probes.specifics import LostTerm, SpecificsProbe, specifics_probe
from slowwave.snapshots.memory_release import release
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.counted import counted

LIMITS: Final = (
    *("blast_radius_share", "blast_radius_rows", "blast_radius_small_share", "blast_radius_housekeeping_share"),
    *("recall_floor", "recall_probe_queries", "embedding_model"),
)
"""Settings by which items are judged: stored with a plan, so that its parts are judged by those of its night."""

_NAMED: Final = 20
_SHORT: Final = 8


@dataclass(frozen=True, slots=True)
class Harm:
    """What items do to recall and how much they retire; ``leave_out`` are ids of items without which the rest passes both.

    It is empty when both passed, and when nothing that can be named would do.
    """

    recall: RecallProbe
    radius: BlastRadius
    leave_out: tuple[str, ...] = ()
    advice: str = ""

    def needs_force(self) -> tuple[str, ...]:
        """A sentence for each probe that failed, and what to do about it."""
        failed = [probe.sentence() for probe in (self.recall, self.radius) if not probe.passed]
        return (*failed[:-1], f"{failed[-1]} {self.advice}".strip()) if failed else ()


@dataclass(frozen=True, slots=True)
class Proof:
    """Items judged by themselves: their ``harm``, and what they lose that the plan did not show (``undisclosed``)."""

    harm: Harm
    specifics: SpecificsProbe
    undisclosed: tuple[LostTerm, ...]

    def needs_force(self) -> tuple[str, ...]:
        """A sentence for each reason not to approve; empty when all is well. No value that is lost is repeated."""
        if not self.undisclosed:
            return self.harm.needs_force()
        items = sorted({loss.item for loss in self.undisclosed})
        named = ", ".join(item[:_SHORT] for item in items[:_NAMED])
        return (
            *self.harm.needs_force(),
            f"{len(items):,} items would lose {len(self.undisclosed):,} values of which the plan does not tell, as items that keep "
            f"them are left out: {named}. Leave these out as well, or approve what keeps them.",
        )

    def to_json(self) -> dict[str, object]:
        """As an approval keeps it: figures alone, for what is lost quotes memory and approvals stay for ever."""
        shown = {"items": self.specifics.items, "terms": self.specifics.terms, "lost": len(self.specifics.lost)}
        return {
            "recall": self.harm.recall.to_json(),
            "blast_radius": self.harm.radius.to_json(),
            "specifics": {**shown, "undisclosed": len(self.undisclosed), "passed": not self.undisclosed},
        }


def prove_subset(
    before: Snapshot,
    items: Sequence[Item],
    settings: Settings,
    embed: Embed | None,
    *,
    disclosed: frozenset[tuple[str, str]] = frozenset(),
) -> Proof:
    """Judge ``items`` as if nothing else of their plan were done. ``disclosed`` are (row, term) of losses that the plan shows.

    Cost: a simulation, the probes of specifics and blast radius, and the recall probe, which reads every searched text once; all of it
    again for what is left when something fails and can be named. Some seconds for 100,000 rows.
    """
    after = simulate(before, items)
    specifics = specifics_probe(before, after, items)
    undisclosed = tuple(loss for loss in specifics.lost if (loss.row, loss.term) not in disclosed)
    return Proof(harm(before, after, items, settings, embed), specifics, undisclosed)


def harm(before: Snapshot, after: Snapshot, items: Sequence[Item], settings: Settings, embed: Embed | None) -> Harm:
    """Recall and blast radius of ``items``, which make ``after``; where one fails, once more without the items at fault."""
    baseline = Baseline(before, embed)
    recall = recall_probe(before, after, settings, embed, items, baseline)
    release()
    radius = blast_radius(before, items, settings, after=after)
    release()
    if recall.passed and radius.passed:
        return Harm(recall, radius)
    out = _nameable(items, at_fault(before, items, recall, radius))
    rest = [item for item in items if item.id not in out]
    if not out or not rest:
        return Harm(recall, radius)
    changed = simulate_anew(before, rest, after, items)
    release()
    if not (
        blast_radius(before, rest, settings, after=changed).passed
        and recall_probe(before, changed, settings, embed, rest, baseline).passed
    ):
        return Harm(recall, radius)
    return Harm(recall, radius, tuple(sorted(out)), _advice(items, out))


def at_fault(before: Snapshot, items: Sequence[Item], recall: RecallProbe, radius: BlastRadius) -> frozenset[str]:
    """Ids of the items that have to go for both probes to pass, as far as their figures tell.

    Of recall, all that touch a lost row. Of a table or type beyond its cap, whole operations, those that touch most of its rows first,
    until what is left is within: half an operation would only slip under the cap.
    """
    beyond = radius.beyond()
    rows = _rows(items, {*recall.lost, *(row for table, _, _ in beyond for row in radius.rows[table])})
    found: set[str] = set()
    if not recall.passed:
        found |= {item for row in recall.lost for item in rows.get(row, ())}
    operations = {item.id: item.operation for item in items}
    for table, name, group in beyond:
        touched = radius.rows[table]
        if name:
            same = _of_type(before, table, name, touched)
            touched = {row: n for row, n in touched.items() if row in same and row not in radius.merged}
        by_operation: dict[str, set[str]] = defaultdict(set)
        for row in touched:
            for item in rows.get(row, ()):
                by_operation[operations[item]].add(row)
        left = {row: tokens for row, tokens in touched.items() if found.isdisjoint(rows.get(row, ()))}
        own = {row: tokens for row, tokens in left.items() if row not in radius.tidied}
        if len(own) > group.allowed or sum(own.values()) > group.allowed_tokens:  # housekeeping is not at fault
            left = own
            by_operation = defaultdict(
                set, {o: kept for o, all_ in by_operation.items() if (kept := all_ - radius.tidied)}
            )
            most, most_tokens = group.allowed, group.allowed_tokens
        else:
            most, most_tokens = group.allowed_in_all, group.allowed_tokens_in_all
        for operation in sorted(by_operation, key=lambda o: (-len(by_operation[o]), o)):
            if len(left) <= most and sum(left.values()) <= most_tokens:
                break
            left = {row: tokens for row, tokens in left.items() if row not in by_operation[operation]}
            found |= {i for row in by_operation[operation] for i in rows[row] if operations[i] == operation}
    return frozenset(found)


def _rows(items: Sequence[Item], wanted: Collection[str]) -> Mapping[str, list[str]]:
    """Each of some rows → the items that write, delete or insert it."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        mutation = item.mutation
        touched = {write.cell.row for write in mutation.writes}
        touched.update(delete.row for delete in mutation.deletes)
        touched.update(insert.row or inserted_id(item.id, n) for n, insert in enumerate(mutation.inserts))
        for row in touched:
            if row in wanted:
                found[row].append(item.id)
    return found


def _of_type(snapshot: Snapshot, table: str, name: str, ids: Iterable[str]) -> frozenset[str]:
    rows = snapshot.table(table)
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
    return frozenset(rows["id"].filter(pc.equal(pc.fill_null(rows[TYPES[table]], ""), name)).to_pylist())


def _nameable(items: Sequence[Item], out: frozenset[str]) -> frozenset[str]:
    """The items ``out``, with all others of their operations where they are too many to be named one by one."""
    if len(_singly(items, out)) <= _NAMED:
        return out
    operations = {i.operation for i in items if i.id in out}
    return frozenset(i.id for i in items if i.operation in operations)


def _singly(items: Sequence[Item], out: frozenset[str]) -> list[str]:
    """Those of ``out`` whose operation stays in part, or has no other item."""
    every, gone = (Counter(i.operation for i in some) for some in (items, [i for i in items if i.id in out]))
    return [i.id for i in items if i.id in out and (gone[i.operation] < every[i.operation] or every[i.operation] == 1)]


def _advice(items: Sequence[Item], out: frozenset[str]) -> str:
    """What to leave out, as the command takes it: ids, or the names of operations all of whose items go."""
    singly = _singly(items, out)
    operations = sorted({i.operation for i in items if i.id in out and i.id not in {*singly}})
    those = counted(len(out), "item")
    return f"Without {those} the rest passes: add --without {','.join([*operations, *(i[:_SHORT] for i in singly)])}."
