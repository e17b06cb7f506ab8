"""A namespace of any size with planted trouble, made as columns and filled by COPY: no object for a row, no ORM.

``make`` is pure and seeded; ``fill`` loads what it made. A planted duplicate's ``external_id`` is its original's with ``~n``
behind it, so the answer key travels with the rows. What is measured on a namespace belongs to ``benchmarks.steps``.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from psycopg import sql
from psycopg.types.json import Jsonb

from benchmarks import columns
from benchmarks.columns import DIMENSIONS
from benchmarks.troubles import BLOCK, DRIFTED_SHARE, MAPPING, RELATIONS, Ground, edges, events, facts
from slowwave.store.connect import Store
from slowwave.store.logins import Connection

MODEL: Final = "bench-384"
DEAD_SHARE: Final = 0.30
DUPLICATE_SHARE: Final = 0.08

_PEOPLE, _COMPANIES = "PERSON", "ORGANIZATION"
_TYPES: Final = {_PEOPLE: 0.35, _COMPANIES: 0.25, "PROJECT": 0.15, "PLACE": 0.15, "TOOL": 0.10}
_CLUSTER: Final = (0.7, 0.2, 0.1)  # originals with one, two and three variants
_LEGAL: Final = ("Inc", "Ltd", "GmbH", "Corp")
_ONSETS: Final = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "v",
)
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS: Final = ("", "l", "m", "n", "r", "s", "x", "nd", "rk", "th")


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """One namespace: ``tables`` in the order of loading, ids as strings; ``vectors``: table → (ids, (n, d) float32); ``planted``:
    how much of each trouble there is."""

    slug: str
    namespace_id: str
    settings: Mapping[str, object]
    tables: Mapping[str, pa.Table]
    vectors: Mapping[str, tuple[pa.Array, np.ndarray]]
    planted: Mapping[str, int]


def make(size: int, *, now: datetime, slug: str = "bench", seed: int = 11) -> Generated:
    """``size`` entities and chunks, three times as many relationships, as many facts and events, 500 recall events.

    30 % of the entities hold one to three dead chunk ids; 8 % are variants of another entity: its name in another case, with a
    suffix, a typo or another word order, and a vector whose cosine to the original lies between .93 and .99; 1 % have a type that
    drifted. Edges stay mostly in blocks of 150 entities. What else is planted is told in ``benchmarks.troubles``. Rows were recorded
    in the half year before ``now``, recalls in its last 60 days.
    """
    rng = np.random.default_rng([seed, size])
    namespace_id = str(columns.ids(rng, 1)[0])
    original, rank = _clusters(rng, size)
    kind = rng.choice(len(_TYPES), size, p=list(_TYPES.values()))[original]
    words = _words(rng, 4 * size + 4_000)
    names = _names(rng, kind, original, words)
    drifted = _drifted(rng, kind, original)
    entity_ids, chunk_ids = columns.ids(rng, size), columns.ids(rng, size)
    document_ids = columns.ids(rng, max(3, size // 200))
    document = np.sort(rng.integers(0, len(document_ids), size))

    def recorded(n: int) -> pa.Array:
        return columns.instants(now, rng.integers(1_500, 260_000, n))

    tables: dict[str, pa.Table] = {}
    tables["documents"] = pa.table(
        {
            "id": document_ids,
            "external_id": columns.numbered("d", len(document_ids)),
            "source": pa.repeat("bench", len(document_ids)),
            "title": columns.sentences(rng, words, len(document_ids), 4),
            "recorded_at": recorded(len(document_ids)),
        }
    )
    tables["chunks"] = pa.table(
        {
            "id": chunk_ids,
            "external_id": columns.numbered("c", size),
            "document_id": document_ids.take(pa.array(document)),
            "ordinal": pa.array(np.arange(size) - np.searchsorted(document, document)),
            "content": pc.binary_join_element_wise(names, columns.sentences(rng, words, size, 30), " "),
            "recorded_at": recorded(size),
        }
    )
    external = pc.binary_join_element_wise(columns.numbered("e", size).take(pa.array(original)), _suffixes(rank), "")
    tables["entities"] = pa.table(
        {
            "id": entity_ids,
            "external_id": external,
            "source": pa.repeat("bench", size),
            "entity_type": pa.array([*_TYPES, "Person"]).take(pa.array(np.where(drifted, len(_TYPES), kind))),
            "name": names,
            "description": columns.sentences(rng, words, size, 8),
            "attributes": _attributes(rng, size).take(pa.array(original)),
            "source_document_ids": columns.lists(document_ids, document, np.ones(size, np.int64)),
            "source_chunk_ids": _provenance(rng, chunk_ids, size),
            "mention_count": pa.array(rng.geometric(0.4, size)),
            "recorded_at": recorded(size),
        }
    )
    blocks = rng.integers(0, max(2, size // BLOCK), size)[original]
    ground = Ground(rng, now, words, entity_ids, names, blocks, chunk_ids)
    tables["relationships"], in_edges = edges(ground, 3 * size)
    tables["memory_facts"], in_facts = facts(ground, size)
    tables["memories"], tables["memory_versions"], recorded_versions, in_events = events(ground, size)
    tables["recall_events"] = _recalls(rng, now, names, entity_ids, chunk_ids, words)
    known = {"entity_types": list(_TYPES)[:-1], "relationship_types": list(RELATIONS[:-1])}
    return Generated(
        slug,
        namespace_id,
        {
            "blast_radius_share": 0.85,  # so much planted trouble, some of it most of a type, is no accident upstream
            "expertise": known,
            "operations": {
                "normalize_schema": {"mapping": MAPPING},
                "abstention_drift": {"min_samples": 500, "min_top_score": 0.5},
            },
        },
        tables,
        {
            "entity_vectors": (entity_ids, _entity_vectors(rng, original)),
            "chunk_vectors": (chunk_ids, columns.unit(columns.meanings(rng, size))),
            "memory_vectors": (tables["memories"]["id"].combine_chunks(), recorded_versions),
        },
        {
            "variants of entities": round(DUPLICATE_SHARE * size),
            "entities that name dead chunks": round(DEAD_SHARE * size),
            "drifted entities": int(drifted.sum()),
            **in_edges,
            **in_facts,
            **in_events,
        },
    )


def planted(entities: pa.Table) -> list[tuple[str, ...]]:
    """The planted clusters by the external ids of ``entities``: original first, then its variants."""
    clusters: dict[str, list[tuple[str, str]]] = {}
    for id_, external in zip(entities["id"].to_pylist(), entities["external_id"].to_pylist(), strict=True):
        clusters.setdefault(external.split("~")[0], []).append((external, id_))
    return [tuple(id_ for _, id_ in sorted(members)) for _, members in sorted(clusters.items()) if len(members) > 1]


def fill(store: Store, *namespaces: Generated) -> None:
    """Load namespaces as the owner, in one transaction; the vector indexes are built after their rows."""
    with store.connect("owner") as connection:
        with connection.transaction():
            connection.execute("SET LOCAL maintenance_work_mem = '1GB'")
            connection.execute("SELECT memory.register_vector_model(%s, %s)", (MODEL, DIMENSIONS))
            indexes = connection.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'memory' AND position(%s IN indexdef) > 0",
                (f"'{MODEL}'",),
            ).fetchall()
            for index, _ in indexes:
                connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("memory", str(index))))
            for n, made in enumerate(namespaces, 1):
                _copy_namespace(connection, made)
                if n % 200 == 0:
                    connection.execute("ANALYZE")  # or the checks of foreign keys read whole tables
            for _, definition in indexes:
                connection.execute(str(definition).encode())
        connection.execute("VACUUM (ANALYZE)")


def _copy_namespace(connection: Connection, made: Generated) -> None:
    connection.execute(
        "INSERT INTO memory.namespaces (id, slug, settings) VALUES (%s, %s, %s)",
        (made.namespace_id, made.slug, Jsonb(dict(made.settings))),
    )
    asked = pc.min_max(made.tables["recall_events"]["occurred_at"])
    connection.execute("SELECT memory.ensure_recall_partitions(%s, %s)", (asked["min"].as_py(), asked["max"].as_py()))
    for name, table in made.tables.items():
        _copy_rows(connection, made.namespace_id, name, table)
    for name, (ids, matrix) in made.vectors.items():
        _copy_vectors(connection, made.namespace_id, name, ids, matrix)


def _clusters(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(original, rank): the row that each row is a variant of (itself, if it is none), and its number among the variants."""
    variants = round(DUPLICATE_SHARE * size)
    rows = rng.permutation(size)
    repeats = rng.choice([1, 2, 3], variants, p=_CLUSTER)
    of = np.repeat(np.arange(variants), repeats)[:variants]
    original, rank = np.arange(size), np.zeros(size, np.int64)
    original[rows[:variants]] = rows[variants:][of]
    rank[rows[:variants]] = np.arange(variants) - np.searchsorted(of, of) + 1
    return original, rank


