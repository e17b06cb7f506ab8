"""``slowwave retain``: what is past its retention goes now."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, chosen_namespaces, open_store, show_json, show_table
from slowwave.store.namespaces import namespace_settings


def retain(
    namespace: Annotated[str, typer.Argument(help="Name of a namespace, or ALL.")],
    json: Json = False,
) -> None:
    """Remove report files, findings and rows of the ledger that are past their retention. The schedule does so every day."""
    from slowwave.night.retention import retain as run

    store = open_store()
    removed: dict[str, dict[str, int]] = {}
    for name in chosen_namespaces(store, namespace):
        with store.connect("reader") as connection:
            settings = namespace_settings(connection, name)
        removed[name] = run(store, name, settings)
    if json:
        show_json([{"namespace": name, "removed": counts} for name, counts in removed.items()])
        return
    columns = tuple(next(iter(removed.values())))
    show_table("Removed", ("namespace", *columns), [[name, *counts.values()] for name, counts in removed.items()])
