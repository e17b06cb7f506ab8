"""``merge_rows`` of facts: one fact absorbs others that say the same.

The survivor takes the union of the sources (cleaned of dead references), the greatest confidence and the earliest start; a fact
without a start holds since ever. The absorbed rows are inactive, invalidated in system time, and name the survivor in
``superseded_by``. ``valid_to`` is never written: the world did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, as_ids, live_ids, rows_by_id
from slowwave.snapshots.snapshot import Snapshot

_SAYS: Final = ("subject", "predicate", "object", "fact_text")
_MERGED: Final = ("source_chunk_ids", "confidence", "valid_from")
_ALIVE: Final = ("is_active", "superseded_by", "valid_to", "invalidated_at")


@dataclass(frozen=True, slots=True)
class FactMerge:
    """Facts that say the same: ``keep`` absorbs ``absorb``."""

    keep: str
    absorb: tuple[str, ...]


def merge_facts(snapshot: Snapshot, merges: Sequence[FactMerge]) -> list[Mutation]:
    """Spell out merges of facts, in the order given. Groups are disjoint; rows are live and active; both are held to.

    Cost: one pass over facts and chunks, whatever the number of merges.
    """
    members = [m for merge in merges for m in (merge.keep, *merge.absorb)]
    if len(members) != len(set(members)):
        raise Refused("A fact stands in two merges of one plan: groups must be disjoint. Join them or drop one.")
    columns = ("external_id", "invalidated_by", *_SAYS, *_MERGED, *_ALIVE)
    facts = rows_by_id(snapshot, "memory_facts", set(members), columns)
    for id_ in members:
        if facts[id_]["invalidated_at"] is not None or facts[id_]["is_active"] is not True:
            raise Refused(f"Fact {id_} is already retired; a merge takes live rows only.")
    chunks = live_ids(snapshot, "chunks")
    return [_one(merge, facts, chunks) for merge in merges]


def _one(merge: FactMerge, facts: Mapping[str, Fields], chunks: frozenset[str]) -> Mutation:
    if not merge.absorb:
        raise Refused(f"The merge into {merge.keep} absorbs nothing.")
    keep, absorb = facts[merge.keep], sorted(merge.absorb)
    after = _survivor([keep, *(facts[a] for a in absorb)], chunks)
    writes = [Write(Cell("memory_facts", merge.keep, c), "set", keep[c], v) for c, v in after.items() if v != keep[c]]
    changed = {w.cell.column for w in writes}
    guards = _guards(merge.keep, keep, (*_SAYS, *(c for c in _MERGED if c not in changed), *_ALIVE))
    for a in absorb:
        writes += _retire(a, facts[a], merge.keep)
        guards += _guards(a, facts[a], (*_SAYS, *_MERGED, "valid_to"))
    return Mutation(
        "merge_rows",
        "memory_facts",
        writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
        guards=tuple(sorted(guards, key=lambda g: (g.cell.row, g.cell.column))),
        keep=_row(merge.keep, keep),
        absorb=tuple(_row(a, facts[a]) for a in absorb),
    )


def _survivor(everyone: Sequence[Fields], chunks: frozenset[str]) -> Fields:
    starts = [e["valid_from"] for e in everyone]
    return {
        "source_chunk_ids": tuple(
            dict.fromkeys(i for e in everyone for i in as_ids(e["source_chunk_ids"]) if i in chunks)
        ),
        "confidence": max(float(str(e["confidence"])) for e in everyone),
        "valid_from": None if None in starts else min(map(str, starts)),
    }


def _retire(id_: str, seen: Fields, keep: str) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell("memory_facts", id_, column)

    return [
        Write(cell("is_active"), "set", seen["is_active"], value=False),
        Write(cell("superseded_by"), "set", seen["superseded_by"], keep),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]


def _guards(id_: str, seen: Fields, columns: Iterable[str]) -> list[Guard]:
    return [Guard(Cell("memory_facts", id_, c), seen[c]) for c in columns]


def _row(id_: str, fields: Fields) -> Row:
    external = fields["external_id"]
    return Row(id_, None if external is None else str(external))
