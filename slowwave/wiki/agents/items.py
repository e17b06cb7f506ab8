"""Items of LangGraph as memories: keys, filters, searches and batches of writes."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID, uuid4

from psycopg import sql

from slowwave.errors import EmbeddingError, Refused
from slowwave.models.embedder import Embedder
from slowwave.search.candidates import Domain, Part, matches
from slowwave.sources.loading import LoadedVectors, claim
from slowwave.sources.rows import LONGEST_ID, BadRow, Limits, Screening, State, storable
from slowwave.store.logins import Connection
from slowwave.store.namespaces import refuse_connected
from slowwave.store.settings import Settings
from slowwave.text.screening import redact

# Filters of a search for items, as SQL conditions on the values that memories keep. They compare what LangGraph's own stores compare.
#
# A field is compared with a JSON value, or with operators (``$eq``, ``$ne``, ``$gt``, ``$gte``, ``$lt``, ``$lte``). A missing field is
# null. An object compares only its own fields; a list requires the same number of members, each compared in the same way. Numbers are
# ordered only against numbers, and texts, by their characters, only against texts. Every value is a parameter.

_ORDER: Final = {"$gt": sql.SQL(">"), "$gte": sql.SQL(">="), "$lt": sql.SQL("<"), "$lte": sql.SQL("<=")}
_VALUE: Final = sql.SQL("(m.attributes->'value')")


def condition(wanted: Mapping[str, Any] | None, values: dict[str, Any]) -> sql.Composable:
    """Build the condition on ``memory.memories m``; the values it compares with are added to ``values``.

    Raises ``ValueError`` for an unknown operator, and ``Refused`` for a value that is not JSON.
    """
    parts = _Parts(values)
    fields = [parts.compared(parts.field(_VALUE, name), value) for name, value in (wanted or {}).items()]
    return sql.SQL(" AND ").join([sql.SQL("true"), *fields])


class _Parts:
    """The parts of one condition; their values are parameters of it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def field(self, of: sql.Composable, name: str | int) -> sql.Composable:
        """Return the SQL of an object's field or a list's member, null if it is missing."""
        kind = sql.SQL("integer" if isinstance(name, int) else "text")
        return sql.SQL("coalesce({} -> {}::{}, 'null')").format(of, self._parameter(name), kind)

    def compared(self, found: sql.Composable, wanted: object) -> sql.Composable:
        """Return the SQL condition that a found value meets a filter."""
        if isinstance(wanted, Mapping):
            asked = {str(name): value for name, value in wanted.items()}
            if any(name.startswith("$") for name in asked):
                return self._all(self._operator(found, name, value) for name, value in asked.items())
            held = [self.compared(self.field(found, name), value) for name, value in asked.items()]
            return self._all([sql.SQL("jsonb_typeof({}) = 'object'").format(found), *held])
        if isinstance(wanted, Sequence) and not isinstance(wanted, str):
            held = [self.compared(self.field(found, n), value) for n, value in enumerate(wanted)]
            length = sql.SQL("CASE jsonb_typeof({0}) WHEN 'array' THEN jsonb_array_length({0}) = {1} ELSE false END")
            return self._all([length.format(found, self._parameter(len(held))), *held])
        return sql.SQL("{} = {}").format(found, self._json(wanted))

    def _operator(self, found: sql.Composable, name: str, value: object) -> sql.Composable:
        if name == "$eq":
            return sql.SQL("{} = {}").format(found, self._json(value))
        if name == "$ne":
            return sql.SQL("{} <> {}").format(found, self._json(value))
        if name not in _ORDER:
            raise ValueError(f"Unsupported operator: {name}. There are $eq, $ne, {', '.join(_ORDER)}.")
        if isinstance(value, str):
            kind, read = sql.SQL("string"), sql.SQL("({} #>> '{{}}') COLLATE \"C\"").format(found)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kind, read = sql.SQL("number"), sql.SQL("({} #>> '{{}}')::numeric").format(found)
        else:
            raise ValueError(f"{name} compares with a number or a text, not with {type(value).__name__}.")
        other = sql.SQL("({} #>> '{{}}')").format(self._json(value))
        other = other if isinstance(value, str) else sql.SQL("{}::numeric").format(other)
        return sql.SQL("CASE jsonb_typeof({}) WHEN '{}' THEN {} {} {} ELSE false END").format(
            found, kind, read, _ORDER[name], other
        )

    @staticmethod
    def _all(held: Any) -> sql.Composable:
        return sql.SQL("({})").format(sql.SQL(" AND ").join([*held]))

    def _json(self, value: object) -> sql.Composable:
        return sql.SQL("{}::jsonb").format(self._parameter(json_text(value, "a filter")))

    def _parameter(self, value: object) -> sql.Composable:
        name = f"filter_{len(self._values)}"
        self._values[name] = value
        return sql.Placeholder(name)


