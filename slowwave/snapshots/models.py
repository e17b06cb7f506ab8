"""SQL models: one DuckDB SELECT per file, run over a snapshot in a database without access to anything else."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import ModelError
from slowwave.snapshots.files import on_disk
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, arrow_schema
from slowwave.store.settings import Settings

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp


# The DuckDB connection for models: in memory, without access to anything else, and the tables that it offers.

SOURCE_SCHEMA: Final = "snapshot"
"""The schema of a snapshot's tables in models."""

_CREATE_SOURCE_SCHEMA: Final = f"create schema {SOURCE_SCHEMA}"


ROWS_OF_KEPT: Final = 20_000
"""A connection that reads more rows is not kept for the next snapshot."""


@dataclass(slots=True)
class ModelDatabase:
    """A connection for models.

    ``views`` holds the schema of each source with a view, ``taken`` the names that a table is registered under now, with its rows, and
    ``rowless`` the names that are registered for tables without rows.
    """

    connection: duckdb.DuckDBPyConnection
    views: dict[str, pa.Schema] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    rowless: dict[str, pa.Schema] = field(default_factory=dict)

    def offer(self, source: str, table: pa.Table) -> None:
        """Let models read a table of a snapshot.

        A view is kept for the next snapshot, and so is a table without rows, because most tables of a connected store have none.
        """
        name, schema = f"source_{source}", table.schema
        if table.num_rows or self.rowless.get(name) != schema:
            self.register(name, table if table.num_rows else schema.empty_table())
            if not table.num_rows:
                del self.taken[name]
                self.rowless[name] = schema
        if self.views.get(source) != schema:
            self.connection.execute(f"create or replace view {SOURCE_SCHEMA}.{source} as select * from {name}")  # noqa: S608
            self.views[source] = schema

    def register(self, name: str, table: pa.Table) -> None:
        """Register a table under a name until ``forget``."""
        self.connection.register(name, table)
        self.taken[name] = table.num_rows
        self.rowless.pop(name, None)

    def forget(self) -> None:
        """Remove the tables of the snapshot from the connection."""
        for name in self.taken:
            self.connection.unregister(name)
        self.taken.clear()


@contextmanager
def one_database() -> Generator[list[ModelDatabase]]:
    """Yield a list that keeps one DuckDB connection for the models of successive snapshots; close it when the context ends.

    Opening a connection takes longer than running the queries of a small namespace. No data of a snapshot remains on it for the next one.
    It is closed after a large one, because DuckDB keeps the memory that it once took: 5 kB for each entity with its rows.
    """
    kept: list[ModelDatabase] = []
    try:
        yield kept
    finally:
        for database in kept:
            database.connection.close()


@contextmanager
def model_database(kept: list[ModelDatabase] | None = None) -> Generator[ModelDatabase]:
    """Yield a connection without the tables of any snapshot, from ``kept`` if it has one.

    It is returned to ``kept``, or closed if there is no such list, if it took more than ``ROWS_OF_KEPT``, or if an exception is raised.
    """
    database = kept.pop() if kept else _opened()
    try:
        yield database
        if kept is None or sum(database.taken.values()) > ROWS_OF_KEPT:
            return
        database.forget()
        kept.append(database)
    finally:
        if kept is None or database not in kept:
            database.connection.close()


def _opened() -> ModelDatabase:
    database = ModelDatabase(_connection())
    database.connection.execute(_CREATE_SOURCE_SCHEMA)
    return database


def _connection() -> duckdb.DuckDBPyConnection:
    """Open a connection from which models can reach no files, extensions or variables of this process."""
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,  # a second thread takes a third more CPU, and varies the order in which numbers are added
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_external_access": False,
            "temp_directory": "",
        },
    )
    connection.execute("set python_enable_replacements = false; set timezone = 'UTC'; set lock_configuration = true")
    return connection


# SQL models: one DuckDB SELECT per file over a snapshot's tables, with dependencies and column lineage that sqlglot extracts.
#
# This part loads, orders, runs and checks the models. Their SQL is in ``dbt_like_sql/models``; ``dbt_like_sql`` defines the assets that
# show them. Nothing here reads or writes a store.

FREQUENCY_CAP: Final = 20
"""Recalls at which the frequency signal is full; nexo's own cap is 6 (``signals_compat``)."""

PARAMETERS: Final = ("taken_at", "window_days", "frequency_cap")
"""The parameters of a model: ``$taken_at`` (instant), ``$window_days`` and ``$frequency_cap`` (integers)."""

