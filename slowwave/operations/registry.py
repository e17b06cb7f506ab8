"""Find the operations of this package and of others, run them, and give the reason when one is left out."""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Final, Generic

from slowwave.errors import DreamForbiddenOpError, Refused, SettingsError, UnknownName
from slowwave.operations.operation import (
    BUDGET_SPENT,
    Inputs,
    Kind,
    Operation,
    Proposal,
    Result,
    blind,
    with_coverage,
    with_languages,
)
from slowwave.plans.permitted import Permits
from slowwave.plans.report import Report
from slowwave.store.settings import Settings
from slowwave.text.quotation import quotable_all
from slowwave.text.tokens import suggest_name

# Discovery of operations: those of this package, and those of other packages by entry point.
#
# ``OPERATIONS`` of a package or module lists its operations; a module without such a list has those that ``@operation`` makes. A package
# adds operations by entry points of the group ``slowwave.operations``; each names an operation, a module or a package. Nothing else is
# registered anywhere: order, switches, permits and names are read from the declarations.

GROUP: Final = "slowwave.operations"
"""The group of entry points by which other packages add operations."""

PACKAGES: Final = ("slowwave.operations.audits", "slowwave.operations.planners")
"""Packages with our operations."""


@cache
def operations() -> dict[str, Operation[Any]]:
    """Return every operation by name in the order of a night: audits first, each after those in ``after``, then by name.

    Raises ``SettingsError`` if one cannot be loaded, if two have the same name, or if one names an unknown operation in ``after``.
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
    """Return operations by name in the order of a night."""
    for name, made in found.items():
        for other in made.after or ():
            if other not in found or found[other].kind != made.kind:
                raise SettingsError(
                    f"The operation {name} in {made.module} names {other} in after, and there is no such {made.kind}. "
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
            f"The operations {circle} name each other in after, so they have no order. Change one of them."
        ) from problem
    return {name: found[name] for name in sorted(found, key=lambda n: (found[n].kind, places[n], n))}


class RegisteredOperations(Mapping[str, Operation[Result]], Generic[Result]):
    """Operations of one kind by name, in the order of a night; they are collected on first use."""

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
    """Return the expensive operations that rarely find news; the scheduled night from Saturday to Sunday also runs them."""
    return frozenset(name for name, made in operations().items() if made.weekly)


def khora_kinds() -> dict[str, str]:
    """Map khora's kinds to our operations; its other generic kinds have our names."""
    return {kind: name for name, made in operations().items() for kind in made.khora}


@cache
def permits() -> Permits:
    """Return the permits of every planner, in the order in which the sealer prefers them."""
    return Permits({name: made.permits for name, made in PLANNERS.items()})


def _ours() -> Iterator[Operation[Any]]:
    for name in PACKAGES:
        yield from _listed(import_module(name))


def _listed(module: ModuleType) -> list[Operation[Any]]:
    """Return the operations of an imported module, or those of the modules of a package that lists none."""
    if listed := getattr(module, "OPERATIONS", None):
        return [*listed]
    own = [v for v in vars(module).values() if isinstance(v, Operation) and v.module == module.__name__]
    inner = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
    return own or [made for found in inner for made in _listed(import_module(found.name))]


def _of_others() -> Iterator[Operation[Any]]:
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        yield from _loaded(point)


def _loaded(point: EntryPoint) -> Iterable[Operation[Any]]:
    whose = (
        f"The entry point {point.name} = {point.value} of {point.dist.name if point.dist else 'an installed package'}"
    )
    try:
        value = point.load()
        found = [value] if isinstance(value, Operation) else _listed(value) if isinstance(value, ModuleType) else []
    except Exception as problem:
        missing = problem.name if isinstance(problem, ModuleNotFoundError) else None
        if missing and point.module.startswith(missing) and point.dist and point.dist.name == "slowwave":
            return ()  # the package is a part that is not installed, and its operations with it
        raise SettingsError(
            f"{whose} cannot be loaded ({type(problem).__name__}: {problem}), so there is no list of operations. "
            "Repair that package or uninstall it."
        ) from problem
    if not found:
        raise SettingsError(f"{whose} is no operation and no module of any. Name a function decorated with @operation.")
    return _none_deletes(whose, found)


def _none_deletes(whose: str, found: list[Operation[Any]]) -> list[Operation[Any]]:
    """Return the operations of an entry point.

    Raises ``SettingsError`` if one may delete rows.
    """
    if deleting := [made.name for made in found if any(p.deletes for p in made.permits)]:
        raise SettingsError(
            f"{whose} adds {deleting[0]}, which would delete rows. Only purge_expired may; let it retire them."
        )
    return found


# Running operations: which ones are requested, which are switched on, and what every report contains besides its operation's own content.

FORBIDDEN: Final = frozenset(("delete_document", "document_delete", "documents_delete"))
"""Kinds that no night may run, whoever requests them."""


WEEKLY: Final = "weekly"
"""Requests the operations that the settings switch on, and the weekly ones."""


def weekly(settings: Settings) -> frozenset[str]:
    """Return the operations that the settings switch on, and the weekly ones that they do not switch off."""
    return frozenset(
        name
        for name, made in operations().items()
        if made.is_on(settings) or (made.weekly and settings.switch(name) is not False)
    )


