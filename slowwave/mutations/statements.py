"""The SQL of applying and undoing: one statement a table and step, whatever the number of items and rows.

Cells of a batch lie in the temporary table ``batch_cells``, new and deleted rows in ``batch_rows``. Table, key, columns and scope come from
the catalogue (``Relation``), values are always cast from the text columns of those tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.catalogue import Field, Relation, quoted_name, quoted_path, quoted_text, sha256_of
from slowwave.mutations.cells import SHARED, row_columns, sql_type, table_of
from slowwave.mutations.change import ROW
from slowwave.mutations.pointers import names_of, references_to
from slowwave.mutations.taken_rows import taken_rows
from slowwave.store.tables import COUNTERS, VECTORS

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

PURGE_ON: Final = "SET LOCAL slowwave.purge = 'on'"
PURGE_OFF: Final = "SET LOCAL slowwave.purge = 'off'"
"""Between them versions of a memory may be deleted, which are append-only otherwise."""


_USED: Final = ("last_accessed_at",)
_FOUND_OUT: Final = frozenset({"links"})


def lock_rows(relation: Relation, *, exclusive: bool) -> str:
    """Lock the batch's rows of a table in the order of its key; ``exclusive`` keeps new foreign keys away as well."""
    strength = "FOR UPDATE" if exclusive else "FOR NO KEY UPDATE"
    own, _ = zip(*relation.key, strict=True)
    named = ", ".join(other.format("b") for _, other in relation.key)
    tbl = quoted_text(relation.name)
    return (
        f"SELECT count(*) FROM (SELECT 1 FROM {relation.sql} t WHERE {relation.scope} AND ({', '.join(own)}) IN "
        f"(SELECT {named} FROM batch_cells b WHERE tbl = {tbl} UNION SELECT {named} FROM batch_rows b WHERE tbl = {tbl}) "
        f"ORDER BY {relation.order} {strength}) locked"
    )


def make_rows(relation: Relation) -> str:
    """Rows of a sparse relation that the batch names and that are not there, empty."""
    columns = ", ".join(own.removeprefix("t.") for own, _ in relation.key)
    named = ", ".join(other.format("b") for _, other in relation.key)
    return (
        f"INSERT INTO {relation.sql} ({columns}) SELECT DISTINCT {named} FROM batch_cells b "
        f"WHERE b.tbl = {quoted_text(relation.name)} ON CONFLICT DO NOTHING"
    )


def drop_empty(relation: Relation) -> str:
    """Rows of a sparse relation in the namespace that hold nothing go."""
    return f"DELETE FROM {relation.sql} t WHERE t.namespace_id = %(namespace)s AND t.{quoted_name(relation.sparse)} = '{{}}'"


def stale_cells(relation: Relation, columns: Iterable[str]) -> str:
    """Items of which a cell no longer holds what was seen, or whose row is gone: (item, row, column)."""
    cases = " ".join(f"WHEN {quoted_text(c)} THEN {relation.differs(c, 'c.seen')}" for c in sorted(columns))
    return (
        f"SELECT c.item_id::text, c.row_id::text, c.col FROM batch_cells c LEFT JOIN {relation.sql} t ON {relation.match('c')} "
        f"WHERE c.tbl = {quoted_text(relation.name)} AND left(c.col, 1) <> '#' "
        f"AND ({relation.absent} OR (c.action <> 'add' AND CASE c.col {cases} ELSE false END))"
    )