def json_text(value: object, what: str) -> str:
    """Return a value as JSON that the database accepts.

    Raises ``Refused`` for a value that is not JSON; ``what`` names the value in the message.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        storable(json.loads(text), what)
        return text
    except BadRow as problem:
        raise Refused(f"{what[0].upper()}{what[1:]} cannot be taken: {problem}. Nothing was done.") from None
    except (TypeError, ValueError, RecursionError) as problem:
        raise Refused(
            f"{what[0].upper()}{what[1:]} is no JSON value ({type(problem).__name__}: {problem}). Nothing was done. "
            "Give texts, numbers, true, false, null, lists and objects of these."
        ) from None


# The location of a LangGraph item: its namespace, a tuple of labels, is the memory's scope, and its key is part of the external id.
#
# A scope is the labels joined with ``/``. ``%`` and ``/`` within a label are written ``%25`` and ``%2F``, so that every tuple has a
# different scope and can be parsed back. Rows are read and written below.

SOURCE: Final = "langgraph"
"""The source of the rows; their external ids begin with it."""

LABELS: Final = sql.SQL("string_to_array(m.scope, '/')")
"""The labels in the scope of ``memory.memories m``, escaped."""

Labels = tuple[str, ...]
"""A namespace of LangGraph."""


def scope_of(labels: Labels) -> str:
    """Return the scope of a LangGraph namespace."""
    return "/".join(map(written, labels))


def labels_of(scope: str) -> Labels:
    """Return the LangGraph namespace of a scope."""
    return tuple(map(read, scope.split("/"))) if scope else ()


def written(label: str) -> str:
    """Encode a label for a scope."""
    return label.replace("%", "%25").replace("/", "%2F")


def read(label: str) -> str:
    """Decode a label from a scope."""
    return label.replace("%2F", "/").replace("%25", "%")


def external_id(labels: Labels, key: str) -> str:
    """Return the external id of an item's memory.

    Raises ``Refused`` for an id that is too long, or that is not text which a database accepts.
    """
    named = f"{SOURCE}:{scope_of(labels)}/{written(key)}"
    try:
        storable(named, "its namespace or key")
    except BadRow as problem:
        raise Refused(f"An item cannot be addressed: {problem}. Nothing was done.") from None
    if len(named) > LONGEST_ID:
        raise Refused(
            f"An item's namespace and key have {len(named):,} characters together, more than {LONGEST_ID}. Nothing was done. "
            "Choose shorter ones."
        )
    return named


def key_of(known: str, scope: str) -> str:
    """Return the key in the external id of a memory of this scope."""
    return read(known[len(f"{SOURCE}:{scope}/") :])


def subject_of(key: str) -> str:
    """Return the subject of a memory under this key: the key, or nothing for a key that a program generated at random.

    Memories with two subjects are never merged, so two settings with one value stay separate.
    """
    try:
        UUID(key)
    except ValueError:
        return "" if re.fullmatch(r"[0-9a-fA-F]{16,}", key) else key
    return ""


def within(prefix: Labels, values: dict[str, Any], name: str = "scope") -> sql.Composable:
    """Build the condition that ``memory.memories m`` lies in a namespace or below it; its values are added to ``values``.

    Text is compared by bytes, as in the index ``memories_items``: "0" is the character after "/".
    """
    if not prefix:
        return sql.SQL("true")
    scope = scope_of(prefix)
    values |= {name: scope, f"{name}_below": f"{scope}/", f"{name}_beyond": f"{scope}0"}
    return sql.SQL("(m.scope = {at} OR (m.scope ~>=~ {below} AND m.scope ~<~ {beyond}))").format(
        at=sql.Placeholder(name), below=sql.Placeholder(f"{name}_below"), beyond=sql.Placeholder(f"{name}_beyond")
    )


def is_id(key: str) -> bool:
    """Return whether a key is a row's id in the form of the store: a summary that a night wrote has no other key."""
    try:
        return str(UUID(key)) == key
    except ValueError:
        return False


