"""Memories as operations read them: those that recall can find, each with its text."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.last import Last
from slowwave.snapshots.snapshot import Snapshot


def active_memories(snapshot: Snapshot) -> pa.Table:
    """Live memories of the state ``active``, sorted by id: the table's columns and ``text``, that of the current version.

    ``text`` is ``large_string`` and empty where there is none. Cost: a pass over memories and versions; the last answer is kept as long as
    these tables are.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return _LAST.of(given, snapshot.taken_at, lambda: _active(snapshot))


def _active(snapshot: Snapshot) -> pa.Table:
    live = snapshot.live("memories")
    live = live.filter(pc.equal(live["state"], "active"))
    return live.append_column("text", version_texts(snapshot, live["current_version_id"]))


_LAST: Final = Last[pa.Table]()


def version_texts(snapshot: Snapshot, versions: pa.ChunkedArray) -> pa.ChunkedArray:
    """(n,) ids of memory versions → (n,) their texts, empty where there is none."""
    table = snapshot.table("memory_versions")
    places = pc.index_in(versions, value_set=table["id"].combine_chunks())
    return pc.fill_null(table["content"].cast(pa.large_string()).take(places), "")


WEIGHTS: Final = frozenset(("success", "decay_rate", "decay_function"))
"""Attributes that weigh a memory (``slowwave.scoring``) and say nothing of the world."""


def attributes(cell: object) -> dict[str, object]:
    """A cell of ``attributes``, JSON text, as a mapping; empty for anything that is no JSON object, or one too deep to read."""
    try:
        found: object = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return {str(k): v for k, v in found.items()} if isinstance(found, dict) else {}
