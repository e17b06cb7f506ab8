"""SQL statements of apply and undo: one for each table and step, regardless of the number of items and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from slowwave.changes.cells import ROW, SHARED, row_columns, sql_type, table_of
from slowwave.changes.mutation import EVENT_POINTERS, lists_of, names_of, references_to
from slowwave.changes.relations import Field, Relation, Taken, quoted_name, quoted_path, quoted_text, sha256_of
from slowwave.errors import Refused
from slowwave.store.logins import Connection
from slowwave.store.tables import COUNTERS, VECTORS
from slowwave.text.dates import WRITTEN

# SQL for unplanned rows that are deleted together with rows of a connected store, such as links, which its client may insert at any time.
#
# They are looked up when their row is deleted, entered into ``batch_rows`` and journalled like any deleted row, and undo restores them with
# it.


def taken_rows(relation: Relation, taken: Taken, *, unplanned: bool) -> str:
    """Return the SQL that finds rows that would be deleted along with rows of the batch and must not be.

    These are rows of another namespace if rows are taken ``unplanned``, else those that the batch does not delete itself. Columns: (item,
    deleted row, referring table, column, referring row).
    """
    if unplanned:
        stands = f"NOT coalesce({taken.scope}, false)"
    else:
        stands = (
            f"NOT EXISTS (SELECT 1 FROM batch_rows d WHERE d.tbl = {quoted_text(taken.name)} AND d.action = 'delete' "
            f"AND d.key::jsonb = ({taken.key})::jsonb)"
        )
    return " UNION ALL ".join(
        f"SELECT b.item_id::text, b.row_id::text, {quoted_text(taken.name)}, '', {taken.key} FROM batch_rows b JOIN {taken.sql} t "
        f"ON {_way(relation, way)} WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'delete' AND {stands}"
        for way in taken.ways
    )


def _way(relation: Relation, way: Sequence[tuple[str, str]]) -> str:
    """Return the SQL condition that a row ``t`` belongs to a row that the batch deletes."""
    return " AND ".join(f"{own} = {other.format('b')}" for (own, _), (_, other) in zip(way, relation.key, strict=True))


def take_along(relation: Relation, taken: Taken) -> str:
    """Return the SQL that adds to the batch the rows that are deleted along with its rows, each once.

    A row is added for the first item that it belongs to.
    """
    found = " UNION ALL ".join(
        f"SELECT b.item_id, {taken.row_id} AS row_id, {taken.key} AS key FROM batch_rows b JOIN {taken.sql} t ON {_way(relation, way)} "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'delete'"
        for way in taken.ways
    )
    return (
        "INSERT INTO batch_rows (item_id, tbl, row_id, key, named, action, body) SELECT DISTINCT ON (f.key) f.item_id, "
        f"{quoted_text(taken.name)}, f.row_id, f.key, true, 'delete', '{{}}'::jsonb FROM ({found}) f ORDER BY f.key, f.item_id"
    )


def untaken(relation: Relation, taken: Taken) -> str:
    """Return the undo SQL that finds entries of rows deleted along, whose image belongs to no row the sealed item deletes.

    Columns: (item, entry, row).
    """
    own = " OR ".join(
        "("
        + " AND ".join(f"e.before::jsonb ->> {quoted_text(c)} = b.key::jsonb ->> {n}" for n, (_, c) in enumerate(way))
        + ")"
        for way in taken.ways
    )
    return (
        f"SELECT e.item_id::text, e.id, e.row_id::text FROM undo_entries e WHERE e.table_name = {quoted_text(taken.name)} "
        "AND e.imaged AND e.undone_by IS NULL AND e.item_id = ANY(%(items)s::uuid[]) AND NOT EXISTS (SELECT 1 FROM batch_rows b "
        f"WHERE b.item_id = e.item_id AND b.tbl = {quoted_text(relation.name)} AND b.action = 'delete' AND ({own}))"
    )


def ends_gone(relation: Relation, taken: Taken, kinds: Mapping[str, str]) -> str:
    """Return the undo SQL that finds rows named by a row that was deleted along, which neither exist nor are restored with it.

    Columns: (item, row). ``kinds`` are the types of the columns of the relation ``taken``.
    """
    found: list[str] = []
    for way, parent in zip(taken.ways, taken.parents, strict=True):
        columns = ", ".join(f"(b.body ->> {quoted_text(c)})::{kinds[c]} AS {quoted_name(c)}" for _, c in way)
        there = " AND ".join(
            f"{own} = p.{mine.removeprefix('t.')}" for (own, _), (mine, _) in zip(way, relation.key, strict=True)
        )
        back = " AND ".join(
            f"{own} = {other.format('o')}" for (own, _), (_, other) in zip(way, relation.key, strict=True)
        )
        found.append(
            f"SELECT b.item_id::text, {parent}::text FROM batch_rows b CROSS JOIN LATERAL (SELECT {columns}) t "
            f"WHERE b.tbl = {quoted_text(taken.name)} AND b.action = 'insert' "
            f"AND NOT EXISTS (SELECT 1 FROM {relation.sql} p WHERE {there}) "
            f"AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = {quoted_text(relation.name)} AND o.action = 'insert' AND {back})"
        )
    return " UNION ".join(found)


# SQL of apply and undo: one statement per table and step, for any number of items and rows.
#
# The cells of a batch are in the temporary table ``batch_cells``, new and deleted rows in ``batch_rows``. Table, key, columns and scope
# come from the catalogue (``Relation``); values are always cast from the text columns of those tables.

BATCH_TABLES: Final = """
CREATE TEMPORARY TABLE IF NOT EXISTS batch_cells (
  journal_id bigint NOT NULL DEFAULT nextval('night.journal_id_seq'), undoes bigint, item_id uuid NOT NULL,
  tbl text NOT NULL, row_id uuid NOT NULL, key text NOT NULL, col text NOT NULL, action text NOT NULL, seen text, value text
) ON COMMIT DROP;
CREATE TEMPORARY TABLE IF NOT EXISTS batch_rows (
  journal_id bigint NOT NULL DEFAULT nextval('night.journal_id_seq'), undoes bigint, item_id uuid NOT NULL,
  tbl text NOT NULL, row_id uuid NOT NULL, key text NOT NULL, named boolean NOT NULL, action text NOT NULL, body jsonb
) ON COMMIT DROP;
"""

PURGE_ON: Final = "SET LOCAL slowwave.purge = 'on'"
PURGE_OFF: Final = "SET LOCAL slowwave.purge = 'off'"
"""Between these two statements, versions of a memory may be deleted, which are otherwise append-only."""


_USED: Final = ("last_accessed_at",)
_FOUND_OUT: Final = frozenset({"links"})


def lock_rows(relation: Relation, *, exclusive: bool) -> str:
    """Return the SQL that locks the batch's rows of a table in the order of its key.

    ``exclusive`` also keeps out new foreign keys.
    """
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
    """Return the SQL that inserts the missing rows of a sparse relation that the batch names, empty."""
    columns = ", ".join(own.removeprefix("t.") for own, _ in relation.key)
    named = ", ".join(other.format("b") for _, other in relation.key)
    return (
        f"INSERT INTO {relation.sql} ({columns}) SELECT DISTINCT {named} FROM batch_cells b "
        f"WHERE b.tbl = {quoted_text(relation.name)} ON CONFLICT DO NOTHING"
    )


def drop_empty(relation: Relation) -> str:
    """Return the SQL that deletes the empty rows of a sparse relation in the namespace."""
    return f"DELETE FROM {relation.sql} t WHERE t.namespace_id = %(namespace)s AND t.{quoted_name(relation.sparse)} = '{{}}'"


def stale_cells(relation: Relation, columns: Iterable[str]) -> str:
    """Return the SQL that finds items with a cell that no longer holds what was seen, or whose row is gone.

    Columns: (item, row, column).
    """
    cases = " ".join(f"WHEN {quoted_text(c)} THEN {relation.differs(c, 'c.seen')}" for c in sorted(columns))
    return (
        f"SELECT c.item_id::text, c.row_id::text, c.col FROM batch_cells c LEFT JOIN {relation.sql} t ON {relation.match('c')} "
        f"WHERE c.tbl = {quoted_text(relation.name)} AND left(c.col, 1) <> '#' "
        f"AND ({relation.absent} OR (c.action <> 'add' AND CASE c.col {cases} ELSE false END))"
    )


def stale_inserts(relation: Relation) -> str:
    """Return the SQL that finds items whose new row conflicts with an existing row: (item, existing row).

    These are items that would insert a named row that exists already, a row whose id another namespace has, a page whose path, a corpus
    whose root or an entity whose reference is taken, or a promotion of a memory that is promoted. A row that items share may exist, if it
    is the same one (``SHARED``).
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
    """Return the SQL that finds items whose new row names a row that is not in the namespace, and that they do not insert.

    Columns: (item, column, missing row). Empty if no column of the table names another row.
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
    """Return the SQL that finds items that would delete a row that has changed since it was seen.

    Columns: (item, row, column); the column is empty if the row is gone.
    """
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
    """Return the SQL that finds rows that name a deleted row of the batch, and that its item neither deletes nor redirects.

    Columns: (item, deleted row, referring table, column, referring row). One pass over each table that may refer; empty if none may.
    ``unplanned`` means that rows that are deleted along are taken along.
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
    """Return the SQL that journals the cells that the writes change, with images before and after."""
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
    """Return the SQL that changes the rows of a table, each once, regardless of the number of cells and items.

    The cells of one JSON column become one expression, in which a null removes its key.
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
    """Return the SQL of a column's value after the writes to its cells."""
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
    """Return the SQL that inserts the batch's new rows and journals them.

    Rows that exist already are skipped and not journalled, except shared ones, which are journalled. ``columns`` are the columns of the
    bodies; a row that moves brings its other columns. Raises ``Refused`` for a column that does not exist.
    """
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
        made, own = "", " OVERRIDING SYSTEM VALUE"  # the original row, with the key that an identity column gave it
        picked = ", ".join(
            (
                *(f"(b.body ->> {quoted_text(c)})::{relation.row[c]}" for c in columns),
                *(f"t.{quoted_name(c)}" for c in moved),
            )
        )
    if source and moved:
        made = f" JOIN {source.sql} t ON {source.match('b')}"
    # An existing shared row is journalled as well: it is removed when the last item that needs it is undone.
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
    """Return the SQL that finds rows of the batch that were not inserted, because another row holds one of their unique names.

    Columns: (item, row).
    """
    return (
        f"SELECT b.item_id::text, b.row_id::text FROM batch_rows b LEFT JOIN {relation.sql} t ON {relation.match('b')} "
        f"WHERE b.tbl = {quoted_text(relation.name)} AND b.action = 'insert' AND {relation.absent}"
    )


