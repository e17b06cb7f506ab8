"""``slowwave dream``, ``dream-now``, ``history`` and ``retain``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import argument, undecided
from slowwave.plans.states import run_states
from slowwave.store.connect import Store
from slowwave.surfaces.cli.plans import suggest_decision
from slowwave.surfaces.cli.session import (
    Json,
    Namespace,
    instant_of,
    open_store,
    program,
    progress,
    say,
    show_json,
    show_table,
    suggest,
)

if TYPE_CHECKING:
    from slowwave.surfaces.api.dreams import DreamProgress, DreamResult

# ``slowwave dream`` and ``history``: the Python API on the command line.


def dream(
    namespace: Namespace,
    mode: Annotated[str | None, typer.Option(help="`dry-run` or `apply`; else the namespace's default.")] = None,
    ops: Annotated[
        str | None,
        typer.Option(help="Only these operations, separated by commas, or `all`; else what the settings switch on."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only rows recorded from this instant on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only rows recorded before this instant (ISO 8601).")] = None,
    entity: Annotated[str | None, typer.Option(help="Only these entities and their edges: ids with commas.")] = None,
    document: Annotated[str | None, typer.Option(help="Only what cites these documents: ids with commas.")] = None,
    plan: Annotated[
        str | None, typer.Option(help="With `--mode apply`: sign and apply this very plan, by its hash; plan nothing.")
    ] = None,
    approver: Annotated[
        str | None, typer.Option("--by", "--approver", help="Who signs the plan; without one a policy may.")
    ] = None,
    resume_from: Annotated[str | None, typer.Option(help="Go on with this run, which did not end.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")] = 0.0,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up a run whose process is gone.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Approve although a probe failed; needs --note.")] = False,
    note: Annotated[str, typer.Option(help="Why; kept with the approval.")] = "",
    json: Json = False,
) -> None:
    """Plan, and with `--mode apply` apply what a policy or --by approves."""
    from slowwave.plans.seal import DreamScope
    from slowwave.surfaces.api.dreams import dream as run_dream
    from slowwave.surfaces.api.dreams import mode_of

    store = open_store()
    narrow = (instant_of("since", since), instant_of("until", until), _ids(entity), _ids(document))
    scope = None if all(part is None for part in narrow) else DreamScope(None, *narrow)
    with progress(namespace) as tell:

        def show(p: DreamProgress) -> None:
            tell(p.done, p.total, p.message)

        result = run_dream(
            namespace,
            mode_of(mode),
            scope,
            ops,
            approver,
            resume_from,
            store=store,
            wait=wait,
            abandon=abandon,
            force=force,
            note=note,
            on_progress=show,
            plan_hash=plan,
        )
    if json:
        show_json(result.to_json())
    else:
        _show(result, store)
    if result.state == "cancelled":
        raise typer.Exit(1)


def show_runs(namespace: str, limit: int, *, json: bool) -> None:
    """Print the runs of a namespace, the newest first."""
    from slowwave.surfaces.api.dreams import dream_history

    store = open_store()
    runs = dream_history(namespace, limit, store=store)
    with store.connect("reader") as connection:
        became = run_states(connection, [run.run_id for run in runs])
    if json:
        show_json([run.to_json() | {"became": became.get(run.run_id, run.state)} for run in runs])
        return
    columns = ("run", "mode", "state", "began", "seconds", "counts", "reason")
    show_table(
        f"Runs of {namespace}",
        columns,
        [
            (
                *(run.run_id, run.mode, became.get(run.run_id, run.state), f"{run.started_at:%Y-%m-%d %H:%M}"),
                *(f"{run.duration_ms / 1000:,.1f}", counts_text(run.counts), run.reason),
            )
            for run in runs
        ],
    )
    for run in runs:
        if c := run.consolidations:
            say(
                f"Run {run.run_id}: {c['summaries']:,} summaries for {c['sources']:,} memories, mean similarity "
                f"{c['similarity']:.2f}, {c['token_savings']:,} tokens saved."
            )


def counts_text(counts: object) -> str:
    """Format counts as words, without zeros."""
    shown = counts if isinstance(counts, dict) else {}
    return ", ".join(f"{n:,} {what}" for what, n in shown.items() if n) or "nothing"


def _show(result: DreamResult, store: Store) -> None:
    columns = ("operation", "planned", "applied", "stale", "failed", "deferred", "no-op", "pending")
    show_table(
        f"{result.run.namespace}: {result.state}",
        columns,
        [
            (o.op_type, o.planned, o.applied, o.skipped_stale, o.failed, o.deferred, o.noop, o.pending)
            for o in result.ops
            if o.planned or o.deferred
        ],
    )
    if idle := [o.op_type for o in result.ops if not o.planned and not o.deferred]:
        say(f"Nothing from {', '.join(idle)}.", indent=2)
    left_out: dict[str, list[str]] = {}
    for reason in result.skip_reasons:
        if reason.op_type and not reason.detail:
            left_out.setdefault(reason.reason, []).append(reason.op_type)
        else:
            say(": ".join(p for p in (reason.op_type, reason.reason, reason.detail) if p), indent=2)
    for why, operations in left_out.items():
        say(f"{why}: {', '.join(operations)}", indent=2)
    for usage in result.llm_usage:
        tokens = usage.input_tokens + usage.output_tokens
        say(f"{usage.model}: {usage.calls:,} calls, {tokens:,} tokens", indent=2)
    short = result.plan_hash[:12]
    say(f"Run {result.run.run_id} {result.state}{f', plan {short}' if short else ''}.")
    name = argument(result.run.namespace)
    if not result.apply_runs and result.plan_hash and result.state != "completed":
        with store.connect("reader") as connection:
            suggest_decision(undecided(connection, result.plan_hash))
    if result.state == "approved":
        suggest("A policy approved items of it. Apply them", f"{program()} apply {name}")
    suggest_undo(result.apply_runs)
    if result.state == "cancelled":
        suggest("Go on with it", f"{program()} dream {name} --resume-from {result.run.run_id}")


def suggest_undo(runs: Sequence[str]) -> None:
    """Print the commands that undo runs, the last run first, because later changes can depend on earlier ones."""
    commands = [f"{program()} undo {run}" for run in reversed(runs)]
    if commands:
        every = f"Undo all {len(commands):,} runs, the last one first"
        suggest(every if len(commands) > 1 else "Undo it", *commands)


def _ids(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(part.strip().lower() for part in text.split(",") if part.strip())


# ``slowwave dream-now``: run a dream at once, with a reason, and report one outcome.

EXIT_CODES: Final = {"errored": 1, "timed_out": 1, "locked": 2, "check_failed": 2, "escape_audit": 1}
"""Exit code by outcome; 0 for the others."""


def dream_now(
    namespace: Namespace,
    reason: Annotated[str, typer.Option(help="Why; kept with the run.")],
    mode: Annotated[str, typer.Option(help="`dry-run` or `apply`.")] = "dry-run",
    ops: Annotated[
        str | None,
        typer.Option(help="Only these operations, separated by commas, or `all`; else what the settings switch on."),
    ] = None,
    approver: Annotated[
        str | None, typer.Option("--by", "--approver", help="Who signs the plan; without one a policy may.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")] = 0.0,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which the run is cancelled.")] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="A deep pass: a model works on a scratch copy, and a plan comes of it.")
    ] = False,
    json: Json = False,
) -> None:
    """Plan now, whatever the schedule says, and tell in one word what came of it."""
    from slowwave.surfaces.api.dreams import mode_of
    from slowwave.surfaces.api.outcomes import deep_now as run_deep
    from slowwave.surfaces.api.outcomes import dream_now as run_now

    if deep and (ops or approver or mode_of(mode) == "apply"):
        raise Refused(
            "A deep pass ends in a plan that waits: --deep goes without --ops, --by and --mode apply. Nothing was done."
        )
    found = (
        run_deep(namespace, reason, wait, timeout, open_store())
        if deep
        else run_now(namespace, reason, mode_of(mode) or "dry-run", ops, approver, wait, timeout, store=open_store())
    )
    if json:
        show_json(found.to_json())
    else:
        gate = f" ({found.gate})" if found.gate else ""
        message = found.message.replace("`slowwave ", f"`{program()} ")
        say(f"{found.namespace}: {found.outcome}{gate}. {message}")
        if found.run_id:
            say(f"run {found.run_id}: {counts_text(dict(found.counts))}, {found.duration_ms / 1000:,.1f} s", indent=2)
        say(f"reason: {found.reason}", indent=2)
    if code := EXIT_CODES.get(found.outcome):
        raise typer.Exit(code)


# ``slowwave history``: the runs of a namespace, or what was believed about a subject.


def history(
    namespace: Namespace,
    subject: Annotated[
        str, typer.Argument(help="A name, an alias or a reference (project:rowan); none for the runs.")
    ] = "",
    scope: Annotated[str | None, typer.Option(help="person, project, concept, decision or core.")] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show a namespace's runs, the newest first; with a subject, what was believed of it and when."""
    if subject:
        from slowwave.surfaces.api.memory import Memory
        from slowwave.surfaces.cli.remember import show_history
        from slowwave.wiki.claims.trail import MOST

        show_history(
            namespace, Memory(namespace, open_store()).history(subject, scope=scope, limit=min(limit, MOST)), json=json
        )
        return

    show_runs(namespace, limit, json=json)
