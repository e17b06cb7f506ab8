"""Change the embedding model of a namespace: add vectors next to the existing ones, then name the model in its settings.

Memory does not change, so no plan is needed. Vectors are added under the new model's name, in parts that are one transaction each, and a
stop loses none. The namespace switches to the model in the transaction that finds nothing left to embed: no search and no night ever sees
half of them, and none compares vectors of two models.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, LiteralString

import psycopg
import pyarrow as pa
from psycopg import sql
from sqlalchemy import Table

from slowwave.errors import Refused
from slowwave.models.embedder import Embedder, entity_text, passage_text
from slowwave.models.embedding_models import MINILM_MODEL, STATIC_MODEL
from slowwave.sources.loading import LoadedVectors, refuse_read_only, vector_rows
from slowwave.store import tables
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.store.load import load_rows
from slowwave.store.namespaces import namespace_id, namespace_settings, refuse_connected
from slowwave.store.settings import Settings
from slowwave.text.languages import describe_languages, languages

Progress = Callable[[int, int], None]

_BATCH: Final = 512
_LIVE: Final[Mapping[str, LiteralString]] = {
    "memory_vectors": "SELECT r.id, v.content AS said, NULL, NULL, NULL FROM memory.memories r "
    "JOIN memory.memory_versions v ON v.id = r.current_version_id",
    "chunk_vectors": "SELECT r.id, r.content AS said, NULL, NULL, r.speaker FROM memory.chunks r",
    "entity_vectors": "SELECT r.id, r.name AS said, r.entity_type, r.description, NULL FROM memory.entities r",
}
_BARE: Final = """
{live} WHERE r.namespace_id = {namespace} AND r.invalidated_at IS NULL AND r.id > {after}
  AND NOT EXISTS (SELECT 1 FROM {vectors} w WHERE w.id = r.id AND w.model = {model}{current})
"""
_CURRENT: Final[Mapping[str, LiteralString]] = {"chunk_vectors": " AND w.speaker IS NOT DISTINCT FROM r.speaker"}
"""Conditions by table on a vector ``w`` of a row ``r``; a vector that does not meet them is computed again."""
_DELETE_OUTDATED: Final = """
DELETE FROM memory.chunk_vectors w USING memory.chunks r
WHERE r.id = w.id AND w.model = %s AND w.id = ANY (%s::uuid[]) AND w.speaker IS DISTINCT FROM r.speaker
"""
_WITHOUT_SPEAKER: Final = """
SELECT n.slug, w.model, count(*) FROM memory.namespaces n JOIN memory.chunks r ON r.namespace_id = n.id
JOIN memory.chunk_vectors w ON w.id = r.id AND w.model = coalesce(n.settings ->> 'embedding_model', %s)
WHERE r.speaker IS NOT NULL AND w.speaker IS DISTINCT FROM r.speaker AND r.invalidated_at IS NULL AND NOT n.read_only
  AND NOT EXISTS (SELECT 1 FROM night.store_namespaces s WHERE s.namespace_id = n.id)
GROUP BY n.slug, w.model ORDER BY n.slug
"""
_SAMPLES: Final = """
SELECT n.slug, t.content FROM memory.namespaces n CROSS JOIN LATERAL (
  (SELECT v.content FROM memory.memories r JOIN memory.memory_versions v ON v.id = r.current_version_id
   WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL AND r.state = 'active' ORDER BY r.id LIMIT %(most)s)
  UNION ALL
  (SELECT r.content FROM memory.chunks r WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL ORDER BY r.id LIMIT %(most)s)
) t WHERE coalesce(n.settings ->> 'embedding_model', %(model)s) = %(english)s AND NOT n.read_only
  AND NOT EXISTS (SELECT 1 FROM night.store_namespaces s WHERE s.namespace_id = n.id)
