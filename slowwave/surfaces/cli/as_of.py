"""``slowwave as-of``: the memories, entities and facts that an agent could recall at an earlier instant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from slowwave.errors import Refused
from slowwave.store.as_of import as_of as live_then
from slowwave.store.namespaces import namespace_id
from slowwave.surfaces.cli.session import Json, Namespace, chosen_namespaces, open_store, say, show_json, show_table

# ``slowwave as-of``: what an agent could recall at an earlier instant.

_MOST = 1_000_000


def as_of(
    namespace: Namespace,
    instant: Annotated[
        str, typer.Argument(help="ISO 8601, for example 2026-04-15 or 2026-04-15T09:30:00+02:00; UTC unless it says.")
    ],
    text: Annotated[str, typer.Option(help="Only rows that hold these characters.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many a table, the newest first.")] = 50,
    json: Json = False,
) -> None:
    """Show what recall could have found then, as it was then: memories, entities, relationships and facts."""
    then = _instant(instant)
    if not text.isascii() and text.encode(errors="ignore").decode() != text:
        raise Refused("--text is no text that this terminal and the database have in common: write it in UTF-8.")
    store = open_store()
    chosen_namespaces(store, namespace)
    with store.connect("reader") as connection:
        found = live_then(connection, namespace_id(connection, namespace), then, text=text, limit=limit)
    if json:
        show_json({"namespace": namespace, "instant": then.isoformat()} | found.to_json())
        return
    at = f"{namespace} at {then:%Y-%m-%d %H:%M} UTC"
    if not found:
        wanted = "nothing that recall could have found" if not text else "nothing with these characters"
        say(f"{namespace} had {wanted} at {then:%Y-%m-%d %H:%M} UTC.")
        return
    if found.memories:
        show_table(
            f"{at}: memories",
            ("memory", "kind", "ring", "stage", "text"),
            [(m.id, m.kind, m.ring, m.stage, m.text) for m in found.memories],
        )
    if found.entities:
        show_table(
            f"{at}: entities",
            ("entity", "type", "name", "also called", "description"),
            [(e.id, e.entity_type, e.name, ", ".join(e.aliases), e.description) for e in found.entities],
        )
    if found.relationships:
        show_table(
            f"{at}: relationships",
            ("relationship", "source", "type", "target", "since", "until"),
            [
                (r.id, r.source, r.relationship_type, r.target, _day(r.valid_from), _day(r.valid_to))
                for r in found.relationships
            ],
        )
    if found.facts:
        show_table(
            f"{at}: facts",
            ("fact", "says", "since", "until"),
            [
                (f.id, f.text or f"{f.subject} {f.predicate} {f.object}", _day(f.valid_from), _day(f.valid_to))
                for f in found.facts
            ],
        )
    full = [name for name, rows in found.to_json().items() if isinstance(rows, list) and len(rows) == limit]
    if full:
        say(f"There may be more {' and '.join(full)}: --limit shows more of them, --text those with a word.")


def _day(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant.astimezone(UTC):%Y-%m-%d}"


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # ``OverflowError``: before the first or after the last year of ``datetime``
        raise Refused(f"{text[:64]!r} is no instant. Write it as 2026-04-15 or 2026-04-15T09:30:00+02:00.") from None
