"""Mutations of single rows: new version, state, vector, type, retirement, supersession, promotion, summary and purge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import (
    TOLD,
    VERSION,
    Cell,
    Delete,
    Guard,
    Insert,
    Value,
    Write,
    canonical,
    canonical_json,
    encode,
    row_columns,
)
from slowwave.changes.mutation import KINDS, Mutation, Row, check
from slowwave.errors import DreamForbiddenOpError, Refused, SnapshotError
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import VECTORS

# Rows of a snapshot by id: the lookups of mutation builders, collected in one pass over each table.

Fields = dict[str, Value]


def rows_by_id(snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]) -> dict[str, Fields]:
    """Return id → columns in canonical form for the given ids.

    Raises ``SnapshotError`` for an id that the snapshot lacks.
    """
    return {str(row["id"]): row for row in _rows(_picked(snapshot, table, ids, columns))}


def columns_by_id(
    snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]
) -> tuple[list[str], dict[str, list[Value]]]:
    """Return the given ids, sorted, and column → cells (n,) in canonical form in that order.

    Raises ``SnapshotError`` for an id that the snapshot lacks.
    """
    picked = _picked(snapshot, table, ids, columns).sort_by("id")
    return picked["id"].to_pylist(), {name: _cells(picked[name]) for name in picked.column_names}


def _picked(snapshot: Snapshot, table: str, ids: Collection[str], columns: Iterable[str]) -> pa.Table:
    whole = snapshot.table(table)
    picked = whole.select(["id", *columns]).filter(pc.is_in(whole["id"], value_set=_strings(ids)))
    if len(picked) < len(ids) and (missing := set(ids) - set(picked["id"].to_pylist())):
        raise SnapshotError(
            f"Row {min(missing)} of {table} is not in snapshot {snapshot.snapshot_id}: plan on the snapshot's own rows."
        )
    return picked


def rows_where(
    snapshot: Snapshot, table: str, column: str, ids: Collection[str], columns: Iterable[str]
) -> list[Fields]:
    """Return the rows whose ``column`` is one of ``ids``, in id order."""
    whole = snapshot.table(table)
    picked = whole.select(list(dict.fromkeys(["id", column, *columns]))).filter(
        pc.is_in(whole[column], value_set=_strings(ids))
    )
    return _rows(picked)


def live_ids(snapshot: Snapshot, table: str) -> frozenset[str]:
    """Return the ids that provenance may name: rows that exist and are not invalidated.

    A source that ended in world time is still a source.
    """
    whole = snapshot.table(table)
    return frozenset(whole["id"].filter(pc.is_null(whole["invalidated_at"])).to_pylist())


def as_ids(value: Value) -> tuple[str, ...]:
    """Return the value of a ``uuid[]`` cell as a tuple."""
    return value if isinstance(value, tuple) else ()


def _rows(table: pa.Table) -> list[Fields]:
    """Convert a table to rows with their cells in canonical form, column by column."""
    names = table.column_names  # the property builds a new list each time
    columns = [_cells(column) for column in table.columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _cells(column: pa.ChunkedArray) -> list[Value]:
    kind = column.type
    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_timestamp(kind) and (kind.unit, kind.tz) == ("us", "UTC"):
        instants = pc.fill_null(column.cast(pa.int64()), 0).to_numpy().view("datetime64[us]")
        texts = np.datetime_as_string(instants).tolist()
        return [
            f"{text}+00:00" if known else None for text, known in zip(texts, column.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_string(kind):
        return _texts(column)
    values = column.to_pylist()
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return [value if value is None else tuple(value) for value in values]
    return values if any(is_(kind) for is_ in _AS_THEY_ARE) else [canonical(value) for value in values]


def _texts(column: pa.ChunkedArray) -> list[Value]:
    """Return the texts of a column; equal texts share one object if the column has few distinct ones.

    Items hold the states, kinds and types of many thousand rows, so sharing saves memory.
    """
    if len(column) >= _MANY and len(known := pc.unique(column)) <= len(column) // _MANY:
        texts = known.to_pylist()
        return [texts[n] for n in pc.index_in(column, value_set=known).to_pylist()]
    return column.to_pylist()


_AS_THEY_ARE: Final = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
_MANY: Final = 8


def _strings(ids: Collection[str]) -> pa.Array:
    return pa.array(sorted(ids), pa.string())


# ``set_state`` and ``set_attributes``: set plain columns of one row.


def set_columns(
    snapshot: Snapshot,
    kind: Literal["set_state", "set_attributes"],
    table: str,
    values: Mapping[str, Mapping[str, Value]],
    rests_on: Collection[str] = (),
) -> list[Mutation]:
    """Return one mutation per row, in id order; ``values`` maps row id → column → value.

    Columns that already hold the value are only guarded, as are those in ``rests_on``.
    """
    wanted = {c for row in values.values() for c in row}
    columns = sorted(wanted | set(rests_on))
    ids, seen = columns_by_id(snapshot, table, values.keys(), ("external_id", "invalidated_at", *columns))
    stay = [{"invalidated_at": at} for at in seen["invalidated_at"]]
    writes: list[list[Write]] = [[] for _ in ids]
    for column in columns:
        for id_, before, write, stays in zip(ids, seen[column], writes, stay, strict=True):
            if column in wanted and before != (after := values[id_].get(column, before)):
                write.append(Write(Cell(table, id_, column), "set", before, after))
            elif column in rests_on or column in values[id_]:
                stays[column] = before
    mutations: list[Mutation] = []
    for id_, external, written, stays in zip(ids, seen["external_id"], writes, stay, strict=True):
        row = Row(id_, None if external is None else str(external))
        guard = Guard.on(table, id_, stays, stays)
        mutation = Mutation(kind, table, writes=tuple(written), guards=(guard,), rows=(row,))
        check(mutation)
        mutations.append(mutation)
    return mutations


# ``set_vector``: set the vectors of rows for the namespace's current model, with or without an existing vector.


def set_vector(snapshot: Snapshot, table: str, vectors: Mapping[str, np.ndarray]) -> list[Mutation]:
    """Return one mutation per row whose vector changes, in id order.

    ``table`` is a vectors table and ``vectors`` maps ids to (d,) float32. Raises ``Refused`` if the namespace has no vector model.
    """
    current = snapshot.vectors[table]
    if not current.model:
        raise Refused(
            f"No vector model is named for {snapshot.namespace}, so no vector can be set. Set SLOWWAVE_EMBEDDING_MODEL."
        )
    ids = sorted(vectors)
    positions = current.rows_of(pa.array(ids, pa.string()))
    described = VECTORS[table]
    spoken = ("speaker",) if table == "chunk_vectors" else ()
    seen = rows_by_id(snapshot, described, ids, ("external_id", "invalidated_at", *spoken))
    mutations: list[Mutation] = []
    for id_, position in zip(ids, positions, strict=True):
        after = encode(vectors[id_])
        external = seen[id_]["external_id"]
        writes: tuple[Write, ...] = ()
        inserts: tuple[Insert, ...] = ()
        if position < 0:
            speaker = {"speaker": seen[id_]["speaker"]} if seen[id_].get("speaker") else {}
            inserts = (Insert(table, {"vector": after, **speaker}, id_, current.model),)
        else:
            if (before := encode(current.matrix[position])) == after:
                continue
            writes = (Write(Cell(table, id_, "vector", current.model), "set", before, after),)
        mutations.append(
            Mutation(
                "set_vector",
                table,
                writes=writes,
                inserts=inserts,
                guards=(Guard.on(described, id_, seen[id_], ("invalidated_at",)),),
                rows=(Row(id_, None if external is None else str(external)),),
            )
        )
    return mutations


# ``filter_references``: remove ids of rows that are no longer live from provenance arrays; order and repeats of the rest are kept.
#
# A reference that is dead in the snapshot stays dead for the plan. An id that was added since changes the array, so the item is stale.

_NAMES: Final = {"source_chunk_ids": "chunks", "source_document_ids": "documents"}


def filter_references(snapshot: Snapshot, table: str, ids: Collection[str]) -> list[Mutation]:
    """Return one mutation for each row of ``ids`` that holds a dead reference, in id order."""
    columns = sorted(KINDS["filter_references"].writes[table])
    live = {c: live_ids(snapshot, _NAMES[c]) for c in columns}
    mutations: list[Mutation] = []
    for id_, seen in sorted(rows_by_id(snapshot, table, ids, ("external_id", "invalidated_at", *columns)).items()):
        writes = [
            Write(Cell(table, id_, c), "set", seen[c], after)
            for c in columns
            if (after := tuple(i for i in as_ids(seen[c]) if i in live[c])) != as_ids(seen[c])
        ]
        if writes:
            external = seen["external_id"]
            mutations.append(
                Mutation(
                    "filter_references",
                    table,
                    writes=tuple(writes),
                    guards=(Guard.on(table, id_, seen, ("invalidated_at",)),),
                    rows=(Row(id_, None if external is None else str(external)),),
                )
            )
    return mutations


# ``invalidate_rows``: retire rows in system time, and also in world time if the world has changed.

NOW: Final = "now"
"""The row ends in the world when it is applied. An instant of the snapshot would give the item a new id every night."""


def invalidate_rows(snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None]) -> Mutation:
    """Invalidate the rows whose ids are the keys of ``valid_to``.

    Its values end the rows in world time (ISO 8601 in UTC, or ``NOW``); None leaves that open.
    """
    writes: list[Write] = []
    guards: list[Guard] = []
    rows: list[Row] = []
    for id_, seen in sorted(_seen(snapshot, table, valid_to, ()).items()):
        ends, stay = _invalidated_cells(table, id_, seen, valid_to[id_])
        writes += ends
        guards += [Guard.on(table, id_, seen, stay)] if stay else []
        rows.append(_row(id_, seen))
    return Mutation("invalidate_rows", table, writes=tuple(writes), guards=tuple(guards), rows=tuple(rows))


def invalidate_each(
    snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None], guarded: Sequence[str] = ()
) -> dict[str, Mutation]:
    """Return row → a mutation that invalidates only this row and also guards the columns ``guarded``; one pass over the table."""
    mutations: dict[str, Mutation] = {}
    for id_, seen in sorted(_seen(snapshot, table, valid_to, guarded).items()):
        writes, stay = _invalidated_cells(table, id_, seen, valid_to[id_])
        guards = (Guard.on(table, id_, seen, on),) if (on := (*stay, *guarded)) else ()
        mutations[id_] = Mutation(
            "invalidate_rows", table, writes=tuple(writes), guards=guards, rows=(_row(id_, seen),)
        )
    return mutations


def _seen(snapshot: Snapshot, table: str, valid_to: Mapping[str, str | None], more: Sequence[str]) -> dict[str, Fields]:
    columns = ["invalidated_at", "invalidated_by", *more]
    columns += [c for c, there in (("valid_to", _worldly(table)), ("external_id", _named(snapshot, table))) if there]
    return rows_by_id(snapshot, table, valid_to.keys(), columns)


def _invalidated_cells(table: str, id_: str, seen: Fields, end: str | None) -> tuple[list[Write], tuple[str, ...]]:
    """Return the writes that invalidate a row, and the columns that must not have changed."""
    writes = [
        Write(Cell(table, id_, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, id_, "invalidated_by"), "item", seen["invalidated_by"]),
    ]
    if not _worldly(table):
        return writes, ()
    cell = Cell(table, id_, "valid_to")
    if end is None:
        return writes, ("valid_to",)
    now = Write(cell, "now", seen["valid_to"])
    return [*writes, now if end == NOW else Write(cell, "set", seen["valid_to"], end)], ()


def _worldly(table: str) -> bool:
    return "valid_to" in KINDS["invalidate_rows"].writes[table]


def _named(snapshot: Snapshot, table: str) -> bool:
    return "external_id" in snapshot.table(table).column_names


def _row(id_: str, seen: Fields) -> Row:
    external = seen.get("external_id")
    return Row(id_, None if external is None else str(external))


# ``rename_type``: change the type of all rows of one type, and nothing else.

TYPES: Final[Mapping[str, str]] = {"entities": "entity_type", "relationships": "relationship_type"}
"""Table → the column with the type of its rows."""

_GUARDS: Final = {"entities": ("name", "invalidated_at", "valid_to"), "relationships": ("invalidated_at", "valid_to")}


def rename_type(
    snapshot: Snapshot, table: Literal["entities", "relationships"], types: Mapping[str, str]
) -> list[Mutation]:
    """Return one mutation per row that changes, in id order; ``types`` maps row id → new type.

    The mutation guards the row's name and that it is live.
    """
    column, guarded = TYPES[table], _GUARDS[table]
    mutations: list[Mutation] = []
    for id_, seen in sorted(rows_by_id(snapshot, table, types.keys(), ("external_id", column, *guarded)).items()):
        if seen[column] == types[id_]:
            continue
        external = seen["external_id"]
        mutations.append(
            Mutation(
                "rename_type",
                table,
                writes=(Write(Cell(table, id_, column), "set", seen[column], types[id_]),),
                guards=(Guard.on(table, id_, seen, guarded),),
                rows=(Row(id_, None if external is None else str(external)),),
            )
        )
    return mutations


# ``invalidate_rows`` of facts that a later one replaces: they end in the world at the instant at which the later one begins.
#
# The fact was true and the world changed, so ``valid_to`` is set and ``invalidated_at`` is not: a question about that time must still find
# it. The row becomes inactive and names its successor. No fact ends before its successor has begun.

_SAYS: Final = ("subject", "predicate", "object")
_ENDS: Final = ("valid_to", "is_active", "superseded_by")


@dataclass(frozen=True, slots=True)
class Supersession:
    """A pair of facts: ``later`` replaces ``earlier``."""

    earlier: str
    later: str


def supersede_facts(snapshot: Snapshot, pairs: Sequence[Supersession]) -> list[Mutation]:
    """Return one mutation per pair, in the order given.

    In a chain, one item ends the middle fact and another one is based on its begin. The content of a successor, its start, and that it
    was not retracted are guarded, but not whether it ends in turn. Raises ``Refused`` for a pair in the wrong order, or with a retired
    fact. Cost: one pass over the facts.
    """
    ids = {id_ for pair in pairs for id_ in (pair.earlier, pair.later)}
    facts = rows_by_id(snapshot, "memory_facts", ids, ("external_id", "valid_from", "invalidated_at", *_SAYS, *_ENDS))
    now = str(canonical(snapshot.taken_at))
    found: list[Mutation] = []
    for pair in pairs:
        old, new = facts[pair.earlier], facts[pair.later]
        begins = new["valid_from"]
        if old["valid_from"] is None or begins is None or not str(old["valid_from"]) < str(begins) <= now:
            raise Refused(
                f"Fact {pair.later} does not begin after fact {pair.earlier} and before now, so it replaces nothing."
            )
        if old["invalidated_at"] is not None or new["invalidated_at"] is not None or old["is_active"] is not True:
            raise Refused(
                f"Fact {pair.earlier} or {pair.later} is already retired; live facts alone replace each other."
            )
        after = {"valid_to": begins, "is_active": False, "superseded_by": pair.later}
        writes = [Write(Cell("memory_facts", pair.earlier, c), "set", old[c], after[c]) for c in _ENDS]
        stands = (*_SAYS, "valid_from", "invalidated_at")
        guards = [Guard.on("memory_facts", i, facts[i], stands) for i in sorted((pair.earlier, pair.later))]
        external = old["external_id"]
        found.append(
            Mutation(
                "invalidate_rows",
                "memory_facts",
                writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
                guards=tuple(guards),
                rows=(Row(pair.earlier, None if external is None else str(external)),),
            )
        )
    return found


# ``set_state`` of a promoted memory: change its ring, and record the old ring, the new ring and the reason in ``promotions``.
#
# A revocation at run time closes that row and restores the ring; undo reverses either exactly.

_PROMOTED: Final = (
    "current_version_id",
    "invalidated_at",
    "state",
)  # a promotion also depends on the memory's text
_REVOKED: Final = ("invalidated_at", "pinned", "state")


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory that recall has proven useful, the ring that it gets (possibly its own), and the scores that justify it."""

    memory: str
    to_ring: str
    scores: Mapping[str, float]


