"""Which operations there are: those of this package, found by module, and those of other packages, found by entry point.

A package adds operations by entry points of the group ``slowwave.operations``; each names an operation, a module of some, or a package each
of whose modules declares some and is read without being imported. Nothing else is registered anywhere: order, switches, permits and names
are read from what the operations declare.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, Generic

from slowwave.errors import SettingsError
from slowwave.operations.declared import declared, written_in
from slowwave.operations.inputs import Proposal
from slowwave.operations.spec import Kind, Operation, Result
from slowwave.plans import permitted
from slowwave.plans.permitted import Permit
from slowwave.reports import vocabulary
from slowwave.reports.model import Report

PACKAGES: Final = ("slowwave.operations.audits", "slowwave.operations.planners")
"""Every operation in a module of these is one of ours."""

GROUP: Final = "slowwave.operations"
"""The group of entry points by which other packages add operations."""


@cache
def operations() -> dict[str, Operation[Any]]:
    """Every operation by name in the order of a night: audits first, each behind those that it names in ``after``, equals by name.

    Raises ``SettingsError`` where one cannot be loaded, where two have one name, or where one names in ``after`` what is not there.
    """
    found: dict[str, Operation[Any]] = {}
    for made in (*_ours(), *_of_others()):
        if made.name in found:
            raise SettingsError(
                f"Two operations have the name {made.name}: one in {found[made.name].module}, one in {made.module}. Rename one of them."
            )
        found[made.name] = made
    return in_order(found)


def in_order(found: Mapping[str, Operation[Any]]) -> dict[str, Operation[Any]]:
    """Operations by name in the order of a night."""
    for name, made in found.items():
        for other in made.after or ():
            if other not in found or found[other].kind != made.kind:
                raise SettingsError(
                    f"The operation {name} in {made.module} is to stand after {other}, and there is no such {made.kind}. "
                    "Change its after."
                )
    places: dict[str, int] = {}
    try:
        for name in TopologicalSorter({name: made.after or () for name, made in found.items()}).static_order():
            behind = found[name].after
            places[name] = len(found) if behind is None else max((places[other] + 1 for other in behind), default=0)
    except CycleError as problem:
        circle = ", ".join(sorted({*problem.args[1]}))
        raise SettingsError(
            f"The operations {circle} stand behind each other. Change what one of them names in after."
        ) from problem
    return {name: found[name] for name in sorted(found, key=lambda n: (found[n].kind, places[n], n))}


class RegisteredOperations(Mapping[str, Operation[Result]], Generic[Result]):
    """The operations of one kind by name, in the order of a night. They are looked for when it is first asked."""

    def __init__(self, kind: Kind) -> None:
        self._kind: Kind = kind

    def _found(self) -> dict[str, Operation[Result]]:
        return {name: made for name, made in operations().items() if made.kind == self._kind}

    def __getitem__(self, name: str) -> Operation[Result]:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


AUDITS: Final = RegisteredOperations[Report]("audit")
"""Every audit by name, in the order of a night."""

PLANNERS: Final = RegisteredOperations[Proposal]("planner")
"""Every planner by name, in the order in which the sealer prefers them."""


def weekly_operations() -> frozenset[str]:
    """Operations that are dear and seldom news: the scheduled night from Saturday to Sunday has them besides."""
    return frozenset(name for name, made in operations().items() if made.weekly)


def khora_kinds() -> dict[str, str]:
    """khora's kind → our operation; its other generic kinds have our names."""
    return {kind: name for name, made in operations().items() for kind in made.khora}


@cache  # asked for each item of a plan
def permits() -> dict[str, tuple[Permit, ...]]:
    """Planner → what its items may carry."""
    return {name: made.permits for name, made in PLANNERS.items()}


permitted.take_from(permits)  # what lies lower does not import this, and is given it
vocabulary.take_from(lambda: {name: made.columns for name, made in operations().items()})


def _ours() -> Iterator[Operation[Any]]:
    for name in PACKAGES:
        yield from _modules_of(name)


def _modules_of(package: str) -> Iterator[Operation[Any]]:
    """Read what the modules of a package declare, without importing them."""
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if spec := find_spec(module.name):
            yield from declared(spec)


def _of_others() -> Iterator[Operation[Any]]:
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        yield from _loaded(point)


def _loaded(point: EntryPoint) -> Iterable[Operation[Any]]:
    whose = (
        f"The entry point {point.name} = {point.value} of {point.dist.name if point.dist else 'an installed package'}"
    )
    try:
        spec = None if point.attr else find_spec(point.module)
    except ModuleNotFoundError as problem:
        if problem.name and point.module.startswith(problem.name) and point.dist and point.dist.name == "slowwave":
            return ()  # the package is a part that is not installed, and its operations with it
        raise
    if spec is not None and spec.submodule_search_locations is not None:
        return _none_deletes(whose, list(_modules_of(point.module)))
    try:
        value = point.load()
    except Exception as problem:
        raise SettingsError(
            f"{whose} cannot be loaded ({type(problem).__name__}: {problem}), so there is no list of operations. "
            "Repair that package or uninstall it."
        ) from problem
    found = [value] if isinstance(value, Operation) else written_in(value) if isinstance(value, ModuleType) else []
    if not found:
        raise SettingsError(f"{whose} is no operation and no module of any. Name a function decorated with @operation.")
    return _none_deletes(whose, found)


def _none_deletes(whose: str, found: list[Operation[Any]]) -> list[Operation[Any]]:
    """Return the operations of an entry point. Raises ``SettingsError`` if one may delete rows."""
    if deleting := [made.name for made in found if any(p.deletes for p in made.permits)]:
        raise SettingsError(
            f"{whose} adds {deleting[0]}, which would delete rows. Only purge_expired may; let it retire them."
        )
    return found
