"""What a mutation comes to in a store that is not ours: cells and rows of its tables, as they were seen and as they shall be.

Sealed with the mutation, whose cells are those of our catalogue. ``slowwave.mutations.lowering`` makes it, the statements of applying and
undoing carry it out, and ``slowwave.mutations.change_limits`` holds it to the rows that the mutation names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.mutations.cells import (
    Cell,
    Delete,
    Guard,
    Insert,
    Write,
    delete_json,
    deletes_from_json,
    guard_json,
    guards_from_json,
    insert_json,
    inserts_from_json,
    write_json,
    writes_from_json,
)

OVERLAY: Final = "night.overlay"
"""What a store has no column for: a row of JSON for each of its rows that needs one, and cells by the names of our catalogue."""

ROW: Final = "#row"
"""What a deleted row of another store held, as the SHA-256 of its image: the journal keeps the image itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """Cells written and guarded, rows deleted, and rows that move into their store's archive, by their native keys.

    Of a row that moves, an insert holds what the archive has beside the columns of the row itself: those are copied as it goes.
    """

    writes: tuple[Write, ...] = ()
    guards: tuple[Guard, ...] = ()
    deletes: tuple[Delete, ...] = ()
    inserts: tuple[Insert, ...] = ()

    def stand_on(self) -> frozenset[Cell]:
        """The rows that have to be there for it, each as the cell without a column that whoever deletes the row writes."""
        written = {Cell(w.cell.table, w.cell.row, "", w.cell.key) for w in self.writes}
        return frozenset(written | {Cell(g.table, g.row, "", g.key) for g in self.guards})

    def tables(self) -> Iterator[str]:
        """The tables that it names, some more than once."""
        yield from (w.cell.table for w in self.writes)
        yield from (g.table for g in self.guards)
        yield from (d.table for d in self.deletes)
        yield from (i.table for i in self.inserts)

    def canonical(self) -> str:
        """Its canonical JSON."""
        added = f'"inserts":[{",".join(map(insert_json, self.inserts))}],' if self.inserts else ""
        return (
            f'{{"deletes":[{",".join(map(delete_json, self.deletes))}],"guards":[{",".join(map(guard_json, self.guards))}],{added}'
            f'"writes":[{",".join(map(write_json, self.writes))}]}}'
        )

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Change:
        """The inverse of ``canonical``, unchecked."""

        def rows(name: str) -> Sequence[Sequence[object]]:
            found = value.get(name)
            return found if isinstance(found, list) else []  # pyright: ignore[reportReturnType]

        return cls(
            writes_from_json(rows("writes")),
            guards_from_json(rows("guards")),
            deletes_from_json(rows("deletes")),
            inserts_from_json(rows("inserts")),
        )
