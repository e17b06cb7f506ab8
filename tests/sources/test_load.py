"""COPY into the store: every column type comes back as it went in, and rows that stand are left as they are."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.store import tables
from slowwave.store.load import load_rows


@pytest.fixture
def connection(store):
    with store.connect("owner") as opened:
        yield opened


@pytest.fixture
def namespace(connection) -> str:
    row = {"id": str(uuid4()), "slug": "demo", "settings": {"expertise": None}}
    assert load_rows(connection, tables.namespaces, [row]) == 1
    return row["id"]


def test_every_kind_of_value_comes_back(connection, namespace):
    """Text with the characters of every escape, arrays full and empty, JSON of both shapes, instants, nulls, vectors."""
    ids = [str(uuid4()) for _ in range(3)]
    now = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    text = 'tab\t back\\slash "quote" \'n\nline é 日本 \\N'
    rows = [
        {
            "id": ids[0], "namespace_id": namespace, "kind": "episodic", "tags": ["a", 1], "attributes": {"x": [None, text]},
            "source_chunk_ids": ids, "source_document_ids": [], "author": text, "importance": 0.25, "access_count": 3,
            "pinned": True, "valid_from": now, "valid_to": None, "current_version_id": None,
        }
    ]  # fmt: skip
    assert load_rows(connection, tables.memories, rows) == 1
    found = connection.execute(
        """SELECT tags, attributes, source_chunk_ids, source_document_ids, author, importance, access_count, pinned, valid_from,
        valid_to, ring FROM memory.memories"""
    ).fetchone()
    assert found == (
        ["a", 1],
        {"x": [None, text]},
        [UUID(i) for i in ids],
        [],
        text,
        0.25,
        3,
        True,
        now,
        None,
        "working",
    )
    connection.execute("SELECT memory.register_vector_model('m', 3)")
    vector = np.array([0.1, -2.5, 1e-7], np.float32)
    row = {"id": ids[0], "model": "m", "namespace_id": namespace, "vector": vector}
    assert load_rows(connection, tables.memory_vectors, [row]) == 1
    (stored,) = connection.execute("SELECT vector::real[] FROM memory.memory_vectors").fetchone()
    assert np.array_equal(np.array(stored, np.float32), vector)
    event = {
        "id": ids[1],
        "namespace_id": namespace,
        "occurred_at": now,
        "query": "q",
        "hit_ids": ids,
        "scores": [0.5, 1],
    }
    assert load_rows(connection, tables.recall_events, [event]) == 1
    assert connection.execute("SELECT scores FROM memory.recall_events").fetchone() == ([0.5, 1.0],)


def test_rows_that_stand_are_left_and_only_new_ones_counted(connection, namespace):
    """A repeated id, a repeated external id and a repeat within the load: the first of each wins."""
    rows = [{"id": str(uuid4()), "namespace_id": namespace, "external_id": str(n), "title": "first"} for n in range(3)]
    assert load_rows(connection, tables.documents, [*rows, rows[0]]) == 3
    again = [
        {**rows[0], "title": "second"},
        {**rows[1], "id": str(uuid4())},
        {**rows[2], "id": str(uuid4()), "external_id": "9"},
    ]
    assert load_rows(connection, tables.documents, again) == 1
    assert connection.execute("SELECT count(*) FROM memory.documents WHERE title = 'second'").fetchone() == (0,)
    assert load_rows(connection, tables.documents, []) == 0


def test_rows_are_sent_as_they_come(connection, namespace):
    """A generator of twenty thousand rows is never held as a whole, and lands whole."""
    rows = ({"id": str(uuid4()), "namespace_id": namespace, "entity_type": "t", "name": str(n)} for n in range(20_000))
    assert load_rows(connection, tables.entities, rows) == 20_000


def test_rows_of_another_shape_are_refused_and_nothing_stays(connection, namespace):
    """A row with other columns, a column that does not exist, a value of the wrong kind: no row of the load is kept."""
    row = {"id": str(uuid4()), "namespace_id": namespace, "title": "x"}
    with pytest.raises(StoreError, match="other columns than the first"):
        load_rows(connection, tables.documents, [row, {"id": str(uuid4()), "namespace_id": namespace}])
    with pytest.raises(StoreError, match="no column x; drop"):
        load_rows(connection, tables.documents, [{**row, "x; drop table memory.documents": 1}])
    with pytest.raises((psycopg.Error, ValueError)):
        load_rows(connection, tables.documents, [row, {**row, "id": "not-an-id"}])
    assert connection.execute("SELECT count(*) FROM memory.documents").fetchone() == (0,)
    assert load_rows(connection, tables.documents, [row]) == 1
