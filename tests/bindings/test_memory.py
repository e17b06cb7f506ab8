"""Our own schema as a binding: every table of a snapshot, every column, and nothing that has to be made up."""

from __future__ import annotations

from slowwave.bindings.binding import COLUMN_TYPES, memory_binding
from slowwave.changes.cells import row_columns, sql_type
from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, VECTORS, metadata


def test_every_table_of_a_snapshot_is_bound_column_by_column() -> None:
    """In the order of the catalogue, each under its own name."""
    binding = memory_binding()
    assert list(binding.tables) == [*(table.name for table in EXPORTED), *VECTORS]
    assert not binding.overlay
    for name, table in binding.tables.items():
        assert (table.schema, table.table) == ("memory", name)
        assert list(table.columns) == [c.name for c in metadata.tables[f"memory.{name}"].c]
        assert all(bound.column == column and not bound.path for column, bound in table.columns.items())


def test_types_are_those_that_mutations_cast_to() -> None:
    """One way of naming a type, or a plan would compare as one and write as another."""
    for name, table in memory_binding().tables.items():
        assert {bound.type for bound in table.columns.values()} <= COLUMN_TYPES
        for column in set(row_columns(name)) - {*DERIVED_COLUMNS}:
            assert table.columns[column].type == sql_type(name, column), (name, column)


def test_vectors_are_named_by_their_row_and_their_model() -> None:
    """Two models describe one row."""
    keys = {table: [(k.column, k.type) for k in memory_binding().tables[table].key] for table in (*VECTORS, "memories")}
    assert keys == {table: [("id", "uuid"), ("model", "text")] for table in VECTORS} | {"memories": [("id", "uuid")]}
