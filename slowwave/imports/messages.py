"""Chat messages as JSONL: ``namespace, created_at, role, content[, id]``, one turn a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from slowwave.imports.batches import Progress
from slowwave.imports.lines import bounded_lines
from slowwave.imports.pipeline import ImportSummary, write_turns
from slowwave.imports.rows import (
    LONGEST_ID,
    BadRow,
    OnError,
    RowCheck,
    chosen_slug,
    content_id,
    instant,
    namespace_slug,
    parse_json,
    required_text,
    unreadable,
)
from slowwave.imports.turns import Turn
from slowwave.language.embedder import Embedder


def import_messages(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import every turn of a JSONL file; ``namespace`` replaces the rows' own.

    A turn with an ``id`` that stands already and another text becomes a new version. One without is known by a hash of its namespace,
    time, role and content, and true repeats by their number: edited, it is another turn. The whole file is read and checked before
    anything is written; see ``write_turns`` for what is. Raises ``ImportRefused``.
    """
    check = RowCheck.of(connection, path, on_error)
    turns = list(read_messages(path, check, chosen_slug(namespace)))
    return write_turns(connection, turns, check, embedder=embedder, source="messages", progress=progress)


def read_messages(path: Path, check: RowCheck, namespace: str | None = None) -> Iterator[Turn]:
    """The good turns of a file, in its order; the others go to ``check``. Blank lines are nothing."""
    repeats: Counter[str] = Counter()
    first: dict[tuple[str, str], tuple[int, Turn]] = {}
    try:
        with path.open("rb") as file:
            for line, raw in ((found.number, found.text) for found in bounded_lines(file.readline, check.limits.line)):
                text = raw.removeprefix(b"\xef\xbb\xbf") if raw is not None and line == 1 else raw
                if text is not None and not text.strip():
                    continue
                check.seen += 1
                try:
                    if text is None:
                        raise BadRow(f"the line has more than {check.limits.line:,} bytes")
                    turn = _turn(parse_json(text), namespace, repeats)
                    check.limits.check(turn.namespace, turn.content, "content")
                    earlier = first.setdefault((turn.namespace, turn.external_id), (line, turn))
                    if earlier[1] != turn:
                        raise BadRow(f"its id was used in line {earlier[0]} for another turn")
                    if earlier[0] == line:
                        turn = replace(turn, state=check.screening.state(turn.namespace, turn.content))
                except BadRow as error:
                    check.bad(line, str(error))
                    continue
                if earlier[0] == line:
                    yield turn
    except OSError as error:
        unreadable(path, error)


def _turn(row: object, namespace: str | None, repeats: Counter[str]) -> Turn:
    if not isinstance(row, dict):
        raise BadRow("not a JSON object")
    slug = namespace or namespace_slug(required_text(row, "namespace"))
    created_at = instant(row.get("created_at"), "created_at")
    role = required_text(row, "role", 64)
    content = required_text(row, "content")
    if row.get("id") is not None:
        external_id = required_text(row, "id", LONGEST_ID)
    else:
        external_id = content_id(slug, created_at.isoformat(), role, content)
        repeats[external_id] += 1
        if repeats[external_id] > 1:
            external_id = f"{external_id}-{repeats[external_id]}"
    return Turn(slug, external_id, created_at, role, content, session=created_at.date().isoformat())
