"""The SQL of applying and undoing: one statement a table and step, whatever the number of items and rows.

Cells of a batch lie in the temporary table ``batch_cells``, new and deleted rows in ``batch_rows``. Identifiers come from the
catalogue, values are always cast from the text columns of those tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from slowwave.mutations.cells import (
    SHARED,
    column_of,
    is_counter,
    references_to,
    row_columns,
    sql_type,
    table_of,
)
from slowwave.mutations.pointers import names_of
from slowwave.store.tables import COUNTERS, DERIVED_COLUMNS, VECTORS, metadata

BATCH_TABLES: Final = """
CREATE TEMPORARY TABLE IF NOT EXISTS batch_cells (
  journal_id bigint NOT NULL DEFAULT nextval('night.journal_id_seq'), undoes bigint, item_id uuid NOT NULL,
  tbl text NOT NULL, row_id uuid NOT NULL, key text NOT NULL, col text NOT NULL, action text NOT NULL, seen text, value text
) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS batch_rows (
  journal_id bigint NOT NULL DEFAULT nextval('night.journal_id_seq'), undoes bigint, item_id uuid NOT NULL,
  tbl text NOT NULL, row_id uuid NOT NULL, key text NOT NULL, named boolean NOT NULL, action text NOT NULL, body jsonb
) ON COMMIT DELETE ROWS;
"""

RELATIONSHIPS_CHANGED: Final = """
SELECT c.item_id::text, c.row_id::text FROM batch_cells c
LEFT JOIN LATERAL (
  SELECT array_agg(u.id ORDER BY u.id) AS ids FROM (
    SELECT r.id FROM memory.relationships r WHERE r.source_entity_id = c.row_id
    UNION SELECT r.id FROM memory.relationships r WHERE r.target_entity_id = c.row_id) u
) incident ON true
WHERE c.col = '#relationships' AND coalesce(incident.ids, '{}') <> c.seen::uuid[]
"""


PURGE_ON: Final = "SET LOCAL slowwave.purge = 'on'"
PURGE_OFF: Final = "SET LOCAL slowwave.purge = 'off'"
"""Between them versions of a memory may be deleted, which are append-only otherwise."""


_USED: Final = ("last_accessed_at",)
_FOUND_OUT: Final = frozenset({"links"})


@cache
def _ranks() -> dict[str, int]:
    return {table.name: n for n, table in enumerate(metadata.sorted_tables)}


def parents_first(tables: Iterable[str]) -> list[str]:
    """Tables in an order in which rows may be inserted; the reverse is one in which they may be deleted."""
    return sorted(tables, key=lambda table: _ranks()[table])


def _match(table: str, alias: str) -> str:
    """The join of a batch row with the table's row, inside one namespace."""
    key = f" AND t.model = {alias}.key" if table in VECTORS else ""
    return f"t.id = {alias}.row_id{key} AND t.namespace_id = %(namespace)s"


def lock_rows(table: str, *, exclusive: bool) -> str:
    """Lock the batch's rows of a table in id order; ``exclusive`` keeps new foreign keys away as well."""
    strength = "FOR UPDATE" if exclusive else "FOR NO KEY UPDATE"
    return (
        f"SELECT count(*) FROM (SELECT 1 FROM memory.{table} t WHERE t.namespace_id = %(namespace)s AND t.id IN "
        f"(SELECT row_id FROM batch_cells WHERE tbl = '{table}' UNION SELECT row_id FROM batch_rows WHERE tbl = '{table}') "
        f"ORDER BY t.id {strength}) locked"
    )


def stale_cells(table: str, columns: Iterable[str]) -> str:
    """Items of which a cell no longer holds what was seen, or whose row is gone: (item, row, column)."""
    cases = " ".join(f"WHEN '{c}' THEN t.{c} IS DISTINCT FROM c.seen::{sql_type(table, c)}" for c in sorted(columns))
    return (
        f"SELECT c.item_id::text, c.row_id::text, c.col FROM batch_cells c LEFT JOIN memory.{table} t ON {_match(table, 'c')} "
        f"WHERE c.tbl = '{table}' AND c.col <> '#relationships' "
        f"AND (t.id IS NULL OR (c.action <> 'add' AND CASE c.col {cases} ELSE false END))"
    )


