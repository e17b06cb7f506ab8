"""Verification of a run's journal before an undo restores anything from it.

An item's entries are compared with evidence outside the journal. One source is the payload of its event, whose links to its neighbours in
the chain are checked. The other is the sealed item, whose id is the hash of its content and which an approval names. The plan states
which cells the item writes and what it saw in them: each cell has exactly one entry, whose before-image is the seen value and whose
after-image is the planned value. An undo is compared with the entries that it undid. Time: linear in the entries, one statement for each
table and check.

Permissions: the applier inserts into journal, images and events, and deletes images. It changes no plan and approves none, so it cannot
add a cell that an approved item does not write or a value that the item did not see. The owner can switch triggers off and forge
everything, plan and approval included; only anchors outside the database protect against the owner.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.changes.apply import load_items
from slowwave.changes.cells import canonical_json
from slowwave.changes.mutation import Mutation
from slowwave.changes.relations import OWN, Catalogue, Relation
from slowwave.changes.sql import unsealed_cells, unsealed_deletes, untaken
from slowwave.changes.undo import Fault, named
from slowwave.errors import Refused
from slowwave.plans.event_chain import FIRST_PAYLOAD, GENESIS, PAYLOAD
from slowwave.plans.items import content_id
from slowwave.store.logins import Connection
from slowwave.store.runs import Run
from slowwave.store.tables import VECTORS

_UNDONE_BY_NOBODY: Final = "SELECT DISTINCT item_id FROM undo_entries WHERE undone_by IS NULL"
_EMPTY_BATCH: Final = "TRUNCATE batch_cells, batch_rows"
_SIGNED: Final = "SELECT item_ids::text[] FROM night.approvals WHERE id::text = %s AND plan_hash = %s"
_UNJOURNALLED: Final = """
SELECT i.item_id::text FROM night.plan_items i WHERE i.plan_hash = %s AND i.item_id = ANY(%s::uuid[]) AND i.status = 'applied'
  AND (jsonb_array_length(i.mutation -> 'writes') > 0 OR i.mutation ? 'deletes') ORDER BY i.item_id
"""
_ITEMS_READ: Final = "SELECT DISTINCT item_id::text FROM undo_entries"
_JOURNALLED: Final = "SELECT DISTINCT item_id::text FROM night.journal WHERE item_id = ANY(%s::uuid[])"
_SEALED: Final = """
SELECT item_id::text, operation, decision, mutation FROM night.plan_items WHERE plan_hash = %s AND item_id = ANY(%s::uuid[])
"""
_IMAGED_DELETES: Final = """
SELECT item_id::text, id, row_id::text, '' FROM undo_entries WHERE table_name = %s AND action = 'delete' AND imaged
  AND undone_by IS NULL
"""

_OF_NOTHING: Final = f"v2:{hashlib.sha256(b'').hexdigest()}"

_UNVOUCHED: Final = f"""
WITH entries AS (
  SELECT %(source)s::uuid AS run_id, id, item_id, table_name, row_id, row_key, column_name, action, before_hash, after_hash, undoes
  FROM undo_entries
  UNION ALL
  SELECT j.run_id, j.id, j.item_id, j.table_name, j.row_id, j.row_key, j.column_name, j.action, j.before_hash, j.after_hash, j.undoes
  FROM night.journal j JOIN (
    SELECT DISTINCT u.run_id, u.item_id FROM undo_entries e JOIN night.journal u ON u.id = e.undone_by
  ) taken USING (run_id, item_id)
), journalled AS (
  SELECT run_id, item_id, {PAYLOAD} AS payload, {FIRST_PAYLOAD} AS first_payload FROM entries GROUP BY run_id, item_id
), events AS (
  SELECT e.run_id, e.item_id, count(*) AS events, min(e.payload_hash) AS payload, bool_and(
    e.hash = encode(sha256(convert_to(concat_ws('|', e.previous_hash, e.sequence, e.run_id, e.item_id, e.event, e.payload_hash),
      'UTF8')), 'hex')
    AND e.previous_hash = CASE WHEN e.sequence = 1 THEN '{GENESIS}' ELSE p.hash END
    AND coalesce(n.previous_hash = e.hash, true)) AS linked
  FROM night.memory_events e
  LEFT JOIN night.memory_events p ON p.namespace_id = e.namespace_id AND p.sequence = e.sequence - 1
  LEFT JOIN night.memory_events n ON n.namespace_id = e.namespace_id AND n.sequence = e.sequence + 1
  WHERE e.namespace_id = %(namespace)s AND e.run_id IN (SELECT run_id FROM journalled UNION SELECT %(source)s::uuid)
  GROUP BY e.run_id, e.item_id
)
SELECT item_id::text, run_id::text, j.payload IS NOT NULL, coalesce(t.events, 0), coalesce(t.linked, false)
FROM journalled j FULL JOIN events t USING (run_id, item_id)
WHERE (j.payload IS NOT NULL OR (run_id = %(source)s AND (%(items)s::uuid[] IS NULL OR item_id = ANY(%(items)s))))
  AND NOT (coalesce(t.events, 0) = 1 AND coalesce(t.linked, false)
    AND CASE WHEN starts_with(t.payload, 'v2:') THEN t.payload = coalesce(j.payload, '{_OF_NOTHING}') ELSE t.payload = j.first_payload END)
