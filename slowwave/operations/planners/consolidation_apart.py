"""Pairs of memories that may not stand in one summary, and those of which one takes the place of the other.

What contradicts what is found by ``slowwave.conflicts``; which memories lie close belongs to the searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import Tally
from slowwave.conflicts.find import conflicts_of_memories
from slowwave.mutations.cells import Guard
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import rows_where
from slowwave.operations.planners.rejections import conflicting_pairs
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot

Pairs = frozenset[tuple[str, str]]
"""Ids of two memories, the smaller first."""

_SAYS: Final = ("current_version_id",)
_LEFT: Final = ("kept", "deferred")
"""What became of a conflict whose rows both stand, whoever said so."""


@dataclass(frozen=True, slots=True)
class Contradicting:
    """Pairs in a conflict: those of which the audit says that the later ``replaces`` the earlier, and all ``others``."""

    replaces: Pairs
    others: Pairs

    def every(self) -> Pairs:
        """Both."""
        return self.replaces | self.others


def contradicting(snapshot: Snapshot, settings: Settings) -> Contradicting:
    """What the audit of contradictions finds tonight, the copies behind each side, and the conflicts on record.

    A pair counts as replaced where the surest rule that finds it says so, and nobody decided that both stand.
    """
    replaces: set[tuple[str, str]] = set()
    others: set[tuple[str, str]] = set()
    for c in conflicts_of_memories(snapshot, settings, Tally()):
        pairs = {(min(p), max(p)) for p in product((c.a, *c.also_a), (c.b, *c.also_b))}
        if c.evidence.get("replaces") and not c.doubtful:
            replaces |= pairs - others
        else:
            others |= pairs - replaces
    replaces -= _pairs_to_keep(snapshot)
    on_record = conflicting_pairs(snapshot, "memories")
    return Contradicting(frozenset(replaces), frozenset(others | on_record) - replaces)


def rejected(snapshot: Snapshot, operation: str) -> Pairs:
    """Pairs of memories out of rejected summaries of the operation that say what they said then: they must not meet in another one."""
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], operation)).select(["subject", "row_ids"]).to_pylist()
    named = {id_ for r in mine for id_ in r["row_ids"]}
    seen = {str(r["id"]): r["current_version_id"] for r in rows_where(snapshot, "memories", "id", named, _SAYS)}
    pairs: set[tuple[str, str]] = set()
    for r in mine:
        ids = sorted(r["row_ids"])
        if seen.keys() >= set(ids):
            guards = tuple(Guard("memories", id_, _SAYS, (seen[id_],)) for id_ in ids)
            rows = tuple(Row(id_) for id_ in ids)
            refused = Mutation("insert_summary", "memories", guards=guards, rows=rows)
            if Item(operation, "", refused).subject() == r["subject"]:
                pairs.update(combinations(ids, 2))
    return frozenset(pairs)


def _pairs_to_keep(snapshot: Snapshot) -> Pairs:
    table = snapshot.table("conflicts")
    mine = pc.equal(table["table_name"], "memories")
    rows = table.filter(pc.and_(mine, pc.is_in(table["resolution"], value_set=pa.array(_LEFT))))
    pairs = zip(rows["row_a_id"].to_pylist(), rows["row_b_id"].to_pylist(), strict=True)
    return frozenset((min(p), max(p)) for p in pairs)