def stale_inserts(relation: Relation) -> str:
    """Items that would insert a named row which is there already, a row whose id another namespace has, a page whose path, a corpus whose
    root or an entity whose reference another one has, or a promotion of a memory that is promoted: (item, row that is there). A row that
    items share may be there, where it is the same one (``SHARED``).
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
    taken = f" OR ({only[relation.name]} {relation.scope})" if relation.name in only else ""
    same = SHARED.get(relation.name, ())
    others = (f"(b.body ->> '{c}')::{sql_type(relation.name, c)} IS DISTINCT FROM t.{c}" for c in same)
    named = f"({' OR '.join(others)})" if same else "b.named"
    there = f"({relation.same_key('b')} AND ({named} OR NOT coalesce({relation.scope}, false))){taken}"
    shown = "t.id" if relation.row is None else "b.row_id"
    return (
        f"SELECT b.item_id::text, {shown}::text FROM batch_rows b JOIN {relation.sql} t ON {there} "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'insert'"
    )


def missing_rows(relation: Relation) -> str:
    """Items of which a new row names one that is not in the namespace, and that the item does not insert: (item, column, that row).
    Empty where nothing of the table names another row.
    """
    table = relation.name
    if relation.row is not None:
        return ""
    found = [
        f"SELECT b.item_id::text, '{column}', b.body ->> '{column}' FROM batch_rows b WHERE b.tbl = '{table}' AND b.action = 'insert' "
        f"AND b.body ->> '{column}' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory.{target} t "
        f"WHERE t.id = (b.body ->> '{column}')::uuid AND t.namespace_id = %(namespace)s) AND NOT EXISTS (SELECT 1 FROM batch_rows o "
        f"WHERE o.item_id = b.item_id AND o.tbl = '{target}' AND o.action = 'insert' AND o.row_id = (b.body ->> '{column}')::uuid)"
        for column, target in names_of(table)
    ]
    return " UNION ALL ".join(found)


def stale_deletes(relation: Relation) -> str:
    """Items that would delete a row which is no longer as it was seen: (item, row, column), no column when it is gone."""
    if relation.row is None:
        changed = " ".join(
            f"WHEN {relation.differs(c, f'(b.body ->> {quoted_text(c)})')} THEN '{c}'"
            for c in row_columns(relation.name)
        )
    else:
        changed = f"WHEN {relation.row_hash('t')} IS DISTINCT FROM b.body ->> '{ROW}' THEN '{ROW}'"
    return (
        f"SELECT b.item_id::text, b.row_id::text, d.col FROM batch_rows b LEFT JOIN {relation.sql} t ON {relation.match('b')} "
        f"CROSS JOIN LATERAL (SELECT CASE WHEN {relation.absent} THEN '' {changed} END AS col) d "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'delete' AND d.col IS NOT NULL"
    )


def referring_rows(relation: Relation, *, unplanned: bool = False) -> str:
    """Rows that name a row which the batch deletes, and which its item neither deletes nor points elsewhere:
    (item, deleted row, referring table, column, referring row). One pass over each table that may refer; empty when none may.
    ``unplanned`` says that what goes along is taken along.
    """
    table = relation.name
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
    for child in relation.children:
        named = " AND ".join(
            f"{x} = {other.format('b')}" for x, (_, other) in zip(child.parent_key, relation.key, strict=True)
        )
        own = f"ARRAY[{', '.join(f'{x}::text' for x in child.own_key)}]"
        found.append(
            f"SELECT b.item_id::text, b.row_id::text, {quoted_text(child.name)}, '', {own}::text "
            f"FROM batch_rows b JOIN {child.sql} x ON {named} WHERE b.tbl = {quoted_text(table)} AND b.action = 'delete' "
            f"AND NOT EXISTS (SELECT 1 FROM batch_rows d WHERE d.item_id = b.item_id AND d.tbl = {quoted_text(child.name)} "
            f"AND d.action = 'delete' AND d.key::jsonb = to_jsonb({own}))"
        )
    found += [taken_rows(relation, taken, unplanned=unplanned) for taken in relation.takes]
    return " UNION ALL ".join(found)


def journal_cells(relation: Relation, columns: Iterable[str]) -> str:
    """Journal what the writes are about to change, with before and after images."""
    columns = sorted(columns)
    before = " ".join(f"WHEN {quoted_text(c)} THEN {relation.fields(c).value}::text" for c in columns)
    after = " ".join(f"WHEN {quoted_text(c)} THEN (c.value::{relation.fields(c).type})::text" for c in columns)
    set_ = f"CASE WHEN c.action = 'add' THEN c.value ELSE CASE c.col {after} END END"
    tbl = quoted_text(relation.name)
    return f"""
