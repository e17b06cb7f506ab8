"""Apply a batch of items in one transaction of the caller: check, journal, change.

Staleness is decided only here: cell by cell, in the database, on locked rows. A stale item is left out as a whole; the rest of the batch
is applied. Cost: a constant number of statements for each table that the batch touches; with deletes also one pass over the tables that
may refer to the deleted rows, where no index helps.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy.dialects.postgresql import JSONB

from slowwave.changes.cells import (
    CLAIMS,
    RELATIONSHIPS,
    ROW,
    TOLD,
    VIRTUAL,
    Cell,
    Delete,
    Value,
    column_of,
    decode,
    inserted_id,
    literal,
    vector_literal,
)
from slowwave.changes.mutation import Identified, check, misnamed
from slowwave.changes.relations import OWN, Catalogue
from slowwave.changes.simulate import inserted_row
from slowwave.changes.sql import (
    AWAIT_FILES,
    BATCH_TABLES,
    CLAIMS_CHANGED,
    LINKS_LATER,
    LINKS_NOW,
    MEAN_AWAITED,
    PURGE_OFF,
    PURGE_ON,
    RELATIONSHIPS_CHANGED,
    TOLD_CHANGED,
    delete_rows,
    drop_empty,
    insert_rows,
    journal_cells,
    lock_names,
    lock_rows,
    make_rows,
    missing_rows,
    referring_rows,
    stale_cells,
    stale_deletes,
    stale_inserts,
    take_along,
    write_cells,
)
from slowwave.errors import Refused
from slowwave.store.logins import Connection
from slowwave.store.tables import VECTORS

_COPY_CELLS: Final = "COPY batch_cells (item_id, tbl, row_id, key, col, action, seen, value) FROM STDIN"
_COPY_ROWS: Final = "COPY batch_rows (item_id, tbl, row_id, key, named, action, body) FROM STDIN"
_NOW: Final = "SELECT now()::text"
_ENTER_MODELS: Final = """
INSERT INTO memory.vector_models (model, dimensions) SELECT * FROM unnest(%s::text[], %s::int[]) ON CONFLICT DO NOTHING
"""
_MODEL_DIMENSIONS: Final = "SELECT model, dimensions FROM memory.vector_models WHERE model = ANY(%s)"


def apply_items(
    connection: Connection,
    namespace_id: str,
    run_id: str,
    items: Sequence[Identified],
    catalogue: Catalogue = OWN,
) -> dict[str, str]:
    """Apply the items that are not stale; return the ids of the stale ones, each with a sentence that names the changed cell.

    ``catalogue`` has the relations of the store that the namespace is in. Raises ``Refused`` for an item that does what its kind may not
    do.
    """
    for item in items:
        check(item.mutation)
        if fault := misnamed(item.mutation, namespace_id):
            raise Refused(f"{item.mutation.kind} {fault}.")
        catalogue.check(item.mutation)
    parameters = {"namespace": namespace_id, "run": run_id, **catalogue.parameters}
    relation = catalogue.relation
    columns, tables = load_items(connection, namespace_id, items, catalogue)
    guarded_claims = CLAIMS in columns.get("entities", ())
    if guarded_claims or tables.keys() & {"documents", "entities"}:
        lock_names(connection, namespace_id)
    deleted = {d.table for item in items for d in item.mutation.change.deletes}
    guarded_edges = any(RELATIONSHIPS in c for c in columns.values())
    sparse = [relation(table) for table in sorted(columns) if relation(table).sparse]
    for one in sparse:
        connection.execute(make_rows(one).encode(), parameters)
    for table in sorted(columns.keys() | tables.keys() | deleted):
        exclusive = table in deleted or (table == "entities" and guarded_edges)
        connection.execute(lock_rows(relation(table), exclusive=exclusive).encode(), parameters)
    stale = _stale_deletes(connection, deleted, parameters, catalogue)
    stale |= _stale(
        connection, columns, tables, parameters, catalogue, with_edges=guarded_edges, with_claims=guarded_claims
    )
    stale |= _register_models(connection, [item for item in items if item.id not in stale])
    if stale:
        for batch in ("batch_cells", "batch_rows"):
            connection.execute(f"DELETE FROM {batch} WHERE item_id = ANY(%s)".encode(), (list(stale),))
    fresh = [item for item in items if item.id not in stale]
    for item_id, why in catalogue.unexplained(connection, fresh).items():
        raise Refused(f"Item {item_id} was not applied. {why}")
    written: dict[str, set[str]] = defaultdict(set)
    for item in fresh:
        for write in item.mutation.change.writes:
            written[write.cell.table].add(write.cell.column)
    if "links" in written:
        connection.execute(LINKS_LATER)
    for table in sorted(written):
        connection.execute(journal_cells(relation(table), written[table]).encode(), parameters)
        connection.execute(write_cells(relation(table), written[table]).encode(), parameters)
    for table in catalogue.parents_first({i.table for item in fresh for i in item.mutation.change.inserts}):
        connection.execute(insert_rows(relation(table), tables[table]).encode(), parameters)
    if going := {d.table for item in fresh for d in item.mutation.change.deletes}:
        for table, taken in [(t, taken) for t in sorted(going) for taken in relation(t).takes]:
            connection.execute(take_along(relation(table), taken).encode())
            connection.execute(lock_rows(relation(taken.name), exclusive=True).encode(), parameters)
            going.add(taken.name)
        connection.execute(PURGE_ON)
        for table in reversed(catalogue.parents_first(going)):
            connection.execute(delete_rows(relation(table)).encode(), parameters)
        connection.execute(PURGE_OFF)
    if "links" in written:
        connection.execute(LINKS_NOW)
    for one in sparse:
        connection.execute(drop_empty(one).encode(), parameters)
    if "documents" in written or "documents" in tables:
        connection.execute(MEAN_AWAITED.encode(), parameters)
        connection.execute(AWAIT_FILES.encode(), parameters)
    return stale


def load_items(
    connection: Connection, namespace_id: str, items: Iterable[Identified], catalogue: Catalogue = OWN
) -> tuple[dict[str, set[str]], dict[str, list[str]]]:
    """Copy the cells and rows of the items into the batch tables.

    Returns the columns that the cells name, by table, and the columns of new rows, by table.
    """
    connection.execute(BATCH_TABLES.encode())
    now = _now(connection)
    columns: dict[str, set[str]] = defaultdict(set)
    rows: list[tuple[str, str, str, str, bool, dict[str, object]]] = []
    gone: list[tuple[str, str, str, str, dict[str, object]]] = []
    with connection.cursor() as cursor, cursor.copy(_COPY_CELLS) as copy:
        for item in items:
            for w in item.mutation.change.writes:
                c = w.cell
                columns[c.table].add(c.column)
                own = inserted_id(item.id, int(str(w.value))) if w.action == "row" else None
                seen, value = text_of(catalogue, c, w.seen), own or text_of(catalogue, c, w.value)
                action = "set" if own else w.action
                copy.write_row((item.id, c.table, c.row, c.key, c.column, action, seen, value))
            for g in item.mutation.change.guards:
                columns[g.table].update(g.columns)
                for c, seen in g.cells():
                    copy.write_row(
                        (item.id, c.table, c.row, c.key, c.column, "guard", text_of(catalogue, c, seen), None)
                    )
            for n, i in enumerate(item.mutation.change.inserts):
                row, values = i.named(item.id)
                stamped = dict.fromkeys(i.stamped, now)
                if catalogue.relation(i.table).row is not None:
                    rows.append((item.id, i.table, row, i.key, True, {**values, **stamped}))
                else:
                    rows.append(_new_row(item.id, n, namespace_id, i.table, row, i.key, {**values, **stamped}))
            for d in item.mutation.change.deletes:
                gone.append((item.id, d.table, d.row, d.key, _seen_row(d)))
    if rows or gone:
        with connection.cursor() as cursor, cursor.copy(_COPY_ROWS) as copy:
            for item_id, table, row_id, key, named, body in rows:
                copy.write_row((item_id, table, row_id, key, named, "insert", json.dumps(body)))
            for item_id, table, row_id, key, seen in gone:
                copy.write_row((item_id, table, row_id, key, True, "delete", json.dumps(seen)))
    connection.execute("ANALYZE batch_cells, batch_rows")
    bodies: dict[str, set[str]] = defaultdict(set)
    for _, table, _, _, _, body in rows:
        bodies[table] |= body.keys()
    return columns, {table: sorted(names) for table, names in bodies.items()}


def _now(connection: Connection) -> str:
    """Return the time that the database stamps in this transaction, as text."""
    row = connection.execute(_NOW).fetchone()
    return str(row[0]) if row else ""


def _new_row(
    item_id: str, n: int, namespace_id: str, table: str, row: str, key: str, values: dict[str, Value]
) -> tuple[str, str, str, str, bool, dict[str, object]]:
    if table in VECTORS:
        body: dict[str, object] = {**values, "id": row, "model": key, "vector": vector_literal(str(values["vector"]))}
    else:
        body = {c: _body(table, c, v) for c, v in inserted_row(item_id, n, table, values, row).items()}
    body["namespace_id"] = namespace_id
    return item_id, table, str(body["id"]), key, bool(row), body


def _body(table: str, column: str, value: object) -> object:
    """Convert a value for ``jsonb_populate_record``: the plan's JSON text of a ``jsonb`` column is parsed, others stay."""
    return json.loads(value) if isinstance(value, str) and isinstance(column_of(table, column).type, JSONB) else value


