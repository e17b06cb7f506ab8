"""The rule of row ids, in Python and in PostgreSQL: one row has one id, whoever makes it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from slowwave.bindings.binding import (
    Binding,
    BoundColumn,
    BoundTable,
    KeyColumn,
    key_text,
    key_text_sql,
    row_id_of,
    row_id_sql,
)
from slowwave.store.connect import Store
from tests.worlds import few


def bound(*key: KeyColumn) -> tuple[Binding, BoundTable]:
    table = BoundTable("memories", "public", "theirs", key, {"content": BoundColumn("value")})
    return Binding("theirs", "Theirs", {"memories": table}), table


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)


@few
@given(prefix=TEXT, key=TEXT)
def test_a_key_of_two_columns_gives_the_same_id_in_python_and_in_postgres(store: Store, prefix: str, key: str) -> None:
    """Whatever characters agents put into a key."""
    binding, table = bound(KeyColumn("prefix", "text"), KeyColumn("key", "text"))
    query = sql.SQL("SELECT {}::text, {} FROM (SELECT %s::text AS prefix, %s::text AS key) t").format(
        row_id_sql(binding, table, "t"), key_text_sql(table, "t")
    )
    with store.connect("reader") as connection:
        found = connection.execute(query, (prefix, key)).fetchone()
    assert found == (row_id_of(binding, table, (prefix, key)), key_text((prefix, key)))


def test_a_uuid_is_the_id_itself_and_a_number_is_made_into_one() -> None:
    """Two tables of one store never share the id of a row whose number they share."""
    binding, table = bound(KeyColumn("id", "uuid"))
    there = "0F0E0D0C-0000-4000-8000-000000000001"
    assert row_id_of(binding, table, (there,)) == there.lower()
    binding, numbered = bound(KeyColumn("id", "bigint"))
    other = BoundTable("memories", "public", "others", numbered.key, numbered.columns)
    assert row_id_of(binding, numbered, ("17",)) != row_id_of(binding, other, ("17",))