# The texts in an item's value: all of them, those that are searched, and a value with the wording that a night gave its memory.

WHOLE: Final = "$"
"""The path that means all texts of a value."""

Index = Literal[False] | list[str] | None
"""The ``index`` of LangGraph's ``put``: no field, these fields, or the fields of the store."""


def texts(value: object) -> Iterator[str]:
    """Yield every text within a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def searched_text(value: dict[str, Any], index: Index, fields: Sequence[str]) -> str:
    """Return the text of a memory with this value: the texts under the paths of ``index``, else of ``fields``, one per line.

    The text is empty if ``index`` is False or nothing is found.
    """
    from langgraph.store.base import get_text_at_path

    if index is False:
        return ""
    found: list[str] = []
    for path in fields if index is None else index:
        found += texts(value) if path == WHOLE else get_text_at_path(value, path)
    return "\n".join(dict.fromkeys(text.strip() for text in found if text.strip()))


def reworded(value: Any, said: str, now: str) -> Any:
    """Replace the old text in a value by the text of its memory now, which a night has changed.

    If it cannot be determined which of several texts changed, all are kept, without their secrets.
    """
    parts = {text.strip() for text in texts(value) if text.strip()}
    changed = {part: new for part in parts if (new := _changed(part, said, now)) is not None}
    return _written(value, changed if len(changed) == 1 else {})


def _changed(part: str, said: str, now: str) -> str | None:
    """Return the replacement of one of the texts, in whole lines, or None unless the text before and after it is unchanged."""
    lines = f"\n{said}\n"
    start = lines.find(f"\n{part}\n")
    if start < 0:
        return None
    before, after = said[:start], said[start + len(part) :]
    held = now.startswith(before) and now.endswith(after) and len(now) > len(before) + len(after)
    return now[len(before) : len(now) - len(after)] if held else None


def _written(value: Any, changed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return changed[value.strip()] if value.strip() in changed else redact(value)
    if isinstance(value, dict):
        return {name: _written(inner, changed) for name, inner in value.items()}
    if isinstance(value, list):
        return [_written(inner, changed) for inner in value]
    return value


# LangGraph items as memories hold them: found by key, listed and searched, and the list of namespaces.
#
# An item is a live, active memory that has not ended, with the source ``langgraph``. A summary that a night wrote of some items is an item
# as well, under its own id. The key of a memory that a night merged returns the value of the memory that absorbed it. Quarantined and
# deleted memories are never returned.

PUT: Final = "put"
"""The reason recorded with a version that an agent wrote."""

_LEAST: Final = 40  # fewest candidates of a search

ITEMS: Final = sql.SQL(
    "m.namespace_id = %(namespace)s AND m.invalidated_at IS NULL AND m.state = 'active' AND m.scope <> '' "
    "AND (m.valid_to IS NULL OR m.valid_to > now()) "
    "AND (m.kind = 'summary' OR (m.source = {} AND m.external_id IS NOT NULL))"
).format(sql.Literal(SOURCE))
"""Condition that ``memory.memories m`` is an item."""

_SAID: Final = sql.SQL("""CASE WHEN v.reason <> {put} THEN (
  SELECT p.content FROM memory.memory_versions p WHERE p.memory_id = m.id AND p.reason = {put} ORDER BY p.ordinal DESC LIMIT 1) END
