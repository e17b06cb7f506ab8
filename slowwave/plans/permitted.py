"""The permits of operations: the mutations of their items, the lowest risk of each, and the rows that they may retire.

Operations declare their permits (``slowwave.operations.operation``). Sealing, approval and apply take the table of all permits as an
argument and check every item against it. A policy takes the risk from the permit rather than from the item. An item with another
operation's name, or with a lower risk than its permit, is refused and never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from slowwave.changes.cells import RELATIONSHIPS, Guard, Write
from slowwave.changes.mutation import erased
from slowwave.changes.rows import as_ids
from slowwave.errors import Refused
from slowwave.plans.items import Item

RISKS: Final = ("low", "medium", "high")
"""Risks, from the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class Permit:
    """One kind of mutation that an operation may make: on these tables, with at least this risk.

    ``beside`` are further tables that it writes. ``only`` are the columns of its own table, if they are fewer than those of the kind. An
    item retires at most ``retires`` of the rows it names in its own table (None: any number), and rows of the tables ``ends``; it retires
    relationships only of entities that it absorbs. With ``waits`` a plan that would exceed the caps of what it may retire postpones items
    to another night. With ``tidies`` the items are housekeeping, such as duplicates and small talk: they may also be postponed, and their
    retired rows count against the cap of ``blast_radius_housekeeping_share``.
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
"""Tables whose rows belong to a memory."""

OF_ENTITIES: Final = frozenset(("relationships", "entity_vectors", "entity_aliases"))
"""Tables whose rows belong to an entity."""

OF_PAGES: Final = frozenset(("corpora", "chunks", "links", "chunk_vectors"))
"""Tables whose rows belong to a page of a corpus (``write_page``), whose own table is ``documents``."""

PAGE_PARTS: Final = frozenset(("chunks", "links"))
"""Tables whose rows end if the text of a page changes, for ``ends``."""

OF_CLAIMS: Final = (
    OF_PAGES | OF_MEMORIES | {"documents", "entities", "entity_vectors", "entity_aliases", "claim_events"}
)
"""Tables whose rows belong to claims (``write_claims``), whose own table is ``memories``. A claim that ends counts as retired:
``retires=None``.
"""


@dataclass(frozen=True, slots=True)
class Permits:
    """The permits of the items of each operation, in the order in which sealing prefers the operations.

    ``slowwave.operations.registry.permits`` returns those of all planners. An item of an operation that is not listed is refused, so an
    empty table permits nothing.
    """

    by_operation: Mapping[str, tuple[Permit, ...]]

    def violation(self, item: Item) -> str:
        """Return a sentence that states how an item violates its operation's permit; empty if it fits. Cost: linear in its writes."""
        mutation, label = item.mutation, item.risk
        permit = self._find(item)
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

    def risk_of(self, item: Item) -> str:
        """Return the risk that counts: the higher of the permit's and the item's.

        It is ``high`` for an item that violates its permit or deletes rows.
        """
        permit = self._find(item)
        if permit is None or item.mutation.deletes or self.violation(item):
            return RISKS[-1]
        return max(permit.risk, item.risk, key=RISKS.index)

    def may_wait(self, item: Item) -> bool:
        """Return whether another night can do an item as well: no question to a person, and no inserts or deletes."""
        permit, mutation = self._find(item), item.mutation
        waits = permit is not None and (permit.waits or permit.tidies)
        return waits and not item.is_question and not mutation.inserts and not mutation.deletes

    def tidies(self, item: Item) -> bool:
        """Return whether an item is housekeeping that may be postponed."""
        permit = self._find(item)
        return permit is not None and permit.tidies and self.may_wait(item)

    def approvable_by_policy(self, item: Item, operations: Iterable[str]) -> bool:
        """Return whether a policy that names ``operations`` may approve an item; never a review and never a deletion."""
        return item.operation in operations and not item.is_question and self.risk_of(item) == RISKS[0]

    def refuse_unpermitted(self, items: Iterable[Item], done: str) -> None:
        """Refuse items if one does something its operation may not do.

        ``done`` names the action that is refused: ``planned`` or ``approved``.
        """
        for item in items:
            if why := self.violation(item):
                raise Refused(f"Item {item.id} does what its operation may not: {why} Nothing was {done}.")

    def _find(self, item: Item) -> Permit | None:
        mutation = item.mutation
        permits = self.by_operation.get(item.operation, ())
        return next((p for p in permits if p.kind == mutation.kind and mutation.table in p.tables), None)


def retired(item: Item) -> frozenset[tuple[str, str]]:
    """Return (table, row) of the rows that an item removes from recall or belief."""
    ended = {(w.cell.table, w.cell.row) for w in item.mutation.writes if _retires(w)}
    return frozenset(ended | {(d.table, d.row) for d in item.mutation.deletes} | set(erased(item.mutation)))


def _too_many(item: Item, permit: Permit) -> str:
    """Return a sentence that states which rows an item retires beyond its permit; empty if there are none."""
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
    """Return the relationships of an entity that a guard names and that apply checks."""
    of_entity = guard.table == "entities" and RELATIONSHIPS in guard.columns
    return as_ids(guard.seen[guard.columns.index(RELATIONSHIPS)]) if of_entity else ()


def _retires(write: Write) -> bool:
    """Return whether a write removes its row from recall or belief."""
    match write.cell.column:
        case "invalidated_at" | "valid_to":
            return write.action != "set" or write.value is not None
        case "is_active":
            return write.value is not True
        case "state":
            return write.value != "active"
        case _:
            return False
