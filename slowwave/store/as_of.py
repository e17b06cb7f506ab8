"""Read a namespace as it was at an earlier time, and load rows by COPY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from slowwave.store.logins import Connection

# A namespace at an earlier instant: what a recall could have found at that time, regardless of later nights.
#
# A night never overwrites text and deletes no row before its retention ends, and its journal keeps the former values of cells. So the
# former state of a row is its current state with the first later change of each cell reversed. The instant applies to both times: a row
# counts if it was recorded and not yet invalidated (system time), and had not ended (world time), as in recall itself.


@dataclass(frozen=True, slots=True)
class MemoryThen:
    """A memory with its text, ring and stage at that time."""

    id: str
    external_id: str | None
    kind: str
    ring: str
    stage: str
    text: str
    valid_from: datetime | None

    def to_json(self) -> dict[str, object]:
        """Return the form that the command line prints with ``--json``."""
        return _json(asdict(self))


@dataclass(frozen=True, slots=True)
class EntityThen:
    """An entity with its name and type at that time, and the aliases known then."""

    id: str
    external_id: str | None
    entity_type: str
    name: str
    description: str
    aliases: tuple[str, ...]
    valid_from: datetime | None
    valid_to: datetime | None

    def to_json(self) -> dict[str, object]:
        """Return the form that the command line prints with ``--json``."""
        return _json(asdict(self))


@dataclass(frozen=True, slots=True)
class RelationshipThen:
    """A relationship between two entities that were live at that time, with their names of then."""

    id: str
    external_id: str | None
    source_id: str
    source: str
    relationship_type: str
    target_id: str
    target: str
    description: str
    valid_from: datetime | None
    valid_to: datetime | None

    def to_json(self) -> dict[str, object]:
        """Return the form that the command line prints with ``--json``."""
        return _json(asdict(self))


@dataclass(frozen=True, slots=True)
class FactThen:
    """A fact that was active at that time."""

    id: str
    external_id: str | None
    subject: str
    predicate: str
    object: str
    text: str
    valid_from: datetime | None
    valid_to: datetime | None

    def to_json(self) -> dict[str, object]:
        """Return the form that the command line prints with ``--json``."""
        return _json(asdict(self))


@dataclass(frozen=True, slots=True)
class NamespaceThen:
    """The rows that were live at one time, the newest first."""

    memories: tuple[MemoryThen, ...]
    entities: tuple[EntityThen, ...]
    relationships: tuple[RelationshipThen, ...]
    facts: tuple[FactThen, ...]

    def __bool__(self) -> bool:
        return bool(self.memories or self.entities or self.relationships or self.facts)

    def to_json(self) -> dict[str, object]:
        """Return the form that the command line prints with ``--json``."""
        rows = {name: getattr(self, name) for name in ("memories", "entities", "relationships", "facts")}
        return {name: [row.to_json() for row in found] for name, found in rows.items()}


def as_of(
    connection: Connection, namespace_id: str, instant: datetime, *, text: str = "", limit: int = 100
) -> NamespaceThen:
    """Return the rows that were live in a namespace at ``instant`` (aware) and contain ``text``, the newest first.

    At most ``limit`` rows are returned per table. Rows that were deleted since, by a purge or by the undo of their insert, are missing.
    If retention has erased before-images of a cell, its value is the one before the first change that is still kept, or the current one.
    So is a cell that was not changed by a night. Cost: a pass over the namespace's memories, entities, relationships and facts, and one
    per table over its journal.
    """
    about = (connection, namespace_id, instant, text, limit)
    return NamespaceThen(
        memories_as_of(connection, namespace_id, instant, text=text, limit=limit),
        tuple(
            EntityThen(*_texts(row[:5]), tuple(row[5]) if isinstance(row[5], list) else (), *_instants(row[6:]))  # type: ignore[arg-type]
            for row in _rows(_ENTITIES, *about)
        ),
        tuple(RelationshipThen(*_texts(row[:8]), *_instants(row[8:])) for row in _rows(_RELATIONSHIPS, *about)),  # type: ignore[arg-type]
        tuple(FactThen(*_texts(row[:6]), *_instants(row[6:])) for row in _rows(_FACTS, *about)),  # type: ignore[arg-type]
    )


def memories_as_of(
    connection: Connection, namespace_id: str, instant: datetime, *, text: str = "", limit: int = 100
) -> tuple[MemoryThen, ...]:
    """Return only the memories of ``as_of``."""
    rows = _rows(_MEMORIES, connection, namespace_id, instant, text, limit)
    return tuple(MemoryThen(*_texts(row[:6]), *_instants(row[6:])) for row in rows)  # type: ignore[arg-type]


def _stood(name: str, table: str, changing: Sequence[str], fixed: Sequence[str]) -> str:
    """Return the SQL of the common table expressions ``name_changed`` and ``name``, the rows of a table at the time.

    ``name`` has the rows that were recorded by then: the ``changing`` cells with their value of then, as text, and the ``fixed`` cells
    with their current value.
    """
    changed = ", ".join(
        f"bool_or(column_name = '{c}') AS c_{c}, max(before) FILTER (WHERE column_name = '{c}') AS b_{c}"
        for c in changing
    )
    stood = ", ".join(f"CASE WHEN c.c_{c} THEN c.b_{c} ELSE m.{c}::text END AS {c}" for c in changing)
    return f"""
{name}_changed AS (
  SELECT row_id, {changed} FROM (
    SELECT DISTINCT ON (j.row_id, j.column_name) j.row_id, j.column_name, b.before
    FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id
    WHERE j.namespace_id = %(namespace)s AND j.table_name = '{table}' AND j.action = 'set' AND j.recorded_at > %(instant)s
      AND j.column_name IN ({", ".join(f"'{c}'" for c in changing)})
    ORDER BY j.row_id, j.column_name, j.id) earlier
  GROUP BY row_id
), {name} AS (
  SELECT {", ".join(f"m.{c}" for c in fixed)}, {stood}
  FROM memory.{table} m LEFT JOIN {name}_changed c ON c.row_id = m.id
  WHERE m.namespace_id = %(namespace)s AND m.recorded_at <= %(instant)s
)"""


_LIVE: Final = (
    "(s.invalidated_at IS NULL OR s.invalidated_at::timestamptz > %(instant)s) "
    "AND (s.valid_to IS NULL OR s.valid_to::timestamptz > %(instant)s)"
)
_NEWEST: Final = "ORDER BY s.valid_from DESC NULLS LAST, s.recorded_at DESC, s.id LIMIT %(limit)s"
_FIXED: Final = ("id", "external_id", "recorded_at", "valid_from")
_ENDING: Final = ("invalidated_at", "valid_to")


def _holds(*columns: str) -> str:
    """Return the SQL condition that the columns, joined by spaces, contain the wanted text, ignoring case."""
    joined = " || ' ' || ".join(f"coalesce({c}, '')" for c in columns)
    return f"(%(text)s = '' OR strpos(lower({joined}), lower(%(text)s)) > 0)"


_MEMORIES: Final = f"""
WITH {_stood("s", "memories", ("state", "stage", "ring", "current_version_id", *_ENDING), (*_FIXED, "kind"))}
SELECT s.id::text, s.external_id, s.kind, s.ring, s.stage, coalesce(v.content, ''), s.valid_from
FROM s LEFT JOIN memory.memory_versions v ON v.id = s.current_version_id::uuid
WHERE s.state = 'active' AND {_LIVE} AND {_holds("v.content")} {_NEWEST}
"""

_ENTITIES: Final = f"""
WITH {_stood("s", "entities", ("entity_type", "name", "description", "state", *_ENDING), _FIXED)}
SELECT s.id::text, s.external_id, s.entity_type, s.name, s.description, a.aliases, s.valid_from, s.valid_to::timestamptz
FROM s LEFT JOIN LATERAL (
  SELECT array_agg(k.alias ORDER BY k.alias) AS aliases FROM memory.entity_aliases k
  WHERE k.entity_id = s.id AND k.recorded_at <= %(instant)s) a ON true
