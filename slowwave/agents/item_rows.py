"""Items of LangGraph as memories hold them: found by key, listed, searched, and the namespaces that there are.

An item is a live, active memory that has not ended, of the source ``langgraph``; a summary that a night wrote of some is one as well, under
its own id. A key whose memory a night has merged gives what the one that absorbed it says. What is quarantined or deleted is given by
nothing. Writing belongs to ``slowwave.agents.item_writing``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import sql

from slowwave.agents.item_filters import condition
from slowwave.agents.item_scopes import LABELS, SOURCE, Labels, external_id, is_id, key_of, labels_of, within, written
from slowwave.agents.item_texts import reworded
from slowwave.errors import EmbeddingError
from slowwave.language.embedder import Embedder
from slowwave.search.candidates import Domain, Part
from slowwave.search.matches import matches
from slowwave.store.connect import Connection

PUT: Final = "put"
"""The reason of a version that an agent wrote."""

_LEAST: Final = 40  # candidates of a search

ITEMS: Final = sql.SQL(
    "m.namespace_id = %(namespace)s AND m.invalidated_at IS NULL AND m.state = 'active' AND m.scope <> '' "
    "AND (m.valid_to IS NULL OR m.valid_to > now()) "
    "AND (m.kind = 'summary' OR (m.source = {} AND m.external_id IS NOT NULL))"
).format(sql.Literal(SOURCE))
"""Whether ``memory.memories m`` is an item."""

_SAID: Final = sql.SQL("""CASE WHEN v.reason <> {put} THEN (
  SELECT p.content FROM memory.memory_versions p WHERE p.memory_id = m.id AND p.reason = {put} ORDER BY p.ordinal DESC LIMIT 1) END
""").format(put=sql.Literal(PUT))
"""What an agent last put, where a night has changed the words since; else null."""

_COLUMNS: Final = sql.SQL(
    "m.id::text, m.source = {source}, m.scope, m.external_id, m.attributes->'value', m.recorded_at, m.updated_at, v.content, {said}"
).format(source=sql.Literal(SOURCE), said=_SAID)

_LISTED: Final = sql.SQL("""
SELECT {columns} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
 WHERE {items} AND {asked}
 ORDER BY m.updated_at DESC, m.scope COLLATE "C", m.external_id COLLATE "C", m.id LIMIT %(limit)s OFFSET %(offset)s
""")

_NAMED: Final = sql.SQL("""
WITH RECURSIVE path AS (
  SELECT m.id, m.id AS at, m.state, m.merged_into, 1 AS steps FROM memory.memories m
   WHERE m.namespace_id = %(namespace)s AND m.state <> 'quarantined' AND (m.invalidated_at IS NULL OR m.state = 'merged')
     AND (m.external_id = ANY (%(ids)s) OR (m.kind = 'summary' AND m.id = ANY (%(keys)s::uuid[])))
  UNION ALL
  SELECT p.id, m.id, m.state, m.merged_into, p.steps + 1 FROM path p JOIN memory.memories m ON m.id = p.merged_into
   WHERE p.state = 'merged' AND p.steps < 100
), ends AS (SELECT DISTINCT ON (id) id, at FROM path ORDER BY id, steps DESC)
SELECT {columns}, e.id::text, e.source = {source} FROM ends
  JOIN memory.memories m ON m.id = ends.id JOIN memory.memory_versions v ON v.id = m.current_version_id
  JOIN memory.memories e ON e.id = ends.at AND e.invalidated_at IS NULL AND e.state IN ('active', 'archived')
""").format(columns=_COLUMNS, source=sql.Literal(SOURCE))

_BY_ID: Final = sql.SQL("""
SELECT {columns} FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = ANY (%s::uuid[])
""").format(columns=_COLUMNS)

_NAMESPACES: Final = sql.SQL("SELECT DISTINCT m.scope FROM memory.memories m WHERE {items} AND {asked}")


@dataclass(frozen=True, slots=True)
class AgentItem:
    """An item as it is told: ``id`` is its memory's, ``score`` from 0 to 1 where a query found it."""

    id: str
    labels: Labels
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemDomain(Domain):
    """Rows that are items of a namespace of LangGraph, or below it, and meet a filter; what a search ranks."""

    prefix: Labels = ()
    wanted: Mapping[str, Any] | None = None

    def condition(self, kind: str = "") -> tuple[Part, dict[str, Any]]:
        """That of a domain, of memories alone."""
        whole, values = Domain.condition(self, kind)
        if kind in ("chunks", "entities"):
            return sql.SQL("false"), values
        held = sql.SQL(" AND ").join([ITEMS, within(self.prefix, values), condition(self.wanted, values)])
        return sql.SQL("{} AND s.id IN (SELECT m.id FROM memory.memories m WHERE {})").format(whole, held), values