def _stale_deletes(
    connection: Connection, tables: Iterable[str], parameters: Mapping[str, object], catalogue: Catalogue
) -> dict[str, str]:
    stale: dict[str, str] = {}
    for table in sorted(tables):
        for item, row, column in connection.execute(stale_deletes(catalogue.relation(table)).encode(), parameters):
            changed = f"{changed_cell(table, column, row)} is no longer what the plan saw."
            stale.setdefault(str(item), changed if column else f"{table} has no row {row} any more.")
        if query := referring_rows(catalogue.relation(table), unplanned=True):
            for item, row, other, column, by in connection.execute(query.encode(), parameters):
                named = f"Row {row} of {table} is named by row {by} of {other} ({column}), which the plan did not see."
                stale.setdefault(str(item), named)
    return stale


def _stale(
    connection: Connection,
    columns: dict[str, set[str]],
    tables: dict[str, list[str]],
    parameters: Mapping[str, object],
    catalogue: Catalogue,
    *,
    with_edges: bool,
    with_claims: bool,
) -> dict[str, str]:
    stale: dict[str, str] = {}
    for table in sorted(columns):
        if not (named := columns[table] - VIRTUAL):
            continue
        query = stale_cells(catalogue.relation(table), named)
        for item, row, column in connection.execute(query.encode(), parameters):
            stale.setdefault(str(item), f"{table}.{column} of row {row} is no longer what the plan saw.")
    for table in sorted(tables):
        for item, row in connection.execute(stale_inserts(catalogue.relation(table)).encode(), parameters):
            stale.setdefault(str(item), f"{table} has row {row} already, which the plan did not see.")
        if query := missing_rows(catalogue.relation(table)):
            for item, column, row in connection.execute(query.encode(), parameters):
                stale.setdefault(str(item), f"{table}.{column} would name row {row}, which is not in the namespace.")
    if with_edges:
        for item, row in connection.execute(RELATIONSHIPS_CHANGED.encode()):
            stale.setdefault(str(item), f"The relationships of entity {row} are no longer those that the plan saw.")
    if TOLD in columns.get("memories", ()):
        for item, row in connection.execute(TOLD_CHANGED.encode(), parameters):
            stale.setdefault(str(item), f"Memory {row} no longer tells what the plan saw.")
    if with_claims:
        for item, row in connection.execute(CLAIMS_CHANGED.encode(), parameters):
            stale.setdefault(
                str(item),
                f"Since the plan, something was said of entity {row} or forgotten, which the plan did not see.",
            )
    return stale


