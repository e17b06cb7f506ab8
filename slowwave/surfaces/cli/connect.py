"""``slowwave connect``: stores of other vendors, read in place and, in a second step, written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.errors import Refused
from slowwave.surfaces.cli.session import Json, open_store, plain, say, show_json, show_table, suggest
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.bindings.connect import Connected
    from slowwave.store.connect import Store


# ``slowwave connect write``: the second, explicit step. Only after it may plans be applied to a store that Slowwave does not own.


def write(
    store: Annotated[str, typer.Argument(help="The store's name here.")],
    off: Annotated[bool, typer.Option("--off", help="Let nothing be applied any more; it is read as before.")] = False,
    grant: Annotated[
        bool,
        typer.Option(
            "--grant", help="Give slowwave_applier the rights that it lacks, as the login of the address may."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Allow plans for a connected store, which are applied to it in place once a person approved them. Each can be undone."""
    from slowwave.bindings.stores import let_write, stop_writing

    if off:
        stop_writing(open_store(), store)
        missing: list[str] = []
    else:
        missing = let_write(open_store(), store, grant=grant)
    if json:
        show_json({"store": store, "writing": not off and not missing, "grants": missing})
    elif missing:
        suggest("Nothing may be written yet. Let the tables' owner run", *(f"{statement};" for statement in missing))
        say("Or run this again with --grant, by a login that may.")
    elif off:
        say(f"Nothing is applied to {store} any more; nights read it as before.")
    else:
        say(f"Plans may be applied to {store} once a person approved them, and every one can be undone.")
        suggest("Plan", "slowwave night ALL")
    if missing:
        raise typer.Exit(2)


# ``slowwave connect``: stores that are not ours, to be read in place.

app = typer.Typer(
    help="Stores that are not ours, worked on where they lie, from Mem0 to any table of yours.",
    no_args_is_help=True,
)

Url = Annotated[
    str | None,
    typer.Argument(
        help="The store's database, for this command alone; none: SLOWWAVE_DATABASE_URL, which keeps a password off the list."
    ),
]
Name = Annotated[str, typer.Option(help="What the store is called here, where there are several of one kind.")]
Schema = Annotated[str, typer.Option(help="The schema that its tables lie in.")]
Model = Annotated[str, typer.Option(help="The model that its vectors are of, as SLOWWAVE_EMBEDDING_MODEL names it.")]
Grant = Annotated[
    bool, typer.Option("--grant", help="Give slowwave_reader the rights to read it, as the login of the address may.")
]

_URL = "SLOWWAVE_DATABASE_URL"


_Given = tuple[str, dict[str, str]]
"""Binding, and the parameters for it."""


def _connects(own: Callable[..., _Given]) -> Callable[..., _Given]:
    """Register a command with the function's name: its own options, then those that all stores of known tables share."""

    def command(
        url: Url = None,
        schema: Schema = "public",
        name: Name = "",
        embedding_model: Model = "",
        grant: Grant = False,
        json: Json = False,
        **options: object,
    ) -> None:
        kind, given = own(**options)
        _connect(kind, url, {"schema": schema, **given}, name=name, model=embedding_model, grant=grant, json=json)

    of_all, of_it = (inspect.signature(of, eval_str=True) for of in (command, own))
    shared = [p for p in of_all.parameters.values() if p.kind is not p.VAR_KEYWORD]
    first = [p for p in of_it.parameters.values() if p.default is p.empty]
    rest = [p for p in of_it.parameters.values() if p.default is not p.empty]
    ordered = [*first, shared[0], *rest, *shared[1:]]
    command.__signature__ = inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in ordered])  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {p.name: p.annotation for p in ordered}
    command.__doc__ = own.__doc__
    app.command(own.__name__)(command)
    return own


@_connects
def mem0(
    collection: Annotated[str, typer.Option(help="The collection, which is a table of that name.")] = "mem0",
    user_key: Annotated[
        str, typer.Option(help="Whose memories a namespace holds: user_id, agent_id or run_id.")
    ] = "user_id",
) -> _Given:
    """Connect a collection of Mem0 on pgvector, read-only. Each user is a namespace."""
    return "mem0", {"collection": collection, "user_key": user_key}


