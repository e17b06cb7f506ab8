"""``slowwave import``: exports of other systems into namespaces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from slowwave.errors import ImportRefused
from slowwave.plans.commands import argument
from slowwave.store.namespaces import namespace_settings
from slowwave.surfaces.cli.session import Json, err, open_store, program, progress, say, show_json, suggest
from slowwave.text.tokens import counted, counted_rows

if TYPE_CHECKING:
    from slowwave.sources.pipeline import ImportSummary


app = typer.Typer(help="Import messages, memories, facts, entities or sessions.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The file to read.")]
Into = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="By default the file's name, or each message's own."),
]
_SHOWN: Final = 5
_FOUND = {
    "secret": "secrets",
    "injection": "orders to a model",
    "hidden": "hidden characters",
    "lookalike": "look-alike words",
}

_NAMED = 5

OnError = Annotated[Literal["stop", "skip"], typer.Option(help="Reaction to an invalid row.")]


@app.command()
def messages(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """Import messages from JSONL.

    The fields are namespace, created_at, role and content.
    """
    from slowwave.sources.pipeline import import_messages

    _run(import_messages, file, namespace, on_error, as_json=json)


@app.command()
def letta(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """Import a Letta agent file (.af)."""
    from slowwave.sources.letta import import_letta

    _run(import_letta, file, namespace, on_error, as_json=json)


@app.command()
def graphiti(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """Import a temporal graph of Graphiti from JSON.

    The file has nodes, edges and episodes. No change is written back to Graphiti.
    """
    from slowwave.sources.graphiti import import_graphiti

    _run(import_graphiti, file, namespace, on_error, as_json=json)


@app.command()
def entities(file: File, namespace: Into = None, on_error: OnError = "stop", json: Json = False) -> None:
    """Import entities from CSV.

    The columns are id, source, entity_type, name and attrs. The file may be gzipped.
    """
    from slowwave.sources.tables import import_entities

    _run(import_entities, file, namespace, on_error, as_json=json)


Columns = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="FIELD=COLUMN", help="Column of a field, if its name differs."),
]


@app.command()
def memories(
    file: File, namespace: Into = None, columns: Columns = None, on_error: OnError = "stop", json: Json = False
) -> None:
    """Import memories from CSV or JSONL.

    The field is text, and optionally id, kind, subject, author, session and created_at.
    """
    from slowwave.sources.tables import import_memories

    _run(partial(import_memories, columns=columns or ()), file, namespace, on_error, as_json=json)


@app.command()
def facts(
    file: File, namespace: Into = None, columns: Columns = None, on_error: OnError = "stop", json: Json = False
) -> None:
    """Import facts from CSV or JSONL.

    The fields are subject, predicate and object, and optionally id, text, confidence, valid_from, valid_to and session.
    """
    from slowwave.sources.tables import import_facts

    _run(partial(import_facts, columns=columns or ()), file, namespace, on_error, as_json=json)


@app.command()
def sessions(
    files: Annotated[
        list[Path],
        typer.Argument(help="JSONL or Markdown files; - reads Markdown from standard input.", allow_dash=True),
    ],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace to import into.")],
    on_error: OnError = "stop",
    agent: Annotated[str, typer.Option(help="Markdown: name of the agent, if its head does not state it.")] = "",
    session_id: Annotated[str, typer.Option(help="Markdown: id of the session, if its head does not state it.")] = "",
    path: Annotated[
        str | None, typer.Option(help="Markdown: path of its page; by default logs/sessions/AGENT/SESSION_ID.md.")
    ] = None,
    device: Annotated[str, typer.Option(help="Markdown: device of the session.")] = "",
    status: Annotated[str, typer.Option(help="Markdown: active, interrupted or done; by default done.")] = "",
    updated: Annotated[
        datetime | None, typer.Option(help="Markdown: time of the last message; by default today.")
    ] = None,
    json: Json = False,
) -> None:
    """Import sessions of Claude Code, Codex CLI or OpenAI-style chats.

    These are JSONL files; tool calls and secrets are left out. A Markdown file is
    one session or its next version, as for POST /v1/session-ingest.
    """
    pages = [file for file in files if file == Path("-") or file.suffix.casefold() in {".md", ".markdown"}]
    if pages and len(files) > 1:
        raise ImportRefused(f"{pages[0]} is one session in Markdown: import it alone. Nothing was stored.")
    if pages:
        _session(pages[0], namespace, agent, session_id, path, device, status, updated, as_json=json)
        return
    if agent or session_id or path or device or status or updated:
        raise ImportRefused(
            f"{files[0]} is read as JSONL, whose lines name agents and sessions. --agent, --session-id, --path, --device, --status and "
            "--updated belong to a file whose name ends in .md. Nothing was stored."
        )
    from slowwave.store.configured_models import embedder_for

    # This imports a Markdown parser, which the other imports do not need.
    from slowwave.wiki.corpus.sessions import import_sessions

    store = open_store()
    with store.connect("owner") as connection, progress(f"Importing {counted(len(files), 'file')}") as tell:
        done = import_sessions(
            connection,
            files,
            namespace,
            embedder=embedder_for(namespace_settings(connection, namespace)),
            on_error=on_error,
            progress=lambda n, total: tell(n, total, ""),
        )
    if json:
        show_json(done.to_json())
        return
    for out in done.skipped:
        say(f"left out {out.file} {out.place}: {out.reason}", console=err)
    if done.screened:
        message = ", ".join(f"{n:,} with {_FOUND[kind]}" for kind, n in sorted(done.screened.items()))
        say(f"screening: sessions {message}; {done.quarantined:,} quarantined.", console=err)
    say(
        f"{counted(done.seen, 'line')} read into {namespace}: {counted(done.turns, 'turn')}; sessions {done.new:,} new, "
        f"{done.changed:,} changed, {done.unchanged:,} unchanged."
    )


def _session(
    file: Path,
    namespace: str,
    agent: str,
    session_id: str,
    path: str | None,
    device: str,
    status: str,
    updated: datetime | None,
    *,
    as_json: bool,
) -> None:
    """Import one session in Markdown; the head of the file states what no option does."""
    from slowwave.surfaces.api.memory import Memory
    from slowwave.text.frontmatter import UnreadableFile, frontmatter
    from slowwave.wiki.corpus.sessions import session_place

    try:
        content = sys.stdin.read() if file == Path("-") else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ImportRefused(f"{file} cannot be read ({type(problem).__name__}). Nothing was stored.") from None
    if not (agent and session_id):
        try:
            head = frontmatter(content).fields
        except UnreadableFile:  # the import names the fault and stores the text without a head
            head = {}
        agent, session_id = agent or str(head.get("agent") or ""), session_id or str(head.get("session_id") or "")
    for option, value in (("agent", agent), ("session-id", session_id)):
        if not value:
            raise ImportRefused(f"The head of {file} does not state it: give --{option}. Nothing was stored.")
    done = Memory(namespace, open_store()).session_ingest(
        path or session_place(agent, session_id),
        content,
        agent,
        session_id,
        device=device,
        status=status or "done",
        captured_from="" if file == Path("-") else file.name,
        updated=updated,
    )
    if as_json:
        show_json(done.model_dump(mode="json", exclude_unset=True))
        return
    for warning in done.warnings:
        say(warning, console=err)
    kept = "; screening keeps it from recall" if done.quarantined else ""
    say(
        f"{done.path}: {done.result}{kept}. `slowwave search {argument(namespace)} … --corpus sessions` finds sessions."
    )


def _run(
    read: Callable[..., ImportSummary],
    file: Path,
    namespace: str | None,
    on_error: Literal["stop", "skip"],
    *,
    as_json: bool,
) -> None:
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings

    store = open_store()
    embedder = embedder_for(Settings.for_namespace({}))
    with store.connect("owner") as connection, progress(f"Importing {file.name}") as tell:

        def advance(done: int, total: int) -> None:
            tell(done, total, "")

        summary = read(connection, file, embedder=embedder, on_error=on_error, namespace=namespace, progress=advance)
    if as_json:
        show_json(
            {
                "namespaces": list(summary.namespaces),
                "seen": summary.seen,
                "added": dict(summary.added),
                "skipped": [
                    {"file": str(s.file), "line": s.line, "path": s.path, "reason": s.reason} for s in summary.skipped
                ],
                "changed": {"new_versions": summary.reworded, "left": list(summary.left)},
                "screened": dict(summary.screened),
                "quarantined": summary.quarantined,
                "forgotten": summary.forgotten,
            }
        )
        _exit(summary)
        return
    for skipped in summary.skipped:
        say(f"left out {skipped.file} {skipped.place}: {skipped.reason}", console=err)
    if not summary.seen and not summary.skipped:
        say(f"{file} holds no rows. Nothing was imported.")
        return
    added = ", ".join(counted_rows(n, table) for table, n in summary.added.items() if n) or "nothing new"
    if summary.screened:
        message = ", ".join(f"{n:,} with {_FOUND[kind]}" for kind, n in sorted(summary.screened.items()))
        say(
            f"screening: {message}; {summary.quarantined:,} quarantined (SLOWWAVE_SCREENING_ON_IMPORT decides).",
            console=err,
        )
    into = (
        ", ".join(summary.namespaces) if len(summary.namespaces) <= _NAMED else f"{len(summary.namespaces)} namespaces"
    )
    if into:
        say(f"{counted(summary.seen, 'row')} read into {into}; added {added}.")
    else:
        say(f"No row of {file} could be read, so nothing was imported.")
    if summary.reworded:
        say(
            f"{counted(summary.reworded, 'memory has', 'memories have')} another text in the file and got a new version."
        )
    if summary.forgotten:
        say(f"left out {counted(summary.forgotten, 'row')} that a plan forgot for good.", console=err)
    if summary.left:
        more = f" and {len(summary.left) - _SHOWN:,} more" if len(summary.left) > _SHOWN else ""
        say(
            f"changed, left as they are: {', '.join(summary.left[:_SHOWN])}{more}. Entities, and memories that are retired, archived or "
            "quarantined, are not changed by an import.",
            console=err,
        )
    if summary.namespaces:
        one = summary.namespaces[0] if len(summary.namespaces) == 1 else "ALL"
        suggest("Plan a night", f"{program()} night {one}")
    _exit(summary)


def _exit(summary: ImportSummary) -> None:
    """Exit with code 2 if the file contains something that was refused."""
    if summary.left:
        raise typer.Exit(2)
