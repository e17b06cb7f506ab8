"""A temporal graph of Graphiti as one JSON file: ``nodes``, ``edges`` and ``episodes``, as Graphiti's models write them.

Nodes become entities. An edge, which states one fact about two nodes, becomes a fact and the relationship of the two. Episodes become
episodic memories. Each ``group_id`` is a namespace. Both times are kept: ``valid_at`` and ``invalid_at`` are when a fact held,
``created_at`` and ``expired_at`` when Graphiti believed it. The graph's database is never read or written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import psycopg

from slowwave.errors import ImportRefused
from slowwave.models.embedder import Embedder
from slowwave.sources import loading
from slowwave.sources.loading import BATCH_CHARACTERS, Progress, batches, claim, found_id, insert, refuse_read_only
from slowwave.sources.pipeline import ImportSummary, Record, summarize_import, write_records, write_turns
from slowwave.sources.rows import (
    LONGEST_ID,
    LONGEST_NAME,
    BadRow,
    OnError,
    RowCheck,
    chosen_slug,
    file_slug,
    instant,
    read_json_file,
    required_text,
    slug_of,
    storable,
    unreadable,
)
from slowwave.sources.turns import ImportTally, Turn
from slowwave.store import tables
from slowwave.store.load import analyse
from slowwave.store.namespaces import refuse_connected

SOURCE: Final = "graphiti"
_BASE_LABEL: Final = "Entity"
_EMBEDDINGS: Final = frozenset({"name_embedding", "fact_embedding"})
_PARTS: Final = ("nodes", "episodes", "edges")
_ENTITY_NAMES: Final = "SELECT id::text, name FROM memory.entities WHERE namespace_id = %s AND id = ANY(%s::uuid[])"
_FOUND_CHUNKS: Final = "SELECT id::text FROM memory.chunks WHERE namespace_id = %s AND id = ANY(%s::uuid[])"
_STANDING: Final = (
    "SELECT external_id, fact_text FROM memory.memory_facts WHERE namespace_id = %s AND id = ANY(%s::uuid[])"
)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A fact about two nodes; its times are instants or null."""

    id: str
    source: str
    target: str
    name: str
    fact: str
    episodes: tuple[str, ...]
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    expired_at: datetime | None


@dataclass(slots=True)
class _Group:
    """The nodes, edges and episodes that go to one namespace."""

    nodes: dict[str, Record] = field(default_factory=dict)
    edges: dict[str, _Edge] = field(default_factory=dict)
    episodes: dict[str, Turn] = field(default_factory=dict)


