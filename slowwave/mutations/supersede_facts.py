"""``invalidate_rows`` of facts that a later one replaces: they end in the world, at the instant at which the later one begins.

The fact was true and the world moved on, so ``valid_to`` is set and ``invalidated_at`` is not: what was true in its day must still be
found by a question about that day. The row is inactive and names its successor. No fact ends before its successor has begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Write, canonical
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import rows_by_id
from slowwave.snapshots.snapshot import Snapshot

_SAYS: Final = ("subject", "predicate", "object")
_ENDS: Final = ("valid_to", "is_active", "superseded_by")


@dataclass(frozen=True, slots=True)
class Supersession:
    """``later`` replaces ``earlier``."""

    earlier: str
    later: str


def supersede_facts(snapshot: Snapshot, pairs: Sequence[Supersession]) -> list[Mutation]:
    """Spell out one mutation a pair, in the order given. In a chain the middle fact ends in another item than it begins in.

    What a successor says, since when, and that it was not retracted is guarded; that it ends in turn is no matter here. Cost: one
    pass over the facts.
    """
    ids = {id_ for pair in pairs for id_ in (pair.earlier, pair.later)}
    facts = rows_by_id(snapshot, "memory_facts", ids, ("external_id", "valid_from", "invalidated_at", *_SAYS, *_ENDS))
    now = str(canonical(snapshot.taken_at))
    found: list[Mutation] = []
    for pair in pairs:
        old, new = facts[pair.earlier], facts[pair.later]
        begins = new["valid_from"]
        if old["valid_from"] is None or begins is None or not str(old["valid_from"]) < str(begins) <= now:
            raise Refused(
                f"Fact {pair.later} does not begin after fact {pair.earlier} and before now, so it replaces nothing."
            )
        if old["invalidated_at"] is not None or new["invalidated_at"] is not None or old["is_active"] is not True:
            raise Refused(
                f"Fact {pair.earlier} or {pair.later} is already retired; live facts alone replace each other."
            )
        after = {"valid_to": begins, "is_active": False, "superseded_by": pair.later}
        writes = [Write(Cell("memory_facts", pair.earlier, c), "set", old[c], after[c]) for c in _ENDS]
        stands = (*_SAYS, "valid_from", "invalidated_at")
        guards = [Guard.on("memory_facts", i, facts[i], stands) for i in sorted((pair.earlier, pair.later))]
        external = old["external_id"]
        found.append(
            Mutation(
                "invalidate_rows",
                "memory_facts",
                writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
                guards=tuple(guards),
                rows=(Row(pair.earlier, None if external is None else str(external)),),
            )
        )
    return found
