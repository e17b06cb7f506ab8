"""Lower the cells of a mutation to cells of a connected store, and find changes that the lowering does not explain."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from slowwave.bindings.binding import Binding, BoundColumn, BoundTable, Constant, row_id_of, row_id_sql
from slowwave.changes.cells import (
    OVERLAY,
    ROW,
    TOLD,
    VERSION,
    Cell,
    Change,
    Delete,
    Guard,
    Insert,
    Value,
    Write,
    canonical_json,
    delete_json,
    encode,
    insert_json,
    seen_json,
    sql_type,
    vector_literal,
    write_json,
)
from slowwave.changes.mutation import Mutation
from slowwave.changes.relations import (
    APART,
    RETIRED,
    Catalogue,
    Relation,
    cell_of,
    change_fault,
    key_json,
    name_of,
    owner_of,
    quoted_name,
    quoted_text,
    retired_rows,
)
from slowwave.errors import Refused
from slowwave.store.logins import Connection

# Rows of a connected store as lowering needs them: native keys, the texts of cells, hashes of whole rows, and their child rows. Two
# statements and one for each child table, for any number of rows.


@dataclass(frozen=True, slots=True)
class NativeRow:
    """One row of a connected store.

    ``cells`` and ``overlay`` map columns to the text of their values; vectors are included only if requested. ``children`` are the rows
    of each child table that belong to it.
    """

    id: str
    key: str
    cells: Mapping[str, str | None]
    hash: str
    overlay: Mapping[str, str] = field(default_factory=dict)
    children: Mapping[str, tuple[NativeRow, ...]] = field(default_factory=dict)


def native_rows(
    connection: Connection,
    binding: Binding,
    bound: BoundTable,
    catalogue: Catalogue,
    namespace_id: str,
    ids: Collection[str],
    with_vectors: Collection[str] = (),
) -> dict[str, NativeRow]:
    """Return id → row for those of ``ids`` that are in the namespace, with vectors for the ids in ``with_vectors``."""
    relation = catalogue.relation(name_of(bound))
    parameters = {
        **catalogue.parameters,
        "namespace": namespace_id,
        "ids": sorted(ids),
        "vectors": sorted(with_vectors),
    }
    id_ = row_id_sql(binding, bound, "t").as_string(connection)
    query = (
        f"SELECT {id_}::text, {_texts(relation, bound, id_)}, {relation.row_hash('t')} FROM {relation.sql} t "
        f"WHERE {relation.scope} AND {id_} = ANY(%(ids)s::uuid[])"
    )
    found = {
        str(i): (_native_key(cells), _cells(cells), str(hash_))
        for i, cells, hash_ in connection.execute(query.encode(), parameters)
    }
    overlay = _overlay(connection, bound, parameters)
    by_key = {key_json(native): i for i, (native, _, _) in found.items()}
    children: dict[str, dict[str, tuple[NativeRow, ...]]] = defaultdict(dict)
    for child in binding.children(bound.name):
        for parent, rows in _children(connection, binding, bound, child, catalogue, by_key, {*with_vectors}).items():
            children[parent][child.name] = tuple(rows)
    return {
        i: NativeRow(i, key_json(native), cells, hash_, overlay.get(i, {}), children[i])
        for i, (native, cells, hash_) in found.items()
    }


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """One row found by its native key: the texts of its cells, its hash, and for a child table the id of its parent row."""

    cells: Mapping[str, str | None]
    hash: str
    owner: str


def rows_by_key(
    connection: Connection, binding: Binding, bound: BoundTable, catalogue: Catalogue, keys: Collection[str]
) -> dict[str, KeyedRow]:
    """Read the rows of a bound table that have one of the native ``keys``, in any namespace, without vectors: key → row.

    One statement, which finds the rows by the table's own index.
    """
    relation = catalogue.relation(name_of(bound))
    parent = binding.tables[bound.parent.table] if bound.parent else None
    own = {theirs: mine for mine, theirs in bound.parent.columns} if bound.parent else {}
    named = ", ".join(f"t.{quoted_name(own[k.column])}::text" for k in (parent.key if parent else ()))
    joined = " AND ".join(f"{mine} = {other.format('b')}" for mine, other in relation.key)
    query = (
        f"SELECT b.key, {_texts(relation, bound, 'NULL::uuid')}, {relation.row_hash('t')}, jsonb_build_array({named}) "
        f"FROM unnest(%(keys)s::text[]) b (key) JOIN {relation.sql} t ON {joined}"
    )
    parameters = {**catalogue.parameters, "keys": sorted(keys), "vectors": []}
    found: dict[str, KeyedRow] = {}
    for key, cells, hash_, owner in connection.execute(query.encode(), parameters):
        native = tuple(map(str, owner)) if isinstance(owner, list) and None not in owner else ()
        found[str(key)] = KeyedRow(
            _cells(cells), str(hash_), row_id_of(binding, parent, native) if parent and native else ""
        )
    return found


def cell_names(bound: BoundTable) -> list[str]:
    """Return the cells of a bound table that do not hold vectors."""
    names = [cell_of(bound, n) for n, c in bound.columns.items() if c.type not in ("vector", "halfvec")]
    more = [*([RETIRED] if bound.retired else []), *(f"{APART}{n}" for n in range(len(bound.apart)))]
    return list(dict.fromkeys([*names, *(cell_of(bound, n) for n in more)]))


def vector_names(bound: BoundTable) -> list[str]:
    """Return the columns of a bound table that hold vectors."""
    return [n for n, c in bound.columns.items() if c.type in ("vector", "halfvec")]


def _texts(relation: Relation, bound: BoundTable, id_: str) -> str:
    """Return the SQL of an object with the texts of the cells, and the native key under the empty name."""
    key = ", ".join(f"t.{quoted_name(k.column)}::text" for k in bound.key)
    parts = [f"jsonb_build_object('', jsonb_build_array({key}))"]
    parts += [f"jsonb_build_object({quoted_text(n)}, {relation.fields(n).value}::text)" for n in cell_names(bound)]
    parts += [
        f"CASE WHEN {id_} = ANY(%(vectors)s::uuid[]) THEN jsonb_build_object({quoted_text(n)}, {relation.fields(n).value}::text) "
        "ELSE '{}' END"
        for n in vector_names(bound)
    ]
    return " || ".join(parts)


def _native_key(cells: object) -> tuple[str, ...]:
    return tuple(map(str, cells[""])) if isinstance(cells, dict) else ()


def _cells(cells: object) -> dict[str, str | None]:
    given = cells.items() if isinstance(cells, dict) else ()
    return {str(n): None if text is None else str(text) for n, text in given if n}


def _overlay(connection: Connection, bound: BoundTable, parameters: Mapping[str, object]) -> dict[str, dict[str, str]]:
    query = (
        f"SELECT row_id::text, (SELECT jsonb_object_agg(e.key, e.value::text) FROM jsonb_each(cells) e) FROM {OVERLAY} "
        f"WHERE namespace_id = %(namespace)s AND table_name = {quoted_text(bound.name)} AND row_id = ANY(%(ids)s::uuid[])"
    )
    rows = connection.execute(query.encode(), parameters)
    return {str(i): {str(n): str(v) for n, v in cells.items()} for i, cells in rows if isinstance(cells, dict)}


def _children(
    connection: Connection,
    binding: Binding,
    bound: BoundTable,
    child: BoundTable,
    catalogue: Catalogue,
    by_key: Mapping[str, str],
    with_vectors: Iterable[str],
) -> dict[str, list[NativeRow]]:
    """Return parent id → rows of a child table, in the order of their keys."""
    assert child.parent is not None  # noqa: S101 - that is what makes it a child
    relation = catalogue.relation(name_of(child))
    own = {theirs: mine for mine, theirs in child.parent.columns}
    asked = {*with_vectors}
    joined = " AND ".join(
        f"t.{quoted_name(own[k.column])} = (k.key ->> {n})::{k.type}" for n, k in enumerate(bound.key)
    )
    texts = _texts(relation, child, "k.id")
    query = (
        f"SELECT k.id::text, {texts}, {relation.row_hash('t')} FROM unnest(%(ids)s::uuid[], %(keys)s::jsonb[]) k (id, key) "
        f"JOIN {relation.sql} t ON {joined} ORDER BY {relation.order}"
    )
    parameters = {
        **catalogue.parameters,
        "ids": list(by_key.values()),
        "keys": list(by_key),
        "vectors": sorted(asked),
    }
    found: dict[str, list[NativeRow]] = defaultdict(list)
    for parent, cells, hash_ in connection.execute(query.encode(), parameters):
        native = _native_key(cells)
        row = NativeRow(row_id_of(binding, child, native), key_json(native), _cells(cells), str(hash_))
        found[str(parent)].append(row)
    return found


# Lowering: convert the cells of a mutation, which are those of our catalogue, to cells and rows of the connected store.
#
# The text of a row becomes its text there, with every column that is derived from it. Retiring becomes the way in which the store itself
# hides a row. Values without a place in the store go to ``night.overlay``. Guards become guards on the same physical cells. The result is
# sealed with its values, so nothing is computed at apply.

_OF_TEXT: Final = frozenset({"memory_versions", "memory_vectors"})
"""Logical tables that are stored in the row of the memory itself, or in its child rows."""

_RETIRES: Final = ("invalidated_at", "invalidated_by")


class Unlowered(Exception):  # noqa: N818 - a mutation that is left out, which is no error
    """The reason why a mutation cannot become a change of the store.

    ``changed`` is true if the reason is that its rows differ from the snapshot.
    """

    def __init__(self, reason: str, *, changed: bool = False) -> None:
        super().__init__(reason)
        self.changed = changed


def concerns(binding: Binding, mutation: Mutation) -> bool:
    """Return whether a mutation writes or depends on rows of the store; tables that only lie in ``memory`` do not count."""
    held = {*binding.tables, *(_OF_TEXT if "memories" in binding.tables else ())}
    return not held.isdisjoint(_tables(mutation))


def rewritten(mutation: Mutation) -> frozenset[str]:
    """Return the rows that get another text or another vector."""
    found = {str(i.values.get("memory_id")) for i in mutation.inserts if i.table == "memory_versions"}
    found |= {i.row for i in mutation.inserts if i.table == "memory_vectors"}
    return frozenset(found | {w.cell.row for w in mutation.writes if w.cell.table == "memory_vectors"})


def lower(binding: Binding, bound: BoundTable, mutation: Mutation, rows: Mapping[str, NativeRow]) -> Change:
    """Lower a mutation of rows of a bound table to a change of the store.

    ``rows`` are all rows that the mutation names, as they are now. Raises ``Unlowered`` for what the store cannot hold, and for rows that
    are no longer as the mutation saw them.
    """
    lowering = _Lowering(binding, bound, rows)
    lowering.take(mutation)
    return lowering.change()


@dataclass(frozen=True, slots=True)
class Unexplained:
    """The physical part of an item that does not follow from its logical part.

    ``reason`` is a sentence that names the first such cell. ``cells`` are the writes, deletes and new rows that nothing explains; there
    are none where the physical part only lacks something.
    """

    reason: str
    cells: Change


def rows_to_read(binding: Binding, mutation: Mutation) -> dict[str, set[str]]:
    """Return the native keys, by table, of the rows to read before ``find_unexplained`` can compare a sealed mutation.

    These are rows to delete, of which the sealed part holds a hash and no cells, and child rows whose keys do not name their parents.
    """
    found: dict[str, set[str]] = defaultdict(set)
    change = mutation.physical
    if change is None or _has_fault(binding, mutation):
        return found
    tables = {name_of(bound): bound for bound in binding.tables.values()}
    for delete in change.deletes:
        if delete.table in tables:
            found[tables[delete.table].name].add(delete.key)
    for write in change.writes:
        bound = tables.get(write.cell.table)
        if bound and bound.parent and owner_of(binding, bound, _native(write.cell.key)) is None:
            found[bound.name].add(write.cell.key)
    return found


def find_unexplained(
    binding: Binding, model: str, mutation: Mutation, read: Mapping[str, Mapping[str, KeyedRow]]
) -> Unexplained | None:
    """Lower a sealed mutation again from the values that it saw, and return how its physical part differs from the result.

    Args:
        binding: The binding of the store that the item's namespace is in.
        model: The name under which the store's vectors are compared; a new vector has to be of that model.
        mutation: A mutation as it was sealed, with its physical part.
        read: Table → native key → row, for the existing rows that ``rows_to_read`` names. Rows that have changed are left to the check of
            staleness, so that an item whose rows changed is skipped at apply and not refused here.
    """
    sealed = mutation.physical
    if not concerns(binding, mutation):
        if sealed is None:
            return None
        return Unexplained(f"It would change tables of {binding.title}, and is about none of its rows.", sealed)
    if sealed is None or mutation.table not in binding.tables:
        return Unexplained(
            f"It is about rows of {binding.title}, and does not hold what is written there.", sealed or Change()
        )
    try:
        if fault := change_fault(binding, mutation) or _vector_fault(binding, model, mutation):
            return Unexplained(fault, sealed)
        rows, unread = _sealed_rows(binding, mutation, sealed, read)
        lowering = _Lowering(binding, binding.tables[mutation.table], rows, unread)
        lowering.take(mutation)
        return _difference(lowering.change(), sealed)
    except (Unlowered, Refused) as problem:
        return Unexplained(f"Its physical part does not hold what the change that it shows rests on. {problem}", sealed)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
    ):  # values that lowering never produces: invalid JSON, no key, no vector
        return Unexplained("Its physical part holds values that no version of Slowwave writes.", sealed)


def _has_fault(binding: Binding, mutation: Mutation) -> bool:
    """Return whether ``find_unexplained`` refuses the change of a mutation before it compares anything."""
    try:
        return bool(change_fault(binding, mutation))
    except ValueError:
        return True


def _vector_fault(binding: Binding, model: str, mutation: Mutation) -> str:
    """Describe a vector of another model than the store's, or one without its text; empty if there is none."""
    vectors = {(i.row, i.key) for i in mutation.inserts if i.table == "memory_vectors"}
    vectors |= {(w.cell.row, w.cell.key) for w in mutation.writes if w.cell.table == "memory_vectors"}
    texts = {str(i.values.get("memory_id")) for i in mutation.inserts if i.table == "memory_versions"}
    for row, of in sorted(vectors):
        if of != model:
            return (
                f"It has a vector of the model {of[:64]!r} for row {row}, and {binding.title} is searched by {model!r}."
            )
        if row not in texts:
            return f"It has a vector for row {row}, and no text of which that is the vector."
    return ""


