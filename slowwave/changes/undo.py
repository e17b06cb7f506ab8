"""Undo from the journal: before-images are restored where the after-value is still current.

An undo is journalled like any change, so it can itself be undone. Entries are read once and verified before anything is restored from
them. The undo is refused as a whole, naming the entries or rows, if the journal was changed or a later change depends on what it would
restore.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.changes.cells import POINTERS, is_pointer
from slowwave.changes.relations import OWN, Catalogue, Relation, sha256_of
from slowwave.changes.sql import (
    AWAIT_AGAIN,
    AWAIT_FILES,
    BATCH_TABLES,
    LET_GO,
    LINKS_LATER,
    LINKS_NOW,
    MEAN_AWAITED,
    TARGETS_GONE,
    built_on,
    changed_rows,
    delete_rows,
    drop_empty,
    ends_gone,
    insert_rows,
    journal_cells,
    lock_names,
    lock_rows,
    make_rows,
    purged_targets,
    referring_rows,
    spared_rows,
    stale_cells,
    stale_inserts,
    write_cells,
)
from slowwave.errors import JournalDamaged, UndoBlocked
from slowwave.store.logins import Connection
from slowwave.text.tokens import counted

_READ_TABLE: Final = """
CREATE TEMPORARY TABLE IF NOT EXISTS undo_entries (
  id bigint NOT NULL, item_id uuid NOT NULL, table_name text NOT NULL, row_id uuid NOT NULL, row_key text NOT NULL,
  column_name text NOT NULL, action text NOT NULL, before_hash text, after_hash text, undoes bigint,
  before text, after text, imaged boolean NOT NULL, undone_by bigint
) ON COMMIT DROP
"""
"""The entries of the run as they were loaded, including those undone already. Verification and restoration use only this table."""

_READ: Final = """
INSERT INTO undo_entries
SELECT j.id, j.item_id, j.table_name, j.row_id, j.row_key, j.column_name, j.action, j.before_hash, j.after_hash, j.undoes,
  b.before, b.after, b.journal_id IS NOT NULL, u.id
FROM night.journal j LEFT JOIN night.before_images b ON b.journal_id = j.id LEFT JOIN night.journal u ON u.undoes = j.id
WHERE j.run_id = %(source)s AND j.namespace_id = %(namespace)s AND (%(items)s::uuid[] IS NULL OR j.item_id = ANY(%(items)s))
"""

_ENTRIES: Final = "FROM undo_entries j WHERE j.undone_by IS NULL"
_COUNT_ERASED: Final = f"SELECT count(*) {_ENTRIES} AND NOT j.imaged"
_CELLS_BACK: Final = f"""
INSERT INTO batch_cells (undoes, item_id, tbl, row_id, key, col, action, seen, value)
SELECT j.id, j.item_id, j.table_name, j.row_id, j.row_key, j.column_name, j.action, j.after,
  CASE WHEN j.action = 'add' THEN (-j.after::bigint)::text ELSE j.before END
{_ENTRIES} AND j.action IN ('set', 'add') ORDER BY j.id
"""
_ROWS_BACK: Final = f"""
INSERT INTO batch_rows (undoes, item_id, tbl, row_id, key, named, action, body)
SELECT j.id, j.item_id, j.table_name, j.row_id, j.row_key, true,
  CASE j.action WHEN 'insert' THEN 'delete' ELSE 'insert' END, coalesce(j.after, j.before)::jsonb
{_ENTRIES} AND j.action IN ('insert', 'delete') ORDER BY j.id
"""
_BATCH_COLUMNS: Final = "SELECT DISTINCT tbl, col FROM batch_cells"
_BATCH_KEYS: Final = """
SELECT tbl, action, array_agg(DISTINCT k ORDER BY k) FROM batch_rows, jsonb_object_keys(body) k GROUP BY tbl, action
"""
_BATCH_ITEMS: Final = "SELECT item_id FROM batch_cells UNION SELECT item_id FROM batch_rows"
_LAST_CHANGE: Final = """
SELECT run_id, action FROM night.journal WHERE row_id = %s AND table_name = %s AND (%s = '' OR column_name IN (%s, ''))
AND id > (SELECT coalesce(max(id), 0) FROM night.journal WHERE run_id = %s) ORDER BY id DESC LIMIT 1
"""

_LATER_CHANGES: Final = """
SELECT DISTINCT ON (j.run_id) j.run_id, j.table_name, j.row_id
FROM (SELECT tbl, row_id FROM batch_cells UNION SELECT tbl, row_id FROM batch_rows) b
JOIN night.journal j ON j.row_id = b.row_id AND j.table_name = b.tbl
WHERE j.run_id <> %(source)s AND j.id > (SELECT coalesce(max(id), 0) FROM night.journal WHERE run_id = %(source)s)
  AND j.undoes IS NULL AND NOT EXISTS (SELECT FROM night.journal u WHERE u.undoes = j.id)
