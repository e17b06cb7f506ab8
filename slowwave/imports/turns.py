"""Turns of conversations and blocks of agents: what a batch of them brings to the store, as documents, chunks, memories and entities."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import psycopg

from slowwave.imports import mentions, stored
from slowwave.imports.batches import BATCH_NAMES, batches
from slowwave.imports.loading import LoadedVectors, insert, insert_vectors
from slowwave.imports.namespaces import claim, found_id
from slowwave.imports.screening import State
from slowwave.imports.stored import StoredMemory
from slowwave.language.embedder import entity_text, passage_text
from slowwave.rows.small_talk import KINDS
from slowwave.store import tables

_RETIRE_CHUNKS: Final = """
UPDATE memory.chunks SET invalidated_at = now() WHERE namespace_id = %s AND id = ANY(%s::uuid[]) AND invalidated_at IS NULL
"""
_POINT_AT_VERSIONS: Final = """
UPDATE memory.memories AS m SET current_version_id = n.version, stage = 'full', source_chunk_ids = ARRAY(
  SELECT c FROM unnest(m.source_chunk_ids) WITH ORDINALITY AS s (c, place)
  WHERE c::text NOT IN (SELECT jsonb_array_elements_text(n.retired::jsonb)) ORDER BY place) || n.chunk
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[]) AS n (id, version, chunk, retired)
WHERE m.id = n.id AND m.namespace_id = %s
"""
_FORGET_VECTORS: Final = "DELETE FROM memory.memory_vectors WHERE namespace_id = %s AND id = ANY(%s::uuid[])"
_DOCUMENTS: Final = (
    "SELECT external_id, id::text FROM memory.documents WHERE namespace_id = %s AND external_id = ANY(%s)"
)
_LAST_ORDINALS: Final = """
SELECT document_id::text, max(ordinal) FROM memory.chunks WHERE document_id = ANY(%s::uuid[]) GROUP BY 1
"""

_ROLES: Final = frozenset(
    (
        "agent",
        "ai",
        "assistant",
        "bot",
        "developer",
        "function",
        "human",
        "memory_block",
        "model",
        "system",
        "tool",
        "user",
    )
)
"""Roles that name no one. A vector that began with one of them found no more (memorybank, 40 questions with known answers)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said or noted: a chunk and a memory. ``session`` groups turns of a namespace into documents.

    ``formerly`` are other ids under which an import may have kept this very text.
    """

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
    formerly: tuple[str, ...] = ()

    @property
    def speaker(self) -> str | None:
        """The name of who said it, if it was said and the role is a name."""
        role = self.role.strip()
        return role if role and self.kind in KINDS and role.lower() not in _ROLES else None

    @property
    def passage(self) -> str:
        """The text of which the vector of its chunk is made."""
        return passage_text(self.content, self.speaker)


@dataclass(slots=True)
class ImportTally:
    """What was done so far."""

    added: Counter[str] = field(default_factory=Counter)
    known: int = 0
    reworded: int = 0
    left: list[str] = field(default_factory=list)
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    """What a batch has to write: new turns, turns whose memory takes a new version, and what is in their names."""

    fresh: Sequence[Turn]
    reworded: Sequence[tuple[Turn, StoredMemory]]
    left: Sequence[str]
    sessions: Mapping[str, str]
    new_documents: Sequence[Mapping[str, object]]
    passages: Sequence[tuple[Turn, mentions.MentionContext]]
    graph: mentions.MentionGraph
    entities: Sequence[Mapping[str, object]]

    @property
    def turns(self) -> list[Turn]:
        """All that is written."""
        return [*self.fresh, *(turn for turn, _ in self.reworded)]

    def texts(self) -> list[str]:
        """All that gets a vector."""
        texts = [text for turn in self.turns for text in (turn.content, turn.passage)]
        return [*texts, *map(_row_text, self.entities)]


class ImportTarget:
    """A namespace that turns are written to; without ``names``, those in them become no entities."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        slug: str,
        source: str,
        vectors: LoadedVectors,
        tally: ImportTally,
        *,
        names: bool = True,
    ) -> None:
        self._read_names = names
        self._connection, self._slug, self._source = connection, slug, source
        self._vectors, self._tally = vectors, tally
        self._names: dict[str, mentions.NamesInText] = {}

    def write(self, batch: Sequence[Turn], step: Callable[[float], None]) -> None:
        """Write what the batch brings, in as many transactions as its names want; ``step`` is called with the share that is done."""
        with self._connection.transaction():
            namespace = found_id(self._connection, self._slug)
            batch, forgotten = self._without_erased(namespace, batch)
            work = self._sorted_out(namespace, batch)
        self._tally.forgotten += forgotten
        self._tally.known -= forgotten
        self._tally.left += work.left
        self._names = {
            turn.external_id: mentions.read_names(turn.content)
            for turn in work.turns
            if turn.state == "active" and self._read_names
        }
        for part in batches(work.turns, lambda turn: len(self._read(turn).found), BATCH_NAMES):
            with self._connection.transaction():
                self._vectors.need(self._sorted_out(found_id(self._connection, self._slug), part).texts(), step)
            with self._connection.transaction():
                namespace = claim(self._connection, self._slug, self._tally.added, self._vectors.model)
                work = self._sorted_out(namespace, part, lock=True)
                self._vectors.need(work.texts(), step)  # nothing, unless another writer came between
                if work.turns:
                    self._write(namespace, work, step)
            self._tally.known -= len(work.fresh)
            self._tally.reworded += len(work.reworded)
            self._vectors.forget()

    def _without_erased(self, namespace: str, turns: Sequence[Turn]) -> tuple[list[Turn], int]:
        """Return the turns of which no memory was forgotten for good, and how many others there are."""
        ids = {turn.external_id: stored.row_id(namespace, "memories", turn.external_id) for turn in turns}
        gone = stored.erased(self._connection, namespace, "memories", list(ids.values()))
        kept = [turn for turn in turns if ids[turn.external_id] not in gone]
        return kept, len(turns) - len(kept)

    def _read(self, turn: Turn) -> mentions.NamesInText:
        return self._names.get(turn.external_id, mentions.NamesInText())

    def _sorted_out(self, namespace: str, turns: Sequence[Turn], *, lock: bool = False) -> _Work:
        """Reads only; names are those that have been read so far."""
        connection = self._connection
        ids = [turn.external_id for turn in turns]
        held = stored.memories(connection, namespace, [*ids, *(i for turn in turns for i in turn.formerly)], lock=lock)
        passages = stored.chunks(connection, namespace, ids)
        fresh: list[Turn] = []
        reworded: list[tuple[Turn, StoredMemory]] = []
        left: list[str] = []
        for turn in turns:
            memory = held.get(turn.external_id)
            earlier = (held[i].says(namespace, i, turn.content) for i in turn.formerly if i in held)
            if memory is None:
                if turn.external_id not in passages and not any(earlier):
                    fresh.append(turn)
            elif not memory.says(namespace, turn.external_id, turn.content):
                if memory.open and turn.state == "active":
                    reworded.append((turn, memory))
                else:
                    left.append(turn.external_id)
        sessions, documents = _documents(connection, namespace, [*fresh, *(turn for turn, _ in reworded)], self._source)
        shown = [(turn, 1) for turn in fresh if turn.state == "active"]
        shown += [(turn, memory.next_ordinal) for turn, memory in reworded]
        seen = [
            (turn, mentions.MentionContext(_chunk(namespace, turn, n), sessions[turn.session], turn.created_at))
            for turn, n in shown
        ]
        graph = mentions.plan_graph(connection, namespace, [(passage, self._read(turn)) for turn, passage in seen])
        entities = mentions.entity_rows(namespace, graph, self._source)
        return _Work(fresh, reworded, left, sessions, documents, seen, graph, entities)

    def _write(self, namespace: str, work: _Work, step: Callable[[float], None]) -> None:
        connection, added = self._connection, self._tally.added
        insert(connection, tables.documents, work.new_documents, len(work.new_documents), added)
        retired = [chunk for turn, memory in work.reworded for chunk in _own_chunks(namespace, turn, memory)]
        connection.execute(_RETIRE_CHUNKS, [namespace, retired])
        ordinals = _ordinals(connection, list(work.sessions.values()))
        versions = {turn.external_id: memory.next_ordinal for turn, memory in work.reworded}
        chunks: list[dict[str, object]] = []
        for turn, passage in work.passages:
            ordinals[passage.document_id] += 1
            n = versions.get(turn.external_id, 1)
            chunks.append(
                {
                    "id": passage.chunk_id,
                    "namespace_id": namespace,
                    "external_id": turn.external_id if n == 1 else f"{turn.external_id}#{n}",
                    "document_id": passage.document_id,
                    "ordinal": ordinals[passage.document_id],
                    "content": turn.content,
                    "speaker": turn.speaker,
                }
            )
        insert(connection, tables.chunks, chunks, len(chunks), added)
        memories = [self._memory_row(namespace, turn, work.sessions[turn.session]) for turn in work.fresh]
        insert(connection, tables.memories, memories, len(memories), added)
        memory_ids = [*(str(row["id"]) for row in memories), *(memory.id for _, memory in work.reworded)]
        rows = [
            {
                "id": stored.version_id(namespace, turn.external_id, n),
                "namespace_id": namespace,
                "memory_id": memory,
                "ordinal": n,
                "content": turn.content,
            }
            for turn, memory in zip(work.turns, memory_ids, strict=True)
            for n in (versions.get(turn.external_id, 1),)
        ]
        insert(connection, tables.memory_versions, rows, len(rows), added)
        _point_at_versions(connection, namespace, work.reworded)
        mentions.grow(connection, work.graph)
        insert(connection, tables.entities, work.entities, len(work.entities), added)
        relationships = mentions.relationship_rows(namespace, work.graph)
        insert(connection, tables.relationships, relationships, len(relationships), added)
        described = {
            "chunk_vectors": ([p.chunk_id for _, p in work.passages], [turn.passage for turn, _ in work.passages]),
            "memory_vectors": (memory_ids, [turn.content for turn in work.turns]),
            "entity_vectors": ([str(row["id"]) for row in work.entities], [_row_text(row) for row in work.entities]),
        }
        speakers = {passage.chunk_id: turn.speaker for turn, passage in work.passages}
        insert_vectors(connection, namespace, described, self._vectors, added, step, speakers)

    def _memory_row(self, namespace: str, turn: Turn, document: str) -> dict[str, object]:
        return {
            "id": stored.row_id(namespace, "memories", turn.external_id),
            "namespace_id": namespace,
            "external_id": turn.external_id,
            "kind": turn.kind,
            "subject": turn.subject,
            "author": turn.role,
            "source": self._source,
            "session_id": turn.session,
            "attributes": dict(turn.attributes),
            "source_document_ids": [document],
            "source_chunk_ids": [_chunk(namespace, turn)] if turn.state == "active" else [],
            "current_version_id": stored.version_id(namespace, turn.external_id),
            "valid_from": turn.created_at,
            "state": turn.state,
        }


