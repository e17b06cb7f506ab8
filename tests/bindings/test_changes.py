"""Whether rows of others changed, without a trigger in their tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.bindings.connect import connect_store, note_change, note_changes
from slowwave.store.connect import Store
from slowwave.store.migrate import migrate
from tests.bindings.clients import run_as_owner
from tests.clusters import external, majors

STORE = """store = "kept"
[tables.memories]
table = "kept"
key = { prefix = "text", key = "text" }
namespace = "prefix"
volatile = ["read_at"]
retired = { at = "ends_at", type = "timestamptz", test = "past" }
cascades = ["vectors"]
[tables.memories.columns]
content = "body"
[tables.vectors]
table = "kept_vectors"
key = { prefix = "text", key = "text" }
parent = { table = "memories", columns = { prefix = "prefix", key = "key" } }
[tables.vectors.columns]
vector = { at = "embedding", type = "vector" }
"""
MADE = (
    "CREATE TABLE kept (prefix text, key text, body text, own text, read_at timestamptz, ends_at timestamptz, PRIMARY KEY (prefix, key))",
    "CREATE TABLE kept_vectors (prefix text, key text, embedding vector(2), PRIMARY KEY (prefix, key))",
    "INSERT INTO kept (prefix, key, body) SELECT p, 'k' || n, 'says ' || n FROM unnest(ARRAY['anna', 'ben']) p, generate_series(1, 5) n",
    "INSERT INTO kept_vectors SELECT prefix, key, '[1,2]' FROM kept",
)


def counters(store: Store) -> dict[str, int]:
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT slug, (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id) FROM memory.namespaces n"
        ).fetchall()
    return {str(slug): int(str(n)) for slug, n in rows}


def test_each_change_of_a_row_is_one_of_its_namespace_and_of_no_other(store: Store) -> None:
    """A column that no binding names, a vector, a row less, a row that ended meanwhile; what reading moves is none."""
    run_as_owner(store, *MADE)
    connect_store(store, "table", own_text=STORE, grant=True)
    assert counters(store) == {"kept-anna": 1, "kept-ben": 1}
    assert note_changes(store) == 0
    expected = 1
    for statement, moves in (
        ("UPDATE kept SET own = 'x' WHERE prefix = 'anna' AND key = 'k1'", True),
        ("UPDATE kept SET read_at = now()", False),
        ("UPDATE kept_vectors SET embedding = '[2,1]' WHERE prefix = 'anna' AND key = 'k2'", True),
        ("UPDATE kept_vectors SET embedding = '[2,1]' WHERE prefix = 'anna' AND key = 'k2'", False),
        ("UPDATE kept SET ends_at = '2020-01-01' WHERE prefix = 'anna' AND key = 'k3'", True),
        ("DELETE FROM kept WHERE prefix = 'anna' AND key = 'k4'", True),
        ("DELETE FROM kept WHERE prefix = 'anna'", True),
    ):
        run_as_owner(store, statement)
        note_change(store, "kept-anna")
        expected += moves
        assert counters(store) == {"kept-anna": expected, "kept-ben": 1}, statement
    assert note_changes(store) == 0


def test_store_that_is_connected_again_with_another_binding_has_changed(store: Store) -> None:
    """Vectors that a new binding names were read by no night until a row changed. The same binding again changes nothing."""
    run_as_owner(store, *MADE)
    connect_store(store, "table", own_text=STORE, grant=True)
    connect_store(store, "table", own_text=STORE, grant=True)
    assert counters(store) == {"kept-anna": 1, "kept-ben": 1}
    connect_store(
        store, "table", own_text=STORE.replace('content = "body"', 'content = "body"\nsubject = "own"'), grant=True
    )
    assert counters(store) == {"kept-anna": 2, "kept-ben": 2}
    assert note_changes(store) == 0


def test_what_one_look_noted_another_way_of_looking_does_not_note_again(store: Store) -> None:
    """All namespaces at once and one alone give one sign."""
    run_as_owner(store, *MADE)
    connect_store(store, "table", own_text=STORE, grant=True)
    run_as_owner(store, "UPDATE kept SET own = 'x'")
    assert note_changes(store) == 2
    note_change(store, "kept-anna")
    note_change(store, "nowhere")
    assert counters(store) == {"kept-anna": 2, "kept-ben": 2}


def test_a_store_that_cannot_be_read_does_not_keep_others_from_being_looked_at(store: Store) -> None:
    """Its own nights say what is wrong with it."""
    run_as_owner(store, *MADE, "CREATE TABLE gone (id uuid PRIMARY KEY, body text)")
    connect_store(store, "table", own_text=STORE, grant=True)
    alone = 'store = "alone"\n[tables.memories]\ntable = "gone"\nkey = { id = "uuid" }\n[tables.memories.columns]\ncontent = "body"\n'
    connect_store(store, "table", own_text=alone, grant=True)
    run_as_owner(store, "DROP TABLE gone", "UPDATE kept SET own = 'x' WHERE prefix = 'anna'")
    assert note_changes(store) == 1
    assert counters(store) == {"alone": 1, "kept-anna": 2, "kept-ben": 1}


@pytest.mark.parametrize("major", majors())
def test_an_instant_that_stands_as_text_is_read_whatever_shares_the_query(tmp_path: Path, major: int) -> None:
    """PostgreSQL reads a large table by several processes, none of which may catch an error before 18; the setting has it do so here."""
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        store = Store(cluster.url("postgres"))
        migrate(store)
        with store.connect("reader") as connection:
            connection.execute(
                "SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')"
            )
            rows = connection.execute(
                "SELECT night.instant_of(written)::text FROM unnest(ARRAY['2026-01-01T00:00:00Z', '2026-02-31']) written"
            ).fetchall()
    assert [written is None for (written,) in rows] == [False, True]