WITH images AS MATERIALIZED (
  SELECT c.journal_id, c.item_id, c.row_id, c.key, c.col, c.undoes,
    CASE WHEN c.action = 'add' THEN 'add' ELSE 'set' END AS action,
    CASE WHEN c.action <> 'add' THEN CASE c.col {before} END END AS before,
    {relation.stamp(columns, "c.col", "c.item_id", set_, "c.action")} AS after
  FROM batch_cells c JOIN {relation.sql} t ON {relation.match("c")}
  WHERE c.tbl = {tbl} AND c.action <> 'guard'
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, column_name, action,
    before_hash, after_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, {tbl}, row_id, key, col, action, {sha256_of("before")}, {sha256_of("after")}, undoes
  FROM images ORDER BY journal_id
)
INSERT INTO night.before_images (journal_id, namespace_id, before, after)
SELECT journal_id, %(namespace)s, before, after FROM images ORDER BY journal_id
"""


def write_cells(relation: Relation, columns: Iterable[str]) -> str:
    """Change the rows of a table, each once, whatever the number of its cells and of the items that write them: cells of one JSON column
    make one expression, in which a null takes what it names away.
    """
    columns = sorted(columns)
    value = relation.stamp(columns, "col", "item_id", "value", "action")
    picks: list[str] = []
    cells: list[tuple[Field, int]] = []
    for n, c in enumerate(columns):
        cell, name = relation.fields(c), quoted_text(c)
        cells.append((cell, n))
        if cell.counter:
            picks.append(f"coalesce(sum(value::bigint) FILTER (WHERE col = {name}), 0) AS v{n}")
        else:
            picks.append(f"bool_or(col = {name}) AS w{n}, max({value}) FILTER (WHERE col = {name}) AS v{n}")
    cells.sort(key=lambda cell: (cell[0].column, cell[0].path))
    sets = [
        f"{quoted_name(column)} = {_changed(column, list(own))}"
        for column, own in groupby(cells, lambda cell: cell[0].column)
    ]
    return (
        f"UPDATE {relation.sql} t SET {', '.join(sets)} FROM (SELECT row_id, key, {', '.join(picks)} FROM batch_cells "
        f"WHERE tbl = {quoted_text(relation.name)} AND action <> 'guard' GROUP BY row_id, key) p WHERE {relation.match('p')}"
    )


def _changed(column: str, cells: Sequence[tuple[Field, int]]) -> str:
    """What a column holds after the writes to its cells."""
    expression = f"t.{quoted_name(column)}"
    for cell, n in cells:
        if cell.counter:
            expression = f"{expression} + p.v{n}"
        elif cell.path:
            after = f"CASE WHEN p.w{n} THEN p.v{n}::jsonb ELSE {cell.value} END"
            expression = f"jsonb_set_lax({expression}, {quoted_path(cell.path)}, {after}, true, 'delete_key')"
        else:
            expression = f"CASE WHEN p.w{n} THEN p.v{n}::{cell.type} ELSE {expression} END"
    return expression


def insert_rows(relation: Relation, columns: Sequence[str]) -> str:
    """Insert the batch's new rows and journal those not there already. ``columns`` are the bodies'; a row that moves brings others."""
    for c in columns:
        if relation.row is None:
            relation.fields(c)
        elif c not in relation.row:
            raise Refused(f"{relation.name} has no column {c[:64]!r} that can be written. Nothing was done.")
    source = relation.source
    moved = [c for c in relation.row or () if source and c in (source.row or ()) and c not in columns]
    names = ", ".join(map(quoted_name, (*columns, *moved)))
    tbl = quoted_text(relation.name)
    if relation.row is None:
        made = f", jsonb_populate_record(NULL::{relation.sql}, b.body) r"
        picked = ", ".join(f"coalesce(r.{c}, now())" if c == "recorded_at" else f"r.{quoted_name(c)}" for c in columns)
        own = ""
    else:
        made, own = "", " OVERRIDING SYSTEM VALUE"  # the very row, with the key that an identity column gave it
        picked = ", ".join(
            (
                *(f"(b.body ->> {quoted_text(c)})::{relation.row[c]}" for c in columns),
                *(f"t.{quoted_name(c)}" for c in moved),
            )
        )
    if source and moved:
        made = f" JOIN {source.sql} t ON {source.match('b')}"
    # A shared row that is there already is journalled as well: it goes when the last item that needs it is undone.
    there = f"(SELECT * FROM added UNION SELECT * FROM {relation.sql})" if relation.name in SHARED else "added"
    return f"""
