"""The SQL of rows that go with rows of a store that is not ours, unplanned: links, say, which its client makes at any hour.

They are found when their row goes, entered into ``batch_rows`` and journalled like any deleted row, and they come back with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowwave.mutations.catalogue import Relation, Taken, quoted_name, quoted_text


def taken_rows(relation: Relation, taken: Taken, *, unplanned: bool) -> str:
    """What would go with rows that the batch deletes and must not: rows of another namespace, or, where nothing is taken ``unplanned``,
    those that the batch does not delete itself: (item, deleted row, referring table, column, referring row).
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
    """That a row ``t`` belongs to a row that the batch deletes."""
    return " AND ".join(f"{own} = {other.format('b')}" for (own, _), (_, other) in zip(way, relation.key, strict=True))


def take_along(relation: Relation, taken: Taken) -> str:
    """Enter what goes with the rows that the batch deletes among them, each row once, of the first item that it belongs to."""
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
    """Undo: entries of rows that went along whose image belongs to no row that the sealed item deletes: (item, entry, row)."""
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
    """Undo: rows that are named by one which went along, and neither are there nor come back with it: (item, row). ``kinds`` are the
    types of its columns.
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
