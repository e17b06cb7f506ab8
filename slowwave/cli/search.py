"""``slowwave search``: what an agent would find. Each search is logged as a recall."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, instant_of, open_store, say, show_json


def search(
    namespace: Namespace,
    query: Annotated[str, typer.Argument(help="Words, a question, or with --mode exact a piece of text.")],
    mode: Annotated[str, typer.Option(help="hybrid, bm25, vector, recall or exact.")] = "hybrid",
    corpus: Annotated[str, typer.Option(help="durable, sessions or all.")] = "durable",
    k: Annotated[int, typer.Option("-k", "--limit", help="How many at most, 1 to 50.")] = 10,
    path: Annotated[str, typer.Option(help="Only paths like this: * within a folder, ** across folders.")] = "",
    kind: Annotated[list[str] | None, typer.Option("--type", help="Only this type; may be given again.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only this status; may be given again.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; all that are given.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only of this agent; may be given again.")] = None,
    session: Annotated[list[str] | None, typer.Option(help="Only of this session; may be given again.")] = None,
    since: Annotated[str | None, typer.Option(help="Only of this day or later.")] = None,
    until: Annotated[str | None, typer.Option(help="Only of this day or earlier.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Search what stood then.")] = None,
    retired: Annotated[bool, typer.Option(help="Also what is superseded, retired or quarantined.")] = False,
    full: Annotated[bool, typer.Option(help="Longer parts of the texts: 700 characters instead of 240.")] = False,
    debug: Annotated[bool, typer.Option(help="With scores and frontmatter.")] = False,
    json: Json = False,
) -> None:
    """Search a namespace as an agent does, in memories, documents and entities."""
    scope = {
        "path_glob": path,
        "type": kind or (),
        "status": status or (),
        "tags": tag or (),
        "agent": agent or (),
        "session_id": session or (),
        "since": since,
        "until": until,
    }
    from slowwave.api.memory import Memory

    response = Memory(namespace, open_store()).search(
        query,
        mode=mode,
        corpus=corpus,
        k=k,
        scope=scope,
        as_of=instant_of("as-of", as_of),
        include_retired=retired,
        include_content=json or full,
        debug=debug or json,
    )
    if json:
        show_json(response.model_dump(mode="json", exclude_none=not debug))
        return
    for warning in response.warnings:
        say(warning)
    if not response.results:
        say(f"Nothing in {namespace} matches.")
        return
    for r in response.results:
        where = f"{r.path}:{r.lines}" if r.lines else r.path
        titled = f"{r.title} " if r.title else ""
        say(f"{r.score:.2f}  {where}  {titled}({', '.join((r.evidence_class, r.confidence, *r.elsewhere()))})")
        say(" ".join(r.snippet.split()), indent=6)