WITH added AS (
  INSERT INTO {relation.sql} AS t ({names}){own}
  SELECT {picked} FROM batch_rows b{made}
  WHERE b.tbl = {tbl} AND b.action = 'insert' ORDER BY b.journal_id
  ON CONFLICT DO NOTHING RETURNING t.*
), images AS MATERIALIZED (
  SELECT b.journal_id, b.item_id, b.row_id, b.key, b.undoes, {relation.image("t")} AS after
  FROM {there} t JOIN batch_rows b ON b.tbl = {tbl} AND b.action = 'insert' AND {relation.match("b")}
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, action, after_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, {tbl}, row_id, key, 'insert', {sha256_of("after")}, undoes
  FROM images ORDER BY journal_id
)
INSERT INTO night.before_images (journal_id, namespace_id, before, after)
SELECT journal_id, %(namespace)s, NULL, after FROM images ORDER BY journal_id
"""


def spared_rows(relation: Relation) -> str:
    """Rows that the batch was to insert and that are not there, as another row holds a name of theirs: (item, row)."""
    return (
        f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b LEFT JOIN {relation.sql} t ON {relation.match('b')} "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'insert' AND {relation.absent}"
    )


def changed_rows(relation: Relation) -> str:
    """Undo: rows to delete that are gone or no longer as they were inserted: (item, row). Use of a row is no change of it, and what syncs
    find out anew they may have changed.
    """
    tbl = quoted_text(relation.name)
    if relation.name in _FOUND_OUT:
        return f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b WHERE b.tbl = {tbl} AND false"
    used = "".join(f" - '{c}'" for c in (*COUNTERS.get(relation.name, ()), *_USED) if _has(relation, c))
    changed = f"{relation.image('t')}::jsonb{used} IS DISTINCT FROM b.body{used}"
    if relation.row is not None:
        changed = f"{relation.row_hash('t')} IS DISTINCT FROM {relation.image_hash('b.body')}"
    return (
        f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b LEFT JOIN {relation.sql} t ON {relation.match('b')} "
        f"WHERE b.tbl = {tbl} AND b.action = 'delete' AND ({relation.absent} OR {changed})"
    )


def _has(relation: Relation, column: str) -> bool:
    return relation.row is None and column in table_of(relation.name).c


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


def delete_rows(relation: Relation) -> str:
    """Journal the rows that the batch deletes, whole, and delete them."""
    tbl = quoted_text(relation.name)
    return f"""