def changed_rows(relation: Relation) -> str:
    """Return the undo SQL that finds rows to delete that are gone or no longer as they were inserted: (item, row).

    Counters and access times do not count as changes, nor does anything in tables that syncs recompute.
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
    """Return the undo SQL that finds items that would restore a reference to a row of ``target`` that a run deleted.

    Columns: (item, deleted row).
    """
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
    """Return the SQL that journals the rows that the batch deletes, as a whole, and deletes them."""
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
    """Return the SQL condition that no row names a shared row any more; empty for other tables."""
    if table not in SHARED:
        return ""
    return "".join(
        f" AND NOT EXISTS (SELECT 1 FROM memory.{child} x WHERE x.{column} = t.id)"
        for child, column in references_to(table)
    )


def unsealed_cells(relation: Relation, columns: Iterable[str], *, as_text: bool = False) -> str:
    """Return the undo SQL that finds entries of cells whose images differ from what the sealed items saw and wrote.

    Columns: (item, entry, row, column). Values are compared by the column's type, so an image that is no value of it raises
    ``DataError``; ``as_text`` compares their text.
    """
    columns = sorted(columns)

    def differs(image: str, sealed: str) -> str:
        kinds = {c: relation.fields(c).type for c in columns}
        text = as_text or relation.row is not None  # the type json has no equality
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
    """Return the undo SQL that finds entries of deleted rows whose image is not the row that the sealed item saw.

    Columns: (item, entry, row, column).
    """
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


# SQL for pages among the rows of a batch: reserve their names, queue the files that follow them, and clear links at undo.

_LOCK_NAMESPACE: Final = "SELECT memory.lock_name_shared(%s, 4)"
_NAMES: Final = """
SELECT memory.lock_name(k.name, k.seed) FROM (
  SELECT DISTINCT %(namespace)s::text || (b.body ->> 'path') AS name, 3 AS seed, 1 AS rank FROM batch_rows b WHERE b.tbl = 'documents'
  UNION SELECT DISTINCT %(namespace)s::text || (b.body ->> 'external_id'), 4, 2 FROM batch_rows b
    WHERE b.tbl = 'entities' AND b.body ->> 'external_id' IS NOT NULL
  UNION SELECT DISTINCT %(namespace)s::text || c.row_id::text, 4, 3 FROM batch_cells c WHERE c.col = '#claims'
  ORDER BY 3, 1) k
