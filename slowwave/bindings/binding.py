"""Bindings: the declared tables and columns of a store, and ids for rows without a Slowwave id."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from psycopg import sql
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from slowwave.store.tables import EXPORTED, VECTORS, Vector, metadata

# Bindings: the contract between the code that reads a store and the code that writes to it.
#
# A snapshot has *logical* tables and columns: those of ``slowwave.store.tables`` (``memories``, ``entities`` …), and two more columns,
# ``content`` and ``vector``, for a text and its vector that are stored in the row itself. A ``Binding`` declares where they are stored
# *physically*. Nothing in it is SQL: identifiers, paths and values are data, quoted when they are rendered, so a binding of unknown origin
# can name wrong tables or columns but cannot run any SQL.
#
# - A ``BoundTable`` is one physical table: its key, the namespace of a row, its columns, and the requirements for writing to it. Logical
#   tables are those in the catalogue. A table with a ``parent`` has a name that the binding chooses (``vectors``) and holds child rows of
#   another table: it is written and deleted with them.
# - ``memories`` with a ``content`` is read as ``memories`` and ``memory_versions``. A table with a ``vector``, in its rows or in those of a
#   child, is read as its vectors table as well. A version's id is derived from the memory's id and the text, so an unchanged version means
#   an unchanged text: a guard on ``current_version_id`` is a guard on ``content``.
# - A row's id is the native key if that is one uuid, else it is derived from store, table and key (``row_id_of``).
# - A bound column is read and written where it is stored. One with a constant is read only. Every other column of the catalogue is stored
#   in ``night.overlay``, one row of JSON for each row of the store that needs one, and has the catalogue's default if there is none: no
#   values of ours are written into rows of others.
# - Writing a column also writes its ``derived`` columns and the table's ``stamps``, in the same statement. ``volatile`` columns change by
#   mere reading: they are not guards, and no digest or sign of change includes them.
# - A row is retired as ``retire`` declares: deleted, together with what ``cascades`` (children by name) and what it ``takes`` along, moved
#   into an archive of its store, or changed in some columns. The loser of a conflict is changed in the columns of ``lose`` as well. Rows
#   without a declared way are not retired.
# - Cascading rows are sealed individually. Rows that are taken along may depend on several rows, as links do, and the store may add more at
#   any time: those that exist when the row is retired are journalled and deleted with it, and undo restores them.
#
# ``memory`` is the first binding: each of its tables is bound column by column, nothing is derived, and no overlay is needed.
# ``slowwave.bindings.files`` loads bindings from files, ``slowwave.bindings.rendering`` renders them.

Constant = str | int | float | bool | None
"""A constant that a column of a bound row may be set to or read as."""

Derivation = Literal["md5", "copy", "embedding"]
"""The way in which a derived column follows its text: the MD5 of its UTF-8 in hexadecimal, the text itself, or its vector from the store's
embedder."""

StampForm = Literal["instant", "iso"]
"""The format of the instant of a write: a ``timestamptz``, or ISO 8601 text in UTC with microseconds and offset."""

RetiredTest = Literal["past", "set", "true"]
"""The value by which a column shows that its row is retired: a date before today's or an instant that is not in the future (UTC), any
value, or true."""

RetireBy = Literal["delete", "move", "columns", "nothing"]

COLUMN_TYPES: Final = frozenset(
    {
        *(
            "text",
            "uuid",
            "timestamptz",
            "timestamp",
            "date",
            "boolean",
            "jsonb",
            "json",
            "vector",
            "halfvec",
            "tsvector",
        ),
        *(
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "numeric",
            "uuid[]",
            "text[]",
            "double precision[]",
        ),
    }
)
"""Types that a bound column may have, as PostgreSQL names them, without modifiers."""


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """The location of a column: the physical ``column``, or a ``path`` of keys, outermost first, inside the JSON it holds.

    ``type`` is that of the value; the text under a path is cast to it. ``json`` is the type of the physical column if there is a path. A
    ``json`` column is journalled as text, as a whole: a write through ``jsonb`` would lose its spacing and the order of its keys.
    """

    column: str
    path: tuple[str, ...] = ()
    type: str = "text"
    json: Literal["", "json", "jsonb"] = ""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One physical column of a key; a ``nullable`` one counts as empty if it is null, as in a unique index over ``coalesce``."""

    column: str
    type: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RetiredWhen:
    """The condition under which a store no longer shows a row; a row whose column is null is live.

    ``after_search`` means that the store's client drops such rows only after its search, so that many of them leave few results.
    """

    column: BoundColumn
    test: RetiredTest
    after_search: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """A bound column (``column``) that is written whenever the text in ``of`` is written.

    A ``checked`` one is only used if existing rows of the store confirm it: if they do not, the recipe is another one, and texts must not
    be rewritten there. ``table`` is the child that holds the column, empty for the row's own table.
    """

    column: str
    by: Derivation
    of: str = "content"
    table: str = ""
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Stamp:
    """A bound column that holds the time of the last write of the row."""

    column: str
    form: StampForm