WITH images AS MATERIALIZED (
  SELECT b.journal_id, b.item_id, b.row_id, b.key, b.undoes, {relation.image("t")} AS before
  FROM batch_rows b JOIN {relation.sql} t ON {relation.match("b")} WHERE b.tbl = {tbl} AND b.action = 'delete'
), entries AS (
  INSERT INTO night.journal (id, namespace_id, run_id, item_id, table_name, row_id, row_key, action, before_hash, undoes)
  SELECT journal_id, %(namespace)s, %(run)s, item_id, {tbl}, row_id, key, 'delete', {sha256_of("before")}, undoes
  FROM images ORDER BY journal_id
), kept AS (
  INSERT INTO night.before_images (journal_id, namespace_id, before, after)
  SELECT journal_id, %(namespace)s, before, NULL FROM images ORDER BY journal_id
)
DELETE FROM {relation.sql} t USING images b WHERE {relation.match("b")}{_needed_no_more(relation.name)}
"""


def _needed_no_more(table: str) -> str:
    """That no row names a shared one any more."""
    if table not in SHARED:
        return ""
    return "".join(
        f" AND NOT EXISTS (SELECT 1 FROM memory.{child} x WHERE x.{column} = t.id)"
        for child, column in references_to(table)
    )


def unsealed_cells(relation: Relation, columns: Iterable[str], *, as_text: bool = False) -> str:
    """Undo: entries of cells whose images are not what the sealed items in the batch tables saw and wrote: (item, entry, row, column).

    Values compare by the column's type, so an image that is no value of it raises ``DataError``; ``as_text`` compares their text.
    """
    columns = sorted(columns)

    def differs(image: str, sealed: str) -> str:
        kinds = {c: relation.fields(c).type for c in columns}
        text = as_text or relation.row is not None  # json has no equality
        other = {c: "true" if text else f"e.{image}::{k} IS DISTINCT FROM c.{sealed}::{k}" for c, k in kinds.items()}
        cases = " ".join(
            f"WHEN {quoted_text(c)} THEN CASE WHEN e.{image} IS NOT DISTINCT FROM (c.{sealed}::{k})::text THEN false ELSE {other[c]} END"
            for c, k in kinds.items()
        )
        return f"CASE c.col {cases} END"

    return (
        "SELECT e.item_id::text, e.id, e.row_id::text, e.column_name FROM undo_entries e JOIN batch_cells c ON c.item_id = e.item_id "
        "AND c.tbl = e.table_name AND c.row_id = e.row_id AND c.key = e.row_key AND c.col = e.column_name "
        f"WHERE c.tbl = {quoted_text(relation.name)} AND c.action <> 'guard' AND e.imaged AND e.undone_by IS NULL AND CASE c.action "
        f"WHEN 'add' THEN e.after IS DISTINCT FROM c.value WHEN 'now' THEN {differs('before', 'seen')} "
        f"WHEN 'item' THEN e.after IS DISTINCT FROM c.item_id::text OR {differs('before', 'seen')} "
        f"ELSE {differs('before', 'seen')} OR {differs('after', 'value')} END"
    )


def unsealed_deletes(relation: Relation) -> str:
    """Undo: entries of deleted rows whose image is not the row that the sealed item saw: (item, entry, row, column)."""
    if relation.row is None:
        table = relation.name
        changed = " ".join(
            f"WHEN r.{c} IS DISTINCT FROM (b.body ->> '{c}')::{sql_type(table, c)} THEN '{c}'"
            for c in row_columns(table)
        )
        made = f"CROSS JOIN LATERAL jsonb_populate_record(NULL::{relation.sql}, e.before::jsonb) r "
        other = f"WHEN r.id <> e.row_id OR r.namespace_id <> %(namespace)s THEN 'id' {changed}"
    else:
        made, other = (
            "",
            f"WHEN {relation.image_hash('e.before::jsonb')} IS DISTINCT FROM b.body ->> '{ROW}' THEN '{ROW}'",
        )
    return (
        f"SELECT e.item_id::text, e.id, e.row_id::text, d.col FROM undo_entries e JOIN batch_rows b ON b.item_id = e.item_id "
        f"AND b.tbl = e.table_name AND b.row_id = e.row_id AND b.key = e.row_key AND b.action = e.action "
        f"{made}CROSS JOIN LATERAL (SELECT CASE {other} END AS col) d "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'delete' AND e.imaged AND e.undone_by IS NULL AND d.col IS NOT NULL"
    )