@_connects
def langgraph(
    text: Annotated[str, typer.Option(help="The key of the value that holds the text.")] = "content",
    field: Annotated[
        str, typer.Option(help="The field of the index whose vectors are compared; none: that of the text.")
    ] = "",
) -> _Given:
    """Connect LangGraph's PostgresStore, and what LangMem stores in it, read-only. Each prefix is a namespace."""
    return "langgraph", {"text": text, "field": field or text}


@_connects
def hindsight() -> _Given:
    """Connect the facts of Hindsight's banks, read-only. Each bank is a namespace."""
    return "hindsight", {}


@_connects
def khora(
    no_graph: Annotated[
        bool,
        typer.Option("--no-graph", help="This khora keeps no graph beside PostgreSQL, so that plans may be applied."),
    ] = False,
) -> _Given:
    """Connect the events and facts of khora, read-only. Each of its namespaces is one here."""
    return "khora", {"read_only": ""} if no_graph else {}


@_connects
def letta(
    blocks: Annotated[
        bool,
        typer.Option("--blocks", help="Its memory blocks instead, to be audited; each organization is a namespace."),
    ] = False,
) -> _Given:
    """Connect the archival passages of Letta's server, read-only. Each archive is a namespace."""
    return ("letta_blocks" if blocks else "letta"), {}


@app.command("folder")
def folder(
    folder: Annotated[Path, typer.Argument(help="The folder that holds the Markdown files.")],
    name: Name = "",
    emptied: Annotated[bool, typer.Option("--emptied", help="The folder is meant to hold no page.")] = False,
    json: Json = False,
) -> None:
    """Connect a folder of Markdown, read-only: MEMORY.md with its topic files, a vault, notes. Each block is a memory."""
    from slowwave.sources.following import connect_folder
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings

    found = connect_folder(open_store(), folder, embedder_for(Settings.for_namespace({})), name=name, emptied=emptied)
    if json:
        show_json({**_as_json(found.connected), "folder": found.sync.to_json()})
        return
    _show(found.connected, given_address=False)
    say(f"Read {counted(found.sync.files, 'file')} of {plain(found.sync.root)}.")
    for problem in found.sync.problems():
        say(f"Left out: {plain(problem, 400)}", indent=2)


@app.command("letta-api")
def letta_api(
    server: Annotated[str, typer.Argument(help="The server's address, such as http://localhost:8283.")],
    name: Annotated[
        str, typer.Option(help="What the store is called here, where there are several of one kind.")
    ] = "letta_api",
    emptied: Annotated[bool, typer.Option("--emptied", help="The server is meant to hold no block.")] = False,
    json: Json = False,
) -> None:
    """Connect a Letta server's memory blocks through its API, read-only. Each line is a memory; the key is in LETTA_API_KEY."""
    from slowwave.sources.following import connect_letta
    from slowwave.store.configured_models import embedder_for
    from slowwave.store.settings import Settings

    found = connect_letta(open_store(), server, embedder_for(Settings.for_namespace({})), name=name, emptied=emptied)
    if json:
        show_json({**_as_json(found.connected), "folder": found.sync.to_json()})
        return
    _show(found.connected, given_address=False)
    say(f"Read {counted(found.sync.files, 'block')} of {plain(found.sync.root)}.")
    for problem in found.sync.problems():
        say(f"Left out: {plain(problem, 400)}", indent=2)


UserKey = Annotated[str, typer.Option(help="The key of the metadata that says whose a row is.")]
UserColumn = Annotated[
    str, typer.Option(help="The column that says whose a row is, where it is no key of the metadata.")
]
Whole = Annotated[bool, typer.Option("--whole", help="The table is one namespace, whoever's its rows are.")]


