"""Where merged rows went: the chains of ``merged_into`` in a snapshot."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from slowwave.snapshot import Snapshot


def merged_into(snapshot: Snapshot) -> dict[str, str]:
    """Merged entity or memory → the row that absorbed it."""
    into: dict[str, str] = {}
    for table in ("entities", "memories"):
        rows = snapshot.table(table).select(["id", "merged_into"])
        rows = rows.filter(pc.is_valid(rows["merged_into"]))
        into.update(zip(rows["id"].to_pylist(), rows["merged_into"].to_pylist(), strict=True))
    return into


def chain(id_: str, into: Mapping[str, str]) -> list[str]:
    """A row and all that stand for it, its survivor last; a circle, which no merge makes, ends where it would close."""
    found = [id_]
    while (next_ := into.get(found[-1])) is not None and next_ not in found:
        found.append(next_)
    return found
