"""Import facts, memories and entities from a table of any origin."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

import psycopg

from slowwave.models.embedder import Embedder
from slowwave.sources import loading
from slowwave.sources.loading import BATCH_CHARACTERS, Progress, Steps, batches, claim, insert, refuse_read_only
from slowwave.sources.pipeline import ImportSummary, Record, summarize_import, write_records, write_turns
from slowwave.sources.rows import (
    LONGEST_ID,
    LONGEST_NAME,
    LONGEST_SOURCE,
    BadRow,
    ColumnMap,
    OnError,
    RowCheck,
    Table,
    content_id,
    file_slug,
    instant,
    parse_json,
    read_rows,
    required_text,
    storable,
    unreadable,
)
from slowwave.sources.turns import ImportTally, Turn
from slowwave.store import tables
from slowwave.store.load import analyse
from slowwave.store.namespaces import refuse_connected

# Facts from a table of any origin: subject, predicate and object, one per row, with a map of its columns.

FIELDS: Final = ("subject", "predicate", "object", "id", "text", "confidence", "valid_from", "valid_to", "session")
REQUIRED: Final = ("subject", "object", "predicate")
_STORED: Final = """
SELECT external_id, subject, predicate, object, fact_text FROM memory.memory_facts WHERE namespace_id = %s AND id = ANY(%s::uuid[])
"""

_STARTS: Final = """
SELECT m.external_id, m.valid_from FROM memory.memories m JOIN memory.namespaces n ON n.id = m.namespace_id
WHERE n.slug = %s AND m.external_id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class _Fact:
    external_id: str
    values: Mapping[str, object]

    @property
    def says(self) -> tuple[object, ...]:
        return tuple(self.values[name] for name in ("subject", "predicate", "object", "fact_text"))


