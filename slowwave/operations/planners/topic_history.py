"""What held before: memories that are over, told as history where the statement stands that came after.

That are those that lost to another one because it says something newer, and those that ended in the world. They stay retired; what
they state is told with the day of its end. Who loses is for ``resolve_conflicts`` to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations.planners.consolidation_pool import ALIKE, STAGES, SUMMARY, Fields
from slowwave.rows.memories import version_texts
from slowwave.rows.screening_exemptions import is_held_back
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.topic_statements import TopicStatement, topic_statement

_COLUMNS: Final = (
    "id",
    "kind",
    *ALIKE,
    "state",
    "attributes",
    "valid_from",
    "recorded_at",
    "valid_to",
    "invalidated_at",
    "text",
)
_FRAME: Final = ("kind", *ALIKE)


@dataclass(frozen=True, slots=True)
class FormerStates:
    """Rows that are over, each with ``began``, its beginning: by the memory to which they ``lost_to``, or to one that lost to it, and those
    that ``ended`` by kind, audience and subject, with what they state."""

    lost_to: Mapping[str, Sequence[Fields]] = field(default_factory=dict)
    ended: Mapping[tuple[object, ...], Sequence[tuple[Fields, TopicStatement]]] = field(default_factory=dict)

    def of(self, members: Sequence[Fields], said: TopicStatement, stems: frozenset[str]) -> list[Fields]:
        """What held before the ``members``, whole rows, of a topic: of one subject, in the order of time."""
        found = {r["id"]: r for m in members for r in self.lost_to.get(m["id"], ()) if _alike(r, m)}
        key = (*(members[0][c] for c in _FRAME), said.subject)
        for row, own in self.ended.get(key, ()):
            if not stems.isdisjoint(own.words | own.relations):
                found[row["id"]] = row
        return sorted(found.values(), key=lambda r: (r["began"], r["id"]))


def former_states(snapshot: Snapshot) -> FormerStates:
    """All of a snapshot. Linear in the conflicts on record and in the rows that have ended, each of which is read once."""
    conflicts = snapshot.table("conflicts")
    decided = pc.and_(pc.equal(conflicts["table_name"], "memories"), pc.equal(conflicts["resolution"], "invalidated"))
    sides = conflicts.filter(decided).select(["winner_id", "loser_id"]).drop_null()
    winners = dict(zip(sides["loser_id"].to_pylist(), sides["winner_id"].to_pylist(), strict=True))
    over = _over(snapshot)
    lost_to: defaultdict[str, list[Fields]] = defaultdict(list)
    ended: defaultdict[tuple[object, ...], list[tuple[Fields, TopicStatement]]] = defaultdict(list)
    for row in over.values():
        said = topic_statement(row["text"])
        if said is None or is_held_back(row["text"], row["attributes"]):
            continue
        if row["invalidated_at"] is None:
            ended[(*(row[c] for c in _FRAME), said.subject)].append((row, said))
        elif row["id"] in winners:
            lost_to[_last(row["id"], winners, over)].append(row)
    return FormerStates(lost_to, ended)


def _over(snapshot: Snapshot) -> dict[str, Fields]:
    """Rows whose end is known and past, that began before it and are neither merged nor hidden."""
    table = snapshot.table("memories")
    now = pa.scalar(snapshot.taken_at, table["valid_to"].type)
    past = pc.fill_null(pc.less_equal(table["valid_to"], now), False)
    past = pc.and_(past, pc.and_(pc.equal(table["state"], "active"), pc.not_equal(table["kind"], SUMMARY)))
    table = table.filter(pc.and_(past, pc.is_in(table["stage"], value_set=pa.array(STAGES))))
    table = table.append_column("text", version_texts(snapshot, table["current_version_id"]))
    rows = ({**r, "began": r["valid_from"] or r["recorded_at"]} for r in table.select(list(_COLUMNS)).to_pylist())
    return {r["id"]: r for r in rows if r["began"] < r["valid_to"]}


def _last(loser: str, winners: Mapping[str, str], over: Mapping[str, Fields]) -> str:
    """Who stands where a row, and whoever it lost to, lost; a circle ends where it would close."""
    seen = {loser}
    winner = winners[loser]
    while winner in over and winner in winners and winner not in seen:
        seen.add(winner)
        winner = winners[winner]
    return winner


def _alike(one: Fields, other: Fields) -> bool:
    return all(one[c] == other[c] for c in ALIKE)
