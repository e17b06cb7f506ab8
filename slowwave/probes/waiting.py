"""What waits for another night: what would take a plan beyond its caps, or recall from its hits, and is as well done then; and a page
that tells what nights did, where this one would do nothing else.

Of housekeeping, merges of what tells the same come before what only leaves recall, and the oldest memories first; it never displaces
anything else. What housekeeping is, operations declare (``slowwave.plans.permitted``); the caps are those of
``slowwave.probes.blast_radius``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.plans.items import FOLLOWS, Item
from slowwave.plans.permitted import may_wait, retired, tidies
from slowwave.probes.blast_radius import TYPES, rooms, takes_words
from slowwave.rows.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.counted import counted

_TABLE: Final = "memories"
"""The table whose rows housekeeping retires."""

_FULL: Final = "the plan is at its cap for memories"


@dataclass(frozen=True, slots=True)
class HeldOver:
    """Ids of the items that wait, and by operation how many they are."""

    ids: frozenset[str] = frozenset()
    operations: tuple[tuple[str, int], ...] = ()
    why: str = _FULL

    def and_(self, more: HeldOver) -> HeldOver:
        """Those of a further look beside these."""
        counts = Counter(dict(self.operations)) + Counter(dict(more.operations))
        return HeldOver(self.ids | more.ids, tuple(sorted(counts.items())), self.why)

    def sentences(self) -> tuple[str, ...]:
        """What an operator reads; none where nothing waits."""
        if not self.ids:
            return ()
        which = ", ".join(f"{n:,} of {operation}" for operation, n in self.operations)
        return (f"{counted(len(self.ids), 'item waits', 'items wait')} for the next night ({which}): {self.why}.",)


def waiting(before: Snapshot, items: Sequence[Item], settings: Settings) -> HeldOver:
    """Which of ``items``, of which each may stand beside all others, wait so that the plan keeps within its caps.

    First go items that are no housekeeping and may wait, the least sure of them, until what is left is within the cap; then housekeeping.
    The answer does not depend on the order of ``items``. Linear in their writes, and a pass over three columns of the memories.
    """
    able = [item for item in items if item.mutation.table == _TABLE and may_wait(item)]
    if not able:
        return HeldOver()
    rows = before.live(_TABLE)
    starts = pc.coalesce(rows["valid_from"], rows["recorded_at"]).cast(pa.int64())
    start = dict(zip(rows["id"].to_pylist(), starts.to_pylist(), strict=True))
    kind = dict(zip(rows["id"].to_pylist(), rows[TYPES[_TABLE]].to_pylist(), strict=True))

    gone = {i.id: {row for table, row in retired(i) if table == _TABLE and row in kind} for i in items}
    mine = {item.id for item in able}
    taken = {row for item in items if item.id not in mine for row in gone[item.id]}
    taken |= _reworded(before, [item for item in items if item.id not in mine]) & kind.keys()
    room = _Room.of(taken, kind, *rooms(before, _TABLE, settings, tidied=False))
    rest = [item for item in able if not tidies(item)]
    late = [item for item in sorted(rest, key=lambda i: (-i.probability, i.id)) if not room.takes(item, gone[item.id])]
    room = _Room.of(room.taken, kind, *rooms(before, _TABLE, settings, tidied=True))

    def order(item: Item) -> tuple[bool, int, str]:
        return not item.mutation.absorb, min((start.get(row) or 0 for row in gone[item.id]), default=0), item.id

    late += [item for item in sorted(filter(tidies, able), key=order) if not room.takes(item, gone[item.id])]
    return _of(late)


def harmful(items: Sequence[Item], leave_out: Collection[str]) -> HeldOver:
    """``leave_out``, without which a plan passes its probes, as what waits: nothing unless all of it is housekeeping."""
    out = frozenset(leave_out)
    late = [item for item in items if item.id in out]
    return _of(late, "with them recall would find less than before") if all(map(tidies, late)) else HeldOver()


def lone(items: Sequence[Item]) -> HeldOver:
    """Pages that tell what nights did, where ``items`` are nothing but such: they would make a plan of their own after every other one."""
    late = [] if any(item.decision != FOLLOWS for item in items) else items
    return _of(late, "it only tells what nights did, and goes with what the next does")


def _of(late: Sequence[Item], why: str = _FULL) -> HeldOver:
    counts = Counter(item.operation for item in late)
    return HeldOver(frozenset(i.id for i in late), tuple(sorted(counts.items())), why)


def _reworded(before: Snapshot, items: Sequence[Item]) -> set[str]:
    """Memories that items give words which take some of the old ones away."""
    new = {i.mutation.rows[0].id: str(i.mutation.inserts[0].values.get("content", "")) for i in items if _words(i)}
    table = before.table(_TABLE)
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(new), pa.string())))
    old = zip(rows["id"].to_pylist(), version_texts(before, rows["current_version_id"]).to_pylist(), strict=True)
    return {row for row, text in old if takes_words(text, new[row])}


def _words(item: Item) -> bool:
    mutation = item.mutation
    return (
        mutation.table == _TABLE
        and any(i.table == "memory_versions" for i in mutation.inserts)
        and len(mutation.rows) == 1
    )


@dataclass(slots=True)
class _Room:
    """Rows that are ``taken``, how many more of the table may be, and how many of each kind."""

    taken: set[str]
    kind: Mapping[str, str]
    whole: int
    each: Counter[str]

    @classmethod
    def of(cls, taken: set[str], kind: Mapping[str, str], whole: int, each: Mapping[str, int]) -> _Room:
        left = Counter(each)
        left.subtract(Counter(kind[row] for row in taken))
        return cls(set(taken), kind, whole - len(taken), left)

    def takes(self, item: Item, rows: set[str]) -> bool:
        """Whether there is room for what an item retires, which is taken then; a merged row is none of its kind that goes."""
        new = rows - self.taken
        kinds = Counter[str]() if item.mutation.absorb else Counter(self.kind[row] for row in new)
        if new and (len(new) > self.whole or any(n > self.each[name] for name, n in kinds.items())):
            return False
        self.taken |= new
        self.whole -= len(new)
        self.each.subtract(kinds)
        return True
