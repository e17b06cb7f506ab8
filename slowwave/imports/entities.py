"""Entities as CSV (``.csv`` or ``.csv.gz``): ``id, source, entity_type, name, attrs``; other columns are ignored."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

import psycopg

from slowwave.imports.batches import Progress
from slowwave.imports.pipeline import ImportSummary, Record, write_records
from slowwave.imports.rows import (
    LONGEST_ID,
    LONGEST_NAME,
    LONGEST_SOURCE,
    BadRow,
    OnError,
    RowCheck,
    file_slug,
    parse_json,
    required_text,
    storable,
    unreadable,
)
from slowwave.imports.table import Table
from slowwave.language.embedder import Embedder

COLUMNS: Final = ("id", "source", "entity_type", "name", "attrs")


def import_entities(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import one entity a line into ``namespace`` (default: the slug of the file's name), merging nothing.

    ``attrs`` is a JSON object or empty. A row is known by (namespace, source, id); one that stands and says something else is left as it
    is and named. Raises ``ImportRefused``.
    """
    check = RowCheck.of(connection, path, on_error)
    slug = file_slug(path, namespace)
    records = list(read_records(path, check, slug))
    return write_records(connection, slug, records, check, embedder=embedder, progress=progress)


def read_records(path: Path, check: RowCheck, namespace: str = "") -> Iterator[Record]:
    """The good rows of a file, in its order; the others go to ``check``. A row repeated word for word counts once."""
    first: dict[tuple[str, str], tuple[int, Record]] = {}
    try:
        with _opened(path) as file:
            for line, row, more in Table(file, check, COLUMNS, kind="entity_type"):
                try:
                    record = _record(row, more=more)
                    said = "\n".join((record.name, *map(str, record.attributes.values())))
                    check.limits.check(namespace, said, "name and attrs")
                    earlier = first.setdefault((record.source, record.external_id), (line, record))
                    if earlier[1] != record:
                        raise BadRow(f"its source and id were used in line {earlier[0]} for another entity")
                    state = "active"
                    if earlier[1] is record:
                        state = check.screening.state(namespace, said)
                except BadRow as error:
                    check.bad(line, str(error))
                    continue
                if earlier[1] is record:
                    yield record if state == "active" else replace(record, state=state)
    except (OSError, EOFError, zlib.error) as error:
        unreadable(path, error)


def _opened(path: Path) -> TextIO:
    """The file as text; bytes that are not UTF-8 become surrogates, which the rows' checks refuse by line."""
    opener = gzip.open if path.name.endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")  # pyright: ignore[reportReturnType]


def _record(row: dict[str, Any], *, more: bool) -> Record:
    if more:
        raise BadRow("more fields than the first line names")
    attributes = parse_json(row["attrs"]) if (row["attrs"] or "").strip() else {}
    if not isinstance(attributes, dict):
        raise BadRow("attrs is not a JSON object")
    storable(attributes, "attrs")
    source = row["source"] or ""
    storable(source, "source")
    if len(source) > LONGEST_SOURCE:
        raise BadRow(f"source has {len(source)} characters, more than {LONGEST_SOURCE}")
    return Record(
        external_id=required_text(row, "id", LONGEST_ID),
        source=source,
        entity_type=required_text(row, "entity_type", 200),
        name=required_text(row, "name", LONGEST_NAME),
        attributes=attributes,
    )
