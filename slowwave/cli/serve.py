"""``slowwave serve`` and ``slowwave mcp``: memory for agents, over HTTP and MCP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from slowwave.cli.session import err, say
from slowwave.errors import StoreError
from slowwave.store.connect import Store
from slowwave.store.opening import open_store

_Namespace = Annotated[str, typer.Option(help="Name of the namespace that is served.")]


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on. Elsewhere than on loopback, tokens are needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes one that is free.")] = 7070,
    namespace: Annotated[
        str | None, typer.Option(help="Serve this namespace alone; needed where there are no tokens.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second of one token; 0 sets no limit.")] = 50,
    max_bytes: Annotated[int, typer.Option(min=1024, help="Most bytes of a request.")] = 262_144,
) -> None:
    """Serve memory to agents: HTTP under /v1, MCP under /mcp, until Ctrl-C."""
    store = _store()
    from slowwave.serving import listening

    with store.connect("server") as connection:
        door = listening.door_of(connection, host, namespace, rate, max_bytes)
    bound = listening.listener(host, port)
    shown = f"[{host}]" if ":" in host else host
    who = f"{door.open_to}, without tokens" if door.open_to else "with tokens"
    say(f"Serving {who} at http://{shown}:{bound.getsockname()[1]} (MCP at /mcp). Ctrl-C ends it.", console=err)
    listening.serve(store, door, bound)


def mcp(namespace: _Namespace) -> None:
    """Serve one namespace to one agent over standard input and output, by the Model Context Protocol."""
    store = _store()
    import os

    import anyio

    from slowwave.serving.answering import Answering
    from slowwave.serving.listening import keep_quiet
    from slowwave.serving.mcp_server import serve_stdio
    from slowwave.serving.tokens import local_caller

    with store.connect("server") as connection:
        caller = local_caller(connection, namespace, os.environ.get("SLOWWAVE_TOKEN", "").strip())
    keep_quiet()
    anyio.run(serve_stdio, Answering(store), caller)


def _store() -> Store:
    """The store, by a login that need not own it: only the embedded one is brought up to date here."""
    if find_spec("mcp") is None:
        raise StoreError("What serves agents is not installed. Install slowwave[serve].")
    store = Store.from_environment()
    return open_store() if store.embedded else store
