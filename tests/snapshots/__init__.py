"""Small snapshots for tests, written as lists of dictionaries; a column that a test does not name gets its default."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ARRAY, Boolean, Column, DateTime, Double, Integer, Table, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.operations import Inputs
from slowwave.snapshots.models import SqlModel, load_models, run_models
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS

TAKEN_AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
"""The instant of every snapshot that is made here."""

NAMESPACE = "tests"


def uid(name: object) -> str:
    """The same 36-character id for the same name, so that a test can say ``uid("anna")``."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(name)))


def make_snapshot(
    *,
    settings: Mapping[str, object] | Settings | None = None,
    vectors: Mapping[str, Vectors | Mapping[str, Sequence[float]]] | None = None,
    **tables: Sequence[Mapping[str, object]],
) -> Snapshot:
    """A snapshot with the given rows in the types of a real one, sorted by id; tables that are not named are empty.

    ``vectors`` maps a vectors table to id → vector (of the model in ``settings``) or to ``Vectors``. A row without an
    id gets ``uid("<table> <position>")``; required references get ids of nothing; ``jsonb`` may be given as Python values.
    """
    overlay = settings.model_dump(mode="json") if isinstance(settings, Settings) else dict(settings or {})
    model = _settings(overlay).embedding_model
    if unknown := sorted({*tables} - {*SNAPSHOT_TABLES}) + sorted({*(vectors or {})} - {*VECTORS}):
        raise KeyError(f"A snapshot has no table {unknown[0]!r}.")
    return Snapshot(
        namespace_id=uid(NAMESPACE),
        namespace=NAMESPACE,
        snapshot_id="20260301T030000Z-tests",
        taken_at=TAKEN_AT,
        change_counter=1,
        settings=overlay,
        tables={name: make_table(table, tables.get(name, ())) for name, table in SNAPSHOT_TABLES.items()},
        vectors={name: _vectors(model, (vectors or {}).get(name, {})) for name in VECTORS},
    )


def make_inputs(snapshot: Snapshot, *, baselines: Mapping[str, Mapping[str, object]] | None = None) -> Inputs:
    """What an operation is given: the snapshot, the results of the real SQL models over it and its own settings."""
    settings = _settings(snapshot.settings)
    return Inputs(snapshot, _Results(snapshot, settings), settings, baselines or {})


class _Results(Mapping[str, pa.Table]):
    """Results of the SQL models, computed when the first of them is asked for: most operations need none."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self._run = cache(lambda: run_models(_models(), snapshot, settings))

    def __getitem__(self, name: str) -> pa.Table:
        return self._run()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._run())

    def __len__(self) -> int:
        return len(self._run())


@cache
def _models() -> tuple[SqlModel, ...]:
    return load_models()


def _settings(overlay: Mapping[str, object]) -> Settings:
    """A namespace's settings; what was read once of the same overlay and the same variables is not read again."""
    variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("SLOWWAVE_")))
    return _read_settings(json.dumps(overlay, sort_keys=True), variables)


@cache
def _read_settings(overlay: str, variables: tuple[tuple[str, str], ...]) -> Settings:
    return Settings.for_namespace(json.loads(overlay))


def make_table(table: Table, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """One table of a snapshot from partial rows; an unknown column is a mistake in the test and raises."""
    schema = arrow_schema(table)
    if unknown := sorted({key for row in rows for key in row} - {*schema.names}):
        raise KeyError(f"Table {table.name} of a snapshot has no column {unknown[0]!r}.")
    columns = {
        name: [
            _value(table.columns[name], row[name]) if name in row else _default(table.columns[name], position)
            for position, row in enumerate(rows)
        ]
        for name in schema.names
    }
    return pa.table(columns, schema=schema).sort_by("id")


def _value(column: Column[object], value: object) -> object:
    if isinstance(column.type, JSONB) and not isinstance(value, str):
        return _postgres_json(value)
    return value


def _postgres_json(value: object) -> str:
    """JSON as ``jsonb`` prints it: keys by length, then by bytes."""
    if isinstance(value, Mapping):
        keys = sorted(map(str, value), key=lambda k: (len(k.encode()), k.encode()))
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {_postgres_json(value[k])}" for k in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_postgres_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _default(column: Column[object], position: int) -> object:
    if column.primary_key and isinstance(column.type, Uuid):
        return uid(f"{column.table.name} {position}")
    if isinstance(column.type, DateTime):
        return None if column.nullable else TAKEN_AT
    if column.nullable:
        return None
    given = "" if column.server_default is None else str(column.server_default.arg)  # type: ignore[attr-defined]
    match column.type:
        case ARRAY():
            return []
        case Uuid():
            return uid(column.name)
        case Boolean():
            return given == "true"
        case Integer():
            return int(given or 0)
        case Double():
            return float(given or 0)
        case _:
            return given


def _vectors(model: str, given: Vectors | Mapping[str, Sequence[float]]) -> Vectors:
    if isinstance(given, Vectors):
        order = pc.sort_indices(given.ids)
        return Vectors(given.model, given.ids.take(order), given.matrix[order.to_numpy()])
    if not given:
        return Vectors.empty(model)
    ids = sorted(given)
    return Vectors(model, pa.array(ids, pa.string()), np.array([given[i] for i in ids], np.float32))
