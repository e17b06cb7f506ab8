"""Lowering of items to the changes they make in a connected store, before they are sealed.

The lowered change is compared with the item when it is sealed, approved, shown and applied. Items that the store cannot hold are left
out, with the reason. Items that rest on rows that changed since the snapshot are left out as well; the next night sees these rows anew.
Texts are rewritten only if the store's own derived columns, above all its vectors, can be derived by the same recipes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psycopg

from slowwave.bindings.binding import Binding
from slowwave.bindings.checks import recipes
from slowwave.bindings.stores import connected_store, reading
from slowwave.changes.lowering import (
    NativeRow,
    Unexplained,
    Unlowered,
    concerns,
    find_unexplained,
    lower,
    native_rows,
    rewritten,
    rows_by_key,
    rows_to_read,
)
from slowwave.changes.mutation import Identified, Mutation
from slowwave.changes.relations import Catalogue, bound_catalogue, row_types
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.text.tokens import counted


@dataclass(frozen=True, slots=True)
class LoweredItems:
    """Items that can be sealed.

    ``off`` maps an operation to the reason why some or all of its items are left out. ``changed`` counts the items left out because of
    rows that changed since the snapshot.
    """

    items: tuple[Item, ...]
    off: Mapping[str, str] = field(default_factory=dict)
    changed: int = 0

    def sentences(self) -> list[str]:
        """Return sentences for readers of the plan on what was left out."""
        lines = [f"{operation}: {why}" for operation, why in sorted(self.off.items())]
        if self.changed:
            lines.append(
                f"{counted(self.changed, 'item')} rested on rows that changed while the night ran; the next one looks at them again."
            )
        return lines


def lower_items(
    store: Store, namespace_id: str, items: Sequence[Item], not_reworded: dict[str, str] | None = None
) -> LoweredItems:
    """Return items of our own memory unchanged, and items of a connected store lowered.

    The rows they name are read at one instant. ``not_reworded`` keeps for each store the reason why its texts are not rewritten, because
    the check reads all rows of the store; several nights in sequence share it. Cost: a few statements for each bound table, and one check
    of the embedder if a text would be rewritten.
    """
    if not items:
        return LoweredItems(())
    with store.connect("reader") as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        found = connected_store(connection, namespace_id)
        if found is None:
            return LoweredItems(tuple(items))
        of, scope = found

        known = {} if not_reworded is None else not_reworded

        def why_not_reworded() -> str:
            if of.name not in known:
                known[of.name] = next((d.finding for d in recipes(store, of)), "")
            return known[of.name]

        native = None if scope.whole else scope.native
        with reading(of):
            catalogue = bound_catalogue(of.binding, native, row_types(connection, of.binding))
            return lowered_items(connection, of.binding, catalogue, namespace_id, items, why_not_reworded)


def lowered_items(
    connection: Connection,
    binding: Binding,
    catalogue: Catalogue,
    namespace_id: str,
    items: Sequence[Item],
    why_not_reworded: Callable[[], str],
) -> LoweredItems:
    """Lower items with a given binding and catalogue.

    ``why_not_reworded`` is called only if a text would change.
    """
    concerned = [i for i in items if concerns(binding, i.mutation)]
    bound = {name: binding.tables[name] for name in {i.mutation.table for i in concerned} & binding.tables.keys()}
    rows = {
        name: native_rows(
            connection,
            binding,
            table,
            catalogue,
            namespace_id,
            {row for i in concerned for row in _named(i.mutation, name)},
            {row for i in concerned for row in rewritten(i.mutation)} if name == "memories" else (),
        )
        for name, table in sorted(bound.items())
    }
    kept: list[Item] = []
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    changed = 0
    for item in items:
        if not concerns(binding, item.mutation):
            kept.append(item)
            continue
        try:
            kept.append(_lowered(binding, item, rows, why_not_reworded))
        except Unlowered as problem:
            if problem.changed:
                changed += 1
            else:
                left_out[item.operation][str(problem)] += 1
    off = {operation: _said(reasons) for operation, reasons in left_out.items()}
    return LoweredItems(tuple(kept), off, changed)


def unexplained_items(store: Store, namespace_id: str, items: Sequence[Identified]) -> dict[str, Unexplained]:
    """Return item id → difference for items whose physical part does not follow from the logical one.

    Items of our own memory have no physical part; one that has it is returned. Removed rows, and child rows whose keys do not name their
    parents, are read from the store with at most two statements per table; everything else is compared without it.
    """
    if not items:
        return {}
    with store.connect("reader") as connection:
        found = connected_store(connection, namespace_id)
        if found is None:
            why = "It would change a store that this namespace is not of."
            return {i.id: Unexplained(why, i.mutation.physical) for i in items if i.mutation.physical}
        of, scope = found
        with reading(of):
            catalogue = bound_catalogue(
                of.binding, None if scope.whole else scope.native, row_types(connection, of.binding)
            )
            return find_unexplained_items(connection, of.binding, of.model, catalogue, items)


def find_unexplained_items(
    connection: Connection, binding: Binding, model: str, catalogue: Catalogue, items: Sequence[Identified]
) -> dict[str, Unexplained]:
    """Find unexplained items with a given binding and catalogue.

    Raises ``Refused`` for native keys that the store's columns cannot hold.
    """
    keys: dict[str, set[str]] = defaultdict(set)
    for item in items:
        for table, of_item in rows_to_read(binding, item.mutation).items():
            keys[table] |= of_item
    try:
        read = {
            table: rows_by_key(connection, binding, binding.tables[table], catalogue, wanted)
            for table, wanted in sorted(keys.items())
        }
    except psycopg.DataError as problem:
        raise Refused(
            f"An item names a row of {binding.title} by a key that no row can have. Reject the plan and run the night again. "
            "Nothing was done."
        ) from problem
    found = ((i.id, find_unexplained(binding, model, i.mutation, read)) for i in items)
    return {item: what for item, what in found if what}


def refuse_unexplained(store: Store, namespace_id: str, items: Sequence[Identified], done: str) -> None:
    """Refuse items if one would write to a connected store what it does not show.

    ``done`` names the action that is refused.
    """
    for item, found in unexplained_items(store, namespace_id, items).items():
        raise Refused(
            f"Item {item} does not do what it shows. {found.reason} Reject the plan and run the night again; if it happens again, "
            f"the plan was not made by Slowwave. Nothing was {done}."
        )


def _lowered(
    binding: Binding, item: Item, rows: Mapping[str, Mapping[str, NativeRow]], why_not_reworded: Callable[[], str]
) -> Item:
    name = item.mutation.table
    if name not in binding.tables:
        raise Unlowered(f"It is about {name}, of which {binding.title} has none.")
    if rewritten(item.mutation) and (why := why_not_reworded()):
        raise Unlowered(why)
    change = lower(binding, binding.tables[name], item.mutation, rows[name])
    return replace(item, mutation=replace(item.mutation, physical=change))


def _named(mutation: Mutation, table: str) -> Iterable[str]:
    """Yield the rows that a mutation names in a table, and those whose texts and vectors it changes."""
    yield from mutation.row_ids()
    yield from (w.cell.row for w in mutation.writes if w.cell.table == table)
    yield from (g.row for g in mutation.guards if g.table == table)
    if table == "memories":
        yield from rewritten(mutation)


def _said(reasons: Counter[str]) -> str:
    """Return a sentence with the most common reason, the number of its items and how many other items are left out."""
    (why, times), *others = reasons.most_common()
    more = f" And {sum(n for _, n in others):,} for other reasons." if others else ""
    return f"{counted(times, 'item is', 'items are')} left out. {why}{more}"
