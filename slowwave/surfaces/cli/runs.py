"""``slowwave apply``, ``undo``, ``runs`` and ``switch``: write, undo, list runs, stop them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import DreamLockUnavailable, Refused, SlowwaveError, StoreError
from slowwave.plans.commands import APPROVER, approve_command, argument, undecided
from slowwave.plans.signatures import half_signed
from slowwave.plans.states import items_text, latest_plan, no_plan, run_states, shown_state, waiting_plans
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from slowwave.surfaces.cli.session import (
    LISTED,
    AnyNamespace,
    By,
    Items,
    Json,
    Note,
    Wait,
    err,
    interruptible,
    one_line,
    open_store,
    program,
    progress,
    say,
    show_failures,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.night.executor import ApplyResult
    from slowwave.night.undo import Undoing
    from slowwave.surfaces.api.dreams import DreamStatus


# ``slowwave apply``, ``undo`` and ``runs``: write, undo, and control active runs.

app = typer.Typer(help="List, show, pause, resume and cancel runs.", no_args_is_help=True)

RunName = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAMESPACE] RUN", help="Run id, its first characters, or `last`; optionally after its namespace."
    ),
]
_NAMED: Final = 10
"""Items that are listed by name."""

_NAMESPACES: Final = 3
"""Runs whose failed items ``apply ALL`` lists."""

_PLAN_STATE: Final = """
SELECT p.state, night.item_counts(p.plan_hash), p.expires_at FROM night.plans p WHERE p.plan_hash = %s
"""
_FAILED: Final = """
SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s AND status = 'failed' ORDER BY ordinal LIMIT %s
"""


def _split_name(names: Sequence[str], done: str) -> tuple[str, str | None]:
    """Return the run or item, and the namespace before it if one is given."""
    if len(names) > 2:
        raise Refused(f"{' '.join(names)[:200]!r} is not one namespace followed by one run. Nothing was {done}.")
    return names[-1], names[0] if len(names) == 2 else None


def apply(namespace: AnyNamespace, wait: Wait = 0.0, json: Json = False) -> None:
    """Apply the approved items, or resume an unfinished apply run.

    With ALL those of every namespace. Runs that were cancelled and namespaces that another run holds are left out and named, and one that
    fails does not stop the others. Exit code: 0 if all approved items were applied or were out of date, 1 if an item or a namespace of ALL
    failed or a run was cancelled, 2 if nothing was approved in the namespace or another run holds it.
    """
    from psycopg import Error as DatabaseError

    from slowwave.night.executor import apply_approval
    from slowwave.night.run_events import in_words
    from slowwave.plans.waiting import waiting_approvals

    store, every = open_store(), namespace == "ALL"
    waiting = waiting_approvals(store, None if every else namespace, cancelled=not every)
    if not waiting and not every:
        raise Refused(_nothing_to_apply(store, namespace))
    results: list[ApplyResult] = []
    failures: list[tuple[str, SlowwaveError]] = []
    kept = f"batches that had ended are kept. `{program()} apply {argument(namespace)}` applies the rest."
    with interruptible(lambda: kept), progress(f"Applying {namespace}") as tell:
        for n, (approval, name) in enumerate(waiting):
            if every:
                tell(n, len(waiting), name)
            report = None if every else lambda done, total: tell(done, total, "")
            try:
                results.append(apply_approval(store, approval, progress=report, wait=wait))
            except (SlowwaveError, DatabaseError) as problem:
                if not every:
                    raise
                if isinstance(problem, DatabaseError):
                    problem = StoreError(f"The database refused a statement ({in_words(problem, 'all')}).")
                if not isinstance(problem, DreamLockUnavailable):  # it is left out, as if it had been held before
                    failures.append((name, problem))
    left_out = _left_out(store, {r.namespace for r in results} | {name for name, _ in failures}) if every else {}
    if json:
        applied = [
            {
                **{"namespace": r.namespace, "run_id": r.run_id, "plan_hash": r.plan_hash, "state": r.state},
                **{"counts": r.counts, "failed": [{"item": i, "reason": reason} for i, reason in r.failed.items()]},
            }
            for r in results
        ]
        applied += [{"namespace": name, "error": str(problem)} for name, problem in failures]
        show_json([*applied, *({"namespace": name, "left_out": reason} for name, reason in left_out.items())])
    elif every:
        _show_applied_everywhere(results, failures, left_out)
    else:
        for r in results:
            say(f"Run {r.run_id} {r.state}: {items_text(r.counts)}.")
            _show_failed(namespace, r)
        _suggest_undo(store, [r for r in results if r.counts.get("applied")])
        _suggest_next(store, namespace)
    if failures or any(r.state == "cancelled" or r.failed for r in results):
        raise typer.Exit(1)


def _left_out(store: Store, done: Collection[str]) -> dict[str, str]:
    """Return namespaces outside ``done`` with approved items that ``apply ALL`` does not apply, and why."""
    from slowwave.plans.waiting import waiting_approvals

    held = "Another run holds it, or a person cancelled its run."
    found = {name: held for _, name in waiting_approvals(store, cancelled=True)}
    with store.connect("reader") as connection:
        found |= {one.namespace: f"{one.sentence()}: `{one.command()}`." for one in half_signed(connection)}
    return {name: reason for name, reason in sorted(found.items()) if name not in done}


def _show_applied_everywhere(
    results: Sequence[ApplyResult], failures: Sequence[tuple[str, SlowwaveError]], left_out: Mapping[str, str]
) -> None:
    """Print the totals of ``apply ALL``, failed items of a few namespaces, and the namespaces that failed or were left out."""
    counts: Counter[str] = Counter()
    for r in results:
        counts.update(r.counts)
    ended = counted(len({r.namespace for r in results}), "namespace")
    if results:
        say(f"{ended}: {items_text(counts)}.")
    elif not (failures or left_out):
        say("No approved item of any namespace is unapplied.")
    for r in [r for r in results if r.state == "cancelled"][:_NAMESPACES]:
        say(f"{r.namespace}: run {r.run_id} was cancelled. `{program()} apply {argument(r.namespace)}` does the rest.")
    for name, reason in list(left_out.items())[:LISTED]:
        say(f"{name} was left out. {reason}")
    if len(left_out) > LISTED:
        say(
            f"{counted(len(left_out) - LISTED, 'more namespace was', 'more namespaces were')} left out; --json lists all."
        )
    failed = [r for r in results if r.failed]
    for r in failed[:_NAMESPACES]:
        say(f"{r.namespace}, run {r.run_id}:")
        _show_failed(r.namespace, r)
    if len(failed) > _NAMESPACES:
        say(f"Items of {counted(len(failed) - _NAMESPACES, 'more run')} failed.")
    show_failures(failures)
    if results:
        suggest("List the runs; undo one of them", f"{program()} runs list ALL", f"{program()} undo RUN")


def _show_failed(namespace: str, result: ApplyResult) -> None:
    """Print the failed items with their reasons, and the commands that retry them."""
    named = tuple(result.failed)[:_NAMED]
    for item in named:
        say(f"Item {item} failed and changed nothing: {result.failed[item]}", indent=2)
    if more := len(result.failed) - len(named):
        say(f"… and {counted(more, 'more item')}; `plans show --json` has the reasons.", indent=2)
    if named:
        again = approve_command(namespace, result.plan_hash, items=named, program=program())
        suggest(
            "When you have removed the cause, approve and apply again",
            again,
            f"{program()} apply {argument(namespace)}",
        )


def _suggest_undo(store: Store, results: Sequence[ApplyResult]) -> None:
    """Print the commands that undo runs, the last run first, because later changes can depend on earlier ones.

    A run that deleted rows for good has no such command.
    """
    from slowwave.night.undo import find_erasing_items

    with store.connect("reader") as connection:
        erasing = {r.run_id: len(find_erasing_items(connection, r.run_id)) for r in results}
    for r in results:
        if many := erasing[r.run_id]:
            those = f"{counted(many, 'item')} of run {r.run_id} deleted rows for good and cannot be undone."
            others = r.counts["applied"] > many
            say(
                f"{those} To undo its other items, name them: `{program()} undo {r.run_id} --items ITEM`."
                if others
                else those
            )
    commands = [f"{program()} undo {r.run_id}" for r in reversed(results) if not erasing[r.run_id]]
    if commands:
        every = f"Undo all {len(commands):,} runs, last one first"
        suggest(every if len(commands) > 1 else "Undo it", *commands)


def _suggest_next(store: Store, namespace: str) -> None:
    """Print the command for what is still pending in a namespace, questions first."""
    with store.connect("reader") as connection:
        left = [one for hash_ in waiting_plans(connection, namespace) if (one := undecided(connection, hash_))]
    if asking := [one for one in left if one.reviews]:
        pending = counted(sum(one.reviews for one in asking), "question is", "questions are")
        suggest(f"{pending} still pending. To answer", asking[0].answer(program()))
    elif left:
        pending = counted(sum(one.decided for one in left), "item is", "items are")
        suggest(
            f"{pending} still pending. Read them",
            f"{program()} plans show {argument(namespace)} {left[0].plan_hash[:12]}",
        )
    else:
        suggest(f"Nothing is pending in {namespace}. When its next night runs", f"{program()} status")


def undo(
    first: Annotated[str | None, typer.Argument(metavar="NAMESPACE", help="Namespace of the target.")] = None,
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="Run id, its first characters, `last`, or an item's id. An id needs no namespace before it.",
        ),
    ] = None,
    items: Items = None,
    operation: Annotated[str | None, typer.Option(help="Undo only the items of this operation.")] = None,
    leave_changed: Annotated[
        bool, typer.Option("--leave-changed", help="Skip items whose rows have changed since; undo all others.")
    ] = False,
    wait: Wait = 0.0,
    json: Json = False,
) -> None:
    """Undo an apply run, or a part of it, exactly.

    Undo is refused if the journal was changed, or if rows have changed since (see --leave-changed).
    """
    from slowwave.surfaces.api.dreams import dream_undo

    names = [name for name in (first, second) if name]
    if not names:
        raise Refused(
            "Name what to undo: `slowwave undo NAMESPACE last` undoes the newest apply run that changed something, and "
            "`slowwave runs list NAMESPACE` lists the runs. Nothing was undone."
        )
    target, namespace = _split_name(names, "undone")
    chosen = None if items is None else [i.strip() for i in items.split(",") if i.strip()]
    again = f"batches that had ended are undone. `{program()} undo {' '.join(map(argument, names))}` undoes the rest."
    with interruptible(lambda: again), progress(f"Undoing {target}"):
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
            f"Run {result.run_id} undid {counted(len(result.items), 'item')} of run {result.undo_of} in {result.namespace}. Nights do not "
            f"propose them again while their rows say the same; `{program()} plans reconsider "
            f"{argument(result.namespace)} ITEM --by {APPROVER} --reason …` lets one return."
        )
    else:
        say(f"Nothing of run {result.undo_of} was left to undo; nothing was changed in {result.namespace}.")
        suggest("List the runs", f"{program()} runs list {argument(result.namespace)}")
    if result.left and not json:
        many, more = len(result.left), f" and {len(result.left) - _NAMED:,} more" if len(result.left) > _NAMED else ""
        ids = ", ".join(item[:8] for item in result.left[:_NAMED])
        say(
            f"{counted(many, 'item')} {'stays' if many == 1 else 'stay'} applied, because rows have changed since: {ids}{more}."
        )
    if result.cancelled and not json:
        say(
            f"Run {result.undo_of} had not ended and is now cancelled: the rest of its items is not applied automatically."
        )
    if result.still_applied and not (json or items or operation):
        say(f"Run {result.still_applied} of {result.namespace} is still applied.")
        suggest("Undo it as well", f"{program()} undo {result.still_applied}")


def _announce(about: Undoing) -> None:
    if not about.operations:
        return  # the message at the end covers this
    counted = ", ".join(f"{n:,} of {name}" for name, n in about.operations.items())
    ended = "" if about.state == "completed" else f", {about.state}"
    left = f" {about.waiting:,} of its approved items are not applied yet." if about.waiting else ""
    say(
        f"Undoing {about.mode} run {about.run_id} of {about.namespace}, begun {about.started_at:%Y-%m-%d %H:%M} UTC{ended}: "
        f"{counted}.{left}"
    )


_APPLIED: Final = "SELECT DISTINCT item_id FROM night.journal WHERE run_id = %s"
_APPROVED_BY: Final = """
SELECT night.signed_as(a.approver, a.policy_id) FROM night.runs r JOIN night.approvals a ON a.id = r.approval_id WHERE r.id = %s
"""
_SHOWN: Final = 20
"""Items of an apply run that are listed."""

_LONGEST: Final = 300


def counts_text(counts: object) -> str:
    """Format counts as words, without zeros."""
    shown = counts if isinstance(counts, dict) else {}
    return ", ".join(f"{n:,} {what}" for what, n in shown.items() if n) or "nothing"


@app.command("list")
def list_(
    namespace: AnyNamespace,
    limit: Annotated[int, typer.Option(help="Maximum number of runs.", min=1)] = 20,
    offset: Annotated[int, typer.Option(help="Number of newest runs to leave out.", min=0)] = 0,
    json: Json = False,
) -> None:
    """List the runs of a namespace or of ALL, newest first."""
    from slowwave.surfaces.api.dreams import dream_history, token_savings

    store, scope = open_store(), None if namespace == "ALL" else namespace
    runs = dream_history(scope, limit, offset=offset, store=store)
    with store.connect("reader") as connection:
        became = run_states(connection, [run.run_id for run in runs])
    if json:
        show_json([run.to_json() | {"became": became.get(run.run_id, run.state)} for run in runs])
        return
    columns = ("run", "mode", "state", "began", "seconds", "counts", "reason or error")
    show_table(
        f"Runs of {namespace}",
        columns if scope else ("namespace", *columns),
        [
            (
                *(() if scope else (run.namespace,)),
                *(run.run_id, run.mode, became.get(run.run_id, run.state), f"{run.started_at:%Y-%m-%d %H:%M}"),
                *(f"{run.duration_ms / 1000:,.1f}", counts_text(run.counts)),
                one_line(". ".join(part.rstrip(".") for part in (run.reason, run.error) if part), _LONGEST),
            )
            for run in runs
        ],
    )
    for run in runs:
        if c := run.consolidations:
            say(
                f"Run {run.run_id}: {counted(int(c['summaries']), 'summary')} for {counted(int(c['sources']), 'memory')}, mean similarity "
                f"{c['similarity']:.2f}, {counted(int(c['token_savings']), 'token')} saved."
            )
    if saved := sum(token_savings(scope, store=store).values()):
        say(f"Summaries have saved {counted(saved, 'token')} in all.")


@app.command()
def show(
    run: RunName,
    watch: Annotated[bool, typer.Option("--watch", help="Repeat every second until the run has ended.")] = False,
    json: Json = False,
) -> None:
    """Show the state, progress and process of one run."""
    from slowwave.surfaces.api.dreams import dream_status

    store = open_store()
    name, namespace = _split_name(run, "shown")
    shown = dream_status(name, namespace=namespace, store=store)
    while watch and shown.state in ("planning", "applying") and not shown.stuck:
        say(_line(shown), console=err)
        time.sleep(1)
        shown = dream_status(shown.run_id, store=store)
    with store.connect("reader") as connection:
        became = run_states(connection, [shown.run_id]).get(shown.run_id, shown.state)
    if json:
        show_json(shown.to_json() | {"became": became})
    else:
        for name, value in (shown.to_json() | {"state": became}).items():
            if name != "deep" or value:
                say(f"{name}: {value}")
        if shown.mode == "apply" and shown.plan_hash:
            _show_applied(store, shown)


def _show_applied(store: Store, run: DreamStatus) -> None:
    """Print what an apply run changed, each item in its sentence, and who approved it."""
    from slowwave.plans.ledger import read_plan
    from slowwave.plans.show import called, named_rows, read_names

    with store.connect("reader") as connection:
        ids = {str(item) for (item,) in connection.execute(_APPLIED, (run.run_id,))}
        by = connection.execute(_APPROVED_BY, (run.run_id,)).fetchone()
        plan = read_plan(connection, run.plan_hash)
        items = [stored for stored in plan.items if stored.id in ids]
        names = read_names(connection, named_rows(s.item for s in items[:_SHOWN]), plan.header.namespace_id)
    if not items:
        return
    say(
        f"It changed {counted(len(items), 'item')} of plan {run.plan_hash[:12]}{f', approved by {by[0]}' if by else ''}:"
    )
    for stored in items[:_SHOWN]:
        undone = " (undone since)" if stored.status == "undone" else ""
        say(f"{one_line(called(stored.item, names, stored.status), _LONGEST)}{undone}", indent=2)
    if len(items) > _SHOWN:
        say(f"… and {len(items) - _SHOWN:,} more", indent=2)
    suggest("Row by row", f"{program()} plans diff {argument(run.namespace)} {run.plan_hash[:12]}")


@app.command()
def cancel(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMESPACE] RUN", help="Run id, its first characters, or `last`; optionally after its namespace."
        ),
    ] = None,
    dead: Annotated[
        bool,
        typer.Option(
            "--dead",
            help="Free the namespace of a run whose process has ended, whatever its heartbeat; the namespace alone is enough.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Cancel a run; the rest can be done later.

    An apply run stops after its batch, a night or a deep pass at once.
    """
    from slowwave.store.claims import request_cancel
    from slowwave.store.runs import resume_command

    if not run:
        raise Refused(
            "Name the run to cancel: `slowwave runs cancel RUN`. To free a namespace whose run has no process any more: "
            "`slowwave runs cancel NAMESPACE --dead`. Nothing was cancelled."
        )
    store = open_store()
    name, namespace = _split_name(run, "cancelled")
    if dead and namespace is None and name in namespaces(store):
        found = request_cancel(store, None, name, dead=True)
    else:
        found = request_cancel(store, name, namespace, dead=dead)
    if json:
        _show_status(store, found.run_id)
    elif found.state == "cancelled":
        say(f"Run {found.run_id} is cancelled.")
        rest = resume_command(found.mode, found.namespace, found.undo_of)
        suggest("To do the rest", rest.replace("slowwave", program(), 1))
    else:
        say(f"Run {found.run_id} stops after its batch.")
        suggest("To do the rest then", f"{program()} apply {argument(found.namespace)}")


