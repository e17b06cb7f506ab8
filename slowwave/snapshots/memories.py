"""Memories of a snapshot that recall can find, each with its text."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot

# Memories for operations: those that a recall can find, each with its text.


def active_memories(snapshot: Snapshot) -> pa.Table:
    """Return the live memories of the state ``active``, sorted by id: the table's columns and ``text``.

    ``text`` is that of the current version, ``large_string``, and empty for a memory without one. Cost: a pass over memories and
    versions; the last answer is kept as long as these tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("active memories", given, snapshot.taken_at, lambda: _active(snapshot))


def _active(snapshot: Snapshot) -> pa.Table:
    live = snapshot.live("memories")
    live = live.filter(pc.equal(live["state"], "active"))
    return live.append_column("text", version_texts(snapshot, live["current_version_id"]))


def version_texts(snapshot: Snapshot, versions: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts (n,) of memory versions by their ids (n,), empty for a missing version."""
    table = snapshot.table("memory_versions")
    places = pc.index_in(versions, value_set=table["id"].combine_chunks())
    return pc.fill_null(table["content"].cast(pa.large_string()).take(places), "")


WEIGHTS: Final = frozenset(("success", "decay_rate", "decay_function"))
"""Attributes that weigh a memory (``slowwave.operations.scoring``) and state nothing about the world."""


def attributes(cell: object) -> dict[str, object]:
    """Return a cell of ``attributes``, JSON text, as a mapping.

    The mapping is empty for text that is not a JSON object, or that is nested too deeply to parse.
    """
    try:
        found: object = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return {str(k): v for k, v in found.items()} if isinstance(found, dict) else {}
