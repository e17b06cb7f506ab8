"""Where merged rows went: the chains of merges in a snapshot, and the rows to which losers of a contradiction gave way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

import pyarrow.compute as pc

from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot

MERGED: Final = ("entities", "memories", "memory_facts")
"""Tables of which rows are merged."""


def merged_into(snapshot: Snapshot, tables: Iterable[str] = MERGED) -> dict[str, str]:
    """Merged row of the tables → the row that absorbed it. A fact that was replaced has ended, and was not merged."""
    into: dict[str, str] = {}
    for name in tables:
        rows = snapshot.table(name)
        if name == "memory_facts":
            merged = pc.and_(pc.is_valid(rows["invalidated_at"]), pc.is_null(rows["valid_to"]))
            rows = rows.filter(merged).select(["id", "superseded_by"])
        else:
            rows = rows.select(["id", "merged_into"])
        rows = rows.filter(pc.is_valid(rows[1]))
        into.update(zip(rows[0].to_pylist(), rows[1].to_pylist(), strict=True))
    return into


def won_against(items: Iterable[Item]) -> dict[str, str]:
    """Memory that ``items`` retire because another one contradicts it → that other one, which has to stand for it to be retired."""
    won: dict[str, str] = {}
    for item in items:
        mutation = item.mutation
        if mutation.kind == "invalidate_rows" and mutation.table == "memories":
            losers = mutation.row_ids()
            stands = sorted({g.row for g in mutation.guards if "invalidated_at" in g.columns} - {*losers})
            won.update((loser, stands[0]) for loser in losers if stands)
    return won


def succeeded_by(items: Iterable[Item]) -> dict[str, str]:
    """Of ``won_against`` what a later memory replaces by saying that it is over, or that something has changed."""
    return won_against(i for i in items if _replaces(i))


def _replaces(item: Item) -> bool:
    conflict = item.evidence.get("conflict")
    return isinstance(conflict, Mapping) and bool(cast("Mapping[str, object]", conflict).get("replaces"))


def chain(id_: str, into: Mapping[str, str]) -> list[str]:
    """A row and all that stand for it, its survivor last; a circle, which no merge makes, ends where it would close."""
    found = [id_]
    while (next_ := into.get(found[-1])) is not None and next_ not in found:
        found.append(next_)
    return found
