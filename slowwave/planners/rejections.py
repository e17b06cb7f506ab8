"""What people have refused, as a planner sees it: subjects that must not come back, and pairs that must not merge.

Writing rejections belongs to the gate and to undo; what decisions teach the weights belongs to ``slowwave.planners.labels``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import pyarrow.compute as pc

from slowwave.mutations.cells import Cell, Guard
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, rows_where
from slowwave.plans.items import Item
from slowwave.probes.merges import chain, merged_into
from slowwave.snapshot import Snapshot

_REMEMBERED: Final = ("name", "entity_type", "attributes")
"""Columns of a merged row that a subject covers, see ``Item.subject``."""


def rejected_subjects(snapshot: Snapshot, operation: str) -> frozenset[str]:
    """Subjects of the operation's items that were rejected or undone."""
    table = snapshot.table("rejections")
    return frozenset(table["subject"].filter(pc.equal(table["operation"], operation)).to_pylist())


def rejected_pairs(snapshot: Snapshot, operation: str) -> frozenset[tuple[str, str]]:
    """Pairs of ids out of rejected merges whose rows are as they were: they must not come back inside a larger cluster.

    A rejection remembers a hash of what was seen. It holds while the same rows hash to it, whichever of them would survive. A
    row that was merged since stands for its survivor: what was refused of the part is refused of the whole. Of a rejected cluster
    every pair counts: nobody said which member was the wrong one. Cost: linear in the rows of the rejections.
    """
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], operation)).select(["subject", "row_ids"]).to_pylist()
    rejected = sorted({(str(r["subject"]), tuple(sorted(r["row_ids"]))) for r in mine if len(r["row_ids"]) > 1})
    if not rejected:
        return frozenset()
    named = {id_ for _, rows in rejected for id_ in rows}
    seen = {str(row["id"]): row for row in rows_where(snapshot, "entities", "id", named, _REMEMBERED)}
    into = merged_into(snapshot)
    pairs: set[tuple[str, str]] = set()
    for subject, rows in rejected:
        if seen.keys() >= set(rows) and subject in _subjects(operation, rows, seen):
            pairs.update(combinations(sorted({chain(row, into)[-1] for row in rows}), 2))
    return frozenset(pairs)


def _subjects(operation: str, rows: Sequence[str], seen: Mapping[str, Fields]) -> Iterator[str]:
    """The subjects that a merge of the rows may have: the survivor's attributes are not covered when the merge adds to them."""
    for completed in ("", *rows):
        guards = [
            Guard(Cell("entities", row, column), seen[row][column])
            for row in rows
            for column in _REMEMBERED
            if (row, column) != (completed, "attributes")
        ]
        merge = Mutation("merge_rows", "entities", guards=tuple(guards), rows=tuple(Row(row) for row in rows))
        yield Item(operation, "merge", merge).subject()