_DIALECT: Final = "duckdb"
_MODEL_SCHEMA: Final = "model"  # schema of the tables without one in lineage, because its schemas must have equal depth
_CHECK: Final = re.compile(r"check:\s*(\w+)\s+(.+)")
_CHECK_KINDS: Final = ("unique", "not_null")
_OF_THESE: Final = "no row without:"
_NEXT: Final = "Correct the file and run the night again."


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a model's rows: ``unique`` (the columns together) or ``not_null`` (each column)."""

    kind: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} {', '.join(self.columns)}"


@dataclass(frozen=True, slots=True)
class SqlModel:
    """One SELECT.

    ``parents`` are models, ``sources`` snapshot tables (without their schema), both sorted. ``without`` are (table or parent, column):
    the result has no row if none of these columns holds anything, neither a value nor a list with an element. An empty ``without``
    promises nothing.
    """

    name: str
    description: str
    sql: str
    parents: tuple[str, ...]
    sources: tuple[str, ...]
    parameters: tuple[str, ...]
    checks: tuple[Check, ...]
    without: tuple[tuple[str, str], ...] = ()


def models_folder() -> Path:
    """Return the folder of the SQL models: in the installed package, or else in the checkout next to it."""
    packaged = Path(__file__).with_name("sql_models")
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "dbt_like_sql" / "models"


def load_models(folder: Path | None = None) -> tuple[SqlModel, ...]:
    """Return all models of ``folder`` (default ``models_folder()``), parents before children, otherwise by name.

    Raises ``ModelError``, with the name of the file, for anything but one SELECT, for a table that is neither a model nor a snapshot
    table, for an unknown parameter or check, and for models with a circular dependency.
    """
    return _packaged() if folder is None else _load(folder)


@cache  # a night needs them twice, and the nights of many namespaces again
def _packaged() -> tuple[SqlModel, ...]:
    return _load(models_folder())


