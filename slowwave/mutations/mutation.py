"""A mutation: one of a small closed set of changes, spelled out cell by cell.

Every mutation is a value: its kind, the rows it is about, and the writes, inserts, deletes and guards that the builder of its
kind made from a snapshot. ``slowwave.mutations.kinds`` says which cells each kind may touch, and ``check`` holds every mutation to
it, at sealing and again before it is applied: a forged plan item cannot reach another table, column or namespace. Because the change is
data, simulation (``simulate``), application and undo (``statements``) are written once for all kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Protocol

from slowwave.errors import Refused
from slowwave.mutations.cells import (
    POINTERS,
    VIRTUAL,
    Cell,
    Delete,
    Guard,
    Insert,
    Value,
    Write,
    column_of,
    delete_json,
    deletes_from_json,
    guard_json,
    guards_from_json,
    insert_json,
    inserts_from_json,
    is_counter,
    quoted,
    row_columns,
    sql_type,
    value_json,
    write_json,
    writes_from_json,
)
from slowwave.mutations.change import Change
from slowwave.mutations.claim_limits import claim_fault
from slowwave.mutations.forget_limits import forget_fault
from slowwave.mutations.kinds import KINDS
from slowwave.mutations.page_limits import page_fault
from slowwave.mutations.pointers import names_of
from slowwave.store.tables import VECTORS


class Row(NamedTuple):
    """A row named for people (``external_id``) and for the database (``id``)."""

    id: str
    external_id: str | None = None

    def canonical(self) -> str:
        """Its canonical JSON."""
        return f'{{"external_id":{value_json(self.external_id)},"id":{quoted(self.id)}}}'


MADE_FROM: Final = "made_from"
"""In the metadata of a page: what its planner made it from, so that it is not proposed again while that stands."""

_SHOWN: Final = ("kind", "table", "keep", "absorb", "rows", "writes", "inserts", "guards", "deletes", "physical")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change. ``keep`` and ``absorb`` name a merge's rows; ``rows`` those of every other kind.

    In a namespace of a store that is not ours, ``physical`` is what its cells come to there; they themselves are read and shown.
    """

    kind: str
    table: str
    writes: tuple[Write, ...] = ()
    guards: tuple[Guard, ...] = ()
    inserts: tuple[Insert, ...] = ()
    rows: tuple[Row, ...] = ()
    keep: Row | None = None
    absorb: tuple[Row, ...] = ()
    deletes: tuple[Delete, ...] = ()
    physical: Change | None = None

    @property
    def change(self) -> Mutation | Change:
        """What is done to the database: its own cells, or those of a store that is not ours to which they were lowered."""
        return self.physical or self

    def row_ids(self) -> tuple[str, ...]:
        """The rows it is about, sorted."""
        rows = (*self.rows, *((self.keep,) if self.keep else ()), *self.absorb)
        return tuple(sorted(r.id for r in rows))

    def seen(self) -> Iterator[tuple[Cell, Value]]:
        """The cells that it rests on, and what was seen in them."""
        for guard in self.guards:
            yield from guard.cells()

    def members(self) -> list[tuple[str, ...]]:
        """The ids that each of its new rows names as its members: a new community is about them, and has no id of its own yet."""
        named = (insert.values.get("member_ids") for insert in self.inserts)
        return [ids for ids in named if isinstance(ids, tuple)]

    def made_from(self) -> list[tuple[str, ...]]:
        """Of each document that it writes: corpus and path where it is new, and what it was made from, or else says."""
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            if insert.table == "documents" and not insert.stamped:
                place = str(insert.values.get("corpus_id")), str(insert.values.get("path"))
                found.append((*place, _source(insert.values.get("metadata"), insert.values.get("content_hash"))))
        told: dict[str, dict[str, Value]] = {}
        for write in self.writes:
            if write.cell.table == "documents":
                told.setdefault(write.cell.row, {})[write.cell.column] = write.value
        return found + [(row, _source(v.get("metadata"), v.get("content_hash"))) for row, v in sorted(told.items())]

    def said(self) -> list[tuple[str, ...]]:
        """Of each claim that it makes: its subject, kind and statement."""
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            n = insert.refs.get("memory_id", -1)
            if insert.table == "memory_versions" and 0 <= n < len(self.inserts):
                told = json.loads(str(self.inserts[n].values.get("attributes") or "{}"))
                found.append(
                    (*(str(told.get(c)) for c in ("entity_id", "claim_kind")), str(insert.values.get("content")))
                )
        return found

    def canonical(self) -> str:
        """Its canonical JSON, which is sealed and stored, and of which an item's id is made."""
        absorb = keep = rows = ""
        if self.keep:
            absorb, keep = f'"absorb":{_all(self.absorb)},', f'"keep":{self.keep.canonical()},'
        else:
            rows = f'"rows":{_all(self.rows)},'
        physical = f'"physical":{self.physical.canonical()},' if self.physical else ""
        deletes = f'"deletes":[{",".join(map(delete_json, self.deletes))}],' if self.deletes else ""
        return (
            f'{{{absorb}{deletes}"guards":[{",".join(map(guard_json, self.guards))}],'
            f'"inserts":[{",".join(map(insert_json, self.inserts))}],{keep}"kind":{quoted(self.kind)},'
            f'{physical}{rows}"table":{quoted(self.table)},"writes":[{",".join(map(write_json, self.writes))}]}}'
        )

    def to_json(self) -> dict[str, object]:
        """The form that is shown: ``canonical``, the kind first."""
        stored = json.loads(self.canonical())
        return {name: stored[name] for name in _SHOWN if name in stored}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Mutation:
        """The inverse of ``to_json``, checked."""
        mutation = cls.as_stored(value)
        check(mutation)
        return mutation

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Mutation:
        """The inverse of ``to_json``, unchecked: what was applied can be undone, whatever is thought of it today."""

        def rows(name: str) -> tuple[Row, ...]:
            return tuple(_row(r) for r in _list(value.get(name)))

        keep, physical = value.get("keep"), value.get("physical")
        return cls(
            kind=str(value["kind"]),
            table=str(value["table"]),
            writes=writes_from_json(_list(value.get("writes"))),
            guards=guards_from_json(_list(value.get("guards"))),
            inserts=inserts_from_json(_list(value.get("inserts"))),
            rows=rows("rows"),
            keep=_row(keep) if keep else None,
            absorb=rows("absorb"),
            deletes=deletes_from_json(_list(value.get("deletes"))),
            physical=Change.as_stored(physical) if isinstance(physical, Mapping) else None,
        )


