"""A binding as its file writes it. Making a ``Binding`` of it, and checking what no type says, belongs to ``slowwave.bindings.files``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from slowwave.bindings.binding import Constant, Derivation, RetireBy, RetiredTest, StampForm


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _place(at: Any) -> Any:
    """The parts of a place that are not empty: a parameter may be."""
    parts: Any = [at] if isinstance(at, str) else at
    return [part for part in parts if part != ""] if isinstance(parts, list) else parts


class ColumnForm(_Form):
    """``"column"``, ``["column", "key", …]`` for what lies in JSON, or ``{ at = …, type = …, json = … }``."""

    at: Annotated[list[str], Field(min_length=1), BeforeValidator(_place)]
    type: str = "text"
    json_type: Literal["json", "jsonb"] = Field("jsonb", alias="json")


def _whole(value: Any) -> Any:
    return {"at": value} if isinstance(value, (str, list)) else value


def _or_nothing(value: Any) -> Any:
    """The same, and none where all parts of the place are empty."""
    whole: Any = _whole(value)
    at: Any = whole.get("at") if isinstance(whole, dict) else None
    return None if at and not _place(at) else whole


At = Annotated[ColumnForm, BeforeValidator(_whole)]


class RetiredForm(ColumnForm):
    """A column, and when it says that its row is retired."""

    test: RetiredTest
    after_search: bool = False


class DerivedForm(_Form):
    """A column that follows another, in the same table or in a child."""

    column: str
    by: Derivation
    of: str = "content"
    table: str = ""


class NotedForm(_Form):
    """A column that notes when its row was written."""

    column: str
    form: StampForm


class PutsForm(_Form):
    """Columns that are set, and those that are emptied."""

    to: dict[str, Constant] = Field(default_factory=dict, alias="set")
    unset: list[str] = []


class RetireForm(PutsForm):
    """How a row is retired."""

    by: RetireBy
    why_not: str = ""
    archive: str = Field("", alias="to")
    now: list[str] = []


class GatheredForm(_Form):
    """A column of an archive that holds a key column of rows that went along."""

    column: str
    table: str
    key: str


class ParentForm(_Form):
    """The table whose rows a row belongs to, and own column → the parent's, in one way or in several."""

    table: str
    columns: dict[str, str] = Field(min_length=1)
    also: list[dict[str, str]] = []


class TableForm(_Form):
    """One physical table."""

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
    """A version of the store, and bound table → lines of its structure."""

    version: str
    tables: dict[str, list[str]]


class NotifyForm(_Form):
    """Who is told of what was written."""

    channel: Annotated[str, Field(pattern=r"^([a-z_][a-z0-9_]{0,62})?$")] = ""
    hook: bool = False


class BindingForm(_Form):
    """The file."""

    store: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
    title: str = ""
    read_only: str = ""
    warnings: list[str] = []
    parameters: dict[str, str] = {}
    tables: dict[str, TableForm] = Field(min_length=1)
    off: dict[str, str] = {}
    known: list[KnownForm] = []
    notify: NotifyForm | None = None