"""

AWAIT_FILES: Final = """
INSERT INTO memory.pending_files (corpus_id, path, namespace_id, was_hash)
SELECT w.corpus_id, w.path, %(namespace)s::uuid, w.was_hash FROM (
  SELECT d.corpus_id, d.path, c.seen AS was_hash FROM batch_cells c JOIN memory.documents d ON d.id = c.row_id
    WHERE c.tbl = 'documents' AND c.col = 'content_hash' AND c.action = 'set'
  UNION ALL
  SELECT (b.body ->> 'corpus_id')::uuid, b.body ->> 'path', CASE b.action WHEN 'delete' THEN b.body ->> 'content_hash' END
    FROM batch_rows b WHERE b.tbl = 'documents' AND b.body ->> 'version_of' IS NULL
) w JOIN memory.corpora k ON k.id = w.corpus_id AND k.root NOT IN ('pages:', 'evidence:', 'sessions:') ON CONFLICT DO NOTHING
"""
"""SQL for apply and undo: queue the files of followed folders that must follow the batch's documents, each with its text before the first
write that it has not followed yet."""

LINKS_LATER: Final = "SET CONSTRAINTS memory.links_target_document_id_fkey DEFERRED"
LINKS_NOW: Final = "SET CONSTRAINTS memory.links_target_document_id_fkey IMMEDIATE"
"""Between these two statements, a link may refer to a page that a later statement of the batch inserts, or that an earlier one removed."""

MEAN_AWAITED: Final = """
UPDATE memory.links l SET target_document_id = l.awaited_id FROM memory.documents d
WHERE l.namespace_id = %(namespace)s AND l.target_document_id IS NULL AND l.invalidated_at IS NULL AND d.id = l.awaited_id
  AND d.namespace_id = l.namespace_id AND d.invalidated_at IS NULL AND d.version_of IS NULL
  AND (l.awaited_id IN (SELECT row_id FROM batch_rows WHERE tbl = 'documents' AND action = 'insert')
    OR l.id IN (SELECT row_id FROM batch_rows WHERE tbl = 'links' AND action = 'insert'))
