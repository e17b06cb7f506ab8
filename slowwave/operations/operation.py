"""An operation: a pure function of ``Inputs`` with its declaration and the vectors that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from slowwave.errors import SettingsError
from slowwave.models import Embed
from slowwave.models.endpoint import Chat
from slowwave.models.panel import Budget
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permit
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.rows import active_memories
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.settings import Settings

if TYPE_CHECKING:
    from slowwave.matching.evidence import WeightsByType


# What an operation takes and gives: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners.


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that an operation may read or ask. It has no connection to the store.

    ``budget`` is asked before every call of a model and charged what it cost; ``writer`` writes summaries of communities, ``consolidator``
    those of memories and shorter texts, when they are configured.
    ``models`` are the SQL models' results by name; ``baselines`` the ``details`` of the previous night's reports by operation.
    With ``focus`` a planner may confine itself to what these rows take part in; ``learnt`` is what planners have learnt tonight, by
    operation, and need not learn again. ``ops`` are the operations that the night was asked for by name; without them the settings say.
    ``worked`` is the scratch copy of a deep pass as it came back, which the planner of the deep pass reads; a night has none.
    """

    snapshot: Snapshot
    models: Mapping[str, pa.Table]
    settings: Settings
    baselines: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    embed: Embed | None = None
    judges: tuple[Chat, ...] = ()
    focus: frozenset[str] | None = None
    learnt: Mapping[str, WeightsByType] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    writer: Chat | None = None
    consolidator: Chat | None = None
    ops: Collection[str] | None = None
    worked: object | None = None

    def only(self, tables: Collection[str], models: Collection[str]) -> Inputs:
        """The same with these tables, vector tables and models alone; no vector table is missing, and the others are empty."""
        snapshot = self.snapshot
        given = replace(
            snapshot,
            tables={name: table for name, table in snapshot.tables.items() if name in tables},
            vectors={
                name: vectors if name in tables else Vectors.empty(vectors.model)
                for name, vectors in snapshot.vectors.items()
            },
        )
        return replace(self, snapshot=given, models={name: self.models[name] for name in models if name in self.models})


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner proposes, with its account of what it looked at.

    For a second look at the outcome: what it has ``learnt``, and the ids of rows that its items bring ``nearer`` to each other
    without writing to them.
    """

    items: tuple[Item, ...]
    report: Report
    learnt: WeightsByType | None = None
    nearer: tuple[str, ...] = ()


BUDGET_SPENT: Final = "budget_spent"
"""In a planner's numbers: calls of models that the token budget of the run or the day did not allow."""


# Coverage: how many rows have a vector, and what an operation that compares by vectors says of those that have none.
#
# A row without a vector is near nothing, so an operation that finds nothing may not have looked at all. Operations declare what they
# compare by; making vectors belongs to ``reembed`` and ``recompute_centroids``.

NO_VECTORS: Final = "no_vectors"
"""The reason why an operation did not run that compares by vectors alone, where no row has one."""


@dataclass(frozen=True, slots=True)
class Compares:
    """The vectors table that an operation compares by, what its rows are called, and whether it has nothing else to go by."""

    vectors: str
    rows: str
    alone: bool


MEMORIES: Final = Compares("memory_vectors", "memories", alone=True)
"""Memories, where there is nothing but their vectors to go by."""


def blind(operation: str, compares: Compares | None, snapshot: Snapshot) -> Report | None:
    """The report of an operation that cannot look at all; None where it can, or has nothing to look at."""
    if compares is None or not compares.alone:
        return None
    held, live = covered(snapshot, compares)
    if held or not live:
        return None
    return Report(
        operation,
        f"Did not run: it compares by vectors, and none of {live:,} {compares.rows} has one. The operation reembed plans them.",
        {f"{compares.rows} with a vector": 0, f"{compares.rows} without a vector": live},
        skipped=NO_VECTORS,
    )


def with_coverage(report: Report, compares: Compares | None, snapshot: Snapshot) -> Report:
    """The report with what its operation could not compare: a sentence in the headline, the numbers, and a finding."""
    if compares is None or report.skipped:
        return report
    held, live = covered(snapshot, compares)
    if held == live:
        return report
    sentence = (
        f"Only {held:,} of {live:,} {compares.rows} have a vector; the others were not compared by it."
        if held
        else f"None of {live:,} {compares.rows} has a vector, so none was compared by it."
    )
    return replace(
        report,
        headline=f"{report.headline} {sentence}",
        numbers={
            **report.numbers,
            f"{compares.rows} with a vector": held,
            f"{compares.rows} without a vector": live - held,
        },
        findings=(*report.findings, Finding(sentence, severity="warning", coverage=True)),
    )


def compared_no_vectors(report: Report) -> bool:
    """Whether an operation that compares memories by vectors had none to compare, whether or not it ran by other means."""
    return report.numbers.get("memories with a vector", 1) == 0


def covered(snapshot: Snapshot, compares: Compares) -> tuple[int, int]:
    """(rows with a vector of the snapshot's model, rows): live entities, or active memories that have a text."""
    if compares.rows == "memories":
        active = active_memories(snapshot)
        rows = active.filter(pc.not_equal(pc.utf8_trim_whitespace(active["text"]), ""))
    else:
        rows = snapshot.live(compares.rows)
    ids = rows["id"].combine_chunks() if len(rows) else pa.array([], pa.string())
    return int((snapshot.vectors[compares.vectors].rows_of(ids) >= 0).sum()), len(rows)


