"""``slowwave connect write``: the second, explicit step, after which plans may be applied to a store that is not ours."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, open_store, say, show_json, suggest


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
    """Let plans be made for a connected store and, once a person approved them, applied to it in place. Each can be undone."""
    from slowwave.bindings.writing import let_write, stop_writing

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
