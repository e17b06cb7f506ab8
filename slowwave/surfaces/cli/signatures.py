"""``slowwave signatures`` and ``slowwave policies``: required approvals, and the policies that people accepted."""

from __future__ import annotations

from typing import Annotated

import typer

from slowwave.plans.commands import argument, countersign_command
from slowwave.plans.signatures import half_signed, read_rule
from slowwave.surfaces.cli.session import Json, Namespace, open_store, program, say, show_json, suggest
from slowwave.text.tokens import counted

# ``slowwave signatures``: the number of people who must approve a plan before it is applied; and ``plans countersign``.


def signatures(
    namespace: Annotated[
        str | None, typer.Argument(help="A namespace; without it the rule of all that have none of their own.")
    ] = None,
    needed: Annotated[
        int | None, typer.Option(help="Set the rule: how many people have to sign. It takes the owner's login.")
    ] = None,
    not_author: Annotated[
        bool,
        typer.Option(
            "--not-author", help="Whoever asked for a change, or wrote the policy that approves it, does not count."
        ),
    ] = False,
    own_login: Annotated[
        bool, typer.Option("--own-login", help="No two signatures count that came by one login of the database.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who sets it.")] = "",
    json: Json = False,
) -> None:
    """Say how many people have to sign before anything is applied, or set it; the database holds to it."""
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
    """Print the command that applies what was approved, or the one by which another person adds the approval it ``lacks``."""
    if lacks:
        say(f"{lacks}: nothing is applied before.")
        suggest("Somebody else signs it as well", countersign_command(namespace, plan_hash, program=program()))
    else:
        suggest("Apply them", f"{program()} apply {argument(namespace)}")


def countersign(
    namespace: Namespace,
    plan_hash: Annotated[str, typer.Argument(help="The plan's hash, or its first characters.")],
    by: Annotated[str, typer.Option(help="Who signs.")] = "",
    note: Annotated[str, typer.Option(help="Why; kept with the signature.")] = "",
    json: Json = False,
) -> None:
    """Sign what somebody else approved of a plan, where approvals need more than one signature (`slowwave signatures`)."""
    from slowwave.plans.gate import countersign as add

    done = add(open_store(), namespace, plan_hash, signed_by=by, channel="cli", note=note)
    if json:
        show_json(done.to_json())
        return
    say(f"Signed: {counted(done.items, 'item')} of plan {done.plan_hash[:12]}.")
    more = "one more signature is" if done.missing == 1 else f"{done.missing} more signatures are"
    suggest_apply(namespace, done.plan_hash, f"{more[0].upper()}{more[1:]} needed" if done.missing else "")
