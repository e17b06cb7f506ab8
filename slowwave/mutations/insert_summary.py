"""``insert_summary``: a community gets a summary in the place of those that it had, or its summary ends with it.

The old row ends in the world at the instant at which the new one begins, that of the snapshot: at any time one of them holds. It
is not invalidated, for it was true in its time. What a summary says is its planner's to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.mutations.cells import Cell, Guard, Insert, Value, Write, canonical, canonical_json
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import rows_by_id
from slowwave.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Summary:
    """A new row about ``member_ids``, of whom it names those ``cited``, and the rows of ``communities`` that it replaces.

    ``payload`` is JSON. Without members there is no new row, and the rows that are replaced just end.
    """

    member_ids: tuple[str, ...] = ()
    payload: Mapping[str, object] = field(default_factory=dict)
    cited: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    depth: int = 1


def insert_summary(snapshot: Snapshot, summaries: Sequence[Summary]) -> list[Mutation]:
    """One mutation a summary, in their order. Every member has to stay live, and every member cited has to keep its name.

    Time: one pass over the entities and the communities, and the members of all summaries.
    """
    now = canonical(snapshot.taken_at)
    entities = rows_by_id(
        snapshot, "entities", {i for s in summaries for i in (*s.member_ids, *s.cited)}, ("invalidated_at", "name")
    )
    rows = rows_by_id(
        snapshot, "communities", {i for s in summaries for i in s.replaced}, ("invalidated_at", "valid_to")
    )

    def guards(table: str, ids: tuple[str, ...], column: str) -> list[Guard]:
        seen = entities if table == "entities" else rows
        return [Guard.on(table, id_, seen[id_], (column,)) for id_ in sorted(ids)]

    mutations: list[Mutation] = []
    for summary in summaries:
        values: dict[str, Value] = {
            "member_ids": tuple(sorted(summary.member_ids)),
            "payload": canonical_json(summary.payload),
            "depth": summary.depth,
            "valid_from": now,
        }
        replaced = sorted(summary.replaced)
        mutations.append(
            Mutation(
                "insert_summary",
                "communities",
                writes=tuple(
                    Write(Cell("communities", id_, "valid_to"), "set", rows[id_]["valid_to"], now) for id_ in replaced
                ),
                guards=(
                    *guards("communities", summary.replaced, "invalidated_at"),
                    *guards("entities", summary.member_ids, "invalidated_at"),
                    *guards("entities", summary.cited, "name"),
                ),
                inserts=(Insert("communities", values),) if summary.member_ids else (),
                rows=tuple(Row(id_) for id_ in replaced),
            )
        )
    return mutations
