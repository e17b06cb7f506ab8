"""Items with nothing to do: every cell that they would write holds the value already.

Somebody did the same in the meantime, or the value was there from the beginning. Only items that set values and no more are found:
a stamp, a delta, a new row or a deletion leaves its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slowwave.mutations.apply import text_of
from slowwave.mutations.catalogue import OWN, Catalogue
from slowwave.mutations.mutation import Identified, Mutation
from slowwave.mutations.statements import BATCH_TABLES, stale_cells
from slowwave.store.connect import Connection

_EMPTY_CELLS: Final = "DELETE FROM batch_cells"
_COPY_CELLS: Final = "COPY batch_cells (item_id, tbl, row_id, key, col, action, seen) FROM STDIN"


def only_sets(mutation: Mutation) -> bool:
    """Whether it does nothing but set cells to values, or nothing at all."""
    change = mutation.change
    return not change.inserts and not change.deletes and all(w.action == "set" for w in change.writes)


def changes_nothing(mutation: Mutation) -> bool:
    """Whether every value that it would write is the one that the plan saw."""
    return only_sets(mutation) and all(w.seen == w.value for w in mutation.change.writes)


def already_so(
    connection: Connection, namespace_id: str, items: Sequence[Identified], catalogue: Catalogue = OWN
) -> frozenset[str]:
    """The items of which every cell holds what they would write. Inside a batch's transaction; one query a table."""
    asked = [item for item in items if only_sets(item.mutation)]
    if not asked:
        return frozenset()
    connection.execute(BATCH_TABLES.encode())
    connection.execute(_EMPTY_CELLS)
    columns: dict[str, set[str]] = {}
    with connection.cursor() as cursor, cursor.copy(_COPY_CELLS) as copy:
        for item in asked:
            for w in item.mutation.change.writes:
                c = w.cell
                columns.setdefault(c.table, set()).add(c.column)
                value = text_of(catalogue, c, w.value)
                copy.write_row((item.id, c.table, c.row, c.key, c.column, "guard", value))
    other: set[str] = set()
    for table in sorted(columns):
        query = stale_cells(catalogue.relation(table), columns[table])
        found = connection.execute(query.encode(), {"namespace": namespace_id, **catalogue.parameters})
        other |= {str(item) for item, _, _ in found}
    return frozenset(item.id for item in asked) - other
