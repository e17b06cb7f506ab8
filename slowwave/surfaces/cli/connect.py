"""``slowwave connect``: stores of other vendors, read in place and, in a second step, written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.surfaces.cli.session import Json, open_store, plain, say, show_json, show_table, suggest
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.bindings.connect import Connected
    from slowwave.store.connect import Store


# ``slowwave connect write``: the second, explicit step. Only after it may plans be applied to a store that Slowwave does not own.


_NOT_GRANTED: Final = "--grant did not help: the login of the address may not grant these rights."


def write(
    store: Annotated[str, typer.Argument(help="Name of the store in Slowwave.")],
    off: Annotated[bool, typer.Option("--off", help="Refuse further writes; the store is read as before.")] = False,
    grant: Annotated[
        bool,
        typer.Option("--grant", help="Grant the missing rights to slowwave_applier with the login of the address."),
    ] = False,
    json: Json = False,
) -> None:
    """Allow approved plans to be applied to a connected store.

    They are applied in place, and each can be undone.
    """
    from slowwave.bindings.stores import let_write, stop_writing

    if off:
        stop_writing(open_store(), store)
        missing: list[str] = []
    else:
        missing = let_write(open_store(), store, grant=grant)
    if json:
        show_json({"store": store, "writing": not off and not missing, "grants": missing})
    elif missing:
        suggest(
            "Writing is not allowed yet. Let the owner of the tables run", *(f"{statement};" for statement in missing)
        )
        say(_NOT_GRANTED if grant else "Or run this again with --grant, by a login that may.")
    elif off:
        say(f"Nothing is applied to {store} any more; nights read it as before.")
    else:
        say(f"Plans may be applied to {store} once a person approved them, and every one can be undone.")
        suggest("Plan", "slowwave night ALL")
    if missing:
        raise typer.Exit(2)


# ``slowwave connect``: stores that are not ours, to be read in place.

app = typer.Typer(
    help="Connect a store in place: Mem0, LangGraph, a folder, a table.",
    no_args_is_help=True,
)

Url = Annotated[
    str | None,
    typer.Argument(
        help="Address of the store, for this command only; by default SLOWWAVE_DATABASE_URL, which hides the password."
    ),
]
Name = Annotated[str, typer.Option(help="Name of the store in Slowwave, if there are several of one kind.")]
Schema = Annotated[str, typer.Option(help="Schema of its tables.")]
Model = Annotated[str, typer.Option(help="Model of its vectors, as in SLOWWAVE_EMBEDDING_MODEL.")]
Grant = Annotated[
    bool, typer.Option("--grant", help="Grant the rights to read to slowwave_reader with the login of the address.")
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
    collection: Annotated[str, typer.Option(help="Name of the collection, which is a table.")] = "mem0",
    user_key: Annotated[str, typer.Option(help="Owner of a namespace: user_id, agent_id or run_id.")] = "user_id",
) -> _Given:
    """Connect a collection of Mem0 on pgvector, read-only.

    Each user is a namespace.
    """
    return "mem0", {"collection": collection, "user_key": user_key}


@_connects
def langgraph(
    text: Annotated[str, typer.Option(help="Key of the value that contains the text.")] = "content",
    field: Annotated[
        str, typer.Option(help="Field of the index whose vectors are compared; by default the text.")
    ] = "",
) -> _Given:
    """Connect PostgresStore of LangGraph and LangMem, read-only.

    Each prefix is a namespace.
    """
    return "langgraph", {"text": text, "field": field or text}


@_connects
def hindsight() -> _Given:
    """Connect the facts of Hindsight, read-only.

    Each bank is a namespace.
    """
    return "hindsight", {}


@_connects
def khora(
    no_graph: Annotated[
        bool,
        typer.Option(
            "--no-graph", help="Allow plans to be applied; only if this khora has no graph outside PostgreSQL."
        ),
    ] = False,
) -> _Given:
    """Connect the events and facts of khora, read-only.

    Each of its namespaces is a namespace of Slowwave.
    """
    return "khora", {"read_only": ""} if no_graph else {}


@_connects
def letta(
    blocks: Annotated[
        bool,
        typer.Option("--blocks", help="Connect its memory blocks instead; each organization is a namespace."),
    ] = False,
) -> _Given:
    """Connect the archival passages of a Letta server, read-only.

    Each archive is a namespace.
    """
    return ("letta_blocks" if blocks else "letta"), {}


@app.command("folder")
def folder(
    folder: Annotated[Path, typer.Argument(help="Folder with the Markdown files.")],
    name: Name = "",
    emptied: Annotated[bool, typer.Option("--emptied", help="Accept that the folder has no page.")] = False,
    json: Json = False,
) -> None:
    """Connect a folder of Markdown, read-only.

    The folder is MEMORY.md with its topic files, a vault, or notes. Each block is a memory.
    """
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
        str, typer.Option(help="Name of the store in Slowwave, if there are several of one kind.")
    ] = "letta_api",
    emptied: Annotated[bool, typer.Option("--emptied", help="Accept that the server has no block.")] = False,
    json: Json = False,
) -> None:
    """Connect memory blocks through the Letta API, read-only.

    Each line is a memory. The key is read from LETTA_API_KEY.
    """
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


UserKey = Annotated[str, typer.Option(help="Key of the metadata that names the owner of a row.")]
UserColumn = Annotated[str, typer.Option(help="Column that names the owner of a row, if the metadata does not.")]
Whole = Annotated[bool, typer.Option("--whole", help="Make the whole table one namespace.")]


@_connects
def langchain(
    table: Annotated[
        str, typer.Option(help="Table of a PGVectorStore; by default PGVector's langchain_pg_embedding.")
    ] = "",
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect PGVector or a PGVectorStore of LangChain, read-only."""
    given = _users(user_key, user_column, whole=whole)
    return ("langchain_v2", {"table": table, **given}) if table else ("langchain", given)


@_connects
def llamaindex(
    table: Annotated[str, typer.Option(help="The table in PostgreSQL: data_ and the table_name of the vector store.")],
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect a PGVectorStore of LlamaIndex, read-only."""
    return "llamaindex", {"table": table, **_users(user_key, user_column, whole=whole)}


@_connects
def supabase(
    table: Annotated[str, typer.Option(help="The table with content, metadata and embedding.")] = "documents",
    id_type: Annotated[str, typer.Option(help="The type of its id: bigint or uuid.")] = "bigint",
    user_key: UserKey = "user_id",
    user_column: UserColumn = "",
    whole: Whole = False,
) -> _Given:
    """Connect a table of documents of Supabase, read-only."""
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
    """Connect any table with a binding of yours, read-only."""
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
def remove(store: Annotated[str, typer.Argument(help="Name of the store in Slowwave.")], json: Json = False) -> None:
    """Disconnect a store without changing its rows.

    Namespaces that had a plan keep their history.
    """
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
        _show(found, given_address=bool(url), granting=grant)
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


def _show(found: Connected, *, given_address: bool, granting: bool = False) -> None:
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
        say(_NOT_GRANTED if granting else "Or connect it again with --grant, by a login that may.")
        return
    if rows is not None:
        left = [
            *([f"{rows.retired:,} of them retired"] if rows.retired else []),
            *([f"{rows.without_text:,} more without a text"] if rows.without_text else []),
            *([f"{rows.without_namespace:,} more without an owner"] if rows.without_namespace else []),
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
