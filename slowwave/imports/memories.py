"""Memories from a table of anybody's: one a row, by a map of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from slowwave.imports.batches import Progress
from slowwave.imports.columns import ColumnMap, read_rows
from slowwave.imports.pipeline import ImportSummary, write_turns
from slowwave.imports.rows import (
    LONGEST_ID,
    LONGEST_NAME,
    BadRow,
    OnError,
    RowCheck,
    content_id,
    file_slug,
    instant,
    required_text,
)
from slowwave.imports.turns import Turn
from slowwave.language.embedder import Embedder

FIELDS: Final = ("text", "id", "kind", "subject", "author", "session", "created_at")
KINDS: Final = ("episodic", "semantic", "procedural", "working", "event", "claim", "topic", "summary")


def import_memories(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
    now: datetime | None = None,
) -> ImportSummary:
    """Import one memory a row of a CSV or JSONL file into ``namespace`` (default: the slug of the file's name).

    ``columns`` are pairs ``FIELD=COLUMN`` of ``FIELDS``; only ``text`` is required. A row with an ``id`` that stands already and another
    text becomes a new version; one without is known by its kind, subject, author and text. What has no ``created_at`` was remembered
    now. Raises ``ImportRefused``; see ``write_turns`` for what is written.
    """
    check, mapping = RowCheck.of(connection, path, on_error), ColumnMap.of(columns, FIELDS)
    slug, moment = file_slug(path, namespace), (now or datetime.now(UTC))
    first: dict[str, tuple[int, Turn]] = {}

    def read(row: dict[str, Any]) -> Turn:
        turn = _turn(row, slug, moment)
        check.limits.check(slug, turn.content, "text")
        return replace(turn, state=check.screening.state(slug, turn.content))

    for line, turn in read_rows(path, check, mapping, ("text",), FIELDS, read):
        earlier = first.setdefault(turn.external_id, (line, turn))
        if earlier[1].content != turn.content:
            check.bad(line, f"its id was used in line {earlier[0]} for another memory")
    return write_turns(
        connection, [t for _, t in first.values()], check, embedder=embedder, source="table", progress=progress
    )


def _turn(row: dict[str, Any], slug: str, now: datetime) -> Turn:
    content = required_text(row, "text")
    kind = required_text(row, "kind", 64) if "kind" in row else "semantic"
    if kind not in KINDS:
        raise BadRow(f"kind is none of {', '.join(KINDS)}")
    subject = required_text(row, "subject", LONGEST_NAME) if "subject" in row else ""
    author = required_text(row, "author", 64) if "author" in row else ""
    created_at = instant(row["created_at"], "created_at") if "created_at" in row else now
    external_id = (
        required_text(row, "id", LONGEST_ID) if "id" in row else content_id(slug, kind, subject, author, content)
    )
    session = required_text(row, "session", LONGEST_NAME) if "session" in row else created_at.date().isoformat()
    return Turn(slug, external_id, created_at, author, content, session=session, kind=kind, subject=subject)