def promote(snapshot: Snapshot, promotions: Sequence[Promotion]) -> list[Mutation]:
    """Return one mutation per promotion, in their order.

    It guards the text of the memory, and that it is live and active. Raises ``Refused`` for a memory that is not, and for one that is
    named twice. Cost: a pass over the memories.
    """
    ids = [p.memory for p in promotions]
    if len(set(ids)) != len(ids):
        raise Refused("A memory would be promoted twice in one plan. Propose it once.")
    rows = rows_by_id(snapshot, "memories", ids, ("external_id", "ring", *_PROMOTED))
    return [_promoted(p, rows[p.memory]) for p in promotions]


def revoke(snapshot: Snapshot, promotion_ids: Sequence[str]) -> list[Mutation]:
    """Return one mutation per memory, in id order, that closes the named promotions and restores the ring before them.

    A memory that has left the ring to which it was promoted stays in its ring. Raises ``Refused`` for a promotion that is closed. Cost: a
    pass over promotions and memories.
    """
    columns = ("memory_id", "from_ring", "to_ring", "recorded_at", "invalidated_at", "invalidated_by")
    named = rows_by_id(snapshot, "promotions", set(promotion_ids), columns)
    by_memory: dict[str, list[Fields]] = defaultdict(list)
    for id_, row in named.items():
        if row["invalidated_at"] is not None:
            raise Refused(f"Promotion {id_} is revoked already; only one that stands can be.")
        by_memory[str(row["memory_id"])].append(row)
    memories = rows_by_id(snapshot, "memories", by_memory.keys(), ("external_id", "ring", *_REVOKED))
    return [_revoked(memories[id_], rows) for id_, rows in sorted(by_memory.items())]


