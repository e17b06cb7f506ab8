"""Arrow schemas of a snapshot's tables, derived from the catalogue of columns.

Here is the one mapping from PostgreSQL's types to Arrow's. Copying rows belongs to ``slowwave.snapshots.export``.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.store.tables import DERIVED_COLUMNS, EXPORTED, conflicts, rejections

decisions: Final = Table(
    "decisions",
    MetaData(),  # a query over the ledger, no table of the store
    Column("id", Uuid, primary_key=True),  # of the item
    Column("operation", Text, nullable=False),
    Column("decision", Text, nullable=False),  # merge, or review where the plan was in doubt
    Column("status", Text, nullable=False),  # applied, rejected, undone
    Column("keep_id", Uuid, nullable=False),
    Column("seen", JSONB, nullable=False),  # [row, column, value] of what the plan saw of the rows
    Column("recorded_at", DateTime(timezone=True), nullable=False),  # of the plan
    schema="night",
)
"""What was decided about merges, by people or their policies: the newest 10,000."""

SNAPSHOT_TABLES: Final = {table.name: table for table in (*EXPORTED, rejections, conflicts, decisions)}
"""Name → table of everything that a snapshot holds beside vectors."""

INSTANT: Final = pa.timestamp("us", tz="UTC")

_LEFT_OUT: Final = frozenset({*DERIVED_COLUMNS, "namespace_id", "policy_id"})


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table's rows in a snapshot, in the order of its columns.

    Left out are ``namespace_id`` (a snapshot has only one), ``policy_id``, and the columns that triggers keep. Every field is nullable,
    as the results of Arrow's own functions are, so that schemas compare equal. A type without a mapping raises
    ``TypeError``.
    """
    return pa.schema(
        [pa.field(column.name, _arrow_type(column.type)) for column in table.columns if column.name not in _LEFT_OUT]
    )


def _arrow_type(sql_type: object) -> pa.DataType:
    """Double and BigInteger are recognised by their base classes; vectors have no mapping: they travel apart."""
    match sql_type:
        case ARRAY():
            item: Any = sql_type.item_type
            return pa.list_(_arrow_type(item))
        case Uuid() | Text() | JSONB():
            return pa.string()
        case DateTime():
            return INSTANT
        case Boolean():
            return pa.bool_()
        case Integer():
            return pa.int64()
        case Double():
            return pa.float64()
        case _:
            raise TypeError(
                f"The column type {sql_type!r} has no place in a snapshot; add it to slowwave.snapshots.schema."
            )
