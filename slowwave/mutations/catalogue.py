"""Relations: what the statements of applying and undoing need to know of a table, whoever owns it.

Those of ``memory`` come from the catalogue of columns (``slowwave.store.tables``); those of a store that is not ours from its
binding. Cells of a relation are named by its name, the id of the row and the column; in a relation that has a key of its own kind the
cell's ``key`` holds it: the text of a PostgreSQL array of its key columns, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from slowwave.errors import Refused
from slowwave.mutations.cells import column_of, is_counter, row_columns, sql_type, table_of
from slowwave.mutations.change import ROW
from slowwave.mutations.mutation import Identified, Mutation
from slowwave.store.connect import Connection
from slowwave.store.tables import DERIVED_COLUMNS, VECTORS, metadata


@dataclass(frozen=True, slots=True)
class Field:
    """A cell: the physical column, the path inside it where that is JSON, and the type to which the literal of a value is cast.

    ``now`` is the text that stamps the instant of the transaction.
    """

    column: str
    type: str
    path: tuple[str, ...] = ()
    counter: bool = False
    now: str = "now()::text"

    @property
    def value(self) -> str:
        """SQL of what a row ``t`` holds in it."""
        column = f"t.{quoted_name(self.column)}"
        return f"({column} #> {quoted_path(self.path)})" if self.path else column

    @property
    def vector(self) -> bool:
        """Whether plans hold its value as they hold vectors."""
        return self.type.split("(")[0].rpartition(".")[2] in ("vector", "halfvec")


@dataclass(frozen=True, slots=True)
class Child:
    """A relation of which rows go with the row that they name: the expressions over ``x`` that are its parent's key."""

    name: str
    sql: str
    parent_key: tuple[str, ...]
    own_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A relation of which rows go with any row that they name, unplanned. ``ways`` are in how many ways one may: over ``t`` what the
    parent's key is then, and the physical columns; ``parents`` are its ids. ``row_id`` and ``key`` are SQL over ``t`` of how the journal
    calls the row itself."""

    name: str
    sql: str
    scope: str
    ways: tuple[tuple[tuple[str, str], ...], ...]
    parents: tuple[str, ...]
    row_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A table. ``sql`` is its name in a statement; ``key`` pairs expressions over a row ``t`` with those over a row ``{}`` of a batch.

    ``scope`` is the condition by which a row ``t`` is the namespace's own. ``row`` are the columns that make up a row of another store,
    with their types; None where a row is of our own catalogue. ``settled`` are those of them that a row's hash covers.
    A row of a ``sparse`` relation is there while the JSON column of that name holds something. A new row of one with a ``source`` is the
    row of that relation with the same key, which goes: its columns of the same names are copied.
    """

    name: str
    sql: str
    key: tuple[tuple[str, str], ...]
    scope: str
    fields: Callable[[str], Field]
    rank: int
    row: Mapping[str, str] | None = None
    settled: tuple[str, ...] = ()
    children: tuple[Child, ...] = ()
    sparse: str = ""
    takes: tuple[Taken, ...] = ()
    source: Relation | None = None

    @property
    def order(self) -> str:
        """In which rows are locked."""
        return ", ".join(own for own, _ in self.key)

    @property
    def absent(self) -> str:
        """Of an outer join: that there is no row."""
        return f"{self.key[0][0]} IS NULL"

    def same_key(self, alias: str) -> str:
        """The join of a batch row with the row of its key, in whatever namespace."""
        return " AND ".join(f"{own} = {other.format(alias)}" for own, other in self.key)

    def match(self, alias: str) -> str:
        """The same inside one namespace."""
        return f"{self.same_key(alias)} AND {self.scope}"

    def differs(self, column: str, text: str) -> str:
        """Whether a row ``t`` holds something else than a text says."""
        cell = self.fields(column)
        if self.row is None:
            return f"{cell.value} IS DISTINCT FROM {text}::{cell.type}"
        return f"{cell.value}::text IS DISTINCT FROM ({text}::{cell.type})::text"  # json has no equality

    def stamp(self, columns: Iterable[str], col: str, item: str, value: str, action: str) -> str:
        """What a write puts into a cell, as text."""
        instants = {self.fields(c).now: c for c in columns}
        now = next(iter(instants), "now()::text")
        if len(instants) > 1:
            cases = " ".join(f"WHEN {quoted_text(c)} THEN {self.fields(c).now}" for c in sorted(columns))
            now = f"CASE {col} {cases} END"
        by = f"{item}::text" if self.row is None else f"to_jsonb({item})::text"
        return f"CASE {action} WHEN 'now' THEN {now} WHEN 'item' THEN {by} ELSE {value} END"

    def image(self, alias: str, columns: Iterable[str] | None = None) -> str:
        """A row as the journal keeps it: JSON, without what triggers keep; of another store each column as PostgreSQL's text of it."""
        if self.row is None:
            derived = "".join(f" - '{c}'" for c in DERIVED_COLUMNS if c in table_of(self.name).c)
            return f"(to_jsonb({alias}.*){derived})::text"
        names = list(self.row if columns is None else columns)
        parts = [names[n : n + 40] for n in range(0, len(names), 40)]  # a function takes a hundred arguments
        objects = (
            "jsonb_build_object(" + ", ".join(f"{quoted_text(c)}, {alias}.{quoted_name(c)}::text" for c in part) + ")"
            for part in parts
        )
        return f"({' || '.join(objects)})::text"

    def row_hash(self, alias: str) -> str:
        """The hash of a row of another store, of what of it is settled."""
        return sha256_of(self.image(alias, self.settled))

    def image_hash(self, body: str) -> str:
        """The same of an image."""
        loose = [c for c in self.row or () if c not in self.settled]
        return sha256_of(f"({body}{''.join(f' - {quoted_text(c)}' for c in loose)})::text")


