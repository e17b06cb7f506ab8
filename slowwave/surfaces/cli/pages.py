"""``slowwave pages``, and the origin of a memory for ``slowwave why``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, namespace_settings
from slowwave.surfaces.cli.session import (
    AnyNamespace,
    Json,
    Namespace,
    chosen_namespaces,
    err,
    open_store,
    out,
    say,
    show_json,
    show_table,
)

if TYPE_CHECKING:
    from slowwave.wiki.pages.workspace import PageSync


# ``slowwave pages``: the rendered pages, their location, and the memories behind their lines.

app = typer.Typer(
    help="Show and sync MEMORY.md and DREAMS.md; write answers as pages.", no_args_is_help=True, rich_markup_mode=None
)

_TEXT = 100_000

_PAGES: Final = """
SELECT path, title, body, input_hash, updated_at FROM memory.pages WHERE namespace_id = %s AND invalidated_at IS NULL
AND (%s::text IS NULL OR path = %s) ORDER BY path
"""
_MEMORY: Final = """
SELECT m.id::text, m.kind, m.subject, m.ring, m.state, m.stage, m.recorded_at, m.invalidated_at, m.merged_into::text, left(v.content, %s)
FROM memory.memories m LEFT JOIN memory.memory_versions v ON v.id = m.current_version_id
WHERE m.namespace_id = %s AND m.id BETWEEN %s::uuid AND %s::uuid ORDER BY m.id LIMIT 2
"""
_VERSIONS: Final = """
SELECT ordinal, reason, recorded_at FROM memory.memory_versions WHERE memory_id = %s ORDER BY ordinal
"""
_PROMOTIONS: Final = """
SELECT from_ring, to_ring, scores, recorded_at, invalidated_at FROM memory.promotions WHERE memory_id = %s ORDER BY recorded_at, id
"""


@app.command()
def show(
    namespace: Namespace,
    path: Annotated[str | None, typer.Argument(help="A page, such as MEMORY.md; by default all are listed.")] = None,
    json: Json = False,
) -> None:
    """List the pages of a namespace, or print one."""
    if path is not None and not path.isprintable():  # PostgreSQL would reject a path that is not valid UTF-8
        raise Refused(
            f"{path[:64]!r} is no name of a page. `slowwave pages show {argument(namespace)}` lists those there are."
        )
    with open_store().connect("reader") as connection:
        rows = connection.execute(_PAGES, (namespace_id(connection, namespace), path, path)).fetchall()
    names = ("path", "title", "body", "input_hash", "rendered_at")
    pages = [dict(zip(names, row, strict=True)) for row in rows]
    if path is not None and not pages:
        raise Refused(
            f"{path[:64]!r} is no page of {namespace}. `slowwave pages show {argument(namespace)}` lists those there are."
        )
    if json:
        show_json(pages if path is None else pages[0])
    elif path is not None:
        sys.stdout.write(_printable(str(pages[0]["body"])) + "\n")
    else:
        shown = [
            (p["path"], p["title"], str(p["body"]).count("\n") + 1, len(str(p["body"]).encode()), p["rendered_at"])
            for p in pages
        ]
        show_table("Pages", ("path", "title", "lines", "bytes", "rendered at"), shown)


@app.command()
def sync(
    namespace: AnyNamespace,
    json: Json = False,
) -> None:
    """Write the pages of the store to the workspace.

    Apply and undo do so by themselves.
    """
    from slowwave.wiki.pages.workspace import sync_pages

    store = open_store()
    done: dict[str, PageSync] = {}
    for name in chosen_namespaces(store, namespace):
        with store.connect("reader") as connection:
            settings = namespace_settings(connection, name)
        if settings.workspace_path:
            done[name] = sync_pages(store, name, settings)
    if not done:
        raise Refused(
            "There is no workspace, so pages stay in the store. Name a folder in SLOWWAVE_WORKSPACE_PATH and run this again."
        )
    if json:
        show_json([{"namespace": name, **asdict(outcome)} for name, outcome in done.items()])
    else:
        columns = ("namespace", "folder", "written", "removed", "unchanged", "commit")
        show_table("Pages", columns, [_row(name, outcome) for name, outcome in done.items()])
        for name, outcome in done.items():
            for problem in outcome.problems:
                say(f"{name}: {problem}")
    if any(outcome.problems for outcome in done.values()):
        raise typer.Exit(1)


def show_memory(namespace: str, memory: str, *, json: bool) -> None:
    """Print the memory to which a line of a page links: its text, its versions and its promotions.

    Raises ``Refused`` if the beginning of an id matches no memory or several.
    """
    from slowwave.plans.questions import plain_name

    with open_store().connect("reader") as connection:
        found = _memory(connection, namespace_id(connection, namespace), namespace, memory)
    if json:
        show_json(found)
        return
    versions, promotions = found.pop("versions"), found.pop("promotions")
    text = found.pop("text")
    show_table("Memory", ("field", "value"), [(plain_name(name), value) for name, value in found.items()])
    sys.stdout.write(f"\n{_printable(str(text))}\n\n")
    for title, rows in (("Versions", versions), ("Promotions", promotions)):
        if isinstance(rows, list) and rows:
            show_table(title, list(rows[0]), [list(row.values()) for row in rows])


def _memory(connection: Connection, within: str, namespace: str, prefix: str) -> dict[str, object]:
    from slowwave.store.runs import id_range

    bounds = id_range(prefix.removeprefix("mem:"))
    names = ("id", "kind", "subject", "ring", "state", "stage", "recorded_at", "invalidated_at", "merged_into", "text")
    rows = connection.execute(_MEMORY, (_TEXT, within, *bounds)).fetchall() if bounds else []
    if len(rows) != 1:
        message = "begins several memories" if rows else "is no memory"
        raise Refused(f"{prefix[:64]!r} {message} of {namespace}. A line of a page ends with the id of its memory.")
    found = dict(zip(names, rows[0], strict=True))
    return found | {
        "versions": _rows(connection, ("version", "reason", "recorded_at"), _VERSIONS, str(found["id"])),
        "promotions": _rows(
            connection,
            ("from", "to", "scores", "recorded_at", "revoked_at"),
            _PROMOTIONS,
            str(found["id"]),
        ),
    }


def _rows(connection: Connection, names: tuple[str, ...], query: str, memory: str) -> list[dict[str, object]]:
    return [dict(zip(names, row, strict=True)) for row in connection.execute(query.encode(), (memory,))]


def _row(name: str, outcome: PageSync) -> list[object]:
    files = (", ".join(names) for names in (outcome.written, outcome.removed, outcome.unchanged))
    return [name, outcome.folder, *files, outcome.commit[:12]]


def _printable(text: str) -> str:
    """Return a text of several lines without characters that control the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