"""
"""SQL for apply and undo: resolve awaited pages, both pages that the batch inserts and existing pages that its new links await. This is
derived data, as in a sync, and not journalled; ``LET_GO`` clears it with the page."""

AWAIT_AGAIN: Final = """
UPDATE batch_rows SET body = body || '{"target_document_id": null}'
WHERE tbl = 'links' AND action = 'insert' AND body ->> 'target_document_id' = body ->> 'awaited_id'
"""
"""SQL for undo: restored links await their pages again, because these may have been removed since; ``MEAN_AWAITED`` checks whether they
exist."""

LET_GO: Final = """
UPDATE memory.links l SET target_document_id = CASE WHEN b.tbl = 'documents' THEN NULL ELSE l.target_document_id END,
  entity_id = CASE WHEN b.tbl = 'entities' THEN NULL ELSE l.entity_id END,
  invalidated_at = CASE WHEN l.kind = 'mention' THEN coalesce(l.invalidated_at, now()) ELSE l.invalidated_at END
FROM batch_rows b WHERE b.action = 'delete' AND l.namespace_id = %(namespace)s
  AND (b.tbl = 'documents' AND l.target_document_id = b.row_id OR b.tbl = 'entities' AND l.entity_id = b.row_id)
  AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.item_id = b.item_id AND o.tbl = 'links' AND o.row_id = l.id)
  AND NOT EXISTS (SELECT 1 FROM batch_cells c WHERE c.item_id = b.item_id AND c.tbl = 'links' AND c.row_id = l.id
    AND c.col = 'target_document_id')
