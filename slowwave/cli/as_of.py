"""``slowwave as-of``: what an agent could recall at an earlier instant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, chosen_namespaces, open_store, out, plain, show_json, show_table
from slowwave.errors import Refused
from slowwave.plans.ledger import namespace_id
from slowwave.store.as_of import memories_as_of

_QUOTED = 200
_MOST = 1_000_000


def as_of(
    namespace: Namespace,
    instant: Annotated[
        str, typer.Argument(help="ISO 8601, for example 2026-04-15 or 2026-04-15T09:30:00+02:00; UTC unless it says.")
    ],
    text: Annotated[str, typer.Option(help="Only memories that hold these characters.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many, the newest first.")] = 50,
    json: Json = False,
) -> None:
    """Show the memories that were live then, as they were then."""
    then = _instant(instant)
    if not text.isascii() and text.encode(errors="ignore").decode() != text:
        raise Refused("--text is no text that this terminal and the database have in common: write it in UTF-8.")
    store = open_store()
    chosen_namespaces(store, namespace)
    with store.connect("reader") as connection:
        found = memories_as_of(connection, namespace_id(connection, namespace), then, text=text, limit=limit)
    if json:
        show_json({"namespace": namespace, "instant": then.isoformat(), "memories": [m.to_json() for m in found]})
        return
    if not found:
        out.print(f"{plain(namespace)} had no such memory at {then:%Y-%m-%d %H:%M} UTC.")
        return
    show_table(
        f"{namespace} at {then:%Y-%m-%d %H:%M} UTC",
        ("memory", "kind", "ring", "stage", "text"),
        [(m.id[:8], m.kind, m.ring, m.stage, m.text[:_QUOTED]) for m in found],
    )


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # the latter beyond the first and the last year
        raise Refused(f"{text[:64]!r} is no instant. Write it as 2026-04-15 or 2026-04-15T09:30:00+02:00.") from None
