"""``slowwave active``: what an agent is reminded of while it works."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, open_store, out, say, show_json


def active(
    namespace: Namespace,
    prompt: Annotated[str, typer.Argument(help="What the agent is asked, or is about to do.")],
    agent: Annotated[str, typer.Option(help="Who asks.")] = "cli",
    profile: Annotated[str, typer.Option(help="auto, general, coding, writing, personal, health or privacy.")] = "auto",
    project: Annotated[str, typer.Option(help="The project in hand.")] = "",
    budget: Annotated[int, typer.Option(min=100, max=1200, help="Most tokens of the block.")] = 400,
    timeout: Annotated[int, typer.Option(min=100, max=30_000, help="Milliseconds that searches may take.")] = 3_000,
    wake: Annotated[bool, typer.Option(help="Whether the profile's wake block stands before it.")] = False,
    json: Json = False,
) -> None:
    """Print what an agent is reminded of while it works: pages that match the prompt and may be told in its profile."""
    from slowwave.api.memory import Memory

    memory = Memory(namespace, open_store())
    told = memory.active(
        prompt,
        agent=agent,
        profile=profile,
        project=project,
        budget_tokens=budget,
        timeout_ms=timeout,
        include_wake=wake,
        debug=True,
    )
    if json:
        show_json(told.model_dump(mode="json"))
        return
    for warning in told.warnings:
        say(warning)
    if told.kind == "none":
        say(told.summary)
        return
    out.print(told.block, markup=False, highlight=False, soft_wrap=True)
