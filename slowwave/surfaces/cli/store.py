"""``slowwave digest``, ``migrate``, ``doctor``, ``stop`` and ``reembed``: the database itself."""

from __future__ import annotations

import json as json_text
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from slowwave.errors import Refused, StoreError
from slowwave.plans.commands import argument, undecided
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli.session import (
    Json,
    Namespace,
    chosen_namespaces,
    err,
    open_store,
    out,
    program,
    progress,
    say,
    show_json,
    suggest,
)
from slowwave.text.tokens import counted
from slowwave.wiki.migration.plan import PlannedMigration, planned_migration, report_lines, report_markdown

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
    from slowwave.operations.setting_names import diagnose_settings
    from slowwave.store.doctor import diagnose

    store = Store.from_environment()
    found = diagnose(store)
    well = not any(d.problem for d in found)
    found += diagnose_settings(store if well else None)
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


# ``slowwave stop``: end what ``slowwave dev`` and the embedded server run on this machine, and print what that was.
#
# Only processes of this home are ended. They are identified by the files in which they were recorded and by their command lines: a
# process id that another program has now is left alone, and so are servers that the user runs.

_SECONDS: Final = 150.0
"""Seconds that a UI may take to end: it ends its daemon and its code servers first."""


def stop(json: Json = False) -> None:
    """Stop what runs on this machine: UIs with their daemons, and the embedded PostgreSQL."""
    home = server.default_home()
    ports = [port for port in _started(home) if _end(home, port)]
    postgres = (home / "postgres").is_dir() and server.is_running(home)
    if postgres:
        server.stop(home)
    if json:
        show_json({"home": str(home), "ui_ports": ports, "postgres": postgres})
        return
    for port in ports:
        say(f"Stopped the UI on port {port} with its daemon.")
    if postgres:
        say(f"Stopped the embedded PostgreSQL of {home}. Its data stays, and the next command starts it again.")
    if not ports and not postgres:
        say(f"Nothing of {home} is running.")


def _started(home: Path) -> list[int]:
    """Return the ports of UIs that were started; they may have ended since."""
    names = (file.stem.removeprefix("dev-") for file in home.glob("dev-*.pid"))
    return sorted(int(name) for name in names if name.isdecimal())


def _end(home: Path, port: int) -> bool:
    """End the UI of a port and wait until it has ended; return False if it had ended by itself."""
    file = home / f"dev-{port}.pid"
    text = file.read_text().strip()
    pid = int(text) if text.isdecimal() else 0
    running = _is_ui(pid, port)
    if running:
        os.kill(pid, signal.SIGTERM)
        began = time.monotonic()
        while _is_ui(pid, port):
            if time.monotonic() - began > _SECONDS:
                raise StoreError(
                    f"The UI on port {port} (process {pid}) does not end. Look at what it does, or end it with `kill -9 {pid}`."
                )
            time.sleep(0.1)
    file.unlink(missing_ok=True)
    return running


def _is_ui(pid: int, port: int) -> bool:
    """Return whether a process is a Dagster UI on this port, by its command line; an ended process has none."""
    if pid <= 0:
        return False
    if Path("/proc/self").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
    else:
        command = ("ps", "-ww", "-o", "command=", "-p", str(pid))
        words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return {"dagster", "dev", str(port)} <= set(words)


# ``slowwave migrate``: without arguments, the schema of the database; with a folder and a namespace, another memory as a plan.