def named_items(
    connection: Connection, namespace: str, asked: Iterable[tuple[Labels, str]]
) -> dict[tuple[Labels, str], AgentItem]:
    """The items under these keys of a namespace (its id), by namespace and key; those that are not there are left out."""
    ids = {external_id(labels, key): (labels, key) for labels, key in asked}
    if not ids:
        return {}
    keys = [key for _, key in ids.values() if is_id(key)]
    rows = connection.execute(_NAMED, {"namespace": namespace, "ids": list(ids), "keys": keys}).fetchall()
    ends = {str(row[-2]) for row in rows if row[-1] and row[-2] != row[0]}
    survivors = {found.id: found for found in _by_id(connection, ends)}
    items: dict[tuple[Labels, str], AgentItem] = {}
    for row in rows:
        own, end = _item(row), survivors.get(str(row[-2]))
        told = own if end is None else end
        items[own.labels, own.key] = AgentItem(
            told.id, own.labels, own.key, told.value, own.created_at, max(own.updated_at, told.updated_at)
        )
    return {place: items[place] for place in ids.values() if place in items}


def listed_items(
    connection: Connection,
    namespace: str,
    prefix: Labels,
    wanted: Mapping[str, Any] | None,
    limit: int,
    offset: int,
) -> list[AgentItem]:
    """Items of a namespace of LangGraph and below it that meet a filter, those that changed last first."""
    values: dict[str, Any] = {"namespace": namespace, "limit": limit, "offset": offset}
    asked = sql.SQL(" AND ").join([within(prefix, values), condition(wanted, values)])
    query = _LISTED.format(columns=_COLUMNS, items=ITEMS, asked=asked)
    return [_item(row) for row in connection.execute(query, values).fetchall()]


def found_items(
    connection: Connection,
    domain: ItemDomain,
    query: str,
    embedder: Callable[[], Embedder],
    limit: int,
    offset: int,
) -> list[AgentItem]:
    """Items of a domain that match a query, best first, each with its score. Words alone are compared where nothing can be embedded."""
    depth = max(_LEAST, limit + offset)
    try:
        found = matches(connection, domain, query, "hybrid", embedder, depth)
    except EmbeddingError:
        found = matches(connection, domain, query, "bm25", embedder, depth)
    best = sorted(found.scores.items(), key=lambda pair: (-pair[1], pair[0]))[offset : offset + limit]
    held = {item.id: item for item in _by_id(connection, [id_ for id_, _ in best])}
    return [
        AgentItem(i.id, i.labels, i.key, i.value, i.created_at, i.updated_at, score)
        for id_, score in best
        for i in [held[id_]]
    ]


def listed_namespaces(
    connection: Connection,
    namespace: str,
    conditions: Iterable[tuple[str, Sequence[str]]],
    max_depth: int | None,
    limit: int,
    offset: int,
) -> list[Labels]:
    """Namespaces of LangGraph that hold an item, sorted; each cut to ``max_depth`` labels and told once.

    ``conditions`` are pairs of ``prefix`` or ``suffix`` and a path, where ``*`` stands for any label; all of them hold.
    """
    values: dict[str, Any] = {"namespace": namespace}
    asked = [_met(kind, path, values) for kind, path in conditions]
    query = _NAMESPACES.format(items=ITEMS, asked=sql.SQL(" AND ").join([sql.SQL("true"), *asked]))
    found = {labels_of(str(scope))[:max_depth] for (scope,) in connection.execute(query, values).fetchall()}
    return sorted(found)[offset : offset + limit]


def _met(kind: str, path: Sequence[str], values: dict[str, Any]) -> sql.Composable:
    """Whether the labels of a memory's scope begin or end with a path."""
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {kind}. There are prefix and suffix.")
    parts: list[sql.Composable] = []
    for place, label in enumerate([None, *path]):  # the first asks for as many labels
        if label == "*":
            continue
        name = f"label_{len(values)}"
        values[name] = len(path) if label is None else written(label)
        if label is None:
            parts.append(sql.SQL("cardinality({}) >= {}").format(LABELS, sql.Placeholder(name)))
            continue
        at = (
            sql.Literal(place)
            if kind == "prefix"
            else sql.SQL("cardinality({}) - {}").format(LABELS, sql.Literal(len(path) - place))
        )
        parts.append(sql.SQL("({})[{}] = {}").format(LABELS, at, sql.Placeholder(name)))
    return sql.SQL("({})").format(sql.SQL(" AND ").join(parts))


def _by_id(connection: Connection, ids: Iterable[str]) -> list[AgentItem]:
    wanted = sorted(ids)
    return [_item(row) for row in connection.execute(_BY_ID, (wanted,)).fetchall()] if wanted else []


def _item(row: Sequence[Any]) -> AgentItem:
    """A row of ``_COLUMNS``. A summary has no value of its own: it says one thing."""
    id_, own, scope, known, value, created_at, updated_at, content, said = row[:9]
    key = str(id_)
    if not own or known is None or not isinstance(value, dict):
        value = {"content": content}
    else:
        key = key_of(str(known), str(scope))
        if said is not None and said != content:
            value = reworded(value, said, content)
    return AgentItem(str(id_), labels_of(str(scope)), key, value, created_at, updated_at)