""").format(put=sql.Literal(PUT))
"""The text that an agent last put, if a night has changed it since; else null."""

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
    """An item in the form that LangGraph gets: ``id`` is its memory's.

    ``score`` is from 0 to 1 if a query found the item.
    """

    id: str
    labels: Labels
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemDomain(Domain):
    """The rows that a search of items ranks: items of a LangGraph namespace, or below it, that meet a filter."""

    prefix: Labels = ()
    wanted: Mapping[str, Any] | None = None

    def condition(self, kind: str = "") -> tuple[Part, dict[str, Any]]:
        """Return the condition of a domain, for memories only."""
        whole, values = Domain.condition(self, kind)
        if kind in ("chunks", "entities"):
            return sql.SQL("false"), values
        held = sql.SQL(" AND ").join([ITEMS, within(self.prefix, values), condition(self.wanted, values)])
        return sql.SQL("{} AND s.id IN (SELECT m.id FROM memory.memories m WHERE {})").format(whole, held), values


def named_items(
    connection: Connection, namespace: str, asked: Iterable[tuple[Labels, str]]
) -> dict[tuple[Labels, str], AgentItem]:
    """Return the items under these keys of a namespace (its id), by namespace and key; missing items are left out."""
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
        current = own if end is None else end
        items[own.labels, own.key] = AgentItem(
            current.id, own.labels, own.key, current.value, own.created_at, max(own.updated_at, current.updated_at)
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
    """Return items of a LangGraph namespace and below it that meet a filter, those changed last first."""
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
    """Return items of a domain that match a query, best first, each with its score.

    Only words are compared if nothing can be embedded.
    """
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
    """Return the LangGraph namespaces that hold an item, sorted, each cut to ``max_depth`` labels and listed once.

    ``conditions`` are pairs of ``prefix`` or ``suffix`` and a path, in which ``*`` matches any label; all of them must hold.
    """
    values: dict[str, Any] = {"namespace": namespace}
    asked = [_met(kind, path, values) for kind, path in conditions]
    query = _NAMESPACES.format(items=ITEMS, asked=sql.SQL(" AND ").join([sql.SQL("true"), *asked]))
    found = {labels_of(str(scope))[:max_depth] for (scope,) in connection.execute(query, values).fetchall()}
    return sorted(found)[offset : offset + limit]


def _met(kind: str, path: Sequence[str], values: dict[str, Any]) -> sql.Composable:
    """Return the SQL condition that the labels of a memory's scope begin or end with a path.

    Raises ``ValueError`` for another kind than ``prefix`` and ``suffix``.
    """
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {kind}. There are prefix and suffix.")
    parts: list[sql.Composable] = []
    for place, label in enumerate([None, *path]):  # the first round compares the number of labels
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
    """Build an item from a row of ``_COLUMNS``.

    A summary has no dedicated value: its value is its text.
    """
    id_, own, scope, known, value, created_at, updated_at, content, version_content = row[:9]
    key = str(id_)
    if not own or known is None or not isinstance(value, dict):
        value = {"content": content}
    else:
        key = key_of(str(known), str(scope))
        if version_content is not None and version_content != content:
            value = reworded(value, version_content, content)
    return AgentItem(str(id_), labels_of(str(scope)), key, value, created_at, updated_at)


# Writing LangGraph items: a batch of puts and deletes takes a few statements, whatever its size, in the caller's transaction.
#
# A value that is new to its key becomes the next version of its memory; writing the same value again does nothing. A deleted memory is
# retired and releases its key. A memory that a night retired, merged or archived releases its key when the key is put again: a new memory
# then begins, independent of the old one.

_LOG: Final = logging.getLogger(__name__)

_HELD: Final = """
SELECT m.id::text, m.external_id, m.scope, m.source = %(source)s, m.state,
  m.invalidated_at IS NULL AND m.state = 'active' AND (m.valid_to IS NULL OR m.valid_to > now()), m.attributes->'value',
  (SELECT p.content FROM memory.memory_versions p WHERE p.memory_id = m.id AND p.reason = %(put)s ORDER BY p.ordinal DESC LIMIT 1),
  (SELECT max(p.ordinal) FROM memory.memory_versions p WHERE p.memory_id = m.id)
FROM memory.memories m WHERE m.namespace_id = %(namespace)s
  AND (m.external_id = ANY (%(ids)s) OR (m.kind = 'summary' AND m.invalidated_at IS NULL AND m.id::text = ANY (%(keys)s)))
ORDER BY m.id"""

_NAMESPACE: Final = "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s FOR NO KEY UPDATE"

_RETIRE: Final = """
UPDATE memory.memories SET invalidated_at = now(), external_id = NULL,
  attributes = attributes || jsonb_strip_nulls(jsonb_build_object('formerly', external_id))
