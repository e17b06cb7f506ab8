"""What is exported is what is stored, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from slowwave.errors import Refused
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, arrow_schema
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.tables import VECTORS
from tests.nights import new_world
from tests.worlds import World, load_world, worlds


@given(world=worlds())
def test_every_cell_comes_back_as_it_was_written(store: Store, world: World) -> None:
    """Names with quotes and line breaks, arrays with and without ids, microseconds, float32: nothing is bent."""
    load_world(store, world)
    snapshot = export_snapshot(store, world.slug)
    for name, table in SNAPSHOT_TABLES.items():
        assert snapshot.table(name).schema.equals(arrow_schema(table)), name
    for name in ("entities", "relationships", "memories", "memory_facts", "entity_aliases"):
        stored = {r["id"]: r for r in snapshot.table(name).to_pylist()}
        assert sorted(stored) == [r["id"] for r in snapshot.table(name).to_pylist()] == sorted(world.ids(name))
        for row in world.rows[name]:
            for column, value in row.items():
                if isinstance(value, (dict, list)) and column in ("attributes", "properties", "tags"):
                    continue
                if column != "namespace_id":
                    assert stored[row["id"]][column] == value, (name, column)
    vectors = snapshot.vectors["entity_vectors"]
    written = {r["id"]: r["vector"] for r in world.rows["entity_vectors"]}
    if written:
        assert vectors.ids.to_pylist() == sorted(written)
        assert vectors.matrix.tobytes() == np.stack([written[i] for i in sorted(written)]).tobytes()
    assert snapshot.vectors["chunk_vectors"].ids.to_pylist() == []


def test_a_snapshot_knows_only_its_namespace(store: Store) -> None:
    """Two namespaces of the same shape; one is read."""
    world, other = new_world(store, 7), new_world(store, 8)
    snapshot = export_snapshot(store, world.slug)
    for name in world.rows:
        if name not in VECTORS:
            assert not set(snapshot.table(name)["id"].to_pylist()) & set(other.ids(name))


def test_an_unknown_namespace_is_refused(store: Store) -> None:
    """Also by the digest."""
    with pytest.raises(Refused, match="no namespace 'nobody'"):
        export_snapshot(store, "nobody")
    with pytest.raises(Refused, match="no namespace 'nobody'"):
        digest(store, "nobody")


def test_the_digest_sees_every_column_and_only_content(store: Store) -> None:
    """A vector's last bit and a counter count; content_version and updated_at do not."""
    world, other = new_world(store, 7), new_world(store, 8)
    before, elsewhere = digest(store, world.slug), digest(store, other.slug)
    seen = {before}
    with store.connect("owner") as connection:
        for change in (
            "UPDATE memory.entities SET mention_count = mention_count + 1 WHERE namespace_id = %s",
            "UPDATE memory.entity_vectors SET vector = vector + '[0,0,0,0.000001]' WHERE namespace_id = %s",
            "UPDATE memory.namespaces SET settings = '{\"batch_items\": 3}' WHERE id = %s",
            "UPDATE memory.relationships SET properties = '{\"a\": 1}' WHERE namespace_id = %s",
        ):
            connection.execute(change.encode(), (world.namespace_id,))
            seen.add(digest(store, world.slug))
        last = digest(store, world.slug)
        connection.execute(
            "UPDATE memory.entities SET content_version = 9, updated_at = now() WHERE namespace_id = %s",
            (world.namespace_id,),
        )
    assert len(seen) == 5
    assert digest(store, world.slug) == last
    assert digest(store, other.slug) == elsewhere
