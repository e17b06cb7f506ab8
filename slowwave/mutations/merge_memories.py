"""``merge_rows`` of memories: one memory absorbs others that tell the same.

The survivor keeps its text and takes the union of tags and sources (cleaned of dead references), the greatest importance and
confidence, the earliest start and the counters, which the absorbed rows give up by the planned amount. Absorbed rows are merged and
invalidated in system time; their sources, texts and ``valid_to`` are never written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Value, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, as_ids, live_ids, rows_by_id
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import COUNTERS

_SAYS: Final = ("current_version_id", "kind", "scope", "subject", "author", "visibility", "sensitivity")
_MERGED: Final = ("tags", "importance", "confidence", "pinned", "source_chunk_ids", "source_document_ids", "valid_from")
_ALIVE: Final = ("state", "merged_into", "valid_to", "invalidated_at")


@dataclass(frozen=True, slots=True)
class MemoryMerge:
    """Memories that tell the same: ``keep`` absorbs ``absorb``."""

    keep: str
    absorb: tuple[str, ...]


def merge_memories(snapshot: Snapshot, merges: Sequence[MemoryMerge]) -> list[Mutation]:
    """Spell out merges of memories, in the order given. Groups are disjoint; rows are live and active; both are held to.

    Cost: one pass over memories, chunks and documents, whatever the number of merges.
    """
    members = [m for merge in merges for m in (merge.keep, *merge.absorb)]
    if len(members) != len(set(members)):
        raise Refused("A memory stands in two merges of one plan: groups must be disjoint. Join them or drop one.")
    columns = ("external_id", "invalidated_by", *COUNTERS["memories"], *_SAYS, *_MERGED, *_ALIVE)
    rows = rows_by_id(snapshot, "memories", set(members), columns)
    for id_ in members:
        if rows[id_]["invalidated_at"] is not None or rows[id_]["state"] != "active":
            raise Refused(f"Memory {id_} is already retired; a merge takes live rows only.")
    live = {
        "source_chunk_ids": live_ids(snapshot, "chunks"),
        "source_document_ids": live_ids(snapshot, "documents"),
    }
    return [_one(merge, rows, live) for merge in merges]


def _one(merge: MemoryMerge, rows: Mapping[str, Fields], live: Mapping[str, frozenset[str]]) -> Mutation:
    if not merge.absorb:
        raise Refused(f"The merge into {merge.keep} absorbs nothing.")
    keep, absorb = rows[merge.keep], sorted(merge.absorb)
    absorbed = [rows[a] for a in absorb]
    after = _survivor(keep, absorbed, live)
    writes = [Write(Cell("memories", merge.keep, c), "set", keep[c], v) for c, v in after.items() if v != keep[c]]
    changed = {w.cell.column for w in writes}
    guards = _guards(merge.keep, keep, (*_SAYS, *(c for c in _MERGED if c not in changed), *_ALIVE))
    for column in COUNTERS["memories"]:
        if total := sum(int(str(r[column])) for r in absorbed):
            writes.append(Write(Cell("memories", merge.keep, column), "add", None, total))
    for a, seen in zip(absorb, absorbed, strict=True):
        writes += _retire(a, seen, merge.keep)
        guards += _guards(a, seen, (*_SAYS, *_MERGED, "valid_to"))
    return Mutation(
        "merge_rows",
        "memories",
        writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
        guards=tuple(sorted(guards, key=lambda g: (g.cell.row, g.cell.column))),
        keep=_row(merge.keep, keep),
        absorb=tuple(_row(a, rows[a]) for a in absorb),
    )


def _survivor(keep: Fields, absorbed: Sequence[Fields], live: Mapping[str, frozenset[str]]) -> dict[str, Value]:
    everyone = [keep, *absorbed]
    starts = [r["valid_from"] for r in everyone]
    after: dict[str, Value] = {
        column: tuple(dict.fromkeys(i for r in everyone for i in as_ids(r[column]) if i in known))
        for column, known in live.items()
    }
    after["tags"] = _tags(keep, absorbed)
    for column in ("importance", "confidence"):
        after[column] = max(float(str(r[column])) for r in everyone)
    after["pinned"] = any(r["pinned"] is True for r in everyone)
    after["valid_from"] = None if None in starts else min(map(str, starts))
    return after


def _tags(keep: Fields, absorbed: Iterable[Fields]) -> Value:
    """The survivor's tags, completed by those that only absorbed rows have; its own text when none are new."""
    own: object = json.loads(str(keep["tags"]))
    if not isinstance(own, list):
        return keep["tags"]
    union: list[object] = list(own)
    for row in absorbed:
        given: object = json.loads(str(row["tags"]))
        union += [t for t in given if t not in union] if isinstance(given, list) else []
    return keep["tags"] if len(union) == len(own) else json.dumps(union, ensure_ascii=False)


def _retire(id_: str, seen: Fields, keep: str) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell("memories", id_, column)

    counters = [Write(cell(c), "add", None, -amount) for c in COUNTERS["memories"] if (amount := int(str(seen[c])))]
    return [
        *counters,
        Write(cell("state"), "set", seen["state"], "merged"),
        Write(cell("merged_into"), "set", seen["merged_into"], keep),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]


def _guards(id_: str, seen: Fields, columns: Iterable[str]) -> list[Guard]:
    return [Guard(Cell("memories", id_, c), seen[c]) for c in columns]


def _row(id_: str, fields: Fields) -> Row:
    external = fields["external_id"]
    return Row(id_, None if external is None else str(external))