WHERE namespace_id = %s AND id = ANY (%s::uuid[])"""

_INSERT: Final = """
INSERT INTO memory.memories (id, namespace_id, external_id, kind, scope, state, subject, source, attributes, current_version_id, valid_from)
SELECT id, %s, external_id, 'semantic', scope, state, subject, %s, attributes, version, now() FROM jsonb_to_recordset(%s::jsonb)
  AS r (id uuid, external_id text, scope text, state text, subject text, attributes jsonb, version uuid)"""

_VERSIONS: Final = """
INSERT INTO memory.memory_versions (id, namespace_id, memory_id, ordinal, content, reason)
SELECT version, %s, id, ordinal, content, %s FROM jsonb_to_recordset(%s::jsonb)
  AS r (version uuid, id uuid, ordinal integer, content text) WHERE version IS NOT NULL"""

_UPDATE: Final = """
UPDATE memory.memories m SET stage = CASE WHEN r.version IS NULL THEN m.stage ELSE 'full' END,
  attributes = CASE WHEN r.version IS NULL THEN m.attributes ELSE '{}' END || r.attributes,
  current_version_id = coalesce(r.version, m.current_version_id)
FROM jsonb_to_recordset(%s::jsonb) AS r (id uuid, attributes jsonb, version uuid) WHERE m.id = r.id AND m.namespace_id = %s"""

_FORGET_VECTORS: Final = "DELETE FROM memory.memory_vectors WHERE namespace_id = %s AND id = ANY (%s::uuid[])"

_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"

_VECTORS: Final = """
INSERT INTO memory.memory_vectors (id, model, namespace_id, vector)
SELECT id, %s, %s, vector::vector FROM unnest(%s::uuid[], %s::text[]) AS r (id, vector)"""


@dataclass(frozen=True, slots=True)
class ItemPut:
    """A value to store under a key, None to delete it; ``text`` is the text by which a search finds it."""

    labels: Labels
    key: str
    external_id: str
    value: Mapping[str, Any] | None
    text: str = ""
    state: State = "active"

    @classmethod
    def from_arguments(
        cls, labels: Labels, key: str, value: Mapping[str, Any] | None, index: Index, fields: Sequence[str]
    ) -> ItemPut:
        """Build a put from the arguments of LangGraph.

        Raises ``Refused`` for a value that no database accepts.
        """
        known = external_id(labels, key)
        if value is None:
            return cls(labels, key, known, None)
        plain: dict[str, Any] = json.loads(json_text(dict(value), "the value of an item"))
        return cls(labels, key, known, plain, searched_text(plain, index, fields))


@dataclass(frozen=True, slots=True)
class _Held:
    """The row that is stored under a key.

    ``own``: the row is an item that was put there and not written by a night. ``open``: it is live.
    """

    id: str
    own: bool
    state: str
    open: bool
    value: object
    text: str | None
    ordinal: int

    def says(self, put: ItemPut) -> bool:
        """Return whether a put adds nothing new."""
        shown = self.open or (self.state == put.state == "quarantined")
        return self.own and shown and put.value is not None and _canonical(self.value) == _canonical(put.value)


@dataclass(slots=True)
class _Work:
    """The writes of a batch: rows that end, rows that are new, and rows with another value."""

    ended: list[str] = field(default_factory=list)
    fresh: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)

    def embedded(self) -> list[tuple[str, str]]:
        """Return (row id, text) of the rows that get a vector."""
        indexed_rows = [row for row in [*self.fresh, *self.changed] if row["version"] and row["state"] == "active"]
        return [(row["id"], row["content"]) for row in indexed_rows if row["content"]]


def screened(puts: Sequence[ItemPut], namespace: str, settings: Settings) -> list[ItemPut]:
    """Screen all texts of the puts, and return the puts with the resulting state of each.

    Raises ``Refused`` if screening refuses a put.
    """
    screening = Screening(settings.screening_on_import)
    limits = Limits(settings.import_longest_text)
    done: list[ItemPut] = []
    for put in puts:
        item_text = "\n".join(texts(put.value))
        try:
            limits.check(namespace, item_text, "the value")
            state = screening.state(namespace, item_text)
        except BadRow as problem:
            raise Refused(f"An item cannot be taken: {problem}. Nothing of its batch was stored.") from None
        done.append(ItemPut(put.labels, put.key, put.external_id, put.value, put.text, state))
    if screening.quarantined:
        kinds = ", ".join(sorted(screening.found))
        _LOG.warning(
            "Kept from recall: %d items (%s). Neither get nor search gives them.", screening.quarantined, kinds
        )
    return done


class ItemWriter:
    """A writer of items of a namespace (its name).

    Vectors are computed before the transaction begins: call ``prepare``, then ``write`` within it.
    """

    def __init__(self, slug: str, puts: Sequence[ItemPut], vectors: LoadedVectors) -> None:
        self._slug, self._puts, self._vectors = slug, puts, vectors

    def prepare(self, connection: Connection, namespace: str | None) -> None:
        """Compute the vectors that are needed; ``namespace`` is the id of the namespace if it exists."""
        work = _work(self._puts, _held(connection, namespace, self._puts) if namespace else {})
        self._vectors.need((text for _, text in work.embedded()), lambda _: None)

    def write(self, connection: Connection) -> int:
        """Write all new items, and return the number of memories that were added.

        Writers of a namespace take turns. Raises ``Refused`` for a read-only namespace.
        """
        namespace = self._claimed(connection)
        work = _work(self._puts, _held(connection, namespace, self._puts))
        embedded = work.embedded()
        # No vector is missing here, unless another writer came in between.
        self._vectors.need((text for _, text in embedded), lambda _: None)
        if work.ended:
            connection.execute(_RETIRE, (namespace, work.ended))
        if work.fresh:
            connection.execute(_INSERT, (namespace, SOURCE, json.dumps(work.fresh)))
        if rows := [row for row in [*work.fresh, *work.changed] if row["version"]]:
            connection.execute(_VERSIONS, (namespace, PUT, json.dumps(rows)))
        if work.changed:
            connection.execute(_UPDATE, (json.dumps(work.changed), namespace))
            connection.execute(_FORGET_VECTORS, (namespace, [row["id"] for row in work.changed if row["version"]]))
        if embedded:
            self._insert_vectors(connection, namespace, embedded)
        return len(work.fresh)

    def _claimed(self, connection: Connection) -> str:
        row = connection.execute(_NAMESPACE, (self._slug,)).fetchone()
        if row is None:
            return claim(connection, self._slug, Counter(), self._vectors.model)
        if row[1]:
            raise Refused(f"Read-only: {self._slug}. Nothing was stored. Make it writable first.")
        refuse_connected(connection, [self._slug])
        return str(row[0])

    def _insert_vectors(self, connection: Connection, namespace: str, embedded: Sequence[tuple[str, str]]) -> None:
        vectors = [self._vectors.get(text) for _, text in embedded]
        connection.execute(_REGISTER_MODEL, (self._vectors.model, len(vectors[0])))
        written = [f"[{','.join(map(repr, vector.tolist()))}]" for vector in vectors]
        connection.execute(_VECTORS, (self._vectors.model, namespace, [id_ for id_, _ in embedded], written))


def _held(connection: Connection, namespace: str, puts: Sequence[ItemPut]) -> dict[tuple[Labels, str], _Held]:
    """Return the rows that are stored under the keys of puts."""
    places = {put.external_id: (put.labels, put.key) for put in puts}
    by_scope = {(scope_of(labels), key): (labels, key) for labels, key in places.values()}
    keys = [key for _, key in places.values() if is_id(key)]
    asked = {"namespace": namespace, "source": SOURCE, "put": PUT, "ids": list(places), "keys": keys}
    held: dict[tuple[Labels, str], _Held] = {}
    for id_, known, scope, own, state, open_, value, text, ordinal in connection.execute(_HELD, asked).fetchall():
        place = places.get(str(known)) or by_scope.get((str(scope), str(id_)))
        if place is not None:
            text_now = None if text is None else str(text)
            held[place] = _Held(str(id_), bool(own), str(state), bool(open_), value, text_now, int(str(ordinal or 0)))
    return held


def _work(puts: Sequence[ItemPut], held: Mapping[tuple[Labels, str], _Held]) -> _Work:
    """Return the writes for the puts that differ from the stored rows."""
    work = _Work()
    for put in puts:
        there = held.get((put.labels, put.key))
        if there is not None and there.says(put):
            continue
        attributes = {"value": put.value}
        if there is not None and there.own and there.open and put.value is not None and put.state == "active":
            version = None if there.text == put.text else str(uuid4())
            work.changed.append(
                {"id": there.id, "attributes": attributes, "version": version, "ordinal": there.ordinal + 1}
                | {"content": put.text, "state": put.state}
            )
            continue
        if there is not None:
            work.ended.append(there.id)
        if put.value is not None:
            work.fresh.append(
                {
                    "id": str(uuid4()),
                    "version": str(uuid4()),
                    "ordinal": 1,
                    "content": put.text,
                    "attributes": attributes,
                }
                | {"external_id": put.external_id, "scope": scope_of(put.labels), "subject": subject_of(put.key)}
                | {"state": put.state}
            )
    return work


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)
