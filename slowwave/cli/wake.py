"""``slowwave wake``: what an agent is told when it begins."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, open_store, out, say, show_json


def wake(
    namespace: Namespace,
    agent: Annotated[str, typer.Option(help="Who wakes.")] = "cli",
    budget: Annotated[int, typer.Option(min=50, max=1500, help="Most tokens of the block.")] = 600,
    profile: Annotated[
        str, typer.Option(help="default, casual, coding, writing, privacy, or one of your own.")
    ] = "default",
    project: Annotated[str, typer.Option(help="The project whose state is told as well.")] = "",
    sessions: Annotated[int, typer.Option(min=0, max=50, help="How many recent sessions are told.")] = 5,
    decisions: Annotated[bool, typer.Option(help="Whether pinned decisions are told.")] = True,
    json: Json = False,
) -> None:
    """Print what an agent is told when it begins, within a budget of tokens: for the top of its prompt."""
    from slowwave.api.memory import Memory

    told = Memory(namespace, open_store()).wake(
        agent,
        budget_tokens=budget,
        profile=profile,
        project=project,
        include_recent_sessions=sessions,
        include_pinned_decisions=decisions,
        debug=True,
    )
    if json:
        show_json(told.model_dump(mode="json"))
        return
    if not told.block:
        say(f"{namespace} holds nothing that the profile {profile} tells.")
        return
    out.print(told.block, markup=False, highlight=False, soft_wrap=True)
