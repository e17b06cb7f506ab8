"""``slowwave switch`` and ``namespace``: what may be written at all."""

from __future__ import annotations

from json import dumps
from typing import Annotated, Final

import typer

from slowwave.cli.listing import one_line
from slowwave.cli.session import Json, Namespace, open_store, say, show_json
from slowwave.errors import Refused

_NAMESPACE: Final = "SELECT slug, id::text, read_only, settings FROM memory.namespaces WHERE slug = %s"


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


def namespace(
    namespace: Namespace,
    read_only: Annotated[
        bool | None, typer.Option("--read-only/--writable", help="Whether apply and undo may write it.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a namespace, or make it read-only or writable. An agent's own writes are not affected."""
    from slowwave.applying.switches import set_read_only

    store = open_store()
    if read_only is not None:
        set_read_only(store, namespace, read_only=read_only)
    with store.connect("reader") as connection:
        row = connection.execute(_NAMESPACE, (namespace,)).fetchone()
    if row is None:
        raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
    shown = dict(zip(("namespace", "id", "read_only", "settings"), row, strict=True))
    if json:
        show_json(shown)
    else:
        for name, value in shown.items():
            told = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            say(f"{name}: {one_line(dumps(told, ensure_ascii=False), 10_000) if isinstance(told, dict) else told}")