def _promoted(promotion: Promotion, seen: Fields) -> Mutation:
    id_ = promotion.memory
    if seen["invalidated_at"] is not None or seen["state"] != "active":
        raise Refused(f"Memory {id_} is retired; only one that recall can find is promoted.")
    values = {
        "memory_id": id_,
        "from_ring": seen["ring"],
        "to_ring": promotion.to_ring,
        "scores": canonical_json(dict(promotion.scores)),
    }
    return _mutation(seen, promotion.to_ring, _PROMOTED, inserts=(Insert("promotions", values),))


def _revoked(seen: Fields, promotions: Sequence[Fields]) -> Mutation:
    ring = str(seen["ring"])
    writes: list[Write] = []
    for row in sorted(promotions, key=lambda p: (str(p["recorded_at"]), str(p["id"])), reverse=True):
        id_ = str(row["id"])
        writes.append(Write(Cell("promotions", id_, "invalidated_at"), "now", row["invalidated_at"]))
        writes.append(Write(Cell("promotions", id_, "invalidated_by"), "item", row["invalidated_by"]))
        ring = str(row["from_ring"]) if row["to_ring"] == ring else ring
    return _mutation(seen, ring, _REVOKED, writes=tuple(writes))


def _mutation(
    seen: Fields,
    ring: str,
    rests_on: Sequence[str],
    writes: tuple[Write, ...] = (),
    inserts: tuple[Insert, ...] = (),
) -> Mutation:
    id_ = str(seen["id"])
    guarded = [*rests_on, *(("ring",) if ring == seen["ring"] else ())]
    if ring != seen["ring"]:
        writes = (Write(Cell("memories", id_, "ring"), "set", seen["ring"], ring), *writes)
    external = seen["external_id"]
    mutation = Mutation(
        "set_state",
        "memories",
        writes=writes,
        guards=(Guard.on("memories", id_, seen, guarded),),
        inserts=inserts,
        rows=(Row(id_, None if external is None else str(external)),),
    )
    check(mutation)
    return mutation