def migrate_folder(
    folder: Path,
    namespace: str,
    *,
    model: bool,
    dry_run: bool,
    skip_bad: bool,
    report: Path | None,
    json: bool,
) -> None:
    """Plan the migration of a folder, and print the result and what to do next."""
    store = open_store()
    if report is not None and report.exists() and not report.is_dir():
        raise Refused(f"{report} is no folder, so the report cannot lie in it. Nothing was planned. Name a folder.")
    with progress(f"Reading {folder.name}") as tell:
        done = planned_migration(
            store,
            folder,
            namespace,
            model=model,
            skip_bad=skip_bad,
            dry_run=dry_run,
            tell=lambda stage, n, total: tell(n, total, stage),
        )
    files = _written(done, report) if report is not None else {}
    if json:
        show_json(done.to_json() | files)
        return
    if out.is_terminal:
        for indent, line in report_lines(done.found):
            say(line, indent=indent)
    else:
        out.print(report_markdown(done.found), markup=False)
    for name, path in files.items():
        say(f"{name}: {path}")
    if done.night is None:
        items = ", ".join(f"{n:,} {decision}" for decision, n in sorted(done.items.items())) or "none"
        say(f"A dry run: nothing was written, and no model was asked. Items of the plan: {items}.")
        bad = len(done.found.staging.bad)
        if bad:
            say(f"{bad:,} files cannot be taken; a plan is made without them by --skip-bad alone.", console=err)
        suggest("Plan it", f"{program()} migrate {argument(str(folder))} {argument(namespace)}")
        return
    if done.night.plan is None or not done.night.new_items:
        for sentence in done.night.why_nothing:
            say(sentence)
        say(f"Nothing of it is new to {namespace}, so there is nothing to approve.")
        return
    hash_ = done.night.plan.plan_hash
    items = ", ".join(f"{n:,} {decision}" for decision, n in sorted(done.items.items()))
    say(f"Plan {hash_[:12]} of {namespace}: {done.night.state}, {items}.")
    suggest("Look at it", f"{program()} plans show {argument(namespace)} --plan {hash_[:12]}")
    from slowwave.surfaces.cli.plans import suggest_decision  # it imports all modules of plans

    with store.connect("reader") as connection:
        left = undecided(connection, hash_)
    suggest_decision(left)


def _written(done: PlannedMigration, folder: Path) -> dict[str, str]:
    """Write the report and the run as files of a folder, each atomically; a repeated run overwrites its files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            "report_path": (f"migration-{done.found.run_id}.md", report_markdown(done.found)),
            "run_artifact_path": (
                f"migration-{done.found.run_id}.json",
                json_text.dumps(done.to_json(), indent=2, ensure_ascii=False, default=str) + "\n",
            ),
        }
        for name, text in files.values():
            temporary = folder / f".{name}.part"
            temporary.write_text(text, encoding="utf-8", errors="replace")
            temporary.replace(folder / name)
    except OSError as problem:
        raise Refused(
            f"The report cannot be written to {folder} ({problem.strerror}). What was planned stands: `slowwave plans list` shows it."
        ) from None
    return {key: str(folder / name) for key, (name, _) in files.items()}


# ``slowwave reembed``: move a namespace to another embedding model.


def reembed(
    namespace: Namespace,
    model: Annotated[str, typer.Option(help="The model; the one of new namespaces when left out.")] = "",
    json: Json = False,
) -> None:
    """Embed a namespace with another model, beside the vectors that stand, and go over to it when nothing is left."""
    from slowwave.sources.reembedding import reembed_namespace
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings

    store = open_store()
    chosen_namespaces(store, namespace)
    embedder = embedder_for(Settings.for_namespace({"embedding_model": model} if model else {}))
    with store.connect("owner") as connection, progress(f"Embedding {namespace}") as tell:
        done = reembed_namespace(connection, namespace, embedder, progress=lambda n, of: tell(n, of, ""))
    if json:
        show_json(asdict(done))
        return
    made = ", ".join(f"{n:,} {table.replace('_', ' ')}" for table, n in done.made.items())
    say(f"{namespace}: {made or 'nothing to embed'}; its model is {done.model} now (before: {done.formerly}).")
    if done.with_speakers:
        say(
            f"{done.with_speakers:,} of the chunk vectors replace vectors of messages that were made without the names of their speakers: "
            "a search by meaning now finds messages by who sent them."
        )
