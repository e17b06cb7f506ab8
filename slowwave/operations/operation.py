"""An operation: a pure function of ``Inputs`` with its declaration and the vectors that it needs."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from slowwave.errors import SettingsError
from slowwave.matching.tiles import Run, in_threads
from slowwave.models import Embed
from slowwave.models.cross_encoder import PairScorer
from slowwave.models.endpoint import Chat
from slowwave.models.panel import Budget
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permit
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.memories import active_memories, english_only, languages_of_memories
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.settings import Settings
from slowwave.text.languages import describe_languages
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.matching.evidence import WeightsByType


# Input and output of an operation: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners.


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Data and services that an operation may use; it has no connection to the store.

    ``budget`` is checked before every call of a model and charged with its cost. ``writer`` writes summaries of communities,
    ``consolidator`` those of memories and shorter texts, and ``nli`` scores contradictions, if they are configured. ``models`` are the
    results of the SQL models by name; ``baselines`` are the ``details`` of the previous night's reports by operation. With ``focus`` a
    planner may restrict itself to items that involve these rows. ``learnt`` is what planners have already learnt tonight, by operation.
    ``ops`` are the operations that were requested by name; without them the settings decide. ``search`` runs the dear searches of
    candidates (``slowwave.matching.tiles``), whose results may be known from other processes. ``worked`` is the scratch copy that a deep
    pass returned, for the planner of the deep pass; a night has none. ``planned`` are the items that earlier planners of this night
    propose.
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
    nli: PairScorer | None = None
    ops: Collection[str] | None = None
    worked: object | None = None
    planned: Sequence[Item] = ()
    search: Run = in_threads

    def only(self, tables: Collection[str], models: Collection[str]) -> Inputs:
        """Return the inputs with only these tables, vector tables and models; every other vector table is present but empty."""
        snapshot = self.snapshot
        given = replace(
            snapshot,
            tables={name: table for name, table in snapshot.tables.items() if name in tables},
            vectors={
                name: vectors if name in tables else Vectors.empty(vectors.model)
                for name, vectors in snapshot.vectors.items()
            },
        )
        results = _DeclaredModels({name: self.models[name] for name in models if name in self.models})
        return replace(self, snapshot=given, models=results)


class _DeclaredModels(dict[str, pa.Table]):
    """Results of the SQL models that an operation declares; a missing one is an error that states the remedy."""

    def __missing__(self, name: str) -> pa.Table:
        raise SettingsError(
            f"The operation has no result of the SQL model {name!r}. It gets the models that its declaration names: add {name!r} to "
            "models there. A model is a file in dbt_like_sql/models."
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """Items that a planner proposes, with its report.

    For a second look at the outcome, ``learnt`` is what the planner has learnt, and ``nearer`` are the ids of rows that its items bring
    closer to each other without writing to them.
    """

    items: tuple[Item, ...]
    report: Report
    learnt: WeightsByType | None = None
    nearer: tuple[str, ...] = ()


BUDGET_SPENT: Final = "budget_spent"
"""Key in a planner's numbers: calls of models that the token budget of the run or the day did not allow."""


# Coverage: how many rows have a vector, and what an operation that compares by vectors reports about those that have none.
#
# A row without a vector is near no other row, so an operation that finds nothing may not have compared anything. Operations declare what
# they compare by; ``reembed`` and ``recompute_centroids`` make vectors.

NO_VECTORS: Final = "no_vectors"
"""Reason why an operation that compares by vectors alone did not run: no row has a vector."""


@dataclass(frozen=True, slots=True)
class Compares:
    """Vectors table that an operation compares by, the name of its rows, and whether the operation has no other evidence."""

    vectors: str
    rows: str
    alone: bool


MEMORIES: Final = Compares("memory_vectors", "memories", alone=True)
"""Memories, if there is no other evidence than their vectors."""