# ``invalidate_rows`` of rows that lost a conflict: they are retired, end in the world and, if they are facts, name the winner.
#
# A loser ends where the winner begins if that is known and later than its own start, otherwise at apply. Guards cover the contents of both
# sides, the winner's validity, and the other values that the decision depends on.

_WRITTEN: Final = ("invalidated_at", "invalidated_by", "valid_to")
_OF_FACTS: Final = ("is_active", "superseded_by")


@dataclass(frozen=True, slots=True)
class Loss:
    """One decided conflict: ``losers`` contradict ``winner``; the decision depends on the columns ``rests_on`` of all of them.

    An empty ``winner`` means that no side is right: the losers end when the item is applied, and no row succeeds them.

    ``ended_by`` is the row that ended the losers if it is not the winner, because it lost to the winner in turn. The losers end where
    that row begins; its content is guarded, but not that it is live.
    """

    winner: str
    losers: tuple[str, ...]
    rests_on: tuple[str, ...]
    ended_by: str = ""


def lose_conflict(snapshot: Snapshot, table: str, losses: Sequence[Loss]) -> list[Mutation]:
    """Return one mutation per loss, in the order given; one pass over the table."""
    ids = {id_ for loss in losses for id_ in (loss.winner, loss.ended_by, *loss.losers) if id_}
    more = _OF_FACTS if table == "memory_facts" else ()
    rests_on = {c for loss in losses for c in loss.rests_on}
    columns = sorted({"external_id", "valid_from", *_WRITTEN, *more, *rests_on})
    rows = rows_by_id(snapshot, table, ids, columns)
    found: list[Mutation] = []
    for loss in losses:
        ended_by = loss.ended_by or loss.winner
        begins = rows[ended_by]["valid_from"] if ended_by else None
        writes = [w for id_ in sorted(loss.losers) for w in _writes(table, id_, rows[id_], loss.winner, begins, more)]
        written = {w.cell for w in writes}
        stands = ("invalidated_at", "valid_to", *(("is_active",) if more else ()))
        rests: dict[str, tuple[str, ...]] = dict.fromkeys(loss.losers, loss.rests_on)
        if ended_by:
            rests |= {ended_by: loss.rests_on, loss.winner: (*stands, *loss.rests_on)}
        guards = tuple(
            Guard.on(table, id_, rows[id_] | {TOLD: rows[id_].get(VERSION)}, stay)
            for id_, on in sorted(rests.items())
            if (stay := [c for c in _rests_on(on, id_ in loss.losers) if Cell(table, id_, c) not in written])
        )
        named = tuple(_losing_row(id_, rows[id_]) for id_ in sorted(loss.losers))
        mutation = Mutation("invalidate_rows", table, writes=tuple(writes), guards=guards, rows=named)
        check(mutation)
        found.append(mutation)
    return found