ORDER BY n.slug
"""
_MOST: Final = 500  # memories and passages of a namespace whose language is detected
_MANY: Final = 0.1
"""Share of texts in other languages above which the model for English is not recommended."""
_FIRST: Final = "00000000-0000-0000-0000-000000000000"
_WAITING: Final = """
SELECT p.plan_hash FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id
WHERE n.slug = %s AND p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND EXISTS (
  SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status IN ('pending', 'approved'))
ORDER BY p.recorded_at DESC LIMIT 1
"""
"""The newest plan with items that can still be applied: a plan keeps the state ``approved`` after all of it was applied or undone."""
_LOCK_NAMESPACE: Final = "SELECT FROM memory.namespaces WHERE slug = %s FOR UPDATE"
_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"
_NAME_MODEL: Final = """
UPDATE memory.namespaces SET settings = settings || jsonb_build_object('embedding_model', %s::text) WHERE slug = %s
"""


@dataclass(frozen=True, slots=True)
class Reembedding:
    """The previous model, the present model, and the number of vectors that were computed, by table.

    ``with_speakers`` of them replaced vectors of messages that had been computed without the present speaker.
    """

    namespace: str
    formerly: str
    model: str
    made: Mapping[str, int]
    with_speakers: int = 0


_THEIRS: Final = (
    "its vectors are its client's, which searches them with its own model, and any other would not be found. Nothing was embedded. Let the "
    "client change its model, then connect the store again and name the new one with --embedding-model."
)


def reembed_namespace(
    connection: psycopg.Connection[Any], slug: str, embedder: Embedder, *, progress: Progress | None = None
) -> Reembedding:
    """Embed what is live in a namespace with this model, where a vector is missing, and make it the namespace's model.

    Vectors of messages that were computed without their speakers are computed again, so an older namespace can be given its own model.

    Raises ``Refused`` (no such namespace, a read-only one, one of a connected store, or a pending plan, whose vectors are of the previous
    model), ``EmbeddingError``, ``StoreError``. What was embedded before that is kept, and the namespace keeps its model.
    """
    namespace = namespace_id(connection, slug)
    refuse_connected(connection, [slug], _THEIRS)
    refuse_read_only(connection, [slug])
    row = connection.execute(_WAITING, (slug,)).fetchone()
    if row:
        raise Refused(
            f"Plan {str(row[0])[:12]} of {slug} has pending items, whose vectors are of the present model. Nothing was embedded. Apply or "
            f"reject the plan first: `slowwave plans show {shlex.quote(slug)} {str(row[0])[:12]}`."
        )
    work = _Reembedding(connection, namespace, embedder, progress)
    formerly = namespace_settings(connection, slug).embedding_model
    work.embed_all()
    with connection.transaction():
        connection.execute(_LOCK_NAMESPACE, (slug,))
        work.embed_all()  # rows that were added meanwhile; the lock keeps other writers of this namespace waiting
        connection.execute(_NAME_MODEL, (embedder.model, slug))
    return Reembedding(slug, formerly, embedder.model, dict(work.made), work.with_speakers)


_PENDING: Final = "Apply or reject a plan with pending items first, because its vectors are of the present model."


def diagnose_speakers(store: Store) -> list[Diagnosis]:
    """Report the namespaces with message vectors that were computed without speakers, each with the command that renews them.

    One query, linear in the messages; their vectors are not read.
    """
    with store.connect("reader") as connection:
        rows = connection.execute(_WITHOUT_SPEAKER, (Settings().embedding_model,)).fetchall()
    return [
        Diagnosis(
            f"In {slug}, {int(str(many)):,} {'message has a vector' if many == 1 else 'messages have vectors'} made without the name of "
            "the speaker, so a search by meaning does not find them by who sent them.",
            f"`slowwave namespace reembed {shlex.quote(str(slug))} --model {shlex.quote(str(model))}` renews these vectors and no others. "
            f"{_PENDING}",
            problem=False,
        )
        for slug, model, many in rows
    ]


def diagnose_languages(store: Store) -> list[Diagnosis]:
    """Report the namespaces with many texts in other languages and a model that is for English, each with the command that changes it.

    At most 500 memories and 500 passages of a namespace are read, those with the lowest ids.
    """
    asked = {"model": Settings().embedding_model, "english": MINILM_MODEL, "most": _MOST}
    with store.connect("reader") as connection:
        rows = connection.execute(_SAMPLES, asked).fetchall()
    found: list[Diagnosis] = []
    for slug, group in groupby(rows, key=lambda row: str(row[0])):
        detected = languages(pa.array([row[1] for row in group], pa.large_string()))
        other = Counter(filter(None, detected))
        if other.total() > _MANY * len(detected):
            found.append(
                Diagnosis(
                    f"In {slug}, {other.total():,} of {len(detected):,} texts are in other languages than English "
                    f"({describe_languages(other)}), and its embedding model {MINILM_MODEL} is for English: searches by meaning miss them.",
                    f"`slowwave namespace reembed {shlex.quote(slug)} --model {STATIC_MODEL}` changes to the multilingual model that is "
                    f"installed with Slowwave. {_PENDING}",
                    problem=False,
                )
            )
    return found


class _Reembedding:
    def __init__(
        self, connection: psycopg.Connection[Any], namespace: str, embedder: Embedder, progress: Progress | None
    ) -> None:
        self._connection, self._namespace, self._embedder = connection, namespace, embedder
        self._progress, self._total = progress, 0
        self.made: Counter[str] = Counter()
        self.with_speakers = 0

    def embed_all(self) -> None:
        with self._connection.transaction():
            bare = {name: self._count(name) for name in _LIVE}
        self._total = self.made.total() + sum(bare.values())
        for name, count in bare.items():
            if count:
                self._embed(name, getattr(tables, name))

    def _count(self, name: str) -> int:
        counted = sql.SQL("SELECT count(*) FROM ({}) bare").format(self._bare(name, _FIRST))
        row = self._connection.execute(counted).fetchone()
        return int(row[0]) if row else 0

    def _embed(self, name: str, table: Table) -> None:
        after = _FIRST
        while True:
            with self._connection.transaction():
                page = sql.SQL("{} ORDER BY r.id LIMIT {}").format(self._bare(name, after), sql.Literal(_BATCH))
                rows = self._connection.execute(page).fetchall()
            if not rows:
                return
            ids, texts = [str(row[0]) for row in rows], [_text(*row[1:]) for row in rows]
            speakers = {str(row[0]): row[4] for row in rows} if name == "chunk_vectors" else None
            vectors = LoadedVectors(self._embedder)
            vectors.need(texts, lambda _: None)
            with self._connection.transaction():
                self._register(len(vectors.get(texts[0])))
                if speakers is not None:
                    outdated = self._connection.execute(_DELETE_OUTDATED, (self._embedder.model, ids)).rowcount
                    self.with_speakers += outdated
                loaded = vector_rows(self._namespace, ids, texts, vectors, speakers)
                found = load_rows(self._connection, table, loaded)
            self.made[name] += found
            after = ids[-1]
            if self._progress is not None:
                self._progress(self.made.total(), self._total)

    def _register(self, dimensions: int) -> None:
        self._connection.execute(_REGISTER_MODEL, (self._embedder.model, dimensions))

    def _bare(self, name: str, after: str) -> sql.Composed:
        return sql.SQL(_BARE).format(
            live=sql.SQL(_LIVE[name]),
            namespace=sql.Literal(self._namespace),
            after=sql.Literal(after),
            vectors=sql.Identifier("memory", name),
            model=sql.Literal(self._embedder.model),
            current=sql.SQL(_CURRENT.get(name, "")),
        )


def _text(said: str, entity_type: str | None, description: str | None, speaker: str | None) -> str:
    return passage_text(said, speaker) if entity_type is None else entity_text(said, entity_type, description or "")
