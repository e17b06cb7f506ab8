"""``slowwave dream-now``: a dream at once, with its reason, and one outcome."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from slowwave.cli.dreams import counts_text
from slowwave.cli.session import Json, Namespace, open_store, program, say, show_json
from slowwave.errors import Refused

EXIT_CODES: Final = {"errored": 1, "timed_out": 1, "locked": 2, "check_failed": 2, "escape_audit": 1}
"""Exit code by outcome; 0 for the others."""


def dream_now(
    namespace: Namespace,
    reason: Annotated[str, typer.Option(help="Why; kept with the run.")],
    mode: Annotated[str, typer.Option(help="`dry-run` or `apply`.")] = "dry-run",
    ops: Annotated[
        str | None,
        typer.Option(help="Only these operations, separated by commas, or `all`; else what the settings switch on."),
    ] = None,
    approver: Annotated[
        str | None, typer.Option("--by", "--approver", help="Who signs the plan; without one a policy may.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait while another run holds the namespace.")] = 0.0,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which the run is cancelled.")] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="A deep pass: a model works on a scratch copy, and a plan comes of it.")
    ] = False,
    json: Json = False,
) -> None:
    """Plan now, whatever the schedule says, and tell in one word what came of it."""
    from slowwave.api.asked import mode_of
    from slowwave.api.deep_now import deep_now as run_deep
    from slowwave.api.dream_outcome import dream_now as run_now

    if deep and (ops or approver or mode_of(mode) == "apply"):
        raise Refused(
            "A deep pass ends in a plan that waits: --deep goes without --ops, --by and --mode apply. Nothing was done."
        )
    found = (
        run_deep(namespace, reason, wait, timeout, open_store())
        if deep
        else run_now(namespace, reason, mode_of(mode) or "dry-run", ops, approver, wait, timeout, store=open_store())
    )
    if json:
        show_json(found.to_json())
    else:
        gate = f" ({found.gate})" if found.gate else ""
        message = found.message.replace("`slowwave ", f"`{program()} ")
        say(f"{found.namespace}: {found.outcome}{gate}. {message}")
        if found.run_id:
            say(f"run {found.run_id}: {counts_text(dict(found.counts))}, {found.duration_ms / 1000:,.1f} s", indent=2)
        say(f"reason: {found.reason}", indent=2)
    if code := EXIT_CODES.get(found.outcome):
        raise typer.Exit(code)
