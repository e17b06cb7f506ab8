"""``slowwave remember``, ``forget``, ``history`` and ``proposals``: the claims and proposals of agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final, cast, get_args

import typer

from slowwave.errors import NotInCorpus, Refused
from slowwave.plans.commands import argument, undecided
from slowwave.store.connect import Store
from slowwave.surfaces.cli.plans import suggest_decision
from slowwave.surfaces.cli.session import (
    By,
    Items,
    Json,
    Namespace,
    Note,
    Reason,
    instant_of,
    open_store,
    out,
    plain,
    program,
    say,
    short,
    show_json,
    show_table,
    suggest,
)
from slowwave.wiki.claims.trail import BelievedClaim, ClaimRequest, ClaimResponse, SubjectHistoryResponse
from slowwave.wiki.claims.trail import claim as read_claim
from slowwave.wiki.proposal_request import ProposalByIdRequest, ProposalResponse, ProposalsRequest, Status

if TYPE_CHECKING:
    from slowwave.wiki.claims.request import RememberResponse
    from slowwave.wiki.forget import By as Selector


# ``slowwave remember`` and ``slowwave forget``: the call memory-write of agents, by hand.
#
# ``forget`` has two forms. With a subject it ends claims at once. With a selector it seals a plan that deletes stored rows permanently.

Subject = Annotated[
    str, typer.Option(help="Subject of the statement: a name, an alias, or a reference (project:rowan).")
]
Scope = Annotated[str | None, typer.Option(help="person, project, concept, decision or core; a new subject needs it.")]
Claims = Annotated[
    list[str] | None,
    typer.Option("--claim", help="Only this claim, by its id or its first characters; may be repeated."),
]
Agent = Annotated[str, typer.Option(help="Name of the agent.")]
Session = Annotated[str, typer.Option(help="Session of the statement.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only report the effect.")]


def remember(
    namespace: Namespace,
    statement: Annotated[str, typer.Argument(help="One plain statement.")],
    subject: Subject = "",
    kind: Annotated[str, typer.Option(help="fact, preference, state, decision or note.")] = "fact",
    scope: Scope = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="End the previous claims: those of --claim, or all of the kind.")
    ] = False,
    claim: Claims = None,
    since: Annotated[str | None, typer.Option(help="Start of its validity; by default now.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence, from 0 to 1.")] = 1.0,
    reason: Reason = "",
    source: Annotated[str, typer.Option(help="Source: a page, a call, a person.")] = "",
    agent: Agent = "",
    session: Session = "",
    inbox: Annotated[bool, typer.Option("--inbox", help="Store it unchanged and without a subject.")] = False,
    soft: Annotated[
        bool, typer.Option("--soft", help="Quarantine it if its subject is unknown or it addresses a model.")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Store a statement about a subject with its evidence.

    The claims that are known about the subject are printed as well.
    """
    from slowwave.surfaces.api.memory import Memory

    store = open_store()
    _show(
        Memory(namespace, store).remember(
            statement,
            subject,
            action="replace" if replace else "write",
            kind=kind,
            scope=scope,
            confidence=confidence,
            occurred_at=instant_of("since", since),
            reason=reason,
            source=source,
            claim_ids=_whole(store, namespace, claim or ()),
            soft=soft,
            dry_run=dry_run,
            force_inbox=inbox,
            agent=agent,
            session_id=session,
            origin_surface="cli",
        ),
        json=json,
    )


