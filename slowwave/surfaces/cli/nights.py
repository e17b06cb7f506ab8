"""``slowwave night`` and ``operations``: run nights in this process, and list the operations of a night."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import DreamDisabledError, Refused, SlowwaveError
from slowwave.plans.commands import APPROVER, argument, undecided
from slowwave.plans.states import latest_plan, waiting_plans
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli.plans import show_missing_vectors, suggest_decision
from slowwave.surfaces.cli.runs import counts_text
from slowwave.surfaces.cli.session import (
    LISTED,
    AnyNamespace,
    Json,
    Wait,
    chosen_namespaces,
    complete_operation,
    err,
    fail,
    instant_of,
    interruptible,
    open_store,
    program,
    progress,
    review_page,
    say,
    show_failures,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.night.night import Progress
    from slowwave.night.runs import Night
    from slowwave.operations import Inputs, Proposal


# Results of nights of many namespaces on one page: totals, the namespaces with most to decide, failures, and next steps.


@dataclass(frozen=True, slots=True)
class _Planned:
    """Namespace with items to decide: those that an approval of its plan covers, and those that are asked one by one."""

    namespace: str
    decided: int
    reviews: int


@dataclass(slots=True)
class NightTotals:
    """Counts of nights as they end, so that a night of a thousand users is not kept in memory."""

    looked: int = 0
    unchanged: int = 0
    removed: int = 0
    off: int = 0
    held: int = 0
    new: int = 0
    carried: int = 0
    deferred: int = 0
    operations: dict[str, Counter[str]] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    held_back: Counter[str] = field(default_factory=Counter)
    without_vectors: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    lapsed: Counter[str] = field(default_factory=Counter)
    planned: list[_Planned] = field(default_factory=list)
    by_policy: list[str] = field(default_factory=list)
    failures: list[tuple[str, SlowwaveError]] = field(default_factory=list)

    def add(self, one: Night) -> None:
        """Count one night."""
        from slowwave.night.runs import per_operation
        from slowwave.operations.operation import compared_no_vectors
        from slowwave.plans.items import Decision

        for name, report in {**one.reports, **one.proposals}.items():
            if compared_no_vectors(report):
                (self.without_vectors if report.skipped else self.limited)[name] += 1
        self.looked += 1
        self.removed += bool(one.removed_store)
        self.unchanged += bool(one.skipped) and not one.removed_store
        self.new += one.new_items - one.repeated
        self.carried += one.carried_items + one.repeated
        self.findings.update({name: r.finding_count for name, r in one.reports.items() if r.finding_count})
        if one.plan is None or not one.plan.items:
            proposals, why = one.held_back
            if proposals:
                self.held += 1
                self.held_back[why] += proposals
            return
        self.deferred += len(one.plan.deferred)
        self.lapsed.update({one.namespace: one.lapsed} if one.lapsed else {})
        counted = per_operation(one.plan.items)
        for operation, decisions in counted.items():
            self.operations.setdefault(operation, Counter()).update(decisions)
        if one.state in ("approved", "partly_approved"):
            self.by_policy.append(one.namespace)
        reviews = sum(decisions.get(Decision.REVIEW, 0) for decisions in counted.values())
        decided = len(one.plan.items) - reviews
        self.planned.append(_Planned(one.namespace, decided, reviews))

    def most(self) -> list[_Planned]:
        """Return the namespaces with most to review first, then those with most to approve, then by name."""
        return sorted(self.planned, key=lambda p: (-p.reviews, -p.decided, p.namespace))[:LISTED]

    def show(self, plan_of: Callable[[str], str | None]) -> None:
        """Print the totals; failures are printed by ``show_failures``.

        ``plan_of`` returns the plan in which the items of a namespace are pending: items that a night found again are pending in the plan
        before.
        """
        nothing = self.looked - self.unchanged - self.removed - self.held - len(self.planned)
        parts = [
            f"{len(self.planned):,} with a plan",
            *([f"{self.held:,} whose proposals are not planned"] if self.held else []),
            *([f"{nothing:,} with nothing to do"] if nothing else []),
            *([f"{self.unchanged:,} unchanged"] if self.unchanged else []),
            *([f"{self.removed:,} of stores that were removed and are not read"] if self.removed else []),
            *([f"{self.off:,} whose nights are off"] if self.off else []),
            *([f"{len(self.failures):,} failed"] if self.failures else []),
        ]
        say(f"{counted(self.looked + self.off + len(self.failures), 'namespace')}: {', '.join(parts)}.")
        reviews, decided = sum(p.reviews for p in self.planned), sum(p.decided for p in self.planned)
        late = f", {self.deferred:,} held back for a later night" if self.deferred else ""
        before = f", {self.carried:,} pending from before" if self.carried else ""
        say(f"{counted(self.new, 'new item')}{before}{late}: {decided:,} to approve, {counted(reviews, 'question')}.")
        if self.findings:
            say(f"Found by audits: {_counts_text(self.findings)}.")
        if self.operations:
            say(f"Proposed: {_counts_text({name: sum(n.values()) for name, n in self.operations.items()})}.")
        if self.lapsed:
            say(
                f"Superseded before they were applied: approved items of earlier plans, {_counts_text(self.lapsed)}. Approve the new "
                "plans."
            )
        if self.without_vectors:
            say(f"Did not run, because no memory has a vector: {_counts_text(self.without_vectors)} (namespaces).")
        if self.limited:
            say(
                f"Did not compare by meaning, because no memory has a vector: {_counts_text(self.limited)} (namespaces)."
            )
        if self.without_vectors or self.limited:
            say("`slowwave night NAMESPACE --force` says how to get vectors.".replace("slowwave", program()))
        for why, many in self.held_back.most_common(1):
            say(f"{counted(many, 'proposal is', 'proposals are')} not planned. {why}")
        if self.planned:
            show_table(
                "Most to review",
                ("namespace", "questions", "to approve", "plan"),
                [
                    (p.namespace, f"{p.reviews:,}", f"{p.decided:,}", (plan_of(p.namespace) or "")[:12])
                    for p in self.most()
                ],
            )
            first = argument(self.most()[0].namespace)
            page = review_page()
            then = "review all of them in a browser" if page else "answer its questions"
            suggest(
                f"Show a plan, then {then}",
                f"{program()} plans show {first}",
                *(page or (f"{program()} plans review {first} --by {APPROVER}",)),
            )
            suggest("Plan it again, and print the full report", f"{program()} night {first} --force --verbose")
        if self.by_policy:
            one = "ALL" if len(self.by_policy) > 1 else argument(self.by_policy[0])
            suggest(
                f"A policy approved items of {counted(len(self.by_policy), 'plan')}. Apply them",
                f"{program()} apply {one}",
            )
        if self.removed:
            suggest("A store that was removed can be connected again", f"{program()} connect --help")


def _counts_text(counts: Mapping[str, int]) -> str:
    """Format counts by name, the greatest first, and sum up the rest."""
    ordered = sorted(((n, name) for name, n in counts.items() if n), key=lambda pair: (-pair[0], pair[1]))
    rest = sum(n for n, _ in ordered[LISTED:])
    return ", ".join(f"{name} {n:,}" for n, name in ordered[:LISTED]) + (f", others {rest:,}" if rest else "")


# The Dagster instance to which a night of the command line reports, if there is one: ``DAGSTER_HOME``, else that of ``slowwave dev``.
#
# The module that reports is found by the entry point ``dagster`` of the group ``slowwave.reporters``, and imported only if an instance is
# configured. A failure never stops a night: it is one line on standard error, and the night is kept.

REPORTERS: Final = "slowwave.reporters"
"""The group of entry points whose modules have ``report_night`` and ``report_status``."""

WHOLE: Final = 20
"""Nights of one command up to which each is reported in full; of more nights only the plans are reported."""

_SECONDS: Final = "5"
"""Seconds within which an instance's database must answer."""


