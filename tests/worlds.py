"""Small namespaces full of trouble, drawn by Hypothesis, and the comparison of what is stored with what was simulated."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from slowwave.changes.cells import inserted_id
from slowwave.changes.mutation import Identified
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.load import load_rows
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, metadata

MODEL = "tiny-4"
START = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
NAMES = [
    "Mara Reyes",
    "Reyes, Mara",
    "Grafana",
    "Zoë",
    'quote " , {brace}',
    "back\\slash",
    "new\nline",
    "*bold* [x](y)",
    "",
]

few = settings(max_examples=180 if settings.get_current_profile_name() == "deep" else 8)
"""For properties of a database: an example costs a third of a second. The ordinary profile draws the same examples in each run; those
after the eighth reach no line of ``slowwave/changes`` that the tests do not reach without them."""


@dataclass(frozen=True)
class World:
    """Rows by table, in insertion order, and the namespace they are in."""

    slug: str
    namespace_id: str
    rows: dict[str, list[dict[str, Any]]]

    def ids(self, table: str) -> list[str]:
        return [r["id"] for r in self.rows[table]]


@st.composite
def worlds(draw: st.DrawFn, most: int = 7) -> World:
    """Entities with shared edges, self-loops, dead references, retired rows, aliases and vectors here and there."""
    return make_world(draw(st.randoms(use_true_random=False)), most)


def _id(namespace_id: str, name: str) -> str:
    """Ids of every namespace sort alike: what is drawn later must not hang on a namespace's random id."""
    return str(uuid.UUID(uuid.uuid5(uuid.NAMESPACE_OID, name).hex[:8] + uuid.UUID(namespace_id).hex[8:]))


def make_world(r: Random, most: int = 7) -> World:
    """The same from a random number generator."""
    namespace_id = str(uuid.uuid4())

    made = itertools.count()

    def new() -> str:
        return _id(namespace_id, str(next(made)))

    def instant() -> datetime:
        return START + timedelta(microseconds=r.randrange(10**9))

    def ended() -> dict[str, Any]:
        return {"invalidated_at": instant() if r.random() < 0.15 else None, "invalidated_by": None}

    def some(ids: list[str]) -> list[str]:
        return [r.choice(ids) if r.random() < 0.8 else new() for _ in range(r.randrange(4))]

    base = {"namespace_id": namespace_id}
    documents = [{**base, "id": new(), "content": "d", **ended()} for _ in range(2)]
    chunks = [
        {**base, "id": new(), "document_id": r.choice(documents)["id"], "content": "c", **ended()}
        for _ in range(r.randint(1, 5))
    ]
    chunk_ids, document_ids = [c["id"] for c in chunks], [d["id"] for d in documents]
    provenance = lambda: {"source_chunk_ids": some(chunk_ids), "source_document_ids": some(document_ids)}  # noqa: E731
    entities = [
        {
            **base,
            "id": new(),
            "external_id": str(n) if r.random() < 0.7 else None,
            "entity_type": r.choice(["person", "tool"]),
            "name": r.choice(NAMES),
            "description": r.choice(["", "a person", "line\nbreak"]),
            "attributes": r.choice([{}, {"email": "a@b.example"}, {"n": 1.5, "z": None, "ä": ["x", {"y": 2}]}]),
            "mention_count": r.randrange(5),
            "confidence": r.choice([1.0, 0.1 + 0.2]),
            "valid_from": r.choice([None, instant()]),
            "valid_to": None,
            **provenance(),
            **ended(),
        }
        for n in range(r.randint(2, most))
    ]
    entity_ids = [e["id"] for e in entities]
    relationships = [
        {
            **base,
            "id": new(),
            "source_entity_id": r.choice(entity_ids),
            "target_entity_id": r.choice(entity_ids),
            "relationship_type": r.choice(["KNOWS", "ASSOCIATED_WITH"]),
            "properties": {},
            "weight": r.random(),
            **provenance(),
            **ended(),
        }
        for _ in range(r.randrange(2 * most))
    ]
    aliases = {
        (e, a): {**base, "id": new(), "entity_id": e, "alias": a}
        for e, a in ((r.choice(entity_ids), r.choice(NAMES)) for _ in range(r.randrange(4)))
    }
    memories = [
        {
            **base,
            "id": new(),
            "kind": "episodic",
            "access_count": r.randrange(3),
            "tags": ["a"],
            **provenance(),
            **ended(),
        }
        for _ in range(r.randrange(4))
    ]
    facts = [
        {
            **base,
            "id": new(),
            "subject": "s",
            "predicate": "p",
            "object": str(n),
            "source_chunk_ids": some(chunk_ids),
            **ended(),
        }
        for n in range(r.randrange(3))
    ]
    vectors = [
        {**base, "id": e, "model": MODEL, "vector": np.array([r.uniform(-1, 1) for _ in range(4)], np.float32)}
        for e in entity_ids
        if r.random() < 0.7
    ]
    versions, promotions, communities = _history(r, base, new, instant, entity_ids, memories, facts)
    vectors_of_memories = [
        {**base, "id": m["id"], "model": MODEL, "vector": np.array([r.uniform(-1, 1) for _ in range(4)], np.float32)}
        for m in memories
        if r.random() < 0.5
    ]
    return World(
        f"w{uuid.UUID(namespace_id).hex[:16]}",
        namespace_id,
        {
            "documents": documents,
            "chunks": chunks,
            "entities": entities,
            "entity_aliases": list(aliases.values()),
            "relationships": relationships,
            "memories": memories,
            "memory_facts": facts,
            "entity_vectors": vectors,
            "memory_versions": versions,
            "memory_vectors": vectors_of_memories,
            "promotions": promotions,
            "communities": communities,
        },
    )


