"""``slowwave digest``, ``migrate`` and ``doctor``: the database itself."""

from __future__ import annotations

import sys

import typer

from slowwave.cli.session import Json, Namespace, open_store, program, say, show_json, suggest
from slowwave.store.connect import Store


def digest(namespace: Namespace) -> None:
    """Print one hash of all that a namespace's memory tables hold."""
    from slowwave.store.digest import digest as compute

    sys.stdout.write(compute(open_store(), namespace) + "\n")


def migrate() -> None:
    """Bring the database to this version's schema."""
    from slowwave.store.migrate import migrate as run

    store = Store.from_environment()
    run(store)
    say(f"{store.address()} is up to date.")


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
