"""Namespaces of a connected store that are read together are what each is when it is read alone."""

from __future__ import annotations

import uuid

from psycopg.types.json import Jsonb

from slowwave.snapshots.export import export_snapshot, export_snapshots
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from tests.bindings.clients import run_as_owner
from tests.bindings.collections import collection


def assert_same(a: Snapshot, b: Snapshot) -> None:
    """All that they hold; when they were read is for each its own."""
    assert (a.namespace_id, a.namespace, a.change_counter) == (b.namespace_id, b.namespace, b.change_counter)
    assert (a.settings, a.read_only) == (b.settings, b.read_only)
    assert a.tables.keys() == b.tables.keys()
    assert [name for name in b.tables if not a.table(name).equals(b.table(name))] == []
    for name, vectors in b.vectors.items():
        mine = a.vectors[name]
        assert (mine.model, mine.ids, mine.matrix.shape) == (vectors.model, vectors.ids, vectors.matrix.shape)
        assert mine.matrix.tobytes() == vectors.matrix.tobytes()


def test_they_are_what_each_is_alone(store: Store) -> None:
    """Rows and vectors of each, in the order of ids; what lies in the overlay, what was rejected, and a namespace that has next to
    nothing; one of another store, or of none, is left out."""
    names = collection(store)
    anna = export_snapshot(store, names[0]).namespace_id
    with store.connect("owner") as connection:
        row = connection.execute(
            "SELECT id FROM mem0 WHERE payload ->> 'user_id' = 'anna' ORDER BY id LIMIT 1"
        ).fetchone()
        assert row
        connection.execute(
            "INSERT INTO night.overlay VALUES (%s, 'memories', %s, %s)", (anna, row[0], Jsonb({"importance": 0.25}))
        )
        connection.execute(
            "INSERT INTO memory.entities (id, namespace_id, entity_type, name) VALUES (%s, %s, 'person', 'Anna')",
            (str(uuid.uuid4()), anna),
        )
    run_as_owner(store, "UPDATE mem0 SET vector = NULL WHERE payload ->> 'data' LIKE 'Anna met%'")
    read = export_snapshots(store, "mem0", [*names, "default", "nobody"])
    assert sorted(read) == sorted(names)
    assert len({s.snapshot_id for s in read.values()}) == len(names) == 4
    for name in names:
        assert_same(read[name], export_snapshot(store, name))
    ours = read[names[0]].table("memories")
    assert 0.25 in ours["importance"].to_pylist()
