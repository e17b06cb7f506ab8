"""From the rows of a file to rows of the store: documents, chunks, memories, entities, relationships and their vectors.

Reading formats belongs to the readers beside this module, names and co-occurrences to ``slowwave.imports.mentions``, what stands already
to ``slowwave.imports.stored``. Rows are written in batches, each a short transaction of whole turns: an import that is stopped between
two goes on where it was when it is run again. Row ids follow from the namespace and the source's ids, so a file imported twice adds
nothing.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import psycopg
from sqlalchemy import Table

from slowwave.errors import ImportRefused, StoreError
from slowwave.imports import mentions, stored
from slowwave.imports.rows import RowCheck, SkippedRow
from slowwave.imports.screening import State
from slowwave.imports.stored import StoredMemory
from slowwave.language.embedder import Embedder, entity_text
from slowwave.store import tables
from slowwave.store.load import load_rows

Progress = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""

NAMESPACES: Final = uuid5(NAMESPACE_URL, "slowwave:namespace")
"""A namespace's id is ``uuid5(NAMESPACES, slug)``."""

_BLOCK: Final = 256
"""Texts embedded, and vectors inserted, between two steps of a progress bar; both take about as long."""

_T = TypeVar("_T")

BATCH_ROWS: Final = 512
BATCH_CHARACTERS: Final = 200_000
BATCH_NAMES: Final = 2_000
"""What one transaction takes of rows, of text and of names in it; a single turn may hold more, within its own limits."""


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

    ``reworded`` of these have changed since and got a new version; ``left`` are the ids of those that have changed and stay as they are:
    entities, and memories that are retired, archived or quarantined, or would have to be.
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
    reworded: int = 0
    left: tuple[str, ...] = ()


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
    """Write the turns that a namespace does not have yet, in the order of their time; one transaction a batch.

    A turn becomes a chunk of its session's document and a memory with its first version (valid from ``created_at``). Names
    in it become entities or add to those that stand; names of one chunk become ASSOCIATED_WITH relationships. A turn is known by its
    external id. One that says something else than the file said before gives its memory a new version with a vector, and a new chunk
    in place of the old one; where the memory is not open to that it is left and named. Names are read and vectors made outside the
    transactions. A quarantined turn becomes a memory alone: its words make no chunk and no names, which recall would find.
    Raises ``ImportRefused`` (read-only namespace), ``EmbeddingError``, ``StoreError``; batches before that stand.
    """
    groups: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        groups[turn.namespace].append(turn)
    tally = _Tally()
    steps = _Steps(progress, len(turns))
    _refuse_read_only(connection, groups)
    for slug, group in groups.items():
        target = _Target(connection, slug, source, _Vectors(embedder), tally)
        in_time = sorted(group, key=lambda turn: turn.created_at)
        for batch in _batches(in_time, lambda turn: len(turn.content), BATCH_CHARACTERS):
            tally.known += len(batch)
            target.write(batch, steps.part(len(batch)))
            steps.finish(len(batch))
    return _summary(tuple(groups), tally, check)


