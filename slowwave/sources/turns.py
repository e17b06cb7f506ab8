"""Turns of conversations: what a batch adds to the store, and the entities that its passages name."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

import psycopg

from slowwave.errors import StoreError
from slowwave.models.embedder import entity_text, passage_text
from slowwave.snapshots.rows import KINDS
from slowwave.sources import loading
from slowwave.sources.loading import (
    BATCH_NAMES,
    LoadedVectors,
    StoredMemory,
    batches,
    claim,
    found_id,
    insert,
    insert_vectors,
)
from slowwave.sources.rows import State
from slowwave.store import tables
from slowwave.text.extraction import LONGEST_NAME, extract
from slowwave.text.tokens import normalise_name

# Names in passages as entities and their co-occurrences: collected, matched with existing rows, written.
#
# A mention goes to the entity of its type and normalised name, or to the survivor if that entity was merged into another or the name is
# another's alias. A mention without a type goes to the only entity of its name, and a typed one to the entity of its name that has no type.
# Whether two entities are the same is not decided here: ``slowwave.matching`` proposes, a person approves. A retired entity stays retired:
# a new mention of its name begins a new row.

_LIVE: Final = "invalidated_at IS NULL AND (valid_to IS NULL OR valid_to > now())"
_TAKE_LIVE: Final = """
SELECT count(*) FROM (
  SELECT invalidated_at FROM memory.entities WHERE id = ANY(%s::uuid[]) ORDER BY id FOR NO KEY UPDATE
) AS taken WHERE invalidated_at IS NULL
"""
_SURVIVORS: Final = f"""
WITH RECURSIVE chain AS (
  SELECT id AS start, id, merged_into FROM memory.entities
  WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[])
  UNION
  SELECT c.start, e.id, e.merged_into FROM chain AS c JOIN memory.entities AS e ON e.id = c.merged_into
  WHERE e.namespace_id = %(namespace)s
)
SELECT s.start::text, e.id::text, e.entity_type
FROM (SELECT DISTINCT start FROM chain) AS s
LEFT JOIN (chain AS c JOIN memory.entities AS e ON e.id = c.id AND c.merged_into IS NULL AND {_LIVE}) ON c.start = s.start
"""  # noqa: S608 - constants of this module
_ALIASES: Final = "SELECT alias, entity_id::text FROM memory.entity_aliases WHERE namespace_id = %s"
_RELATIONSHIPS: Final = f"""
SELECT id::text, source_entity_id::text, target_entity_id::text, {_LIVE} FROM memory.relationships
WHERE namespace_id = %s AND id = ANY(%s::uuid[])
"""  # noqa: S608 - constants of this module

Key = tuple[str, str]
"""(entity type, normalised name)"""

COOCCURRENCE: Final = "ASSOCIATED_WITH"
NEIGHBOURS: Final = 4
"""A name is associated with this number of different names that follow it in its sentence; a longer sentence is a list and means little."""

MOST_TIES: Final = 24
"""The most associations that are taken from one text, the first ones."""

UNKNOWN: Final = "unknown"
_NAMED: Final = ("person", "organization", "location", "product", "work")
_UNTYPED: Final = (UNKNOWN, "concept")  # earlier versions called it "concept"
_UNTIED: Final = frozenset(("code", "url"))
_SENTENCE_ENDS: Final = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]|\n")

MOST_NAMES: Final = 1_000
"""The most different names that are taken from one text, the first ones: no prose has more, and each name is rows to write."""


@dataclass(frozen=True, slots=True)
class NamesInText:
    """The names in a text: key → (first spelling, occurrences), in the order of the text.

    ``ties`` are pairs of names in the same sentence.
    """

    found: Mapping[Key, tuple[str, int]] = field(default_factory=dict)
    ties: tuple[tuple[Key, Key], ...] = ()


@dataclass(frozen=True, slots=True)
class MentionContext:
    """The context of a mention: a chunk of a document, and when it was said."""

    chunk_id: str
    document_id: str
    said_at: datetime


@dataclass(slots=True)
class Support:
    """The evidence for a row: its first instant, and chunk → (its document, occurrences in it)."""

    first: datetime
    name: str = ""
    chunks: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of occurrences in all chunks."""
        return sum(count for _, count in self.chunks.values())

    def add(self, passage: MentionContext, count: int) -> None:
        """Count ``count`` more occurrences in a passage."""
        self.first = min(self.first, passage.said_at)
        self.chunks[passage.chunk_id] = (passage.document_id, self.chunks.get(passage.chunk_id, ("", 0))[1] + count)

    def provenance(self) -> dict[str, object]:
        """Return the two provenance columns."""
        documents = {document for document, _ in self.chunks.values()}
        return {"source_chunk_ids": sorted(self.chunks), "source_document_ids": sorted(documents)}