"""
"""SQL for undo: clear the links that were resolved to a removed page or entity since its insertion, and end its mentions. They reflect the
text of pages, so the next sync finds them again."""

TARGETS_GONE: Final = """
WITH gone AS (
  SELECT t.id FROM (
    SELECT value::uuid AS id FROM batch_cells WHERE tbl = 'links' AND col = 'target_document_id' AND action = 'set'
    UNION SELECT (body ->> 'target_document_id')::uuid FROM batch_rows WHERE tbl = 'links' AND action = 'insert') t
  WHERE t.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory.documents d WHERE d.id = t.id)
    AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'documents' AND o.action = 'insert' AND o.row_id = t.id)
), cells AS (
  UPDATE batch_cells c SET value = NULL FROM gone
  WHERE c.tbl = 'links' AND c.col = 'target_document_id' AND c.action = 'set' AND c.value::uuid = gone.id
)
UPDATE batch_rows b SET body = b.body || jsonb_build_object('target_document_id', NULL, 'invalidated_at', CASE
  WHEN b.body ->> 'kind' = 'mention' AND b.body ->> 'invalidated_at' IS NULL THEN to_jsonb(now()) ELSE b.body -> 'invalidated_at' END)
FROM gone WHERE b.tbl = 'links' AND b.action = 'insert' AND (b.body ->> 'target_document_id')::uuid = gone.id
"""
"""SQL for undo: a restored link to a page that was purged since has no target, and a restored mention of it has ended, as a purge does
with the existing ones."""

_ABOUT: Final = """
SELECT b.item_id::text, 'memories', m.id::text, 'attributes' FROM batch_rows b JOIN memory.memories m
  ON m.namespace_id = %(namespace)s AND m.kind = 'claim' AND m.attributes ->> 'entity_id' = b.row_id::text
WHERE b.tbl = 'entities' AND b.action = 'delete'
  AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'memories' AND o.action = 'delete' AND o.row_id = m.id)