def write_records(
    connection: psycopg.Connection[Any],
    slug: str,
    records: Sequence[Record],
    check: RowCheck,
    *,
    embedder: Embedder,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write the entities that the namespace does not have yet, known by (source, external id); one transaction a batch.

    A known one that says something else than the file said before is left as it is and named. Raises as ``write_turns`` does.
    """
    tally = _Tally()
    steps = _Steps(progress, len(records))
    _refuse_read_only(connection, [slug])
    for batch in _batches(records, lambda record: len(record.name) + len(str(record.attributes)), BATCH_CHARACTERS):
        step, vectors = steps.part(len(batch)), _Vectors(embedder)
        with connection.transaction():
            known = stored.entities(connection, _found_id(connection, slug), [_key(record) for record in batch])
        vectors.need([_text(record) for record in batch if _key(record) not in known], step)
        with connection.transaction():
            namespace = _claim(connection, slug, tally.added)
            known = stored.entities(connection, namespace, [_key(record) for record in batch])
            fresh = [record for record in batch if _key(record) not in known]
            texts = [_text(record) for record in fresh]
            vectors.need(texts, step)
            ids = [stored.row_id(namespace, "entities", *_key(record)) for record in fresh]
            rows = (_entity_row(namespace, row_id, record) for row_id, record in zip(ids, fresh, strict=True))
            _insert(connection, tables.entities, rows, len(ids), tally.added)
            _insert_vectors(connection, namespace, {"entity_vectors": (ids, texts)}, vectors, tally.added, step)
        tally.known += len(batch) - len(fresh)
        tally.left += [
            ":".join(_key(record)) for record in batch if known.get(_key(record), _said(record)) != _said(record)
        ]
        steps.finish(len(batch))
    return _summary((slug,) if records else (), tally, check)


@dataclass(slots=True)
class _Tally:
    """What was done so far."""

    added: Counter[str] = field(default_factory=Counter)
    known: int = 0
    reworded: int = 0
    left: list[str] = field(default_factory=list)


def _summary(slugs: tuple[str, ...], tally: _Tally, check: RowCheck) -> ImportSummary:
    screening = check.screening
    return ImportSummary(
        slugs,
        dict(tally.added),
        tuple(check.skipped),
        check.seen,
        tally.known,
        dict(screening.found),
        screening.quarantined,
        tally.reworded,
        tuple(dict.fromkeys(tally.left)),
    )


def _batches(rows: Sequence[_T], size: Callable[[_T], int], most: int) -> Iterator[Sequence[_T]]:
    """Rows in order, some at a time: at most ``BATCH_ROWS``, and one alone or no more than ``most`` of what ``size`` says."""
    begin = total = 0
    for place, row in enumerate(rows):
        own = size(row)
        if place > begin and (place - begin == BATCH_ROWS or total + own > most):
            yield rows[begin:place]
            begin, total = place, 0
        total += own
    if begin < len(rows):
        yield rows[begin:]


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
        return [*(turn.content for turn in self.turns), *map(_row_text, self.entities)]


class _Target:
    """A namespace that turns are written to."""

    def __init__(
        self, connection: psycopg.Connection[Any], slug: str, source: str, vectors: _Vectors, tally: _Tally
    ) -> None:
        self._connection, self._slug, self._source = connection, slug, source
        self._vectors, self._tally = vectors, tally
        self._names: dict[str, mentions.Names] = {}

    def write(self, batch: Sequence[Turn], step: Callable[[float], None]) -> None:
        """Write what the batch brings, in as many transactions as its names want; ``step`` is called with the share that is done."""
        with self._connection.transaction():
            work = self._sorted_out(_found_id(self._connection, self._slug), batch)
        self._tally.left += work.left
        self._names = {
            turn.external_id: mentions.read_names(turn.content) for turn in work.turns if turn.state == "active"
        }
        for part in _batches(work.turns, lambda turn: len(self._names.get(turn.external_id, ())), BATCH_NAMES):
            with self._connection.transaction():
                self._vectors.need(self._sorted_out(_found_id(self._connection, self._slug), part).texts(), step)
            with self._connection.transaction():
                namespace = _claim(self._connection, self._slug, self._tally.added)
                work = self._sorted_out(namespace, part, lock=True)
                self._vectors.need(work.texts(), step)  # nothing, unless another writer came between
                if work.turns:
                    self._write(namespace, work, step)
            self._tally.known -= len(work.fresh)
            self._tally.reworded += len(work.reworded)
            self._vectors.forget()

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
        graph = mentions.plan_graph(
            connection, namespace, [(passage, self._names.get(turn.external_id, {})) for turn, passage in seen]
        )
        entities = mentions.entity_rows(namespace, graph, self._source)
        return _Work(fresh, reworded, left, sessions, documents, seen, graph, entities)

    def _write(self, namespace: str, work: _Work, step: Callable[[float], None]) -> None:
        connection, added = self._connection, self._tally.added
        _insert(connection, tables.documents, work.new_documents, len(work.new_documents), added)
        retired = [chunk for turn, memory in work.reworded for chunk in _own_chunks(namespace, turn, memory)]
        connection.execute(
            "UPDATE memory.chunks SET invalidated_at = now() WHERE namespace_id = %s AND id = ANY(%s::uuid[]) AND invalidated_at IS NULL",
            [namespace, retired],
        )
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
                }
            )
        _insert(connection, tables.chunks, chunks, len(chunks), added)
        memories = [self._memory_row(namespace, turn, work.sessions[turn.session]) for turn in work.fresh]
        _insert(connection, tables.memories, memories, len(memories), added)
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
        _insert(connection, tables.memory_versions, rows, len(rows), added)
        _point_at_versions(connection, namespace, work.reworded)
        mentions.grow(connection, work.graph)
        _insert(connection, tables.entities, work.entities, len(work.entities), added)
        relationships = mentions.relationship_rows(namespace, work.graph)
        _insert(connection, tables.relationships, relationships, len(relationships), added)
        described = {
            "chunk_vectors": ([p.chunk_id for _, p in work.passages], [turn.content for turn, _ in work.passages]),
            "memory_vectors": (memory_ids, [turn.content for turn in work.turns]),
            "entity_vectors": ([str(row["id"]) for row in work.entities], [_row_text(row) for row in work.entities]),
        }
        _insert_vectors(connection, namespace, described, self._vectors, added, step)

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
    connection.execute(
        """
        UPDATE memory.memories AS m SET current_version_id = n.version, stage = 'full', source_chunk_ids = ARRAY(
          SELECT c FROM unnest(m.source_chunk_ids) WITH ORDINALITY AS s (c, place)
          WHERE c::text NOT IN (SELECT jsonb_array_elements_text(n.retired::jsonb)) ORDER BY place) || n.chunk
        FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[]) AS n (id, version, chunk, retired)
        WHERE m.id = n.id AND m.namespace_id = %s
        """,
        [*([row[k] for row in columns] for k in range(4)), namespace],
    )
    connection.execute(
        "DELETE FROM memory.memory_vectors WHERE namespace_id = %s AND id = ANY(%s::uuid[])",
        [namespace, [memory.id for _, memory in reworded]],
    )


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


def _found_id(connection: psycopg.Connection[Any], slug: str) -> str:
    """The namespace's id, or the one that it will get."""
    found = connection.execute("SELECT id::text FROM memory.namespaces WHERE slug = %s", [slug]).fetchone()
    return str(found[0]) if found else namespace_id(slug)


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
            f"{expected - count} of {expected} new rows of {table.name} were there already under other ids, so its last batch "
            "was not imported. Another writer is at work: run the import again."
        )
    if count:
        added[table.name] += count