@dataclass(frozen=True, slots=True)
class MentionGraph:
    """The rows to insert and the rows to update, by id; no entity or relationship is in both."""

    new_entities: Mapping[str, tuple[Key, int, Support]]
    grown_entities: Mapping[str, Support]
    new_relationships: Mapping[str, tuple[str, str, Support]]
    grown_relationships: Mapping[str, Support]


def entity_id(namespace_id: str, key: Key, generation: int = 0) -> str:
    """Return the id of the row that a mention's type and name create.

    ``generation`` is higher if earlier rows are retired.
    """
    return _id(namespace_id, "entities", *key, generation)


def read_names(content: str, known: Set[str] = frozenset()) -> NamesInText:
    """Return the names in a text.

    There are at most ``MOST_NAMES`` different ones, none of them a secret or part of one, and none with a word of ``known``, the secrets of
    other texts (``secret_words``). Linear in the length of the text.
    """
    names: dict[Key, tuple[str, int]] = {}
    ties: dict[tuple[Key, Key], None] = {}
    sentence: list[Key] = []
    end = 0
    for mention in extract(_without_secrets(content)):
        if known and not known.isdisjoint(mention.name.split()):
            continue
        key = (mention.entity_type, normalise_name(mention.name))
        # Case folding may lengthen a name.
        if key not in names and (len(names) >= MOST_NAMES or len(key[1]) > LONGEST_NAME):
            continue
        spelling, count = names.get(key, (" ".join(mention.name.split()), 0))
        names[key] = (spelling, count + 1)
        if mention.entity_type in _UNTIED:
            continue
        if _SENTENCE_ENDS.search(content, end, mention.start):
            sentence.clear()
        end = mention.end
        if key not in sentence:
            for other in sentence[-NEIGHBOURS:]:
                if len(ties) < MOST_TIES:
                    ties[other, key] = None
            sentence.append(key)
    return NamesInText(names, tuple(ties))


def secret_words(contents: Iterable[str]) -> frozenset[str]:
    """Return the secrets of one word in some texts that are secrets in other texts as well: "my password isn't … any more"."""
    from slowwave.text.screening import is_distinctive  # imported late, because its rules take a while to load
    from slowwave.text.secrets import secrets

    found = (content[f.start : f.end] for content in contents for f in secrets(content) if f.severity != "low")
    return frozenset(secret for secret in found if is_distinctive(secret) and len(secret.split()) == 1)


def _without_secrets(content: str) -> str:
    """Replace each word that contains a secret with blanks.

    An entity outlives a memory that is set aside, and anyone can find it.
    """
    from slowwave.text.secrets import secrets  # imported late, because its rules take a while to load

    for found in secrets(content):
        start, end = found.start, found.end
        while start and not content[start - 1].isspace():
            start -= 1
        while end < len(content) and not content[end].isspace():
            end += 1
        content = f"{content[:start]}{' ' * (end - start)}{content[end:]}"
    return content


