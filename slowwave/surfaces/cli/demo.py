"""``slowwave demo``: load the demo, run its nights, and compare what they detected with the injected defects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.plans.commands import Undecided, argument, undecided
from slowwave.plans.states import latest_plan
from slowwave.store.connect import Store
from slowwave.surfaces.cli.nights import show_night, with_progress
from slowwave.surfaces.cli.session import (
    Json,
    interruptible,
    open_store,
    out,
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
    from slowwave.night.runs import Night

Score = Mapping[str, object]
"""The score of one problem of a demo namespace, with the keys problem, planted, found, false and note."""


def demo(
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also print the reports of all audits, planners and probes.")
    ] = False,
    json: Json = False,
) -> None:
    """Load the demo, plan its nights and count the detected defects."""
    from slowwave.night.runs import Night
    from slowwave.night.several import run_nights
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings
    from slowwave.surfaces.demo import NAMESPACES, load_demo

    store = open_store()
    with store.connect("owner") as connection, progress("Loading the demo") as tell:
        added = load_demo(
            connection,
            embedder_for(Settings.for_namespace({})),
            progress=lambda step: tell(0, None, step),
        )
    with interruptible(lambda: f"the demo is loaded. `{program()} demo` plans its nights again."):
        found = list(with_progress(partial(run_nights, store, NAMESPACES, force=True), store, len(NAMESPACES)))
    nights = [one for _, one in found if isinstance(one, Night)]
    failures = [(name, one) for name, one in found if not isinstance(one, Night)]
    show_failures(failures)
    scores = {one.namespace: score_night(one) for one in nights}
    if json:
        show_json([one.to_json() | {"scores": scores[one.namespace]} for one in nights])
    else:
        _show_demo(store, added, nights, scores, verbose=verbose)
    if failures:
        raise typer.Exit(1)


def _show_demo(
    store: Store,
    added: Mapping[str, int],
    nights: Sequence[Night],
    scores: Mapping[str, Sequence[Score]],
    *,
    verbose: bool,
) -> None:
    """Print what was loaded and detected, pending plans, and what to do next: on one page, or with all output of the nights."""
    rows = sum(n for table, n in added.items() if table != "namespaces")
    say(
        f"Loaded {counted(added.get('namespaces', 0), 'namespace')} with {counted(rows, 'row')}."
        if rows
        else "The demo is loaded already."
    )
    if verbose:
        for one in nights:
            show_night(one, store, verbose=True)
            columns = ("problem", "planted", "found", "false", "note")
            found = [[s[c] for c in columns] for s in scores[one.namespace]]
            show_table(f"{one.namespace}: detected and injected defects", columns, found)
    else:
        _show_scores(scores)
    if not all(one.new_items for one in nights):
        say(
            "Defects that an applied plan has repaired cannot be detected again. "
            f"`{program()} runs list {argument(nights[0].namespace)}` lists its run, and `{program()} undo` undoes it."
        )
    waiting = [left for one in nights if (left := _left(store, one.namespace))]
    if waiting:
        out.print()
        show_table(
            "Plans to approve",
            ("plan", "namespace", "to approve", "questions", "probes"),
            [
                (w.plan_hash[:12], w.namespace, w.decided, w.reviews, "failed" if w.failed else "passed")
                for w in waiting
            ],
        )
    out.print()
    more = "" if verbose else f"The full reports of the nights: `{program()} demo --verbose`. "
    if more:
        say(more.strip())
    if waiting:
        first = argument(waiting[0].namespace)
        if page := review_page(waiting[0].namespace):
            suggest("Review the first plan in a browser", *page)
        suggest("Show it", f"{program()} plans show {first}")
        suggest("Show its changes row by row", f"{program()} plans diff {first}")
        if waiting[0].failed:
            say(
                f"Its probes failed: {' '.join(waiting[0].failed)} To approve it nevertheless, give --force and a reason."
            )
        suggest("Approve it" if waiting[0].decided else "Answer its questions", waiting[0].approve(program()))


def _show_scores(scores: Mapping[str, Sequence[Score]]) -> None:
    """Print per namespace how many of the injected defects were detected, and which were missed.

    After the table come the defects that are not checked by default and the wrong merges.
    """
    rows = [(namespace, *_planted_and_found(found)) for namespace, found in scores.items()]
    show_table("Injected defects", ("namespace", "detected", "injected", "wrong", "incomplete"), rows)
    every = [score for found in scores.values() for score in found]
    if off := sorted({str(s["problem"]) for s in every if not _ran(s)}):
        say(f"Not checked, because the operation is off by default: {', '.join(off)}.")
    if trapped := [s for s in every if _is_trap(s)]:
        fell = sum(int(str(s["found"])) for s in trapped)
        planted = sum(int(str(s["planted"])) for s in trapped)
        say(f"{fell:,} of {planted:,} pairs of different entities that look alike were merged.")


def _planted_and_found(found: Sequence[Score]) -> tuple[str, str, str, str]:
    """Return the detected, injected and wrong (reported or merged) counts, and the problems of which some were missed."""
    scored = [s for s in found if _ran(s) and not _is_trap(s)]
    found_, planted, wrong = (f"{sum(int(str(s[name])) for s in scored):,}" for name in ("found", "planted", "false"))
    missed = [f"{s['problem']} ({_found(s)})" for s in scored if int(str(s["found"])) < int(str(s["planted"]))]
    return found_, planted, wrong, ", ".join(missed) or "-"


def _ran(score: Score) -> bool:
    return not str(score["note"]).startswith("Did not run")


def _is_trap(score: Score) -> bool:
    return str(score["note"]).startswith("merged, must be 0")


def _found(score: Score) -> str:
    wrong = f", {score['false']} wrong" if score["false"] else ""
    return f"{score['found']} of {score['planted']}{wrong}"


def _left(store: Store, namespace: str) -> Undecided | None:
    """Return what is pending for a person in a namespace's latest plan."""
    with store.connect("reader") as connection:
        newest = latest_plan(connection, namespace)
        return undecided(connection, newest) if newest else None


def score_night(one: Night) -> list[dict[str, object]]:
    """Score a demo night against the answer key, by the plan's items and the reports."""
    from datetime import UTC, datetime

    from slowwave.surfaces.demo import found_against_planted, generate

    items, deferred = (one.plan.items, one.plan.deferred_items) if one.plan else ((), ())
    key = generate(one.namespace, datetime.now(UTC)).key
    reports = {**one.reports, **one.proposals}
    scores = found_against_planted(key, items=items, deferred=deferred, reports=reports)
    return [
        {"problem": s.problem, "planted": s.planted, "found": s.found, "false": s.false, "note": s.note} for s in scores
    ]
