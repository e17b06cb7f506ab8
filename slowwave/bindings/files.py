"""Bindings as TOML files: built-in ones by name, those of users by path; every fault is reported with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from slowwave.bindings.binding import (
    COLUMN_TYPES,
    Binding,
    BoundColumn,
    BoundTable,
    Constant,
    Derivation,
    Derived,
    Gathered,
    KeyColumn,
    KnownSchema,
    Notify,
    Parent,
    RetireBy,
    RetiredTest,
    RetiredWhen,
    Retirement,
    Stamp,
    StampForm,
)
from slowwave.errors import BindingError
from slowwave.store.tables import EXPORTED

# The contents of a binding file. ``_File`` below converts it to a ``Binding`` and checks the rules that no type expresses.


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _place(at: Any) -> Any:
    """Return the non-empty parts of a place; a part may be empty because it is a parameter."""
    parts: Any = [at] if isinstance(at, str) else at
    return [part for part in parts if part != ""] if isinstance(parts, list) else parts


class ColumnForm(_Form):
    """A column in a file: ``"column"``, ``["column", "key", …]`` inside JSON, or ``{ at = …, type = …, json = … }``."""

    at: Annotated[list[str], Field(min_length=1), BeforeValidator(_place)]
    type: str = "text"
    json_type: Literal["json", "jsonb"] = Field("jsonb", alias="json")


def _whole(value: Any) -> Any:
    return {"at": value} if isinstance(value, (str, list)) else value


def _or_nothing(value: Any) -> Any:
    """Return the form of a column, or None if all parts of its place are empty."""
    whole: Any = _whole(value)
    at: Any = whole.get("at") if isinstance(whole, dict) else None
    return None if at and not _place(at) else whole


At = Annotated[ColumnForm, BeforeValidator(_whole)]


class RetiredForm(ColumnForm):
    """A column in a file, and the test by which it marks its row as retired."""

    test: RetiredTest
    after_search: bool = False


class DerivedForm(_Form):
    """A column in a file that is derived from another, in the same table or in a child."""

    column: str
    by: Derivation
    of: str = "content"
    table: str = ""


class NotedForm(_Form):
    """A column in a file that holds the time of the last write of its row."""

    column: str
    form: StampForm


class PutsForm(_Form):
    """Columns in a file that are set, and those that are set to null."""

    to: dict[str, Constant] = Field(default_factory=dict, alias="set")
    unset: list[str] = []


class RetireForm(PutsForm):
    """The way in which a row is retired, in a file."""

    by: RetireBy
    why_not: str = ""
    archive: str = Field("", alias="to")
    now: list[str] = []


class GatheredForm(_Form):
    """A column in a file of an archive that holds a key column of child rows that moved along."""

    column: str
    table: str
    key: str


class ParentForm(_Form):
    """The parent table in a file, and own column → the parent's, in one or several ways."""

    table: str
    columns: dict[str, str] = Field(min_length=1)
    also: list[dict[str, str]] = []


class TableForm(_Form):
    """One physical table in a file."""

    db_schema: str = Field("public", alias="schema")
    table: str
    key: dict[str, str] = Field(min_length=1)
    columns: dict[str, At]
    namespace: Annotated[ColumnForm | None, BeforeValidator(_or_nothing)] = None
    constants: dict[str, Constant] = {}
    apart: list[At] = []
    only: dict[str, str | list[str]] = {}
    retired: RetiredForm | None = None
    derived: list[DerivedForm] = []
    stamps: list[NotedForm] = []
    volatile: list[str] = []
    retire: RetireForm | None = None
    lose: PutsForm | None = None
    defaults: dict[str, Constant] = {}
    read_only: bool = False
    cascades: list[str] = []
    takes: list[str] = []
    gathers: list[GatheredForm] = []
    parent: ParentForm | None = None


class KnownForm(_Form):
    """A known version of the store in a file, and bound table → lines of its structure."""

    version: str
    tables: dict[str, list[str]]


class NotifyForm(_Form):
    """The receivers of notices about written rows, in a file."""

    channel: Annotated[str, Field(pattern=r"^([a-z_][a-z0-9_]{0,62})?$")] = ""
    hook: bool = False


class BindingForm(_Form):
    """The form of a whole binding file."""

    store: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
    title: str = ""
    read_only: str = ""
    warnings: list[str] = []
    parameters: dict[str, str] = {}
    tables: dict[str, TableForm] = Field(min_length=1)
    off: dict[str, str] = {}
    known: list[KnownForm] = []
    notify: NotifyForm | None = None


# Line numbers of the parts of a TOML file, for error messages; ``tomllib`` parses it.

