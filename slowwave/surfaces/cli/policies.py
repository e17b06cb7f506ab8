"""``slowwave policies``: policies that people accepted in reviews, and their revocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.plans.commands import argument
from slowwave.surfaces.cli.session import Json, Namespace, open_store, program, say, short, show_json, suggest
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.plans.policies import Policy


# ``slowwave policies``: the policies that people accepted in reviews, by which nights approve or reject similar items.

app = typer.Typer(help="Policies that people accepted in reviews: list them, revoke one.", no_args_is_help=True)


@app.command("list")
def list_(
    namespace: Annotated[str | None, typer.Argument(help="Only this namespace.")] = None, json: Json = False
) -> None:
    """List the accepted policies, the oldest first, with what they say and have decided so far."""
    from slowwave.plans.policies import read_policies

    with open_store().connect("reader") as connection:
        found = read_policies(connection, namespace)
    if json:
        show_json([one.to_json() for one in found])
        return
    if not found:
        say("Nobody accepted a policy. `slowwave plans review NAMESPACE --by NAME` offers what answers teach, with r.")
    for one in found:
        _print_policy(one)
    if standing := [one for one in found if one.stands]:
        name = argument(standing[0].namespace)
        suggest("Revoke one", f'{program()} policies revoke {name} {standing[0].id[:8]} --by YOUR-NAME --reason "WHY"')


@app.command()
def revoke(
    namespace: Namespace,
    policy: Annotated[str, typer.Argument(help="The policy's id, or its first characters.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    by: Annotated[str, typer.Option("--by", help="Who revokes it.")] = "",
    json: Json = False,
) -> None:
    """End a policy: it decides nothing more, its approvals are no longer applied, and what it rejected may be asked again."""
    from slowwave.plans.policies import revoke_policy

    done = revoke_policy(open_store(), namespace, policy, revoked_by=by, reason=reason)
    if json:
        show_json(done.to_json())
    else:
        again = ", which later nights may propose again" if done.verdict == "no" and done.decided else ""
        say(f"Revoked the {done.name}. It {done.did} {counted(done.decided, 'item')}{again}.")


def _print_policy(one: Policy) -> None:
    say(f"{one.id[:8]} · {one.namespace} · {one.name} · {one.operation} · says {one.verdict}")
    say(short(one.says), indent=2)
    say(
        f"{one.agreed:,} of {one.answered:,} answered {one.verdict} · {one.per_night:,} a night at most · {one.did} {one.decided:,}, "
        f"{one.undone:,} taken back · {one.state}",
        indent=2,
    )
