"""Memories that may hold a relative date, each with its text and the day on which it was recorded, as its author knew it.

What the phrases mean belongs to ``slowwave.texts.dates``. That day is ``valid_from`` in the zone that the memory's attributes name
(``timezone``), else in the setting ``dates_zone``. A summary speaks of several days and is left out, as is a memory without a start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.rows.memories import active_memories, attributes
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.date_phrases import HINT
from slowwave.texts.dates import absolutize, local_day
from slowwave.texts.prefilter import matching

LONGEST: Final = 65_536
"""Signs: a longer text is a document, not a memory, and is left as it is."""

_SUMMARY: Final = "summary"


@dataclass(frozen=True, slots=True)
class DatedMemory:
    """One memory: its ``id``, what it says, ``recorded`` its start, ``zone`` (IANA) its author's, and ``day`` that instant there."""

    id: str
    text: str
    recorded: datetime
    zone: str
    day: date
    pinned: bool
    attributes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class DatedMemories:
    """Memories to be read, by id, and how many there were before each gate."""

    memories: tuple[DatedMemory, ...]
    numbers: Mapping[str, int]


def candidates(snapshot: Snapshot, settings: Settings) -> DatedMemories:
    """Active memories whose text has a word that every relative date has. Cost: a pass over the texts, without Python for most.

    Raises ``SettingsError`` where ``dates_zone`` is no time zone.
    """
    if not _is_zone(settings.dates_zone):
        raise SettingsError(
            f"The setting dates_zone is {settings.dates_zone[:64]!r}, which is no time zone. Use an IANA name such as Europe/Oslo."
        )
    live = active_memories(snapshot)
    numbers = {"active memories": len(live)}
    hinted = live.filter(matching(live["text"], HINT))
    numbers["with a word of time"] = len(hinted)
    dated = hinted.filter(pc.is_valid(hinted["valid_from"]))
    numbers["of these without a start"] = len(hinted) - len(dated)
    own = dated.filter(pc.not_equal(dated["kind"], _SUMMARY))
    numbers["of these summaries"] = len(dated) - len(own)
    short = own.filter(pc.less_equal(pc.utf8_length(own["text"]), LONGEST))
    numbers["of these too long"] = len(own) - len(short)
    columns = ("id", "text", "valid_from", "pinned", "attributes")
    found: list[DatedMemory] = []
    unknown = 0
    for row in short.select(columns).to_pylist():
        more = attributes(row["attributes"])
        zone = _zone(more, settings)
        unknown += bool(more.get("timezone")) and zone != more["timezone"]
        day = local_day(row["valid_from"], zone)
        found.append(DatedMemory(row["id"], row["text"], row["valid_from"], zone, day, row["pinned"], more))
    numbers["with a time zone that is not known"] = unknown
    return DatedMemories(tuple(found), numbers)


def as_meant(memories: pa.Table, wanted: NDArray[np.bool_], settings: Settings) -> pa.Array:
    """(n,) texts of memories, ``large_string``, those ``wanted`` (n) with their relative dates written out, so that the words of two days
    differ.

    The table has ``text``, ``kind``, ``valid_from`` and ``attributes``. Cost: that of ``absolutize`` for those that are wanted and have a
    word of time.
    """
    texts = memories["text"].combine_chunks()
    hinted = pc.and_(matching(texts, HINT), pc.less_equal(pc.utf8_length(texts), LONGEST))
    own = pc.and_(pc.is_valid(memories["valid_from"]), pc.not_equal(memories["kind"], _SUMMARY)).combine_chunks()
    read = wanted & pc.and_(hinted, own).to_numpy(zero_copy_only=False).astype(bool)
    if not read.any():
        return texts
    rows = memories.filter(pa.array(read)).select(("text", "valid_from", "attributes")).to_pylist()
    told = [
        absolutize(r["text"], r["valid_from"], zone=_zone(attributes(r["attributes"]), settings), idle=False).text
        for r in rows
    ]
    return pc.replace_with_mask(texts, pa.array(read), pa.array(told, pa.large_string()))


def _zone(more: Mapping[str, object], settings: Settings) -> str:
    """The zone that a memory's attributes name, else that of the settings."""
    named = more.get("timezone")
    return str(named) if named and _is_zone(str(named)) else settings.dates_zone


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    try:
        local_day(datetime.fromisoformat("2000-01-01T00:00:00+00:00"), name)
    except ValueError:
        return False
    return True