_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the line (from 1) of the innermost key of a path that has its own line; 1 if none has.

    Numbers in the path, which are positions in lists, are ignored except for lists of tables (``[[known]]``), whose headers are counted.
    """
    wanted = tuple(part for part in path if isinstance(part, str))
    places = [part for part in path if isinstance(part, int)]
    best, depth, counted = 1, 0, 0
    header: tuple[str, ...] = ()
    inside = True
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADER.match(line):
            header = _parts(found[1])
            if line.lstrip().startswith("[[") and places and wanted[: len(header)] == header:
                inside, counted = counted == places[0], counted + 1
            reached = header
        elif found := _KEY.match(line):
            reached = (*header, *_parts(found[1]))
        else:
            continue
        if inside and len(reached) > depth and wanted[: len(reached)] == reached:
            best, depth = number, len(reached)
    return best


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


# Binding files: those of this package by name, those of users by path, each one TOML file with parameters.
#
# ``{name}`` in a text is replaced by the parameter of that name. A faulty file is refused with the line of the fault.

_FOLDER: Final = Path(__file__).with_name("stores")
_PARAMETER: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SAID: Final = {
    "string_pattern_mismatch": "a name of at most 31 lower-case letters, digits and _ is asked for, with a letter first",
    "missing": "it is missing",
    "extra_forbidden": "there is nothing of that name",
}
"""Error messages that replace Pydantic's, which are for programmers."""

_LONGEST_FILE: Final = 200_000
_OR_NULL: Final = " or null"

_LOGICAL: Final = {table.name: table for table in EXPORTED if table.name not in ("memory_versions", "recall_events")}
_MADE: Final = frozenset(
    {"id", "namespace_id", "external_id", "content_version", "current_version_id", "kind", "memory_id"}
)
"""Columns with a value in every row even if the binding does not name them."""