ORDER BY j.run_id, j.id
LIMIT 10
"""
"""Later runs that changed rows of the batch and are not undone, each with one such row."""

KEYS_NOW: Final = "SET CONSTRAINTS ALL IMMEDIATE"
"""The rows that a restored row refers to must exist at this point, even if a store defers the check to the end of the transaction."""

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A fault in the journal of an item; ``entry`` is the id of the journal entry, 0 if it is missing."""

    item: str
    entry: int
    message: str


def undo_entries(
    connection: Connection,
    namespace_id: str,
    run_id: str,
    source_run_id: str,
    item_ids: Sequence[str] | None = None,
    *,
    verify: Callable[[], Sequence[Fault]] = tuple,
    catalogue: Catalogue = OWN,
) -> tuple[str, ...]:
    """Undo a run's entries, or those of some of its items; return the items undone, sorted.

    Idempotent. ``verify`` checks the entries read (the temporary table ``undo_entries``) and returns its faults; images that do not match
    their hashes are always checked. Raises ``JournalDamaged``, naming entries, if there is any fault, and ``UndoBlocked``, naming rows,
    if later changes depend on them or a before-image was erased.
    """
    items = None if item_ids is None else list(item_ids)
    parameters = {
        "namespace": namespace_id,
        "run": run_id,
        "source": source_run_id,
        "items": items,
        **catalogue.parameters,
    }
    relation = catalogue.relation
    connection.execute(_READ_TABLE.encode())
    connection.execute(_READ.encode(), parameters)
    connection.execute("ANALYZE undo_entries")
    _refuse_damaged(source_run_id, [*_forged_images(connection), *verify()])
    erased = connection.execute(_COUNT_ERASED.encode()).fetchone()
    if erased and erased[0]:
        raise UndoBlocked(
            f"{erased[0]} before-images of run {source_run_id} were erased by retention or erasure, so its old values are gone. "
            "Items with their images whole can be undone with --items."
        )
    connection.execute(BATCH_TABLES.encode())
    connection.execute(_CELLS_BACK.encode())
    connection.execute(_ROWS_BACK.encode())
    connection.execute(AWAIT_AGAIN)
    connection.execute("ANALYZE batch_cells, batch_rows")
    columns: dict[str, set[str]] = defaultdict(set)
    for table, column in connection.execute(_BATCH_COLUMNS):
        columns[str(table)].add(str(column))
    rows: dict[tuple[str, str], list[str]] = {
        (str(table), str(action)): [str(k) for k in keys] if isinstance(keys, list) else []
        for table, action, keys in connection.execute(_BATCH_KEYS)
    }
    tables = sorted(columns.keys() | {t for t, _ in rows})
    if {"documents", "entities"} & {*tables}:
        lock_names(connection, namespace_id)
        connection.execute(LET_GO.encode(), parameters)
    if "links" in tables:
        connection.execute(TARGETS_GONE)
    for table in tables:
        if relation(table).sparse:
            connection.execute(make_rows(relation(table)).encode(), parameters)
    for table in tables:
        connection.execute(lock_rows(relation(table), exclusive=(table, "delete") in rows).encode(), parameters)
    _refuse_blocked(connection, columns, rows, parameters, catalogue)
    undone = [str(i) for (i,) in connection.execute(_BATCH_ITEMS)]
    connection.execute("SET LOCAL slowwave.undo = 'on'")
    try:
        with connection.transaction():  # a savepoint, after which the later changes can be read
            _restore(connection, columns, rows, parameters, catalogue)
    except (psycopg.IntegrityError, psycopg.DataError) as problem:  # its message quotes values of rows
        later = connection.execute(_LATER_CHANGES.encode(), parameters).fetchall()
        changed = "; ".join(f"run {run} changed {table} {row}" for run, table, row in later)
        first = f"Undo the later change first ({changed})" if later else "Undo the later change first"
        raise UndoBlocked(
            f"Beside what was changed since, the values from before would break {problem.diag.constraint_name or 'a rule'} of "
            f"{problem.diag.table_name or 'the store'}, so nothing was undone: something that they name is no longer there, or something "
            f"else has its place. {first}, or name the other items with --items.",
            tuple(str(row) for _, _, row in later),
        ) from None
    return tuple(sorted(undone))


