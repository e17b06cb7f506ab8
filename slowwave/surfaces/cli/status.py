"""``slowwave status``: the status of every namespace, one line each or as the review page of the day."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import argument, countersign_command
from slowwave.store.namespaces import unknown_namespace
from slowwave.surfaces.cli.session import (
    Json,
    OneNamespace,
    err,
    open_store,
    program,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.night.status import NamespaceStatus


# ``slowwave status``: the state of every namespace, one line each, or as one page in Markdown.


def status(
    namespace: OneNamespace = None,
    as_page: Annotated[
        bool, typer.Option("--digest", help="Print a summary page in Markdown, with open decisions first.")
    ] = False,
    send: Annotated[
        bool, typer.Option("--send", help="With --digest: send the page to the webhook of SLOWWAVE_DIGEST_URL.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what is pending, what failed and when nights are due."""
    from slowwave.night.status import ago, ahead, digest, held_back_counts, read_namespace_status
    from slowwave.operations.setting_names import diagnose_settings

    store = open_store()
    if send:
        if not as_page or namespace is not None or json:
            raise Refused("--send sends the page of all namespaces: it goes with --digest alone. Nothing was sent.")
        from slowwave.night.status import morning_page, send_page  # it imports the webhook client

        page, _ = morning_page(store)
        say(f"Sent to {send_page(store, page)}.")
        return
    with store.connect("reader") as connection:
        found = read_namespace_status(connection, namespace)
        if namespace is not None and not found:
            raise unknown_namespace(connection, namespace)
    now = datetime.now(UTC)
    if json:
        show_json([one.to_json() for one in found])
        return
    if as_page:
        sys.stdout.write(digest(found, now))
        return
    stale = any(one.stale for one in found)
    columns = ("namespace", "stands", "waits", *(("stale",) if stale else ()), "last night", "next night")
    show_table(
        "Namespaces",
        columns,
        [
            (
                *(one.namespace, one.word, _waits(one), *((one.stale or "",) if stale else ())),
                *(ago(one.last_night, now), ahead(one.next_night, now)),
            )
            for one in found
        ],
    )
    if asking := [one for one in found if one.to_approve or one.questions]:
        suggest("What the first of them asks", f"{program()} plans show {argument(asking[0].namespace)}")
    elif half := [one for one in found if one.half_signed]:
        suggest(
            "Somebody else signs the first",
            countersign_command(half[0].namespace, half[0].plan_hash, program=program()),
        )
    elif signed := [one for one in found if one.approvals]:
        suggest("Apply what is approved", f"{program()} apply {argument(signed[0].namespace)}")
    if unplanned := sorted((one for one in found if one.secrets or one.not_planned), key=lambda one: -one.secrets):
        first = unplanned[0]
        say(f"{first.namespace}: {', '.join(held_back_counts(first))}. {first.why_not_planned}")
        suggest("List the findings", f"{program()} night {argument(first.namespace)} --force")
    for note in diagnose_settings(store):
        say(f"Note: {note.finding} {note.remedy}", console=err)


def _waits(one: NamespaceStatus) -> str:
    """Format the pending items and questions of a namespace for one line."""
    asked = counted(one.questions, "question") if one.questions else ""
    items = counted(one.to_approve, "item") if one.to_approve else ""
    signed = f"{one.approvals:,} to apply" if one.approvals else ""
    half = f"{one.half_signed:,} to sign" if one.half_signed else ""
    return ", ".join(part for part in (items, asked, half, signed) if part)
