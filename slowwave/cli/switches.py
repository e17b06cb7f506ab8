"""``slowwave switch``: whether anything may be applied at all."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, open_store, say, show_json
from slowwave.errors import Refused


def switch(
    name: Annotated[str, typer.Argument(help="`apply`, the one switch there is.")] = "apply",
    state: Annotated[str | None, typer.Argument(help="`off` or `on`; without it the switch is shown.")] = None,
    by: Annotated[str, typer.Option(help="Who sets it.")] = "",
    note: Annotated[str, typer.Option(help="Why; whoever is stopped by it reads this.")] = "",
    json: Json = False,
) -> None:
    """Stop apply and undo in every process before the next batch, let them go on, or show whether they may."""
    from slowwave.applying.switches import read_switch, switch_apply

    if name != "apply" or state not in (None, "on", "off"):
        raise Refused(
            "Say `slowwave switch apply off --by NAME`, `slowwave switch apply on --by NAME`, or `slowwave switch`."
        )
    store = open_store()
    if state is None:
        with store.connect("reader") as connection:
            found = read_switch(connection)
    else:
        found = switch_apply(store, on=state == "on", by=by, note=note)
    shown = found.to_json()
    if json:
        show_json(shown)
        return
    by_whom = f" It was set by {found.set_by}{f': {found.note}' if found.note else ''}." if found.set_by else ""
    say(f"apply is {shown['apply']} (database {shown['database']}, this environment {shown['environment']}).{by_whom}")
