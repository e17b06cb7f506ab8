"""``slowwave remember`` and ``slowwave forget``: what an agent does by the call memory-write, by hand.

``forget`` has two forms. With a subject it ends claims at once. With a selector it seals a plan that deletes stored rows for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.session import (
    Json,
    Namespace,
    instant_of,
    open_store,
    out,
    plain,
    program,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.errors import Refused
from slowwave.plans.commands import argument

if TYPE_CHECKING:
    from slowwave.claims.remember_request import RememberResponse
    from slowwave.proposals.forget_stored import By
    from slowwave.store.connect import Store

Subject = Annotated[
    str, typer.Option(help="Whom or what it is about: a name, an alias, or a reference (project:rowan).")
]
Scope = Annotated[str | None, typer.Option(help="person, project, concept, decision or core; a new subject needs it.")]
Claims = Annotated[
    list[str] | None,
    typer.Option("--claim", help="Only this claim, by its id or the beginning of it; may be given again."),
]
Reason = Annotated[str, typer.Option(help="Why.")]
Agent = Annotated[str, typer.Option(help="Who says it.")]
Session = Annotated[str, typer.Option(help="The session in which it is said.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


def remember(
    namespace: Namespace,
    statement: Annotated[str, typer.Argument(help="One plain statement.")],
    subject: Subject = "",
    kind: Annotated[str, typer.Option(help="fact, preference, state, decision or note.")] = "fact",
    scope: Scope = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="It ends what was so until now: --claim, or all of the kind.")
    ] = False,
    claim: Claims = None,
    since: Annotated[str | None, typer.Option(help="Since when it is true, where that is not now.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure it is, from 0 to 1.")] = 1.0,
    reason: Reason = "",
    source: Annotated[str, typer.Option(help="Where it comes from: a page, a call, a person.")] = "",
    agent: Agent = "",
    session: Session = "",
    inbox: Annotated[bool, typer.Option("--inbox", help="Keep it as it came, about no subject.")] = False,
    soft: Annotated[
        bool, typer.Option("--soft", help="Put it aside where its subject is unknown or it speaks to a model.")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Remember a statement about a subject, with its evidence, and say what near is known."""
    from slowwave.api.memory import Memory

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
        str, typer.Argument(help="End claims about this name, alias, or reference (project:rowan) now.")
    ] = "",
    memory: Annotated[str, typer.Option(help="Plan to delete this memory for good, by its id.")] = "",
    entity: Annotated[str, typer.Option(help="Plan to delete an entity and all rows and pages that name it.")] = "",
    stored_session: Annotated[
        str,
        typer.Option(
            "--session",
            help="Plan to delete all that was stored of this session. With a subject: who ends claims in it.",
        ),
    ] = "",
    match: Annotated[
        str, typer.Option(help="Plan to delete all rows and pages that hold this text, in any case.")
    ] = "",
    statement: Annotated[str, typer.Option(help="Only what says this.")] = "",
    kind: Annotated[str, typer.Option(help="Only this kind; note means all of them.")] = "note",
    scope: Scope = None,
    claim: Claims = None,
    reason: Reason = "",
    agent: Agent = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """End claims about a subject now, or plan to delete stored rows for good: --memory, --entity, --session or --match."""
    chosen: dict[By, str] = {"memory": memory, "entity": entity, "match": match}
    if not subject:
        chosen["session"] = stored_session
    given: list[tuple[By, str]] = [(by, value) for by, value in chosen.items() if value]
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
    from slowwave.api.memory import Memory

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


def _plan_forgetting(namespace: str, by: By, value: str, *, reason: str, json: bool) -> None:
    """Seal a plan that deletes rows for good and show what it means."""
    from slowwave.proposals.forget_stored import plan_forgetting

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
    plan = f"{argument(namespace)} --plan {done.plan_hash[:12]}"
    suggest("Every row", f"{program()} plans diff {plan}")
    suggest("Approve it", f"{program()} plans approve {argument(namespace)} {done.plan_hash[:12]} --by NAME")


def _whole(store: Store, namespace: str, claims: Sequence[str]) -> tuple[str, ...]:
    """The ids of claims of which the beginnings are told, as lists and pages show them. Raises ``Refused`` for what begins none."""
    if not claims:
        return ()
    from slowwave.cli.claims import claim_of

    found = [(said, claim_of(store, namespace, said.strip().lower())) for said in claims]
    for said, claim in found:
        if claim is None:
            raise Refused(
                f"{said!r} is no claim of {namespace}. `slowwave history NAMESPACE SUBJECT` lists those of a subject."
            )
    return tuple(claim.id for _, claim in found if claim is not None)


def _show(done: RememberResponse, *, json: bool) -> None:
    """What was done; 2 where nothing was."""
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