def built_in() -> list[str]:
    """Return the names of the built-in bindings."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def built_in_text(name: str) -> str:
    """Return the file of a built-in binding.

    Raises ``BindingError`` for another name.
    """
    if name not in built_in():
        raise BindingError(
            f"There is no binding {name[:40]!r}. There are {', '.join(built_in())}; `slowwave connect table --file my.toml` takes your own."
        )
    return (_FOLDER / f"{name}.toml").read_text()


def file_text(path: Path) -> str:
    """Return the text of a user's file.

    Raises ``BindingError`` if it cannot be read or has more than 200,000 bytes.
    """
    try:
        if path.stat().st_size > _LONGEST_FILE:
            raise BindingError(
                f"{path.name} is longer than a binding is ({_LONGEST_FILE:,} bytes). Nothing was connected."
            )
        return path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise BindingError(f"{path.name} cannot be read ({type(problem).__name__}). Nothing was connected.") from None


def read_binding(text: str, parameters: Mapping[str, str] | None = None, *, name: str = "The binding") -> Binding:
    """Parse a binding from a file's text; ``parameters`` override its own, ``name`` is its name in error messages.

    Raises ``BindingError`` with the line of the first fault.
    """
    return _read(text, name, tuple(sorted((parameters or {}).items())))


@lru_cache(16)  # every night of a store's namespaces needs the same one; a binding never changes
def _read(text: str, name: str, parameters: tuple[tuple[str, str], ...]) -> Binding:
    return _File(text, name).binding(dict(parameters))


class _File:
    """The text of one file, with the line numbers of its parts."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name

    def refuse(self, path: Sequence[str | int], sentence: str) -> NoReturn:
        raise BindingError(f"{self.name}, line {line_of(self.text, path)}: {sentence} Nothing was connected.")

    def binding(self, given: dict[str, str]) -> Binding:
        form = self._form(given)
        tables = {name: self._table(name, table) for name, table in form.tables.items()}
        for name, table in tables.items():
            self._check(name, table, tables)
        parents_first = sorted(tables, key=lambda name: tables[name].parent is not None)
        return Binding(
            form.store,
            form.title or form.store,
            {name: tables[name] for name in parents_first},
            tuple(
                KnownSchema(k.version, {t: tuple(sorted(lines)) for t, lines in k.tables.items()}) for k in form.known
            ),
            form.off,
            tuple(form.warnings),
            read_only=form.read_only,
            notify=self._notify(form.notify) if form.notify else None,
        )

    def _notify(self, form: NotifyForm) -> Notify:
        if not (form.channel or form.hook):
            self.refuse(("notify",), "it tells nobody: name a channel, or say hook = true.")
        return Notify(form.channel, form.hook)

    def _form(self, given: dict[str, str]) -> BindingForm:
        try:
            raw = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as problem:
            raise BindingError(f"{self.name} is no TOML: {problem}. Nothing was connected.") from None
        own = raw.get("parameters", {})
        values = {**own, **given} if isinstance(own, dict) else {}
        if unknown := sorted(set(given) - set(own or _PARAMETER.findall(self.text))):
            self.refuse(
                ("parameters",), f"it has no parameter {unknown[0][:40]!r}; it has {', '.join(sorted(own)) or 'none'}."
            )
        filled = {
            key: value if key == "parameters" else self._filled(value, values, (key,)) for key, value in raw.items()
        }
        try:
            return BindingForm.model_validate(filled)
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = _SAID.get(first["type"], first["msg"].rstrip("."))
            return self.refuse(first["loc"], f"{where[:120]}: {reason}.")

    def _filled(self, value: Any, values: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
        if isinstance(value, str):

            def parameter(found: re.Match[str]) -> str:
                if not isinstance(values.get(found[1]), str):
                    self.refuse(path, f"{{{found[1]}}} is no parameter. Those there are stand under [parameters].")
                return values[found[1]]

            return _PARAMETER.sub(parameter, value)
        if isinstance(value, list):
            return [self._filled(part, values, (*path, n)) for n, part in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._filled(part, values, (*path, key)) for key, part in value.items()}
        return value

    def _table(self, name: str, form: TableForm) -> BoundTable:
        at = ("tables", name)
        namespace = self._column(form.namespace, (*at, "namespace")) if form.namespace else None
        apart = (self._column(column, (*at, "apart")) for column in form.apart)
        retired, retire = form.retired, form.retire
        for key, kind in form.key.items():
            self._identifier(key, (*at, "key"))
            self._type(kind.removesuffix(_OR_NULL), (*at, "key"))
        for part, value in (
            ("schema", form.db_schema),
            ("table", form.table),
            *(("volatile", v) for v in form.volatile),
        ):
            self._identifier(value, (*at, part))
        return BoundTable(
            name=name,
            schema=form.db_schema,
            table=form.table,
            key=tuple(
                KeyColumn(column, kind.removesuffix(_OR_NULL), kind.endswith(_OR_NULL))
                for column, kind in form.key.items()
            ),
            columns={column: self._column(to, (*at, "columns", column)) for column, to in form.columns.items()},
            namespace=namespace,
            constants=form.constants,
            apart=tuple(column for column in apart if column != namespace),
            only=tuple((c, (texts,) if isinstance(texts, str) else tuple(texts)) for c, texts in form.only.items()),
            retired=RetiredWhen(self._column(retired, (*at, "retired")), retired.test, retired.after_search)
            if retired
            else None,
            derived=tuple(Derived(d.column, d.by, d.of, d.table) for d in form.derived),
            stamps=tuple(Stamp(s.column, s.form) for s in form.stamps),
            volatile=tuple(form.volatile),
            retire=Retirement(retire.by, _puts(retire), retire.why_not, retire.archive, tuple(retire.now))
            if retire
            else Retirement(),
            lose=_puts(form.lose),
            defaults=tuple(form.defaults.items()),
            read_only=form.read_only,
            cascades=tuple(form.cascades),
            takes=tuple(form.takes),
            gathers=tuple(Gathered(g.column, g.table, g.key) for g in form.gathers),
            parent=_parent(form.parent) if form.parent else None,
        )

    def _column(self, form: ColumnForm, path: Sequence[str | int]) -> BoundColumn:
        column, *inside = form.at
        self._identifier(column, path)
        self._type(form.type, path)
        if inside and form.type in ("vector", "halfvec", "tsvector", "json"):
            self.refuse(path, f"a {form.type} does not lie in JSON.")
        return BoundColumn(column, tuple(inside), form.type, form.json_type if inside else "")

    def _identifier(self, name: str, path: Sequence[str | int]) -> None:
        if not name or len(name.encode()) > 63 or "\0" in name:
            self.refuse(path, "a name in PostgreSQL has 1 to 63 bytes.")

    def _type(self, kind: str, path: Sequence[str | int]) -> None:
        if kind not in COLUMN_TYPES:
            self.refuse(path, f"the type {kind[:40]!r} is none that can be bound: {', '.join(sorted(COLUMN_TYPES))}.")

    def _naming(self, at: tuple[str, ...], column: str) -> tuple[str, ...]:
        """Return the place of the first key of a table whose line names a column; the table's own if there is none."""
        lines, named = self.text.splitlines(), re.compile(rf"=.*\b{re.escape(column)}\b")
        keys = ((*at, key) for key in TableForm.model_fields)
        return next((key for key in keys if named.search(lines[line_of(self.text, key) - 1])), at)

    def _check(self, name: str, table: BoundTable, tables: Mapping[str, BoundTable]) -> None:
        """Check references from one table to other parts of the file."""
        at = ("tables", name)
        logical = _LOGICAL.get(name)
        if (table.parent is None) == (logical is None):
            known = ", ".join(sorted(_LOGICAL))
            self.refuse(
                at,
                f"{name[:40]} is no table of memory ({known}). A table of another name has a parent, and one of these has none.",
            )
        named = {*(d.column for d in table.derived if not d.table), *(s.column for s in table.stamps), *_names(table)}
        for column in sorted(named - set(table.columns)):
            self.refuse(
                self._naming(at, column),
                f"{column[:40]!r} is named and is no column. Put it under [tables.{name}.columns].",
            )
        catalogue = {c.name for c in logical.c} if logical is not None else set[str]()
        for column in table.columns:
            if column not in named and column not in catalogue and column not in ("content", "vector"):
                self.refuse(
                    (*at, "columns", column), f"{column[:40]!r} is no column of {name}, and nothing else names it."
                )
        for column in table.constants:
            if column not in catalogue or column in _MADE - {"kind"} or column in table.columns:
                self.refuse(
                    (*at, "constants", column), f"{column[:40]!r} is no column of {name} that a constant may stand for."
                )
        if name == "memories" and "content" not in table.columns:
            self.refuse(at, "memories have a content: the column with their text.")
        if logical is not None:
            missing = [c.name for c in logical.c if not c.nullable and c.server_default is None and c.name not in _MADE]
            for column in missing:
                if column not in table.columns and column not in table.constants:
                    self.refuse(at, f"every row of {name} has a {column}: bind it, or give a constant.")
        apart = (*table.takes, *([table.retire.to] if table.retire.by == "move" else []))
        for child in (*table.cascades, *(d.table for d in table.derived if d.table), *apart):
            if child not in tables or not (parent := tables[child].parent) or parent.table != name:
                self.refuse(at, f"{child[:40]!r} is no table with {name} as its parent.")
        for child in apart:
            if tables[child].namespace is None:
                self.refuse(
                    ("tables", child), "its rows stand without their parent's, so it says whose they are: a namespace."
                )
        for derived in table.derived:
            if derived.table and derived.column not in tables[derived.table].columns:
                self.refuse((*at, "derived"), f"{derived.table} has no column {derived.column[:40]!r}.")
            if derived.of not in table.columns:
                self.refuse((*at, "derived"), f"{derived.of[:40]!r} is no column, so nothing can follow it.")
        if table.retire.by == "columns" and not (table.retire.puts or table.retire.notes):
            self.refuse((*at, "retire"), "a row that is retired by columns has some to set or unset.")
        if table.retire.by == "move":
            self._check_archive(name, table, tables)
        if table.parent:
            above = tables.get(table.parent.table)
            keys = {key.column for key in above.key} if above else set[str]()
            if any({there for _, there in way} != keys for way in (table.parent.columns, *table.parent.also)):
                self.refuse(
                    (*at, "parent"),
                    f"a parent is a table here, and all of its key is named: {', '.join(sorted(keys)) or 'none'}.",
                )

    def _check_archive(self, name: str, table: BoundTable, tables: Mapping[str, BoundTable]) -> None:
        """Check that a row that moves to the archive can be found again there, and that the archive's other columns are filled."""
        archive = tables[table.retire.to]
        at = ("tables", archive.name)
        own = dict(archive.parent.columns) if archive.parent else {}
        if [own.get(key.column) for key in archive.key] != [key.column for key in table.key]:
            self.refuse((*at, "key"), f"the key of an archive is that of {name}, in its order.")
        if any(stamp.form != "instant" for stamp in archive.stamps):
            self.refuse((*at, "stamps"), "an archive notes when a row came as an instant.")
        for gathered in archive.gathers:
            child = gathered.table
            if child not in table.cascades or gathered.key not in {k.column for k in tables[child].key}:
                self.refuse(
                    (*at, "gathers"), f"{gathered.key[:40]!r} is no part of the key of what goes along with {name}."
                )


def _parent(form: ParentForm) -> Parent:
    return Parent(form.table, tuple(form.columns.items()), tuple(tuple(way.items()) for way in form.also))


def _puts(form: PutsForm | None) -> tuple[tuple[str, Constant], ...]:
    return (*form.to.items(), *((column, None) for column in form.unset)) if form else ()


def _names(table: BoundTable) -> set[str]:
    """Return the bound columns that retiring, losing a conflict or moving to an archive names."""
    filled = {column for column, _ in (*table.retire.puts, *table.lose, *table.defaults)}
    return filled | {*table.retire.notes} | {gathered.column for gathered in table.gathers}
