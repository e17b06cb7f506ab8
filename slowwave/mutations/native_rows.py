"""Rows of a store that is not ours as lowering sees them: native keys, the texts of cells, hashes of whole rows, and the rows that belong
to them. Two statements and one for each child table, whatever the number of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from slowwave.bindings.binding import Binding, BoundTable
from slowwave.bindings.row_ids import row_id_of, row_id_sql
from slowwave.mutations.bound_relations import APART, RETIRED, cell_of, key_json
from slowwave.mutations.catalogue import Catalogue, Relation, quoted_name, quoted_text
from slowwave.mutations.change import OVERLAY
from slowwave.mutations.change_limits import name_of
from slowwave.store.connect import Connection


@dataclass(frozen=True, slots=True)
class NativeRow:
    """One row. ``cells`` and ``overlay`` are column → text of what it holds, vectors only where they were asked for; ``children`` the rows
    of each child table that belong to it."""

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
    """Id → row, of those of ``ids`` that the namespace has; with the vectors of some."""
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
        str(i): (_native(cells), _cells(cells), str(hash_))
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
    """One row that was found by its native key: the texts of its cells, its hash, and for a child table the id of the row it belongs to."""

    cells: Mapping[str, str | None]
    hash: str
    owner: str


def rows_by_key(
    connection: Connection, binding: Binding, bound: BoundTable, catalogue: Catalogue, keys: Collection[str]
) -> dict[str, KeyedRow]:
    """Read the rows of a bound table that have one of the native ``keys``, whoever's they are, without vectors: key → row.

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
    """The cells of a bound table but those that hold vectors."""
    names = [cell_of(bound, n) for n, c in bound.columns.items() if c.type not in ("vector", "halfvec")]
    more = [*([RETIRED] if bound.retired else []), *(f"{APART}{n}" for n in range(len(bound.apart)))]
    return list(dict.fromkeys([*names, *(cell_of(bound, n) for n in more)]))


def vector_names(bound: BoundTable) -> list[str]:
    """Those that do."""
    return [n for n, c in bound.columns.items() if c.type in ("vector", "halfvec")]


def _texts(relation: Relation, bound: BoundTable, id_: str) -> str:
    """SQL of the key, under the empty name, and the texts of the cells."""
    key = ", ".join(f"t.{quoted_name(k.column)}::text" for k in bound.key)
    parts = [f"jsonb_build_object('', jsonb_build_array({key}))"]
    parts += [f"jsonb_build_object({quoted_text(n)}, {relation.fields(n).value}::text)" for n in cell_names(bound)]
    parts += [
        f"CASE WHEN {id_} = ANY(%(vectors)s::uuid[]) THEN jsonb_build_object({quoted_text(n)}, {relation.fields(n).value}::text) "
        "ELSE '{}' END"
        for n in vector_names(bound)
    ]
    return " || ".join(parts)


def _native(cells: object) -> tuple[str, ...]:
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
    """Parent's id → rows of a child table, in the order of their keys."""
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
        native = _native(cells)
        row = NativeRow(row_id_of(binding, child, native), key_json(native), _cells(cells), str(hash_))
        found[str(parent)].append(row)
    return found
