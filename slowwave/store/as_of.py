"""Memories as they stood at an earlier instant: what recall could have found then, whatever nights did to it since.

A night writes no text over another and deletes nothing of a memory before its retention, and its journal keeps what a cell held before.
So the state of a row then is what it holds now, with the first change of each cell after that instant taken back.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from slowwave.store.connect import Connection

_COLUMNS: Final = ("state", "stage", "ring", "current_version_id", "merged_into", "invalidated_at", "valid_to")

_CHANGED: Final = ", ".join(
    f"bool_or(column_name = '{c}') AS c_{c}, max(before) FILTER (WHERE column_name = '{c}') AS b_{c}" for c in _COLUMNS
)
_STOOD: Final = ", ".join(f"CASE WHEN c.c_{c} THEN c.b_{c} ELSE m.{c}::text END AS {c}" for c in _COLUMNS)

_THEN: Final = f"""
WITH earlier AS (
  SELECT DISTINCT ON (j.row_id, j.column_name) j.row_id, j.column_name, b.before
  FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id
  WHERE j.namespace_id = %(namespace)s AND j.table_name = 'memories' AND j.action = 'set'
    AND j.recorded_at > %(instant)s AND j.column_name = ANY(%(columns)s)
  ORDER BY j.row_id, j.column_name, j.id
), changed AS (
  SELECT row_id, {_CHANGED}
  FROM earlier GROUP BY row_id
), stood AS (
  SELECT m.id, m.external_id, m.kind, m.recorded_at, m.valid_from,
    {_STOOD}
  FROM memory.memories m LEFT JOIN changed c ON c.row_id = m.id
  WHERE m.namespace_id = %(namespace)s AND m.recorded_at <= %(instant)s
)
SELECT s.id::text, s.external_id, s.kind, s.ring, s.stage, coalesce(v.content, ''), s.valid_from
FROM stood s LEFT JOIN memory.memory_versions v ON v.id = s.current_version_id::uuid
WHERE s.state = 'active' AND (s.invalidated_at IS NULL OR s.invalidated_at::timestamptz > %(instant)s)
  AND (s.valid_to IS NULL OR s.valid_to::timestamptz > %(instant)s)
  AND (%(text)s = '' OR strpos(lower(coalesce(v.content, '')), lower(%(text)s)) > 0)
ORDER BY s.valid_from DESC NULLS LAST, s.id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class MemoryThen:
    """A memory with what it said, and the ring and stage that it was in."""

    id: str
    external_id: str | None
    kind: str
    ring: str
    stage: str
    text: str
    valid_from: datetime | None

    def to_json(self) -> dict[str, object]:
        """As the command line's ``--json`` shows it."""
        return {**asdict(self), "valid_from": None if self.valid_from is None else self.valid_from.isoformat()}


def memories_as_of(
    connection: Connection, namespace_id: str, instant: datetime, *, text: str = "", limit: int = 100
) -> tuple[MemoryThen, ...]:
    """The live, active memories of a namespace at ``instant`` (aware) that hold ``text``, the newest first.

    Rows that a purge, or the undo of their insert, deleted since are not among them. Where retention has let go of a cell's
    before-images, it is as the first change that is still kept found it, or as it is now.
    Cost: a pass over the namespace's memories and its journal.
    """
    rows = connection.execute(
        _THEN.encode(),
        {"namespace": namespace_id, "instant": instant, "columns": list(_COLUMNS), "text": text, "limit": limit},
    )
    return tuple(
        MemoryThen(
            *(str(id_), None if external is None else str(external), str(kind), str(ring), str(stage), str(said)),
            start if isinstance(start, datetime) else None,
        )
        for id_, external, kind, ring, stage, said, start in rows
    )