def stale_inserts(table: str) -> str:
    """Items that would insert a named row which is there already, a row whose id another namespace has, a page whose path, a corpus whose
    root or an entity whose reference another one has, or a promotion of a memory that is promoted: (item, row that is there).
    """
    live = "t.invalidated_at IS NULL AND"
    only = {
        "pages": f"b.body ->> 'path' = t.path AND {live}",
        "promotions": f"(b.body ->> 'memory_id')::uuid = t.memory_id AND {live}",
        "documents": "(b.body ->> 'corpus_id')::uuid = t.corpus_id AND b.body ->> 'path' = t.path "
        f"AND b.body ->> 'invalidated_at' IS NULL AND {live}",
        "corpora": f"b.body ->> 'root' = t.root AND b.row_id <> t.id AND {live}",
        "entities": "(b.body ->> 'source', b.body ->> 'external_id') = (t.source, t.external_id) AND",
    }
    taken = f" OR ({only[table]} t.namespace_id = %(namespace)s)" if table in only else ""
    key = " AND t.model = b.key" if table in VECTORS else ""
    named = "false" if table in SHARED else "b.named"
    there = f"(t.id = b.row_id{key} AND ({named} OR t.namespace_id <> %(namespace)s)){taken}"
    return (
        f"SELECT b.item_id::text, t.id::text FROM batch_rows b JOIN memory.{table} t ON {there} "
        f"WHERE b.tbl = '{table}' AND b.action = 'insert'"
    )


def missing_rows(table: str) -> str:
    """Items of which a new row names one that is not in the namespace, and that the item does not insert: (item, column, that row).
    Empty where nothing of the table names another row.
    """
    found = [
        f"SELECT b.item_id::text, '{column}', b.body ->> '{column}' FROM batch_rows b WHERE b.tbl = '{table}' AND b.action = 'insert' "
        f"AND b.body ->> '{column}' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory.{target} t "
        f"WHERE t.id = (b.body ->> '{column}')::uuid AND t.namespace_id = %(namespace)s) AND NOT EXISTS (SELECT 1 FROM batch_rows o "
        f"WHERE o.item_id = b.item_id AND o.tbl = '{target}' AND o.action = 'insert' AND o.row_id = (b.body ->> '{column}')::uuid)"
        for column, target in names_of(table)
    ]
    return " UNION ALL ".join(found)


def stale_deletes(table: str) -> str:
    """Items that would delete a row which is no longer as it was seen: (item, row, column), no column when it is gone."""
    changed = " ".join(
        f"WHEN t.{c} IS DISTINCT FROM (b.body ->> '{c}')::{sql_type(table, c)} THEN '{c}'" for c in row_columns(table)
    )
    return (
        f"SELECT b.item_id::text, b.row_id::text, d.col FROM batch_rows b LEFT JOIN memory.{table} t ON {_match(table, 'b')} "
        f"CROSS JOIN LATERAL (SELECT CASE WHEN t.id IS NULL THEN '' {changed} END AS col) d "
        f"WHERE b.tbl = '{table}' AND b.action = 'delete' AND d.col IS NOT NULL"
    )


def referring_rows(table: str) -> str:
    """Rows that name a row which the batch deletes, and which its item neither deletes nor points elsewhere:
    (item, deleted row, referring table, column, referring row). One pass over each table that may refer; empty when none may.
    """
    if table in SHARED:
        return ""
    found = [
        f"SELECT b.item_id::text, b.row_id::text, '{child}', '{column}', x.id::text "
        f"FROM batch_rows b JOIN memory.{child} x ON x.{column} = b.row_id WHERE b.tbl = '{table}' AND b.action = 'delete' "
        f"AND NOT EXISTS (SELECT 1 FROM batch_rows d WHERE d.item_id = b.item_id AND d.tbl = '{child}' AND d.action = 'delete' "
        f"AND d.row_id = x.id{' AND d.key = x.model' if child in VECTORS else ''}) "
        f"AND NOT EXISTS (SELECT 1 FROM batch_cells w WHERE w.item_id = b.item_id AND w.tbl = '{child}' AND w.row_id = x.id "
        f"AND w.col = '{column}' AND w.action = 'set' AND w.value IS DISTINCT FROM b.row_id::text)"
        for child, column in references_to(table)
    ]
    return " UNION ALL ".join(found)


def journal_cells(table: str, columns: Iterable[str]) -> str:
    """Journal what the writes are about to change, with before and after images."""
    columns = sorted(columns)
    before = " ".join(f"WHEN '{c}' THEN t.{c}::text" for c in columns)
    after = " ".join(f"WHEN '{c}' THEN (c.value::{sql_type(table, c)})::text" for c in columns)
    return f"""
WITH images AS MATERIALIZED (
  SELECT c.journal_id, c.item_id, c.row_id, c.key, c.col, c.undoes,
    CASE WHEN c.action = 'add' THEN 'add' ELSE 'set' END AS action,
    CASE WHEN c.action <> 'add' THEN CASE c.col {before} END END AS before,
    CASE c.action WHEN 'now' THEN now()::text WHEN 'item' THEN c.item_id::text WHEN 'add' THEN c.value
      ELSE CASE c.col {after} END END AS after
  FROM batch_cells c JOIN memory.{table} t ON {_match(table, "c")}
  WHERE c.tbl = '{table}' AND c.action <> 'guard'
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, column_name, action,
    before_hash, after_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, '{table}', row_id, key, col, action, {hash_of("before")}, {hash_of("after")}, undoes
  FROM images ORDER BY journal_id
)
INSERT INTO night.before_images (journal_id, namespace_id, before, after)
SELECT journal_id, %(namespace)s, before, after FROM images ORDER BY journal_id
"""


