"""``slowwave search``, ``active``, ``wake``, and of ``namespace`` the commands ``as-of`` and ``graph``: read a namespace."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.surfaces.cli.session import (
    Json,
    Namespace,
    chosen_namespaces,
    instant_of,
    open_store,
    out,
    program,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted

# ``slowwave namespace graph``: the live rows as a graph file.


def graph(
    namespace: Namespace,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    form: Annotated[str, typer.Option("--format", help="graphml, gexf or json (node-link).")] = "graphml",
) -> None:
    """Write live entities and relationships as a graph file.

    The file is for networkx, Gephi and other tools. Nodes and edges carry their attributes and sources.
    """
    from slowwave.surfaces.api.graph import FORMATS, write_graph
    from slowwave.surfaces.api.graph import graph as read_graph

    if form not in FORMATS:
        raise Refused(f"There is no format {form!r}. Known: {', '.join(FORMATS)}.")
    found = read_graph(namespace)
    write_graph(found, path, form)
    say(
        f"{path}: {counted(found.number_of_nodes(), 'entity')} and {counted(found.number_of_edges(), 'relationship')} of {namespace}."
    )


# ``slowwave search``: what an agent would find. Each search is logged as a recall.


def search(
    namespace: Namespace,
    query: Annotated[str, typer.Argument(help="Words, a question, or with --mode exact a piece of text.")],
    mode: Annotated[str, typer.Option(help="hybrid, bm25, vector, recall or exact.")] = "hybrid",
    corpus: Annotated[str, typer.Option(help="durable, sessions or all.")] = "durable",
    k: Annotated[int, typer.Option("-k", "--limit", help="Maximum number of results, 1 to 50.")] = 10,
    path: Annotated[
        str, typer.Option(help="Only paths that match this pattern: * within a folder, ** across folders.")
    ] = "",
    kind: Annotated[list[str] | None, typer.Option("--type", help="Only this type; may be repeated.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only this status; may be repeated.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only results with this tag; repeated tags must all match.")
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only from this agent; may be repeated.")] = None,
    session: Annotated[list[str] | None, typer.Option(help="Only from this session; may be repeated.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this day on.")] = None,
    until: Annotated[str | None, typer.Option(help="Only up to this day.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Search the memory as of this instant.")] = None,
    retired: Annotated[
        bool, typer.Option("--retired", help="Include superseded, retired and quarantined rows.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print up to 700 characters of each text instead of 240.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print scores and frontmatter.")] = False,
    json: Json = False,
) -> None:
    """Search a namespace as an agent does.

    The search covers memories, documents and entities, and is logged as a
    recall. The page Memory of `slowwave review` finds facts and relationships too.
    """
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
    from slowwave.surfaces.api.memory import Memory

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


# ``slowwave active``: the reminder that an agent gets while it works.


def active(
    namespace: Namespace,
    prompt: Annotated[str, typer.Argument(help="The prompt or the task of the agent.")],
    agent: Annotated[str, typer.Option(help="Name of the agent.")] = "cli",
    profile: Annotated[str, typer.Option(help="auto, general, coding, writing, personal, health or privacy.")] = "auto",
    project: Annotated[str, typer.Option(help="Current project.")] = "",
    budget: Annotated[int, typer.Option(min=100, max=1200, help="Maximum tokens of the block.")] = 400,
    timeout: Annotated[int, typer.Option(min=100, max=30_000, help="Maximum milliseconds for searches.")] = 3_000,
    wake: Annotated[bool, typer.Option("--wake", help="Print the wake block of the profile first.")] = False,
    json: Json = False,
) -> None:
    """Print the memory block for one prompt of an agent.

    The block has the pages that match the prompt and are allowed in the profile.
    """
    from slowwave.surfaces.api.memory import Memory

    memory = Memory(namespace, open_store())
    reminder = memory.active(
        prompt,
        agent=agent,
        profile=profile,
        project=project,
        budget_tokens=budget,
        timeout_ms=timeout,
        include_wake=wake,
        debug=True,
    )
    if json:
        show_json(reminder.model_dump(mode="json"))
        return
    for warning in reminder.warnings:
        say(warning)
    if reminder.kind == "none":
        say(reminder.summary)
        return
    out.print(reminder.block, markup=False, highlight=False, soft_wrap=True)


# ``slowwave wake``: the text that an agent receives when it begins.


def wake(
    namespace: Namespace,
    agent: Annotated[str, typer.Option(help="Name of the agent.")] = "cli",
    budget: Annotated[int, typer.Option(min=50, max=1500, help="Maximum tokens of the block.")] = 600,
    profile: Annotated[
        str, typer.Option(help="default, casual, coding, writing, privacy, or a profile of yours.")
    ] = "default",
    project: Annotated[str, typer.Option(help="Include the state of this project.")] = "",
    sessions: Annotated[int, typer.Option(min=0, max=50, help="Maximum number of recent sessions.")] = 5,
    decisions: Annotated[bool, typer.Option(help="Include pinned decisions.")] = True,
    json: Json = False,
) -> None:
    """Print the memory block for the start of an agent's prompt.

    The block stays within a budget of tokens.
    """
    from slowwave.surfaces.api.memory import Memory

    response = Memory(namespace, open_store()).wake(
        agent,
        budget_tokens=budget,
        profile=profile,
        project=project,
        include_recent_sessions=sessions,
        include_pinned_decisions=decisions,
        debug=True,
    )
    if json:
        show_json(response.model_dump(mode="json"))
        return
    if not response.block:
        say(f"{namespace} has no memory that the profile {profile} allows.")
        suggest(
            "It is made of pages. List those, or search the memories",
            f"{program()} pages show {argument(namespace)}",
            f"{program()} search {argument(namespace)} WORDS",
        )
        return
    out.print(response.block, markup=False, highlight=False, soft_wrap=True)


# ``slowwave namespace as-of``: what an agent could recall at an earlier instant.

_MOST = 1_000_000


def as_of(
    namespace: Namespace,
    instant: Annotated[
        str, typer.Argument(help="ISO 8601, for example 2026-04-15 or 2026-04-15T09:30:00+02:00; UTC by default.")
    ],
    text: Annotated[str, typer.Option(help="Show only rows that contain these characters.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Rows for each table, newest first.")] = 50,
    json: Json = False,
) -> None:
    """List the rows that recall could have found at an instant.

    The rows are memories, entities, relationships and facts.
    """
    from slowwave.plans.questions import plain_name
    from slowwave.store.as_of import as_of as live_then
    from slowwave.store.namespaces import namespace_id

    then = instant_of("instant", instant)
    if not text.isascii() and text.encode(errors="ignore").decode() != text:
        raise Refused("--text cannot be encoded as UTF-8. Write it in UTF-8.")
    store = open_store()
    chosen_namespaces(store, namespace)
    with store.connect("reader") as connection:
        found = live_then(connection, namespace_id(connection, namespace), then, text=text, limit=limit)
    if json:
        show_json({"namespace": namespace, "instant": then.isoformat()} | found.to_json())
        return
    at = f"{namespace} at {then:%Y-%m-%d %H:%M} UTC"
    if not found:
        wanted = "nothing that recall could have found" if not text else "nothing with these characters"
        say(f"{namespace} had {wanted} at {then:%Y-%m-%d %H:%M} UTC.")
        return
    if found.memories:
        show_table(
            f"{at}: memories",
            ("memory", "kind", *map(plain_name, ("ring", "stage")), "text"),
            [(m.id, m.kind, m.ring, m.stage, m.text) for m in found.memories],
        )
    if found.entities:
        show_table(
            f"{at}: entities",
            ("entity", "type", "name", "also called", "description"),
            [(e.id, e.entity_type, e.name, ", ".join(e.aliases), e.description) for e in found.entities],
        )
    if found.relationships:
        show_table(
            f"{at}: relationships",
            ("relationship", "source", "type", "target", "since", "until"),
            [
                (r.id, r.source, r.relationship_type, r.target, _day(r.valid_from), _day(r.valid_to))
                for r in found.relationships
            ],
        )
    if found.facts:
        show_table(
            f"{at}: facts",
            ("fact", "says", "since", "until"),
            [
                (f.id, f.text or f"{f.subject} {f.predicate} {f.object}", _day(f.valid_from), _day(f.valid_to))
                for f in found.facts
            ],
        )
    full = [name for name, rows in found.to_json().items() if isinstance(rows, list) and len(rows) == limit]
    if full:
        say(f"There may be more {' and '.join(full)}. Raise --limit, or select rows by --text.")


def _day(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant.astimezone(UTC):%Y-%m-%d}"
