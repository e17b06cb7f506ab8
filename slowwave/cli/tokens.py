"""``slowwave tokens``: what lets agents in, made, listed and revoked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from slowwave.cli.session import Json, open_store, out, say, show_json, show_table

app = typer.Typer(help="Tokens of agents: make, list, revoke.", no_args_is_help=True)

NamespaceOption = Annotated[str, typer.Option(help="Name of the namespace that it opens.")]


@app.command("new")
def new(
    namespace: NamespaceOption,
    scopes: Annotated[str, typer.Option(help="Of read, write, propose, approve; with commas.")] = "read,write",
    expires: Annotated[str, typer.Option(help="Lifetime, such as 90d or 12h.")] = "90d",
    name: Annotated[str, typer.Option(help="Whose it is, for the list.")] = "",
    json: Json = False,
) -> None:
    """Make a token and print it, once: only its hash is kept."""
    from slowwave.serving.tokens import lifetime_of, new_token

    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    with open_store().connect("owner") as connection:
        token = new_token(connection, namespace, wanted, lifetime_of(expires), name)
    if json:
        show_json({"token": token, "id": token.split("_")[1], "namespace": namespace, "scopes": wanted})
        return
    out.print(token, markup=False, highlight=False, soft_wrap=True)


@app.command("list")
def list_tokens(
    namespace: Annotated[str | None, typer.Option(help="Of one namespace alone.")] = None, json: Json = False
) -> None:
    """List tokens with their scopes and ends; never a secret."""
    from slowwave.serving.tokens import left, listed

    with open_store().connect("owner") as connection:
        rows = listed(connection, namespace)
    if json:
        show_json([asdict(row) for row in rows])
        return
    shown = [(row.id, row.namespace, row.name, ",".join(row.scopes), left(row)) for row in rows]
    show_table(
        "Tokens", ("id", "namespace", "name", "scopes", "validity"), shown, first="tokens new --namespace NAMESPACE"
    )


@app.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Id of the token: the 12 digits after slw_.")], json: Json = False
) -> None:
    """End a token now. A server that runs takes it no more."""
    from slowwave.serving.tokens import revoke

    with open_store().connect("owner") as connection:
        row = revoke(connection, token)
    if json:
        show_json({"id": row.id, "namespace": row.namespace, "revoked": True})
        return
    say(f"The token {row.id} of {row.namespace} is revoked.")