def _restore(
    connection: Connection,
    columns: Mapping[str, set[str]],
    rows: Mapping[tuple[str, str], list[str]],
    parameters: Mapping[str, object],
    catalogue: Catalogue,
) -> None:
    """Delete, insert and write what the batch tables hold, and journal it."""
    relation = catalogue.relation
    if "links" in columns:
        connection.execute(LINKS_LATER)
    order = catalogue.parents_first({t for t, _ in rows})
    for table in (t for t in reversed(order) if (t, "delete") in rows):
        connection.execute(delete_rows(relation(table)).encode(), parameters)
    for table in (t for t in order if (t, "insert") in rows):
        connection.execute(insert_rows(relation(table), rows[table, "insert"]).encode(), parameters)
        _refuse_spared(connection, relation(table), parameters)
    for table in sorted(columns):
        connection.execute(journal_cells(relation(table), columns[table]).encode(), parameters)
        connection.execute(write_cells(relation(table), columns[table]).encode(), parameters)
    for table in sorted({*columns, *order}):
        if relation(table).sparse:
            connection.execute(drop_empty(relation(table)).encode(), parameters)
    if any(relation(table).takes for table in order):
        connection.execute(KEYS_NOW)
    if "links" in columns:
        connection.execute(LINKS_NOW)
    if "documents" in {*columns, *(table for table, _ in rows)}:
        connection.execute(MEAN_AWAITED.encode(), parameters)
        connection.execute(AWAIT_FILES.encode(), parameters)


def _forged_images(connection: Connection) -> list[Fault]:
    """Return a fault for each entry whose image does not match its hash in the journal."""
    differs = " OR ".join(f"{body}_hash IS DISTINCT FROM {sha256_of(body)}" for body in ("before", "after"))
    rows = connection.execute(
        f"SELECT j.item_id::text, j.id, j.table_name, j.column_name, j.row_id::text {_ENTRIES} AND j.imaged AND ({differs})".encode()
    )
    return [
        Fault(str(item), int(str(id_)), f"{named(table, column, row)}: its image does not match its hash")
        for item, id_, table, column, row in rows
    ]


def named(table: object, column: object, row: object) -> str:
    """Format a cell for a message, or a row if there is no column."""
    return f"{table}{'.' if column else ''}{column} of row {row}" if column else f"row {row} of {table}"


def _refuse_damaged(source: str, faults: Sequence[Fault]) -> None:
    if not faults:
        return
    message = sorted(faults)
    shown = "; ".join(
        f"item {f.item}, {f'journal entry {f.entry}' if f.entry else 'journal'}: {f.message}" for f in message[:_SHOWN]
    )
    more = f"; and {len(message) - _SHOWN} more" if len(message) > _SHOWN else ""
    raise JournalDamaged(
        f"The journal of run {source} is not what was written when it ran, so nothing was undone: {shown}{more}. Find out who wrote to "
        "night.journal and night.before_images. Other items can be undone with --items."
    )