def _load(folder: Path) -> tuple[SqlModel, ...]:
    files = sorted(folder.glob("*.sql"))
    if not files:
        raise ModelError(f"There is no SQL model in {folder}. Reinstall Slowwave, or give a folder of .sql files.")
    names = {file.stem for file in files}
    models = {file.stem: _read(file, names) for file in files}
    sorter = TopologicalSorter({name: model.parents for name, model in models.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(f"{name}.sql" for name in error.args[1])
        raise ModelError(f"SQL models depend on each other in a circle: {circle}. Break it and run again.") from error
    ordered: list[SqlModel] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += (models[name] for name in ready)
        sorter.done(*ready)
    return tuple(ordered)


def stale_models(models: Sequence[SqlModel], tables: Collection[str]) -> frozenset[str]:
    """Return the names of the ``models`` (parents first) whose results may change with those ``tables`` of a snapshot."""
    stale: set[str] = set()
    for model in models:
        if not stale.isdisjoint(model.parents) or not frozenset(tables).isdisjoint(model.sources):
            stale.add(model.name)
    return frozenset(stale)


def with_parents(models: Sequence[SqlModel], names: Collection[str]) -> tuple[SqlModel, ...]:
    """Return the ``models`` (parents first) with these names and all that they are computed from, in the same order."""
    wanted = set(names)
    for model in reversed(models):
        if model.name in wanted:
            wanted.update(model.parents)
    return tuple(model for model in models if model.name in wanted)


def run_models(
    models: Sequence[SqlModel],
    snapshot: Snapshot,
    settings: Settings,
    *,
    known: Mapping[str, pa.Table] | None = None,
    kept: list[ModelDatabase] | None = None,
) -> dict[str, pa.Table]:
    """Run ``models`` (parents first, as from ``load_models``) over one snapshot, and return the result of each by name.

    Models in ``known`` keep their results; ``kept`` is that of ``one_database``. The models run on one DuckDB connection in memory, on one
    thread, that can reach no file, no network and no extension. Results above a size are mapped from unnamed files (``on_disk``), because
    results in DuckDB's own format take several times their size for as long as they exist. Raises ``ModelError`` with the file's name if
    DuckDB refuses a model.
    """
    import duckdb

    values = {
        "taken_at": snapshot.taken_at,
        "window_days": settings.recall_window_days,
        "frequency_cap": FREQUENCY_CAP,
    }
    results: dict[str, pa.Table] = {}
    rowless = {source for model in models for source in model.sources if not snapshot.table(source).num_rows}
    with ExitStack() as open_ones:
        database: ModelDatabase | None = None
        there: set[str] = set()
        for model in models:
            of_nothing = rowless.issuperset(model.sources) and all(not results[p].num_rows for p in model.parents)
            of_nothing = of_nothing or _has_nothing(model, snapshot, results)
            nothing = _of_nothing.get((model, *(values[n] for n in _SETTINGS))) if of_nothing else None
            result = known[model.name] if known and model.name in known else nothing
            if result is not None:
                results[model.name] = result
                continue
            if database is None:
                database = open_ones.enter_context(model_database(kept))
            for source in sorted({*model.sources} - there):
                database.offer(source, snapshot.table(source))
            for parent in sorted({*model.parents} - there):
                database.register(parent, results[parent])
            there |= {*model.sources, *model.parents}
            parameters = {name: values[name] for name in model.parameters}
            try:
                result = database.connection.execute(model.sql, parameters).to_arrow_table()
            except duckdb.Error as error:
                reason = str(error).splitlines()[0]
                raise ModelError(f"DuckDB cannot run {model.name}.sql: {reason} {_NEXT}") from error
            results[model.name] = on_disk(result)
            if of_nothing and not result.num_rows:
                if len(_of_nothing) >= _KEPT:
                    _of_nothing.clear()
                _of_nothing[(model, *(values[n] for n in _SETTINGS))] = result
    return results


_SETTINGS: Final = ("window_days",)
_KEPT: Final = 64
_of_nothing: Final[dict[tuple[object, ...], pa.Table]] = {}
"""A model and its settings → its result for tables in which it finds nothing, if that has no rows. In a connected store most tables and
columns are empty, and compiling a query takes milliseconds for each of its users."""


def _has_nothing(model: SqlModel, snapshot: Snapshot, results: Mapping[str, pa.Table]) -> bool:
    """Return whether the model declares the columns that its rows come from, and none of these holds a value."""
    named = ((snapshot.table(t) if t in model.sources else results[t])[column] for t, column in model.without)
    return bool(model.without) and not any(_holds(column) for column in named)


def _holds(column: pa.ChunkedArray) -> bool:
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return bool(pc.any(pc.greater(pc.list_value_length(column), 0)).as_py())
    return column.null_count < len(column)


def check_models(models: Iterable[SqlModel], results: Mapping[str, pa.Table]) -> tuple[str, ...]:
    """Return the failed checks of the models as sentences, or an empty tuple if all checks hold."""
    return tuple(
        failure
        for model in models
        for check in model.checks
        for failure in _failures(model, check, results[model.name])
    )


def column_lineage(model: SqlModel, models: Iterable[SqlModel]) -> dict[str, list[tuple[str, str]]]:
    """Return for each column of ``model`` the (table, column) pairs that it is computed from, sorted.

    A table is one that the model reads itself: ``snapshot.entities`` or the name of a parent. ``models`` must hold the model's ancestors.
    Raises ``ModelError`` if a column cannot be found.
    """
    return {column: [*origins] for column, origins in _traced(model, tuple(models)).items()}


@lru_cache(64)  # takes a tenth of a second per model, and is the same every night
def _traced(model: SqlModel, models: tuple[SqlModel, ...]) -> dict[str, list[tuple[str, str]]]:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.scope import build_scope

    try:
        tree, schema = _qualified(model, {m.name: m for m in models})
        scope = build_scope(tree)
        found: dict[str, list[tuple[str, str]]] = {}
        for column in tree.named_selects:
            # The trees are read alone, so neither copied nor trimmed: that took three quarters of the time.
            root = lineage(column, tree, schema=schema, dialect=_DIALECT, scope=scope, trim_selects=False, copy=False)
            leaves = {
                (_table_name(node.source), node.name.rsplit(".", 1)[-1].strip('"'))
                for node in root.walk()
                if isinstance(node.source, exp.Table)
            }
            found[column] = sorted(leaves)
    except SqlglotError as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"The columns of {model.name}.sql cannot be traced: {reason} {_NEXT}") from error
    return found


def _read(file: Path, names: set[str]) -> SqlModel:
    return _parsed(file, file.read_text("utf-8"), frozenset(names))


@lru_cache(64)  # parsing takes longer than many queries
def _parsed(file: Path, text: str, names: frozenset[str]) -> SqlModel:
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.scope import traverse_scope

    try:
        statements = [s for s in parse(text, dialect=_DIALECT) if s is not None]
    except SqlglotError as error:
        raise ModelError(f"{file.name} is not SQL that can be read: {str(error).splitlines()[0]} {_NEXT}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise ModelError(f"{file.name} must hold exactly one SELECT and nothing else. {_NEXT}")
    tree = statements[0]
    tables = [s for scope in traverse_scope(tree) for s in scope.sources.values() if isinstance(s, exp.Table)]
    parents, sources = _split(file, tables, names)
    parameters = sorted({p.name for p in tree.find_all(exp.Placeholder, exp.Parameter)})
    if unknown := [p for p in parameters if p not in PARAMETERS]:
        raise ModelError(f"{file.name} names the parameter ${unknown[0]}; known are ${', $'.join(PARAMETERS)}. {_NEXT}")
    description, checks, without = _comments(file, text)
    for table, column in without:
        known = arrow_schema(SNAPSHOT_TABLES[table]).names if table in sources else (column,)
        if table not in (*sources, *parents) or column not in known:
            raise ModelError(f"{file.name} names {table}.{column} in “{_OF_THESE}”, and reads no such column. {_NEXT}")
    return SqlModel(file.stem, description, text, parents, sources, tuple(parameters), checks, without)


def _split(file: Path, tables: Iterable[exp.Table], names: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split tables into models, which have no schema, and sources, of the schema ``snapshot``; refuse all others."""
    parents: set[str] = set()
    sources: set[str] = set()
    for table in tables:
        if table.db == SOURCE_SCHEMA and not table.catalog and table.name in SNAPSHOT_TABLES:
            sources.add(table.name)
        elif not table.db and table.name in names and table.name != file.stem:
            parents.add(table.name)
        else:
            raise ModelError(
                f"{file.name} reads {table.sql(dialect=_DIALECT)}, which is neither another model nor a table of the "
                f"snapshot ({SOURCE_SCHEMA}.…). {_NEXT}"
            )
    return tuple(sorted(parents)), tuple(sorted(sources))


def _comments(file: Path, text: str) -> tuple[str, tuple[Check, ...], tuple[tuple[str, str], ...]]:
    """Parse the description, the checks and the columns required for rows from the comments before the first line of SQL."""
    description: list[str] = []
    checks: list[Check] = []
    without: list[tuple[str, str]] = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        comment = line.removeprefix("--").strip()
        if comment.startswith(_OF_THESE):
            named = (name.strip().partition(".") for name in comment.removeprefix(_OF_THESE).split(","))
            without += ((table, column) for table, _, column in named)
        elif not comment.startswith("check:"):
            description.append(comment)
        elif (match := _CHECK.fullmatch(comment)) and match[1] in _CHECK_KINDS:
            checks.append(Check(match[1], tuple(column.strip() for column in match[2].split(","))))
        else:
            raise ModelError(
                f"{file.name} has a check that is not known: {comment!r}; write “check: unique id” or "
                f"“check: not_null id, name”. {_NEXT}"
            )
    return " ".join(description), tuple(checks), tuple(without)


def _failures(model: SqlModel, check: Check, table: pa.Table) -> list[str]:
    if missing := [column for column in check.columns if column not in table.column_names]:
        return [f"Model {model.name} has no column {missing[0]}, which its check “{check}” needs."]
    if check.kind == "not_null":
        nulls = {column: table[column].null_count for column in check.columns}
        return [
            f"Model {model.name}: {n:,} of {table.num_rows:,} rows have no {column}."
            for column, n in nulls.items()
            if n
        ]
    groups = table.group_by(list(check.columns)).aggregate([([], "count_all")])
    repeated = pc.sum(pc.greater(groups["count_all"], 1)).as_py() or 0
    columns = ", ".join(check.columns)
    return [f"Model {model.name}: {repeated:,} values of ({columns}) occur more than once."] if repeated else []


def _qualified(model: SqlModel, models: Mapping[str, SqlModel]) -> tuple[exp.Query, dict[str, object]]:
    """Return the model's tree with every column qualified by its table, and the schema used to resolve it."""
    from sqlglot import exp, parse_one
    from sqlglot.optimizer.qualify import qualify

    sources = {
        name: {f.name: str(f.type) for f in arrow_schema(SNAPSHOT_TABLES[name])}  # only names matter here
        for name in model.sources
    }
    parents = {name: dict.fromkeys(_qualified(models[name], models)[0].named_selects, "text") for name in model.parents}
    schema: dict[str, object] = {k: v for k, v in ((SOURCE_SCHEMA, sources), (_MODEL_SCHEMA, parents)) if v}
    tree = qualify(parse_one(model.sql, dialect=_DIALECT), schema=schema, db=_MODEL_SCHEMA, dialect=_DIALECT)
    if not isinstance(tree, exp.Query):
        raise TypeError(f"{model.name} is no query.")
    return tree, schema


def _table_name(table: exp.Table) -> str:
    return table.name if table.db == _MODEL_SCHEMA else f"{table.db}.{table.name}"
