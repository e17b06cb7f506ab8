"""An item: one decision of a planner, with its mutation, its evidence and an id that is its content.

The id covers operation, decision and mutation, and a mutation holds what the plan saw. So the same proposal about unchanged
rows has the same id every night, and a proposal whose rows changed is another one.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Final

from slowwave.config.decides_alone import decides_alone, why_asked
from slowwave.mutations.cells import (
    TOLD,
    VERSION,
    Cell,
    canonical_json,
    delete_json,
    guarded,
    quoted,
    rows_of,
    seen_json,
    value_json,
    write_json,
    written,
)
from slowwave.mutations.mutation import Mutation
from slowwave.store.tables import VECTORS

_ITEMS: Final = uuid.UUID("6d0e8a3c-2c53-5a5e-9a51-0c6f4f3c9b11")

_SAYS: Final = frozenset(
    ("name", "entity_type", "attributes", "subject", "predicate", "object", VERSION)
)  # of a merged entity, fact or memory
_VERSION: Final = frozenset((VERSION,))


FOLLOWS: Final = "follow"
"""The decision of an item that tells what other items did."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An item as its plan holds it: mutation, evidence and sources are canonical JSON, which a plan's hash covers and which is stored.

    ``id`` is ``content_id`` of the others.
    """

    id: str
    operation: str
    decision: str
    risk: str
    tokens: int
    probability: float
    mutation: str
    evidence: str
    sources: str

    def line(self) -> str:
        """The canonical JSON of the whole item (``Item.to_json``)."""
        return (
            f'{{"decision":{quoted(self.decision)},"evidence":{self.evidence},"id":"{self.id}",'
            f'"mutation":{self.mutation},"operation":{quoted(self.operation)},'
            f'"probability":{value_json(self.probability)},"risk":{quoted(self.risk)},'
            f'"sources":{self.sources},"tokens":{self.tokens}}}'
        )

    @property
    def item(self) -> Item:
        """The item itself, made anew each time. Raises ``Refused`` for a mutation that its kind does not allow."""
        return Item(
            operation=self.operation,
            decision=self.decision,
            mutation=Mutation.from_json(json.loads(self.mutation)),
            evidence=json.loads(self.evidence),
            risk=self.risk,
            sources=tuple(map(str, json.loads(self.sources))),
            tokens=self.tokens,
            probability=self.probability,
            sealed_id=self.id,
        )


def content_id(operation: str, decision: str, mutation: str) -> str:
    """The id of an item by its content; ``mutation`` is its canonical JSON."""
    return str(uuid.uuid5(_ITEMS, f"[{quoted(operation)},{quoted(decision)},{mutation}]"))


@dataclass(frozen=True, slots=True)
class Item:
    """One proposal. ``decision`` is what would be done (merge, clean, review, …); ``sources`` are rows it quotes.

    ``sealed_id`` is its id where that was made from this very content before, see ``Sealed``.
    """

    operation: str
    decision: str
    mutation: Mutation
    evidence: Mapping[str, object] = field(default_factory=dict)
    risk: str = "low"  # low, medium, high
    sources: tuple[str, ...] = ()
    tokens: int = 0
    probability: float = 1.0
    sealed_id: InitVar[str] = ""
    id: str = field(init=False, default="")
    _subject: str = field(init=False, default="", repr=False, compare=False)
    _canonical: str = field(init=False, default="", repr=False, compare=False)
    """Its mutation's JSON, which the id was made of: kept because sealing and writing take the same text."""

    _evidence: str = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self, sealed_id: str) -> None:
        if not sealed_id:
            object.__setattr__(self, "_canonical", self.mutation.canonical())
        id_ = sealed_id or content_id(self.operation, self.decision, self._canonical)
        object.__setattr__(self, "id", id_)

    def writes(self) -> frozenset[Cell]:
        """Cells that no other item may write or guard."""
        m, there = self.mutation, self.mutation.physical
        own = written(m.writes, m.inserts, m.deletes, m.guards)
        return own | written(there.writes, (), there.deletes) if there else own

    def guards(self) -> frozenset[Cell]:
        """Cells that no other item may write."""
        m = self.mutation
        own = guarded(m.guards, m.writes, m.inserts, m.deletes)
        return own | guarded(m.physical.guards) | m.physical.stand_on() if m.physical else own

    def rows(self) -> set[tuple[str, str]]:
        """(table, row) of all those cells."""
        m = self.mutation
        return rows_of(m.writes, m.guards, m.inserts, m.deletes)

    def subject(self) -> str:
        """What a rejection remembers: the operation's rows and what was seen of them.

        A merge is remembered by what its members are called or say, not by provenance that grows every day; a summary by whom it
        is about, not by its words, which a model may choose anew; a page by its path and what it was made from; claims by their subject and
        what they say. What is done with
        a memory because of what it says is remembered with its version, and a new version without its vector, which an embedder
        gives a little differently from night to night. Made when it is first asked for, and kept.
        """
        if not self._subject:
            object.__setattr__(self, "_subject", self._remembered_as())
        return self._subject

    def _remembered_as(self) -> str:
        if self.mutation.kind == "merge_rows":
            seen = self._named(_SAYS)
        elif self.mutation.kind == "insert_summary":
            seen = [value_json(members) for members in self.mutation.members()]
            if self.mutation.table == "memories":
                seen = self._named(_VERSION)
        elif self.mutation.kind == "render_page":
            seen = [f"[{value_json(w.value)}]" for w in self.mutation.writes if w.cell.column == "input_hash"]
            seen = seen or [
                f"[{value_json(i.values.get('path'))},{value_json(i.values.get('input_hash'))}]"
                for i in self.mutation.inserts
            ]
        elif self.mutation.kind in ("write_page", "forget_rows"):
            seen = [value_json(made) for made in self.mutation.made_from()]
        elif self.mutation.kind == "write_claims":
            seen = [value_json(said) for said in (*self.mutation.made_from(), *self.mutation.said())]
            seen += [write_json(w) for w in self.mutation.writes if w.cell.table == "memories"]
        else:
            reworded = self.mutation.kind == "new_version"
            writes = [w for w in self.mutation.writes if not (reworded and w.cell.table in VECTORS)]
            seen = [*map(write_json, writes), *map(delete_json, self.mutation.deletes)]
            if self.mutation.table == "memories":
                seen += self._named(_VERSION)
        about = value_json(self.mutation.row_ids()), value_json(tuple(sorted(seen)))
        said = f"[{quoted(self.operation)},{quoted(self.mutation.kind)},{','.join(about)}]"
        return hashlib.sha256(said.encode()).hexdigest()

    def _named(self, columns: frozenset[str]) -> list[str]:
        """The canonical JSON of the cells of some columns that guards name; what another memory tells is named as its version."""
        found: list[str] = []
        own = set(self.mutation.row_ids())
        for guard in self.mutation.guards:
            if columns.isdisjoint(guard.columns) and TOLD not in guard.columns:
                continue
            for column, seen in zip(guard.columns, guard.seen, strict=True):
                name = VERSION if column == TOLD else column
                if name in columns and (name == column or guard.row not in own):
                    found.append(seen_json(Cell(guard.table, guard.row, name, guard.key), seen))
        return found

    def to_json(self) -> dict[str, object]:
        """The form that is sealed, stored and shown (status and reason are the store's)."""
        return {
            "id": self.id,
            "operation": self.operation,
            "decision": self.decision,
            "risk": self.risk,
            "mutation": self.mutation.to_json(),
            "evidence": dict(self.evidence),
            "sources": list(self.sources),
            "probability": self.probability,
            "tokens": self.tokens,
        }

    def evidence_json(self) -> str:
        """The canonical JSON of its evidence. Made when it is first asked for, and kept."""
        if not self._evidence:
            object.__setattr__(self, "_evidence", canonical_json(dict(self.evidence)))
        return self._evidence

    def sealed(self) -> Sealed:
        """As its plan holds it, made anew each time."""
        return Sealed(
            id=self.id,
            operation=self.operation,
            decision=self.decision,
            risk=self.risk,
            tokens=self.tokens,
            probability=self.probability,
            mutation=self._canonical or self.mutation.canonical(),
            evidence=self.evidence_json(),
            sources=value_json(self.sources),
        )

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Item:
        """The inverse of ``to_json``; the id is computed again from the content."""
        mutation, evidence, sources = value["mutation"], value["evidence"], value["sources"]
        if not isinstance(mutation, Mapping) or not isinstance(evidence, Mapping) or not isinstance(sources, list):
            raise TypeError("A plan item is not in the form that Item.to_json writes.")
        return cls(
            operation=str(value["operation"]),
            decision=str(value["decision"]),
            mutation=Mutation.from_json(mutation),
            evidence=dict(evidence),
            risk=str(value["risk"]),
            sources=tuple(str(s) for s in sources),
            tokens=int(str(value.get("tokens", 0))),
            probability=float(str(value.get("probability", 1.0))),
        )


def ask_unless_measured(item: Item, pattern: str) -> Item:
    """Return the item as a question, with the reason, unless its pattern may decide alone (``slowwave.config.decides_alone``)."""
    if item.decision == "review" or decides_alone(item.operation, pattern):
        return item
    evidence = {**item.evidence, "reason": why_asked(item.operation, pattern)}
    return replace(item, decision="review", risk="high", evidence=evidence)
