"""Load new rows and vectors in batches into a namespace, and find out which rows of a file are stored already."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
import psycopg
from sqlalchemy import Table

from slowwave.errors import ImportRefused, StoreError
from slowwave.models.embedder import Embedder
from slowwave.models.embedding_models import OFFLINE_MODELS
from slowwave.store import tables
from slowwave.store.configured_models import embedder_for
from slowwave.store.load import load_rows
from slowwave.store.namespaces import refuse_reserved
from slowwave.store.settings import Settings

# Loading: new rows and their vectors are added to the store's tables; none of them may exist yet.

_BLOCK: Final = 256
"""Texts embedded, and vectors inserted, between two steps of a progress bar; both take about as long."""

_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


def insert(
    connection: psycopg.Connection[Any],
    table: Table,
    rows: Iterable[Mapping[str, object]],
    expected: int,
    added: Counter[str],
) -> None:
    """Load rows of which none may exist yet, because a missing row would leave others without their parent."""
    count = load_rows(connection, table, rows)
    if count != expected:
        raise StoreError(
            f"{expected - count} of {expected} new rows of {table.name} were there already under other ids, so its last batch "
            "was not imported. Another writer is at work: run the import again."
        )
    if count:
        added[table.name] += count


class LoadedVectors:
    """The vectors of one embedder by text, each computed once until it is forgotten."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._of: dict[str, np.ndarray] = {}

    @property
    def model(self) -> str:
        """Return the model of the vectors."""
        return self._embedder.model

    def get(self, text: str) -> np.ndarray:
        """Return the (d,) float32 vector of a text that was passed to ``need``."""
        return self._of[text]

    def need(self, texts: Iterable[str], step: Callable[[float], None]) -> None:
        """Compute the vectors that are missing."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._of]
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            self._of.update(zip(block, self._embedder.embed(block), strict=True))
            step(min(1.0, (start + _BLOCK) / len(missing)) / 2)

    def forget(self) -> None:
        """Drop all vectors."""
        self._of.clear()


def vector_rows(
    namespace: str,
    ids: Sequence[str],
    texts: Sequence[str],
    vectors: LoadedVectors,
    speakers: Mapping[str, str | None] | None = None,
) -> Iterator[dict[str, object]]:
    """Yield the rows of a table of vectors for the texts that describe the rows with these ids.

    Rows of ``chunk_vectors`` record the speaker whose name is in the text, by the id of the chunk (``speakers``).
    """
    for row_id, text in zip(ids, texts, strict=True):
        row: dict[str, object] = {
            "id": row_id,
            "model": vectors.model,
            "namespace_id": namespace,
            "vector": vectors.get(text),
        }
        yield row if speakers is None else row | {"speaker": speakers.get(row_id)}


def insert_vectors(
    connection: psycopg.Connection[Any],
    namespace: str,
    described: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    vectors: LoadedVectors,
    added: Counter[str],
    step: Callable[[float], None],
    speakers: Mapping[str, str | None] | None = None,
) -> None:
    """Register the model and load vectors.

    ``described``: vectors table → (row ids, the texts that describe them); ``speakers``: chunk → the speaker in its text.
    """
    total = sum(len(ids) for ids, _ in described.values())
    if not total:
        return
    dimensions = len(next(vectors.get(text) for _, texts in described.values() for text in texts))
    connection.execute(_REGISTER_MODEL, [vectors.model, dimensions])

    done = 0
    for name, (ids, texts) in described.items():
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            recorded = speakers if name == "chunk_vectors" else None
            rows = vector_rows(namespace, block, texts[start : start + _BLOCK], vectors, recorded)
            insert(connection, getattr(tables, name), rows, len(block), added)
            done += len(block)
            step((1 + done / total) / 2)


# Batches: the size of one transaction of an import, and how a progress bar follows it.

Progress = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""
_T = TypeVar("_T")
BATCH_ROWS: Final = 512
BATCH_CHARACTERS: Final = 200_000
BATCH_NAMES: Final = 2_000
"""The most rows, characters and names of one transaction; a single turn may have more, within separate limits."""


def batches(rows: Sequence[_T], size: Callable[[_T], int], most: int) -> Iterator[Sequence[_T]]:
    """Yield rows in order, in batches of at most ``BATCH_ROWS`` and of a total ``size`` of at most ``most``, or of one row."""
    begin = total = 0
    for place, row in enumerate(rows):
        own = size(row)
        if place > begin and (place - begin == BATCH_ROWS or total + own > most):
            yield rows[begin:place]
            begin, total = place, 0
        total += own
    if begin < len(rows):
        yield rows[begin:]


@dataclass(slots=True)
class Steps:
    """The progress of rows over all namespaces, for a progress bar."""

    progress: Progress | None
    total: int
    done: int = 0

    def part(self, rows: int) -> Callable[[float], None]:
        """Return a callback for the completed share, from 0 to 1, of the next ``rows``."""
        done = self.done

        def step(share: float) -> None:
            if self.progress is not None:
                self.progress(done + int(rows * share), self.total)

        return step

    def finish(self, rows: int) -> None:
        """Report that ``rows`` more are done."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.total)


