"""``slowwave policies``: policies that people accepted, those for low-risk changes, and their revocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.plans.commands import argument
from slowwave.surfaces.cli.session import Json, Namespace, open_store, program, say, short, show_json, suggest
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.plans.policies import Policy


# ``slowwave policies``: the policies by which nights approve or reject items.

app = typer.Typer(help="Policies by which nights decide: list them, accept or revoke one.", no_args_is_help=True)


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
        say("There is no policy. `slowwave plans review NAMESPACE --by NAME` offers what answers teach, with r.")
    for one in found:
        _print_policy(one)
    if standing := [one for one in found if one.stands]:
        name = argument(standing[0].namespace)
        suggest("Revoke one", f'{program()} policies revoke {name} {standing[0].id[:8]} --by YOUR-NAME --reason "WHY"')


@app.command()
def accept(
    namespace: Namespace,
    operations: Annotated[list[str], typer.Argument(help="Operations whose low-risk changes nights approve.")],
    by: Annotated[str, typer.Option("--by", help="Who accepts the policy.")] = "",
    per_night: Annotated[int, typer.Option(help="Items that it approves a night at most.")] = 1_000,
    json: Json = False,
) -> None:
    """Let nights approve the low-risk changes of operations. Questions, deletions and plans that fail a probe stay with people."""
    from slowwave.operations import permits
    from slowwave.plans.policies import accept_operations

    made = accept_operations(open_store(), namespace, operations, permits(), accepted_by=by, per_night=per_night)
    if json:
        show_json(made.to_json())
        return
    say(f"Accepted: {made.says}, {made.per_night:,} a night at most. The next night with a new plan approves by it.")
    suggest(
        "Revoke it", f'{program()} policies revoke {argument(namespace)} {made.id[:8]} --by YOUR-NAME --reason "WHY"'
    )


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
        f"{one.basis or 'no questions, low risk'} · {one.per_night:,} a night at most · {one.did} {one.decided:,}, "
        f"{one.undone:,} taken back · {one.state}",
        indent=2,
    )