def _writes(table: str, id_: str, seen: Fields, winner_id: str, begins: Value, more: Sequence[str]) -> list[Write]:
    own = seen["valid_from"]
    end = str(begins) if begins is not None and (own is None or str(own) < str(begins)) else None
    writes = [
        Write(Cell(table, id_, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, id_, "invalidated_by"), "item", seen["invalidated_by"]),
        Write(Cell(table, id_, "valid_to"), "set" if end else "now", seen["valid_to"], end),
    ]
    after: dict[str, Value] = {"is_active": False, "superseded_by": winner_id or None}
    return [*writes, *(Write(Cell(table, id_, c), "set", seen[c], after[c]) for c in more)]


def _rests_on(columns: Iterable[str], loses: bool) -> Iterable[str]:
    """Return the columns that a decision depends on; for a row that stays, ``TOLD`` replaces the version."""
    return columns if loses else (TOLD if c == VERSION else c for c in columns)


def _losing_row(id_: str, seen: Fields) -> Row:
    external = seen["external_id"]
    return Row(id_, None if external is None else str(external))


# ``purge_rows``: delete retired rows with all their dependent rows. Apart from ``erase_rows``, no other mutation deletes.
#
# The item holds every row completely, as the plan saw it, and the journal keeps the row as it was found, so undo restores it exactly: with
# the versions, vectors and promotions of a memory, and with the references of other retired rows to it (``superseded_by``,
# ``merged_into``), which are cleared. If any other row refers to it at apply, the plan has not seen that, and the item is stale.