def named(ops: str | Collection[str] | None, known: Collection[str]) -> frozenset[str] | None:
    """Return the operations that ``ops`` names, or None if none were requested.

    ``ops`` is ``all``, names separated by commas, or a collection of names; khora's kinds are accepted. Raises ``DreamForbiddenOpError``
    for a forbidden kind, and ``Refused`` for an unknown one and for a list without names, which means nothing to do and not everything.
    """
    if ops is None:
        return None
    asked = [name.strip().lower() for name in (ops.split(",") if isinstance(ops, str) else ops)]
    if not any(asked):
        raise Refused(
            "The list of operations is empty, so there is nothing to plan. Name some, or all; without a list the settings say which."
        )
    if forbidden := FORBIDDEN.intersection(asked):
        raise DreamForbiddenOpError(
            f"{min(forbidden)} is forbidden: a night never deletes a document. Take it out of the operations; nothing was done."
        )
    if "all" in asked:
        return frozenset(known)
    kinds = khora_kinds()
    found = {name if name in known else kinds.get(name, name) for name in asked}
    if unknown := sorted(found - set(known)):
        near = suggest_name(unknown[0][:64], known)
        raise UnknownName(f"There is no operation {unknown[0][:64]!r}.{near} `slowwave operations` lists all of them.")
    return frozenset(found)


def skip_reason(operation: Operation[Any], settings: Settings, ops: Collection[str] | None) -> str:
    """Return why a night leaves an operation out, or an empty string: by name if ``ops`` names any, else by its switch."""
    if ops is not None:
        return "" if operation.name in ops else "op_not_requested"
    return "" if operation.is_on(settings) else "op_disabled_by_config"


def runs_tonight(inputs: Inputs, operation: str) -> bool:
    """Return whether an operation is part of the night of these inputs."""
    return operation in inputs.ops if inputs.ops is not None else operations()[operation].is_on(inputs.settings)


def run_audit(audit: Operation[Report], inputs: Inputs, ops: Collection[str] | None = None) -> Report:
    """Run an audit; return its report with its time and coverage, or the report with the reason why it did not run."""
    if reason := skip_reason(audit, inputs.settings, ops):
        return _left_out(audit, reason)
    if report := blind(audit.name, audit.compares, inputs.snapshot):
        return report
    audit.load()  # so that the time of the report does not include the import
    began, clock = datetime.now(UTC), time.perf_counter()
    report = with_languages(with_coverage(audit(inputs), audit.compares, inputs.snapshot), audit, inputs.snapshot)
    report = _quotable(report)
    return replace(report, operation=audit.name, started_at=began.isoformat(), seconds=time.perf_counter() - clock)


def run_planner(
    planner: Operation[Proposal], inputs: Inputs, ops: Collection[str] | None = None, *, items_alone: bool = False
) -> Proposal:
    """Run a planner; return its proposal with time and coverage, or an empty one with the reason why it did not run.

    With ``items_alone`` the report is not screened and lacks time and coverage: for a caller that needs only the items.
    """
    if reason := skip_reason(planner, inputs.settings, ops):
        return Proposal((), _left_out(planner, reason))
    if report := blind(planner.name, planner.compares, inputs.snapshot):
        return Proposal((), report)
    planner.load()
    began, clock, refused = datetime.now(UTC), time.perf_counter(), inputs.budget.refused
    proposal = planner(replace(inputs, ops=ops))
    if items_alone:
        return proposal
    report = with_coverage(proposal.report, planner.compares, inputs.snapshot)
    report = _quotable(with_languages(report, planner, inputs.snapshot))
    report = replace(report, operation=planner.name, started_at=began.isoformat(), seconds=time.perf_counter() - clock)
    if missed := inputs.budget.refused - refused:
        report = replace(report, numbers={**report.numbers, BUDGET_SPENT: missed})
    return replace(proposal, report=report)


def _quotable(report: Report) -> Report:
    """Return the report without what screening would redact, because it is stored, shown and sent."""
    said = [v for f in report.findings for v in (f.message, f.details)]
    parts = [
        report.headline,
        report.numbers,
        report.table,
        report.details,
        *((p.title, p.labels) for p in report.plots),
    ]
    quoted = quotable_all([*said, *parts])
    headline, numbers, table, details, *plots = quoted[len(said) :]
    return replace(
        report,
        headline=headline,
        numbers=numbers,
        findings=tuple(
            replace(f, message=message, details=details)
            for f, message, details in zip(
                report.findings, quoted[: len(said) : 2], quoted[1 : len(said) : 2], strict=True
            )
        ),
        table=table,
        plots=tuple(
            replace(p, title=title, labels=labels) for p, (title, labels) in zip(report.plots, plots, strict=True)
        ),
        details=details,
    )


def _left_out(operation: Operation[Any], reason: str) -> Report:
    how = (
        "not among the operations asked for"
        if reason == "op_not_requested"
        else f"off in the settings ({operation.variable})"
    )
    return Report(operation.name, f"Did not run: it is {how}.", skipped=reason)
