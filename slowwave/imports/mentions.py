"""Names in passages as entities and their co-occurrences: gathered, matched with what stands, written.

A mention goes to the entity of its type and normalised name, or to the survivor when that entity was merged into another or
the name is another's alias. A mention that nothing typed goes to the one entity of its name, and a typed one to that of its name that
nothing typed. Whether two entities are the same is not decided here; ``slowwave.matching`` proposes, a person
approves. A retired entity stays retired: a new mention of its name begins a new row.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

import psycopg

from slowwave.errors import StoreError
from slowwave.texts.extraction import LONGEST_NAME, extract
from slowwave.texts.tokens import normalise_name

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
"""A name is associated with the next so many different names of its sentence; beyond, a sentence is a list and says little."""

MOST_TIES: Final = 24
"""Associations that are read of one text, the first ones."""

UNKNOWN: Final = "unknown"
_NAMED: Final = ("person", "organization", "location", "product", "work")
_UNTYPED: Final = (UNKNOWN, "concept")  # as earlier versions called it
_UNTIED: Final = frozenset(("code", "url"))
_SENTENCE_ENDS: Final = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]|\n")

MOST_NAMES: Final = 1_000
"""Different names that are read of one text, the first ones: no prose has more, and each one is rows to write."""


@dataclass(frozen=True, slots=True)
class NamesInText:
    """What a text names: key → (first spelling, occurrences), in the order of the text; ``ties`` are pairs that stand in one sentence."""

    found: Mapping[Key, tuple[str, int]] = field(default_factory=dict)
    ties: tuple[tuple[Key, Key], ...] = ()


@dataclass(frozen=True, slots=True)
class MentionContext:
    """Where names stand: a chunk of a document, and when it was said."""

    chunk_id: str
    document_id: str
    said_at: datetime


@dataclass(slots=True)
class Support:
    """What speaks for a row: since when, and chunk → (its document, occurrences in it)."""

    first: datetime
    name: str = ""
    chunks: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Occurrences in all chunks."""
        return sum(count for _, count in self.chunks.values())

    def add(self, passage: MentionContext, count: int) -> None:
        """Count ``count`` more occurrences in a passage."""
        self.first = min(self.first, passage.said_at)
        self.chunks[passage.chunk_id] = (passage.document_id, self.chunks.get(passage.chunk_id, ("", 0))[1] + count)

    def provenance(self) -> dict[str, object]:
        """The two provenance columns."""
        documents = {document for document, _ in self.chunks.values()}
        return {"source_chunk_ids": sorted(self.chunks), "source_document_ids": sorted(documents)}


@dataclass(frozen=True, slots=True)
class MentionGraph:
    """Rows to insert and rows to grow, by id. No entity or relationship is in both."""

    new_entities: Mapping[str, tuple[Key, int, Support]]
    grown_entities: Mapping[str, Support]
    new_relationships: Mapping[str, tuple[str, str, Support]]
    grown_relationships: Mapping[str, Support]


def entity_id(namespace_id: str, key: Key, generation: int = 0) -> str:
    """The id of the row that a mention's type and name begin; a later generation when earlier ones are retired."""
    return _id(namespace_id, "entities", *key, generation)


def read_names(content: str) -> NamesInText:
    """The names of a text, at most ``MOST_NAMES`` different ones, none of them a secret or part of one; linear in its length."""
    names: dict[Key, tuple[str, int]] = {}
    ties: dict[tuple[Key, Key], None] = {}
    sentence: list[Key] = []
    end = 0
    for mention in extract(_without_secrets(content)):
        key = (mention.entity_type, normalise_name(mention.name))
        if key not in names and (len(names) >= MOST_NAMES or len(key[1]) > LONGEST_NAME):  # folding may lengthen a name
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


def _without_secrets(content: str) -> str:
    """The text with blanks for each word that holds a secret: an entity outlives the memory that is set aside, and anybody finds it."""
    from slowwave.texts.secrets import secrets  # whose rules take a while to load

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
    """Match names with the entities that stand and gather what each row gains. Reads only."""
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
    """Key → itself, or for a name that nothing typed the one type that another text gave it."""
    typed: defaultdict[str, set[str]] = defaultdict(set)
    for kind, name in (every := list(keys)):
        if kind in _NAMED:
            typed[name].add(kind)
    return {
        (kind, name): (next(iter(typed[name])), name) if kind == UNKNOWN and len(typed[name]) == 1 else (kind, name)
        for kind, name in every
    }


def entity_rows(namespace_id: str, graph: MentionGraph, source: str) -> list[dict[str, object]]:
    """New entities as rows of ``memory.entities``."""
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
    """New co-occurrences as rows of ``memory.relationships``; weight = chunks that name both, confidence = n / (n + 1)."""
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
    """Add what the new chunks say to the rows that stand: counters by what was counted, arrays by what they lack.

    Takes the entities' rows in id order, as a merge does. Raises ``StoreError`` when one was retired since it was matched.
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
    """One line for each row and chunk, as columns for ``unnest``."""
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
    """(new key → generation, key → entity id)."""
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
    """Entity id → (id, type) of the live row that it is or was merged into; None when there is no live one.

    Ids that do not exist are absent. UNION, not UNION ALL: a ring of merges ends instead of going round.
    """
    rows = connection.execute(_SURVIVORS, {"namespace": namespace_id, "ids": list(ids)}).fetchall()
    return {start: (found, kind) if found else None for start, found, kind in rows}


def _untyped(connection: psycopg.Connection[Any], namespace_id: str, keys: Sequence[Key]) -> dict[Key, str]:
    """Key → the one live entity of its name where either of the two has no type; several leave the key out."""
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
    """Key → the one live entity of its type that has the name as an alias; several leave the key out."""
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
    """Pair → (relationship id, whether it stands). One that is retired or was led elsewhere is passed over for a later id."""
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