# ``slowwave pages research``: an answer as a page, printed or written into a folder.


@app.command()
def research(
    namespace: Namespace,
    question: Annotated[str, typer.Argument(help="The question.")],
    kind: Annotated[str, typer.Option(help="report, briefing, wiki-note or proposal.")] = "report",
    corpus: Annotated[str, typer.Option(help="durable, sessions or all.")] = "all",
    limit: Annotated[int, typer.Option(min=1, max=20, help="Maximum number of sources.")] = 8,
    save: Annotated[Path | None, typer.Option(help="Write the page as a new file in this corpus folder.")] = None,
    json: Json = False,
) -> None:
    """Answer a question as a page with sources."""
    from slowwave.surfaces.api.memory import Memory

    response = Memory(namespace, open_store()).research(question, kind=kind, corpus=corpus, limit=limit)
    written = None if save is None else _written(save, response.research.target, response.research.page)
    if json:
        show_json(response.model_dump(mode="json"))
        return
    for warning in response.warnings:
        say(warning, console=err)
    if written is None:
        out.print(response.research.body, markup=False, highlight=False, soft_wrap=True, end="")
    else:
        say(f"Written: {written}. `slowwave corpus sync {argument(namespace)}` takes it into memory.")


def _written(folder: Path, target: str, text: str) -> Path:
    """Write the file and return it.

    Raises ``Refused`` if the folder does not exist, or if the file does.
    """
    if not folder.is_dir():
        raise Refused(f"{str(folder)[:200]!r} is no folder. Nothing was written.")
    file = folder / target
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.parent.resolve().is_relative_to(folder.resolve()):
        raise Refused(f"{target} leads out of the folder. Nothing was written.")
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise Refused(f"{target} is there already. Nothing was written.") from None
    return file