@dataclass(frozen=True, slots=True)
class Retirement:
    """The way in which a store retires a row.

    If it is ``by`` columns, ``puts`` are bound columns with the values they are set to, and ``notes`` those that get the time. ``to`` is
    the archive into which a row moves: all columns that both tables have are copied, and the archive's ``defaults``, ``stamps`` and
    ``gathers`` fill others. ``why_not`` says why rows are not retired, if they are not.
    """

    by: RetireBy = "nothing"
    puts: tuple[tuple[str, Constant], ...] = ()
    why_not: str = ""
    to: str = ""
    notes: tuple[str, ...] = ()

    @property
    def removes(self) -> bool:
        """Return whether a retired row is removed from its table."""
        return self.by in ("delete", "move")


@dataclass(frozen=True, slots=True)
class Gathered:
    """A bound column of an archive that holds an array of key values of child rows that moved along.

    ``table`` is the child, ``key`` the column of its key.
    """

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class Parent:
    """The bound table to whose rows the rows of another table belong.

    ``columns`` are pairs of (own physical column, the parent's). ``also`` are other ways in which a row belongs to a parent, as a link
    belongs to both of its ends.
    """

    table: str
    columns: tuple[tuple[str, str], ...]
    also: tuple[tuple[tuple[str, str], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class BoundTable:
    """One physical table; the comment at the top of this module explains its parts.

    - ``namespace`` is None if the whole table is one namespace.
    - ``apart`` are columns in which rows differ that are never the same: they are read as the logical ``scope``.
    - ``only`` are physical columns and the texts one of which they hold in rows that are read; writes and deletes go by ``parent`` and
      affect all rows of a parent.
    - ``defaults`` are bound columns of a new row that nothing else fills.
    - ``read_only`` rows are in snapshots, and no plan writes them.
    - A table with a ``parent`` and its own ``namespace`` belongs to that namespace whether the parent's row exists or not.
    """

    name: str
    schema: str
    table: str
    key: tuple[KeyColumn, ...]
    columns: Mapping[str, BoundColumn]
    namespace: BoundColumn | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    apart: tuple[BoundColumn, ...] = ()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    retired: RetiredWhen | None = None
    derived: tuple[Derived, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    volatile: tuple[str, ...] = ()
    retire: Retirement = Retirement()
    lose: tuple[tuple[str, Constant], ...] = ()
    defaults: tuple[tuple[str, Constant], ...] = ()
    read_only: bool = False
    cascades: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    gathers: tuple[Gathered, ...] = ()
    parent: Parent | None = None

    @property
    def native_id(self) -> bool:
        """Return whether the key of a row is its id."""
        return len(self.key) == 1 and self.key[0].type == "uuid"


@dataclass(frozen=True, slots=True)
class Notify:
    """The receivers of a notice after commit about the rows that were written.

    They are listeners of a PostgreSQL ``channel``, and the address in the operator's environment (``hook``). They are not asked to write,
    and nothing waits for them.
    """

    channel: str = ""
    hook: bool = False


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """The tables that a version of the store creates: bound table → sorted lines in the form of ``slowwave.bindings.stores``."""

    version: str
    tables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Binding:
    """A store: its tables by name, parents first, the schemas of its known versions, and operations that are off there.

    ``off`` is operation → sentence with the reason. ``overlay`` states whether columns without a place are in ``night.overlay``; those of
    ``memory`` all have a place. ``warnings`` are sentences for the user who connects the store. ``read_only`` is a sentence with the
    reason if nothing at all is written to the store, else empty.
    """

    store: str
    title: str
    tables: Mapping[str, BoundTable]
    known: tuple[KnownSchema, ...] = ()
    off: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    overlay: bool = True
    read_only: str = ""
    notify: Notify | None = None

    def children(self, table: str) -> tuple[BoundTable, ...]:
        """Return the bound tables whose rows are part of those of ``table``, without tables that are taken along and archives."""
        if (parent := self.tables.get(table)) is None:
            return ()
        apart = {*parent.takes, parent.retire.to}
        held = (bound for bound in self.tables.values() if bound.parent and bound.parent.table == table)
        return tuple(bound for bound in held if bound.name not in apart)

    def owner(self, bound: BoundTable) -> BoundTable:
        """Return the table to whose rows the rows of a table belong; the table itself if it has no parent."""
        return self.tables[bound.parent.table] if bound.parent else bound

    def vector_of(self, table: str) -> tuple[BoundTable, BoundColumn] | None:
        """Return the table and column with the vectors of a logical table, its own or a child's; None if it has no vectors."""
        for bound in (self.tables[table], *self.children(table)) if table in self.tables else ():
            if column := bound.columns.get("vector"):
                return bound, column
        return None


# Ids of rows without an id of ours: the native key if it is one uuid, else a uuid that is derived from store, table and key.
#
# The rule is implemented twice, in Python and in SQL, and a test compares the two. A native key is a tuple of texts, as PostgreSQL casts
# the columns of the key to text, in the key's order.


def row_id_of(binding: Binding, table: BoundTable, native: tuple[str, ...]) -> str:
    """Return the id of the row with a native key, in the 36 characters that snapshots hold."""
    if table.native_id:
        return str(uuid.UUID(native[0]))
    return str(
        uuid.UUID(hashlib.md5(f"{_salt(binding, table)}{key_text(native)}".encode(), usedforsecurity=False).hexdigest())
    )


def key_text(native: tuple[str, ...]) -> str:
    """Return a native key as one text: the key if it has one column, else JSON of all.

    It is the ``external_id`` of its row in a snapshot.
    """
    return native[0] if len(native) == 1 else json.dumps(native, ensure_ascii=False, separators=(",", ":"))


def key_text_sql(table: BoundTable, alias: str) -> sql.Composable:
    """Return ``key_text`` in SQL, over the physical columns of the table."""
    parts = [sql.SQL("{}::text").format(sql.Identifier(alias, key.column)) for key in table.key]
    return parts[0] if len(parts) == 1 else sql.SQL("array_to_json(ARRAY[{}])::text").format(sql.SQL(", ").join(parts))


def row_id_sql(binding: Binding, table: BoundTable, alias: str) -> sql.Composable:
    """Return ``row_id_of`` in SQL, over the physical columns of the table."""
    if table.native_id:
        return sql.Identifier(alias, table.key[0].column)
    return sql.SQL("md5({} || {})::uuid").format(sql.Literal(_salt(binding, table)), key_text_sql(table, alias))


def _salt(binding: Binding, table: BoundTable) -> str:
    return f"{binding.store}:{table.schema}.{table.table}:"


# The first binding: our schema ``memory``, each table bound column by column, from the catalogue of columns.

_TYPES: Final[tuple[tuple[type[TypeEngine[Any]], str], ...]] = (
    (Uuid, "uuid"),
    (JSONB, "jsonb"),
    (DateTime, "timestamptz"),
    (Boolean, "boolean"),
    (Double, "double precision"),
    (Integer, "bigint"),  # BigInteger is a subclass of Integer; comparing as bigint gives the same result
    (Vector, "vector"),
)


@cache
def memory_binding() -> Binding:
    """Return the binding of ``memory`` itself.

    Rows keep their own ids, and are retired by the time in ``invalidated_at``.
    """
    names = (*(table.name for table in EXPORTED), *VECTORS)
    return Binding("memory", "Slowwave's own memory", {name: _bound(name) for name in names}, overlay=False)


def _bound(name: str) -> BoundTable:
    table = metadata.tables[f"memory.{name}"]
    return BoundTable(
        name=name,
        schema="memory",
        table=name,
        key=tuple(KeyColumn(column.name, type_of(column)) for column in table.primary_key),
        namespace=BoundColumn("namespace_id", type="uuid"),
        columns={column.name: BoundColumn(column.name, type=type_of(column)) for column in table.c},
        retire=Retirement(why_not="The mutation that retires a row of memory names the cells itself."),
    )


def type_of(column: Column[Any]) -> str:
    """Return PostgreSQL's name of a column's type, to which its literals are cast; integers of every size are ``bigint``."""
    kind = column.type
    if isinstance(kind, ARRAY):
        item: object = kind.item_type
        return "uuid[]" if isinstance(item, Uuid) else "double precision[]" if isinstance(item, Double) else "text[]"
    return next((name for known, name in _TYPES if isinstance(kind, known)), "text")