# What an operation is: a pure function of ``Inputs``, and all that the rest of the program has to know of it, declared beside it.
#
# Finding operations belongs to ``slowwave.operations.registry``, running one to ``slowwave.operations.registry``.

Kind = Literal["audit", "planner"]

Result = TypeVar("Result", Report, Proposal)

Audit = Callable[[Inputs], Report]
Planner = Callable[[Inputs], Proposal]

FIRST: Final[tuple[str, ...]] = ()
"""For ``after``: behind no other operation of its kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Generic[Result]):
    """An audit or a planner: the function ``run`` and what is declared of it; calling it calls the function, with what it declares to read.

    ``description`` is what an operator reads: the function's docstring. ``reads`` names the tables and vector tables of the snapshot,
    ``models`` the SQL models whose results it is given, and it is given no others. ``after`` names operations of its kind that come
    before it (for planners: that the sealer prefers where two items meet); None is behind all that say where they stand.

    ``switch`` says whether it is part of a night for which nobody names operations, where the settings do not
    (``slowwave.store.operation_settings``); ``options`` are those of an operation that has no model there. A ``weekly`` one is part of
    the weekly night whatever its switch says. ``permits`` is all that its items may carry, ``compares`` the vectors without which it sees
    less or nothing, ``columns`` the names that it gives to columns of its report's table and to keys of its details, which are no memory
    and are shown where memory is hidden, ``khora`` khora's names for it, ``planted`` the problems of the demo that it has to find.
    """

    name: str
    kind: Kind
    run: Callable[[Inputs], Result]
    description: str
    module: str
    reads: tuple[str, ...]
    models: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    switch: bool = True
    weekly: bool = False
    permits: tuple[Permit, ...] = ()
    compares: Compares | None = None
    options: type[BaseModel] | None = None
    columns: tuple[str, ...] = ()
    khora: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()

    def __call__(self, inputs: Inputs) -> Result:
        """What the function finds or proposes, given what it declares to read and nothing else."""
        return self.run(inputs.only(self.reads, self.models))

    def ready(self) -> Operation[Result]:
        """Itself, once its module is imported: what it takes from then on is its own time."""
        import_module(self.module)
        return self

    def called_by(self, run: Callable[[Inputs], Result]) -> Operation[Result]:
        """The same operation, of which another function does the work."""
        return replace(self, run=run)

    def is_on(self, settings: Settings) -> bool:
        """Whether it is part of a night for which nobody names operations."""
        own = settings.operations.of(self.name)
        return self.switch if own is None or own.enabled is None else own.enabled

    def switch_under(self, settings: Settings) -> Literal["on", "weekly", "off"]:
        """Return the nights that include it under the settings: all (``on``), the weekly one, or only those that name it (``off``)."""
        return "on" if self.is_on(settings) else "weekly" if self.weekly else "off"

    def default(self) -> Literal["on", "weekly", "off"]:
        """Return the switch where nothing is set."""
        return self.switch_under(Settings.model_construct())  # the defaults, whatever the environment says

    @property
    def summary(self) -> str:
        """Return the first line of the description."""
        return self.description.splitlines()[0]

    @property
    def variable(self) -> str:
        """The environment variable of its switch."""
        return f"SLOWWAVE_OPERATIONS__{self.name}__ENABLED".upper()


class Declared(TypedDict, total=False):
    """What a decorator may say beside the kind, what is read and what is permitted: fields of ``Operation``."""

    models: tuple[str, ...]
    after: tuple[str, ...] | None
    switch: bool
    weekly: bool
    compares: Compares | None
    options: type[BaseModel] | None
    columns: tuple[str, ...]
    khora: tuple[str, ...]
    planted: tuple[str, ...]


@overload
def operation(
    *, kind: Literal["audit"], reads: tuple[str, ...], **declared: Unpack[Declared]
) -> Callable[[Audit], Operation[Report]]: ...


@overload
def operation(
    *, kind: Literal["planner"], reads: tuple[str, ...], permits: tuple[Permit, ...], **declared: Unpack[Declared]
) -> Callable[[Planner], Operation[Proposal]]: ...


def operation(
    *, kind: Kind, reads: tuple[str, ...], permits: tuple[Permit, ...] = (), **declared: Unpack[Declared]
) -> Callable[[Any], Operation[Any]]:
    """Make an operation of a function, under the function's name; the fields are those of ``Operation``.

    Raises ``SettingsError`` for a declaration that cannot be: a function without a docstring, an unknown setting or option, a planner that
    may do nothing.
    """

    def decorate(run: Callable[[Inputs], Any]) -> Operation[Any]:
        name, text = run.__name__, inspect.getdoc(run)
        made: Operation[Any] = Operation(
            name, kind, run, text or "", run.__module__, reads, permits=permits, **declared
        )
        if problem := _problem(made):
            raise SettingsError(f"The operation {name} in {run.__module__} cannot be: {problem}")
        return made

    return decorate


def _problem(made: Operation[Any]) -> str:
    """What of a declaration cannot be, as a sentence; empty when it can."""
    if not made.description:
        return "its function has no docstring, which is what the operator reads. Write one."
    if not isinstance(made.switch, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - a package's own, written without types
        return f"its switch is {made.switch!r}. Let it be True or False; the setting is operations.{made.name}.enabled."
    if made.kind == "planner" and not made.permits:
        return "a planner says in permits which mutations its items may carry."
    if made.kind == "audit" and made.permits:
        return "an audit changes nothing, so it has no permits. Make it a planner."
    if made.options is not None and "enabled" in made.options.model_fields:
        return "enabled is the name of its switch, and no option may have it."
    return ""