def plan_graph(
    connection: psycopg.Connection[Any],
    namespace_id: str,
    read: Sequence[tuple[MentionContext, NamesInText]],
) -> MentionGraph:
    """Match names with the existing entities and collect what each row gains, without writing."""
    keys = dict.fromkeys(key for _, names in read for key in names.found)
    same = _same(keys)
    generations, found = _targets(connection, namespace_id, list(dict.fromkeys(same.values())))
    targets = {key: found[one] for key, one in same.items()}
    entities: dict[str, Support] = {}
    pairs: dict[tuple[str, str], Support] = {}
    for passage, names in read:
        for key, (spelling, count) in names.found.items():
            entities.setdefault(targets[key], Support(passage.said_at, spelling)).add(passage, count)
        tied = ((targets[a], targets[b]) for a, b in names.ties)
        for one, other in dict.fromkeys((min(a, b), max(a, b)) for a, b in tied if a != b):
            pairs.setdefault((one, other), Support(passage.said_at)).add(passage, 1)
    new = {targets[key]: (key, generation) for key, generation in generations.items()}
    stored = _relationships(connection, namespace_id, list(pairs))
    return MentionGraph(
        new_entities={target: (*new[target], support) for target, support in entities.items() if target in new},
        grown_entities={target: support for target, support in entities.items() if target not in new},
        new_relationships={stored[p][0]: (*p, support) for p, support in pairs.items() if not stored[p][1]},
        grown_relationships={stored[p][0]: support for p, support in pairs.items() if stored[p][1]},
    )


def _same(keys: Iterable[Key]) -> dict[Key, Key]:
    """Return key → itself or, for a name without a type, the key with the only type that another text gave it."""
    typed: defaultdict[str, set[str]] = defaultdict(set)
    for kind, name in (every := list(keys)):
        if kind in _NAMED:
            typed[name].add(kind)
    return {
        (kind, name): (next(iter(typed[name])), name) if kind == UNKNOWN and len(typed[name]) == 1 else (kind, name)
        for kind, name in every
    }


def entity_rows(namespace_id: str, graph: MentionGraph, source: str) -> list[dict[str, object]]:
    """Return new entities as rows of ``memory.entities``."""
    return [
        {
            "id": row_id,
            "namespace_id": namespace_id,
            "external_id": f"{key[0]}:{key[1]}" + (f"#{generation + 1}" if generation else ""),
            "source": source,
            "entity_type": key[0],
            "name": support.name,
            "mention_count": support.count,
            **support.provenance(),
            "valid_from": support.first,
        }
        for row_id, (key, generation, support) in graph.new_entities.items()
    ]


def relationship_rows(namespace_id: str, graph: MentionGraph) -> list[dict[str, object]]:
    """Return new co-occurrences as rows of ``memory.relationships``.

    The weight is the number n of chunks that name both, the confidence is n / (n + 1).
    """
    return [
        {
            "id": row_id,
            "namespace_id": namespace_id,
            "source_entity_id": source,
            "target_entity_id": target,
            "relationship_type": COOCCURRENCE,
            "weight": float(support.count),
            "confidence": support.count / (support.count + 1),
            **support.provenance(),
            "valid_from": support.first,
        }
        for row_id, (source, target, support) in graph.new_relationships.items()
    ]


def grow(connection: psycopg.Connection[Any], graph: MentionGraph) -> None:
    """Add the evidence of the new chunks to existing rows: their counts to counters, new values to arrays.

    Locks the entities' rows in id order, as a merge does. Raises ``StoreError`` if one was retired since it was matched.
    """
    ids = sorted(graph.grown_entities)
    live = connection.execute(_TAKE_LIVE, [ids]).fetchone()
    if live is None or live[0] != len(ids):
        raise StoreError(
            "Entities that this import mentions were retired while it ran, so its last batch was not imported. Run it again."
        )
    connection.execute(_GROW_ENTITIES, _columns(graph.grown_entities))
    connection.execute(_GROW_RELATIONSHIPS, _columns(graph.grown_relationships))


