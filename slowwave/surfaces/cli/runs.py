"""``slowwave apply``, ``undo``, ``runs`` and ``switch``: write, undo, stop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import approve_command, argument, undecided
from slowwave.plans.signatures import half_signed
from slowwave.plans.states import items_text, latest_plan, no_plan, shown_state
from slowwave.store.connect import Store
from slowwave.surfaces.cli.dreams import show_runs, suggest_undo
from slowwave.surfaces.cli.session import Json, Namespace, err, open_store, program, progress, say, show_json, suggest
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.night.executor import ApplyResult
    from slowwave.night.undo import Undoing
    from slowwave.surfaces.api.dreams import DreamStatus


# ``slowwave apply``, ``undo`` and ``runs``: write, undo, and control active runs.

app = typer.Typer(help="Runs of plans, applies and undos.", no_args_is_help=True)

RunName = Annotated[str, typer.Argument(help="Run id, its first characters, or `last`.")]
_NAMED: Final = 10
"""Items that are listed by name."""

InNamespace = Annotated[
    str | None, typer.Option("--namespace", help="Which namespace's `last`; a run of another one is refused.")
]
Wait = Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")]

_PLAN_STATE: Final = """
SELECT p.state, night.item_counts(p.plan_hash), p.expires_at FROM night.plans p WHERE p.plan_hash = %s
"""
_FAILED: Final = """
SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s AND status = 'failed' ORDER BY ordinal LIMIT %s
"""


def apply(namespace: Namespace, wait: Wait = 0.0, json: Json = False) -> None:
    """Apply what is approved in a namespace, in this process. The exit code is 1 where an item failed or the run was cancelled."""
    from slowwave.night.executor import apply_approval
    from slowwave.plans.waiting import waiting_approvals

    store = open_store()
    waiting = waiting_approvals(store, namespace, cancelled=True)
    if not waiting:
        raise Refused(_nothing_to_apply(store, namespace))
    results: list[ApplyResult] = []
    with progress(f"Applying {namespace}") as tell:
        for approval, _ in waiting:
            results.append(
                apply_approval(store, approval, progress=lambda done, total: tell(done, total, ""), wait=wait)
            )
    if json:
        show_json(
            [
                {
                    **{"run_id": r.run_id, "plan_hash": r.plan_hash, "state": r.state, "counts": r.counts},
                    "failed": [{"item": item, "reason": reason} for item, reason in r.failed.items()],
                }
                for r in results
            ]
        )
    else:
        for r in results:
            say(f"Run {r.run_id} {r.state}: {items_text(r.counts)}.")
            _show_failed(namespace, r)
        suggest_undo([r.run_id for r in results if r.counts.get("applied")])
    if any(r.state == "cancelled" or r.failed for r in results):
        raise typer.Exit(1)


def _show_failed(namespace: str, result: ApplyResult) -> None:
    """Print the failed items with their reasons, and the commands that retry them."""
    named = tuple(result.failed)[:_NAMED]
    for item in named:
        say(f"Item {item} failed and changed nothing: {result.failed[item]}", indent=2)
    if more := len(result.failed) - len(named):
        say(f"… and {counted(more, 'more item')}; `plans show --json` has the reason of each.", indent=2)
    if named:
        again = approve_command(namespace, result.plan_hash, items=named, program=program())
        suggest("Once the cause is removed, approve and apply again", again, f"{program()} apply {argument(namespace)}")


def undo(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMESPACE] TARGET",
            help="Run id, its first characters, `last`, or an item's id; its namespace may stand before it.",
        ),
    ] = None,
    items: Annotated[str | None, typer.Option("--items", help="Only these items, separated by commas.")] = None,
    operation: Annotated[str | None, typer.Option(help="Only what this operation did.")] = None,
    leave_changed: Annotated[
        bool, typer.Option("--leave-changed", help="Leave items on which later changes stand; take back all others.")
    ] = False,
    namespace: InNamespace = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> None:
    """Undo an apply run or a part of it, exactly; refused when the journal was changed or later changes stand on it."""
    from slowwave.surfaces.api.dreams import dream_undo

    if not names:
        of = argument(namespace) if namespace else "NAMESPACE"
        raise Refused(
            f"What is to be undone has to be named: `slowwave undo {of} last` undoes the newest apply run that changed something, and "
            f"`slowwave runs tail {of}` lists the runs. Nothing was done."
        )
    if len(names) > 2 or (len(names) == 2 and namespace not in (None, names[0])):
        raise Refused(f"{' '.join(names)[:200]} is no namespace and what to undo in it. Nothing was done.")
    target, namespace = names[-1], names[0] if len(names) == 2 else namespace
    chosen = None if items is None else [i.strip() for i in items.split(",") if i.strip()]
    result = dream_undo(
        target,
        chosen,
        operation,
        namespace=namespace,
        leave_changed=leave_changed,
        announce=None if json else _announce,
        store=open_store(),
        wait=wait,
    )
    if json:
        show_json(
            {
                "run_id": result.run_id,
                "undo_of": result.undo_of,
                "namespace": result.namespace,
                "items": list(result.items),
                "operations": dict(result.operations),
                "cancelled": result.cancelled,
                "left": list(result.left),
                "still_applied": result.still_applied or None,
            }
        )
    elif result.items:
        say(
            f"Run {result.run_id} took back {counted(len(result.items), 'item')} of run {result.undo_of} in {result.namespace}."
        )
    else:
        say(f"Nothing of run {result.undo_of} was left to take back; nothing was changed in {result.namespace}.")
        suggest("List the runs", f"{program()} runs tail {argument(result.namespace)}")
    if result.left and not json:
        many, more = len(result.left), f" and {len(result.left) - _NAMED:,} more" if len(result.left) > _NAMED else ""
        ids = ", ".join(item[:8] for item in result.left[:_NAMED])
        say(
            f"{counted(many, 'item')} {'stays' if many == 1 else 'stay'}, as later changes stand on what was written: {ids}{more}."
        )
    if result.cancelled and not json:
        say(
            f"Run {result.undo_of} had not ended and is cancelled now: what it has not applied is not applied by itself."
        )
    if result.still_applied and not (json or items or operation):
        say(f"Run {result.still_applied} of {result.namespace} is still applied.")
        suggest("Undo it as well", f"{program()} undo {result.still_applied}")


def _announce(about: Undoing) -> None:
    if not about.operations:
        return  # the message at the end covers this
    counted = ", ".join(f"{n:,} of {name}" for name, n in about.operations.items())
    ended = "" if about.state == "completed" else f", {about.state}"
    left = f" {about.waiting:,} approved items of it are not applied yet." if about.waiting else ""
    say(
        f"Undoing {about.mode} run {about.run_id} of {about.namespace}, begun {about.started_at:%Y-%m-%d %H:%M} UTC{ended}: "
        f"{counted}.{left}"
    )


@app.command()
def tail(
    namespace: Namespace,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show the newest runs of a namespace."""
    show_runs(namespace, limit, json=json)


