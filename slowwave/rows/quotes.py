"""What rows of a snapshot say, in their own words, for people who are to judge them.

Quotes are memory text: whoever shows them escapes them and obeys the namespace's ``redact_text``. Secrets are marked here already, as a
quote may be kept longer than the row that it is taken from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.screening import redact

LONGEST: Final = 400
"""Characters of a quote."""

_READ: Final = 20_000  # characters of a text that are screened: a secret is never cut in two before it is looked for


def quotes(snapshot: Snapshot, wanted: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Row id → what it says, of the ids ``wanted`` by table: a memory its current version, a fact its text or its three parts, a
    relationship who, what, whom and its description, an entity its name.

    Rows of other tables, those that are not in the snapshot and those that say nothing are left out. Cost: a pass over the ids of each
    table that has one of them, and screening of what they say.
    """
    readers = {
        "entities": _entities,
        "memories": _memories,
        "memory_facts": _facts,
        "relationships": _relationships,
    }
    found: dict[str, str] = {}
    for table, ids in wanted.items():
        if table in readers and ids:
            rows = snapshot.table(table)
            found |= readers[table](snapshot, rows.filter(_among(rows["id"], ids)))
    return {id_: redact(text[:_READ])[:LONGEST] for id_, text in found.items() if text}


def _entities(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    del snapshot
    return dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def _memories(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    versions = snapshot.table("memory_versions")
    current = versions.filter(_among(versions["id"], set(rows["current_version_id"].to_pylist())))
    texts = dict(zip(current["id"].to_pylist(), current["content"].to_pylist(), strict=True))
    read = zip(*(rows[name].to_pylist() for name in ("id", "current_version_id", "subject")), strict=True)
    return {id_: str(texts.get(version) or subject or "") for id_, version, subject in read}


def _facts(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    del snapshot
    return {
        row["id"]: row["fact_text"] or f"{row['subject']} {row['predicate']} {row['object']}"
        for row in rows.select(["id", "subject", "predicate", "object", "fact_text"]).to_pylist()
    }


def _relationships(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    ends = {id_ for column in ("source_entity_id", "target_entity_id") for id_ in rows[column].to_pylist()}
    entities = snapshot.table("entities")
    known = entities.filter(_among(entities["id"], ends))
    names = dict(zip(known["id"].to_pylist(), known["name"].to_pylist(), strict=True))
    found: dict[str, str] = {}
    for row in rows.to_pylist():
        source, target = (names.get(row[f"{end}_entity_id"], "") for end in ("source", "target"))
        properties = row["properties"] if row["properties"] not in (None, "", "{}") else ""
        said = ": ".join(part for part in (row["description"], properties) if part)
        found[row["id"]] = f"{source} {row['relationship_type']} {target}{f': {said}' if said else ''}"
    return found


def _among(ids: pa.ChunkedArray, wanted: Collection[str]) -> pa.ChunkedArray:
    return pc.is_in(ids, value_set=pa.array(sorted(i for i in wanted if i), pa.string()))