_ADDED: Final = """
    WITH added AS (
        SELECT id, sum(count) AS count, array_agg(DISTINCT chunk) AS chunks, array_agg(DISTINCT document) AS documents
        FROM unnest(%(id)s::uuid[], %(count)s::int[], %(chunk)s::uuid[], %(document)s::uuid[]) AS t (id, count, chunk, document)
        GROUP BY id
    )
"""
_ARRAYS: Final = """
    source_chunk_ids = r.source_chunk_ids
        || ARRAY(SELECT unnest(a.chunks) EXCEPT SELECT unnest(r.source_chunk_ids) ORDER BY 1),
    source_document_ids = r.source_document_ids
        || ARRAY(SELECT unnest(a.documents) EXCEPT SELECT unnest(r.source_document_ids) ORDER BY 1)
    FROM added AS a WHERE r.id = a.id AND r.invalidated_at IS NULL
"""
_GROW_ENTITIES: Final = f"{_ADDED} UPDATE memory.entities AS r SET mention_count = r.mention_count + a.count, {_ARRAYS}"  # noqa: S608 - constants of this module
_GROW_RELATIONSHIPS: Final = f"""
    {_ADDED} UPDATE memory.relationships AS r SET
    weight = r.weight + a.count,
    confidence = greatest(r.confidence, (r.weight + a.count) / (r.weight + a.count + 1)),
    {_ARRAYS}
"""  # noqa: S608 - constants of this module


def _columns(supports: Mapping[str, Support]) -> dict[str, list[Any]]:
    """Return one line for each row and chunk, as columns for ``unnest``."""
    lines = [
        (row_id, count, chunk, document)
        for row_id, support in supports.items()
        for chunk, (document, count) in support.chunks.items()
    ]
    names = ("id", "count", "chunk", "document")
    return {name: [line[place] for line in lines] for place, name in enumerate(names)}


def _targets(
    connection: psycopg.Connection[Any], namespace_id: str, keys: Sequence[Key]
) -> tuple[dict[Key, int], dict[Key, str]]:
    """Return (new key → generation, key → entity id)."""
    targets: dict[Key, str] = {}
    new: dict[Key, int] = {}
    pending = list(keys)
    generation = 0
    while pending:
        ids = {key: entity_id(namespace_id, key, generation) for key in pending}
        survivors = _survivors(connection, namespace_id, list(ids.values()))
        absent: list[Key] = []
        retired: list[Key] = []
        for key in pending:
            if ids[key] not in survivors:
                absent.append(key)
            elif survivor := survivors[ids[key]]:
                targets[key] = survivor[0]
            else:
                retired.append(key)
        aliased = _untyped(connection, namespace_id, absent) | _aliased(connection, namespace_id, absent)
        for key in absent:
            targets[key] = aliased.get(key, ids[key])
            if key not in aliased:
                new[key] = generation
        pending, generation = retired, generation + 1
    return new, targets


def _survivors(
    connection: psycopg.Connection[Any], namespace_id: str, ids: Sequence[str]
) -> dict[str, tuple[str, str] | None]:
    """Return entity id → (id, type) of the live row that it is or was merged into; None if there is no live one.

    Ids that do not exist are absent. The query uses UNION, not UNION ALL, so that a cycle of merges ends.
    """
    rows = connection.execute(_SURVIVORS, {"namespace": namespace_id, "ids": list(ids)}).fetchall()
    return {start: (found, kind) if found else None for start, found, kind in rows}


def _untyped(connection: psycopg.Connection[Any], namespace_id: str, keys: Sequence[Key]) -> dict[Key, str]:
    """Return key → the only live entity with its name, where either of the two has no type.

    A key with several such entities is left out.
    """
    others = {
        key: [(kind, key[1]) for kind in ((*_NAMED, *_UNTYPED[1:]) if key[0] == UNKNOWN else _UNTYPED)]
        for key in keys
        if key[0] in (UNKNOWN, *_NAMED)
    }
    ids = {other: entity_id(namespace_id, other) for wanted in others.values() for other in wanted}
    survivors = _survivors(connection, namespace_id, list(ids.values()))
    found: dict[Key, str] = {}
    for key, wanted in others.items():
        live = {survivor[0] for other in wanted if (survivor := survivors.get(ids[other]))}
        if len(live) == 1:
            found[key] = live.pop()
    return found


