"""From the rows of a file to rows of the store: documents, chunks, memories, entities, relationships and their vectors.

Reading formats belongs to the readers beside this module, names and co-occurrences to ``slowwave.imports.mentions``. Each
namespace is one transaction. Row ids follow from the namespace and the source's ids, so a file imported twice adds nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
import psycopg
from sqlalchemy import Table

from slowwave.errors import ImportRefused, StoreError
from slowwave.imports import mentions
from slowwave.imports.rows import RowCheck, SkippedRow
from slowwave.imports.screening import State
from slowwave.language.embedder import Embedder, entity_text
from slowwave.store import tables
from slowwave.store.load import load_rows

Progress = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""

NAMESPACES: Final = uuid5(NAMESPACE_URL, "slowwave:namespace")
"""A namespace's id is ``uuid5(NAMESPACES, slug)``."""

_BLOCK: Final = 1024
"""Texts embedded, and vectors inserted, between two steps of a progress bar; both take about as long."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said or noted: a chunk and a memory. ``session`` groups turns of a namespace into documents."""

    namespace: str
    external_id: str
    created_at: datetime
    role: str
    content: str
    session: str
    title: str = ""
    kind: str = "episodic"
    subject: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    state: State = "active"


@dataclass(frozen=True, slots=True)
class Record:
    """One entity as its source has it."""

    external_id: str
    source: str
    entity_type: str
    name: str
    attributes: Mapping[str, Any]
    state: State = "active"


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did: slugs, rows added by table, rows left out, rows seen, and good rows that were there already.

    ``screened`` counts the rows that held a secret, an injection, hidden characters or look-alikes, by kind; of those, ``quarantined``
    begin outside recall.
    """

    namespaces: tuple[str, ...]
    added: Mapping[str, int]
    skipped: tuple[SkippedRow, ...]
    seen: int
    known: int
    screened: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0


def namespace_id(slug: str) -> str:
    """The id that a namespace gets when an import creates it."""
    return str(uuid5(NAMESPACES, slug))


def write_turns(
    connection: psycopg.Connection[Any],
    turns: Sequence[Turn],
    check: RowCheck,
    *,
    embedder: Embedder,
    source: str,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write the turns that a namespace does not have yet; one transaction a namespace.

    A turn becomes a chunk of its session's document and a memory with its first version (valid from ``created_at``). Names
    in it become entities or add to those that stand; names of one chunk become ASSOCIATED_WITH relationships. A turn is known
    by its external id, whatever it says; known turns change nothing. Vectors are made before the first row is written. A quarantined
    turn becomes a memory alone: its words make no chunk and no names, which recall would find.
    Raises ``ImportRefused`` (read-only namespace), ``EmbeddingError``, ``StoreError``.
    """
    groups: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        groups[turn.namespace].append(turn)
    added: Counter[str] = Counter()
    known = 0
    steps = _Steps(progress, len(turns))
    _refuse_read_only(connection, groups)
    for slug, group in groups.items():
        with connection.transaction():
            namespace = _claim(connection, slug, added)
            fresh = _unknown(connection, namespace, group)
            known += len(group) - len(fresh)
            if fresh:
                _write_fresh(connection, namespace, fresh, embedder, source, added, steps.part(len(group)))
        steps.finish(len(group))
    return _summary(tuple(groups), added, check, known)


