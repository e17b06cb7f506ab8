"""``invalidate_rows`` of rows that lost a conflict: they leave the live set, end in the world and, as facts, name the winner.

A loser ends where the winner begins, when that is known and later than its own beginning, else when it is applied. What both sides
said, that the winner still stands, and what else the decision was taken on is guarded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.mutations.cells import TOLD, VERSION, Cell, Guard, Value, Write
from slowwave.mutations.mutation import Mutation, Row, check
from slowwave.mutations.rows import Fields, rows_by_id
from slowwave.snapshots.snapshot import Snapshot

_WRITTEN: Final = ("invalidated_at", "invalidated_by", "valid_to")
_OF_FACTS: Final = ("is_active", "superseded_by")


@dataclass(frozen=True, slots=True)
class Loss:
    """``losers`` say what ``winner`` contradicts; the decision rests on these columns of all of them.

    An empty ``winner`` means that no side is right: the losers end when the item is applied, and no row succeeds them.

    ``ended_by`` is the row that says so where that is not the winner, as it has lost to it in turn: the losers ended where that row begins,
    and what it said is guarded, not that it stands.
    """

    winner: str
    losers: tuple[str, ...]
    rests_on: tuple[str, ...]
    ended_by: str = ""


def lose_conflict(snapshot: Snapshot, table: str, losses: Sequence[Loss]) -> list[Mutation]:
    """One mutation a loss, in the order given. Cost: one pass over the table."""
    ids = {id_ for loss in losses for id_ in (loss.winner, loss.ended_by, *loss.losers) if id_}
    more = _OF_FACTS if table == "memory_facts" else ()
    rests_on = {c for loss in losses for c in loss.rests_on}
    columns = sorted({"external_id", "valid_from", *_WRITTEN, *more, *rests_on})
    rows = rows_by_id(snapshot, table, ids, columns)
    found: list[Mutation] = []
    for loss in losses:
        ended_by = loss.ended_by or loss.winner
        begins = rows[ended_by]["valid_from"] if ended_by else None
        writes = [w for id_ in sorted(loss.losers) for w in _writes(table, id_, rows[id_], loss.winner, begins, more)]
        written = {w.cell for w in writes}
        stands = ("invalidated_at", "valid_to", *(("is_active",) if more else ()))
        rests: dict[str, tuple[str, ...]] = dict.fromkeys(loss.losers, loss.rests_on)
        if ended_by:
            rests |= {ended_by: loss.rests_on, loss.winner: (*stands, *loss.rests_on)}
        guards = tuple(
            Guard.on(table, id_, rows[id_] | {TOLD: rows[id_].get(VERSION)}, stay)
            for id_, on in sorted(rests.items())
            if (stay := [c for c in _rests_on(on, id_ in loss.losers) if Cell(table, id_, c) not in written])
        )
        named = tuple(_row(id_, rows[id_]) for id_ in sorted(loss.losers))
        mutation = Mutation("invalidate_rows", table, writes=tuple(writes), guards=guards, rows=named)
        check(mutation)
        found.append(mutation)
    return found


def _writes(table: str, id_: str, seen: Fields, winner_id: str, begins: Value, more: Sequence[str]) -> list[Write]:
    own = seen["valid_from"]
    end = str(begins) if begins is not None and (own is None or str(own) < str(begins)) else None
    writes = [
        Write(Cell(table, id_, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, id_, "invalidated_by"), "item", seen["invalidated_by"]),
        Write(Cell(table, id_, "valid_to"), "set" if end else "now", seen["valid_to"], end),
    ]
    after: dict[str, Value] = {"is_active": False, "superseded_by": winner_id or None}
    return [*writes, *(Write(Cell(table, id_, c), "set", seen[c], after[c]) for c in more)]


def _rests_on(columns: Iterable[str], loses: bool) -> Iterable[str]:
    """The columns that a decision rests on: of a memory that stands, what it tells."""
    return columns if loses else (TOLD if c == VERSION else c for c in columns)


def _row(id_: str, seen: Fields) -> Row:
    external = seen["external_id"]
    return Row(id_, None if external is None else str(external))
