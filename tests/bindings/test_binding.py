"""What a binding answers of itself."""

from __future__ import annotations

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, KeyColumn, Parent

KEY = (KeyColumn("prefix", "text"), KeyColumn("key", "text"))
ROWS = BoundTable("memories", "public", "store", KEY, {"content": BoundColumn("value", ("content",), json="jsonb")})
VECTORS = BoundTable(
    "vectors",
    "public",
    "store_vectors",
    (*KEY, KeyColumn("field_name", "text")),
    {"vector": BoundColumn("embedding", type="vector")},
    parent=Parent("memories", (("prefix", "prefix"), ("key", "key"))),
)


def test_vectors_lie_in_the_row_or_in_a_child_of_it() -> None:
    """The child's are found by its parent's name, and a table that is not bound has none."""
    apart = Binding("langgraph", "LangGraph", {"memories": ROWS, "vectors": VECTORS})
    assert apart.children("memories") == (VECTORS,)
    assert apart.vector_of("memories") == (VECTORS, VECTORS.columns["vector"])
    assert apart.vector_of("entities") is None
    assert Binding("langgraph", "LangGraph", {"memories": ROWS}).vector_of("memories") is None


def test_only_one_uuid_is_an_id_by_itself() -> None:
    """Texts, numbers and keys of several columns are not."""
    assert BoundTable("memories", "public", "m", (KeyColumn("id", "uuid"),), {}).native_id
    assert not BoundTable("memories", "public", "m", (KeyColumn("id", "bigint"),), {}).native_id
    assert not ROWS.native_id