FLOOR_DAYS: Final = 7
"""Minimum age in days of retired rows that are purged, regardless of the settings."""

POINTER: Final[Mapping[str, str]] = {"memory_facts": "superseded_by", "memories": "merged_into"}
"""Table → the column by which one of its rows refers to another."""

_PARTS: Final[Mapping[str, tuple[str, ...]]] = {"memories": ("memory_versions", "promotions")}
_VECTORS: Final[Mapping[str, str]] = {"memories": "memory_vectors"}


def purge_rows(
    snapshot: Snapshot, table: str, groups: Sequence[Sequence[str]], *, retention_days: int
) -> list[Mutation]:
    """Return one mutation per group of rows that are deleted together, in the order given.

    Raises ``DreamForbiddenOpError`` if the retention is below the minimum, and for a row that was invalidated within it. Cost: one pass
    over the table and over those of its parts. Vectors of another model than the snapshot's are not seen: the item of their memory is
    stale at apply.
    """
    check_retention(retention_days)
    wanted = {id_ for group in groups for id_ in group}
    columns = row_columns(table)
    rows = rows_by_id(snapshot, table, wanted, columns)
    _refuse_recent(rows, snapshot.taken_at - timedelta(days=retention_days), table)
    parts, pointers = _parts(snapshot, table, wanted), _pointers(snapshot, table, wanted)
    mutations: list[Mutation] = []
    for group in groups:
        going, together = sorted(group), set(group)
        deletes = [Delete(table, id_, "", {c: rows[id_][c] for c in columns}) for id_ in going]
        mutations.append(
            Mutation(
                "purge_rows",
                table,
                writes=tuple(w for id_ in going for w in pointers[id_] if w.cell.row not in together),
                rows=tuple(Row(id_, _external(rows[id_])) for id_ in going),
                deletes=(*deletes, *(part for id_ in going for part in parts[id_])),
            )
        )
    return mutations


def check_retention(days: object) -> None:
    """Refuse a retention that is not a whole number of days or is below the minimum, with ``DreamForbiddenOpError``."""
    if not isinstance(days, int) or isinstance(days, bool) or days < FLOOR_DAYS:
        raise DreamForbiddenOpError(
            f"Purging after {days!r} days is forbidden: what is retired stays for {FLOOR_DAYS} days at least. Set "
            f"SLOWWAVE_OPERATIONS__PURGE_EXPIRED__RETENTION_DAYS to {FLOOR_DAYS} or more; nothing was planned."
        )


def _refuse_recent(rows: Mapping[str, Fields], cutoff: datetime, table: str) -> None:
    for id_, seen in sorted(rows.items()):
        at = seen["invalidated_at"]
        if at is not None and datetime.fromisoformat(str(at)) >= cutoff:
            raise DreamForbiddenOpError(
                f"Row {id_} of {table} was invalidated on {str(at)[:10]}, within the retention: it may not be purged yet."
            )