class Identified(Protocol):
    """A mutation with the id of the item that carries it: what is simulated, applied and undone."""

    @property
    def id(self) -> str:
        """The item's id."""
        ...

    @property
    def mutation(self) -> Mutation:
        """Its mutation."""
        ...


def check(mutation: Mutation) -> None:
    """Refuse a mutation that writes what its kind may not, writes a counter other than by a delta, or deletes what still lives."""
    kind = KINDS.get(mutation.kind)
    if kind is None:
        raise Refused(f"There is no mutation {mutation.kind!r}. Known: {', '.join(sorted(KINDS))}.")
    for write in mutation.writes:
        cell = write.cell
        if cell.column not in kind.writes.get(cell.table, frozenset()):
            raise Refused(f"{mutation.kind} may not write {cell.table}.{cell.column} (row {cell.row}).")
        if (write.action == "add") != is_counter(cell.table, cell.column):
            raise Refused(
                f"{cell.table}.{cell.column} (row {cell.row}): counters change by deltas, and only counters do."
            )
        if write.action == "row":
            _check_own(mutation, cell.table, cell.column, write.value)
    for insert in mutation.inserts:
        if insert.table not in kind.inserts:
            raise Refused(f"{mutation.kind} may not insert into {insert.table}.")
        for column in insert.values:
            column_of(insert.table, column)
        for column, n in insert.refs.items():
            _check_own(mutation, insert.table, column, n)
        for column in insert.stamped:
            if column in insert.values or sql_type(insert.table, column) != "timestamptz":
                raise Refused(f"{mutation.kind} may not stamp {insert.table}.{column}.")
    for table, columns in {(g.table, g.columns) for g in mutation.guards}:
        _check_columns(table, columns)
    gone = {(d.table, d.row) for d in mutation.deletes}
    for delete in mutation.deletes:
        if delete.table not in kind.deletes:
            raise Refused(f"{mutation.kind} may not delete from {delete.table} (row {delete.row}).")
        if set(delete.seen) != set(row_columns(delete.table)):
            raise Refused(
                f"{mutation.kind} would delete row {delete.row} of {delete.table} without holding all of it, so it could not be put back."
            )
        whole = _belongs_to(delete)
        if not (is_retired(delete.table, delete.seen) if whole is None else whole in gone):
            raise Refused(f"{mutation.kind} may not delete row {delete.row} of {delete.table}: it is not retired.")
    if "documents" in kind.inserts and (fault := page_fault(mutation)):
        raise Refused(f"{mutation.kind} {fault}.")
    if mutation.kind == "write_claims" and (fault := claim_fault(mutation)):
        raise Refused(f"{mutation.kind} {fault}.")
    if fault := forget_fault(mutation):
        raise Refused(f"{mutation.kind} {fault}.")


@cache
def _check_columns(table: str, columns: tuple[str, ...]) -> None:
    for column in columns:
        if column not in VIRTUAL:
            column_of(table, column)


def _check_own(mutation: Mutation, table: str, column: str, n: object) -> None:
    """A pointer to a row of the item's own has to name one that it inserts, and of the table to which the column points."""
    target = VECTORS.get(table) if column == "id" else POINTERS.get(column, dict(names_of(table)).get(column))
    inserts = mutation.inserts
    if target is None or not isinstance(n, int) or not 0 <= n < len(inserts) or inserts[n].table != (target or table):
        raise Refused(f"{mutation.kind} points {table}.{column} at a row that it does not insert.")


def is_retired(table: str, seen: Mapping[str, object]) -> bool:
    """Whether a row has left the memory for good: invalidated, or an inactive fact, or a community that another one replaced."""
    return (
        seen.get("invalidated_at") is not None
        or (table == "memory_facts" and seen.get("is_active") is False)
        or (table == "communities" and seen.get("valid_to") is not None)
    )


def _belongs_to(delete: Delete) -> tuple[str, str] | None:
    """The row that a version, a promotion or a vector is a part of, with which alone it may go."""
    if delete.table in VECTORS:
        return VECTORS[delete.table], delete.row
    return ("memories", str(delete.seen["memory_id"])) if "memory_id" in delete.seen else None


def _source(metadata: Value, content_hash: Value) -> str:
    """What a page was made from, as its metadata say it, or the hash of what it says."""
    fields = json.loads(metadata) if isinstance(metadata, str) else {}
    return str(fields.get(MADE_FROM) or content_hash)


def _all(rows: Iterable[Row]) -> str:
    return f"[{','.join(row.canonical() for row in rows)}]"


def _list(value: object) -> Sequence[Sequence[object]]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportReturnType]


def _row(value: object) -> Row:
    if not isinstance(value, Mapping):
        raise Refused("A plan item names a row in a form that no version of Slowwave wrote.")
    external = value.get("external_id")
    return Row(str(value["id"]), None if external is None else str(external))