def _sealed_rows(
    binding: Binding, mutation: Mutation, sealed: Change, read: Mapping[str, Mapping[str, KeyedRow]]
) -> tuple[dict[str, NativeRow], frozenset[str]]:
    """Build the rows as the sealed part saw them, and the ids of rows to delete that have changed or are gone."""
    bound = binding.tables[mutation.table]
    tables = {name_of(one): one for one in binding.tables.values()}
    keys: dict[tuple[str, str], str] = {}
    cells: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)
    overlay: dict[str, dict[str, str]] = defaultdict(dict)
    hashes: dict[tuple[str, str], str] = {}
    unread: set[str] = set()
    seen = [(cell, value) for guard in sealed.guards for cell, value in guard.cells()]
    for cell, value in (*seen, *((w.cell, w.seen) for w in sealed.writes)):
        text = None if value is None else str(value)
        if cell.table == OVERLAY and cell.key == bound.name and text is not None:
            overlay[cell.row][cell.column] = text
        elif cell.table in tables:
            column = tables[cell.table].columns.get(cell.column)
            vector = column is not None and column.type in ("vector", "halfvec") and text is not None
            keys[cell.table, cell.row] = cell.key
            cells[cell.table, cell.row][cell.column] = vector_literal(str(text)) if vector else text
    for delete in sealed.deletes:
        place = (delete.table, delete.row)
        keys[place], hashes[place] = delete.key, str(delete.seen[ROW])
        now = read.get(tables[delete.table].name, {}).get(delete.key)
        if now is not None and now.hash == hashes[place]:
            cells[place] = dict(now.cells)
        else:
            unread.add(delete.row)
    about = sorted(rewritten(mutation) | retired_rows(mutation))
    children: dict[str, dict[str, list[NativeRow]]] = defaultdict(lambda: defaultdict(list))
    for child in binding.children(bound.name):
        for (table, row), key in keys.items():
            if table == name_of(child):
                now = read.get(child.name, {}).get(key)
                owner = owner_of(binding, child, _native(key)) or (
                    now.owner if now and row not in unread else about[0] if about else ""
                )
                one = NativeRow(row, key, cells[table, row], hashes.get((table, row), ""))
                children[owner][child.name].append(one)
    named = {*mutation.row_ids(), *about, *overlay, *(row for table, row in keys if table == name_of(bound))}
    named |= {g.row for g in mutation.guards if g.table == bound.name} | {w.cell.row for w in mutation.writes}
    rows: dict[str, NativeRow] = {}
    for row in named:
        place = (name_of(bound), row)
        theirs = {name: tuple(found) for name, found in children[row].items()}
        rows[row] = NativeRow(
            row, keys.get(place, ""), cells[place], hashes.get(place, ""), overlay.get(row, {}), theirs
        )
    return rows, frozenset(unread)


