"""``slowwave policies`` and ``plans countersign``: policies that approve, and the number of approvals that a plan needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.plans.commands import argument, countersign_command
from slowwave.plans.signatures import half_signed, read_rule
from slowwave.surfaces.cli.session import (
    AnyNamespace,
    By,
    Json,
    Namespace,
    Note,
    OneNamespace,
    Reason,
    chosen_namespaces,
    complete_operation,
    complete_plan,
    open_store,
    program,
    say,
    short,
    show_json,
    suggest,
)
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.plans.policies import Policy


# ``slowwave policies``: the policies by which nights approve or reject items.

app = typer.Typer(help="Let nights decide, and set how many people must approve.", no_args_is_help=True)


@app.command("list")
def list_(namespace: OneNamespace = None, json: Json = False) -> None:
    """List the accepted policies and their decisions, oldest first."""
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
    namespace: AnyNamespace,
    operations: Annotated[
        list[str],
        typer.Argument(help="Operations whose low-risk changes nights approve.", autocompletion=complete_operation),
    ],
    by: By = "",
    per_night: Annotated[int, typer.Option(help="Maximum number of items that it approves per night.")] = 1_000,
    json: Json = False,
) -> None:
    """Let nights approve the low-risk changes of operations.

    Questions, deletions and plans that fail a probe remain with people. ALL leaves out namespaces that have the policy already; later
    namespaces do not get it by themselves.
    """
    from slowwave.operations import permits
    from slowwave.plans.policies import AcceptedAlready, accept_operations

    store, permitted, before = open_store(), permits(), 0
    accepted: list[Policy] = []
    for name in chosen_namespaces(store, namespace):
        try:
            accepted.append(accept_operations(store, name, operations, permitted, accepted_by=by, per_night=per_night))
        except AcceptedAlready:
            if namespace != "ALL":
                raise
            before += 1
    if json:
        shown = [made.to_json() for made in accepted]
        show_json(shown if namespace == "ALL" else shown[0])
        return
    if namespace == "ALL":
        had = f" {counted(before, 'namespace')} had the policy already." if before else ""
        names = ", ".join(sorted(set(operations)))
        if not accepted:
            say(f"Every namespace has this policy already: low-risk changes by {names}.")
            return
        say(
            f"Accepted for {counted(len(accepted), 'namespace')}: low-risk changes by {names}, {per_night:,} a night at most.{had} "
            "Their next nights with a new plan approve by it. Namespaces that come later have none: accept it for ALL again."
        )
        suggest("List the policies", f"{program()} policies list")
        return
    (made,) = accepted
    say(f"Accepted: {made.says}, {made.per_night:,} a night at most. The next night with a new plan approves by it.")
    suggest(
        "Revoke it", f'{program()} policies revoke {argument(namespace)} {made.id[:8]} --by YOUR-NAME --reason "WHY"'
    )


@app.command()
def revoke(
    namespace: Namespace,
    policy: Annotated[str, typer.Argument(help="Id of the policy, or its first characters.")],
    reason: Reason,
    by: By = "",
    json: Json = False,
) -> None:
    """End a policy.

    Its pending approvals are no longer applied, and its rejections may be asked again.
    """
    from slowwave.plans.policies import revoke_policy

    done = revoke_policy(open_store(), namespace, policy, revoked_by=by, reason=reason)
    if json:
        show_json(done.to_json())
    else:
        again = ", which later nights may propose again" if done.verdict == "no" and done.decided else ""
        say(f"Revoked the {done.name}. It {done.did} {counted(done.decided, 'item')}{again}.")


def _print_policy(one: Policy) -> None:
    say(f"{one.id[:8]} · {one.namespace} · {one.name} · {one.operation} · answers {one.verdict}")
    say(short(one.says), indent=2)
    say(
        f"{one.basis or 'no questions, low risk'} · {one.per_night:,} a night at most · {one.did} {one.decided:,}, "
        f"{one.undone:,} undone · {one.state}",
        indent=2,
    )


# The number of people who must approve a plan before it is applied, and ``plans countersign``.


@app.command("approvals")
def approvals(
    namespace: Annotated[
        str | None, typer.Argument(help="Name of a namespace; by default all namespaces without a rule.")
    ] = None,
    needed: Annotated[
        int | None, typer.Option(help="Set the number of people who must approve. This needs the owner's login.")
    ] = None,
    not_author: Annotated[
        bool,
        typer.Option(
            "--not-author", help="Do not count the requester of a change or the author of the policy that approves it."
        ),
    ] = False,
    own_login: Annotated[
        bool, typer.Option("--own-login", help="Count only one approval for each database login.")
    ] = False,
    by: By = "",
    json: Json = False,
) -> None:
    """Show or set how many people must approve a plan.

    The database enforces the number at apply.
    """
    store = open_store()
    if needed is not None or not_author or own_login:
        from slowwave.plans.gate import set_rule

        set_rule(store, namespace, signatures=needed or 1, set_by=by, not_author=not_author, own_login=own_login)
    with store.connect("reader") as connection:
        rule = read_rule(connection, namespace)
        lacking = half_signed(connection, namespace)
    if json:
        show_json(rule.to_json() | {"lacking": [one.to_json() for one in lacking]})
        return
    of = "all namespaces without a rule of their own" if namespace is None or rule.of_all else namespace
    say(f"{rule.sentence()}{f' Set by {rule.set_by} for {of}.' if rule.set_by else ''}")
    for one in lacking:
        say(f"{one.namespace}, plan {one.plan_hash[:12]}: {one.sentence()}.")


def suggest_apply(namespace: str, plan_hash: str, lacks: str) -> None:
    """Print the command that applies the approved items, or the one that adds another person's approval if it ``lacks`` one."""
    if lacks:
        say(f"{lacks}: nothing is applied before.")
        suggest("Another person approves it as well", countersign_command(namespace, plan_hash, program=program()))
    else:
        suggest("Apply them", f"{program()} apply {argument(namespace)}")


def countersign(
    namespace: Namespace,
    plan: Annotated[str, typer.Argument(help="Hash of a plan, or its first characters.", autocompletion=complete_plan)],
    by: By = "",
    note: Note = "",
    json: Json = False,
) -> None:
    """Add the second approval to items that are approved once.

    Another person must have approved them (see `slowwave policies approvals`).
    """
    from slowwave.plans.gate import countersign as add

    done = add(open_store(), namespace, plan, signed_by=by, channel="cli", note=note)
    if json:
        show_json(done.to_json())
        return
    say(f"Approved again: {counted(done.items, 'item')} of plan {done.plan_hash[:12]}.")
    more = "one more approval is" if done.missing == 1 else f"{done.missing} more approvals are"
    suggest_apply(namespace, done.plan_hash, f"{more[0].upper()}{more[1:]} needed" if done.missing else "")