def _drifted(rng: np.random.Generator, kind: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Which people have a type that drifted: none that is a variant or has one."""
    alone = np.bincount(original, minlength=len(original))[original] == 1
    rows = np.flatnonzero(alone & (kind == list(_TYPES).index(_PEOPLE)))
    mask = np.zeros(len(kind), np.bool_)
    mask[rng.permutation(rows)[: round(DRIFTED_SHARE * len(kind))]] = True
    return mask


def _suffixes(rank: np.ndarray) -> pa.Array:
    return pa.array(["", "~1", "~2", "~3"]).take(pa.array(rank))


def _words(rng: np.random.Generator, n: int) -> np.ndarray:
    """n distinct made-up words of two or three syllables, so that no name says something by chance."""
    parts = [np.array(p, np.object_) for p in (_ONSETS, _VOWELS, _CODAS)]
    found: dict[str, None] = {}
    while len(found) < n:
        columns = [part[rng.integers(0, len(part), (n, 3))] for part in parts]
        syllables = columns[0] + columns[1] + columns[2]
        long = rng.random(n) < 0.5
        found.update(dict.fromkeys(syllables[:, 0] + syllables[:, 1] + np.where(long, syllables[:, 2], "")))
    return np.array(list(found)[:n], np.object_)


def _names(rng: np.random.Generator, kind: np.ndarray, original: np.ndarray, words: np.ndarray) -> pa.Array:
    """Two words each, the second its own; variants are spelled otherwise."""
    own = len(kind)
    first = words[own + rng.integers(0, max(50, own // 20), own)]
    names = [f"{a.capitalize()} {b.capitalize()}" for a, b in zip(first, words[:own], strict=True)]
    types = list(_TYPES)
    for row in np.flatnonzero(original != np.arange(own)).tolist():
        names[row] = _variant(rng, names[int(original[row])], types[int(kind[row])])
    return pa.array(names, pa.string())


def _variant(rng: np.random.Generator, name: str, kind: str) -> str:
    ways = {_PEOPLE: ("case", "typo", "order"), _COMPANIES: ("case", "typo", "suffix")}
    first, last = name.split(" ")
    match str(rng.choice(ways.get(kind, ("case", "typo")))):
        case "case":
            return name.upper() if rng.random() < 0.5 else name.lower()
        case "order":
            return f"{last}, {first}"
        case "suffix":
            return f"{name} {rng.choice(_LEGAL)}"
        case _:
            at = int(rng.integers(1, len(last) - 1))
            return f"{first} {last[:at]}{last[at + 1 :] if rng.random() < 0.5 else last[at] + last[at:]}"


def _attributes(rng: np.random.Generator, n: int) -> pa.Array:
    regions = pa.array(["{}", *(f'{{"region": "{r}"}}' for r in ("north", "south", "east", "west", "coast"))])
    return regions.take(pa.array(rng.choice(6, n, p=[0.5, *[0.1] * 5])))


def _provenance(rng: np.random.Generator, chunk_ids: pa.Array, size: int) -> pa.ListArray:
    """Its own chunk and up to five others; 30 % of the rows name one to three that are nowhere."""
    live, dead = rng.integers(1, 7, size), np.zeros(size, np.int64)
    holders = rng.permutation(size)[: round(DEAD_SHARE * size)]
    dead[holders] = rng.integers(1, 4, len(holders))
    lengths = live + dead
    ends = np.cumsum(lengths)
    flat = rng.integers(0, size, int(ends[-1]))
    flat[ends - lengths] = np.arange(size)
    place = np.arange(len(flat)) - np.repeat(ends - lengths, lengths)
    gone = np.flatnonzero(place >= np.repeat(live, lengths))
    flat[gone] = size + np.arange(len(gone))
    return columns.lists(pa.concat_arrays([chunk_ids, columns.ids(rng, len(gone))]), flat, lengths)


def _recalls(
    rng: np.random.Generator, now: datetime, names: pa.Array, entities: pa.Array, chunks: pa.Array, words: np.ndarray
) -> pa.Table:
    """500 questions about entities; the entity is the first hit, its chunk the second, and both were used."""
    n, size = 500, len(names)
    about = rng.choice(size, n, replace=size < n)
    hits = rng.integers(0, size, (n, 10))
    hits[:, 0], hits[:, 1] = about, size + about
    both = pa.concat_arrays([entities, chunks])
    scores = -np.sort(-rng.uniform(0.3, 0.9, hits.shape).round(4), axis=1)
    asked = names.take(pa.array(about))
    return pa.table(
        {
            "id": columns.ids(rng, n),
            "occurred_at": columns.instants(now, np.sort(rng.integers(1, 60 * 24 * 60, n))),
            "query": pc.binary_join_element_wise(asked, columns.sentences(rng, words, n, 3), " "),
            "hit_ids": columns.lists(both, hits.ravel(), np.full(n, 10)),
            "selected_ids": columns.lists(both, hits[:, :2].ravel(), np.full(n, 2)),
            "scores": columns.lists(pa.array(scores.ravel()), np.arange(scores.size), np.full(n, 10)),
        }
    )


def _entity_vectors(rng: np.random.Generator, original: np.ndarray) -> np.ndarray:
    matrix = columns.unit(columns.meanings(rng, len(original)))
    copies = np.flatnonzero(original != np.arange(len(original)))
    matrix[copies] = columns.near(rng, matrix[original[copies]], 0.93, 0.99)
    return matrix


def _copy_rows(connection: Connection, namespace_id: str, name: str, table: pa.Table) -> None:
    columns = ["namespace_id", *table.column_names]
    wire = [pa.repeat(namespace_id, len(table)), *(_wire(table[c].combine_chunks()) for c in table.column_names)]
    text = io.BytesIO()
    pacsv.write_csv(pa.table(wire, names=columns), text, pacsv.WriteOptions(include_header=False))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
        sql.Identifier("memory", name), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(text.getbuffer())


def _wire(column: pa.Array) -> pa.Array:
    if pa.types.is_list(column.type):
        texts = column if pa.types.is_string(column.type.value_type) else column.cast(pa.list_(pa.string()))
        return pc.binary_join_element_wise("{", pc.binary_join(texts, ","), "}", "")
    return column


def _copy_vectors(connection: Connection, namespace_id: str, name: str, ids: pa.Array, matrix: np.ndarray) -> None:
    """Rows of fixed width, as the exporter reads them."""
    model, dimensions = MODEL.encode(), matrix.shape[1]
    row = np.dtype(
        [
            *(("fields", ">i2"), ("id_size", ">i4"), ("id", "V16")),
            *(("model_size", ">i4"), ("model", f"S{len(model)}")),
            *(("namespace_size", ">i4"), ("namespace", "V16")),
            *(("size", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (dimensions,))),
        ]
    )
    rows = np.zeros(len(ids), row)
    rows["fields"], rows["id_size"], rows["namespace_size"] = 4, 16, 16
    rows["model_size"], rows["model"] = len(model), model
    rows["id"] = np.frombuffer(bytes.fromhex("".join(ids.to_pylist()).replace("-", "")), "V16")
    rows["namespace"] = np.void(bytes.fromhex(namespace_id.replace("-", "")))
    rows["size"], rows["dimensions"], rows["vector"] = 4 + 4 * dimensions, dimensions, matrix
    statement = sql.SQL("COPY {} (id, model, namespace_id, vector) FROM STDIN (FORMAT binary)").format(
        sql.Identifier("memory", name)
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for start in range(0, len(rows), 4_096):
            copy.write(rows[start : start + 4_096].tobytes())
        copy.write(b"\xff\xff")