def write_cells(table: str, columns: Iterable[str]) -> str:
    """Change the rows of a table, each once, whatever the number of its cells and of the items that write them."""
    picks: list[str] = []
    sets: list[str] = []
    for c in sorted(columns):
        if is_counter(table, c):
            picks.append(f"coalesce(sum(value::bigint) FILTER (WHERE col = '{c}'), 0) AS d_{c}")
            sets.append(f"{c} = t.{c} + p.d_{c}")
        else:
            stamped = "CASE action WHEN 'now' THEN now()::text WHEN 'item' THEN item_id::text ELSE value END"
            picks.append(f"bool_or(col = '{c}') AS w_{c}, max({stamped}) FILTER (WHERE col = '{c}') AS v_{c}")
            sets.append(f"{c} = CASE WHEN p.w_{c} THEN p.v_{c}::{sql_type(table, c)} ELSE t.{c} END")
    return (
        f"UPDATE memory.{table} t SET {', '.join(sets)} FROM (SELECT row_id, key, {', '.join(picks)} FROM batch_cells "
        f"WHERE tbl = '{table}' AND action <> 'guard' GROUP BY row_id, key) p WHERE {_match(table, 'p')}"
    )


def insert_rows(table: str, columns: Sequence[str]) -> str:
    """Insert the batch's new rows and journal those that were not there already; ``columns`` are those of the bodies."""
    for c in columns:
        column_of(table, c)
    names = ", ".join(columns)
    picked = ", ".join(f"coalesce(r.{c}, now())" if c == "recorded_at" else f"r.{c}" for c in columns)
    # A shared row that is there already is journalled as well: it goes when the last item that needs it is undone.
    there = f"(SELECT * FROM added UNION SELECT * FROM memory.{table})" if table in SHARED else "added"
    return f"""
WITH added AS (
  INSERT INTO memory.{table} AS t ({names})
  SELECT {picked} FROM batch_rows b, jsonb_populate_record(NULL::memory.{table}, b.body) r
  WHERE b.tbl = '{table}' AND b.action = 'insert' ORDER BY b.journal_id
  ON CONFLICT DO NOTHING RETURNING t.*
), images AS MATERIALIZED (
  SELECT b.journal_id, b.item_id, b.row_id, b.key, b.undoes, {_row_image(table, "t")} AS after
  FROM {there} t JOIN batch_rows b ON b.tbl = '{table}' AND b.action = 'insert' AND {_match(table, "b")}
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, action, after_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, '{table}', row_id, key, 'insert', {hash_of("after")}, undoes
  FROM images ORDER BY journal_id
)
INSERT INTO night.before_images (journal_id, namespace_id, before, after)
SELECT journal_id, %(namespace)s, NULL, after FROM images ORDER BY journal_id
"""


def spared_rows(table: str) -> str:
    """Rows that the batch was to insert and that are not there, as another row holds a name of theirs: (item, row)."""
    return (
        f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b LEFT JOIN memory.{table} t ON {_match(table, 'b')} "
        f"WHERE b.tbl = '{table}' AND b.action = 'insert' AND t.id IS NULL"
    )


def changed_rows(table: str) -> str:
    """Undo: rows to delete that are gone or no longer as they were inserted: (item, row). Use of a row is no change of it, and what syncs
    find out anew they may have changed.
    """
    used = "".join(f" - '{c}'" for c in (*COUNTERS.get(table, ()), *_USED) if c in table_of(table).c)
    if table in _FOUND_OUT:
        return f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b WHERE b.tbl = '{table}' AND false"
    return (
        f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b LEFT JOIN memory.{table} t ON {_match(table, 'b')} "
        f"WHERE b.tbl = '{table}' AND b.action = 'delete' AND {_row_image(table, 't')}::jsonb{used} IS DISTINCT FROM b.body{used}"
    )


def purged_targets(table: str, column: str, target: str) -> str:
    """Undo: items that would point a cell or a row that they bring back at a row of ``target`` which a run deleted: (item, that row)."""
    return f"""
SELECT p.item_id::text, p.named::text FROM (
  SELECT item_id, (body ->> '{column}')::uuid AS named FROM batch_rows WHERE tbl = '{table}' AND action = 'insert'
  UNION SELECT item_id, value::uuid FROM batch_cells WHERE tbl = '{table}' AND col = '{column}' AND action = 'set'
) p WHERE p.named IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM memory.{target} t WHERE t.id = p.named)
  AND NOT EXISTS (SELECT 1 FROM batch_rows b WHERE b.tbl = '{target}' AND b.row_id = p.named AND b.action = 'insert')
  AND EXISTS (SELECT 1 FROM night.journal j WHERE j.row_id = p.named AND j.table_name = '{target}' AND j.action = 'delete')
"""


