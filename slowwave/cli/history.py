"""``slowwave history``: the runs of a namespace, or what was believed of a subject."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, open_store


def history(
    namespace: Namespace,
    subject: Annotated[
        str, typer.Argument(help="A name, an alias or a reference (project:rowan); none for the runs.")
    ] = "",
    scope: Annotated[str | None, typer.Option(help="person, project, concept, decision or core.")] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show a namespace's runs, the newest first; with a subject, what was believed of it and when."""
    if subject:
        from slowwave.api.memory import Memory
        from slowwave.claims.trail import MOST
        from slowwave.cli.claims import show_history

        show_history(
            namespace, Memory(namespace, open_store()).history(subject, scope=scope, limit=min(limit, MOST)), json=json
        )
        return
    from slowwave.cli.dreams import show_runs  # what a dream is made of loads for a while

    show_runs(namespace, limit, json=json)
