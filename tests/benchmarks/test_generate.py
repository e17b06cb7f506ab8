"""The generator makes what the benchmarks say they measured: sizes, planted trouble, vectors like those of real text."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow.compute as pc
import pytest

from benchmarks.columns import DIMENSIONS
from benchmarks.generate import MODEL, Generated, fill, make, planted
from benchmarks.troubles import MAPPING
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SIZE = 600


@pytest.fixture(scope="module")
def made() -> Generated:
    return make(SIZE, now=NOW)


def test_the_same_seed_makes_the_same_namespace(made: Generated) -> None:
    """A run can be repeated row by row; another seed makes another one."""
    again, other = make(SIZE, now=NOW), make(SIZE, now=NOW, seed=12)
    assert all(table.equals(again.tables[name]) for name, table in made.tables.items())
    assert all(np.array_equal(matrix, again.vectors[name][1]) for name, (_, matrix) in made.vectors.items())
    assert not made.tables["entities"].equals(other.tables["entities"])


def test_sizes_are_those_that_are_told(made: Generated) -> None:
    """E entities, chunks, facts and events, 3E relationships, 500 recall events; nobody is tied to himself."""
    rows = {name: len(table) for name, table in made.tables.items()}
    assert rows == {
        **{"documents": 3, "chunks": SIZE, "entities": SIZE, "relationships": 3 * SIZE, "memory_facts": SIZE},
        **{"memories": SIZE, "memory_versions": SIZE, "recall_events": 500},
    }
    edges = made.tables["relationships"]
    assert not pc.any(pc.equal(edges["source_entity_id"], edges["target_entity_id"])).as_py()


def test_thirty_percent_of_the_entities_name_dead_chunks(made: Generated) -> None:
    """Each of them still names live ones; besides, only the weak edges that were planted name anything dead."""
    live = set(made.tables["chunks"]["id"].to_pylist())
    named = made.tables["entities"]["source_chunk_ids"].to_pylist()
    assert sum(not live.issuperset(ids) for ids in named) == 0.3 * SIZE
    assert all(live.intersection(ids) for ids in named)
    for table in ("memory_facts", "memories"):
        assert live.issuperset(pc.list_flatten(made.tables[table]["source_chunk_ids"]).to_pylist())
    edges = [r for r in made.tables["relationships"].to_pylist() if not live.issuperset(r["source_chunk_ids"])]
    assert len(edges) == made.planted["weak edges"] == 0.02 * 3 * SIZE
    assert all(r["relationship_type"] == "ASSOCIATED_WITH" and r["confidence"] < 0.4 for r in edges)


def test_every_operation_has_its_trouble(made: Generated) -> None:
    """What is told to be planted can be counted in the rows."""
    edges, facts = made.tables["relationships"].to_pylist(), made.tables["memory_facts"].to_pylist()
    gone = NOW - timedelta(days=365)
    for rows, kind in ((edges, "expired edges"), (facts, "expired facts")):
        assert sum(r["invalidated_at"] is not None and r["invalidated_at"] < gone for r in rows) == made.planted[kind]
    folded = Counter((r["source_entity_id"], r["target_entity_id"], r["relationship_type"]) for r in edges)
    assert sum(n > 1 for n in folded.values()) >= made.planted["contradicting edges"] == 0.01 * 3 * SIZE
    drifted = [t for t in made.tables["entities"]["entity_type"].to_pylist() if t in MAPPING]
    assert len(drifted) == made.planted["drifted entities"] > 0
    assert sum(r["relationship_type"] in MAPPING for r in edges) == made.planted["drifted edges"] > 0
    said = Counter((r["subject"], r["predicate"], r["object"].casefold().rstrip(".")) for r in facts)
    assert sum(n > 1 for n in said.values()) == made.planted["duplicate facts"]
    versions = {r["memory_id"]: r["content"] for r in made.tables["memory_versions"].to_pylist()}
    told = Counter(versions[r["id"]].casefold().rstrip(".") for r in made.tables["memories"].to_pylist())
    assert sum(n - 1 for n in told.values()) == made.planted["duplicate events"] * 5 / 4


def test_most_edges_stay_within_their_block() -> None:
    """Communities are there to be found: ends of an edge share a neighbour far more often than by chance (three of 500)."""
    edges = make(6_000, now=NOW).tables["relationships"]
    pairs = list(zip(edges["source_entity_id"].to_pylist(), edges["target_entity_id"].to_pylist(), strict=True))
    near: dict[str, set[str]] = {}
    for one, two in pairs:
        near.setdefault(one, set()).add(two)
        near.setdefault(two, set()).add(one)
    assert sum(len(near[one] & near[two]) > 0 for one, two in pairs[:500]) > 30


def test_variants_share_the_meaning_of_their_original(made: Generated) -> None:
    """8 % are variants: of the same type, spelled otherwise, with a cosine of .93 to .99 to their original."""
    entities = made.tables["entities"]
    rows = {r["id"]: r for r in entities.to_pylist()}
    ids, matrix = made.vectors["entity_vectors"]
    place = {id_: n for n, id_ in enumerate(ids.to_pylist())}
    clusters = planted(entities)
    pairs = [(original, variant) for original, *variants in clusters for variant in variants]
    assert len(pairs) == round(0.08 * SIZE)
    for original, variant in pairs:
        assert "~" not in rows[original]["external_id"]
        assert rows[original]["name"] != rows[variant]["name"]
        assert rows[original]["entity_type"] == rows[variant]["entity_type"]
        assert 0.929 <= float(matrix[place[original]] @ matrix[place[variant]]) <= 0.991


def test_other_vectors_have_the_moments_of_real_ones() -> None:
    """Mean cosine .136 and deviation .103, as measured on MiniLM vectors of real text, within .02."""
    _, matrix = make(2_000, now=NOW).vectors["chunk_vectors"]
    cosines = (matrix[:1_000] @ matrix[1_000:].T).ravel()
    assert abs(float(cosines.mean()) - 0.136) < 0.02
    assert abs(float(cosines.std()) - 0.103) < 0.02


def test_what_was_filled_is_what_is_exported(store: Store, made: Generated) -> None:
    """COPY loses nothing: every column that was made comes back, vectors bit by bit, and their indexes stand."""
    fill(store, made)
    snapshot = export_snapshot(store, made.slug)
    for name, table in made.tables.items():
        expected = table.sort_by("id").combine_chunks()
        found = snapshot.table(name).select(table.column_names)
        assert found.equals(expected.cast(found.schema)), name
    for name, (ids, matrix) in made.vectors.items():
        order = pc.sort_indices(ids)
        assert snapshot.vectors[name].model == MODEL
        assert snapshot.vectors[name].ids.equals(ids.take(order))
        assert np.array_equal(snapshot.vectors[name].matrix, matrix[np.asarray(order)])
        assert matrix.shape == (SIZE, DIMENSIONS)
    with store.connect("reader") as connection:
        indexes = connection.execute(
            "SELECT count(*) FROM pg_indexes WHERE schemaname = 'memory' AND indexdef LIKE '%%hnsw%%' AND indexdef LIKE %s",
            (f"%{MODEL}%",),
        ).fetchone()
    assert indexes == (3,)
