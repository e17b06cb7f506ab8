"""``slowwave namespace digest``, ``migrate``, ``reembed`` and ``doctor``: the database itself, and another memory as a plan."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.errors import Refused, StoreError
from slowwave.plans.commands import argument, undecided
from slowwave.store.connect import Store
from slowwave.store.namespaces import FIRST_NAMESPACE, namespaces
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
from slowwave.text.tokens import counted, counted_rows

if TYPE_CHECKING:
    from slowwave.store.doctor import Diagnosis
    from slowwave.wiki.migration.plan import PlannedMigration

# ``slowwave namespace digest`` and ``migrate``.


def digest(namespace: Namespace, json: Json = False) -> None:
    """Print one hash of all rows, connected ones too."""
    from slowwave.snapshots.export import memory_digest

    found = memory_digest(open_store(), namespace)
    if json:
        show_json({"namespace": namespace, "digest": found})
    else:
        sys.stdout.write(f"{found}\n")


def migrate(
    folder: Annotated[
        Path | None,
        typer.Argument(help="A folder, an export or a file of another memory."),
    ] = None,
    namespace: Annotated[str | None, typer.Argument(help="Target namespace; created if it does not exist.")] = None,
    model: Annotated[
        bool, typer.Option("--model", help="Let the configured model read the text that rules cannot interpret.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only report what would be planned; write nothing and call no model.")
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip files that cannot be read.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="A folder for the report as Markdown and the run as JSON.")
    ] = None,
    json: Json = False,
) -> None:
    """Upgrade the schema, or plan the import of another memory.

    Without FOLDER the database is upgraded to the schema of this version.
    """
    if folder is not None:
        if namespace is None:
            raise Refused("Name the folder and the namespace to migrate it to. Nothing was read.")
        _migrate_folder(
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


def _migrate_folder(
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
    from slowwave.wiki.migration.plan import planned_migration, report_lines, report_markdown

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
            say(f"{counted(bad, 'file')} cannot be read; --skip-bad makes a plan without them.", console=err)
        suggest("Plan it", f"{program()} migrate {argument(str(folder))} {argument(namespace)}")
        return
    if done.night.plan is None or not done.night.new_items:
        for sentence in done.night.why_nothing:
            say(sentence)
        say(f"{namespace} has all of it already, so there is nothing to approve.")
        return
    hash_ = done.night.plan.plan_hash
    items = ", ".join(f"{n:,} {decision}" for decision, n in sorted(done.items.items()))
    say(f"Plan {hash_[:12]} of {namespace}: {done.night.state}, {items}.")
    suggest("Look at it", f"{program()} plans show {argument(namespace)} {hash_[:12]}")
    from slowwave.surfaces.cli.plans import suggest_decision  # it imports all modules of plans

    with store.connect("reader") as connection:
        left = undecided(connection, hash_)
    suggest_decision(left)


def _written(done: PlannedMigration, folder: Path) -> dict[str, str]:
    """Write the report and the run as files of a folder, each atomically; a repeated run overwrites its files."""
    from json import dumps

    from slowwave.wiki.migration.plan import report_markdown

    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            "report_path": (f"migration-{done.found.run_id}.md", report_markdown(done.found)),
            "run_artifact_path": (
                f"migration-{done.found.run_id}.json",
                dumps(done.to_json(), indent=2, ensure_ascii=False, default=str) + "\n",
            ),
        }
        for name, text in files.values():
            temporary = folder / f".{name}.part"
            temporary.write_text(text, encoding="utf-8", errors="replace")
            temporary.replace(folder / name)
    except OSError as problem:
        raise Refused(
            f"The report cannot be written to {folder} ({problem.strerror}). The plan is stored: `slowwave plans list` shows it."
        ) from None
    return {key: str(folder / name) for key, (name, _) in files.items()}


# ``slowwave namespace reembed``: move a namespace to another embedding model.


def reembed(
    namespace: Namespace,
    model: Annotated[str, typer.Option(help="The embedding model; by default that of new namespaces.")] = "",
    json: Json = False,
) -> None:
    """Embed a namespace with another embedding model.

    The namespace changes to the model when all vectors are made.
    """
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
    made = ", ".join(counted_rows(n, table) for table, n in done.made.items())
    say(f"{namespace}: {made or 'nothing to embed'}; its model is {done.model} now (before: {done.formerly}).")
    if done.with_speakers:
        say(
            f"{done.with_speakers:,} of the chunk vectors replace vectors of messages that were made without the names of their speakers: "
            "a search by meaning now finds messages by who sent them."
        )


# ``slowwave doctor``: problems of the database, with remedies.


def doctor(json: Json = False) -> None:
    """List problems of the installation, each with its remedy.

    It also lists what agents may do. The exit code is 1 if there are problems.
    """
    from slowwave.night.followers import diagnose_installation
    from slowwave.operations.setting_names import diagnose_settings
    from slowwave.plans.switches import why_disabled
    from slowwave.store.doctor import diagnose
    from slowwave.store.migrate import open_store as open_migrated

    store = Store.from_environment()
    if store.embedded:
        with suppress(StoreError):  # the reason is diagnosed
            open_migrated()
    found = diagnose(store)
    well = not any(d.problem for d in found)
    disabled = ""
    values = diagnose_settings(store if well else None)
    found += [*values, *diagnose_installation()]
    if well and not any(d.problem for d in values):
        from slowwave.bindings.checks import diagnose_stores
        from slowwave.night.delivery import diagnose_notices
        from slowwave.sources.folder_sources import diagnose_folders
        from slowwave.sources.reembedding import diagnose_languages, diagnose_speakers

        with store.connect("reader") as connection:
            disabled = why_disabled(connection)
        found += [
            *diagnose_stores(store),
            *diagnose_folders(store),
            *diagnose_notices(store),
            *diagnose_speakers(store),
            *diagnose_languages(store),
            *_capabilities(store),
        ]
    if json:
        show_json(
            [
                {"finding": d.finding, "remedy": d.remedy, "problem": d.problem, "statements": list(d.statements)}
                for d in found
            ]
        )
    for d in found if not json else []:
        say(f"{'Problem' if d.problem else 'Note' if d.remedy else 'Capability'}: {d.finding}")
        if d.remedy:
            say(f"Remedy: {d.remedy.replace('`slowwave ', f'`{program()} ')}", indent=2)
        if d.statements:
            suggest("Statements", *(f"{statement};" for statement in d.statements))
    problems = [d for d in found if d.problem]
    if not json:
        first = problems[0].remedy.replace("`slowwave ", f"`{program()} ") if problems else ""
        say(f"Not ready. First: {first}" if problems else f"Ready: {_ready(store)}{f' {disabled}' if disabled else ''}")
    if problems:
        raise typer.Exit(1)


def _capabilities(store: Store) -> list[Diagnosis]:
    """Return what agents may do beyond reading, as findings that need no remedy."""
    from slowwave.store.doctor import Diagnosis
    from slowwave.wiki.serving.tokens import describe_capabilities

    with store.connect("owner") as connection:
        return [Diagnosis(sentence, "", problem=False) for sentence in describe_capabilities(connection)]


def _ready(store: Store) -> str:
    """Return the sentence about a database without problems, with what makes the first namespace if there is none."""
    known = len(namespaces(store))
    what = f"holds {counted(known, 'namespace')}." if known else f"holds no namespace yet. {FIRST_NAMESPACE}"
    return f"the database at {store.address()} {what}".replace("`slowwave ", f"`{program()} ")