"""


def built_on(table: str) -> str:
    """Return the undo SQL that finds newer data that depends, without a foreign key, on rows of ``table`` that would go.

    Columns: (item, table, row, column). These are claims about a subject, events that name a claim or their evidence, and rows that list
    it among their sources or members, retired rows included. Rows that the batch itself removes do not count. Empty if nothing can depend
    on the table; else one pass over each table that may.
    """
    found = [_ABOUT] if table == "entities" else []
    for column in (c for c, target in EVENT_POINTERS.items() if target == table):
        found.append(
            f"SELECT b.item_id::text, 'claim_events', e.id::text, '{column}' FROM batch_rows b JOIN memory.claim_events e "
            f"ON e.{column} = b.row_id AND e.namespace_id = %(namespace)s WHERE b.tbl = '{table}' AND b.action = 'delete' "
            "AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'claim_events' AND o.action = 'delete' AND o.row_id = e.id)"
        )
    for other, column in lists_of(table):
        found.append(
            f"SELECT b.item_id::text, '{other}', x.id::text, '{column}' FROM memory.{other} x CROSS JOIN LATERAL unnest(x.{column}) n "
            f"JOIN batch_rows b ON b.row_id = n AND b.tbl = '{table}' AND b.action = 'delete' WHERE x.namespace_id = %(namespace)s "
            f"AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = '{other}' AND o.action = 'delete' AND o.row_id = x.id) "
            f"AND NOT EXISTS (SELECT 1 FROM batch_cells c WHERE c.tbl = '{other}' AND c.row_id = x.id AND c.col = '{column}' "
            "AND c.action = 'set' AND NOT c.value::uuid[] @> ARRAY[n])"
        )
    return " UNION ALL ".join(found)


def lock_names(connection: Connection, namespace_id: str) -> None:
    """Wait for syncs and for agents that write the same pages or subjects, and keep them away until the transaction ends."""
    connection.execute(_LOCK_NAMESPACE, (namespace_id,))
    connection.execute(_NAMES.encode(), {"namespace": namespace_id})


# SQL for guards on virtual cells: the rows that refer to an entity, and the statement of a memory (``slowwave.changes.cells.VIRTUAL``).

RELATIONSHIPS_CHANGED: Final = """
SELECT c.item_id::text, c.row_id::text FROM batch_cells c
LEFT JOIN LATERAL (
  SELECT array_agg(u.id ORDER BY u.id) AS ids FROM (
    SELECT r.id FROM memory.relationships r WHERE r.source_entity_id = c.row_id
    UNION SELECT r.id FROM memory.relationships r WHERE r.target_entity_id = c.row_id) u
) incident ON true
WHERE c.col = '#relationships' AND coalesce(incident.ids, '{}') <> c.seen::uuid[]
"""

CLAIMS_CHANGED: Final = """
WITH guarded AS MATERIALIZED (SELECT c.item_id, c.row_id, c.seen::uuid[] AS seen FROM batch_cells c WHERE c.col = '#claims'),
standing AS MATERIALIZED (
  SELECT g.row_id, m.id FROM (SELECT DISTINCT row_id FROM guarded) g JOIN memory.memories m ON m.namespace_id = %(namespace)s
    AND m.kind = 'claim' AND m.attributes ->> 'entity_id' = g.row_id::text AND m.state = 'active' AND m.invalidated_at IS NULL),
differing AS (
  SELECT g.item_id, g.row_id, s.id FROM guarded g JOIN standing s ON s.row_id = g.row_id WHERE s.id <> ALL (g.seen)
  UNION ALL
  SELECT g.item_id, g.row_id, u.id FROM guarded g, unnest(g.seen) AS u (id)
    WHERE NOT EXISTS (SELECT 1 FROM standing s WHERE s.row_id = g.row_id AND s.id = u.id))
SELECT DISTINCT d.item_id::text, d.row_id::text FROM differing d
WHERE NOT EXISTS (
  SELECT 1 FROM night.runs r JOIN night.plan_items i ON i.plan_hash = r.plan_hash JOIN night.journal j ON j.item_id = i.item_id
  WHERE r.id = %(run)s AND j.table_name = 'memories' AND j.row_id = d.id)
"""
"""SQL: items with claims about an entity about which someone outside their plan has added or forgotten a claim since."""

TOLD_CHANGED: Final = f"""
SELECT c.item_id::text, c.row_id::text FROM batch_cells c LEFT JOIN memory.memories m ON m.id = c.row_id AND m.namespace_id = %(namespace)s
WHERE c.col = '#told' AND m.current_version_id IS DISTINCT FROM c.seen::uuid AND NOT EXISTS (
  SELECT 1 FROM memory.memory_versions seen JOIN memory.memory_versions now ON now.memory_id = seen.memory_id
    AND regexp_replace(now.content, '{WRITTEN}', '', 'g') = regexp_replace(seen.content, '{WRITTEN}', '', 'g')
  WHERE seen.id = c.seen::uuid AND now.id = m.current_version_id)
"""
"""SQL: items that depend on the statement of a memory which has changed since, apart from notes that nights added."""
