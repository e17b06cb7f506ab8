"""What each operation may do: the mutations that its items may carry, the lowest risk of each, and the rows that it may retire.

Operations declare it themselves (``slowwave.operations.operation``). Sealing, approval and apply hold every item to it, and a policy
takes the risk from it rather than from the item. So an item that was given another operation's name, or a lower risk than its own, is
refused and never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from slowwave.changes.cells import RELATIONSHIPS, Guard, Write
from slowwave.changes.mutation import erased
from slowwave.changes.rows import as_ids
from slowwave.errors import Refused
from slowwave.plans.items import Item

RISKS: Final = ("low", "medium", "high")
"""From the least to the most."""


@dataclass(frozen=True, slots=True)
class Permit:
    """One kind of mutation of an operation: on these tables, of at least this risk.

    ``beside`` are further tables that it writes; ``only`` the columns of its own table, where they are fewer than the kind's. An item
    retires at most ``retires`` rows of its own table (None: any number), of those that it names, and rows of the tables ``ends``;
    relationships only of entities that it absorbs. With ``waits`` another night can do it as well, and with
    ``tidies`` it is housekeeping: what it retires nobody misses.
    """

    kind: str
    tables: AbstractSet[str]
    risk: str = "low"
    beside: AbstractSet[str] = frozenset()
    only: AbstractSet[str] | None = None
    retires: int | None = 0
    ends: AbstractSet[str] = frozenset()
    deletes: bool = False
    waits: bool = False
    tidies: bool = False


OF_MEMORIES: Final = frozenset(("memory_versions", "memory_vectors"))
"""What belongs to a memory."""

OF_ENTITIES: Final = frozenset(("relationships", "entity_vectors", "entity_aliases"))
"""What belongs to an entity."""

OF_PAGES: Final = frozenset(("corpora", "chunks", "links", "chunk_vectors"))
"""What belongs to a page of a corpus (``write_page``), whose own table is ``documents``."""

PAGE_PARTS: Final = frozenset(("chunks", "links"))
"""What of it ends where a page says something else: for ``ends``."""

OF_CLAIMS: Final = (
    OF_PAGES | OF_MEMORIES | {"documents", "entities", "entity_vectors", "entity_aliases", "claim_events"}
)
"""What belongs to claims (``write_claims``), whose own table is ``memories``. A claim that ends counts as retired: ``retires=None``."""

Table = Mapping[str, tuple[Permit, ...]]
"""Operation → what its items may carry."""

_sources: Final[list[Callable[[], Table]]] = []


def take_from(source: Callable[[], Table]) -> None:
    """Have ``source`` asked for the table from now on. ``slowwave.operations`` gives its own when it is imported."""
    _sources[:] = [source]


def table() -> Table:
    """What the items of each operation may carry. Where a process has listed no operations yet, ours are the source."""
    if not _sources:
        import_module("slowwave.operations")
    return _sources[0]()


def violation(item: Item) -> str:
    """What of an item its operation may not do, as a sentence; empty when it fits. Cost: linear in its writes."""
    mutation, label = item.mutation, item.risk
    permit = _permit(item)
    if permit is None:
        return f"{item.operation[:64]} may not carry {mutation.kind} on {mutation.table[:64]}."
    if label not in RISKS or RISKS.index(label) < RISKS.index(permit.risk):
        return f"{item.operation} with {mutation.kind} is of {permit.risk} risk at least, and the item says {label[:16]!r}."
    touched = {w.cell.table for w in mutation.writes} | {i.table for i in mutation.inserts}
    if foreign := (touched | {d.table for d in mutation.deletes}) - permit.beside - {mutation.table}:
        return f"{item.operation} with {mutation.kind} on {mutation.table} may not touch {min(foreign)}."
    if mutation.deletes and not permit.deletes:
        return f"{item.operation} may not delete."
    if permit.only is not None:
        columns = {w.cell.column for w in mutation.writes if w.cell.table == mutation.table}
        if columns - permit.only:
            return f"{item.operation} may not write {mutation.table}.{min(columns - permit.only)}."
    return _too_many(item, permit)


def risk_of(item: Item) -> str:
    """The risk that counts: by the table, or what its planner says where that is more; ``high`` for what does not fit or deletes."""
    permit = _permit(item)
    if permit is None or item.mutation.deletes or violation(item):
        return RISKS[-1]
    return max(permit.risk, item.risk, key=RISKS.index)


def may_wait(item: Item) -> bool:
    """Whether another night can do an item as well: never a question to a person, nor what brings or deletes rows."""
    permit, mutation = _permit(item), item.mutation
    waits = permit is not None and (permit.waits or permit.tidies)
    return waits and item.decision != "review" and not mutation.inserts and not mutation.deletes


def tidies(item: Item) -> bool:
    """Whether an item is housekeeping, which may wait too."""
    permit = _permit(item)
    return permit is not None and permit.tidies and may_wait(item)


def retired(item: Item) -> frozenset[tuple[str, str]]:
    """(table, row) of the rows that an item takes out of what is recalled or believed."""
    ended = {(w.cell.table, w.cell.row) for w in item.mutation.writes if _retires(w)}
    return frozenset(ended | {(d.table, d.row) for d in item.mutation.deletes} | set(erased(item.mutation)))


def approvable_by_policy(item: Item, operations: Iterable[str]) -> bool:
    """Whether a policy that names ``operations`` may approve an item: never a review, and never what deletes, by whatever name."""
    return item.operation in operations and item.decision != "review" and risk_of(item) == RISKS[0]


def refuse_unpermitted(items: Iterable[Item], done: str) -> None:
    """Refuse items of which one does what its operation may not; ``done`` says what was not done: ``planned`` or ``approved``."""
    for item in items:
        if why := violation(item):
            raise Refused(f"Item {item.id} does what its operation may not: {why} Nothing was {done}.")


def _permit(item: Item) -> Permit | None:
    mutation = item.mutation
    fitting = (p for p in table().get(item.operation, ()) if p.kind == mutation.kind and mutation.table in p.tables)
    return next(fitting, None)


def _too_many(item: Item, permit: Permit) -> str:
    """What it retires beyond what it may."""
    mutation = item.mutation
    retired = {(w.cell.table, w.cell.row) for w in mutation.writes if _retires(w)}
    if not retired and not mutation.deletes:
        return ""
    retired |= {(d.table, d.row) for d in mutation.deletes if d.table == mutation.table}
    named = {row.id for row in (mutation.absorb if mutation.keep else mutation.rows)}
    own = {row for table, row in retired if table == mutation.table and table not in permit.ends}
    if other := {table for table, _ in retired if table != mutation.table} - permit.ends:
        return f"{item.operation} may not retire rows of {min(other)}."
    edges = {row for table, row in retired if table == "relationships" != mutation.table}
    if edges and (loose := edges - {id_ for g in mutation.guards if g.row in named for id_ in _incident(g)}):
        return f"It retires relationship {min(loose)}, which is none of those of the rows that it absorbs."
    if stray := own - named:
        return f"It retires row {min(stray)} of {mutation.table}, which is none of those that it is about."
    if permit.retires is not None and len(own) > permit.retires:
        return f"{item.operation} may retire {permit.retires} rows an item, and it retires {len(own):,}."
    return ""


def _incident(guard: Guard) -> tuple[str, ...]:
    """The relationships of an entity that a guard names, to which apply holds it."""
    of_entity = guard.table == "entities" and RELATIONSHIPS in guard.columns
    return as_ids(guard.seen[guard.columns.index(RELATIONSHIPS)]) if of_entity else ()


def _retires(write: Write) -> bool:
    """Whether a write takes its row out of what is recalled or believed."""
    match write.cell.column:
        case "invalidated_at" | "valid_to":
            return write.action != "set" or write.value is not None
        case "is_active":
            return write.value is not True
        case "state":
            return write.value != "active"
        case _:
            return False