def _register_models(connection: Connection, items: Iterable[Identified]) -> dict[str, str]:
    """Register the models of a batch's vectors; return the items whose vectors have another length than their model's.

    The applier may only register a model. The owner builds its index (``slowwave migrate``); until then searches are exact.
    """
    lengths = {
        item.id: {
            (i.key, len(decode(str(i.values["vector"])))) for i in item.mutation.change.inserts if i.table in VECTORS
        }
        for item in items
    }
    if not (wanted := dict(pair for pairs in lengths.values() for pair in pairs)):
        return {}
    connection.execute(_ENTER_MODELS, (list(wanted), list(wanted.values())))
    found = connection.execute(_MODEL_DIMENSIONS, (list(wanted),))
    known = {str(model): int(str(dimensions)) for model, dimensions in found}
    return {
        item: f"The model {model} has vectors of {known[model]} numbers, and the plan's have {length}."
        for item, pairs in lengths.items()
        for model, length in pairs
        if known[model] != length
    }


def text_of(catalogue: Catalogue, cell: Cell, value: Value) -> str | None:
    """Return the text that PostgreSQL casts to the type of a cell, or None for null."""
    if cell.column in VIRTUAL:
        return None if value is None else literal(value)
    if isinstance(value, str):  # most values are strings or null
        return vector_literal(value) if catalogue.relation(cell.table).fields(cell.column).vector else value
    return None if value is None else literal(value)


def _seen_row(delete: Delete) -> dict[str, object]:
    return {c: _text(delete.table, c, v) for c, v in delete.seen.items()}


def _text(table: str, column: str, value: Value) -> str | None:
    if isinstance(value, str):
        return vector_literal(value) if table in VECTORS and column == "vector" else value
    return None if value is None else literal(value)


def changed_cell(table: str, column: object, row: object) -> str:
    """Format a cell for a message; the cell ``ROW``, a hash of the whole row, is named as the row itself."""
    return f"{table}.{column} of row {row}" if column != ROW else f"Row {row} of {table}"