"""
"""SQL: items of the run, and of the runs that undid them, whose entries do not match the event chain, as (item, run, journalled, events,
linked).
"""

_HALF_UNDONE: Final = """
SELECT e.item_id::text, e.id, e.table_name, e.column_name, e.row_id::text FROM undo_entries e
WHERE e.undone_by IS NOT NULL AND NOT (e.table_name = 'entity_aliases' AND e.action = 'delete')
  AND EXISTS (SELECT 1 FROM undo_entries o WHERE o.item_id = e.item_id AND o.undone_by IS NULL
    AND NOT (o.table_name = 'entity_aliases' AND o.action = 'delete'))
UNION
SELECT e.item_id::text, e.id, e.table_name, e.column_name, e.row_id::text FROM undo_entries e JOIN night.journal u ON u.id = e.undone_by
WHERE (u.item_id, u.table_name, u.row_id, u.row_key, u.column_name) <> (e.item_id, e.table_name, e.row_id, e.row_key, e.column_name)
"""
"""SQL: entries marked as undone that no undo of their item can have undone. An alias that an undo removed may belong to another item by
now.
"""

_NOT_MIRRORED: Final = """
SELECT e.item_id::text, e.id, e.table_name, e.column_name, e.row_id::text FROM undo_entries e
LEFT JOIN night.journal o ON o.id = e.undoes AND o.run_id = %(undone)s
WHERE e.undone_by IS NULL AND (o.id IS NULL
  OR (o.item_id, o.table_name, o.row_id, o.row_key, o.column_name) <> (e.item_id, e.table_name, e.row_id, e.row_key, e.column_name)
  OR e.action <> CASE o.action WHEN 'insert' THEN 'delete' WHEN 'delete' THEN 'insert' ELSE o.action END
  OR (e.action = 'set' AND (e.before_hash, e.after_hash) IS DISTINCT FROM (o.after_hash, o.before_hash)
    AND NOT (e.table_name = 'links' AND e.column_name = 'target_document_id' AND e.after_hash IS NULL
      AND e.before_hash IS NOT DISTINCT FROM o.after_hash)))
