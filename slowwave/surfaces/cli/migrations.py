"""``slowwave migrate``: the schema of the database, or another memory as a plan."""

from __future__ import annotations

import json as json_text
from pathlib import Path

from slowwave.errors import Refused
from slowwave.plans.commands import argument, undecided
from slowwave.surfaces.cli.session import err, open_store, out, program, progress, say, show_json, suggest
from slowwave.wiki.migration.plan import PlannedMigration, planned_migration, report_lines, report_markdown

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