# The namespace that an import writes to: found, or added with its first rows.

NAMESPACES: Final = uuid5(NAMESPACE_URL, "slowwave:namespace")
"""A namespace's id is ``uuid5(NAMESPACES, slug)``."""

_READ_ONLY: Final = "SELECT slug FROM memory.namespaces WHERE slug = ANY(%s) AND read_only ORDER BY slug"
_LOCK_NAMESPACE: Final = "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s FOR NO KEY UPDATE"
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = %s"
_NAMESPACE_ID: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s"


def namespace_id(slug: str) -> str:
    """Return the id that a namespace gets when an import creates it."""
    return str(uuid5(NAMESPACES, slug))


def refuse_read_only(connection: psycopg.Connection[Any], slugs: Iterable[str]) -> None:
    """Refuse read-only namespaces before anything is written to any of them."""
    with connection.transaction():
        rows = connection.execute(_READ_ONLY, [list(slugs)]).fetchall()
    if rows:
        raise ImportRefused(
            f"Read-only: {', '.join(slug for (slug,) in rows)}. Nothing was imported. "
            "Choose another namespace, or make it writable first."
        )


def claim(connection: psycopg.Connection[Any], slug: str, added: Counter[str], model: str) -> str:
    """Return the id of a namespace whose row is created if absent and locked, so that imports into it run one at a time.

    A new namespace keeps the model of its first vectors, whatever the default is later. The model of an endpoint is left to the
    environment variables.
    """
    refuse_reserved(slug)
    settings = {"embedding_model": model} if model in OFFLINE_MODELS else {}
    row = {"id": namespace_id(slug), "slug": slug, "settings": settings}
    if made := load_rows(connection, tables.namespaces, [row]):
        added["namespaces"] += made
    found = connection.execute(_LOCK_NAMESPACE, [slug]).fetchone()
    if found is None:
        raise StoreError(f"The namespace {slug} was removed while it was being imported. Run the import again.")
    if found[1]:
        raise ImportRefused(f"Read-only: {slug}. Nothing was imported into it. Make it writable first.")
    return str(found[0])


def namespace_embedder(connection: psycopg.Connection[Any], slug: str, usual: Embedder) -> Embedder:
    """Return the embedder of a namespace's own model.

    This is ``usual`` if it has the same model, if the namespace sets no model, or if there is no such namespace.
    """
    with connection.transaction():
        row = connection.execute(_NAMESPACE_SETTINGS, [slug]).fetchone()
    own = row[0].get("embedding_model") if row else None
    return usual if row is None or own in (None, usual.model) else embedder_for(Settings.for_namespace(row[0]))


def found_id(connection: psycopg.Connection[Any], slug: str) -> str:
    """Return the id of the namespace, or the id that it will get."""
    found = connection.execute(_NAMESPACE_ID, [slug]).fetchone()
    return str(found[0]) if found else namespace_id(slug)


