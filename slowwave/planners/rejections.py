"""What people have refused, as a planner sees it: subjects that must not come back, and pairs that must not merge.

Writing rejections belongs to the gate and to undo.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.mutations.merge_rows import Merge, merge_rows
from slowwave.plans.items import Item
from slowwave.snapshot import Snapshot

_READ = ("entities", "relationships", "entity_aliases", "chunks", "documents")


def rejected_subjects(snapshot: Snapshot, operation: str) -> frozenset[str]:
    """Subjects of the operation's items that were rejected or undone."""
    table = snapshot.table("rejections")
    return frozenset(table["subject"].filter(pc.equal(table["operation"], operation)).to_pylist())


def rejected_pairs(snapshot: Snapshot, operation: str) -> frozenset[tuple[str, str]]:
    """Pairs of ids out of rejected merges whose rows are as they were: they must not come back inside a larger cluster.

    A rejection remembers a hash of what was seen. It still holds when merging the same rows today, into whichever of them, gives
    that hash. Of a rejected cluster every pair counts: nobody said which member was the wrong one.
    """
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], operation)).select(["subject", "row_ids"]).to_pylist()
    live = set(snapshot.live("entities")["id"].to_pylist())
    rejected = {(r["subject"], tuple(sorted(r["row_ids"]))) for r in mine if len(r["row_ids"]) > 1}
    rejected = sorted((s, rows) for s, rows in rejected if live.issuperset(rows))
    small = _only(snapshot, {id_ for _, rows in rejected for id_ in rows})
    waiting = [(subject, rows, keep) for subject, rows in rejected for keep in rows]
    pairs: set[tuple[str, str]] = set()
    while waiting:
        now, waiting = _disjoint(waiting)
        merges = [Merge(keep, tuple(r for r in rows if r != keep)) for _, rows, keep in now]
        for (subject, rows, _), mutation in zip(now, merge_rows(small, merges), strict=True):
            if Item(operation, "merge", mutation).subject() == subject:
                pairs.update(combinations(rows, 2))
    return frozenset(pairs)


_Trial = tuple[str, tuple[str, ...], str]


def _disjoint(trials: Iterable[_Trial]) -> tuple[list[_Trial], list[_Trial]]:
    """Trials that share no row, and the rest: one call of ``merge_rows`` takes disjoint merges."""
    now: list[_Trial] = []
    later: list[_Trial] = []
    taken: set[str] = set()
    for trial in trials:
        if taken.isdisjoint(trial[1]):
            taken.update(trial[1])
            now.append(trial)
        else:
            later.append(trial)
    return now, later


def _only(snapshot: Snapshot, ids: set[str]) -> Snapshot:
    """The named entities alone; a subject rests on nothing else."""
    tables = {name: snapshot.table(name).slice(0, 0) for name in _READ}
    entities = snapshot.table("entities")
    tables["entities"] = entities.filter(pc.is_in(entities["id"], value_set=pa.array(sorted(ids), pa.string())))
    return replace(snapshot, tables={**snapshot.tables, **tables})