def _aliased(connection: psycopg.Connection[Any], namespace_id: str, keys: Sequence[Key]) -> dict[Key, str]:
    """Return key → the only live entity of its type that has the name as an alias.

    A key with several such entities is left out.
    """
    wanted = {name for _, name in keys}
    if not wanted:
        return {}
    rows = connection.execute(_ALIASES, [namespace_id]).fetchall()
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for alias, holder in rows:
        if (name := normalise_name(alias)) in wanted:
            holders[name].add(holder)
    survivors = _survivors(connection, namespace_id, sorted(set().union(*holders.values())))
    aliased: dict[Key, str] = {}
    for key in keys:
        live = {found[0] for holder in holders[key[1]] if (found := survivors.get(holder)) and found[1] == key[0]}
        if len(live) == 1:
            aliased[key] = live.pop()
    return aliased


def _relationships(
    connection: psycopg.Connection[Any], namespace_id: str, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, bool]]:
    """Return pair → (relationship id, whether it exists).

    A relationship that was retired or redirected is skipped, and a later id is used.
    """
    chosen: dict[tuple[str, str], tuple[str, bool]] = {}
    pending = list(pairs)
    generation = 0
    while pending:
        ids = {pair: _id(namespace_id, "relationships", COOCCURRENCE, *pair, generation) for pair in pending}
        rows = connection.execute(_RELATIONSHIPS, [namespace_id, list(ids.values())]).fetchall()
        stored = {row_id: (source, target, live) for row_id, source, target, live in rows}
        for pair, row_id in ids.items():
            if row_id not in stored:
                chosen[pair] = (row_id, False)
            elif stored[row_id] == (*pair, True):
                chosen[pair] = (row_id, True)
        pending, generation = [pair for pair in pending if pair not in chosen], generation + 1
    return chosen


def _id(namespace_id: str, *parts: object) -> str:
    return str(uuid5(UUID(namespace_id), "\0".join(map(str, parts))))


# Turns of conversations and blocks of agents: what a batch adds to the store, as documents, chunks, memories and entities.

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
    """A text that was said or noted, which becomes a chunk and a memory.

    ``session`` groups turns of a namespace into documents. ``formerly`` are other ids under which an import may have stored the same
    text.
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
        """Return the name of the speaker, if the text was said and the role is a name."""
        role = self.role.strip()
        return role if role and self.kind in KINDS and role.lower() not in _ROLES else None

    @property
    def passage(self) -> str:
        """Return the text that the vector of the turn's chunk is computed from."""
        return passage_text(self.content, self.speaker)


@dataclass(slots=True)
class ImportTally:
    """The counts of an import so far."""

    added: Counter[str] = field(default_factory=Counter)
    known: int = 0
    reworded: int = 0
    left: list[str] = field(default_factory=list)
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    """The writes of a batch: new turns, turns whose memory gets a new version, and the rows of their names."""

    fresh: Sequence[Turn]
    reworded: Sequence[tuple[Turn, StoredMemory]]
    left: Sequence[str]
    sessions: Mapping[str, str]
    new_documents: Sequence[Mapping[str, object]]
    passages: Sequence[tuple[Turn, MentionContext]]
    graph: MentionGraph
    entities: Sequence[Mapping[str, object]]

    @property
    def turns(self) -> list[Turn]:
        """Return all turns that are written."""
        return [*self.fresh, *(turn for turn, _ in self.reworded)]

    def texts(self) -> list[str]:
        """Return all texts that get a vector."""
        texts = [text for turn in self.turns for text in (turn.content, turn.passage)]
        return [*texts, *map(_row_text, self.entities)]


