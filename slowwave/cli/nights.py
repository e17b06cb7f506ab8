"""``slowwave night`` and ``slowwave demo``: nights in this process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.progress import Progress

from slowwave.cli.session import (
    Json,
    chosen_namespaces,
    err,
    instant_of,
    open_store,
    out,
    plain,
    program,
    show_json,
    show_table,
)
from slowwave.errors import SlowwaveError
from slowwave.night import OPERATIONS, Night, run_night
from slowwave.operations import named
from slowwave.store.connect import Store


def night(
    namespace: Annotated[str, typer.Argument(help="Name of a namespace, or ALL.")],
    force: Annotated[bool, typer.Option(help="Plan even when nothing changed since the last night.")] = False,
    ops: Annotated[
        str | None,
        typer.Option(help="Only these operations, separated by commas, or `all`; else what the settings switch on."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            help="Plan as if it were this instant (ISO 8601): ages and windows follow it. The rows are those of today, and an apply "
            "stamps the real time."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Audit and plan now. Nothing is applied without an approval."""
    store = open_store()
    named(ops, OPERATIONS)
    instant = instant_of("now", now)
    nights, failures = _run_nights(store, chosen_namespaces(store, namespace), force=force, ops=ops, now=instant)
    if json:
        shown = [n.to_json() for n in nights] + [{"namespace": n, "error": str(e)} for n, e in failures]
        show_json(shown if namespace == "ALL" else shown[0])
    else:
        for one in nights:
            show_night(one)
    for name, problem in failures:
        err.print(f"{plain(name)}: {plain(problem, 2000)}")
    if failures:
        raise typer.Exit(1)


def demo(
    json: Json = False,
) -> None:
    """Load the demo, run a night for each of its namespaces, and compare what was found with what was planted."""
    from slowwave.demo import NAMESPACES, load_demo
    from slowwave.language.embedder import embedder_for
    from slowwave.settings import Settings

    store = open_store()
    with store.connect("owner") as connection, Progress(console=err, transient=True) as progress:
        bar = progress.add_task("Loading the demo", total=None)
        added = load_demo(
            connection,
            embedder_for(Settings.for_namespace({})),
            progress=lambda step: progress.update(bar, description=plain(step)),
        )
    if not json:
        what = ", ".join(f"{n:,} {table}" for table, n in added.items() if n)
        out.print(f"Loaded {plain(what)}." if what else "The demo is loaded already.")
    nights, failures = _run_nights(store, list(NAMESPACES), force=True)
    for name, problem in failures:
        err.print(f"{plain(name)}: {plain(problem, 2000)}")
    scores = {one.namespace: score_night(one) for one in nights}
    if json:
        show_json([one.to_json() | {"scores": scores[one.namespace]} for one in nights])
    else:
        for one in nights:
            show_night(one)
            columns = ("problem", "planted", "found", "false", "note")
            show_table(
                f"{one.namespace}: found against planted",
                columns,
                [[s[c] for c in columns] for s in scores[one.namespace]],
            )
        if not all(one.new_items for one in nights):
            out.print(
                "What an earlier plan has merged and cleaned is not there to be found again; `slowwave undo RUN` brings it back."
            )
        out.print("\nThe UI: `make up`, then http://127.0.0.1:3000")
    if failures:
        raise typer.Exit(1)


def score_night(one: Night) -> list[dict[str, object]]:
    """A demo night against the answer key: the plan's items and the reports."""
    from datetime import UTC, datetime

    from slowwave.demo import found_against_planted, generate

    items, deferred = (one.plan.items, one.plan.deferred_items) if one.plan else ((), ())
    key = generate(one.namespace, datetime.now(UTC)).key
    reports = {**one.reports, **one.proposals}
    scores = found_against_planted(key, items=items, deferred=deferred, reports=reports)
    return [
        {"problem": s.problem, "planted": s.planted, "found": s.found, "false": s.false, "note": s.note} for s in scores
    ]


def show_night(one: Night) -> None:
    """One night as tables: findings per audit, items per planner, probes, and what to do next."""
    if one.skipped:
        out.print(
            f"[bold]{plain(one.namespace)}[/]: nothing to do, {plain(one.skipped)}. 0 new items. (--force plans all the same.)"
        )
        return
    show_table(
        f"{one.namespace}: audits",
        ("audit", "findings", "headline"),
        [(name, len(r.findings), r.headline) for name, r in one.reports.items()],
    )
    per_operation = one.to_json()["items"]
    counts = per_operation if isinstance(per_operation, dict) else {}
    show_table(
        f"{one.namespace}: planners",
        ("planner", "items", "headline"),
        [(name, _told(counts.get(name, {})), r.headline) for name, r in one.proposals.items()],
    )
    for sentence in one.probes.sentences if one.probes else ():
        out.print(f"  probe: {plain(sentence, 1000)}")
    for sentence in one.why_nothing:
        out.print(f"  nothing new: {plain(sentence, 1000)}")
    if one.plan is None:
        return
    short = one.plan.plan_hash[:12]
    late = f", {len(one.plan.deferred):,} deferred" if one.plan.deferred else ""
    out.print(f"{one.new_items:,} new items, {one.carried_items:,} carried over{late}: plan {short} is {one.state}.")
    if one.state == "awaiting_approval":
        forced = " --force --note WHY" if one.probes and one.probes.needs_force else ""
        out.print(f"Approve: {program()} plans approve {plain(one.namespace)} {short} --approver YOUR-NAME{forced}")


def _run_nights(
    store: Store, names: Sequence[str], *, force: bool, ops: str | None = None, now: datetime | None = None
) -> tuple[list[Night], list[tuple[str, SlowwaveError]]]:
    """Nights one after another; one that fails does not stop the others."""
    nights: list[Night] = []
    failures: list[tuple[str, SlowwaveError]] = []
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task("", total=len(names))
        for name in names:

            def say(step: str, name: str = name) -> None:
                progress.update(bar, description=f"{plain(name)}: {plain(step)}")

            try:
                nights.append(run_night(store, name, force=force, ops=ops, progress=say, now=now))
            except SlowwaveError as problem:
                failures.append((name, problem))
            progress.advance(bar)
    return nights, failures


def _told(decisions: object) -> str:
    shown = decisions if isinstance(decisions, dict) else {}
    return ", ".join(f"{n:,} {decision}" for decision, n in shown.items()) or "0"