# Which turns and records of a file exist already, and whether the file has changed since it was imported.
#
# A file is compared with its own previous content, not with the present rows: nights and agents change what an import wrote, and importing
# the file once more must not undo that. Versions that an import wrote are recognised by their ids.

FIELDS: Final = ("name", "entity_type", "attributes")
"""The fields of an entity that an entities file contains."""

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
    """A version of a memory; ``digest`` is the SHA-256 of its text."""

    id: str
    ordinal: int
    digest: str


@dataclass(slots=True)
class StoredMemory:
    """A memory that has a turn's id; it is ``open`` to a new version if it is live and active."""

    id: str
    open: bool
    current: str | None
    chunk_ids: tuple[str, ...]
    versions: list[Version] = field(default_factory=list)

    def says(self, namespace: str, external_id: str, content: str) -> bool:
        """Return whether a file with ``content`` adds nothing new to the memory.

        That is so if the last import had the same content, or if the memory has it now.
        """
        known = digest(content)
        own = [v for v in self.versions if v.id == version_id(namespace, external_id, v.ordinal)]
        last = max(own, key=lambda v: v.ordinal, default=None)
        if last is None:  # another program wrote the row under this id
            return any(v.digest == known for v in self.versions)
        return known == last.digest or any(v.digest == known for v in self.versions if v.id == self.current)

    @property
    def next_ordinal(self) -> int:
        """Return the ordinal of a version that is added now."""
        return max((v.ordinal for v in self.versions), default=0) + 1


def row_id(namespace: str, *parts: str) -> str:
    """Return the id of a row that an import creates; the same parts always give the same id."""
    return str(uuid5(UUID(namespace), "\0".join(parts)))


def version_id(namespace: str, external_id: str, ordinal: int = 1) -> str:
    """Return the id of a version that an import writes."""
    return row_id(namespace, "memory_versions", external_id, *_numbered(ordinal))


def chunk_id(namespace: str, external_id: str, ordinal: int = 1) -> str:
    """Return the id of the chunk that belongs to a version that an import writes."""
    return row_id(namespace, "chunks", external_id, *_numbered(ordinal))


def digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, as PostgreSQL's ``sha256`` does."""
    return hashlib.sha256(text.encode()).hexdigest()


def memories(
    connection: psycopg.Connection[Any], namespace: str, external_ids: Sequence[str], *, lock: bool = False
) -> dict[str, StoredMemory]:
    """Return external id → memory; ``lock`` keeps the memories as they are until the transaction ends."""
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
    """Return those of the external ids that have a chunk."""
    rows = connection.execute(_CHUNKS, [namespace, list(external_ids)]).fetchall()
    return frozenset(external for (external,) in rows)


def entities(
    connection: psycopg.Connection[Any], namespace: str, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (source, external id) → the fields of the entity as the import wrote them, before any night."""
    rows = connection.execute(
        _ENTITIES, [[source for source, _ in keys], [external for _, external in keys], namespace]
    ).fetchall()
    found: dict[tuple[str, str], dict[str, Any]] = {
        (source, external): dict(zip(FIELDS, values, strict=True)) for source, external, _, *values in rows
    }
    by_id = {id_: (source, external) for source, external, id_, *_ in rows}
    for id_, before in _before_nights(connection, namespace, list(by_id)).items():
        found[by_id[id_]] |= before
    return found


def _before_nights(
    connection: psycopg.Connection[Any], namespace: str, ids: Sequence[str]
) -> Mapping[str, dict[str, Any]]:
    """Return entity → the fields that nights changed, with their values before the first change."""
    rows = connection.execute(_BEFORE_NIGHTS, [list(ids), namespace, list(FIELDS)]).fetchall()
    before: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for id_, column, value in rows:
        if value is not None:
            before[id_][column] = json.loads(value) if column == "attributes" else value
    return before


def _numbered(ordinal: int) -> tuple[str, ...]:
    return () if ordinal == 1 else (str(ordinal),)