"""
"""SQL: entries of an undo that are not the reverse of what it undid. A link may have no target again if its target was purged."""

_CELLS: Final = """
WITH sealed AS (
  SELECT item_id, tbl AS table_name, row_id, key AS row_key, col AS column_name, CASE action WHEN 'add' THEN 'add' ELSE 'set' END AS action
  FROM batch_cells WHERE action <> 'guard'
  UNION ALL SELECT item_id, tbl, row_id, key, '', action FROM batch_rows
), written AS (
  SELECT e.*, row_number() OVER (PARTITION BY item_id, table_name, row_id, row_key, column_name, action ORDER BY id) AS n
  FROM undo_entries e WHERE item_id = ANY(%(items)s::uuid[]) AND NOT (table_name = ANY(%(taken)s::text[]) AND action = 'delete')
)
SELECT item_id::text, coalesce(w.id, 0), table_name, column_name, row_id::text, action
FROM (SELECT *, row_number() OVER (PARTITION BY item_id, table_name, row_id, row_key, column_name, action) AS n FROM sealed) s
FULL JOIN written w USING (item_id, table_name, row_id, row_key, column_name, action, n)
WHERE s.item_id IS NULL OR w.item_id IS NULL
"""
"""SQL: cells and rows that the sealed items write without a journal entry (entry 0), and entries of cells or rows that no item writes."""


@dataclass(frozen=True, slots=True)
class _Applied:
    """An applied item as its plan stores it."""

    id: str
    mutation: Mutation


def journal_faults(
    connection: Connection, namespace_id: str, source: Run, items: Sequence[str] | None, catalogue: Catalogue = OWN
) -> list[Fault]:
    """Return the faults in the entries that ``undo_entries`` holds of a run or of some of its items.

    Empty if the entries are as they were written. Call it inside the transaction that is about to undo. Leaves the batch tables empty.
    """
    parameters: dict[str, object] = {
        "namespace": namespace_id,
        "source": source.run_id,
        "undone": source.undo_of or None,
        "items": None if items is None else list(items),
    }
    found = [_unvouched(source, *row) for row in connection.execute(_UNVOUCHED.encode(), parameters)]
    found += _faults(connection, _HALF_UNDONE, parameters, "it is marked as undone, and no undo of its item did that")
    if source.mode == "undo":
        found += _faults(connection, _NOT_MIRRORED, parameters, "it is not the reverse of what the run took back")
    else:
        found += _unsealed(connection, namespace_id, source, items, catalogue)
    return list(dict.fromkeys(found))


def _unvouched(source: Run, item: object, run: object, journalled: object, events: object, linked: object) -> Fault:
    of = "" if run == source.run_id else f"of run {run}, which took it back, "
    if not events:
        message = f"no event {of}vouches for its entries"
    elif events != 1:
        message = f"{events} events {of}vouch for its entries, where one was written"
    elif not linked:
        message = f"the event {of}that vouches for its entries does not fit the chain"
    elif not journalled:
        message = f"all its entries {of}are missing"
    else:
        message = f"its entries {of}are not those that its event vouches for: one was removed, added or changed"
    return Fault(str(item), 0, message)


def _faults(connection: Connection, query: str, parameters: dict[str, object], message: str) -> list[Fault]:
    rows = connection.execute(query.encode(), parameters)
    return [Fault(str(i), int(str(e)), f"{named(table, column, row)}: {message}") for i, e, table, column, row in rows]


def _unsealed(
    connection: Connection, namespace_id: str, source: Run, items: Sequence[str] | None, catalogue: Catalogue
) -> list[Fault]:
    """Return the differences between the entries of an apply run and its sealed, approved items."""
    applied_items = {str(i) for (i,) in connection.execute(_UNDONE_BY_NOBODY)}
    signed = _signed(connection, source)
    missing = _unjournalled(connection, source, signed if items is None else signed & set(items))
    found = [Fault(item, 0, "it was applied, and the journal has no entry of it") for item in missing]
    found += [Fault(item, 0, "the run's approval does not name it") for item in sorted(applied_items - signed)]
    sealed, unreadable = _read_items(connection, source, applied_items & signed, catalogue)
    found += [Fault(item, 0, "its plan no longer holds what its id was made from") for item in unreadable]
    if not sealed:
        return found
    load_items(connection, namespace_id, sealed, catalogue)
    deleted = sorted({d.table for i in sealed for d in i.mutation.change.deletes})
    takes = [(catalogue.relation(table), taken) for table in deleted for taken in catalogue.relation(table).takes]
    parameters: dict[str, object] = {
        "namespace": namespace_id,
        "items": [i.id for i in sealed],
        "taken": [taken.name for _, taken in takes],
        **catalogue.parameters,
    }
    for relation, taken in takes:
        found += [
            Fault(
                str(item),
                int(str(entry)),
                f"{named(taken.name, '', row)}: it belongs to no row that the sealed item takes away",
            )
            for item, entry, row in connection.execute(untaken(relation, taken).encode(), parameters)
        ]
    found += _other_cells(connection, parameters)
    written: dict[str, set[str]] = defaultdict(set)
    for write in (w for i in sealed for w in i.mutation.change.writes):
        written[write.cell.table].add(write.cell.column)
    for table in sorted(written):
        found += _other_values(connection, catalogue.relation(table), written[table])
    for table in deleted:
        found += _other_rows(connection, catalogue.relation(table), parameters)
    connection.execute(_EMPTY_BATCH)
    return found


def _signed(connection: Connection, source: Run) -> frozenset[str]:
    """Return the ids of the items that the run's approval names."""
    row = connection.execute(
        _SIGNED,
        (source.approval_id, source.plan_hash),
    ).fetchone()
    return frozenset(map(str, row[0])) if row and isinstance(row[0], list) else frozenset()


def _unjournalled(connection: Connection, source: Run, items: Collection[str]) -> list[str]:
    """Return those of ``items`` that have the status applied but no journal entry of any run.

    An item that only inserts is left out: the row may have existed already, and then the item wrote nothing.
    """
    read = {str(item) for (item,) in connection.execute(_ITEMS_READ)}
    # Subtracted in Python: without statistics of the plan's items, the planner of Postgres turns an anti join into a nested loop.
    rows = connection.execute(
        _UNJOURNALLED,
        (source.plan_hash, sorted(set(items) - read)),
    ).fetchall()
    if not (without := [str(item) for (item,) in rows]):
        return []
    elsewhere = connection.execute(_JOURNALLED, (without,))
    return sorted(set(without) - {str(item) for (item,) in elsewhere})


