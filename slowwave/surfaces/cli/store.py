"""``slowwave digest``, ``migrate``, ``doctor``, ``stop`` and ``reembed``: the database itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.cli.session import Json, Namespace, open_store, program, say, show_json, suggest
from slowwave.text.tokens import counted

# ``slowwave digest``, ``migrate`` and ``doctor``: the database itself.


def digest(namespace: Namespace, json: Json = False) -> None:
    """Print one hash of all that a namespace's memory tables hold."""
    from slowwave.store.doctor import digest as compute

    found = compute(open_store(), namespace)
    if json:
        show_json({"namespace": namespace, "digest": found})
    else:
        sys.stdout.write(f"{found}\n")


def migrate(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder, an export or a file of another memory; none: the schema.")
    ] = None,
    namespace: Annotated[
        str | None, typer.Argument(help="The namespace to migrate it to; made where there is none.")
    ] = None,
    model: Annotated[
        bool, typer.Option("--model", help="Let the configured model read what rules leave as evidence.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be planned; write nothing, ask no model.")
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be taken.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="A folder for the report as Markdown and the run as JSON.")
    ] = None,
    json: Json = False,
) -> None:
    """Bring the database to this version's schema; with FOLDER and NAMESPACE, plan the migration of another memory."""
    if folder is not None:
        if namespace is None:
            raise Refused("A migration names the folder and the namespace that it goes to. Nothing was read.")

        from slowwave.surfaces.cli.migrations import migrate_folder  # it imports what plans a migration

        migrate_folder(
            folder,
            namespace,
            model=model,
            dry_run=dry_run,
            skip_bad=skip_bad,
            report=report,
            json=json,
        )
        return
    from slowwave.store.migrate import LAST_FORMER, current_revision
    from slowwave.store.migrate import migrate as run

    store = Store.from_environment()
    with store.connect("owner") as connection:
        before = current_revision(connection)
    done = run(store)
    if not done:
        say(f"{store.address()} is up to date.")
    elif before is None:
        say(f"Created the schemas memory and night in {store.address()}, at migration {done[-1]}.")
    else:
        if before == LAST_FORMER:
            say(
                f"The schema of {store.address()} is that of {done.pop(0)}, which replaces the migrations until {before}."
            )
            if not done:
                return
        say(f"Ran {counted(len(done), 'migration')} on {store.address()}, which is at {done[-1]} now.")
        suggest("Check for remaining steps, such as vectors to renew", f"{program()} doctor")


def doctor(json: Json = False) -> None:
    """Say what is wrong with the database, each with its remedy; exit code 1 when something is."""
    from slowwave.night.followers import diagnose_installation
    from slowwave.operations.setting_names import diagnose_settings
    from slowwave.store.doctor import diagnose

    store = Store.from_environment()
    found = diagnose(store)
    well = not any(d.problem for d in found)
    found += [*diagnose_settings(store if well else None), *diagnose_installation()]
    if well:
        from slowwave.bindings.checks import diagnose_stores
        from slowwave.night.delivery import diagnose_notices
        from slowwave.sources.folder_sources import diagnose_folders
        from slowwave.sources.reembedding import diagnose_speakers

        found += [
            *diagnose_stores(store),
            *diagnose_folders(store),
            *diagnose_notices(store),
            *diagnose_speakers(store),
        ]
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