def _parts(snapshot: Snapshot, table: str, ids: Iterable[str]) -> dict[str, list[Delete]]:
    """Return row → the deletes of its versions, promotions and vectors."""
    found: dict[str, list[Delete]] = defaultdict(list)
    for part in _PARTS.get(table, ()):
        columns = row_columns(part)
        for row in rows_where(snapshot, part, "memory_id", set(ids), columns):
            found[str(row["memory_id"])].append(Delete(part, str(row["id"]), "", {c: row[c] for c in columns}))
    if name := _VECTORS.get(table):
        vectors = snapshot.vectors[name]
        asked = sorted(ids)
        for id_, place in zip(asked, vectors.rows_of(pa.array(asked, pa.string())).tolist(), strict=True):
            if place >= 0:
                found[id_].append(Delete(name, id_, vectors.model, {"vector": encode(vectors.matrix[place])}))
    return found


def _pointers(snapshot: Snapshot, table: str, ids: Iterable[str]) -> dict[str, list[Write]]:
    """Return row → the writes that clear references to it from other rows of its table."""
    found: dict[str, list[Write]] = defaultdict(list)
    if column := POINTER.get(table):
        for row in rows_where(snapshot, table, column, set(ids), ()):
            found[str(row[column])].append(Write(Cell(table, str(row["id"]), column), "set", row[column]))
    return found


def _external(row: Fields) -> str | None:
    external = row.get("external_id")
    return None if external is None else str(external)


# ``insert_summary``: a community gets a summary that replaces its former ones, or its summary ends with it.
#
# The old row ends in the world at the instant at which the new one begins, that of the snapshot, so exactly one is valid at any time. It is
# not invalidated, because it was true in its time. The planner writes the summary.


@dataclass(frozen=True, slots=True)
class Summary:
    """A new row about ``member_ids``, of which its text names the ``cited``, and the rows of ``communities`` it replaces.

    ``payload`` is JSON. Without members there is no new row, and the replaced rows only end.
    """

    member_ids: tuple[str, ...] = ()
    payload: Mapping[str, object] = field(default_factory=dict)
    cited: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    depth: int = 1


def insert_summary(snapshot: Snapshot, summaries: Sequence[Summary]) -> list[Mutation]:
    """Return one mutation per summary, in their order.

    Every member has to stay live, and every cited member has to keep its name. Time: one pass over the entities and the communities, and
    the members of all summaries.
    """
    now = canonical(snapshot.taken_at)
    entities = rows_by_id(
        snapshot, "entities", {i for s in summaries for i in (*s.member_ids, *s.cited)}, ("invalidated_at", "name")
    )
    rows = rows_by_id(
        snapshot, "communities", {i for s in summaries for i in s.replaced}, ("invalidated_at", "valid_to")
    )

    def guards(table: str, ids: tuple[str, ...], column: str) -> list[Guard]:
        seen = entities if table == "entities" else rows
        return [Guard.on(table, id_, seen[id_], (column,)) for id_ in sorted(ids)]

    mutations: list[Mutation] = []
    for summary in summaries:
        values: dict[str, Value] = {
            "member_ids": tuple(sorted(summary.member_ids)),
            "payload": canonical_json(summary.payload),
            "depth": summary.depth,
            "valid_from": now,
        }
        replaced = sorted(summary.replaced)
        mutations.append(
            Mutation(
                "insert_summary",
                "communities",
                writes=tuple(
                    Write(Cell("communities", id_, "valid_to"), "set", rows[id_]["valid_to"], now) for id_ in replaced
                ),
                guards=(
                    *guards("communities", summary.replaced, "invalidated_at"),
                    *guards("entities", summary.member_ids, "invalidated_at"),
                    *guards("entities", summary.cited, "name"),
                ),
                inserts=(Insert("communities", values),) if summary.member_ids else (),
                rows=tuple(Row(id_) for id_ in replaced),
            )
        )
    return mutations


# ``new_version``: give a memory new text; the former text is kept as an older version.
#
# Together with its text a memory may change its stage, its state and its attributes, and gets the vector of the new text if there is one. A
# version that only adds notes to the memory's statement declares that (``cells.TOLD``) and does not conflict with items that depend on the
# statement.


