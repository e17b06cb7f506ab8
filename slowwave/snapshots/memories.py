"""Memories of a snapshot that recall can find, each with its text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import LastAnswers, Snapshot
from slowwave.text.languages import languages

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


def quarantined_texts(snapshot: Snapshot) -> pa.ChunkedArray:
    """Return the texts (n,) of the quarantined memories, ``large_string``."""
    live = snapshot.live("memories")
    return version_texts(snapshot, live.filter(pc.equal(live["state"], "quarantined"))["current_version_id"])


def version_texts(snapshot: Snapshot, versions: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts (n,) of memory versions by their ids (n,), empty for a missing version."""
    table = snapshot.table("memory_versions")
    places = pc.index_in(versions, value_set=table["id"].combine_chunks())
    return pc.fill_null(table["content"].cast(pa.large_string()).take(places), "")


def languages_of_memories(snapshot: Snapshot) -> list[str]:
    """Return the language (``slowwave.text.languages``) of each active memory (rows of ``active_memories``); empty for English.

    The last answer is kept as long as the tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once(
        "languages", given, snapshot.taken_at, lambda: languages(active_memories(snapshot)["text"])
    )


def english_only(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the active memories in other languages.

    It is the same snapshot if there are none, or if it has no texts of memories.
    """
    if not {"memories", "memory_versions"} <= snapshot.tables.keys():
        return snapshot
    memories, versions = snapshot.table("memories"), snapshot.table("memory_versions")

    def without_others() -> tuple[pa.Table, LastAnswers] | None:
        other = pa.array([code != "" for code in languages_of_memories(snapshot)], pa.bool_())
        if not pc.any(other, min_count=0).as_py():
            return None
        ids = active_memories(snapshot)["id"].filter(other).combine_chunks()
        # Operations for English ask the same questions of this table; answers about the whole one must not replace theirs.
        return memories.filter(pc.invert(pc.is_in(memories["id"], value_set=ids))), LastAnswers()

    kept = snapshot.answers.find_once("English memories", [memories, versions], snapshot.taken_at, without_others)
    if kept is None:
        return snapshot
    return replace(snapshot, tables={**snapshot.tables, "memories": kept[0]}, answers=kept[1])


WEIGHTS: Final = frozenset(("success", "decay_rate", "decay_function"))
"""Attributes that weigh a memory (``slowwave.operations.scoring``) and state nothing about the world."""


CHARACTER_LIMIT: Final = "character_limit"
"""Attribute of a memory that is always in an agent's context: how many of its characters are."""


def attributes(cell: object) -> dict[str, object]:
    """Return a cell of ``attributes``, JSON text, as a mapping.

    The mapping is empty for text that is not a JSON object, or that is nested too deeply to parse.
    """
    try:
        found: object = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return {str(k): v for k, v in found.items()} if isinstance(found, dict) else {}
