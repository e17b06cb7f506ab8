"""``slowwave``: the program."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import psycopg
import typer

from slowwave.cli import (
    as_of,
    conflicts,
    dream_now,
    dreams,
    imports,
    metrics,
    nights,
    pages,
    plans,
    retention,
    runs,
    switches,
    why,
)
from slowwave.cli.session import Json, Namespace, fail, open_store, program, say, show_json, show_table, suggest
from slowwave.errors import SlowwaveError, StoreError
from slowwave.plans.states import shown_state
from slowwave.reports.telemetry import configure
from slowwave.store.connect import Store

app = typer.Typer(
    name="slowwave",
    help="The night shift for an agent's memory: audit, plan, approve, apply, undo.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(imports.app, name="import")
app.add_typer(plans.app, name="plans")
app.add_typer(runs.app, name="runs")
app.add_typer(conflicts.app, name="conflicts")
app.add_typer(pages.app, name="pages")
app.command("night")(nights.night)
app.command("demo")(nights.demo)
app.command("dream")(dreams.dream)
app.command("dream-now")(dream_now.dream_now)
app.command("apply")(runs.apply)
app.command("undo")(runs.undo)
app.command("history")(dreams.history)
app.command("switch")(switches.switch)
app.command("namespace")(switches.namespace)
app.command("why")(why.why)
app.command("as-of")(as_of.as_of)
app.command("metrics")(metrics.metrics)
app.command("retain")(retention.retain)


@app.command()
def dev(port: Annotated[int, typer.Option(help="Port of the UI.")] = 3000) -> None:
    """Start the UI and the daemon on this machine."""
    from slowwave.cli.dev import dev as start

    open_store()
    start(port)


@app.command()
def namespaces(json: Json = False) -> None:
    """List namespaces with their live rows and the state of their latest plan."""
    with open_store().connect("reader") as connection:
        rows = connection.execute(
            "SELECT n.slug, n.read_only, "
            "(SELECT count(*) FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL), "
            "(SELECT count(*) FROM memory.entities e WHERE e.namespace_id = n.id AND e.invalidated_at IS NULL), "
            "(SELECT count(*) FROM memory.relationships r WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL), "
            "p.state, night.item_counts(p.plan_hash), p.expires_at FROM memory.namespaces n LEFT JOIN LATERAL (SELECT * "
            "FROM night.plans p WHERE p.namespace_id = n.id ORDER BY (p.state = 'empty'), p.recorded_at DESC LIMIT 1) p ON true "
            "ORDER BY n.slug"
        ).fetchall()
    rows = [(*row[:5], None if row[5] is None else shown_state(*row[5:])) for row in rows]
    columns = ("namespace", "read_only", "memories", "entities", "relationships", "plan")
    if json:
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        shown = [
            [
                *(row[0], "yes" if row[1] else "no", *row[2:5]),
                "nothing to decide" if row[5] == "empty" else row[5] or "none yet",
            ]
            for row in rows
        ]
        show_table("Namespaces", ("namespace", "read-only", *columns[2:]), shown)


@app.command()
def digest(namespace: Namespace) -> None:
    """Print one hash of all that a namespace's memory tables hold."""
    from slowwave.store.digest import digest as compute

    sys.stdout.write(compute(open_store(), namespace) + "\n")


@app.command()
def migrate() -> None:
    """Bring the database to this version's schema."""
    from slowwave.store.migrate import migrate as run

    store = Store.from_environment()
    run(store)
    say(f"{store.address()} is up to date.")


@app.command()
def doctor(json: Json = False) -> None:
    """Say what is wrong with the database, each with its remedy; exit code 1 when something is."""
    from slowwave.store.doctor import diagnose

    store = Store.from_environment()
    found = diagnose(store)
    if json:
        show_json(
            [
                {"finding": d.finding, "remedy": d.remedy, "problem": d.problem, "statements": list(d.statements)}
                for d in found
            ]
        )
    for d in found if not json else []:
        say(f"{'Problem' if d.problem else 'Note'}: {d.finding}")
        say(f"Remedy: {d.remedy.replace('`slowwave ', f'`{program()} ')}", indent=2)
        if d.statements:
            suggest("Statements", *(f"{statement};" for statement in d.statements))
    if any(d.problem for d in found):
        raise typer.Exit(1)
    if not json:
        say(f"The database at {store.address()} is well.")


def main() -> None:
    """Entry point of the program."""
    gc.set_threshold(
        100_000, 50, 100
    )  # plans are many small objects without cycles: a tenth of a night's CPU went to looking for some
    configure()
    try:
        app()
    except SlowwaveError as problem:
        sys.exit(fail(problem))
    except psycopg.OperationalError as problem:
        told = str(problem).strip().splitlines()[0]
        sys.exit(
            fail(
                StoreError(
                    f"The database ended the connection: {told} Nothing half-written stands. Try again, or run `slowwave doctor`."
                )
            )
        )
