"""What an item would change, cell by cell, for people: before → after, with what it inserts."""

from __future__ import annotations

from dataclasses import dataclass

from slowwave.mutations.cells import Value
from slowwave.mutations.vectors import decode
from slowwave.plans.items import Item
from slowwave.store.tables import VECTORS


@dataclass(frozen=True, slots=True)
class Change:
    """One cell or new row: where, what is there, what would be."""

    table: str
    row: str
    column: str
    before: str
    after: str


def changes(item: Item) -> list[Change]:
    """All changes of an item, in cell order, inserts and deleted rows last."""
    shown: list[Change] = []
    for w in item.mutation.writes:
        match w.action:
            case "add":
                before, after = "n", f"n {int(str(w.value)):+d}"
            case "now":
                before, after = _text(w.cell.table, w.seen), "time of apply"
            case "item":
                before, after = _text(w.cell.table, w.seen), f"item {item.id}"
            case "row":
                before, after = _text(w.cell.table, w.seen), "the new row"
            case "set":
                before, after = _text(w.cell.table, w.seen), _text(w.cell.table, w.value)
        shown.append(Change(w.cell.table, w.cell.row, w.cell.column, before, after))
    for i in item.mutation.inserts:
        values = ", ".join(f"{c}={_text(i.table, v)}" for c, v in sorted(i.values.items()))
        shown.append(Change(i.table, i.row or "new row", "", "nothing", values))
    for d in item.mutation.deletes:
        values = ", ".join(f"{c}={_text(d.table, v)}" for c, v in sorted(d.seen.items()) if v not in (None, "", ()))
        shown.append(Change(d.table, d.row, "", values, "deleted"))
    return shown


def _text(table: str, value: Value) -> str:
    if value is None:
        return "nothing"
    if table in VECTORS and isinstance(value, str):
        vector = decode(value)
        return f"vector of {len(vector)} [{', '.join(f'{x:.3f}' for x in vector[:3])}, …]"
    return f"{len(value)} ids" if isinstance(value, tuple) else str(value)