class _Vectors:
    """Vectors of one embedder by text, each made once as long as it is not forgotten."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._of: dict[str, np.ndarray] = {}

    @property
    def model(self) -> str:
        """The model whose vectors they are."""
        return self._embedder.model

    def of(self, text: str) -> np.ndarray:
        """(d,) float32 of a text that was needed."""
        return self._of[text]

    def need(self, texts: Iterable[str], step: Callable[[float], None]) -> None:
        """Make those that are missing."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._of]
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            self._of.update(zip(block, self._embedder.embed(block), strict=True))
            step(min(1.0, (start + _BLOCK) / len(missing)) / 2)

    def forget(self) -> None:
        """Let go of all."""
        self._of.clear()


def _insert_vectors(
    connection: psycopg.Connection[Any],
    namespace: str,
    described: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    vectors: _Vectors,
    added: Counter[str],
    step: Callable[[float], None],
) -> None:
    """Register the model and load vectors; ``described``: vectors table → (row ids, the texts that describe them)."""
    total = sum(len(ids) for ids, _ in described.values())
    if not total:
        return
    dimensions = len(next(vectors.of(text) for _, texts in described.values() for text in texts))
    connection.execute("SELECT memory.register_vector_model(%s::text, %s::integer)", [vectors.model, dimensions])

    def rows(ids: Sequence[str], texts: Sequence[str]) -> Iterator[dict[str, object]]:
        for row_id, text in zip(ids, texts, strict=True):
            yield {"id": row_id, "model": vectors.model, "namespace_id": namespace, "vector": vectors.of(text)}

    done = 0
    for name, (ids, texts) in described.items():
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            _insert(connection, getattr(tables, name), rows(block, texts[start : start + _BLOCK]), len(block), added)
            done += len(block)
            step((1 + done / total) / 2)


def _key(record: Record) -> tuple[str, str]:
    return record.source, record.external_id


def _said(record: Record) -> dict[str, Any]:
    return {"name": record.name, "entity_type": record.entity_type, "attributes": dict(record.attributes)}


def _text(record: Record) -> str:
    return entity_text(record.name, record.entity_type)


def _row_text(row: Mapping[str, object]) -> str:
    return entity_text(str(row["name"]), str(row["entity_type"]))


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
