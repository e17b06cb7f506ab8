"""Turn the rows of a file, such as chat messages, into documents, chunks, memories, entities and vectors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg

from slowwave.models.embedder import Embedder, entity_text
from slowwave.sources import loading
from slowwave.sources.loading import (
    BATCH_CHARACTERS,
    LoadedVectors,
    Progress,
    Steps,
    batches,
    claim,
    found_id,
    insert,
    insert_vectors,
    namespace_embedder,
    refuse_read_only,
)
from slowwave.sources.rows import (
    LONGEST_ID,
    BadRow,
    OnError,
    RowCheck,
    SkippedRow,
    State,
    bounded_lines,
    chosen_slug,
    content_id,
    instant,
    namespace_slug,
    parse_json,
    required_text,
    unreadable,
)
from slowwave.sources.turns import ImportTally, ImportTarget, Turn
from slowwave.store import tables
from slowwave.store.load import analyse
from slowwave.store.namespaces import refuse_connected

# Conversion of the rows of a file to rows of the store: documents, chunks, memories, entities, relationships and their vectors.
#
# The readers next to this module parse the formats, ``slowwave.sources.turns`` finds names and co-occurrences, and
# ``slowwave.sources.loading`` checks for existing rows. Rows are written in batches, each a short transaction of whole turns: an import
# that is stopped between two batches continues there when it is run again. Row ids are derived from the namespace and the source's ids, so
# a file imported twice adds nothing.


@dataclass(frozen=True, slots=True)
class Record:
    """An entity as its source states it."""

    external_id: str
    source: str
    entity_type: str
    name: str
    attributes: Mapping[str, Any]
    state: State = "active"
    mentions: int = 1


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import: slugs, rows added by table, rows left out, rows seen, and valid rows that already existed.

    ``reworded`` counts the existing rows that have changed since and got a new version. ``left`` are the ids of those that have changed
    and stay as they are: entities, and memories that are retired, archived or quarantined, or would have to be. ``screened`` counts the
    rows with a secret, an injection, hidden characters or look-alikes, by kind; ``quarantined`` of these are excluded from recall from
    the start. ``forgotten`` rows are left out because a plan forgot them for good.
    """

    namespaces: tuple[str, ...]
    added: Mapping[str, int]
    skipped: tuple[SkippedRow, ...]
    seen: int
    known: int
    screened: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0
    reworded: int = 0
    left: tuple[str, ...] = ()
    forgotten: int = 0