class ImportTarget:
    """A namespace that turns are written to; without ``names``, names in them do not become entities."""

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
        self._names: dict[str, NamesInText] = {}
        self._secrets: frozenset[str] = frozenset()

    def write(self, batch: Sequence[Turn], step: Callable[[float], None]) -> None:
        """Write a batch, in as many transactions as its names need; ``step`` is called with the share that is done."""
        with self._connection.transaction():
            namespace = found_id(self._connection, self._slug)
            batch, forgotten = self._without_erased(namespace, batch)
            work = self._sorted_out(namespace, batch)
        self._tally.forgotten += forgotten
        self._tally.known -= forgotten
        self._tally.left += work.left
        if self._read_names:
            self._secrets |= secret_words(turn.content for turn in work.turns)
        self._names = {
            turn.external_id: read_names(turn.content, self._secrets)
            for turn in work.turns
            if turn.state == "active" and self._read_names
        }
        for part in batches(work.turns, lambda turn: len(self._read(turn).found), BATCH_NAMES):
            with self._connection.transaction():
                self._vectors.need(self._sorted_out(found_id(self._connection, self._slug), part).texts(), step)
            with self._connection.transaction():
                namespace = claim(self._connection, self._slug, self._tally.added, self._vectors.model)
                work = self._sorted_out(namespace, part, lock=True)
                self._vectors.need(work.texts(), step)  # does nothing unless another writer came in between
                if work.turns:
                    self._write(namespace, work, step)
            self._tally.known -= len(work.fresh)
            self._tally.reworded += len(work.reworded)
            self._vectors.forget()

    def _without_erased(self, namespace: str, turns: Sequence[Turn]) -> tuple[list[Turn], int]:
        """Return the turns without those whose memory was forgotten for good, and the number of the latter."""
        ids = {turn.external_id: loading.row_id(namespace, "memories", turn.external_id) for turn in turns}
        gone = loading.erased(self._connection, namespace, "memories", list(ids.values()))
        kept = [turn for turn in turns if ids[turn.external_id] not in gone]
        return kept, len(turns) - len(kept)

    def _read(self, turn: Turn) -> NamesInText:
        return self._names.get(turn.external_id, NamesInText())

    def _sorted_out(self, namespace: str, turns: Sequence[Turn], *, lock: bool = False) -> _Work:
        """Return the writes that a batch needs, without writing; names are those that have been read so far."""
        connection = self._connection
        ids = [turn.external_id for turn in turns]
        held = loading.memories(connection, namespace, [*ids, *(i for turn in turns for i in turn.formerly)], lock=lock)
        passages = loading.chunks(connection, namespace, ids)
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
            (turn, MentionContext(_chunk(namespace, turn, n), sessions[turn.session], turn.created_at))
            for turn, n in shown
        ]
        graph = plan_graph(connection, namespace, [(passage, self._read(turn)) for turn, passage in seen])
        entities = entity_rows(namespace, graph, self._source)
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
                "id": loading.version_id(namespace, turn.external_id, n),
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
        grow(connection, work.graph)
        insert(connection, tables.entities, work.entities, len(work.entities), added)
        relationships = relationship_rows(namespace, work.graph)
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
            "id": loading.row_id(namespace, "memories", turn.external_id),
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
            "current_version_id": loading.version_id(namespace, turn.external_id),
            "valid_from": turn.created_at,
            "state": turn.state,
        }


def _chunk(namespace: str, turn: Turn, ordinal: int = 1) -> str:
    return loading.chunk_id(namespace, turn.external_id, ordinal)


def _own_chunks(namespace: str, turn: Turn, memory: StoredMemory) -> list[str]:
    """Return the chunks among a memory's sources that imports of this turn made; merges added the others."""
    made = {_chunk(namespace, turn, n) for n in range(1, memory.next_ordinal)}
    return [chunk for chunk in memory.chunk_ids if chunk in made]


def _point_at_versions(
    connection: psycopg.Connection[Any], namespace: str, reworded: Sequence[tuple[Turn, StoredMemory]]
) -> None:
    """Update memories to their new versions.

    They get the whole new text, the new chunk in place of the old one, and no vector of the old text.
    """
    columns = [
        (
            memory.id,
            loading.version_id(namespace, turn.external_id, memory.next_ordinal),
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
    """Return (session → document id, rows of the documents that do not exist yet).

    The text of documents is stored only in their chunks.
    """
    sessions = {f"{source}:{turn.session}": turn for turn in reversed(turns)}
    held = dict(connection.execute(_DOCUMENTS, [namespace, list(sessions)]).fetchall())
    ids = {turn.session: held.get(key, loading.row_id(namespace, "documents", key)) for key, turn in sessions.items()}
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
    """Return document → the last ordinal of its chunks, -1 if it has none."""
    rows = connection.execute(_LAST_ORDINALS, [list(documents)]).fetchall()
    return defaultdict(lambda: -1, rows)


def _row_text(row: Mapping[str, object]) -> str:
    return entity_text(str(row["name"]), str(row["entity_type"]))
