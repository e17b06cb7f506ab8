"""Writing items of LangGraph: a batch of puts and deletes is a handful of statements, whatever their number, in the caller's transaction.

A value that is new to its key becomes the next version of its memory; the same value again writes nothing. What is deleted is retired and
lets go of its key, and so is what a night has retired, merged or archived when its key is put again: a new memory begins then, as if no
night had been. Reading belongs to ``slowwave.agents.item_rows``.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from slowwave.agents.item_filters import json_text
from slowwave.agents.item_rows import PUT
from slowwave.agents.item_scopes import SOURCE, Labels, external_id, is_id, scope_of, subject_of
from slowwave.agents.item_texts import Index, searched_text, texts
from slowwave.config.settings import Settings
from slowwave.errors import Refused
from slowwave.imports.limits import Limits
from slowwave.imports.loading import LoadedVectors
from slowwave.imports.namespaces import claim
from slowwave.imports.screening import BadRow, Screening, State
from slowwave.store.connect import Connection
from slowwave.store.namespaces import refuse_connected

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
    """A value that is to be under a key, ``None`` for nothing; ``text`` is what a search finds of it."""

    labels: Labels
    key: str
    external_id: str
    value: Mapping[str, Any] | None
    text: str = ""
    state: State = "active"

    @classmethod
    def of(
        cls, labels: Labels, key: str, value: Mapping[str, Any] | None, index: Index, fields: Sequence[str]
    ) -> ItemPut:
        """One as LangGraph says it. Raises ``Refused`` for what no database takes."""
        known = external_id(labels, key)
        if value is None:
            return cls(labels, key, known, None)
        plain: dict[str, Any] = json.loads(json_text(dict(value), "the value of an item"))
        return cls(labels, key, known, plain, searched_text(plain, index, fields))


@dataclass(frozen=True, slots=True)
class _Held:
    """What stands under a key. ``own``: an item was put there, and no night wrote it; ``open``: it is live."""

    id: str
    own: bool
    state: str
    open: bool
    value: object
    text: str | None
    ordinal: int

    def says(self, put: ItemPut) -> bool:
        """Whether a put brings nothing new."""
        shown = self.open or (self.state == put.state == "quarantined")
        return self.own and shown and put.value is not None and _canonical(self.value) == _canonical(put.value)


@dataclass(slots=True)
class _Work:
    """What a batch has to write: rows that end, rows that are new, and rows that say something else."""

    ended: list[str] = field(default_factory=list)
    fresh: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)

    def embedded(self) -> list[tuple[str, str]]:
        """(row id, text) of the rows that get a vector."""
        told = [row for row in [*self.fresh, *self.changed] if row["version"] and row["state"] == "active"]
        return [(row["id"], row["content"]) for row in told if row["content"]]


def screened(puts: Sequence[ItemPut], namespace: str, settings: Settings) -> list[ItemPut]:
    """The puts, with the state that screening gives each: all texts of a value are looked at. Raises ``Refused`` where it refuses one."""
    screening = Screening(settings.screening_on_import)
    limits = Limits(settings.import_longest_text)
    done: list[ItemPut] = []
    for put in puts:
        said = "\n".join(texts(put.value))
        try:
            limits.check(namespace, said, "the value")
            state = screening.state(namespace, said)
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
    """Writes items of a namespace (its name). Vectors are made before the transaction begins: ``prepare``, then ``write`` within it."""

    def __init__(self, slug: str, puts: Sequence[ItemPut], vectors: LoadedVectors) -> None:
        self._slug, self._puts, self._vectors = slug, puts, vectors

    def prepare(self, connection: Connection, namespace: str | None) -> None:
        """Make the vectors that are needed; ``namespace`` is its id where there is one."""
        work = _work(self._puts, _held(connection, namespace, self._puts) if namespace else {})
        self._vectors.need((text for _, text in work.embedded()), lambda _: None)

    def write(self, connection: Connection) -> int:
        """Write all that is new; returns how many memories were added. Writers of a namespace take turns. Raises ``Refused`` where it is
        read-only."""
        namespace = self._claimed(connection)
        work = _work(self._puts, _held(connection, namespace, self._puts))
        embedded = work.embedded()
        self._vectors.need(
            (text for _, text in embedded), lambda _: None
        )  # nothing, unless another writer came between
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
        vectors = [self._vectors.of(text) for _, text in embedded]
        connection.execute(_REGISTER_MODEL, (self._vectors.model, len(vectors[0])))
        written = [f"[{','.join(map(repr, vector.tolist()))}]" for vector in vectors]
        connection.execute(_VECTORS, (self._vectors.model, namespace, [id_ for id_, _ in embedded], written))


def _held(connection: Connection, namespace: str, puts: Sequence[ItemPut]) -> dict[tuple[Labels, str], _Held]:
    """What stands under the keys of puts."""
    places = {put.external_id: (put.labels, put.key) for put in puts}
    by_scope = {(scope_of(labels), key): (labels, key) for labels, key in places.values()}
    keys = [key for _, key in places.values() if is_id(key)]
    asked = {"namespace": namespace, "source": SOURCE, "put": PUT, "ids": list(places), "keys": keys}
    held: dict[tuple[Labels, str], _Held] = {}
    for id_, known, scope, own, state, open_, value, text, ordinal in connection.execute(_HELD, asked).fetchall():
        place = places.get(str(known)) or by_scope.get((str(scope), str(id_)))
        if place is not None:
            said = None if text is None else str(text)
            held[place] = _Held(str(id_), bool(own), str(state), bool(open_), value, said, int(str(ordinal or 0)))
    return held


def _work(puts: Sequence[ItemPut], held: Mapping[tuple[Labels, str], _Held]) -> _Work:
    """What the puts bring beyond what is held."""
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