def write_turns(
    connection: psycopg.Connection[Any],
    turns: Sequence[Turn],
    check: RowCheck,
    *,
    embedder: Embedder,
    source: str,
    names: bool = True,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write the turns that a namespace does not have yet, in the order of their time; one transaction per batch.

    A turn becomes a chunk of its session's document and a memory with its first version (valid from ``created_at``). Names in it become
    entities or are added to existing ones, and names of one chunk become ASSOCIATED_WITH relationships; without ``names`` neither
    happens. A turn is identified by its external id. A turn whose text differs from the last import gives its memory a new version with a
    vector, and a new chunk in place of the old one. If the memory cannot take a version, it is left and listed. Names are extracted and
    vectors computed outside the transactions. A quarantined turn becomes only a memory: its text makes no chunk and no names, because
    recall would find these.

    Raises ``ImportRefused`` (read-only namespace), ``EmbeddingError``, ``StoreError``; batches before that are kept.
    """
    groups: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        groups[turn.namespace].append(turn)
    tally = ImportTally()
    steps = Steps(progress, len(turns))
    refuse_read_only(connection, groups)
    refuse_connected(connection, groups)
    for slug, group in groups.items():
        vectors = LoadedVectors(namespace_embedder(connection, slug, embedder))
        target = ImportTarget(connection, slug, source, vectors, tally, names=names)
        in_time = sorted(group, key=lambda turn: turn.created_at)
        for batch in batches(in_time, lambda turn: len(turn.content), BATCH_CHARACTERS):
            tally.known += len(batch)
            target.write(batch, steps.part(len(batch)))
            steps.finish(len(batch))
    analyse(connection, tally.added)
    return summarize_import(tuple(groups), tally, check)


def write_records(
    connection: psycopg.Connection[Any],
    slug: str,
    records: Sequence[Record],
    check: RowCheck,
    *,
    embedder: Embedder,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write the entities that the namespace does not have yet, identified by (source, external id); one transaction per batch.

    A known entity whose content differs from the last import is left as it is and listed. Raises as ``write_turns`` does.
    """
    tally = ImportTally()
    steps = Steps(progress, len(records))
    refuse_read_only(connection, [slug])
    refuse_connected(connection, [slug])
    embedder = namespace_embedder(connection, slug, embedder)
    for batch in batches(records, lambda record: len(record.name) + len(str(record.attributes)), BATCH_CHARACTERS):
        step, vectors = steps.part(len(batch)), LoadedVectors(embedder)
        with connection.transaction():
            within = found_id(connection, slug)
            named = {_key(record): loading.row_id(within, "entities", *_key(record)) for record in batch}
            gone = loading.erased(connection, within, "entities", list(named.values()))
            batch = [record for record in batch if named[_key(record)] not in gone]
            known = loading.entities(connection, within, [_key(record) for record in batch])
        tally.forgotten += len(gone)
        vectors.need([_text(record) for record in batch if _key(record) not in known], step)
        with connection.transaction():
            namespace = claim(connection, slug, tally.added, embedder.model)
            known = loading.entities(connection, namespace, [_key(record) for record in batch])
            fresh = [record for record in batch if _key(record) not in known]
            texts = [_text(record) for record in fresh]
            vectors.need(texts, step)
            ids = [loading.row_id(namespace, "entities", *_key(record)) for record in fresh]
            rows = (_entity_row(namespace, row_id, record) for row_id, record in zip(ids, fresh, strict=True))
            insert(connection, tables.entities, rows, len(ids), tally.added)
            insert_vectors(connection, namespace, {"entity_vectors": (ids, texts)}, vectors, tally.added, step)
        tally.known += len(batch) - len(fresh)
        tally.left += [
            ":".join(_key(record)) for record in batch if known.get(_key(record), _said(record)) != _said(record)
        ]
        steps.finish(len(batch) + len(gone))
    analyse(connection, tally.added)
    return summarize_import((slug,) if records else (), tally, check)


def summarize_import(slugs: tuple[str, ...], tally: ImportTally, check: RowCheck) -> ImportSummary:
    """Build the summary of an import into some namespaces from its counts and the check of its rows."""
    screening = check.screening
    return ImportSummary(
        slugs,
        dict(tally.added),
        tuple(check.skipped),
        check.seen,
        tally.known,
        dict(screening.found),
        screening.quarantined,
        tally.reworded,
        tuple(dict.fromkeys(tally.left)),
        tally.forgotten,
    )


def _entity_row(namespace: str, row_id: str, record: Record) -> dict[str, object]:
    return {
        "id": row_id,
        "namespace_id": namespace,
        "external_id": record.external_id,
        "source": record.source,
        "entity_type": record.entity_type,
        "name": record.name,
        "attributes": dict(record.attributes),
        "mention_count": record.mentions,
        "state": record.state,
    }


def _key(record: Record) -> tuple[str, str]:
    return record.source, record.external_id


def _said(record: Record) -> dict[str, Any]:
    return {"name": record.name, "entity_type": record.entity_type, "attributes": dict(record.attributes)}


def _text(record: Record) -> str:
    return entity_text(record.name, record.entity_type)


# Chat messages as JSONL: ``namespace, created_at, role, content[, id]``, one turn per line.


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

    A turn with an ``id`` that exists already and another text becomes a new version. A turn without one is identified by a hash of its
    namespace, time, role and content, and exact repeats by their number; if it is edited, it is another turn. The whole file is read and
    checked before anything is written; see ``write_turns`` for what is. Raises ``ImportRefused``.
    """
    check = RowCheck.from_connection(connection, path, on_error)
    turns = list(read_messages(path, check, chosen_slug(namespace)))
    return write_turns(connection, turns, check, embedder=embedder, source="messages", progress=progress)


def read_messages(path: Path, check: RowCheck, namespace: str | None = None) -> Iterator[Turn]:
    """Yield the valid turns of a file in its order; report the others to ``check``.

    Blank lines are ignored.
    """
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