@dataclass(slots=True)
class Reporter:
    """Callback that reports finished nights of ``store`` to the Dagster instance in ``home``.

    It reports nights in full if ``whole``, else their plans only; after a full one it also reports the status of all namespaces. After a
    failure it prints that once and reports nothing more.
    """

    store: Store
    home: Path
    point: EntryPoint
    whole: bool
    failed: bool = False

    def __call__(self, night: Night, inputs: Inputs, proposals: Mapping[str, Proposal]) -> None:
        """Report a finished night, its inputs, and what its planners proposed."""
        if self.failed:
            return
        try:
            with _environment(self.home):
                module = self.point.load()
                module.report_night(night, inputs, proposals, whole=self.whole, store=self.store)
                if self.whole:
                    module.report_status(self.store)
        except Exception as problem:  # noqa: BLE001 - whatever an instance raises, the night stands
            self.failed = True
            say(
                f"These nights were not reported to Dagster: its instance in {self.home} does not answer "
                f"({type(problem).__name__}). The plans are stored, and `{program()} status` shows them.",
                console=err,
            )


def reporter(store: Store, nights: int) -> Reporter | None:
    """Return the reporter for a run of so many nights of a store, or None if Dagster is missing or no instance is configured."""
    home, points = _home(), entry_points(group=REPORTERS, name="dagster")
    if home is None or not points or importlib.util.find_spec("dagster") is None:
        return None
    return Reporter(store, home, next(iter(points)), whole=nights <= WHOLE)