def import_facts(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> ImportSummary:
    """Import one fact per row of a CSV or JSONL file into ``namespace`` (default: the slug of the file's name).

    ``columns`` are pairs ``FIELD=COLUMN`` of ``FIELDS``; subject, predicate and object are required. A fact is identified by its ``id``,
    else by its content and start. An existing fact with other content in the file is left as it is and listed. Which fact replaces which
    is for a night to propose. A row that holds a secret or an order to a model is refused if the policy is to quarantine, because facts
    have no state. Facts have no vectors: ``embedder`` names the model of a new namespace. Raises ``ImportRefused``, ``StoreError``;
    batches before that are kept.
    """
    check, mapping = RowCheck.from_connection(connection, path, on_error), ColumnMap.parse(columns, FIELDS)
    slug = file_slug(path, namespace)
    first: dict[str, tuple[int, _Fact]] = {}

    def read(row: dict[str, Any]) -> _Fact:
        fact = _fact(row, slug)
        sentence = " ".join(map(str, fact.says))
        check.limits.check(slug, sentence, "the fact")
        if check.screening.state(slug, sentence) != "active":
            raise BadRow("it holds what screening sets aside, and facts cannot be set aside")
        return fact

    for line, fact in read_rows(path, check, mapping, REQUIRED, FIELDS, read):
        earlier = first.setdefault(fact.external_id, (line, fact))
        if earlier[1].values != fact.values:
            check.bad(line, f"its id was used in line {earlier[0]} for another fact")
    refuse_read_only(connection, [slug])
    refuse_connected(connection, [slug])
    facts, steps, tally = [fact for _, fact in first.values()], Steps(progress, len(first)), ImportTally()
    for batch in batches(facts, lambda fact: len(str(fact.values)), BATCH_CHARACTERS):
        with connection.transaction():
            within = claim(connection, slug, tally.added, embedder.model)
            ids = {fact.external_id: loading.row_id(within, "memory_facts", fact.external_id) for fact in batch}
            gone = loading.erased(connection, within, "memory_facts", list(ids.values()))
            batch = [fact for fact in batch if ids[fact.external_id] not in gone]
            standing = _stored_facts(connection, within, batch)
            fresh = [fact for fact in batch if fact.external_id not in standing]
            rows = (_row(within, fact) for fact in fresh)
            insert(connection, tables.memory_facts, rows, len(fresh), tally.added)
        tally.known += len(batch) - len(fresh)
        tally.forgotten += len(gone)
        tally.left += [f.external_id for f in batch if standing.get(f.external_id, f.says) != f.says]
        steps.finish(len(batch) + len(gone))
    analyse(connection, tally.added)
    return replace(summarize_import((slug,) if facts else (), tally, check), quarantined=0)  # such rows were refused


def _fact(row: dict[str, Any], slug: str) -> _Fact:
    subject, predicate, object_ = (
        required_text(row, name, LONGEST_NAME) for name in ("subject", "predicate", "object")
    )
    values: dict[str, object] = {
        "subject": subject,
        "predicate": predicate,
        "object": object_,
        "fact_text": required_text(row, "text") if "text" in row else f"{subject} {predicate} {object_}",
        "confidence": _share(row.get("confidence", 1.0)),
        "valid_from": instant(row["valid_from"], "valid_from") if "valid_from" in row else None,
        "valid_to": instant(row["valid_to"], "valid_to") if "valid_to" in row else None,
        "session_id": required_text(row, "session", LONGEST_NAME) if "session" in row else None,
    }
    since, until = values["valid_from"], values["valid_to"]
    if isinstance(since, datetime) and isinstance(until, datetime) and until < since:
        raise BadRow("valid_to lies before valid_from")
    known_by = (slug, subject, predicate, object_, str(since))
    return _Fact(required_text(row, "id", LONGEST_ID) if "id" in row else content_id(*known_by), values)


def _share(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadRow("confidence is no number from 0 to 1")
    return share


def _row(namespace: str, fact: _Fact) -> dict[str, object]:
    return {
        "id": loading.row_id(namespace, "memory_facts", fact.external_id),
        "namespace_id": namespace,
        "external_id": fact.external_id,
        **fact.values,
    }


def _stored_facts(
    connection: psycopg.Connection[Any], namespace: str, facts: Sequence[_Fact]
) -> dict[str, tuple[object, ...]]:
    ids = [loading.row_id(namespace, "memory_facts", fact.external_id) for fact in facts]
    return {
        str(external): tuple(values) for external, *values in connection.execute(_STORED, (namespace, ids)).fetchall()
    }


# Memories from a table of any origin: one per row, with a map of its columns.

FIELDS_MEMORIES: Final = ("text", "id", "kind", "subject", "author", "session", "created_at")
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
    """Import one memory per row of a CSV or JSONL file into ``namespace`` (default: the slug of the file's name).

    ``columns`` are pairs ``FIELD=COLUMN`` of ``FIELDS``; only ``text`` is required. A row with an ``id`` that exists already and another
    text becomes a new version. A row without one is identified by its kind, subject, author, text and ``created_at``, so that what was
    observed on two days is two memories. A row without ``created_at`` gets the present time, which identifies nothing. Raises
    ``ImportRefused``; see ``write_turns`` for what is written.
    """
    check, mapping = RowCheck.from_connection(connection, path, on_error), ColumnMap.parse(columns, FIELDS_MEMORIES)
    slug, moment = file_slug(path, namespace), (now or datetime.now(UTC))
    first: dict[str, tuple[int, Turn]] = {}

    def read(row: dict[str, Any]) -> Turn:
        turn = _turn(row, slug, moment)
        check.limits.check(slug, turn.content, "text")
        return replace(turn, state=check.screening.state(slug, turn.content))

    for line, turn in read_rows(path, check, mapping, ("text",), FIELDS_MEMORIES, read):
        earlier = first.setdefault(turn.external_id, (line, turn))
        if earlier[1].content != turn.content:
            check.bad(line, f"its id was used in line {earlier[0]} for another memory")
    turns = _as_stored(connection, slug, [turn for _, turn in first.values()])
    return write_turns(connection, turns, check, embedder=embedder, source="table", progress=progress)


def _as_stored(connection: psycopg.Connection[Any], slug: str, turns: Sequence[Turn]) -> list[Turn]:
    """Return the rows with the ids under which earlier versions, whose ids did not cover the time, stored them; one query."""
    undated = {_id_of(t): _id_of(t, dated=False) for t in turns}
    stored = dict(connection.execute(_STARTS, (slug, list(undated.values()))).fetchall())
    return [
        replace(t, external_id=undated[t.external_id])
        if t.external_id in undated and stored.get(undated[t.external_id]) == t.created_at
        else t
        for t in turns
    ]


def _id_of(turn: Turn, *, dated: bool = True) -> str:
    said = (turn.namespace, turn.kind, turn.subject, turn.role, turn.content)
    return content_id(*said, *([turn.created_at.isoformat()] if dated else []))


def _turn(row: dict[str, Any], slug: str, now: datetime) -> Turn:
    content = required_text(row, "text")
    kind = required_text(row, "kind", 64) if "kind" in row else "semantic"
    if kind not in KINDS:
        raise BadRow(f"kind is none of {', '.join(KINDS)}")
    subject = required_text(row, "subject", LONGEST_NAME) if "subject" in row else ""
    author = required_text(row, "author", 64) if "author" in row else ""
    created_at = instant(row["created_at"], "created_at") if "created_at" in row else now
    session = required_text(row, "session", LONGEST_NAME) if "session" in row else created_at.date().isoformat()
    turn = Turn(slug, "", created_at, author, content, session=session, kind=kind, subject=subject)
    external_id = required_text(row, "id", LONGEST_ID) if "id" in row else _id_of(turn, dated="created_at" in row)
    return replace(turn, external_id=external_id)


# Entities as CSV (``.csv`` or ``.csv.gz``): ``id, source, entity_type, name, attrs``; other columns are ignored.

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
    """Import one entity per line into ``namespace`` (default: the slug of the file's name), merging nothing.

    ``attrs`` is a JSON object or empty. A row is identified by (namespace, source, id). An existing row with other content in the file is
    left as it is and listed. Raises ``ImportRefused``.
    """
    check = RowCheck.from_connection(connection, path, on_error)
    slug = file_slug(path, namespace)
    records = list(read_records(path, check, slug))
    return write_records(connection, slug, records, check, embedder=embedder, progress=progress)


def read_records(path: Path, check: RowCheck, namespace: str = "") -> Iterator[Record]:
    """Yield the valid rows of a file in its order; report the others to ``check``.

    A row that is repeated word for word counts once.
    """
    first: dict[tuple[str, str], tuple[int, Record]] = {}
    try:
        with _opened(path) as file:
            for line, row, more in Table(file, check, COLUMNS, kind="entity_type"):
                try:
                    record = _record(row, more=more)
                    texts = "\n".join((record.name, *map(str, record.attributes.values())))
                    check.limits.check(namespace, texts, "name and attrs")
                    earlier = first.setdefault((record.source, record.external_id), (line, record))
                    if earlier[1] != record:
                        raise BadRow(f"its source and id were used in line {earlier[0]} for another entity")
                    state = "active"
                    if earlier[1] is record:
                        state = check.screening.state(namespace, texts)
                except BadRow as error:
                    check.bad(line, str(error))
                    continue
                if earlier[1] is record:
                    yield record if state == "active" else replace(record, state=state)
    except (OSError, EOFError, zlib.error) as error:
        unreadable(path, error)


def _opened(path: Path) -> TextIO:
    """Open the file as text; bytes that are not UTF-8 become surrogates, which the checks of the rows refuse by line."""
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
