"""``slowwave apply``, ``undo`` and ``runs``: writing, taking back, and who is at it."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.progress import Progress

from slowwave.applying.control import request_cancel
from slowwave.applying.executor import ApplyResult, apply_approval, waiting_approvals
from slowwave.cli.dreams import told
from slowwave.cli.session import Json, Namespace, err, open_store, out, plain, program, show_json, show_table
from slowwave.dream_results import DreamStatus
from slowwave.dreams import dream_history, dream_pause, dream_resume, dream_status, dream_undo
from slowwave.errors import Refused
from slowwave.plans.ledger import latest_plan, namespace_id
from slowwave.store.connect import Store

app = typer.Typer(help="Runs of plans, applies and undos.", no_args_is_help=True)

RunName = Annotated[str, typer.Argument(help="Run id, its first characters, or `last`.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")]


def apply(namespace: Namespace, wait: Wait = 0.0, json: Json = False) -> None:
    """Apply what is approved in a namespace, in this process."""
    store = open_store()
    waiting = waiting_approvals(store, namespace, cancelled=True)
    if not waiting:
        raise Refused(_nothing_to_apply(store, namespace))
    results: list[ApplyResult] = []
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task(f"Applying {plain(namespace)}", total=None)
        for approval, _ in waiting:
            results.append(
                apply_approval(
                    store,
                    approval,
                    progress=lambda done, total: progress.update(bar, completed=done, total=total),
                    wait=wait,
                )
            )
    if json:
        show_json(
            [{"run_id": r.run_id, "plan_hash": r.plan_hash, "state": r.state, "counts": r.counts} for r in results]
        )
    else:
        for r in results:
            counts = ", ".join(f"{n:,} {what}" for what, n in r.counts.items())
            out.print(f"Run {r.run_id} {r.state}: {plain(counts)}. Take it back: {program()} undo {r.run_id}")
    if any(r.state == "cancelled" for r in results):
        raise typer.Exit(1)


def undo(
    target: Annotated[str, typer.Argument(help="Run id, its first characters, `last`, or an item's id.")],
    items: Annotated[str | None, typer.Option("--items", help="Only these items, separated by commas.")] = None,
    operation: Annotated[str | None, typer.Option(help="Only what this operation did.")] = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> None:
    """Undo an apply run or a part of it, exactly; refused when later changes stand on it."""
    chosen = None if items is None else [i.strip() for i in items.split(",") if i.strip()]
    result = dream_undo(target, chosen, operation, store=open_store(), wait=wait)
    if json:
        show_json(
            {
                "run_id": result.run_id,
                "undo_of": result.undo_of,
                "namespace": result.namespace,
                "items": list(result.items),
            }
        )
    elif result.items:
        out.print(
            f"Run {result.run_id} took back {len(result.items):,} items of run {result.undo_of} in {plain(result.namespace)}."
        )
    else:
        out.print(
            f"Nothing of run {result.undo_of} was left to take back; nothing was changed in {plain(result.namespace)}."
        )


@app.command()
def tail(
    namespace: Namespace,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show the newest runs of a namespace."""
    runs = dream_history(namespace, limit, store=open_store())
    if json:
        show_json([run.to_json() for run in runs])
    else:
        columns = ("run", "mode", "state", "began", "counts")
        rows = [(r.run_id, r.mode, r.state, f"{r.started_at:%Y-%m-%d %H:%M:%S}", told(r.counts)) for r in runs]
        show_table(f"Runs of {namespace}", columns, rows)


@app.command()
def status(
    run: RunName,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every second until it has ended.")] = False,
    json: Json = False,
) -> None:
    """Show one run: its state, how far it is, whether its process is alive."""
    store = open_store()
    shown = dream_status(run, store=store)
    while watch and shown.state in ("planning", "applying") and not shown.stuck:
        err.print(_line(shown))
        time.sleep(1)
        shown = dream_status(shown.run_id, store=store)
    if json:
        show_json(shown.to_json())
    else:
        for name, value in shown.to_json().items():
            out.print(f"{name}: {plain(value)}")


@app.command()
def cancel(run: RunName) -> None:
    """Stop a run after its batch; one that plans stops at once. It can be gone on with."""
    found = request_cancel(open_store(), run)
    if found.state == "cancelled":
        out.print(
            f"Run {found.run_id} is cancelled. Go on with it: {program()} dream {plain(found.namespace)} --resume-from {found.run_id}"
        )
    else:
        out.print(f"Run {found.run_id} stops after its batch. `slowwave apply` goes on with it.")


@app.command()
def pause(run: RunName) -> None:
    """Let a run wait after its batch; it keeps its namespace until it is resumed or cancelled."""
    shown = dream_pause(run, store=open_store())
    out.print(
        f"Run {shown.run_id} waits after its batch. It goes on with `{program()} runs resume {shown.run_id[:8]}`."
    )


@app.command()
def resume(run: RunName) -> None:
    """Let a paused run go on."""
    out.print(f"Run {dream_resume(run, store=open_store()).run_id} goes on.")


def _line(shown: DreamStatus) -> str:
    far = f" {shown.done:,} of {shown.total:,}" if shown.total else ""
    why = f" ({shown.waiting_for})" if shown.waiting_for else ""
    return plain(f"{shown.state}, {shown.phase}{far}{why}, heartbeat {shown.heartbeat_age_seconds} s ago")


def _nothing_to_apply(store: Store, namespace: str) -> str:
    with store.connect("reader") as connection:
        namespace_id(connection, namespace)
        newest = latest_plan(connection, namespace)
        row = connection.execute("SELECT state FROM night.plans WHERE plan_hash = %s", (newest,)).fetchone()
    if newest is None or row is None:
        return f"{namespace} has no plan yet. Run `slowwave night {namespace}` first."
    if row[0] == "awaiting_approval":
        command = f"slowwave plans approve {namespace} {newest[:12]} --approver YOUR-NAME"
        return f"Plan {newest[:12]} of {namespace} waits for approval: `{command}`."
    return f"Nothing is approved and unapplied in {namespace}: its latest plan {newest[:12]} is {row[0]}."