def blind(operation: str, compares: Compares | None, snapshot: Snapshot) -> Report | None:
    """Return the report of an operation that cannot run without vectors, or None if it can run or has no rows to compare."""
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
    """Add to a report what its operation could not compare: a sentence in the headline, the numbers, and a finding."""
    if compares is None or report.skipped:
        return report
    held, live = covered(snapshot, compares)
    if held == live:
        return report
    sentence = (
        f"Only {held:,} of {live:,} {compares.rows} have a vector; the others were not compared by it."
        if held
        else f"None of {live:,} {compares.rows} has a vector, so none was compared by meaning."
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


def with_languages(report: Report, operation: Operation[Any], snapshot: Snapshot) -> Report:
    """Add to the report of an operation for English how many active memories in other languages it did not read."""
    if not operation.english or report.skipped:
        return report
    other = Counter(filter(None, languages_of_memories(snapshot)))
    if not other:
        return report
    unread = f"{counted(other.total(), 'memory')} in other languages ({describe_languages(other)})"
    return replace(
        report,
        numbers={**report.numbers, "memories in other languages": other.total()},
        findings=(
            *report.findings,
            Finding(f"Its rules are written for English, so it did not read {unread}.", coverage=True),
        ),
    )


def compared_no_vectors(report: Report) -> bool:
    """Return whether an operation that compares memories by vectors had none, even if it ran by other means."""
    return report.numbers.get("memories with a vector", 1) == 0


def covered(snapshot: Snapshot, compares: Compares) -> tuple[int, int]:
    """Return the number of rows with a vector of the snapshot's model, and the number of rows.

    Rows are live entities, or active memories that have a text.
    """
    if compares.rows == "memories":
        active = active_memories(snapshot)
        rows = active.filter(pc.not_equal(pc.utf8_trim_whitespace(active["text"]), ""))
    else:
        rows = snapshot.live(compares.rows)
    ids = rows["id"].combine_chunks() if len(rows) else pa.array([], pa.string())
    return int((snapshot.vectors[compares.vectors].rows_of(ids) >= 0).sum()), len(rows)


# Definition of an operation: a pure function of ``Inputs``, with a declaration of all that the rest of the program must know about it.
#
# Every process needs the declarations, even one that runs no operation: the command line, Dagster's definitions, a server, and apply, which
# checks permits. The functions need about 650 modules more. So a declaration is light, and may name its function instead of importing it.
#
# ``slowwave.operations.registry`` finds and runs operations.

Kind = Literal["audit", "planner"]

Result = TypeVar("Result", Report, Proposal)

Audit = Callable[[Inputs], Report]
Planner = Callable[[Inputs], Proposal]

FIRST: Final[tuple[str, ...]] = ()
"""Value for ``after``: after no other operation of its kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Generic[Result]):
    """Declaration of an audit or a planner.

    Calling it calls its function with only the data that it declares to read. ``function`` is the function, or ``module:name`` of one that
    is imported at the first call. ``description`` is what operators read; its first line is the summary. ``reads`` names the tables and
    vector tables of the snapshot, ``models`` the SQL models whose results it receives; it receives no others. ``after`` names operations
    of its kind that come before it (for planners: that the sealer prefers if two items collide); None places it after all operations that
    declare a position. ``english`` is whether its rules are written for English: memories in other languages are then missing from the
    snapshot that it receives, and its report counts them.

    ``switch`` is whether it is part of a night for which no one names operations, if the settings do not say; ``options`` is the model of
    its other settings (``Settings.options``). A ``weekly`` operation is part of the weekly night whatever its switch is. ``permits`` is all
    that its items may carry. ``compares`` are the vectors without which it finds less or nothing. ``columns`` are the names that it gives
    to columns of its report's table and to keys of its details; they are not memory text and are shown where memory is hidden. ``khora``
    are khora's names for it, ``planted`` the injected problems of the demo that it must find. ``searches`` is ``module:name`` of a function
    that gives ``inputs.search`` the searches that the operation would give it, so that other processes can do them first.

    Raises ``SettingsError`` if it has no description, or an invalid switch, option or permit.
    """

    name: str
    kind: Kind
    function: Callable[[Inputs], Result] | str
    description: str
    reads: tuple[str, ...]
    models: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    switch: bool = True
    weekly: bool = False
    english: bool = False
    permits: tuple[Permit, ...] = ()
    compares: Compares | None = None
    options: type[BaseModel] | None = None
    columns: tuple[str, ...] = ()
    khora: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()
    searches: str = ""

    def __post_init__(self) -> None:
        """Remove the indentation of the description and check the declaration."""
        object.__setattr__(self, "description", inspect.cleandoc(self.description))
        if problem := _problem(self):
            raise SettingsError(f"The operation {self.name} in {self.module} cannot be: {problem}")

    def __call__(self, inputs: Inputs) -> Result:
        """Run the function with only the data that it declares to read."""
        return self.load()(self._given(inputs))

    def find_searches(self, inputs: Inputs) -> None:
        """Give ``inputs.search`` the searches that the operation would give it, if it declares any."""
        if self.searches:
            resolve_name(self.searches)(self._given(inputs))

    def _given(self, inputs: Inputs) -> Inputs:
        given = inputs.only(self.reads, self.models)
        return replace(given, snapshot=english_only(given.snapshot)) if self.english else given

    def load(self) -> Callable[[Inputs], Result]:
        """Return the function; import it if it is not imported yet."""
        return resolve_name(self.function) if isinstance(self.function, str) else self.function

    @property
    def module(self) -> str:
        """Return the name of the module of the function."""
        return self.function.partition(":")[0] if isinstance(self.function, str) else self.function.__module__

    def is_on(self, settings: Settings) -> bool:
        """Return whether it is part of a night for which no one names operations."""
        switched = settings.switch(self.name)
        return self.switch if switched is None else switched

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
        """Return the environment variable of its switch."""
        return f"SLOWWAVE_OPERATIONS__{self.name}__ENABLED".upper()


class Declared(TypedDict, total=False):
    """Optional arguments of the decorator, in addition to kind, ``reads`` and ``permits``: fields of ``Operation``."""

    models: tuple[str, ...]
    after: tuple[str, ...] | None
    switch: bool
    weekly: bool
    english: bool
    compares: Compares | None
    options: type[BaseModel] | None
    columns: tuple[str, ...]
    khora: tuple[str, ...]
    planted: tuple[str, ...]
    searches: str


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
    """Make an operation of a function, with the function's name and docstring; the arguments are the fields of ``Operation``.

    It is for packages whose import is cheap. Raises ``SettingsError`` for an invalid declaration.
    """
    return lambda run: Operation(run.__name__, kind, run, run.__doc__ or "", reads, permits=permits, **declared)


def _problem(made: Operation[Any]) -> str:
    """Return what is invalid in a declaration as a sentence, or an empty string."""
    if not made.description:
        return "it has no description, which is what the operator reads. Write one, or the docstring of its function."
    if not isinstance(made.switch, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - a package's own, written without types
        return f"its switch is {made.switch!r}. Let it be True or False; the setting is operations.{made.name}.enabled."
    if made.kind == "planner" and not made.permits:
        return "a planner says in permits which mutations its items may carry."
    if made.kind == "audit" and made.permits:
        return "an audit changes nothing, so it has no permits. Make it a planner."
    if made.options is not None and "enabled" in made.options.model_fields:
        return "enabled is the name of its switch, and no option may have it."
    return ""