def _difference(expected: Change, sealed: Change) -> Unexplained | None:
    """Compare two changes by their canonical JSON, guards cell by cell."""
    due = (
        {*map(write_json, expected.writes)},
        {*map(delete_json, expected.deletes)},
        {*map(insert_json, expected.inserts)},
    )
    more = Change(
        writes=tuple(w for w in sealed.writes if write_json(w) not in due[0]),
        deletes=tuple(d for d in sealed.deletes if delete_json(d) not in due[1]),
        inserts=tuple(i for i in sealed.inserts if insert_json(i) not in due[2]),
    )
    there = (
        {*map(write_json, sealed.writes)},
        {*map(delete_json, sealed.deletes)},
        {*map(insert_json, sealed.inserts)},
    )
    checked, due_checks = ({seen_json(*c) for g in side.guards for c in g.cells()} for side in (sealed, expected))
    for action, place in (
        *(("write", f"{w.cell.table}.{w.cell.column} of row {w.cell.row}") for w in more.writes),
        *(("delete", f"row {d.row} of {d.table}") for d in more.deletes),
        *(("add", f"row {i.row} of {i.table}") for i in more.inserts),
    ):
        return Unexplained(f"It would {action} {place}, which does not follow from the change that it shows.", more)
    for action, place in (
        *(
            ("write", f"{w.cell.table}.{w.cell.column} of row {w.cell.row}")
            for w in expected.writes
            if write_json(w) not in there[0]
        ),
        *(("delete", f"row {d.row} of {d.table}") for d in expected.deletes if delete_json(d) not in there[1]),
        *(("add", f"row {i.row} of {i.table}") for i in expected.inserts if insert_json(i) not in there[2]),
        *(
            ("check", f"{c.table}.{c.column} of row {c.row}")
            for g in expected.guards
            for c, s in g.cells()
            if seen_json(c, s) not in checked
        ),
        *(
            ("leave unchecked", f"{c.table}.{c.column} of row {c.row}")
            for g in sealed.guards
            for c, s in g.cells()
            if seen_json(c, s) not in due_checks
        ),
    ):
        return Unexplained(f"It does not {action} {place}, as the change that it shows requires.", more)
    return None


