"""A snapshot of made-up memories, of any size: notes of an agent, with what operations on memories look for planted in them.

A tenth are said again in almost the same words, some of them with another number or denied; a seventh hold a relative date, one in
a thousand a key. Vectors have the moments of a real model's; what is said again lies near. Nothing here is read from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, Table, Uuid

from benchmarks.columns import ids, instants, lists, meanings, near, unit
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS

_WHO: Final = (
    "Ilse Brandt",
    "Jon Dahl",
    "Mara Olsen",
    "Piet Vos",
    "Ana Reyes",
    "Tomas Lind",
    "Rosa Klein",
    "Emil Roth",
)
_WHAT: Final = (
    "crane",
    "ferry",
    "ledger",
    "gate",
    "pump",
    "depot",
    "tender",
    "buoy",
    "slip",
    "boiler",
    "hoist",
    "barge",
)
_PLACE: Final = ("north quay", "south quay", "old yard", "east basin", "west pier", "fish market", "customs house")
_DID: Final = (
    "inspected",
    "repaired",
    "painted",
    "ordered",
    "sold",
    "measured",
    "moved",
    "insured",
    "cleaned",
    "hired",
)
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_WHEN: Final = ("yesterday", "last week", "two days ago", "last Monday", "three weeks ago", "last month")


def remembered(size: int, now: datetime | None = None) -> Snapshot:
    """``size`` memories of one namespace at ``now``; two recalls for each tenth of them. All from one seed."""
    rng = np.random.default_rng(size)
    now = now or datetime(2026, 6, 1, tzinfo=UTC)
    base = size - size // 10
    of = np.concatenate([np.arange(base), rng.integers(0, base, size - base)])
    texts = _texts(rng, of, base)
    memory_ids, version_ids = ids(rng, size), ids(rng, size)
    age = rng.integers(60, 200 * 24 * 60, size)
    age[base:] = np.maximum(age[of[base:]] - rng.integers(10, 5_000, size - base), 5)
    starts = instants(now, age)
    tables = {name: _empty(table) for name, table in SNAPSHOT_TABLES.items()}
    tables["memories"] = _table(
        SNAPSHOT_TABLES["memories"],
        size,
        {
            "id": memory_ids,
            "kind": pa.array(np.array(["episodic", "semantic"])[(of % 5 == 0).astype(int)]),
            "author": pa.array(np.where(of % 7 == 0, "assistant", "user")),
            "source": pa.repeat("model", size),
            "session_id": pa.array(np.char.add("session ", (age // 1_440).astype(str))),
            "importance": pa.array(rng.beta(2, 3, size)),
            "access_count": pa.array(rng.geometric(0.5, size) - 1),
            "current_version_id": version_ids,
            "valid_from": starts,
            "recorded_at": starts,
        },
    )
    tables["memory_versions"] = _table(
        SNAPSHOT_TABLES["memory_versions"],
        size,
        {"id": version_ids, "memory_id": memory_ids, "content": pa.array(texts), "recorded_at": starts},
    )
    tables["recall_events"] = _recalls(rng, memory_ids, size // 5, now)
    vectors = unit(meanings(rng, base))
    vectors = np.vstack([vectors, near(rng, vectors[of[base:]], 0.9, 0.99)])
    order = np.argsort(np.asarray(memory_ids))
    model = embedder_for(Settings()).model
    return Snapshot(
        namespace_id="00000000-0000-5000-8000-000000000001",
        namespace=f"remembered-{size}",
        snapshot_id=f"remembered-{size}",
        taken_at=now,
        change_counter=1,
        tables={name: table.sort_by("id") for name, table in tables.items()},
        vectors={name: Vectors.empty(model) for name in VECTORS}
        | {"memory_vectors": Vectors(model, memory_ids.take(pa.array(order)), vectors[order])},
    )


def given(
    texts: Sequence[str], subjects: Sequence[str] | None = None, now: datetime | None = None, model: str = ""
) -> Snapshot:
    """A memory for each text, in their order, with vectors of the offline embedder or of a ``model`` of the wheels; the k-th has the id
    ``memory_id(k)``."""
    now = now or datetime(2026, 6, 1, tzinfo=UTC)
    size = len(texts)
    memory_ids = pa.array([memory_id(k) for k in range(size)])
    version_ids = pa.array([f"00000000-0000-4000-9000-{k:012d}" for k in range(size)])
    starts = instants(now, np.full(size, 60))
    tables = {name: _empty(table) for name, table in SNAPSHOT_TABLES.items()}
    of_memories = {"id": memory_ids, "kind": pa.repeat("episodic", size), "current_version_id": version_ids}
    of_memories |= {"subject": pa.array(list(subjects))} if subjects is not None else {}
    tables["memories"] = _table(
        SNAPSHOT_TABLES["memories"], size, of_memories | {"valid_from": starts, "recorded_at": starts}
    )
    tables["memory_versions"] = _table(
        SNAPSHOT_TABLES["memory_versions"],
        size,
        {"id": version_ids, "memory_id": memory_ids, "content": pa.array(list(texts)), "recorded_at": starts},
    )
    embedder = embedder_for(Settings(embedding_model=model) if model else Settings())
    return Snapshot(
        namespace_id="00000000-0000-5000-8000-000000000002",
        namespace="given",
        snapshot_id=f"given-{size}",
        taken_at=now,
        change_counter=1,
        tables=tables,
        vectors={name: Vectors.empty(embedder.model) for name in VECTORS}
        | {"memory_vectors": Vectors(embedder.model, memory_ids, embedder.embed(list(texts)))},
    )


def given_facts(objects: Sequence[str]) -> Snapshot:
    """Return a snapshot with a fact for each object, all of one subject and predicate; the k-th has the id ``memory_id(k)``."""
    snapshot, size = given([]), len(objects)
    columns = {
        "id": pa.array([memory_id(k) for k in range(size)]),
        "subject": pa.repeat("the notebook", size),
        "predicate": pa.repeat("states", size),
        "object": pa.array(list(objects)),
        "recorded_at": instants(snapshot.taken_at, np.full(size, 60)),
    }
    facts = _table(SNAPSHOT_TABLES["memory_facts"], size, columns)
    return replace(snapshot, tables={**snapshot.tables, "memory_facts": facts})


def memory_id(k: int) -> str:
    """The id of the k-th memory of ``given``."""
    return f"00000000-0000-4000-8000-{k:012d}"


def _texts(rng: np.random.Generator, of: np.ndarray, base: int) -> list[str]:
    """A sentence or two each; of those said again, a third with another number, a tenth denied, the rest in other words."""
    said = [_sentence(np.random.default_rng(int(n)), int(n)) for n in range(base)]
    for n in of[base:].tolist():
        original, throw = said[n], rng.random()
        if throw < 0.33:
            said.append(original.replace(" tons", "1 tons"))
        elif throw < 0.43:
            said.append(original.replace(" has been ", " has not been "))
        else:
            said.append(original.replace("As far as I know, ", "").replace("It is said that ", "As far as I know, "))
    return said


def _sentence(rng: np.random.Generator, n: int) -> str:
    who, what, place, did = (words[rng.integers(len(words))] for words in (_WHO, _WHAT, _PLACE, _DID))
    opening = ("As far as I know, ", "It is said that ", "")[n % 3]
    when = f" {_WHEN[rng.integers(len(_WHEN))]}" if n % 20 == 0 else ""
    due = f"{'in' if n % 10 == 3 else 'after'} {rng.integers(2, 30)} months"
    key = f" The key is AKIA{''.join(_LETTERS[k] for k in rng.integers(0, 32, 16))}." if n % 1_000 == 7 else ""
    return (
        f"{opening}{what} {n} of the {place} has been {did} by {who}{when}. It carries {rng.integers(2, 90)} tons and has "
        f"its {('check', 'service', 'survey')[n % 3]} {due}.{key}"
    )


def _recalls(rng: np.random.Generator, memory_ids: pa.Array, events: int, now: datetime) -> pa.Table:
    """Each finds five memories, a few of them found by far the most often."""
    places = (len(memory_ids) * rng.random(5 * events) ** 4).astype(np.int64)
    hits = lists(memory_ids, places, np.full(events, 5))
    return _table(
        SNAPSHOT_TABLES["recall_events"],
        events,
        {
            "id": ids(rng, events),
            "occurred_at": instants(now - timedelta(minutes=1), rng.integers(1, 85 * 24 * 60, events)),
            "query": pa.array([f"what about the {_WHAT[n % len(_WHAT)]} {n % 400}" for n in range(events)]),
            "hit_ids": hits,
            "selected_ids": lists(memory_ids, places[::5], np.ones(events, np.int64)),
        },
    )


def _empty(table: Table) -> pa.Table:
    return arrow_schema(table).empty_table()


def _table(table: Table, size: int, given: Mapping[str, pa.Array]) -> pa.Table:
    """A table of the snapshot with these columns; the others have their defaults."""
    schema = arrow_schema(table)
    columns = [
        given[field.name].cast(field.type) if field.name in given else _default(table.columns[field.name], field, size)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _default(column: Column[object], field: pa.Field, size: int) -> pa.Array:
    given = getattr(column.server_default, "arg", None)
    match column.type:
        case ARRAY():
            value: object = []
        case Boolean():
            value = str(given) == "true"
        case Integer():
            value = None if given is None else int(str(given))
        case Double():
            value = None if given is None else float(str(given))
        case DateTime() | Uuid():
            value = None
        case _:
            value = None if given is None else str(given)
    return pa.array([value] * size, field.type)
