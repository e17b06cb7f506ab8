"""Facts from a table of anybody's: subject, predicate and object, one a row, by a map of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from slowwave.imports import stored
from slowwave.imports.batches import BATCH_CHARACTERS, Progress, Steps, batches
from slowwave.imports.columns import ColumnMap, read_rows
from slowwave.imports.loading import insert
from slowwave.imports.namespaces import claim, refuse_read_only
from slowwave.imports.pipeline import ImportSummary
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
from slowwave.language.embedder import Embedder
from slowwave.store import tables
from slowwave.store.load import analyse
from slowwave.store.namespaces import refuse_connected

FIELDS: Final = ("subject", "predicate", "object", "id", "text", "confidence", "valid_from", "valid_to", "session")
REQUIRED: Final = ("subject", "object", "predicate")
_STORED: Final = """
SELECT external_id, subject, predicate, object, fact_text FROM memory.memory_facts WHERE namespace_id = %s AND id = ANY(%s::uuid[])
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
    """Import one fact a row of a CSV or JSONL file into ``namespace`` (default: the slug of the file's name).

    ``columns`` are pairs ``FIELD=COLUMN`` of ``FIELDS``; subject, predicate and object are required. A fact is known by its ``id``, else by
    what it says and since when; one that stands and says something else is left as it is and named. Which fact replaces which is for a
    night to propose. A row that holds a secret or an order to a model is refused where the policy is to quarantine: facts have no state.
    Facts have no vectors: ``embedder`` names the model of a new namespace. Raises ``ImportRefused``, ``StoreError``; batches before that
    stand.
    """
    check, mapping = RowCheck.of(connection, path, on_error), ColumnMap.of(columns, FIELDS)
    slug = file_slug(path, namespace)
    first: dict[str, tuple[int, _Fact]] = {}

    def read(row: dict[str, Any]) -> _Fact:
        fact = _fact(row, slug)
        said = " ".join(map(str, fact.says))
        check.limits.check(slug, said, "the fact")
        if check.screening.state(slug, said) != "active":
            raise BadRow("it holds what screening sets aside, and facts cannot be set aside")
        return fact

    for line, fact in read_rows(path, check, mapping, REQUIRED, FIELDS, read):
        earlier = first.setdefault(fact.external_id, (line, fact))
        if earlier[1].values != fact.values:
            check.bad(line, f"its id was used in line {earlier[0]} for another fact")
    refuse_read_only(connection, [slug])
    refuse_connected(connection, [slug])
    facts, steps = [fact for _, fact in first.values()], Steps(progress, len(first))
    added, known, left, forgotten = Counter[str](), 0, list[str](), 0
    for batch in batches(facts, lambda fact: len(str(fact.values)), BATCH_CHARACTERS):
        with connection.transaction():
            within = claim(connection, slug, added, embedder.model)
            ids = {fact.external_id: stored.row_id(within, "memory_facts", fact.external_id) for fact in batch}
            gone = stored.erased(connection, within, "memory_facts", list(ids.values()))
            batch = [fact for fact in batch if ids[fact.external_id] not in gone]
            standing = _stored_facts(connection, within, batch)
            fresh = [fact for fact in batch if fact.external_id not in standing]
            rows = (_row(within, fact) for fact in fresh)
            insert(connection, tables.memory_facts, rows, len(fresh), added)
        known += len(batch) - len(fresh)
        forgotten += len(gone)
        left += [f.external_id for f in batch if standing.get(f.external_id, f.says) != f.says]
        steps.finish(len(batch) + len(gone))
    analyse(connection, added)
    screening = check.screening
    return ImportSummary(
        (slug,) if facts else (),
        dict(added),
        tuple(check.skipped),
        check.seen,
        known,
        dict(screening.found),
        left=tuple(left),
        forgotten=forgotten,
    )


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
        "id": stored.row_id(namespace, "memory_facts", fact.external_id),
        "namespace_id": namespace,
        "external_id": fact.external_id,
        **fact.values,
    }


def _stored_facts(
    connection: psycopg.Connection[Any], namespace: str, facts: Sequence[_Fact]
) -> dict[str, tuple[object, ...]]:
    ids = [stored.row_id(namespace, "memory_facts", fact.external_id) for fact in facts]
    return {str(external): tuple(said) for external, *said in connection.execute(_STORED, (namespace, ids)).fetchall()}