def _home() -> Path | None:
    """Return the folder of an instance: that of ``DAGSTER_HOME`` if it holds one, else that of ``slowwave dev``."""
    chosen = os.environ.get("DAGSTER_HOME", "").strip()
    folder = Path(chosen).expanduser() if chosen else server.default_home() / "dagster"
    return folder if (folder / "dagster.yaml").is_file() else None


@contextmanager
def _environment(home: Path) -> Generator[None]:
    """Set the environment variables that Dagster needs to open the instance, while it is in use."""
    wanted = {"DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "1", "PGCONNECT_TIMEOUT": _SECONDS}
    if home == server.default_home() / "dagster":
        from slowwave.surfaces.cli.dev import REVIEW_URL, instance_environment  # it imports URL parsing
        from slowwave.surfaces.review_page.guard import running_page

        wanted |= instance_environment(server.default_home())
        if REVIEW_URL not in os.environ:
            with suppress(Refused):  # no review page runs, or several do
                wanted[REVIEW_URL] = running_page(server.default_home()).origin
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ``slowwave night``: nights in this process, or a deep pass.

EXIT_CODES: Final = {"errored": 1, "timed_out": 1, "escape_audit": 1, "locked": 2, "check_failed": 2}
"""Exit codes of a deep pass by its outcome; 0 for other outcomes."""


def night(
    namespace: AnyNamespace,
    force: Annotated[bool, typer.Option("--force", help="Plan even if nothing changed since the last night.")] = False,
    ops: Annotated[
        str | None,
        typer.Option(
            help="Run only these operations, separated by commas, or `all`. By default the settings decide.",
            autocompletion=complete_operation,
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Plan only for rows recorded from this instant on (ISO 8601).")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Plan only for rows recorded before this instant (ISO 8601).")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="Plan only for these entities and their relationships: ids, separated by commas.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(help="Plan only for rows that cite these documents: ids, separated by commas.")
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            help="Plan as of this instant (ISO 8601): ages and windows follow it. The rows are still those of today, and apply "
            "records the real time."
        ),
    ] = None,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Run a deep pass instead: a model edits a copy of the memory, and its changes become a plan."
        ),
    ] = False,
    requested: Annotated[
        bool, typer.Option("--requested", help="Skip namespaces for which no agent requested a night.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Reason of the run; `slowwave runs list NAMESPACE` shows it.")] = "",
    wait: Wait = 0.0,
    jobs: Annotated[
        int,
        typer.Option(
            help="Number of processes that share the namespaces, or of one namespace the search of candidates; each has its own memory.",
            min=1,
        ),
    ] = 1,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the result of every audit, planner and probe of each night.")
    ] = False,
    json: Json = False,
) -> None:
    """Audit and plan now. Changes are applied only after approval.

    Exit code: 0 if every night ended, 1 if one failed, 2 if the night was refused, for example because another run holds the namespace.
    With --deep also 1 if the pass ran out of time or broke a rule, and 2 if its plan failed a probe.
    """
    from slowwave.night.night import OPERATIONS
    from slowwave.night.runs import Night, open_requests
    from slowwave.night.several import run_nights
    from slowwave.operations import named
    from slowwave.plans.seal import DreamScope
    from slowwave.sources.following import look_at_stores

    scope = DreamScope(None, instant_of("since", since), instant_of("until", until), _ids(entity), _ids(document))
    instant = instant_of("now", now)
    if deep:
        if (
            namespace == "ALL"
            or force
            or ops is not None
            or scope.narrows
            or instant
            or jobs > 1
            or verbose
            or requested
        ):
            raise Refused(
                "A deep pass works on the whole memory of one namespace: --deep accepts only --reason, --wait and --json. Nothing was done."
            )
        _run_deep_pass(namespace, reason, wait, json=json)
        return
    store = open_store()
    named(ops, OPERATIONS)
    asked_for = open_requests(store, None if namespace == "ALL" else namespace) if requested else {}
    if requested and not asked_for:
        chosen_namespaces(store, namespace)  # refuses an unknown name
        if json:
            show_json([] if namespace == "ALL" else {"namespace": namespace, "skipped": "no agent requested a night"})
        else:
            say("No agent requested a night.")
        return
    # Check all stores before the names are chosen, so that new namespaces of connected stores are included.
    notes = look_at_stores(store) if namespace == "ALL" else []
    for note in notes:
        say(f"Note: {note}", console=err)
    names = [name for name in chosen_namespaces(store, namespace) if not requested or name in asked_for]
    nights = partial(
        run_nights,
        store,
        names,
        force=force,
        ops=ops,
        scope=scope if scope.narrows else None,
        now=instant,
        wait=wait,
        reason=reason,
        jobs=jobs,
    )
    summary, shown, ended = NightTotals(), list[dict[str, object]](), 0

    def kept() -> str:
        before = f" {ended:,} of {counted(len(names), 'night')} had ended; their plans are kept." if ended else ""
        return f"nothing was changed.{before}"

    with interruptible(kept):
        for name, found in with_progress(nights, store, len(names)):
            ended += 1
            if isinstance(found, DreamDisabledError) and namespace == "ALL":
                summary.off += 1
                if json:
                    shown.append({"namespace": name, "skipped": str(found)})
                elif len(names) == 1:
                    say(str(found))
            elif not isinstance(found, Night):
                summary.failures.append((name, found))
            elif json:
                shown.append(found.to_json())
            elif verbose or len(names) == 1:
                show_night(found, store, verbose=verbose)
            else:
                summary.add(found)
    if json:
        shown += [{"namespace": n, "error": str(e)} for n, e in summary.failures]
        show_json(shown if namespace == "ALL" else shown[0])
    elif not verbose and len(names) > 1:
        with store.connect("reader") as connection:
            summary.show(partial(latest_plan, connection))
    if summary.failures:
        if namespace != "ALL":
            raise typer.Exit(fail(summary.failures[0][1]))  # the JSON above has the error
        noted = SlowwaveError("Its night was refused, see the note above.")
        show_failures([(name, noted if str(problem) in notes else problem) for name, problem in summary.failures])
        raise typer.Exit(1)