def _read_items(
    connection: Connection, source: Run, items: Collection[str], catalogue: Catalogue
) -> tuple[list[_Applied], list[str]]:
    """Return the run's sealed items, and the ids of those that are missing or whose content does not match their id."""
    rows = connection.execute(
        _SEALED,
        (source.plan_hash, list(items)),
    )
    found = [
        _Applied(str(item), Mutation.as_stored({**mutation, "guards": []}))  # what it rested on was not journalled
        for item, operation, decision, mutation in rows
        if isinstance(mutation, dict) and content_id(str(operation), str(decision), canonical_json(mutation)) == item
    ]
    sealed = [i for i in found if all(_known(catalogue, table) for table in _tables(i.mutation))]
    return sealed, sorted(set(items) - {i.id for i in sealed})


def _known(catalogue: Catalogue, table: str) -> bool:
    try:
        return bool(catalogue.relation(table))
    except Refused:
        return False


def _tables(mutation: Mutation) -> set[str]:
    if mutation.physical:
        return {*mutation.physical.tables()}
    named_cells = (w.cell.table for w in mutation.writes), (g.table for g in mutation.guards)
    return {t for tables in named_cells for t in tables} | {r.table for r in (*mutation.inserts, *mutation.deletes)}


def _other_cells(connection: Connection, parameters: dict[str, object]) -> list[Fault]:
    """Return faults for missing entries and for entries that no sealed item writes."""
    rows = connection.execute(_CELLS.encode(), parameters).fetchall()
    own = (row for row in rows if "." not in str(row[2]))  # a row that moved into a store's archive has no other cause
    inserts = [(str(i), str(t), str(r)) for i, e, t, _, r, action in own if not e and action == "insert"]
    spared = {insert for insert in inserts if insert not in _present(connection, inserts)}
    return [
        Fault(
            str(item),
            int(str(entry)),
            f"{named(table, column, row)}: "
            + ("the sealed item has no such change" if entry else f"its entry ({action}) is missing"),
        )
        for item, entry, table, column, row, action in rows
        if entry or (str(item), str(table), str(row)) not in spared
    ]


def _present(connection: Connection, inserts: Iterable[tuple[str, str, str]]) -> frozenset[tuple[str, str, str]]:
    """Return those of the rows (item, table, row) that exist.

    Vectors are skipped, because a vector's row has the id of the row it describes and may belong to another item.
    """
    by_table: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for insert in inserts:
        if insert[1] not in VECTORS:
            by_table[insert[1]].append(insert)
    found: set[tuple[str, str, str]] = set()
    for table, named_rows in by_table.items():
        rows = connection.execute(
            f"SELECT id::text FROM memory.{table} WHERE id = ANY(%s::uuid[])".encode(), ([r for _, _, r in named_rows],)
        )
        there = {str(row) for (row,) in rows}
        found |= {insert for insert in named_rows if insert[2] in there}
    return frozenset(found)


def _other_values(connection: Connection, relation: Relation, columns: Collection[str]) -> list[Fault]:
    """Return faults for cells whose images differ from the values that the plan saw and was to write."""
    try:
        with connection.transaction():
            rows = connection.execute(unsealed_cells(relation, columns).encode()).fetchall()
    except psycopg.DataError:  # an image that is no value of its column
        rows = connection.execute(unsealed_cells(relation, columns, as_text=True).encode()).fetchall()
    return [
        Fault(
            str(item),
            int(str(entry)),
            f"{named(relation.name, column, row)}: its image is not what the plan saw or was to write",
        )
        for item, entry, row, column in rows
    ]


def _other_rows(connection: Connection, relation: Relation, parameters: dict[str, object]) -> list[Fault]:
    """Return faults for deleted rows whose image differs from the row that the plan saw."""
    try:
        with connection.transaction():
            rows = connection.execute(unsealed_deletes(relation).encode(), parameters).fetchall()
    except psycopg.DataError:  # an image that is no row of the table
        rows = connection.execute(
            _IMAGED_DELETES,
            (relation.name,),
        ).fetchall()
    return [
        Fault(str(item), int(str(entry)), f"{named(relation.name, column, row)}: its image is not what the plan saw")
        for item, entry, row, column in rows
    ]
