"""A binding that names what a table does not have is refused by that name, before anything is noted."""

from __future__ import annotations

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import connected_names, let_write
from slowwave.errors import BindingError, Refused
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.bindings.clients import run_as_owner

MADE = """CREATE TABLE notes (id bigint PRIMARY KEY, part int, owner varchar(40), body text, meta json, deleted_at timestamptz, v vector(3),
  UNIQUE (owner, part))"""
FILE = """
store = "notes"
[tables.memories]
table = "notes"
key = { id = "bigint" }
namespace = "owner"
retired = { at = "deleted_at", type = "timestamptz", test = "set" }
[tables.memories.columns]
content = "body"
author = { at = ["meta", "by"], json = "json" }
vector = { at = "v", type = "vector" }
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('content = "body"', 'content = "text"', "public.notes has no column text; it has id, part, owner, body"),
        ('key = { id = "bigint" }', 'key = { nr = "bigint" }', "has no column nr;"),
        ('at = "deleted_at"', 'at = "gone_at"', "has no column gone_at;"),
        ('namespace = "owner"', 'namespace = ["payload", "user"]', "has no column payload;"),
        (
            'key = { id = "bigint" }',
            'key = { id = "uuid" }',
            "The key id of public.notes is bigint, and the binding says uuid",
        ),
        (
            '["meta", "by"], json = "json"',
            '["meta", "by"]',
            "meta of public.notes is json, and the binding reads it as jsonb",
        ),
        (
            'at = "v", type = "vector"',
            'at = "v", type = "halfvec"',
            "v of public.notes is vector, and the binding says halfvec",
        ),
        (
            'at = "deleted_at", type = "timestamptz"',
            'at = "deleted_at", type = "timestamp"',
            "deleted_at of public.notes is timestamptz, and the binding says timestamp",
        ),
        ('key = { id = "bigint" }', 'key = { owner = "text" }', "No unique index of public.notes is of owner alone"),
    ],
)
def test_what_is_not_there_is_told_and_nothing_is_connected(store: Store, right: str, wrong: str, said: str) -> None:
    """A column, a type that decides how rows are found, a key that is none."""
    run_as_owner(store, MADE, "INSERT INTO notes (id, owner, body) VALUES (1, 'anna', 'likes tea')")
    assert right in FILE
    with pytest.raises(BindingError, match=said) as problem:
        connect_store(store, "table", own_text=FILE.replace(right, wrong), grant=True)
    assert "nothing was connected" in str(problem.value)
    with store.connect("reader") as connection:
        assert connected_names(connection) == []


def test_a_unique_index_of_what_is_made_of_the_key_tells_rows_apart(store: Store) -> None:
    """As a column that may be null is entered in one; of one column too few it tells nothing."""
    made = MADE.replace(",\n  UNIQUE (owner, part)", "")
    run_as_owner(store, made, "INSERT INTO notes (id, owner, part, body) VALUES (1, 'anna', 2, 'likes tea')")
    file = FILE.replace('{ id = "bigint" }', '{ part = "integer or null", owner = "text" }')
    with pytest.raises(BindingError, match="of owner, part alone"):
        connect_store(store, "table", own_text=file, grant=True)
    run_as_owner(store, "CREATE UNIQUE INDEX ON notes (owner, coalesce(part, 0))")
    assert connect_store(store, "table", own_text=file, grant=True).namespaces == 1


def test_any_unique_key_will_do(store: Store) -> None:
    """Of several columns, in any order; and lengths of types do not matter."""
    run_as_owner(store, MADE, "INSERT INTO notes (id, owner, part, body) VALUES (1, 'anna', 2, 'likes tea')")
    file = FILE.replace('{ id = "bigint" }', '{ part = "integer", owner = "text" }')
    assert connect_store(store, "table", own_text=file, grant=True).namespaces == 1


def test_text_of_a_generated_column_is_audited_and_never_written(store: Store) -> None:
    """Title and body of a row can be read as one text; that writing is refused is said before a night."""
    run_as_owner(
        store,
        "CREATE TABLE notes (id bigint PRIMARY KEY, owner text, title text, body text, deleted_at timestamptz, "
        "whole text GENERATED ALWAYS AS (title || ': ' || body) STORED)",
        "INSERT INTO notes SELECT n, 'anna', 'Pier', 'The insurer came.' FROM generate_series(1, 2) n",
    )
    file = FILE.partition("[tables.memories.columns]")[0] + '[tables.memories.columns]\ncontent = "whole"\n'
    connect_store(store, "table", own_text=file, grant=True)
    assert run_night(store, "notes-anna", ops="dedupe_memories", force=True).held_back[0] == 1
    with pytest.raises(Refused, match=r"notes\.whole is generated from other columns"):
        let_write(store, "notes", grant=True)
