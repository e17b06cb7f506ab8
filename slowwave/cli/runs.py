"""``slowwave apply``, ``undo`` and ``runs``: writing, taking back, and who is at it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import Progress

from slowwave.applying.executor import ApplyResult, apply_approval, waiting_approvals
from slowwave.applying.undo import request_cancel, undo_run
from slowwave.cli.session import Json, Namespace, err, open_store, out, plain, program, show_json, show_table
from slowwave.errors import Refused
from slowwave.plans.ledger import latest_plan, namespace_id
from slowwave.store.connect import Connection, Store

app = typer.Typer(help="Runs of plans, applies and undos.", no_args_is_help=True)

_COLUMNS = (
    "run_id",
    "namespace",
    "mode",
    "state",
    "plan_hash",
    "started_at",
    "finished_at",
    "heartbeat_at",
    "counts",
    "error",
)


def apply(namespace: Namespace, json: Json = False) -> None:
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
                )
            )
    if json:
        show_json(
            [{"run_id": r.run_id, "plan_hash": r.plan_hash, "state": r.state, "counts": r.counts} for r in results]
        )
        return
    for r in results:
        counts = ", ".join(f"{n:,} {what}" for what, n in r.counts.items())
        out.print(f"Run {r.run_id} {r.state}: {plain(counts)}. Take it back: {program()} undo {r.run_id}")


def undo(
    run: Annotated[str, typer.Argument(help="Run id, its first characters, or `last`.")],
    items: Annotated[str | None, typer.Option("--items", help="Only these items, separated by commas.")] = None,
    json: Json = False,
) -> None:
    """Undo an apply run, exactly; refused when later changes stand on it."""
    chosen = None if items is None else [i.strip() for i in items.split(",") if i.strip()]
    result = undo_run(open_store(), run, items=chosen)
    if json:
        show_json(
            {
                "run_id": result.run_id,
                "undo_of": result.undo_of,
                "namespace": result.namespace,
                "items": list(result.items),
            }
        )
    else:
        out.print(
            f"Run {result.run_id} took back {len(result.items):,} items of run {result.undo_of} in {plain(result.namespace)}."
        )


@app.command()
def tail(
    namespace: Namespace,
    limit: Annotated[int, typer.Option(help="How many.")] = 20,
    json: Json = False,
) -> None:
    """Show the newest runs of a namespace."""
    with open_store().connect("reader") as connection:
        rows = _runs(connection, "r.namespace_id = %s", namespace_id(connection, namespace), limit)
    if json:
        show_json(rows)
    else:
        columns = ("run_id", "mode", "state", "started_at", "counts")
        show_table(f"Runs of {namespace}", columns, [[str(r[c]) for c in columns] for r in rows])


@app.command()
def status(run: Annotated[str, typer.Argument(help="Run id.")], json: Json = False) -> None:
    """Show one run."""
    with open_store().connect("reader") as connection:
        rows = _runs(connection, "starts_with(r.id::text, %s)", run, 2)
    if len(rows) != 1:
        raise Refused(
            f"{run[:64]!r} names {'several runs' if rows else 'no run'}. `slowwave runs tail NAMESPACE` lists them."
        )
    if json:
        show_json(rows[0])
    else:
        for name, value in rows[0].items():
            out.print(f"{name}: {plain(value)}")


@app.command()
def cancel(run: Annotated[str, typer.Argument(help="Run id.")]) -> None:
    """Ask a run to stop after its batch."""
    out.print(f"Run {request_cancel(open_store(), run)} stops after its batch. `slowwave apply` goes on with it.")


def _runs(connection: Connection, where: str, value: str, limit: int) -> list[dict[str, object]]:
    query = (
        "SELECT r.id::text, n.slug, r.mode, r.state, r.plan_hash, r.started_at, r.finished_at, r.heartbeat_at, r.counts, r.error "
        f"FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id WHERE {where} ORDER BY r.started_at DESC LIMIT %s"
    )
    rows = connection.execute(query.encode(), (value, limit))
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


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
