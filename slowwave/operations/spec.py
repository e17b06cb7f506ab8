"""What an operation is: a pure function of ``Inputs``, and all that the rest of the program has to know of it, declared beside it.

Finding operations belongs to ``slowwave.operations.registry``, running one to ``slowwave.operations.run``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack, overload

from pydantic import BaseModel

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.operations.coverage import Compares
from slowwave.operations.inputs import Inputs, Proposal
from slowwave.plans.permitted import Permit
from slowwave.reports.model import Report

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
    (``slowwave.config.operations``); ``options`` are those of an operation that has no model there. A ``weekly`` one is part of the weekly
    night whatever its switch says. ``permits`` is all that its items may carry, ``compares`` the vectors without which it sees less or
    nothing, ``columns`` the names that it gives to columns of its report's table and to keys of its details, which are no memory and are
    shown where memory is hidden, ``khora`` khora's names for it, ``planted`` the problems of the demo that it has to find.
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

    def default(self) -> Literal["on", "weekly", "off"]:
        """When it runs where nothing is set, as tables say it."""
        plain = Settings.model_construct()  # the defaults, whatever the environment says
        return "on" if self.is_on(plain) else "weekly" if self.weekly else "off"

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