def _native(key: str) -> tuple[str, ...]:
    found: object = json.loads(key)
    return tuple(map(str, found)) if isinstance(found, list) else ()


@dataclass(slots=True)
class _Lowering:
    """One mutation while it is lowered to a change; the texts of ``unread`` rows are unknown, so they are not compared."""

    binding: Binding
    bound: BoundTable
    rows: Mapping[str, NativeRow]
    unread: frozenset[str] = frozenset()
    writes: dict[Cell, Write] = field(default_factory=dict)
    guards: dict[tuple[str, str, str], dict[str, Value]] = field(default_factory=lambda: defaultdict(dict))
    passed: list[Guard] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)

    def change(self) -> Change:
        """Return the change collected so far, in the order of its cells."""
        gone = {(d.table, d.key) for d in self.deletes}
        guards = list(self.passed)
        for (table, row, key), seen in self.guards.items():
            stay = [c for c in seen if Cell(table, row, c, key) not in self.writes]
            if stay and (table, key) not in gone:
                guards.append(
                    Guard.on(table, row, seen, stay) if not key else Guard.on(table, row, seen, stay)._replace(key=key)
                )
        return Change(
            tuple(self.writes[cell] for cell in sorted(self.writes)),
            tuple(sorted(guards, key=lambda g: (g.table, g.row, g.key))),
            tuple(sorted(self.deletes, key=lambda d: (d.table, d.key))),
            tuple(sorted(self.inserts, key=lambda i: (i.table, i.key))),
        )

    def take(self, mutation: Mutation) -> None:
        if self.bound.read_only:
            raise Unlowered(f"Rows of {self.bound.table} of {self.binding.title} are read and not written.")
        if mutation.deletes:
            raise Unlowered(
                f"Rows of {self.binding.title} are retired as its own client does it, and purged by nobody else."
            )
        texts: dict[str, str] = {}
        vectors: dict[str, str] = {}
        for insert in mutation.inserts:
            if insert.table == "memory_versions":
                texts[str(insert.values["memory_id"])] = str(insert.values["content"])
            elif insert.table == "memory_vectors" and insert.row:
                vectors[insert.row] = str(insert.values["vector"])
            else:
                raise Unlowered(f"It would add a row to {insert.table}, and nothing is added to {self.binding.title}.")
        wanted: dict[str, dict[str, Write]] = defaultdict(dict)
        for write in mutation.writes:
            if write.cell.table == "memory_vectors":
                vectors[write.cell.row] = str(write.value)
            elif write.cell.table == self.bound.name:
                wanted[write.cell.row][write.cell.column] = write
            else:
                raise Unlowered(f"It would write {write.cell.table}, of which {self.binding.title} has none.")
        for guard in mutation.guards:
            self._guard(guard)
        for id_ in sorted({*wanted, *texts, *vectors}):
            self._row(mutation, self._there(id_), wanted[id_], texts.get(id_), vectors.get(id_))

    def _there(self, id_: str) -> NativeRow:
        if id_ not in self.rows:
            raise Unlowered(f"Row {id_} is gone since the snapshot.", changed=True)
        return self.rows[id_]

    def _row(
        self, mutation: Mutation, row: NativeRow, wanted: Mapping[str, Write], text: str | None, vector: str | None
    ) -> None:
        retired = row.id in retired_rows(mutation)
        for column, write in wanted.items():
            if column == VERSION:
                self._same_text(row, write.seen)
            elif column not in _RETIRES or (column == "invalidated_at" and retired and self._keeps_no_instant()):
                self._column(row, column, write, keeps=not (retired and self.bound.retire.removes))
        if retired:
            lost = mutation.kind == "invalidate_rows" and "valid_to" in wanted
            self._retire(row, lost=lost)
        elif "invalidated_at" in wanted:
            raise Unlowered(f"It would bring back a row of {self.binding.title} that was retired.")
        if text is not None or vector is not None:
            self._say(row, text, vector)

    def _keeps_no_instant(self) -> bool:
        """Return whether a retired row stays and has a mark without a time, so that the overlay holds the time of the apply."""
        mark = self.bound.retired
        return mark is not None and mark.test == "true" and not self.bound.retire.removes

    def _column(self, row: NativeRow, column: str, write: Write, *, keeps: bool) -> None:
        if write.action == "add":
            raise Unlowered(f"It counts in {column}, which {self.binding.title} does not keep.")
        if column in self.bound.constants:
            raise Unlowered(f"It would write {column}, which is the same for every row of {self.binding.title}.")
        if column in self.bound.columns:
            if keeps and write.action == "now":
                self._note(self.bound, row, column)
            elif keeps:
                self._put(self.bound, row, column, write.value)
            if keeps:
                self._stamp(self.bound, row)
            return
        cell = Cell(OVERLAY, row.id, column, self.bound.name)
        value = _overlaid(column, write.value) if write.action == "set" else None
        self.writes[cell] = Write(cell, write.action, row.overlay.get(column), value)

    def _say(self, row: NativeRow, text: str | None, vector: str | None) -> None:
        """Write another text, another vector, and the columns derived from the text."""
        if text is not None:
            self._put(self.bound, row, "content", text)
        for derived in self.bound.derived:
            if derived.by == "embedding":
                if vector is None:
                    raise Unlowered(f"It has no vector of the new text, and {self.binding.title} searches by vectors.")
                if not derived.table:
                    self._put(self.bound, row, derived.column, vector)
                else:
                    self._embed_children(row, derived.table, derived.column, vector)
            elif text is not None:
                made = text if derived.by == "copy" else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
                self._put(self.bound, row, derived.column, made)
        if text is not None or not any(d.by == "embedding" and d.table for d in self.bound.derived):
            self._stamp(self.bound, row)

    def _embed_children(self, row: NativeRow, table: str, column: str, vector: str) -> None:
        child = self.binding.tables[table]
        only = dict(child.only)
        names = [k.column for k in child.key]
        for one in row.children.get(table, ()):
            native = dict(zip(names, json.loads(one.key), strict=True))
            if all(native.get(c, texts[0]) in texts for c, texts in only.items()):
                self._put(child, one, column, vector)
                self._stamp(child, one)

    def _retire(self, row: NativeRow, *, lost: bool) -> None:
        retire = self.bound.retire
        if retire.by == "nothing":
            raise Unlowered(retire.why_not or f"No way is declared to retire a row of {self.binding.title}.")
        if retire.removes:
            self.deletes.append(Delete(name_of(self.bound), row.id, row.key, {ROW: row.hash}))
            if left := sorted(n for n, found in row.children.items() if found and n not in self.bound.cascades):
                raise Unlowered(f"Rows of {left[0]} belong to it, and the binding does not say that they go with it.")
            for name, children in sorted(row.children.items()):
                table = name_of(self.binding.tables[name])
                self.deletes += [Delete(table, one.id, one.key, {ROW: one.hash}) for one in children]
            if retire.by == "move":
                self._archive(row, self.binding.tables[retire.to])
            return
        for column, value in (*retire.puts, *(self.bound.lose if lost else ())):
            self._put(self.bound, row, column, value)
        for column in retire.notes:
            self._note(self.bound, row, column)
        self._stamp(self.bound, row)

    def _archive(self, row: NativeRow, archive: BoundTable) -> None:
        """Insert into the archive what it holds of a moved row in addition to the row's own columns."""
        values: dict[str, Value] = {archive.columns[c].column: value for c, value in archive.defaults}
        for gathered in archive.gathers:
            at = [k.column for k in self.binding.tables[gathered.table].key].index(gathered.key)
            found = (json.loads(one.key)[at] for one in row.children.get(gathered.table, ()))
            values[archive.columns[gathered.column].column] = f"{{{','.join(map(_quoted, sorted(found)))}}}"
        stamped = tuple(archive.columns[s.column].column for s in archive.stamps)
        id_ = row_id_of(self.binding, archive, tuple(json.loads(row.key)))
        self.inserts.append(Insert(name_of(archive), values, id_, row.key, stamped=stamped))

    def _stamp(self, bound: BoundTable, row: NativeRow) -> None:
        for stamp in bound.stamps:
            self._note(bound, row, stamp.column)

    def _note(self, bound: BoundTable, row: NativeRow, column: str) -> None:
        """Write the time of the apply into a column."""
        name = cell_of(bound, column)
        if name.startswith("/"):
            raise Unlowered(
                f"{bound.table}.{name[1:]} is json, which is written whole, and notes the instant of the write."
            )
        cell = Cell(name_of(bound), row.id, name, row.key)
        self.writes[cell] = Write(cell, "now", self._seen(bound, row, name))

    def _put(self, bound: BoundTable, row: NativeRow, column: str, value: Value | Constant) -> None:
        name, to = cell_of(bound, column), bound.columns[column]
        cell = Cell(name_of(bound), row.id, name, row.key)
        seen = self._seen(bound, row, name)
        if name.startswith("/"):
            before = self.writes[cell].value if cell in self.writes else seen
            after: Value = _patched(None if before is None else str(before), to.path, value)
        else:
            after = _physical(to, value)
        self.writes[cell] = Write(cell, "set", seen, after)

    def _seen(self, bound: BoundTable, row: NativeRow, name: str) -> Value:
        text = row.cells.get(name)
        if text is None or name not in bound.columns or bound.columns[name].type not in ("vector", "halfvec"):
            return text
        return encode(np.array(json.loads(text), np.float32))

    def _guard(self, guard: Guard) -> None:
        if guard.table not in (self.bound.name, *_OF_TEXT):
            self.passed.append(guard)
            return
        if guard.table != self.bound.name:
            raise Unlowered(f"It rests on {guard.table}, which {self.binding.title} does not have apart from the row.")
        row = self._there(guard.row)
        table = name_of(self.bound)
        stands = self.guards[table, row.id, row.key]
        if "content" in self.bound.columns:  # at least that the row exists with the same text
            self._stands(stands, row, "content")
        for column, seen in zip(guard.columns, guard.seen, strict=True):
            if column in (VERSION, TOLD):
                self._same_text(row, seen)
            elif column == "invalidated_at":
                if self.bound.retired:
                    self._stands(stands, row, RETIRED)
            elif column == "scope" and self.bound.apart:
                for n in range(len(self.bound.apart)):
                    self._stands(stands, row, f"{APART}{n}")
            elif column in self.bound.columns:
                self._stands(stands, row, column)
            elif column not in self.bound.constants and column not in ("id", "external_id", "kind", "recorded_at"):
                self.guards[OVERLAY, row.id, self.bound.name][column] = row.overlay.get(column)

    def _stands(self, stands: dict[str, Value], row: NativeRow, column: str) -> None:
        name = cell_of(self.bound, column)
        physical = name[1:] if name.startswith("/") else self._physical_column(name)
        if physical not in self.bound.volatile:
            stands[name] = row.cells.get(name)

    def _physical_column(self, name: str) -> str:
        if name == RETIRED and self.bound.retired:
            return self.bound.retired.column.column
        if name.startswith(APART):
            return self.bound.apart[int(name[len(APART) :])].column
        return self.bound.columns[name].column

    def _same_text(self, row: NativeRow, version: Value) -> None:
        if row.id not in self.unread and version != str(version_of(row.id, text_in(self.bound, row))):
            raise Unlowered(f"Row {row.id} says something else since the snapshot.", changed=True)