def _ids(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(part.strip().lower() for part in text.split(",") if part.strip())


def _run_deep_pass(namespace: str, reason: str, wait: float, *, json: bool) -> None:
    """Run a deep pass, print its outcome, and exit with the code of the outcome."""
    from slowwave.surfaces.api.outcomes import deep_now

    with interruptible(lambda: "nothing was changed."), progress(f"Deep pass of {namespace}"):
        found = deep_now(namespace, reason, wait, store=open_store())
    if json:
        show_json(found.to_json())
    else:
        gate = f" ({found.gate})" if found.gate else ""
        message = found.message.replace("`slowwave ", f"`{program()} ")
        say(f"{found.namespace}: {found.outcome}{gate}. {message}")
        if found.run_id:
            say(f"run {found.run_id}: {counts_text(found.counts)}, {found.duration_ms / 1000:,.1f} s", indent=2)
        if reason:
            say(f"reason: {found.reason}", indent=2)
    if code := EXIT_CODES.get(found.outcome):
        raise typer.Exit(code)


def list_operations(json: Json = False) -> None:
    """List audits and planners, each with its switch.

    The order is that of a night.
    """
    from slowwave.operations.registry import operations
    from slowwave.store.settings import Settings

    settings = Settings.for_namespace({})  # of this environment; the settings of a namespace can differ
    listed = [
        {
            "name": made.name,
            "kind": made.kind,
            "switch": made.switch_under(settings),
            "default": made.default(),
            "variable": made.variable,
            "description": made.summary,
        }
        for made in operations().values()
    ]
    if json:
        show_json(listed)
        return
    columns = ("name", "kind", "switch", "variable", "description")
    show_table("Operations in the order of a night", columns, [[one[c] for c in columns] for one in listed])
    say("on: runs every night. weekly: runs in the weekly night. off: runs only if --ops names it.")
    say("Set the variable to true or false to turn the operation on or off in all namespaces.")
    suggest("Turn one on or off in one namespace", f"{program()} namespace set NAMESPACE operations.NAME.enabled=true")


FINDINGS: Final = 3
"""Audits with findings that a night prints by default, those with most findings first, and as many warnings of planners."""

UNPLANNED: Final = 10
"""Proposals for a store that may not be written that a night prints by default."""


def show_night(one: Night, store: Store, *, verbose: bool = False) -> None:
    """Print what one night found and planned, and what to do next; with ``verbose`` every audit, planner and probe."""
    if one.skipped:
        hint = "" if one.removed_store else " (--force plans nevertheless.)"
        say(f"{one.namespace}: nothing to do, {one.skipped}. 0 new items.{hint}")
        return
    if verbose:
        _show_operations(one)
    else:
        _show_findings(one)
    _show_vectors(one, store)
    for sentence in one.probes.sentences if verbose and one.probes else ():
        say(f"probe: {sentence}", indent=2)
    planners = [f"{name}: {r.headline}" for name, r in one.proposals.items()]  # the table above shows these already
    for sentence in one.why_nothing:
        if sentence not in planners and not sentence.startswith("Did not run: "):
            say(f"nothing new: {sentence}", indent=2)
    _show_unplanned(one, store, most=None if verbose else UNPLANNED)
    if one.plan is None or (one.state == "empty" and one.unplanned):
        return
    short = one.plan.plan_hash[:12]
    late = f", {len(one.plan.deferred):,} held back for a later night" if one.plan.deferred else ""
    known = one.carried_items + one.repeated
    before = f", {known:,} pending from before" if known else ""
    passed = "; its probes passed" if one.plan.items and one.probes and not one.probes.needs_force else ""
    say(
        f"Plan {short} is {one.state.replace('_', ' ')}: {counted(one.new_items - one.repeated, 'new item')}{before}{late}{passed}."
    )
    if one.state in ("approved", "partly_approved"):
        suggest("A policy approved some of its items. Apply them", f"{program()} apply {argument(one.namespace)}")
    if one.lapsed:
        say(one.lapse())
    if one.rejected:
        say(f"Policies rejected {counted(one.rejected, 'question')} of this plan.")
    with store.connect("reader") as connection:
        shown = latest_plan(connection, one.namespace) if one.state == "empty" and one.carried_items else None
        decided = shown or one.plan.plan_hash
        suggest_decision(undecided(connection, decided), brief=not verbose)
        others = [
            undecided(connection, hash_) for hash_ in waiting_plans(connection, one.namespace) if hash_ != decided
        ]
    if asking := [other for other in others if other and other.reviews]:
        more = counted(sum(other.reviews for other in asking), "more question is", "more questions are")
        suggest(
            f"{more} pending in {counted(len(asking), 'other plan')}", *(a.answer(program()) for a in asking[:FINDINGS])
        )


def _show_unplanned(one: Night, store: Store, *, most: int | None) -> None:
    """Print the proposals of a store that may not be written, at most ``most``: people allow writing once they like them."""
    if not one.unplanned:
        return
    from slowwave.plans.show import called, named_rows, read_names
    from slowwave.store.namespaces import namespace_id

    shown = one.unplanned[:most]
    with store.connect("reader") as connection:
        names = read_names(connection, named_rows(shown), namespace_id(connection, one.namespace))
    say("It would propose:")
    for item in shown:
        say(f"{item.operation}: {called(item, names)}", indent=2)
    if left := len(one.unplanned) - len(shown):
        say(f"and {left:,} more, which --verbose prints.", indent=2)


def _show_findings(one: Night) -> None:
    """Print the audits that found something, those with most findings first, and the proposals and warnings of planners."""
    found = sorted(((r.finding_count, name) for name, r in one.reports.items() if r.finding_count), reverse=True)
    ran = sum(not r.skipped for r in (*one.reports.values(), *one.proposals.values()))
    more = f" Only {FINDINGS} are shown." if len(found) > FINDINGS else ""
    head = f"{counted(len(found), 'audit')} found something.{more}" if found else "No audit found anything."
    say(f"{one.namespace}: {counted(ran, 'operation')} ran; --verbose shows each. {head}")
    for _, name in found[:FINDINGS]:
        say(f"{name}: {one.reports[name].headline}", indent=2)
    per_operation = one.to_json()["items"]
    if isinstance(per_operation, dict) and per_operation:
        proposed = "; ".join(f"{name} {_decisions_text(decisions)}" for name, decisions in per_operation.items())
        say(f"Proposed: {proposed}.", indent=2)
    warnings = [(name, f.message) for name, r in one.proposals.items() for f in r.findings if f.severity == "warning"]
    for name, message in warnings[:FINDINGS]:
        say(f"{name}: {message}", indent=2)
    if len(warnings) > FINDINGS:
        say(f"{counted(len(warnings) - FINDINGS, 'more warning')}: see the reports of the night.", indent=2)


def _show_operations(one: Night) -> None:
    """Print all audits and planners of a night as tables."""
    show_table(
        f"{one.namespace}: audits",
        ("audit", "findings", "headline"),
        [(name, r.finding_count, r.headline) for name, r in one.reports.items() if not r.skipped],
    )
    per_operation = one.to_json()["items"]
    counts = per_operation if isinstance(per_operation, dict) else {}
    show_table(
        f"{one.namespace}: planners",
        ("planner", "items", "headline"),
        [
            (name, _decisions_text(counts.get(name, {})), r.headline)
            for name, r in one.proposals.items()
            if not r.skipped
        ],
    )
    if idle := [name for name, r in (*one.reports.items(), *one.proposals.items()) if r.skipped]:
        say(f"Did not run: {', '.join(idle)}.", indent=2)


def _show_vectors(one: Night, store: Store) -> None:
    """Print which operations lacked vectors, if any did, and the remedy."""
    from slowwave.operations.operation import compared_no_vectors  # it brings Arrow

    if blind := {name: r for name, r in {**one.reports, **one.proposals}.items() if compared_no_vectors(r)}:
        show_missing_vectors(
            store,
            one.namespace,
            sorted(name for name, r in blind.items() if r.skipped),
            sorted(name for name, r in blind.items() if not r.skipped),
        )


def with_progress(
    nights: Callable[..., Iterator[tuple[str, Night | SlowwaveError]]], store: Store, many: int
) -> Generator[tuple[str, Night | SlowwaveError]]:
    """Yield the results of ``run_nights`` for ``many`` namespaces, with a progress bar and a report to Dagster."""
    from slowwave.night.night import STEPS

    with progress("Night") as tell:
        total, place, begun = many * STEPS, 0, 0

        def steps(name: str) -> Progress:
            def count_step(step: str) -> None:
                nonlocal begun
                tell(place * STEPS + begun, total, f"{name}: {step}")
                begun += 1

            return count_step

        for found in nights(progress=steps, done=reporter(store, many)):
            place, begun = place + 1, 0
            tell(place * STEPS, total, "")
            yield found


def _decisions_text(decisions: object) -> str:
    shown = decisions if isinstance(decisions, dict) else {}
    return (
        ", ".join(counted(n, "question") if kind == "review" else f"{n:,} {kind}" for kind, n in shown.items()) or "0"
    )
