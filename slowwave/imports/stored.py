"""What stands already of the turns and records of a file, and whether the file has changed since it was imported.

A file is compared with what *it* said before, not with what stands: nights and agents reword what an import wrote, and a file that is
imported once more must not take that back. Versions that an import wrote are known by their ids.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid5

import psycopg

FIELDS: Final = ("name", "entity_type", "attributes")
"""What an entities file says of an entity."""

_MEMORIES: Final = """
SELECT external_id, id::text, state = 'active' AND invalidated_at IS NULL AND (valid_to IS NULL OR valid_to > now()),
  current_version_id::text, source_chunk_ids::text[]
FROM memory.memories WHERE namespace_id = %s AND external_id = ANY(%s) ORDER BY id
"""
_LOCK_MEMORIES: Final = f"{_MEMORIES} FOR NO KEY UPDATE"
_VERSIONS: Final = """
SELECT memory_id::text, id::text, ordinal, encode(sha256(convert_to(content, 'UTF8')), 'hex')
FROM memory.memory_versions WHERE namespace_id = %s AND memory_id = ANY(%s::uuid[])
"""
_CHUNKS: Final = "SELECT external_id FROM memory.chunks WHERE namespace_id = %s AND external_id = ANY(%s)"
_ENTITIES: Final = """
SELECT e.source, e.external_id, e.id::text, e.name, e.entity_type, e.attributes FROM memory.entities e
JOIN unnest(%s::text[], %s::text[]) AS k (source, external_id) USING (source, external_id) WHERE e.namespace_id = %s
"""
_ERASED: Final = """
SELECT DISTINCT row_id::text FROM memory.erasures WHERE namespace_id = %s AND row_id = ANY(%s::uuid[]) AND table_name = %s
"""
_BEFORE_NIGHTS: Final = """
SELECT DISTINCT ON (j.row_id, j.column_name) j.row_id::text, j.column_name, b.before
FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id
WHERE j.row_id = ANY(%s::uuid[]) AND j.namespace_id = %s AND j.table_name = 'entities' AND j.action = 'set'
  AND j.column_name = ANY(%s) ORDER BY j.row_id, j.column_name, j.id
"""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory; ``digest`` is the SHA-256 of its text."""

    id: str
    ordinal: int
    digest: str


@dataclass(slots=True)
class StoredMemory:
    """A memory that has a turn's id. ``open`` says that it is live and active, and so may take a new version."""

    id: str
    open: bool
    current: str | None
    chunk_ids: tuple[str, ...]
    versions: list[Version] = field(default_factory=list)

    def says(self, namespace: str, external_id: str, content: str) -> bool:
        """Whether a file that says ``content`` brings nothing new: it said so the last time, or the memory says so now."""
        known = digest(content)
        own = [v for v in self.versions if v.id == version_id(namespace, external_id, v.ordinal)]
        last = max(own, key=lambda v: v.ordinal, default=None)
        if last is None:  # written by somebody else under this id
            return any(v.digest == known for v in self.versions)
        return known == last.digest or any(v.digest == known for v in self.versions if v.id == self.current)

    @property
    def next_ordinal(self) -> int:
        """The ordinal of a version that is added now."""
        return max((v.ordinal for v in self.versions), default=0) + 1


def row_id(namespace: str, *parts: str) -> str:
    """The id of a row that an import makes: the same parts always give the same."""
    return str(uuid5(UUID(namespace), "\0".join(parts)))


def version_id(namespace: str, external_id: str, ordinal: int = 1) -> str:
    """The id of a version that an import writes."""
    return row_id(namespace, "memory_versions", external_id, *_numbered(ordinal))


def chunk_id(namespace: str, external_id: str, ordinal: int = 1) -> str:
    """The id of the chunk that goes with it."""
    return row_id(namespace, "chunks", external_id, *_numbered(ordinal))


def digest(text: str) -> str:
    """SHA-256, as PostgreSQL's ``sha256`` of the text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def memories(
    connection: psycopg.Connection[Any], namespace: str, external_ids: Sequence[str], *, lock: bool = False
) -> dict[str, StoredMemory]:
    """External id → the memory that has it. ``lock`` keeps them as they are until the transaction ends."""
    rows = connection.execute(_LOCK_MEMORIES if lock else _MEMORIES, [namespace, list(external_ids)]).fetchall()
    found = {
        external: StoredMemory(id_, open_, current, tuple(chunks)) for external, id_, open_, current, chunks in rows
    }
    by_id = {stored.id: stored for stored in found.values()}
    versions = connection.execute(_VERSIONS, [namespace, list(by_id)]).fetchall()
    for memory, id_, ordinal, known in versions:
        by_id[memory].versions.append(Version(id_, ordinal, known))
    return found


def erased(connection: psycopg.Connection[Any], namespace: str, table: str, row_ids: Sequence[str]) -> frozenset[str]:
    """Return those of the rows of a table that a plan forgot for good; an import does not bring them back."""
    return frozenset(str(id_) for (id_,) in connection.execute(_ERASED, [namespace, list(row_ids), table]))


def chunks(connection: psycopg.Connection[Any], namespace: str, external_ids: Sequence[str]) -> frozenset[str]:
    """Those of the ids that a chunk has."""
    rows = connection.execute(_CHUNKS, [namespace, list(external_ids)]).fetchall()
    return frozenset(external for (external,) in rows)


def entities(
    connection: psycopg.Connection[Any], namespace: str, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """(source, external id) → what an import said of the entity that has them: its fields as they were before any night."""
    rows = connection.execute(
        _ENTITIES, [[source for source, _ in keys], [external for _, external in keys], namespace]
    ).fetchall()
    found: dict[tuple[str, str], dict[str, Any]] = {
        (source, external): dict(zip(FIELDS, said, strict=True)) for source, external, _, *said in rows
    }
    by_id = {id_: (source, external) for source, external, id_, *_ in rows}
    for id_, before in _before_nights(connection, namespace, list(by_id)).items():
        found[by_id[id_]] |= before
    return found


def _before_nights(
    connection: psycopg.Connection[Any], namespace: str, ids: Sequence[str]
) -> Mapping[str, dict[str, Any]]:
    """Entity → the fields that nights changed, as the first change found them."""
    rows = connection.execute(_BEFORE_NIGHTS, [list(ids), namespace, list(FIELDS)]).fetchall()
    before: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for id_, column, value in rows:
        if value is not None:
            before[id_][column] = json.loads(value) if column == "attributes" else value
    return before


def _numbered(ordinal: int) -> tuple[str, ...]:
    return () if ordinal == 1 else (str(ordinal),)