def _refuse_blocked(
    connection: Connection,
    columns: dict[str, set[str]],
    rows: dict[tuple[str, str], list[str]],
    parameters: Mapping[str, object],
    catalogue: Catalogue,
) -> None:
    relation = catalogue.relation
    blocked: list[tuple[str, str, str, str]] = []
    for table in sorted(columns):
        found = connection.execute(stale_cells(relation(table), columns[table]).encode(), parameters)
        blocked += [(table, str(row), str(column), str(item)) for item, row, column in found]
    named = {(t, c) for t, columns_ in columns.items() for c in columns_} | {
        (t, c) for t, a in rows for c in rows[t, a]
    }
    for table, column in sorted(p for p in named if is_pointer(*p)):
        target = POINTERS[column] or table
        found = connection.execute(purged_targets(table, column, target).encode(), parameters)
        blocked += [(target, str(row), "", str(item)) for item, row in found]
    for table, action in sorted(rows):
        query = changed_rows(relation(table)) if action == "delete" else stale_inserts(relation(table))
        found = connection.execute(query.encode(), parameters)
        blocked += [(table, str(row), "", str(item)) for item, row in found]
        if action == "delete" and (query := referring_rows(relation(table))):
            found = connection.execute(query.encode(), parameters)
            blocked += [(str(other), str(by), str(column), str(item)) for item, _, other, column, by in found]
        if action == "delete" and (query := built_on(table)):
            found = connection.execute(query.encode(), parameters)
            blocked += [(str(other), str(row), str(column), str(item)) for item, other, row, column in found]
    for table, taken in [(t, taken) for t, a in sorted(rows) if a == "insert" for taken in relation(t).takes]:
        query = ends_gone(relation(table), taken, relation(taken.name).row or {})
        blocked += [(table, str(row), "", str(item)) for item, row in connection.execute(query.encode(), parameters)]
    if blocked:
        shown = "; ".join(_blocker(connection, str(parameters["source"]), *b) for b in sorted(blocked)[:10])
        more = f"; and {len(blocked) - 10} more" if len(blocked) > 10 else ""
        items = tuple(sorted({item for _, _, _, item in blocked}))
        raise UndoBlocked(
            f"{counted(len(items), 'item')} of this run {'was' if len(items) == 1 else 'were'} changed later, so nothing was undone. Undo "
            "the later run first, restore what was changed, or leave these items out: `slowwave undo "
            f"{parameters['source']} --leave-changed`. Changed: {shown}{more}.",
            tuple(dict.fromkeys(row for _, row, _, _ in sorted(blocked)))[:10],
            items,
        )


def _refuse_spared(connection: Connection, relation: Relation, parameters: Mapping[str, object]) -> None:
    """Refuse an undo that is not exact: every row must be restored.

    Only an alias may exist already, inserted by another item.
    """
    if relation.name == "entity_aliases":
        return
    if spared := connection.execute(spared_rows(relation).encode(), parameters).fetchall():
        shown = ", ".join(sorted(str(row) for _, row in spared)[:10])
        raise UndoBlocked(
            f"{len(spared)} rows of {relation.name} cannot be put back, as other rows hold their names now (an external id, a path, an "
            f"ordinal): {shown}. Nothing was undone. Remove or rename the newer rows first, or undo all the others with "
            "--leave-changed.",
            items=tuple(sorted({str(item) for item, _ in spared})),
        )


def _blocker(connection: Connection, source: str, table: str, row: str, column: str, item: str) -> str:
    """Format a blocking cell or row, with the run that wrote or deleted it last, if that was a night after ``source``."""
    found = connection.execute(_LAST_CHANGE, (row, table, column, column, source)).fetchone()
    by = f", last {'deleted' if found[1] == 'delete' else 'written'} by run {found[0]}" if found else ""
    return f"{table}{'.' if column else ''}{column} of row {row} (item {item}{by})"