def _no_change(mutation: Mutation) -> str:
    return "It would change a store that this namespace is not of." if mutation.physical else ""


def _explain_all(connection: Connection, items: Sequence[Identified]) -> Mapping[str, str]:
    """Find no item of which a physical part could differ: in our own memory items have none."""
    return {}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The relations that a namespace's items may touch, by their names, and the values that their scopes ask for.

    ``fault`` says what a mutation's change of a store that is not ours does that it may not, empty when it may. ``unexplained`` returns
    the items of which that change does not follow from their own cells, each with a sentence; their rows are locked when it is called.
    """

    relation: Callable[[str], Relation]
    parameters: Mapping[str, object] = field(default_factory=dict)
    fault: Callable[[Mutation], str] = _no_change
    unexplained: Callable[[Connection, Sequence[Identified]], Mapping[str, str]] = _explain_all

    def check(self, mutation: Mutation) -> None:
        """Refuse a mutation whose change is not one of this store."""
        if why := self.fault(mutation):
            raise Refused(why)

    def parents_first(self, tables: Iterable[str]) -> list[str]:
        """Tables in an order in which rows may be inserted; the reverse is one in which they may be deleted."""
        return sorted(tables, key=lambda table: self.relation(table).rank)


@cache
def own_relation(name: str) -> Relation:
    """A table of ``memory``. Raises ``Refused`` for any other."""
    if f"memory.{name}" not in metadata.tables:
        raise Refused(f"No mutation may touch {name[:64]}: the catalogue has no such table.")
    table = table_of(name)
    model = (("t.model", "{}.key"),) if name in VECTORS else ()
    ranks = {t.fullname: n for n, t in enumerate(metadata.sorted_tables)}
    return Relation(
        name=name,
        sql=table.fullname,
        key=(("t.id", "{}.row_id"), *model),
        scope="t.namespace_id = %(namespace)s",
        fields=lambda column: _own_field(name, column),
        rank=ranks[table.fullname],
    )


@cache
def _own_field(table: str, column: str) -> Field:
    column_of(table, column)
    return Field(column, sql_type(table, column), counter=is_counter(table, column))


OWN: Final = Catalogue(own_relation)
"""The catalogue of what is ours."""


def whole_row(relation: Relation) -> tuple[str, ...]:
    """What a delete names of a row: each column of ours, or the hash of another store's."""
    return row_columns(relation.name) if relation.row is None else (ROW,)


def quoted_name(name: str) -> str:
    """An identifier in a statement. Raises ``Refused`` for one that cannot stand in a statement with parameters."""
    _refuse_odd(name)
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text constant in a statement."""
    _refuse_odd(text)
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: Iterable[str]) -> str:
    """A path inside a JSON column."""
    return f"ARRAY[{', '.join(map(quoted_text, path))}]::text[]"


def sha256_of(text: str) -> str:
    """SQL: SHA-256 of a text, as the journal keeps it; null of null."""
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"


def _refuse_odd(name: str) -> None:
    if not name or "%" in name or "{" in name or "}" in name or "\\" in name or not name.isprintable():
        raise Refused(
            f"{name[:64]!r} cannot name a table or a column here: it is empty, or has a character that is not printed, a brace, "
            "a backslash or a percent sign."
        )