_GUARDED: Final = ("invalidated_at", "state", "stage", "attributes", "pinned")
_BECAUSE: Final = ("invalidated_at", "state", TOLD)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A new text for ``memory`` and the ``reason`` that the version stores; None leaves a column unchanged.

    ``rests_on`` are columns of the memory that the change depends on, in addition to those of every new version. ``because`` are other
    memories that it depends on; they must be live and state what they stated when the plan was made.
    """

    memory: str
    content: str
    reason: str
    stage: str | None = None
    attributes: Mapping[str, object] | None = None
    state: str | None = None
    rests_on: tuple[str, ...] = ()
    because: tuple[str, ...] = ()


def new_versions(
    snapshot: Snapshot, changes: Sequence[NewVersion], vectors: NDArray[np.floating] | None = None
) -> list[Mutation]:
    """Return one mutation per change, in their order; ``vectors`` (n, d) are those of the new texts.

    Version, state, stage and pin of the memory must be as the plan saw them. Without ``vectors``, or if these do not fit the snapshot's
    model, a memory keeps its vector. Raises ``Refused`` for a memory that is retired, and for one that is named twice. Cost: a pass over
    memories and versions.
    """
    # Its patterns take longer to compile than commands that list something take.
    from slowwave.text.dates import own_text

    ids = [c.memory for c in changes]
    if len(set(ids)) != len(ids):
        raise Refused("A memory would get two new versions in one plan. Propose one of them.")
    more = {column for change in changes for column in change.rests_on}
    columns = sorted({"external_id", VERSION, *_GUARDED, *more})
    later = {id_ for change in changes for id_ in change.because}
    rows = rows_by_id(snapshot, "memories", [*ids, *sorted(later.difference(ids))], columns)
    ordinals = _ordinals(snapshot, ids)
    seen_versions = [str(v) for id_ in ids if (v := rows[id_][VERSION])]
    texts = {
        str(v["id"]): str(v["content"])
        for v in rows_where(snapshot, "memory_versions", "id", seen_versions, ("content",))
    }
    own = snapshot.vectors["memory_vectors"]
    fits = vectors is not None and (not len(own) or vectors.shape[1:] == own.matrix.shape[1:])
    places = own.rows_of(pa.array(ids, pa.string())) if fits and own.model else None
    mutations: list[Mutation] = []
    for n, change in enumerate(changes):
        seen = rows[change.memory]
        if seen["invalidated_at"] is not None:
            raise Refused(f"Memory {change.memory} is retired; only a live one gets a new version.")
        version = Insert(
            "memory_versions",
            {
                "memory_id": change.memory,
                "ordinal": ordinals.get(change.memory, 0) + 1,
                "content": change.content,
                "reason": change.reason,
            },
        )
        text = texts.get(str(seen[VERSION]))
        writes, guard = _version_cells(
            change, seen, beside=text is not None and own_text(text) == own_text(change.content)
        )
        because = sorted({*change.because} - {change.memory})
        others = [Guard.on("memories", id_, rows[id_] | {TOLD: rows[id_][VERSION]}, _BECAUSE) for id_ in because]
        inserts = [version]
        if places is not None and vectors is not None:
            after = encode(np.asarray(vectors[n], np.float32))
            if places[n] < 0:
                inserts.append(Insert("memory_vectors", {"vector": after}, change.memory, own.model))
            elif (before := encode(own.matrix[places[n]])) != after:
                cell = Cell("memory_vectors", change.memory, "vector", own.model)
                writes.append(Write(cell, "set", before, after))
        external = seen["external_id"]
        mutations.append(
            Mutation(
                "new_version",
                "memories",
                writes=tuple(writes),
                guards=(guard, *others),
                inserts=tuple(inserts),
                rows=(Row(change.memory, None if external is None else str(external)),),
            )
        )
    return mutations


def _version_cells(change: NewVersion, seen: Fields, *, beside: bool) -> tuple[list[Write], Guard]:
    """Return the writes and the guard on the memory's own row; with ``beside`` the guard includes ``TOLD``."""

    def cell(column: str) -> Cell:
        return Cell("memories", change.memory, column)

    wanted: dict[str, Value] = {"stage": change.stage, "state": change.state}
    if change.attributes is not None:
        wanted["attributes"] = canonical_json(change.attributes)
    changed = {c: v for c, v in wanted.items() if v is not None and v != seen[c]}
    writes = [
        Write(cell(VERSION), "row", seen[VERSION], 0),
        *(Write(cell(c), "set", seen[c], v) for c, v in sorted(changed.items())),
    ]
    rests_on = dict.fromkeys((*_GUARDED, *change.rests_on))
    if change.attributes is None and "attributes" not in change.rests_on:
        del rests_on["attributes"]
    stay = [c for c in rests_on if c not in changed and c != VERSION]
    return writes, Guard.on("memories", change.memory, seen | {TOLD: seen[VERSION]}, [*stay, TOLD] if beside else stay)


def _ordinals(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, int]:
    """Return memory → the last ordinal of its versions."""
    versions = snapshot.table("memory_versions")
    mine = versions.filter(pc.is_in(versions["memory_id"], value_set=pa.array(sorted(ids), pa.string())))
    last = mine.group_by("memory_id").aggregate([("ordinal", "max")])
    return dict(zip(last["memory_id"].to_pylist(), last["ordinal_max"].to_pylist(), strict=True))