def _chunk(namespace: str, turn: Turn, ordinal: int = 1) -> str:
    return stored.chunk_id(namespace, turn.external_id, ordinal)


def _own_chunks(namespace: str, turn: Turn, memory: StoredMemory) -> list[str]:
    """The chunks among a memory's sources that imports of this turn made; others came to it by merges."""
    made = {_chunk(namespace, turn, n) for n in range(1, memory.next_ordinal)}
    return [chunk for chunk in memory.chunk_ids if chunk in made]


def _point_at_versions(
    connection: psycopg.Connection[Any], namespace: str, reworded: Sequence[tuple[Turn, StoredMemory]]
) -> None:
    """Let memories say what their new versions say: whole, with the new chunk for the old one, and no vector of the old text."""
    columns = [
        (
            memory.id,
            stored.version_id(namespace, turn.external_id, memory.next_ordinal),
            _chunk(namespace, turn, memory.next_ordinal),
            json.dumps(_own_chunks(namespace, turn, memory)),
        )
        for turn, memory in reworded
    ]
    connection.execute(_POINT_AT_VERSIONS, [*([row[k] for row in columns] for k in range(4)), namespace])
    connection.execute(_FORGET_VECTORS, [namespace, [memory.id for _, memory in reworded]])


def _documents(
    connection: psycopg.Connection[Any], namespace: str, turns: Sequence[Turn], source: str
) -> tuple[dict[str, str], list[dict[str, object]]]:
    """(session → document id, rows of the documents that are not there yet). Their text stays in the chunks alone."""
    sessions = {f"{source}:{turn.session}": turn for turn in reversed(turns)}
    held = dict(connection.execute(_DOCUMENTS, [namespace, list(sessions)]).fetchall())
    ids = {turn.session: held.get(key, stored.row_id(namespace, "documents", key)) for key, turn in sessions.items()}
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
    rows = connection.execute(_LAST_ORDINALS, [list(documents)]).fetchall()
    return defaultdict(lambda: -1, rows)


def _row_text(row: Mapping[str, object]) -> str:
    return entity_text(str(row["name"]), str(row["entity_type"]))