@app.command()
def pause(run: RunName, json: Json = False) -> None:
    """Pause an apply run after its batch.

    It holds its namespace until it is resumed or cancelled.
    """
    from slowwave.surfaces.api.dreams import dream_pause

    name, namespace = _split_name(run, "paused")
    shown = dream_pause(name, namespace=namespace, store=open_store())
    if json:
        show_json(shown.to_json())
        return
    say(f"Run {shown.run_id} pauses after its batch.")
    suggest("Resume it", f"{program()} runs resume {shown.run_id}")


@app.command()
def resume(run: RunName, json: Json = False) -> None:
    """Continue a paused run."""
    from slowwave.surfaces.api.dreams import dream_resume

    name, namespace = _split_name(run, "resumed")
    shown = dream_resume(name, namespace=namespace, store=open_store())
    if json:
        show_json(shown.to_json())
    else:
        say(f"Run {shown.run_id} continues.")


@app.command()
def deliver(json: Json = False) -> None:
    """Send pending messages to webhooks.

    The messages are events of runs, and notices of writes to connected stores.
    """
    from slowwave.night.delivery import deliver as run
    from slowwave.night.delivery import diagnose_notices

    store = open_store()
    sent = run(store)
    left = diagnose_notices(store)
    if json:
        show_json({"sent": sent, "left": [{"finding": note.finding, "remedy": note.remedy} for note in left]})
        return
    say(f"Sent {counted(sent, 'message')}.")
    for note in left:
        say(f"Note: {note.finding} {note.remedy}", console=err)


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
        return (
            f"No approved item of {namespace} is unapplied: plan {newest[:12]} is {shown}. It has {counted(left.reviews, 'question')} to "
            f"answer: `slowwave plans show {argument(namespace)}`."
        )
    if left is not None:
        failed = f" Its probes failed: {' '.join(left.failed)}" if left.failed else ""
        return f"Plan {newest[:12]} of {namespace} is not approved.{failed} Review it, then: `{left.approve()}`."
    done = f"No approved item of {namespace} is unapplied: its latest plan {newest[:12]} is {shown}."
    if failed:
        return f"{done} To retry the failed items, approve them again: `{approve_command(namespace, newest, items=failed)}`."
    return done


# ``slowwave switch``: turn applying on or off.


def switch(
    name: Annotated[str, typer.Argument(help="`apply`, the only switch.")] = "apply",
    state: Annotated[str | None, typer.Argument(help="`off` or `on`.")] = None,
    by: By = "",
    note: Note = "",
    json: Json = False,
) -> None:
    """Stop apply and undo everywhere, or allow them again.

    Running processes stop before their next batch. Without STATE the switch is shown.
    """
    from slowwave.plans.switches import read_switch, switch_apply

    if name != "apply" or state not in (None, "on", "off"):
        raise Refused(
            "Use `slowwave switch apply off --by NAME`, `slowwave switch apply on --by NAME`, or `slowwave switch`."
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