@app.command()
def status(
    run: RunName,
    namespace: InNamespace = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every second until it has ended.")] = False,
    json: Json = False,
) -> None:
    """Show one run: its state, its progress, whether its process is alive."""
    from slowwave.surfaces.api.dreams import dream_status

    store = open_store()
    shown = dream_status(run, namespace=namespace, store=store)
    while watch and shown.state in ("planning", "applying") and not shown.stuck:
        say(_line(shown), console=err)
        time.sleep(1)
        shown = dream_status(shown.run_id, store=store)
    if json:
        show_json(shown.to_json())
    else:
        for name, value in shown.to_json().items():
            if name != "deep" or value:
                say(f"{name}: {value}")


@app.command()
def cancel(
    run: Annotated[
        str | None,
        typer.Argument(help="Run id, its first characters, or `last`; with --dead, the run that holds --namespace."),
    ] = None,
    namespace: InNamespace = None,
    dead: Annotated[
        bool,
        typer.Option(
            "--dead", help="The run's process is gone: free the namespace at once, however fresh the heartbeat is."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Stop a run after its batch; a planning run, or one without a process, at once. Any cancelled run can be resumed."""
    from slowwave.store.claims import request_cancel

    if run is None and not (dead and namespace):
        raise Refused(
            "Name the run to cancel: `slowwave runs cancel RUN`. To free a namespace whose run is dead: "
            "`slowwave runs cancel --dead --namespace NAMESPACE`. Nothing was cancelled."
        )
    store = open_store()
    found = request_cancel(store, run, namespace, dead=dead)
    if json:
        _show_status(store, found.run_id)
    elif found.state == "cancelled":
        say(f"Run {found.run_id} is cancelled.")
        if found.mode != "deep":  # a deep pass cannot resume, because its scratch copy is gone
            suggest("Go on with it", f"{program()} dream {argument(found.namespace)} --resume-from {found.run_id}")
    else:
        say(f"Run {found.run_id} stops after its batch.")
        suggest("Go on with it then", f"{program()} apply {argument(found.namespace)}")


@app.command()
def kill(
    run: RunName,
    namespace: InNamespace = None,
    force: Annotated[bool, typer.Option("--force", help="Yes, stop it: what it did so far is thrown away.")] = False,
    json: Json = False,
) -> None:
    """Stop an active run for good, a deep pass together with its model's loop; exit code 2 without --force."""
    from slowwave.store.claims import request_cancel
    from slowwave.surfaces.api.dreams import dream_status

    store = open_store()
    shown = dream_status(run, namespace=namespace, store=store)
    if shown.state not in ("planning", "applying"):
        if json:
            show_json(shown.to_json())
            return
        say(f"Run {shown.run_id} is {shown.state} already; there is nothing to stop.")
        return
    if not force:
        raise Refused(f"Run {shown.run_id} is {shown.state}. Stop it with `slowwave runs kill {shown.run_id} --force`.")
    found = request_cancel(store, shown.run_id, namespace)
    if json:
        _show_status(store, found.run_id)
        return
    say(
        f"Run {found.run_id} is {found.state}."
        if found.state == "cancelled"
        else f"Run {found.run_id} stops after its batch."
    )


@app.command()
def pause(run: RunName, namespace: InNamespace = None, json: Json = False) -> None:
    """Pause a run after its batch; it keeps its namespace until it is resumed or cancelled."""
    from slowwave.surfaces.api.dreams import dream_pause

    shown = dream_pause(run, namespace=namespace, store=open_store())
    if json:
        show_json(shown.to_json())
        return
    say(f"Run {shown.run_id} waits after its batch.")
    suggest("Let it go on", f"{program()} runs resume {shown.run_id}")


@app.command()
def resume(run: RunName, namespace: InNamespace = None, json: Json = False) -> None:
    """Continue a paused run."""
    from slowwave.surfaces.api.dreams import dream_resume

    shown = dream_resume(run, namespace=namespace, store=open_store())
    if json:
        show_json(shown.to_json())
    else:
        say(f"Run {shown.run_id} goes on.")


def _show_status(store: Store, run_id: str) -> None:
    from slowwave.surfaces.api.dreams import dream_status

    show_json(dream_status(run_id, store=store).to_json())


def _line(shown: DreamStatus) -> str:
    far = f" {shown.done:,} of {shown.total:,}" if shown.total else ""
    why = f" ({shown.waiting_for})" if shown.waiting_for else ""
    return f"{shown.state}, {shown.phase}{far}{why}, heartbeat {max(0, shown.heartbeat_age_seconds)} s ago"


def _nothing_to_apply(store: Store, namespace: str) -> str:
    with store.connect("reader") as connection:
        newest = latest_plan(connection, namespace)
        if newest is None:
            return no_plan(connection, namespace)
        row = connection.execute(_PLAN_STATE, (newest,)).fetchone()
        left = undecided(connection, newest)
        lacking = half_signed(connection, namespace)
        failed = tuple(str(item) for (item,) in connection.execute(_FAILED, (newest, _NAMED)))
    if lacking:
        return f"{lacking[0].sentence()} for plan {lacking[0].plan_hash[:12]} of {namespace}: `{lacking[0].command()}`."
    state, items, expires_at = row or ("", {}, None)
    shown = f"{shown_state(state, items, expires_at)} ({items_text(items)})"
    if left is not None and not left.decided:
        ask = f"{counted(left.reviews, 'question')} of it wait{'s' if left.reviews == 1 else ''}"
        return (
            f"Nothing is approved and unapplied in {namespace}: plan {newest[:12]} is {shown}. {ask} for a person: "
            f"`slowwave plans show {argument(namespace)}`."
        )
    if left is not None:
        failed = f" Its probes failed: {' '.join(left.failed)}" if left.failed else ""
        return f"Plan {newest[:12]} of {namespace} waits for approval.{failed} Look at it, then: `{left.approve()}`."
    done = f"Nothing is approved and unapplied in {namespace}: its latest plan {newest[:12]} is {shown}."
    if failed:
        return (
            f"{done} To try again what failed, approve it again: `{approve_command(namespace, newest, items=failed)}`."
        )
    return done


# ``slowwave switch``: turn applying on or off.


def switch(
    name: Annotated[str, typer.Argument(help="`apply`, the one switch there is.")] = "apply",
    state: Annotated[str | None, typer.Argument(help="`off` or `on`; without it the switch is shown.")] = None,
    by: Annotated[str, typer.Option(help="Who sets it.")] = "",
    note: Annotated[str, typer.Option(help="Why; whoever is stopped by it reads this.")] = "",
    json: Json = False,
) -> None:
    """Stop apply and undo in every process before the next batch, let them go on, or show whether they may."""
    from slowwave.plans.approval import read_switch, switch_apply

    if name != "apply" or state not in (None, "on", "off"):
        raise Refused(
            "Say `slowwave switch apply off --by NAME`, `slowwave switch apply on --by NAME`, or `slowwave switch`."
        )
    store = open_store()
    if state is None:
        with store.connect("reader") as connection:
            found = read_switch(connection)
    else:
        found = switch_apply(store, on=state == "on", by=by, note=note)
    shown = found.to_json()
    if json:
        show_json(shown)
        return
    by_whom = f" It was set by {found.set_by}{f': {found.note}' if found.note else ''}." if found.set_by else ""
    say(f"apply is {shown['apply']} (database {shown['database']}, this environment {shown['environment']}).{by_whom}")