def forget(
    namespace: Namespace,
    subject: Annotated[
        str, typer.Argument(help="End claims about this name, alias, or reference (project:rowan).")
    ] = "",
    memory: Annotated[str, typer.Option(help="Plan to delete this memory for good, by its id.")] = "",
    entity: Annotated[str, typer.Option(help="Plan to delete an entity and all rows and pages that name it.")] = "",
    stored_session: Annotated[
        str,
        typer.Option(
            "--session",
            help="Plan to delete all rows of this session. With a subject: the session in which claims end.",
        ),
    ] = "",
    match: Annotated[
        str, typer.Option(help="Plan to delete all rows and pages that hold this text as whole words, in any case.")
    ] = "",
    statement: Annotated[str, typer.Option(help="Only claims with this statement.")] = "",
    kind: Annotated[str, typer.Option(help="Only this kind; note means all of them.")] = "note",
    scope: Scope = None,
    claim: Claims = None,
    reason: Reason = "",
    agent: Agent = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """End claims about a subject, or plan to delete stored rows.

    With SUBJECT claims end at once; rows and pages that name it stay stored. To erase a person, use --entity or --match: they make a plan
    that deletes rows and pages for good once it is approved and applied.
    """
    chosen: dict[Selector, str] = {"memory": memory, "entity": entity, "match": match}
    if not subject:
        chosen["session"] = stored_session
    given: list[tuple[Selector, str]] = [(by, value) for by, value in chosen.items() if value]
    if len(given) > 1 or (subject and given):
        raise Refused(
            "Name a subject or one of --memory, --entity, --session and --match, not several. Nothing was done."
        )
    if given:
        if dry_run or claim or statement or scope or kind != "note":
            raise Refused(
                "--dry-run, --claim, --statement, --scope and --kind belong to a subject. A plan deletes nothing until it is approved. "
                "Nothing was done."
            )
        by, value = given[0]
        _plan_forgetting(namespace, by, value, reason=reason, json=json)
        return
    if not subject:
        raise Refused("Name a subject, or one of --memory, --entity, --session and --match. Nothing was done.")
    from slowwave.surfaces.api.memory import Memory

    store = open_store()
    _show(
        Memory(namespace, store).forget(
            subject,
            statement,
            kind=kind,
            scope=scope,
            reason=reason,
            claim_ids=_whole(store, namespace, claim or ()),
            dry_run=dry_run,
            agent=agent,
            session_id=stored_session,
            origin_surface="cli",
        ),
        json=json,
    )


def _plan_forgetting(namespace: str, by: Selector, value: str, *, reason: str, json: bool) -> None:
    """Seal a plan that deletes rows for good and show what it means."""
    from slowwave.wiki.forget import plan_forgetting

    done = plan_forgetting(open_store(), namespace, by, value, reason=reason)
    if json:
        show_json(done.to_json())
        return
    say(done.sentence())
    for path in done.pages:
        edited = " A person edited its file since the last sync: the file stays until you delete it."
        say(f"deletes the page {plain(path)}.{edited if path in done.edited else ''}", indent=2)
    for folder in done.histories:
        say(f"{plain(folder)} is in a git repository, and its history keeps the pages.", indent=2)
    plan = f"{argument(namespace)} {done.plan_hash[:12]}"
    suggest("Every row", f"{program()} plans diff {plan} --all")
    suggest("Approve it", f"{program()} plans approve {argument(namespace)} {done.plan_hash[:12]} --by NAME")


def _whole(store: Store, namespace: str, claims: Sequence[str]) -> tuple[str, ...]:
    """Return the full ids of claims whose beginnings are given, as lists and pages show them.

    Raises ``Refused`` for a beginning that matches no claim.
    """
    if not claims:
        return ()

    found = [(beginning, claim_of(store, namespace, beginning.strip().lower())) for beginning in claims]
    for beginning, claim in found:
        if claim is None:
            raise Refused(
                f"{beginning!r} is no claim of {namespace}. `slowwave history NAMESPACE SUBJECT` lists those of a subject."
            )
    return tuple(claim.id for _, claim in found if claim is not None)


def _show(done: RememberResponse, *, json: bool) -> None:
    """Print what was done; exit with code 2 if the request was rejected."""
    if json:
        show_json(done.model_dump(mode="json", exclude_unset=True))
    else:
        about = f" · {done.subject_ref}" if done.subject_ref else ""
        say(f"{done.result}{about}")
        say(done.message)
        for warning in done.warnings:
            say(warning)
        if done.known:
            out.print()
            rows = [(k.id, k.relation, k.kind, k.since[:10], (k.until or "")[:10], k.statement) for k in done.known]
            show_table("Known", ("claim", "relation", "kind", "since", "until", "statement"), rows)
        if done.claim_id:
            say(f"claim {done.claim_id}")
        if done.evidence_path:
            say(f"evidence {done.evidence_path}")
    if done.result == "rejected":
        raise typer.Exit(2)


# Claims for people: the evidence of one, and what was believed about a subject.

_ID: Final = re.compile(r"[0-9a-f-]{4,36}")

_SAID: Final = {
    "added": "stated",
    "supported": "stated again",
    "replaced": "replaced",
    "contradicted": "contradicted",
    "retired": "forgotten",
    "invalidated": "invalidated",
}


def claim_of(store: Store, namespace: str, beginning: str) -> ClaimResponse | None:
    """Return the claim whose id begins with this text, or None if there is none.

    Raises ``Refused`` if there are several.
    """
    if not _ID.fullmatch(beginning):
        return None
    try:
        with store.connect("reader") as connection:
            return read_claim(connection, namespace, ClaimRequest(id=beginning))
    except NotInCorpus:
        return None


def show_claim(namespace: str, found: ClaimResponse, *, json: bool) -> None:
    """Print the evidence of a claim and its history."""
    if json:
        show_json({"namespace": namespace, **found.model_dump(mode="json")})
        return
    out.print(f"[bold]{found.id}[/] of {found.subject_ref}")
    say(f"{found.kind} · {found.status} · {_period(found)} · confidence {found.confidence:g}")
    out.print()
    say(found.statement or "It was forgotten: its words are not shown.")
    show_table("Events", ("when", "what", "by", "session", "other claim", "why"), map(list, _events(found)))
    if found.evidence:
        pages = [(e.path, _instant(e.at), e.agent, e.origin_surface, e.source, short(e.said)) for e in found.evidence]
        show_table("Evidence", ("page", "said", "by", "over", "from", "words"), pages)
    suggest(
        "Show all claims about the subject", f"slowwave history {argument(namespace)} {argument(found.subject_ref)}"
    )


def history(
    namespace: Namespace,
    subject: Annotated[str, typer.Argument(help="A name, an alias or a reference (project:rowan).")],
    scope: Annotated[str | None, typer.Option(help="person, project, concept, decision or core.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of claims.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show the claims about a subject over time."""
    from slowwave.surfaces.api.memory import Memory
    from slowwave.wiki.claims.trail import MOST

    found = Memory(namespace, open_store()).history(subject, scope=scope, limit=min(limit, MOST))
    _show_history(namespace, found, json=json)


def _show_history(namespace: str, found: SubjectHistoryResponse, *, json: bool) -> None:
    """Print what was believed about a subject, the newest first."""
    if json:
        show_json({"namespace": namespace, **found.model_dump(mode="json")})
        return
    if found.candidates:
        say(f"{found.subject} may mean:")
        for candidate in found.candidates:
            say(f"{candidate.name} ({candidate.subject_ref})", indent=2)
        return
    if not found.claims:
        say(f"There is no claim about {found.subject} ({found.subject_ref}).")
        return
    rows = [
        (c.id[:8], c.kind, c.status, _period(c), short(c.statement) or "(forgotten)", "; ".join(_changes(c)))
        for c in found.claims
    ]
    show_table(
        f"{found.subject} ({found.subject_ref})",
        ("claim", "kind", "status", "true", "statement", "why it changed"),
        rows,
    )
    suggest("Show the evidence of one", f"slowwave why {argument(namespace)} {found.claims[0].id[:8]}")


def _changes(claim: BelievedClaim) -> list[str]:
    """Describe what happened to a claim after it was stated."""
    sentences: list[str] = []
    for event in claim.events:
        if event.event == "added":
            continue
        by = f" by {event.other_id[:8]}" if event.other_id else ""
        why = f": {event.reason.removesuffix('.')}" if event.reason else ""
        sentences.append(f"{_SAID.get(event.event, event.event)}{by} on {event.at:%Y-%m-%d}{why}")
    return sentences


def _events(found: BelievedClaim) -> list[tuple[str, ...]]:
    return [
        (
            *(_instant(e.at), _SAID.get(e.event, e.event), e.agent, e.session_id or ""),
            *((e.other_id or "")[:8], e.reason),
        )
        for e in found.events
    ]


def _period(claim: BelievedClaim) -> str:
    since = f"{claim.since.astimezone(UTC):%Y-%m-%d}"
    return f"since {since}" if claim.until is None else f"{since} to {claim.until.astimezone(UTC):%Y-%m-%d}"


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


# ``slowwave proposals``: the proposals of agents, their plans, and their outcomes.

app = typer.Typer(help="List, plan, approve and reject the proposals of agents.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="Id of the proposal, or its first characters.")]


@app.command("list")
def list_(
    namespace: Namespace,
    status: Annotated[str | None, typer.Option("--status", help="Only proposals with this status.")] = None,
    json: Json = False,
) -> None:
    """List proposals, newest first."""
    from slowwave.wiki.proposals import proposals

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
    """Make a plan of each kept proposal.

    Decisions that were made with tokens are recorded on the plans.
    """
    from slowwave.wiki.proposals import settle

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
        say(f"Proposal {id_[:8]} is pending as plan {plan_hash[:12]}.")
    for id_, why in done.refused.items():
        say(f"Proposal {id_[:8]} cannot be planned: {why}")
    for id_ in done.signed:
        say(f"Proposal {id_[:8]} is approved.")
    for id_ in done.rejected:
        say(f"Proposal {id_[:8]} is rejected.")
    if not (done.sealed or done.refused or done.signed or done.rejected):
        say("There is no new proposal or decision.")
    elif done.sealed:
        suggest("One of them", f"{program()} proposals show {argument(namespace)} {next(iter(done.sealed))[:8]}")


@app.command()
def show(namespace: Namespace, id_: Id, json: Json = False) -> None:
    """Show a proposal and the command that decides it."""
    from slowwave.wiki.proposals import proposal

    store = open_store()
    with store.connect("reader") as connection:
        found = proposal(connection, namespace, ProposalByIdRequest(id=id_))
        left = undecided(connection, found.plan_hash) if found.plan_hash else None
    if json:
        show_json(found.model_dump(mode="json"))
        return
    say(f"Proposal {found.id} of {namespace}: {found.status}")
    if found.agent or found.reason:
        say(f"By {found.agent or 'an unnamed agent'}{f': {found.reason}' if found.reason else '.'}", indent=2)
    if found.message:
        say(found.message, indent=2)
    for action in found.actions:
        say(action.about())
        text = action.page.content if action.page is not None else action.statement.content if action.statement else ""
        gone = found.status == "applied" and action.forgets()  # the text of a forgotten claim is not shown again
        if text and not gone:
            say(short(text), indent=2)
    for sentence in found.still_held:
        say(sentence)
    if found.plan_hash:
        suggest("Its plan", f"{program()} plans show {argument(namespace)} {found.plan_hash[:12]}")
        suggest_decision(left)
    elif found.status == "kept":
        suggest("Plan it", f"{program()} proposals plan {argument(namespace)}")


@app.command()
def approve(
    namespace: Namespace,
    id_: Id,
    by: By = "",
    items: Items = None,
    note: Note = "",
    json: Json = False,
) -> None:
    """Approve the plan of a proposal, or some of its items."""
    from slowwave.operations import permits
    from slowwave.plans.gate import approve as sign

    store = open_store()
    found = _found(namespace, id_)
    chosen = None if items is None else [item.strip() for item in items.split(",") if item.strip()]
    plan_hash = _plan_of(found)
    signed = sign(store, namespace, plan_hash, approver=by, permits=permits(), channel="cli", items=chosen, note=note)
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
    reason: Reason,
    by: By = "",
    json: Json = False,
) -> None:
    """Reject a proposal.

    It is not proposed again until the data behind it change.
    """
    from slowwave.plans.gate import reject as turn_down

    store = open_store()
    found = _found(namespace, id_)
    count = turn_down(store, namespace, _plan_of(found), rejected_by=by, reason=reason)
    if json:
        show_json({"proposal": found.id, "plan_hash": found.plan_hash, "rejected": count})
        return
    say(f"Rejected {count:,} of the changes of proposal {found.id[:8]}.")


def _found(namespace: str, id_: str) -> ProposalResponse:
    from slowwave.wiki.proposals import proposal

    with open_store().connect("reader") as connection:
        return proposal(connection, namespace, ProposalByIdRequest(id=id_))


def _plan_of(found: ProposalResponse) -> str:
    if found.plan_hash is None:
        why = found.message or "`slowwave proposals plan NAMESPACE` makes one."
        raise Refused(f"Proposal {found.id[:8]} has no plan, so there is nothing to decide. {why}")
    return found.plan_hash