def import_graphiti(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import a graph; each group goes to the namespace of its name's slug unless ``namespace`` is given.

    Nodes, edges and episodes are identified by their uuids: importing the same file again adds nothing, and a later one adds what is new.
    An existing row with other content in the file is left as it is and listed. An edge with an end that is not in the file is refused. So
    is an edge that screening would set aside, because facts have no state. Entities come from the graph alone: names in episodes do not
    become entities. Raises ``ImportRefused``, ``EmbeddingError``, ``StoreError``; batches before that are kept.
    """
    check = RowCheck.from_connection(connection, path, on_error)
    groups = _groups(path, check, namespace)
    refuse_read_only(connection, groups)
    refuse_connected(connection, [*groups])
    tally = ImportTally()
    for slug, group in groups.items():
        nodes = write_records(connection, slug, [*group.nodes.values()], check, embedder=embedder, progress=progress)
        turns = write_turns(
            connection,
            [*group.episodes.values()],
            check,
            embedder=embedder,
            source=SOURCE,
            names=False,
            progress=progress,
        )
        for part in (nodes, turns):
            tally.added.update(part.added)
            tally.known += part.known
            tally.reworded += part.reworded
            tally.left += part.left
            tally.forgotten += part.forgotten
        edges, gone = _without_erased(connection, slug, [*group.edges.values()])
        tally.forgotten += gone
        _write_edges(connection, slug, edges, embedder.model, tally)
    analyse(connection, tally.added)
    return summarize_import(tuple(groups), tally, check)


def _without_erased(connection: psycopg.Connection[Any], slug: str, edges: Sequence[_Edge]) -> tuple[list[_Edge], int]:
    """Return the edges of which neither the fact nor an end was forgotten for good, and how many others there are."""
    namespace = found_id(connection, slug)
    facts = {edge.id: loading.row_id(namespace, "memory_facts", edge.id) for edge in edges}
    ends = {end: _entity(namespace, end) for edge in edges for end in (edge.source, edge.target)}
    gone = loading.erased(connection, namespace, "memory_facts", list(facts.values()))
    gone |= loading.erased(connection, namespace, "entities", list(ends.values()))
    kept = [edge for edge in edges if not {facts[edge.id], ends[edge.source], ends[edge.target]} & gone]
    return kept, len(edges) - len(kept)


def _groups(path: Path, check: RowCheck, namespace: str | None) -> dict[str, _Group]:
    """Return the valid rows of a file by namespace; the others are reported to ``check`` by their JSON path."""
    chosen, groups = chosen_slug(namespace), defaultdict[str, _Group](_Group)
    content = _content(path)
    for part in _PARTS:
        rows: Sequence[object] = content.get(part) or ()
        for place, row in enumerate(rows):
            check.seen += 1
            try:
                if not isinstance(row, dict):
                    raise BadRow("not a JSON object")
                slug = chosen or _slug(cast("dict[str, Any]", row), path)
                _take(part, cast("dict[str, Any]", row), slug, groups[slug], check)
            except BadRow as error:
                check.bad(place, str(error), f"{part}[{place}]")
    for group in groups.values():
        _count_mentions(group)
    return {slug: group for slug, group in groups.items() if group.nodes or group.edges or group.episodes}


def _count_mentions(group: _Group) -> None:
    """Count as a node's mentions the episodes of its edges, or one if there is none."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for edge in group.edges.values():
        for end in (edge.source, edge.target):
            seen[end].update(edge.episodes)
    group.nodes.update({id_: replace(group.nodes[id_], mentions=max(1, len(found))) for id_, found in seen.items()})


def _content(path: Path) -> Mapping[str, Any]:
    content = read_json_file(path)
    for part in _PARTS:
        if not isinstance(content.get(part) or [], list):
            unreadable(path, BadRow(f"{part} is no list"))
    if not any(content.get(part) for part in _PARTS):
        raise ImportRefused(
            f"{path} holds no nodes, edges or episodes, so there is nothing to import. docs/import.md says how such a file is made."
        )
    return content


def _slug(row: Mapping[str, Any], path: Path) -> str:
    group = row.get("group_id")
    return slug_of(group) if isinstance(group, str) and any(c.isalnum() for c in group) else file_slug(path, None)


def _take(part: str, row: dict[str, Any], slug: str, group: _Group, check: RowCheck) -> None:
    """Add one row to the part of the group that it belongs to.

    Raises ``BadRow``.
    """
    id_ = required_text(row, "uuid", LONGEST_ID)
    held: Mapping[str, object] = {"nodes": group.nodes, "edges": group.edges, "episodes": group.episodes}[part]
    if id_ in held:
        raise BadRow("its uuid was used before")
    if part == "nodes":
        node = _node(row, id_)
        texts = "\n".join((node.name, *map(str, node.attributes.values())))
        check.limits.check(slug, texts, "name, summary and attributes")
        group.nodes[id_] = replace(node, state=check.screening.state(slug, texts))
    elif part == "episodes":
        episode = _episode(row, id_, slug)
        check.limits.check(slug, episode.content, "content")
        group.episodes[id_] = replace(episode, state=check.screening.state(slug, episode.content))
    else:
        edge = _edge(row, id_, group)
        check.limits.check(slug, edge.fact, "fact")
        if check.screening.state(slug, f"{edge.name} {edge.fact}") != "active":
            raise BadRow("it holds what screening sets aside, and facts cannot be set aside")
        group.edges[id_] = edge


def _node(row: dict[str, Any], id_: str) -> Record:
    labels = row.get("labels") or []
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise BadRow("labels is no list of texts")
    given = row.get("attributes") or {}
    if not isinstance(given, dict):
        raise BadRow("attributes is no object")
    attributes = {name: value for name, value in given.items() if name not in _EMBEDDINGS}
    if row.get("summary"):
        attributes["summary"] = required_text(row, "summary")
    storable(attributes, "attributes")
    kinds = [label for label in labels if label != _BASE_LABEL]
    kind = required_text({"labels": kinds[-1] if kinds else _BASE_LABEL}, "labels", LONGEST_NAME)
    return Record(id_, SOURCE, kind.upper(), required_text(row, "name", LONGEST_NAME), attributes)


def _episode(row: dict[str, Any], id_: str, slug: str) -> Turn:
    valid_at = row.get("valid_at") or row.get("created_at")
    name = required_text(row, "name", LONGEST_NAME)
    return Turn(slug, id_, _instant(valid_at, "valid_at"), "", required_text(row, "content"), session=name, title=name)


def _edge(row: dict[str, Any], id_: str, group: _Group) -> _Edge:
    source, target = (required_text(row, name, LONGEST_ID) for name in ("source_node_uuid", "target_node_uuid"))
    if missing := {source, target} - group.nodes.keys():
        raise BadRow(f"the node {min(missing)[:60]!r}, which it ties, is none of its group in the file")
    times = {n: _instant(row[n], n) if row.get(n) else None for n in ("valid_at", "invalid_at", "expired_at")}
    since, until = times["valid_at"], times["invalid_at"]
    if since and until and until < since:
        raise BadRow("invalid_at lies before valid_at")
    episodes = row.get("episodes") or []
    if not isinstance(episodes, list):
        raise BadRow("episodes is no list")
    name = required_text(row, "name", LONGEST_NAME)
    return _Edge(
        id_,
        source,
        target,
        name,
        required_text(row, "fact"),
        tuple(str(e) for e in episodes if str(e) in group.episodes),
        since,
        until,
        _instant(row.get("created_at"), "created_at"),
        times["expired_at"],
    )


def _instant(value: object, name: str) -> datetime:
    """Parse an instant; without a time zone it is UTC, which Graphiti uses and some of its databases drop."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    return instant(moment.replace(tzinfo=UTC).isoformat() if moment and moment.tzinfo is None else value, name)


def _write_edges(
    connection: psycopg.Connection[Any], slug: str, edges: Sequence[_Edge], model: str, tally: ImportTally
) -> None:
    """Write the edges that are new in the namespace; count the others, and note which of these have another text."""
    for batch in batches(edges, lambda edge: len(edge.fact), BATCH_CHARACTERS):
        with connection.transaction():
            namespace = claim(connection, slug, tally.added, model)
            ids = [loading.row_id(namespace, "memory_facts", edge.id) for edge in batch]
            standing = {str(i): str(fact) for i, fact in connection.execute(_STANDING, (namespace, ids)).fetchall()}
            fresh = [edge for edge in batch if edge.id not in standing]
            names = _names(connection, namespace, fresh)
            chunks = _chunks(connection, namespace, fresh)
            facts = (_fact(namespace, edge, names, chunks) for edge in fresh)
            insert(connection, tables.memory_facts, facts, len(fresh), tally.added)
            tied = [edge for edge in fresh if edge.source != edge.target]
            relationships = (_relationship(namespace, edge, chunks) for edge in tied)
            insert(connection, tables.relationships, relationships, len(tied), tally.added)
        tally.known += len(standing)
        tally.left += [edge.id for edge in batch if standing.get(edge.id, edge.fact) != edge.fact]


def _entity(namespace: str, node: str) -> str:
    return loading.row_id(namespace, "entities", SOURCE, node)


def _names(connection: psycopg.Connection[Any], namespace: str, edges: Sequence[_Edge]) -> dict[str, str]:
    """Return entity → name for the ends of some edges."""
    ids = [_entity(namespace, end) for edge in edges for end in (edge.source, edge.target)]
    return {str(i): str(name) for i, name in connection.execute(_ENTITY_NAMES, (namespace, ids)).fetchall()}


def _chunks(connection: psycopg.Connection[Any], namespace: str, edges: Sequence[_Edge]) -> frozenset[str]:
    """Return the passages that exist for the edges' episodes; quarantined episodes have none."""
    ids = [loading.chunk_id(namespace, episode) for edge in edges for episode in edge.episodes]
    return frozenset(str(i) for (i,) in connection.execute(_FOUND_CHUNKS, (namespace, ids)).fetchall())


def _fact(namespace: str, edge: _Edge, names: Mapping[str, str], chunks: frozenset[str]) -> dict[str, object]:
    return {
        "id": loading.row_id(namespace, "memory_facts", edge.id),
        "namespace_id": namespace,
        "external_id": edge.id,
        "subject": names[_entity(namespace, edge.source)],
        "predicate": edge.name,
        "object": names[_entity(namespace, edge.target)],
        "fact_text": edge.fact,
        "is_active": edge.expired_at is None,
        **_times(namespace, edge, chunks),
    }


def _relationship(namespace: str, edge: _Edge, chunks: frozenset[str]) -> dict[str, object]:
    return {
        "id": loading.row_id(namespace, "relationships", edge.id),
        "namespace_id": namespace,
        "external_id": edge.id,
        "source_entity_id": _entity(namespace, edge.source),
        "target_entity_id": _entity(namespace, edge.target),
        "relationship_type": edge.name,
        "description": edge.fact,
        **_times(namespace, edge, chunks),
    }


def _times(namespace: str, edge: _Edge, chunks: frozenset[str]) -> dict[str, object]:
    passages = (loading.chunk_id(namespace, episode) for episode in edge.episodes)
    return {
        "source_chunk_ids": [passage for passage in passages if passage in chunks],
        "valid_from": edge.valid_from,
        "valid_to": edge.valid_to,
        "recorded_at": edge.recorded_at,
        "invalidated_at": edge.expired_at,
    }