def text_in(bound: BoundTable, row: NativeRow) -> str:
    """Return the text of a row."""
    column, held = bound.columns["content"], row.cells.get(cell_of(bound, "content"))
    if held is None or not column.path:
        return held or ""
    found: object = json.loads(held)
    for name in column.path if column.json == "json" else ():
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def version_of(id_: str, text: str) -> uuid.UUID:
    """Return the id of the version that a row's text is, as snapshots derive it."""
    return uuid.UUID(hashlib.md5(f"{id_}:{text}".encode(), usedforsecurity=False).hexdigest())


def _tables(mutation: Mutation) -> set[str]:
    rows = (*mutation.inserts, *mutation.deletes, *mutation.guards)
    return {w.cell.table for w in mutation.writes} | {r.table for r in rows}


def _physical(column: BoundColumn, value: Value | Constant) -> Value:
    """Convert a value for the cell of a bound column: JSON text if the column is under a path; None stays None."""
    if not column.path or value is None:
        return value
    return str(value) if column.type == "jsonb" else canonical_json(list(value) if isinstance(value, tuple) else value)


def _quoted(text: str) -> str:
    """Quote a member of an array in PostgreSQL's syntax."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _overlaid(column: str, value: Value) -> Value:
    if value is None:
        return None
    if sql_type("memories", column) == "jsonb":
        return str(value)
    return canonical_json(list(value) if isinstance(value, tuple) else value)


def _patched(text: str | None, path: tuple[str, ...], value: Value | Constant) -> str:
    """Set one value under a path of a ``json`` document, or remove it if it is None; other keys keep their order.

    Raises ``Unlowered`` if the document or a part of the path is no object.
    """
    whole: object = json.loads(text) if text is not None else {}
    if not isinstance(whole, dict):
        raise Unlowered("Its JSON is no object, so nothing can be set inside it.")
    at = whole
    for name in path[:-1]:
        at = at.get(name)
        if not isinstance(at, dict):
            raise Unlowered(f"Its JSON has no object {name!r} to set anything in.")
    if value is None:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = list(value) if isinstance(value, tuple) else value
    return json.dumps(whole, ensure_ascii=False)
