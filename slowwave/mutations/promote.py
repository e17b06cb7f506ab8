"""``set_state`` of a promoted memory: it changes its ring, and a row of ``promotions`` says from where, to where and why.

Its inverse in the world is a revocation, which closes that row and gives the ring back; undo takes either back exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Insert, Write, canonical_json
from slowwave.mutations.mutation import Mutation, Row, check
from slowwave.mutations.rows import Fields, rows_by_id
from slowwave.snapshots.snapshot import Snapshot

_PROMOTED: Final = (
    "current_version_id",
    "invalidated_at",
    "state",
)  # what a promotion rests on: what the memory says, too
_REVOKED: Final = ("invalidated_at", "pinned", "state")


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory that recall has proven: the ring that it is to be in, which may be its own, and the figures that speak for it."""

    memory: str
    to_ring: str
    scores: Mapping[str, float]


def promote(snapshot: Snapshot, promotions: Sequence[Promotion]) -> list[Mutation]:
    """One mutation a promotion, in their order. It rests on what the memory says, and on its being live and active.

    Raises ``Refused`` for a memory that is not, and for one that is named twice. Cost: a pass over the memories.
    """
    ids = [p.memory for p in promotions]
    if len(set(ids)) != len(ids):
        raise Refused("A memory would be promoted twice in one plan. Propose it once.")
    rows = rows_by_id(snapshot, "memories", ids, ("external_id", "ring", *_PROMOTED))
    return [_promoted(p, rows[p.memory]) for p in promotions]


def revoke(snapshot: Snapshot, promotion_ids: Sequence[str]) -> list[Mutation]:
    """One mutation a memory, in id order: its promotions named are closed, and it goes back to the ring before them.

    A memory that has left the ring to which it was promoted stays where it is. Raises ``Refused`` for a promotion that is closed.
    Cost: a pass over promotions and memories.
    """
    columns = ("memory_id", "from_ring", "to_ring", "recorded_at", "invalidated_at", "invalidated_by")
    named = rows_by_id(snapshot, "promotions", set(promotion_ids), columns)
    by_memory: dict[str, list[Fields]] = defaultdict(list)
    for id_, row in named.items():
        if row["invalidated_at"] is not None:
            raise Refused(f"Promotion {id_} is revoked already; only one that stands can be.")
        by_memory[str(row["memory_id"])].append(row)
    memories = rows_by_id(snapshot, "memories", by_memory.keys(), ("external_id", "ring", *_REVOKED))
    return [_revoked(memories[id_], rows) for id_, rows in sorted(by_memory.items())]


def _promoted(promotion: Promotion, seen: Fields) -> Mutation:
    id_ = promotion.memory
    if seen["invalidated_at"] is not None or seen["state"] != "active":
        raise Refused(f"Memory {id_} is retired; only one that recall can find is promoted.")
    values = {
        "memory_id": id_,
        "from_ring": seen["ring"],
        "to_ring": promotion.to_ring,
        "scores": canonical_json(dict(promotion.scores)),
    }
    return _mutation(seen, promotion.to_ring, _PROMOTED, inserts=(Insert("promotions", values),))


def _revoked(seen: Fields, promotions: Sequence[Fields]) -> Mutation:
    ring = str(seen["ring"])
    writes: list[Write] = []
    for row in sorted(promotions, key=lambda p: (str(p["recorded_at"]), str(p["id"])), reverse=True):
        id_ = str(row["id"])
        writes.append(Write(Cell("promotions", id_, "invalidated_at"), "now", row["invalidated_at"]))
        writes.append(Write(Cell("promotions", id_, "invalidated_by"), "item", row["invalidated_by"]))
        ring = str(row["from_ring"]) if row["to_ring"] == ring else ring
    return _mutation(seen, ring, _REVOKED, writes=tuple(writes))


def _mutation(
    seen: Fields,
    ring: str,
    rests_on: Sequence[str],
    writes: tuple[Write, ...] = (),
    inserts: tuple[Insert, ...] = (),
) -> Mutation:
    id_ = str(seen["id"])
    guarded = [*rests_on, *(("ring",) if ring == seen["ring"] else ())]
    if ring != seen["ring"]:
        writes = (Write(Cell("memories", id_, "ring"), "set", seen["ring"], ring), *writes)
    external = seen["external_id"]
    mutation = Mutation(
        "set_state",
        "memories",
        writes=writes,
        guards=(Guard.on("memories", id_, seen, guarded),),
        inserts=inserts,
        rows=(Row(id_, None if external is None else str(external)),),
    )
    check(mutation)
    return mutation
