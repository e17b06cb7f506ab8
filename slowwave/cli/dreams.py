"""``slowwave dream`` and ``history``: the Python API from the command line."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import Progress

from slowwave.cli.session import (
    Json,
    Namespace,
    err,
    instant_of,
    open_store,
    out,
    plain,
    program,
    show_json,
    show_table,
)
from slowwave.dream_results import DreamProgress, DreamResult
from slowwave.dreams import Mode, dream_history
from slowwave.dreams import dream as run_dream
from slowwave.errors import Refused
from slowwave.plans.scope import DreamScope


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
    approver: Annotated[str | None, typer.Option(help="Who signs the plan; without one a policy may.")] = None,
    resume_from: Annotated[str | None, typer.Option(help="Go on with this run, which did not end.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")] = 0.0,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up a run whose process is gone.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Approve although a probe failed; needs --note.")] = False,
    note: Annotated[str, typer.Option(help="Why; kept with the approval.")] = "",
    json: Json = False,
) -> None:
    """Plan, and with `--mode apply` apply what a policy or --approver approves."""
    store = open_store()
    scope = DreamScope(None, instant_of("since", since), instant_of("until", until), _ids(entity), _ids(document))
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task(plain(namespace), total=None)

        def show(p: DreamProgress) -> None:
            progress.update(bar, description=f"{plain(namespace)}: {plain(p.message)}", completed=p.done, total=p.total)

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
        )
    if json:
        show_json(result.to_json())
    else:
        _show(result)
    if result.state == "cancelled":
        raise typer.Exit(1)


def history(
    namespace: Namespace,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show a namespace's runs, the newest first."""
    runs = dream_history(namespace, limit, store=open_store())
    if json:
        show_json([run.to_json() for run in runs])
        return
    columns = ("run", "mode", "state", "began", "seconds", "counts", "reason")
    show_table(
        f"Runs of {namespace}",
        columns,
        [
            (
                *(
                    run.run_id,
                    run.mode,
                    run.state,
                    f"{run.started_at:%Y-%m-%d %H:%M}",
                    f"{run.duration_ms / 1000:,.1f}",
                ),
                told(run.counts),
                run.reason,
            )
            for run in runs
        ],
    )
    for run in runs:
        if c := run.consolidations:
            out.print(
                f"Run {run.run_id[:8]}: {c['summaries']:,} summaries for {c['sources']:,} memories, mean similarity "
                f"{c['similarity']:.2f}, {c['token_savings']:,} tokens saved."
            )


def told(counts: object) -> str:
    """Counts as words, zeros left out."""
    shown = counts if isinstance(counts, dict) else {}
    return ", ".join(f"{n:,} {what}" for what, n in shown.items() if n) or "nothing"


def _show(result: DreamResult) -> None:
    columns = ("operation", "planned", "applied", "stale", "failed", "deferred", "no-op", "pending")
    show_table(
        f"{result.run.namespace}: {result.state}",
        columns,
        [
            (o.op_type, o.planned, o.applied, o.skipped_stale, o.failed, o.deferred, o.noop, o.pending)
            for o in result.ops
        ],
    )
    for reason in result.skip_reasons:
        out.print(f"  {plain(': '.join(p for p in (reason.op_type, reason.reason, reason.detail) if p), 400)}")
    for usage in result.llm_usage:
        tokens = usage.input_tokens + usage.output_tokens
        out.print(f"  {plain(usage.model)}: {usage.calls:,} calls, {tokens:,} tokens")
    short = result.plan_hash[:12]
    out.print(f"Run {result.run.run_id} {plain(result.state)}{f', plan {short}' if short else ''}.")
    name = plain(result.run.namespace)
    if result.state == "awaiting_approval":
        forced = " --force --note WHY" if result.metadata.get("needs_force") else ""
        out.print(f"Approve: {program()} plans approve {name} {short} --approver YOUR-NAME{forced}")
    for run in result.apply_runs:
        out.print(f"Take it back: {program()} undo {run}")
    if result.state == "cancelled":
        out.print(f"Go on with it: {program()} dream {name} --resume-from {result.run.run_id}")


def mode_of(text: str | None) -> Mode | None:
    """An option's mode; what is none is refused."""
    if text is None or text == "dry-run" or text == "apply":
        return text
    raise Refused(f"There is no mode {text[:32]!r}: --mode is dry-run or apply. Nothing was done.")


def _ids(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(part.strip().lower() for part in text.split(",") if part.strip())
