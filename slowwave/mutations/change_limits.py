"""What a change of a store that is not ours may touch: cells that its binding declares, of the rows that its mutation names.

Held to at sealing and again before it is applied, like the limits of mutations themselves: a forged plan item reaches no other table, no
other column and no other row.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.row_ids import row_id_of
from slowwave.mutations.change import OVERLAY, ROW, Change
from slowwave.mutations.mutation import Mutation


def name_of(bound: BoundTable) -> str:
    """What cells and the journal call a bound table."""
    return f"{bound.schema}.{bound.table}"


def retired_rows(mutation: Mutation) -> frozenset[str]:
    """The rows that leave their store: those that end, and memories that are quarantined, which its own client shall find no longer."""
    return frozenset(
        w.cell.row
        for w in mutation.writes
        if (w.cell.column == "invalidated_at" and (w.action == "now" or w.value is not None))
        or (w.cell.table, w.cell.column, w.value) == ("memories", "state", "quarantined")
    )


def change_fault(binding: Binding, mutation: Mutation) -> str:
    """What a mutation's change does that it may not, as a sentence; empty when it keeps to its rows."""
    change = mutation.physical
    if change is None:
        return ""
    tables = {name_of(bound): bound for bound in binding.tables.values()}
    named = {*mutation.row_ids()}
    retired = retired_rows(mutation)
    for table, row, key in sorted({(w.cell.table, w.cell.row, w.cell.key) for w in change.writes}):
        if table == OVERLAY:
            if key not in binding.tables or row not in named:
                return f"It would note something about row {row} of {key[:64]}, which it is not about."
        elif table not in tables:
            return f"It would write {table[:64]}, which is no table of {binding.title}."
        elif fault := _fault(binding, tables[table], row, key, named):
            return fault
    for write in change.writes:
        if write.action not in ("set", "now") and (write.cell.table, write.action) != (OVERLAY, "item"):
            return (
                f"It would write {write.cell.table}.{write.cell.column} in a way that no change of {binding.title} has."
            )
    return _delete_fault(binding, change, tables, retired) or _insert_fault(binding, change, tables, retired)


def _delete_fault(binding: Binding, change: Change, tables: dict[str, BoundTable], retired: Collection[str]) -> str:
    for delete in change.deletes:
        bound = tables.get(delete.table)
        if bound is None:
            return f"It would delete from {delete.table[:64]}, which is no table of {binding.title}."
        owner = binding.owner(bound)
        goes = owner.retire.removes and (owner is bound or bound.name in owner.cascades)
        if not goes or set(delete.seen) != {ROW}:
            return f"It would delete row {delete.row} of {delete.table}, which is not how that store retires one."
        if fault := _fault(binding, bound, delete.row, delete.key, retired):
            return fault
    return ""


def _insert_fault(binding: Binding, change: Change, tables: dict[str, BoundTable], retired: Collection[str]) -> str:
    """Rows come into a store by moving into its archive and in no other way."""
    leaving = {(d.table, d.key) for d in change.deletes}
    for insert in change.inserts:
        bound = tables.get(insert.table)
        owner = binding.owner(bound) if bound else None
        if bound is None or owner is None or owner.retire.by != "move" or owner.retire.to != bound.name:
            return f"It would add a row to {insert.table[:64]}, and nothing is added there."
        named = (*(c for c, _ in bound.defaults), *(s.column for s in bound.stamps), *(g.column for g in bound.gathers))
        filled = {bound.columns[c].column for c in named}
        if insert.refs or not filled.issuperset((*insert.values, *insert.stamped)):
            return f"It would fill columns of {insert.table} that are copied from the row that moves there."
        if (name_of(owner), insert.key) not in leaving:
            return f"It would add row {insert.row} to {insert.table}, and no such row leaves {name_of(owner)}."
        if fault := _fault(binding, bound, insert.row, insert.key, retired):
            return fault
    return ""


def _fault(binding: Binding, bound: BoundTable, row: str, key: str, named: Collection[str]) -> str:
    """That a row's id is not made of its key, or that it does not belong to one of those named."""
    found: object = json.loads(key) if key.startswith("[") else None
    native = tuple(map(str, found)) if isinstance(found, list) else ()
    if len(native) != len(bound.key) or row_id_of(binding, bound, native) != row:
        return f"Row {row} of {name_of(bound)} is not the one that its key names."
    if bound.parent:
        owner = owner_of(binding, bound, native)
        if owner is None:  # ``slowwave.plans.lowering`` reads whose row it is
            return ""
        row = owner
    return "" if row in named else f"It would change row {row} of {name_of(bound)}, which it is not about."


def owner_of(binding: Binding, bound: BoundTable, native: tuple[str, ...]) -> str | None:
    """Return the id of the row to which a row of a child table belongs, or None where its native key does not name that row."""
    if bound.parent is None:
        return None
    parent = binding.tables[bound.parent.table]
    mine = dict(zip((k.column for k in bound.key), native, strict=True))
    theirs = {their: mine.get(own) for own, their in bound.parent.columns}
    keys = [key for k in parent.key if (key := theirs.get(k.column)) is not None]
    return row_id_of(binding, parent, tuple(keys)) if len(keys) == len(parent.key) else None
