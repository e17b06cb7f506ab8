"""``slowwave conflicts``: look at rows that contradict each other, and rule on them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.listing import prefix_length
from slowwave.cli.session import Json, Namespace, open_store, program, say, show_json, show_table, suggest
from slowwave.plans.commands import APPROVER, argument

if TYPE_CHECKING:
    from slowwave.plans.conflicts import StoredConflict


app = typer.Typer(help="Look at rows that contradict each other, and rule on them.", no_args_is_help=True)

_SHOWN = 50


class Right(StrEnum):
    """Which row is right."""

    A = "a"
    B = "b"
    BOTH = "both"


@app.command("list")
def list_(
    namespace: Namespace,
    resolution: Annotated[
        str | None,
        typer.Option(
            help="Only these, by commas: detected, deferred, kept, prefer, invalidated. Open ones by default."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Those that are over as well.")] = False,
    json: Json = False,
) -> None:
    """List conflicts, the open ones first."""
    from slowwave.plans.conflicts import list_conflicts

    wanted = [r.strip() for r in resolution.split(",") if r.strip()] if resolution else ["detected", "deferred"]
    found = list_conflicts(open_store(), namespace, resolutions=[] if every else wanted)
    if json:
        show_json([conflict.to_json() for conflict in found])
        return
    digits = prefix_length([c.id for c in found])
    show_table(
        "Conflicts",
        ("conflict", "reason", "resolution", "a", "b", "outcome"),
        [
            (c.id[:digits], c.reason, _resolved(c), c.a or c.row_a_id, c.b or c.row_b_id, _outcome(c))
            for c in found[:_SHOWN]
        ],
    )
    if len(found) > _SHOWN:
        say(f"… and {len(found) - _SHOWN:,} more; --json shows all.")
    if asking := [c for c in found if c.resolution in ("detected", "deferred")]:
        about = f"{argument(namespace)} {asking[0].id[:digits]} --right a --by {APPROVER}"
        suggest("Rule on one, for a, b or both", f"{program()} conflicts resolve {about}")


@app.command()
def resolve(
    namespace: Namespace,
    conflict: Annotated[str, typer.Argument(help="The conflict's id, or its first characters.")],
    right: Annotated[Right, typer.Option("--right", help="Which row is right: a, b or both.")],
    by: Annotated[str, typer.Option(help="Who rules.")] = "",
    note: Annotated[str, typer.Option(help="Why; kept with the verdict.")] = "",
    json: Json = False,
) -> None:
    """Rule on a conflict. The next night proposes to retire the row that is wrong; no policy and no model overrules it."""
    from slowwave.plans.conflicts import resolve_conflict

    found = resolve_conflict(open_store(), namespace, conflict, verdict=right.value, by=by, note=note)
    if json:
        show_json(found.to_json())
    elif right is Right.BOTH:
        say(f"Conflict {found.id}: both rows stand, and nobody will be asked again.")
    else:
        say(f"Conflict {found.id}: {right.value} is right. The next night proposes what follows. {_outcome(found)}")


def _outcome(conflict: StoredConflict) -> str:
    """Which row stays and which ends; empty while nothing is proposed."""
    if conflict.resolution == "kept":
        return "Both rows stay."
    return conflict.outcome.sentence() if conflict.outcome else ""


def _resolved(conflict: StoredConflict) -> str:
    side = {conflict.row_a_id: " a", conflict.row_b_id: " b"}.get(conflict.winner_id or "", "")
    return f"{conflict.resolution}{side}{f' by {conflict.resolved_by}' if conflict.resolved_by else ''}"