def write_records(
    connection: psycopg.Connection[Any],
    slug: str,
    records: Sequence[Record],
    check: RowCheck,
    *,
    embedder: Embedder,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write the entities that the namespace does not have yet, known by (source, external id); one transaction.

    Raises as ``write_turns`` does.
    """
    added: Counter[str] = Counter()
    steps = _Steps(progress, len(records))
    known = 0
    if records:
        with connection.transaction():
            namespace = _claim(connection, slug, added)
            held = set(
                connection.execute(
                    "SELECT source, external_id FROM memory.entities WHERE namespace_id = %s AND external_id IS NOT NULL",
                    [namespace],
                ).fetchall()
            )
            fresh = [record for record in records if (record.source, record.external_id) not in held]
            known = len(records) - len(fresh)
            if fresh:
                step = steps.part(len(records))
                texts = [entity_text(record.name, record.entity_type) for record in fresh]
                vectors = _embed(embedder, texts, step)
                ids = [_id(namespace, "entities", record.source, record.external_id) for record in fresh]
                rows = (_entity_row(namespace, row_id, record) for row_id, record in zip(ids, fresh, strict=True))
                _insert(connection, tables.entities, rows, len(ids), added)
                _insert_vectors(
                    connection, namespace, embedder.model, {"entity_vectors": (ids, texts)}, vectors, added, step
                )
        steps.finish(len(records))
    return _summary((slug,) if records else (), added, check, known)


def _summary(slugs: tuple[str, ...], added: Mapping[str, int], check: RowCheck, known: int) -> ImportSummary:
    screening = check.screening
    return ImportSummary(
        slugs, dict(added), tuple(check.skipped), check.seen, known, dict(screening.found), screening.quarantined
    )


def _write_fresh(
    connection: psycopg.Connection[Any],
    namespace: str,
    turns: Sequence[Turn],
    embedder: Embedder,
    source: str,
    added: Counter[str],
    step: Callable[[float], None],
) -> None:
    """Everything that new turns bring; ``step`` is told the share that is done."""
    documents, new_documents = _documents(connection, namespace, turns, source)
    chunk_ids = [_id(namespace, "chunks", turn.external_id) for turn in turns]
    memory_ids = [_id(namespace, "memories", turn.external_id) for turn in turns]
    version_ids = [_id(namespace, "memory_versions", turn.external_id) for turn in turns]
    contents = [turn.content for turn in turns]
    shown = [n for n, turn in enumerate(turns) if turn.state == "active"]
    passages = [
        mentions.Passage(chunk_ids[n], documents[turns[n].session], turns[n].created_at, turns[n].content)
        for n in shown
    ]
    graph = mentions.plan_graph(connection, namespace, mentions.read_names(passages))
    entities = mentions.entity_rows(namespace, graph, source)
    entity_texts = [entity_text(str(row["name"]), str(row["entity_type"])) for row in entities]
    vectors = _embed(embedder, [*contents, *entity_texts], step)

    _insert(connection, tables.documents, new_documents, len(new_documents), added)
    ordinals = _ordinals(connection, list(documents.values()))
    chunks: list[dict[str, object]] = []
    for chunk, turn in ((chunk_ids[n], turns[n]) for n in shown):
        document = documents[turn.session]
        ordinals[document] += 1
        chunks.append(
            {
                "id": chunk,
                "namespace_id": namespace,
                "external_id": turn.external_id,
                "document_id": document,
                "ordinal": ordinals[document],
                "content": turn.content,
            }
        )
    _insert(connection, tables.chunks, chunks, len(chunks), added)
    memories = [
        {
            "id": memory,
            "namespace_id": namespace,
            "external_id": turn.external_id,
            "kind": turn.kind,
            "subject": turn.subject,
            "author": turn.role,
            "source": source,
            "session_id": turn.session,
            "attributes": dict(turn.attributes),
            "source_document_ids": [documents[turn.session]],
            "source_chunk_ids": [chunk] if turn.state == "active" else [],
            "current_version_id": version,
            "valid_from": turn.created_at,
            "state": turn.state,
        }
        for memory, chunk, version, turn in zip(memory_ids, chunk_ids, version_ids, turns, strict=True)
    ]
    _insert(connection, tables.memories, memories, len(memories), added)
    versions = [
        {"id": version, "namespace_id": namespace, "memory_id": memory, "content": content}
        for version, memory, content in zip(version_ids, memory_ids, contents, strict=True)
    ]
    _insert(connection, tables.memory_versions, versions, len(versions), added)
    mentions.grow(connection, graph)
    _insert(connection, tables.entities, entities, len(entities), added)
    relationships = mentions.relationship_rows(namespace, graph)
    _insert(connection, tables.relationships, relationships, len(relationships), added)
    described = {
        "chunk_vectors": ([chunk_ids[n] for n in shown], [contents[n] for n in shown]),
        "memory_vectors": (memory_ids, contents),
        "entity_vectors": ([str(row["id"]) for row in entities], entity_texts),
    }
    _insert_vectors(connection, namespace, embedder.model, described, vectors, added, step)


def _refuse_read_only(connection: psycopg.Connection[Any], slugs: Iterable[str]) -> None:
    """Refuse before anything is written to any of them."""
    with connection.transaction():
        rows = connection.execute(
            "SELECT slug FROM memory.namespaces WHERE slug = ANY(%s) AND read_only ORDER BY slug", [list(slugs)]
        ).fetchall()
    if rows:
        raise ImportRefused(
            f"Read-only: {', '.join(slug for (slug,) in rows)}. Nothing was imported. "
            "Choose another namespace, or make it writable first."
        )


def _claim(connection: psycopg.Connection[Any], slug: str, added: Counter[str]) -> str:
    """The namespace's id; its row is made if absent and kept locked, so that imports into it take turns."""
    row = {"id": namespace_id(slug), "slug": slug}
    if made := load_rows(connection, tables.namespaces, [row]):
        added["namespaces"] += made
    found = connection.execute(
        "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s FOR NO KEY UPDATE", [slug]
    ).fetchone()
    if found is None:
        raise StoreError(f"The namespace {slug} was removed while it was being imported. Run the import again.")
    if found[1]:
        raise ImportRefused(f"Read-only: {slug}. Nothing was imported into it. Make it writable first.")
    return str(found[0])


def _unknown(connection: psycopg.Connection[Any], namespace: str, turns: Sequence[Turn]) -> list[Turn]:
    """Turns of which neither chunk nor memory stands, in order of time (the file's order among equals)."""
    rows = connection.execute(
        """
        SELECT external_id FROM memory.chunks WHERE namespace_id = %(namespace)s AND external_id = ANY(%(ids)s)
        UNION SELECT external_id FROM memory.memories WHERE namespace_id = %(namespace)s AND external_id = ANY(%(ids)s)
        """,
        {"namespace": namespace, "ids": [turn.external_id for turn in turns]},
    ).fetchall()
    known = {external_id for (external_id,) in rows}
    return sorted((turn for turn in turns if turn.external_id not in known), key=lambda turn: turn.created_at)


def _documents(
    connection: psycopg.Connection[Any], namespace: str, turns: Sequence[Turn], source: str
) -> tuple[dict[str, str], list[dict[str, object]]]:
    """(session → document id, rows of the documents that are not there yet). Their text stays in the chunks alone."""
    sessions = {f"{source}:{turn.session}": turn for turn in reversed(turns)}
    held = dict(
        connection.execute(
            "SELECT external_id, id::text FROM memory.documents WHERE namespace_id = %s AND external_id = ANY(%s)",
            [namespace, list(sessions)],
        ).fetchall()
    )
    ids = {turn.session: held.get(key, _id(namespace, "documents", key)) for key, turn in sessions.items()}
    rows: list[dict[str, object]] = [
        {
            "id": ids[turn.session],
            "namespace_id": namespace,
            "external_id": key,
            "source": source,
            "title": turn.title or f"Conversation of {turn.session}",
            "valid_from": datetime.combine(turn.created_at.date(), datetime.min.time(), UTC),
        }
        for key, turn in sessions.items()
        if key not in held
    ]
    return ids, rows


def _ordinals(connection: psycopg.Connection[Any], documents: Sequence[str]) -> defaultdict[str, int]:
    """Document → the last ordinal of its chunks, -1 for none."""
    rows = connection.execute(
        "SELECT document_id::text, max(ordinal) FROM memory.chunks WHERE document_id = ANY(%s::uuid[]) GROUP BY 1",
        [list(documents)],
    ).fetchall()
    return defaultdict(lambda: -1, rows)


def _entity_row(namespace: str, row_id: str, record: Record) -> dict[str, object]:
    return {
        "id": row_id,
        "namespace_id": namespace,
        "external_id": record.external_id,
        "source": record.source,
        "entity_type": record.entity_type,
        "name": record.name,
        "attributes": dict(record.attributes),
        "mention_count": 1,
        "state": record.state,
    }


def _insert(
    connection: psycopg.Connection[Any],
    table: Table,
    rows: Iterable[Mapping[str, object]],
    expected: int,
    added: Counter[str],
) -> None:
    """Load rows of which none may stand yet: a gap would leave others without their parent."""
    count = load_rows(connection, table, rows)
    if count != expected:
        raise StoreError(
            f"{expected - count} of {expected} new rows of {table.name} were there already under other ids, so this namespace "
            "was not imported. Another writer is at work: run the import again."
        )
    if count:
        added[table.name] += count


def _embed(embedder: Embedder, texts: Sequence[str], step: Callable[[float], None]) -> dict[str, np.ndarray]:
    """Text → (d,) float32."""
    distinct = list(dict.fromkeys(texts))
    vectors: dict[str, np.ndarray] = {}
    for start in range(0, len(distinct), _BLOCK):
        block = distinct[start : start + _BLOCK]
        vectors.update(zip(block, embedder.embed(block), strict=True))
        step(len(vectors) / len(distinct) / 2)
    return vectors


def _insert_vectors(
    connection: psycopg.Connection[Any],
    namespace: str,
    model: str,
    described: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    vectors: Mapping[str, np.ndarray],
    added: Counter[str],
    step: Callable[[float], None],
) -> None:
    """Register the model and load vectors; ``described``: vectors table → (row ids, the texts that describe them)."""
    dimensions = len(next(iter(vectors.values())))
    connection.execute("SELECT memory.register_vector_model(%s::text, %s::integer)", [model, dimensions])

    def rows(ids: Sequence[str], texts: Sequence[str]) -> Iterator[dict[str, object]]:
        for row_id, text in zip(ids, texts, strict=True):
            yield {"id": row_id, "model": model, "namespace_id": namespace, "vector": vectors[text]}

    done = 0
    total = sum(len(ids) for ids, _ in described.values())
    for name, (ids, texts) in described.items():
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            _insert(connection, getattr(tables, name), rows(block, texts[start : start + _BLOCK]), len(block), added)
            done += len(block)
            step((1 + done / total) / 2)


@dataclass(slots=True)
class _Steps:
    """Tells a progress bar about rows, over all namespaces."""

    progress: Progress | None
    total: int
    done: int = 0

    def part(self, rows: int) -> Callable[[float], None]:
        """For a share between 0 and 1 of the next ``rows``."""
        done = self.done

        def step(share: float) -> None:
            if self.progress is not None:
                self.progress(done + int(rows * share), self.total)

        return step

    def finish(self, rows: int) -> None:
        """``rows`` more are done."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.total)


def _id(namespace: str, *parts: str) -> str:
    return str(uuid5(UUID(namespace), "\0".join(parts)))