def delete_rows(table: str) -> str:
    """Journal the rows that the batch deletes, whole, and delete them."""
    return f"""
WITH images AS MATERIALIZED (
  SELECT b.journal_id, b.item_id, b.row_id, b.key, b.undoes, {_row_image(table, "t")} AS before
  FROM batch_rows b JOIN memory.{table} t ON {_match(table, "b")} WHERE b.tbl = '{table}' AND b.action = 'delete'
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, action, before_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, '{table}', row_id, key, 'delete', {hash_of("before")}, undoes
  FROM images ORDER BY journal_id
), kept AS (
  INSERT INTO night.before_images (journal_id, namespace_id, before, after)
  SELECT journal_id, %(namespace)s, before, NULL FROM images ORDER BY journal_id
)
DELETE FROM memory.{table} t USING images b WHERE {_match(table, "b")}{_needed_no_more(table)}
"""


def _needed_no_more(table: str) -> str:
    """That no row names a shared one any more."""
    if table not in SHARED:
        return ""
    return "".join(
        f" AND NOT EXISTS (SELECT 1 FROM memory.{child} x WHERE x.{column} = t.id)"
        for child, column in references_to(table)
    )


def unsealed_cells(table: str, columns: Iterable[str], *, as_text: bool = False) -> str:
    """Undo: entries of cells whose images are not what the sealed items in the batch tables saw and wrote: (item, entry, row, column).

    Values compare by the column's type, so an image that is no value of it raises ``DataError``; ``as_text`` compares their text.
    """
    columns = sorted(columns)

    def differs(image: str, sealed: str) -> str:
        kinds = {c: sql_type(table, c) for c in columns}
        other = {c: "true" if as_text else f"e.{image}::{k} IS DISTINCT FROM c.{sealed}::{k}" for c, k in kinds.items()}
        cases = " ".join(
            f"WHEN '{c}' THEN CASE WHEN e.{image} IS NOT DISTINCT FROM (c.{sealed}::{k})::text THEN false ELSE {other[c]} END"
            for c, k in kinds.items()
        )
        return f"CASE c.col {cases} END"

    return (
        "SELECT e.item_id::text, e.id, e.row_id::text, e.column_name FROM undo_entries e JOIN batch_cells c ON c.item_id = e.item_id "
        "AND c.tbl = e.table_name AND c.row_id = e.row_id AND c.key = e.row_key AND c.col = e.column_name "
        f"WHERE c.tbl = '{table}' AND c.action <> 'guard' AND e.imaged AND e.undone_by IS NULL AND CASE c.action "
        f"WHEN 'add' THEN e.after IS DISTINCT FROM c.value WHEN 'now' THEN {differs('before', 'seen')} "
        f"WHEN 'item' THEN e.after IS DISTINCT FROM c.item_id::text OR {differs('before', 'seen')} "
        f"ELSE {differs('before', 'seen')} OR {differs('after', 'value')} END"
    )


def unsealed_deletes(table: str) -> str:
    """Undo: entries of deleted rows whose image is not the row that the sealed item saw: (item, entry, row, column)."""
    changed = " ".join(
        f"WHEN r.{c} IS DISTINCT FROM (b.body ->> '{c}')::{sql_type(table, c)} THEN '{c}'" for c in row_columns(table)
    )
    return (
        f"SELECT e.item_id::text, e.id, e.row_id::text, d.col FROM undo_entries e JOIN batch_rows b ON b.item_id = e.item_id "
        f"AND b.tbl = e.table_name AND b.row_id = e.row_id AND b.key = e.row_key AND b.action = e.action "
        f"CROSS JOIN LATERAL jsonb_populate_record(NULL::memory.{table}, e.before::jsonb) r "
        f"CROSS JOIN LATERAL (SELECT CASE WHEN r.id <> e.row_id OR r.namespace_id <> %(namespace)s THEN 'id' {changed} END AS col) d "
        f"WHERE b.tbl = '{table}' AND b.action = 'delete' AND e.imaged AND e.undone_by IS NULL AND d.col IS NOT NULL"
    )


def _row_image(table: str, alias: str) -> str:
    derived = "".join(f" - '{c}'" for c in DERIVED_COLUMNS if c in table_of(table).c)
    return f"(to_jsonb({alias}.*){derived})::text"


def hash_of(column: str) -> str:
    """SHA-256 of a column's text, as the journal keeps it; null of null."""
    return f"encode(sha256(convert_to({column}, 'UTF8')), 'hex')"