@_connects
def langchain(
    table: Annotated[
        str, typer.Option(help="The table of a PGVectorStore; none: PGVector's langchain_pg_embedding.")
    ] = "",
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect LangChain's PGVector, or one table of its PGVectorStore, read-only."""
    given = _users(user_key, user_column, whole=whole)
    return ("langchain_v2", {"table": table, **given}) if table else ("langchain", given)


@_connects
def llamaindex(
    table: Annotated[str, typer.Option(help="The table in PostgreSQL: data_ and the table_name of the vector store.")],
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect a table of LlamaIndex's PGVectorStore, read-only."""
    return "llamaindex", {"table": table, **_users(user_key, user_column, whole=whole)}


@_connects
def supabase(
    table: Annotated[str, typer.Option(help="The table with content, metadata and embedding.")] = "documents",
    id_type: Annotated[str, typer.Option(help="The type of its id: bigint or uuid.")] = "bigint",
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect a table of documents as in Supabase's guides, read-only."""
    return "supabase", {"table": table, "id_type": id_type, **_users(user_key, user_column, whole=whole)}


def _users(key: str, column: str, *, whole: bool) -> dict[str, str]:
    """Return where a table names the user of a row, as parameters of its binding."""
    if whole:
        return {"user_in": "", "user_key": ""}
    return {"user_in": column, "user_key": ""} if column else {"user_key": key}


@app.command("table")
def table(
    file: Annotated[Path, typer.Option(help="The binding: a TOML file.")],
    url: Url = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the file, as name=value.")] = None,
    name: Name = "",
    embedding_model: Model = "",
    grant: Grant = False,
    json: Json = False,
) -> None:
    """Connect any table with a binding that you write, read-only."""
    from slowwave.bindings.files import file_text

    given: dict[str, str] = {}
    for pair in set_ or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Refused(f"--set {pair[:40]!r} is no parameter. Write it as name=value.")
        given[key] = value
    text = file_text(file)
    _connect("table", url, given, text=text, file=file.name, name=name, model=embedding_model, grant=grant, json=json)


@app.command("list")
def list_stores(json: Json = False) -> None:
    """List the connected stores with the number of their namespaces."""
    from slowwave.bindings.stores import connected_stores, namespaces_of

    with open_store().connect("reader") as connection:
        rows = [(of, namespaces_of(connection, of.name)) for of in connected_stores(connection)]
    columns = ("store", "binding", "namespaces", "embedding_model", "writing")
    found = [(of.name, of.binding.title, known, of.embedding_model, of.writing) for of, known in rows]
    if json:
        show_json([dict(zip(columns, row, strict=True)) for row in found])
        return
    shown = [(*row[:3], row[3] or "not named", "yes" if row[4] else "no") for row in found]
    show_table(
        "Connected stores",
        ("store", "binding", "namespaces", "embedding model", "writing"),
        shown,
        first="connect --help",
    )


app.command("write")(write)


@app.command("remove")
def remove(store: Annotated[str, typer.Argument(help="The store's name here.")], json: Json = False) -> None:
    """Disconnect a store. Its rows are not changed, and its namespaces that had a plan keep their history."""
    from slowwave.night.retention import remove_unplanned
    from slowwave.sources.following import disconnect

    opened = open_store()
    disconnect(opened, store)
    removed = remove_unplanned(opened, store)
    if json:
        show_json({"store": store, "connected": False, "namespaces_removed": removed})
        return
    say(f"The store {store} is disconnected: none of its rows was changed, and nights no longer read it.")
    if removed:
        say(f"{counted(len(removed), 'namespace')} without a plan {'was' if len(removed) == 1 else 'were'} removed.")
    say("Namespaces with plans are kept with their history; nights leave them out.")


def _connect(
    kind: str,
    url: str | None,
    given: dict[str, str],
    *,
    text: str = "",
    file: str = "",
    name: str,
    model: str,
    grant: bool,
    json: bool,
) -> None:
    from slowwave.bindings.connect import connect_store

    store = _store_at(url)
    found = connect_store(
        store,
        kind,
        parameters=given,
        own_text=text,
        file_name=file,
        name=name,
        embedding_model=model,
        grant=grant,
    )
    if json:
        show_json(_as_json(found))
    else:
        _show(found, given_address=bool(url))
    if found.grants:
        raise typer.Exit(2)


def _store_at(url: str | None) -> Store:
    """Open the store at the address, or that of the environment.

    The address is not stored. If the environment names an address, both must be the same database.
    """
    from psycopg.conninfo import conninfo_to_dict

    from slowwave.store.logins import checked
    from slowwave.store.migrate import migrate, pending_migrations

    if not url:
        if not os.environ.get(_URL, "").strip():
            raise Refused(
                f"A store is connected where it lies: give its address, or better set {_URL} to it. Nothing was connected."
            )
        return open_store()
    address, known = checked("The address", url), os.environ.get(_URL, "").strip()
    if known:
        there, here = (_place(conninfo_to_dict(one)) for one in (address, checked(_URL, known)))
        if there != here:
            raise Refused(
                f"The address and {_URL} lead to different databases. Set the variable to the store's; nothing was connected."
            )
    os.environ[_URL] = address
    store = _environment_store()
    if pending_migrations(store):
        migrate(store)
    return store


def _place(parts: Mapping[str, object]) -> tuple[str, str, str]:
    """Return the database to which an address leads, whatever the login."""
    return str(parts.get("host") or "localhost"), str(parts.get("port") or "5432"), str(parts.get("dbname") or "")


def _environment_store() -> Store:
    """Open the store of the environment as it is, migrated or not."""
    from slowwave.store.connect import Store

    return Store.from_environment()


def _as_json(found: Connected) -> dict[str, object]:
    rows = found.rows
    return {
        "store": found.store.name,
        "binding": found.store.binding.title,
        "version": found.version or None,
        "writing": False,
        "namespaces": found.namespaces,
        "new_namespaces": found.new_namespaces,
        "rows": None
        if rows is None
        else {
            "read": rows.rows,
            "retired": rows.retired,
            "without_text": rows.without_text,
            "without_namespace": rows.without_namespace,
        },
        "grants": list(found.grants),
        "off": dict(found.store.binding.off),
        "findings": [{"finding": d.finding, "remedy": d.remedy, "problem": d.problem} for d in found.found],
    }


def _show(found: Connected, *, given_address: bool) -> None:
    of, rows = found.store, found.rows
    known = (
        f"its tables are those of {found.version}" if found.version else "its tables are of no version that is known"
    )
    if not of.binding.known:
        known = "its tables are noted as they are now"
    say(f"{of.binding.title} is connected as {of.name}, to be read; {known}.")
    if found.was_written:
        say("Plans could be applied to it before, and can no more: a store that is connected anew is only read.")
        suggest("Let plans be applied again", f"slowwave connect write {of.name}")
    if found.grants:
        suggest("It cannot be read yet. Let the tables' owner run", *(f"{statement};" for statement in found.grants))
        say("Or connect it again with --grant, by a login that may.")
        return
    if rows is not None:
        left = [
            *([f"{rows.retired:,} of them retired"] if rows.retired else []),
            *([f"{rows.without_text:,} more without a text"] if rows.without_text else []),
            *([f"{rows.without_namespace:,} more of nobody"] if rows.without_namespace else []),
        ]
        say(
            f"{counted(rows.rows, 'row')} in {counted(found.namespaces, 'namespace')}{''.join(f', {part}' for part in left)}."
        )
    for operation, why in of.binding.off.items():
        say(f"Off here: {operation}. {why}", indent=2)
    for warning in of.binding.warnings:
        say(f"Note: {warning}", indent=2)
    for d in found.found:
        say(f"{'Problem' if d.problem else 'Note'}: {d.finding} {d.remedy}", indent=2)
    if given_address:
        say(f"The address was not kept: set {_URL} to it for the commands that follow.")
    suggest("Audit it", "slowwave night ALL")
