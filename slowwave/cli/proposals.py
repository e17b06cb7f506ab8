"""``slowwave proposals``: what agents propose, its plans, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from slowwave.cli.plans import suggest_decision
from slowwave.cli.session import Json, Namespace, open_store, program, say, short, show_json, show_table, suggest
from slowwave.errors import Refused
from slowwave.plans.commands import argument, undecided
from slowwave.proposals.proposal_request import ProposalByIdRequest, ProposalResponse, ProposalsRequest, Status

app = typer.Typer(help="What agents propose: list it, plan it, approve or reject it.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="The proposal's id, or its first characters.")]
By = Annotated[str, typer.Option("--by", help="Who decides.")]


@app.command("list")
def list_(
    namespace: Namespace,
    status: Annotated[str | None, typer.Option("--status", help="Only those of this status.")] = None,
    json: Json = False,
) -> None:
    """List proposals, newest first."""
    from slowwave.proposals.kept import proposals

    if status is not None and status not in get_args(Status):
        raise Refused(f"There is no status {status[:32]!r}. Statuses: {', '.join(get_args(Status))}.")
    with open_store().connect("reader") as connection:
        found = proposals(connection, namespace, ProposalsRequest(status=cast("Status | None", status), limit=200))
    if json:
        show_json([p.model_dump(mode="json") for p in found.proposals])
        return
    show_table(
        f"Proposals of {namespace}",
        ("proposal", "status", "about", "agent", "recorded", "plan"),
        [
            (p.id[:8], p.status, short(p.about), p.agent, f"{p.recorded_at:%Y-%m-%d %H:%M}", (p.plan_hash or "")[:12])
            for p in found.proposals
        ],
    )
    if any(p.status == "kept" for p in found.proposals):
        suggest("Plan what is kept", f"{program()} proposals plan {argument(namespace)}")


@app.command()
def plan(namespace: Namespace, json: Json = False) -> None:
    """Seal what is kept, each proposal as a plan, and sign or reject what tokens decided."""
    from slowwave.proposals.planned import settle

    done = settle(open_store(), namespace)
    if json:
        show_json(
            {
                "sealed": dict(done.sealed),
                "refused": dict(done.refused),
                "signed": list(done.signed),
                "rejected": list(done.rejected),
            }
        )
        return
    for id_, plan_hash in done.sealed.items():
        say(f"Proposal {id_[:8]} waits for approval as plan {plan_hash[:12]}.")
    for id_, why in done.refused.items():
        say(f"Proposal {id_[:8]} cannot be planned: {why}")
    for id_ in done.signed:
        say(f"Proposal {id_[:8]} is approved.")
    for id_ in done.rejected:
        say(f"Proposal {id_[:8]} is rejected.")
    if not (done.sealed or done.refused or done.signed or done.rejected):
        say("Nothing was proposed or decided since.")
    elif done.sealed:
        suggest("One of them", f"{program()} proposals show {argument(namespace)} {next(iter(done.sealed))[:8]}")


@app.command()
def show(namespace: Namespace, id_: Id, json: Json = False) -> None:
    """Show a proposal: what it asks for, and the command that decides it."""
    from slowwave.proposals.kept import proposal

    store = open_store()
    with store.connect("reader") as connection:
        found = proposal(connection, namespace, ProposalByIdRequest(id=id_))
        left = undecided(connection, found.plan_hash) if found.plan_hash else None
    if json:
        show_json(found.model_dump(mode="json"))
        return
    say(f"Proposal {found.id} of {namespace}: {found.status}")
    if found.agent or found.reason:
        say(f"By {found.agent or 'nobody named'}{f': {found.reason}' if found.reason else '.'}", indent=2)
    if found.message:
        say(found.message, indent=2)
    for action in found.actions:
        say(action.about())
        text = action.page.content if action.page is not None else action.statement.content if action.statement else ""
        gone = found.status == "applied" and action.forgets()  # what was forgotten is not told again
        if text and not gone:
            say(short(text), indent=2)
    for sentence in found.still_held:
        say(sentence)
    if found.plan_hash:
        suggest("Its plan", f"{program()} plans show {argument(namespace)} --plan {found.plan_hash[:12]}")
        suggest_decision(left)
    elif found.status == "kept":
        suggest("Plan it", f"{program()} proposals plan {argument(namespace)}")


@app.command()
def approve(
    namespace: Namespace,
    id_: Id,
    by: By,
    items: Annotated[str | None, typer.Option("--items", help="Ids of items of its plan, separated by commas.")] = None,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "",
    json: Json = False,
) -> None:
    """Approve the plan of a proposal, or some of its items."""
    from slowwave.plans.gate import approve as sign

    store = open_store()
    found = _found(namespace, id_)
    chosen = None if items is None else [item.strip() for item in items.split(",") if item.strip()]
    signed = sign(store, namespace, _plan_of(found), approver=by, channel="cli", items=chosen, note=note)
    if json:
        show_json(
            {
                "approval_id": signed.id,
                "proposal": found.id,
                "plan_hash": signed.plan_hash,
                "items": list(signed.item_ids),
            }
        )
        return
    say(f"Approved {len(signed.item_ids):,} of the changes of proposal {found.id[:8]}.")
    suggest("Apply it", f"{program()} apply {argument(namespace)}")


@app.command()
def reject(
    namespace: Namespace,
    id_: Id,
    by: By,
    reason: Annotated[str, typer.Option("--reason", help="Why.")],
    json: Json = False,
) -> None:
    """Reject a proposal: it is not proposed again until what it rests on changes."""
    from slowwave.plans.gate import reject as turn_down

    store = open_store()
    found = _found(namespace, id_)
    count = turn_down(store, namespace, _plan_of(found), rejected_by=by, reason=reason)
    if json:
        show_json({"proposal": found.id, "plan_hash": found.plan_hash, "rejected": count})
        return
    say(f"Rejected {count:,} of the changes of proposal {found.id[:8]}.")


def _found(namespace: str, id_: str) -> ProposalResponse:
    from slowwave.proposals.kept import proposal

    with open_store().connect("reader") as connection:
        return proposal(connection, namespace, ProposalByIdRequest(id=id_))


def _plan_of(found: ProposalResponse) -> str:
    if found.plan_hash is None:
        why = found.message or "`slowwave proposals plan NAMESPACE` makes one."
        raise Refused(f"Proposal {found.id[:8]} has no plan, so there is nothing to decide. {why}")
    return found.plan_hash
