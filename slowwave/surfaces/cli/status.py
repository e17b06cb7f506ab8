"""``slowwave status``: the status of every namespace, one line each or as the review page of the day."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import argument, countersign_command
from slowwave.plans.switches import why_disabled
from slowwave.store.connect import Store
from slowwave.store.namespaces import FIRST_NAMESPACE, unknown_namespace
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
from slowwave.text.tokens import counted, find_nearest

if TYPE_CHECKING:
    from slowwave.night.status import NamespaceStatus


_UNKNOWN_SETTING: Final = "SELECT 1 FROM memory.namespaces WHERE settings - %s::text[] <> '{}' LIMIT 1"

_FAILED: Final = 3
"""Failed namespaces whose reason is printed."""

_HELD_BACK: Final = ("store removed", "off", "read-only")
"""Next nights that no schedule would run."""

_SEEN_DAYS: Final = 8
"""Days without a scheduled run after which no scheduler is assumed; one more than the longest weekly schedule."""

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
        disabled = why_disabled(connection)
    now = datetime.now(UTC)
    if json:
        show_json([one.to_json() for one in found])
        return
    if as_page:
        sys.stdout.write(digest(found, now, disabled))
        return
    if not found:
        say(f"There is no namespace yet. {FIRST_NAMESPACE}")
        return
    if disabled:
        say(disabled)
    stale, scheduled = any(one.stale for one in found), _is_scheduled(found, now)
    columns = ("namespace", "status", "pending", *(("stale",) if stale else ()), "last night", "next night")
    show_table(
        "Namespaces",
        columns,
        [
            (
                *(one.namespace, one.word, _waits(one), *((one.stale or "",) if stale else ())),
                ago(one.last_night, now),
                ahead(one.next_night, now) if scheduled or one.next_night in _HELD_BACK else "no schedule",
            )
            for one in found
        ],
    )
    for one in [one for one in found if one.last_failure][:_FAILED]:
        _show_failure(one)
    if not scheduled and any(one.next_night not in _HELD_BACK for one in found):
        say(
            "No schedule has started a night in the last 8 days. A Dagster daemon of your own is seen here after its "
            "first scheduled night; without one, nights run only if you start them."
        )
        suggest("Run the schedule, or one night of each", f"{program()} dev", f"{program()} night ALL")
    if asking := [one for one in found if one.to_approve or one.questions]:
        suggest("Show the first pending plan", f"{program()} plans show {argument(asking[0].namespace)}")
    elif half := [one for one in found if one.half_signed]:
        suggest(
            "Another person approves the first one",
            countersign_command(half[0].namespace, half[0].plan_hash, program=program()),
        )
    elif signed := [one for one in found if one.approvals]:
        suggest("Apply what is approved", f"{program()} apply {argument(signed[0].namespace)}")
    if unplanned := sorted((one for one in found if one.secrets or one.not_planned), key=lambda one: -one.secrets):
        first = unplanned[0]
        say(f"{first.namespace}: {', '.join(held_back_counts(first))}. {first.why_not_planned}")
        suggest("List the findings", f"{program()} night {argument(first.namespace)} --force")
    if _may_be_misspelt(store):
        from slowwave.operations.setting_names import diagnose_settings  # it imports all operations

        for note in diagnose_settings(store):
            say(f"Note: {note.finding} {note.remedy}", console=err)


def _may_be_misspelt(store: Store) -> bool:
    """Return whether the name of a variable or of a namespace's setting may be unknown.

    Names in the settings of operations are not looked at, which takes half a second: a night refuses a misspelt one.
    """
    from slowwave.store.settings import PREFIX, PROGRAM_VARIABLES, Settings

    known = PROGRAM_VARIABLES | {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    names = (name for name in os.environ if name.upper() not in known)
    if any(find_nearest(name.partition("_")[0], (PREFIX[:-1],)) for name in names):
        return True
    with store.connect("reader") as connection:
        return connection.execute(_UNKNOWN_SETTING, (list(Settings.model_fields),)).fetchone() is not None


def _show_failure(one: NamespaceStatus) -> None:
    """Print why the last night of a namespace did not end, and the commands that help."""
    at = f"{one.last_failure:%Y-%m-%d %H:%M} UTC"
    if one.word == "interrupted":
        say(f"{one.namespace}: the night of {at} was interrupted; nothing was changed.")
    else:
        say(f"{one.namespace}: the night of {at} failed: {one.failure or 'its process ended without an error'}")
    name = argument(one.namespace)
    suggest("Run it again, or list its runs", f"{program()} night {name}", f"{program()} runs list {name}")


def _is_scheduled(found: Sequence[NamespaceStatus], now: datetime) -> bool:
    """Return whether a schedule started a run in the last eight days, or ``slowwave dev`` runs one now."""
    from slowwave.surfaces.cli.dev import is_running

    seen = found[0].scheduled_at
    return (seen is not None and now - seen < timedelta(days=_SEEN_DAYS)) or is_running()


def _waits(one: NamespaceStatus) -> str:
    """Format the pending items and questions of a namespace for one line."""
    asked = counted(one.questions, "question") if one.questions else ""
    items = counted(one.to_approve, "item") if one.to_approve else ""
    signed = f"{one.approvals:,} to apply" if one.approvals else ""
    half = f"{one.half_signed:,} to approve again" if one.half_signed else ""
    return ", ".join(part for part in (items, asked, half, signed) if part)