WHERE s.state = 'active' AND {_LIVE}
  AND {_holds("s.name", "s.description", "array_to_string(a.aliases, ' ')")} {_NEWEST}
"""

_RELATIONSHIPS: Final = f"""
WITH {_stood("x", "entities", ("name", *_ENDING), ("id",))},
e AS (SELECT s.id, s.name FROM x s WHERE {_LIVE}),
{_stood("s", "relationships", ("source_entity_id", "target_entity_id", "relationship_type", "description", *_ENDING), _FIXED)}
SELECT s.id::text, s.external_id, s.source_entity_id, f.name, s.relationship_type, s.target_entity_id, t.name, s.description, s.valid_from,
  s.valid_to::timestamptz
FROM s JOIN e f ON f.id = s.source_entity_id::uuid JOIN e t ON t.id = s.target_entity_id::uuid
WHERE {_LIVE} AND {_holds("f.name", "s.relationship_type", "t.name", "s.description")} {_NEWEST}
"""

_FACTS: Final = f"""
WITH {_stood("s", "memory_facts", ("subject", "predicate", "object", "fact_text", "is_active", *_ENDING), _FIXED)}
SELECT s.id::text, s.external_id, s.subject, s.predicate, s.object, s.fact_text, s.valid_from, s.valid_to::timestamptz
FROM s WHERE s.is_active::boolean AND {_LIVE} AND {_holds("s.subject", "s.predicate", "s.object", "s.fact_text")} {_NEWEST}
"""


def _rows(
    query: str, connection: Connection, namespace_id: str, instant: datetime, text: str, limit: int
) -> list[tuple[object, ...]]:
    values = {"namespace": namespace_id, "instant": instant, "text": text, "limit": limit}
    return connection.execute(query.encode(), values).fetchall()


def _texts(values: Sequence[object]) -> list[str | None]:
    return [None if value is None else str(value) for value in values]


def _instants(values: Sequence[object]) -> list[datetime | None]:
    return [value if isinstance(value, datetime) else None for value in values]


def _json(row: dict[str, object]) -> dict[str, object]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value
        for name, value in row.items()
    }
