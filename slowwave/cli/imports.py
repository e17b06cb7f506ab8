"""``slowwave import``: other systems' exports into namespaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import Progress

from slowwave.cli.session import Json, err, open_store, out, plain, show_json
from slowwave.imports.entities import import_entities
from slowwave.imports.letta import import_letta
from slowwave.imports.messages import import_messages
from slowwave.imports.pipeline import ImportSummary
from slowwave.language.embedder import embedder_for
from slowwave.settings import Settings

app = typer.Typer(help="Import messages, Letta agents or entities.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The file to read.")]
Into = Annotated[str | None, typer.Option("--namespace", "-n", help="Namespace to import into.")]
_FOUND = {
    "secret": "secrets",
    "injection": "orders to a model",
    "hidden": "hidden characters",
    "lookalike": "look-alike words",
}

OnError = Annotated[Literal["stop", "skip"], typer.Option(help="What to do with a row that cannot be taken.")]


@app.command()
def messages(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """JSONL with namespace, created_at, role, content."""
    _run(import_messages, file, namespace, on_error, as_json=json)


@app.command()
def letta(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """A Letta agent file (.af)."""
    _run(import_letta, file, namespace, on_error, as_json=json)


@app.command()
def entities(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """CSV, also gzipped, with id, source, entity_type, name, attrs."""
    _run(import_entities, file, namespace, on_error, as_json=json)


def _run(
    read: Callable[..., ImportSummary],
    file: Path,
    namespace: str | None,
    on_error: Literal["stop", "skip"],
    *,
    as_json: bool,
) -> None:
    store = open_store()
    embedder = embedder_for(Settings.for_namespace({}))
    with store.connect("owner") as connection, Progress(console=err, transient=True) as progress:
        bar = progress.add_task(f"Importing {plain(file.name)}", total=None)

        def advance(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        summary = read(connection, file, embedder=embedder, on_error=on_error, namespace=namespace, progress=advance)
    if as_json:
        show_json(
            {
                "namespaces": list(summary.namespaces),
                "seen": summary.seen,
                "added": dict(summary.added),
                "skipped": [{"file": str(s.file), "line": s.line, "reason": s.reason} for s in summary.skipped],
                "screened": dict(summary.screened),
                "quarantined": summary.quarantined,
            }
        )
        return
    for skipped in summary.skipped:
        err.print(f"left out {plain(skipped.file)} line {skipped.line}: {plain(skipped.reason)}")
    added = ", ".join(f"{n:,} {table}" for table, n in summary.added.items() if n) or "nothing new"
    if summary.screened:
        told = ", ".join(f"{n:,} with {_FOUND[kind]}" for kind, n in sorted(summary.screened.items()))
        err.print(
            f"screening: {told}; {summary.quarantined:,} quarantined, the others as SLOWWAVE_SCREENING_ON_IMPORT says."
        )
    out.print(f"{summary.seen:,} rows read into {len(summary.namespaces)} namespaces; added {plain(added)}.")