def _history(
    r: Random,
    base: dict[str, Any],
    new: Callable[[], str],
    instant: Callable[[], datetime],
    entity_ids: list[str],
    memories: list[dict[str, Any]],
    facts: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Versions and promotions of memories, communities that were replaced, and rows that point at rows retired long ago."""
    versions = [
        {**base, "id": new(), "memory_id": m["id"], "ordinal": n, "content": r.choice(NAMES)}
        for m in memories
        for n in range(1, r.randint(1, 3))
    ]
    latest = {v["memory_id"]: v["id"] for v in versions}
    for memory in memories:
        memory["current_version_id"] = latest.get(memory["id"])
    promotions = [
        {**base, "id": new(), "memory_id": m["id"], "from_ring": "working", "to_ring": "semantic", "scores": {"n": 1.5}}
        for m in memories
        if r.random() < 0.4
    ]
    for rows, pointer in ((memories, "merged_into"), (facts, "superseded_by")):
        for row in rows:
            row[pointer] = r.choice(rows)["id"] if r.random() < 0.3 else None
            if r.random() < 0.3:
                row["invalidated_at"] = instant()
    for fact in facts:
        fact["is_active"] = r.random() < 0.7
    communities = [
        {
            **base,
            "id": new(),
            "member_ids": r.sample(entity_ids, 2),
            "payload": {"summary": r.choice(NAMES), "n": 0.1},
            "valid_to": r.choice([None, instant()]),
        }
        for _ in range(r.randrange(3))
    ]
    return versions, promotions, communities


@st.composite
def telling_worlds(draw: st.DrawFn) -> World:
    """The same with facts and memories enough to be merged: live and retired, cited and not, with counters, tags and starts."""
    r = draw(st.randoms(use_true_random=False))
    world = make_world(r)
    facts, memories, versions = _statements(r, world)
    for table, rows in (("memory_facts", facts), ("memories", memories), ("memory_versions", versions)):
        # rows of one table have the same columns
        known = {c for row in (*world.rows[table], *rows) for c in row}
        world.rows[table] = [
            {**dict.fromkeys(known), **_FILL.get(table, {}), **row} for row in (*world.rows[table], *rows)
        ]
    return world


_FILL: dict[str, dict[str, Any]] = {
    "memory_facts": {"confidence": 1.0, "fact_text": ""},
    "memories": {
        "subject": "",
        "importance": 0.5,
        "confidence": 1.0,
        "pinned": False,
        "reinforcement_count": 0,
        "state": "active",
    },
}


def _statements(r: Random, world: World) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    base = {"namespace_id": world.namespace_id}
    chunks, documents = world.ids("chunks"), world.ids("documents")

    def new(kind: str, n: int) -> str:
        return _id(world.namespace_id, f"{kind} {n}")

    def shared() -> dict[str, Any]:
        gone = r.random() < 0.15
        return {
            **base,
            "source_chunk_ids": [r.choice([*chunks, new("absent", 0)]) for _ in range(r.randrange(4))],
            "confidence": r.choice([1.0, 0.1 + 0.2, 0.5]),
            "valid_from": r.choice([None, START, START + timedelta(days=r.randrange(9))]),
            "invalidated_at": START + timedelta(days=9) if gone else None,
        }

    facts = [
        {
            **shared(),
            "id": new("fact", n),
            "external_id": r.choice([None, f"told {n}"]),
            "subject": r.choice(NAMES[:3]),
            "predicate": "uses",
            "object": r.choice(NAMES),
            "fact_text": r.choice(NAMES),
            "is_active": r.random() < 0.9,
            "valid_to": r.choice([None, None, START + timedelta(days=9000)]),
        }
        for n in range(r.randrange(9))
    ]
    memories = [
        {
            **shared(),
            "id": new("event", n),
            "external_id": r.choice([None, f"told {n}"]),
            "kind": r.choice(["event", "event", "semantic"]),
            "subject": r.choice(NAMES[:2]),
            "state": r.choice(["active", "active", "active", "archived"]),
            "importance": r.choice([0.5, 0.7]),
            "pinned": r.random() < 0.2,
            "access_count": r.randrange(4),
            "reinforcement_count": r.randrange(3),
            "tags": r.choice([[], ["a"], ["ä", "b"], ["b", {"deep": 1}]]),
            "source_document_ids": [r.choice(documents) for _ in range(r.randrange(3))],
            "current_version_id": new("text", n),
        }
        for n in range(r.randrange(9))
    ]
    versions = [
        {**base, "id": m["current_version_id"], "memory_id": m["id"], "ordinal": 1, "content": r.choice(NAMES)}
        for m in memories
    ]
    return facts, memories, versions


def load_world(store: Store, world: World) -> None:
    """Write a world as an agent would."""
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SELECT memory.register_vector_model(%s, 4)", (MODEL,))
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (%s, %s)", (world.namespace_id, world.slug))
        for table, rows in world.rows.items():
            if rows:
                load_rows(connection, metadata.tables[f"memory.{table}"], rows)


def assert_same(stored: Snapshot, simulated: Snapshot, items: Iterable[Identified]) -> None:
    """Equality of two snapshots; what an item stamped compares as null or not null, jsonb by meaning."""
    stamped = {w.cell.row for i in items for w in i.mutation.writes}
    stamped |= {made.row or inserted_id(i.id, n) for i in items for n, made in enumerate(i.mutation.inserts)}
    ended = {w.cell.row for i in items for w in i.mutation.writes if w.action == "now" and w.cell.column == "valid_to"}
    for table in EXPORTED:
        name = table.name
        left, right = stored.table(name).to_pylist(), simulated.table(name).to_pylist()
        kept = [c for c in table.c if c.name not in DERIVED_COLUMNS]
        json_columns = [c.name for c in kept if "JSON" in type(c.type).__name__]
        for row in (*left, *right):
            for column in json_columns:
                row[column] = json.loads(row[column]) if row[column] is not None else None
            if row["id"] in stamped:
                for column in ("recorded_at", "invalidated_at"):
                    if column in row:
                        row[column] = row[column] is not None
            if row["id"] in ended:
                row["valid_to"] = row["valid_to"] is not None
        assert left == right, f"{name} differs"
    for name, vectors in simulated.vectors.items():
        assert stored.vectors[name].ids.to_pylist() == vectors.ids.to_pylist(), f"{name} ids differ"
        assert stored.vectors[name].matrix.tobytes() == vectors.matrix.tobytes(), f"{name} differs"
