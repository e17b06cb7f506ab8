"""Sides: what is known of the rows in conflict, what a judge reads of each, and what whoever approves is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.conflict import SAID, Conflict
from slowwave.mutations.rows import live_ids
from slowwave.rows.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.quotation import quote

_SHOWN: Final = 300  # characters of what a row says, in evidence
_ENDS: Final = ("source_entity_id", "target_entity_id")
_WEIGHED: Final = ("confidence", "source_chunk_ids", "valid_from")
AUDIENCE: Final = ("visibility", "sensitivity")
"""Who may see a memory."""

_OF_MEMORIES: Final = ("valid_from", "importance", "source", "pinned", "state")

_Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ConflictRows:
    """What is known of the rows in conflict, by table and id: their columns, and the chunks and documents of theirs that stand."""

    rows: Mapping[tuple[str, str], _Fields]
    chunks: Mapping[tuple[str, str], tuple[str, ...]]
    sources_of: Mapping[str, str]  # chunk → the source of its document
    taken_at: datetime
    precedence: tuple[str, ...]
    low: float  # importance under which memories are too slight to ask a person


def weighed_columns(table: str) -> tuple[str, ...]:
    """The columns of a table, beside what its rows say, that evidence is weighed by."""
    if table == "memories":
        return _OF_MEMORIES
    return (*_WEIGHED, *(("source_document_ids",) if table == "relationships" else ()))


def read_sides(snapshot: Snapshot, conflicts: Sequence[Conflict], settings: Settings) -> ConflictRows:
    """What is known of the rows of some conflicts. Cost: a pass over each table that has one, and over chunks and documents."""
    rows: dict[tuple[str, str], _Fields] = {}
    chunks: dict[tuple[str, str], tuple[str, ...]] = {}
    live_chunks = live_ids(snapshot, "chunks") if conflicts else frozenset[str]()
    for table, said in SAID.items():
        wanted = {id_ for c in conflicts if c.table == table for id_ in (c.a, c.b)}
        if not wanted:
            continue
        whole = snapshot.table(table)
        columns = list(
            dict.fromkeys(["id", *said, *weighed_columns(table), "source_chunk_ids", "valid_to", "recorded_at"])
        )
        found = whole.filter(pc.is_in(whole["id"], value_set=pa.array(sorted(wanted), pa.string())))
        if table == "memories":
            found = found.append_column("text", version_texts(snapshot, found["current_version_id"]))
            columns += ["text", "access_count", *AUDIENCE]
        for row in found.select(columns).to_pylist():
            key = (table, str(row["id"]))
            rows[key] = row
            chunks[key] = tuple(dict.fromkeys(c for c in row["source_chunk_ids"] or () if c in live_chunks))
    return ConflictRows(
        rows,
        chunks,
        _sources_of(snapshot, {c for cs in chunks.values() for c in cs}),
        snapshot.taken_at,
        tuple(p.casefold() for p in settings.source_precedence),
        settings.operations.resolve_conflicts.low_importance,
    )


def _sources_of(snapshot: Snapshot, wanted: set[str]) -> dict[str, str]:
    if not wanted:
        return {}
    chunks, documents = snapshot.table("chunks"), snapshot.table("documents")
    found = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(wanted), pa.string())))
    at = pc.index_in(found["document_id"], value_set=documents["id"].combine_chunks())
    sources = pc.fill_null(documents["source"].take(at), "")
    return dict(zip(found["id"].to_pylist(), sources.to_pylist(), strict=True))


def passages(snapshot: Snapshot, wanted: set[str]) -> dict[str, str]:
    """Chunk → its text, of those wanted."""
    chunks = snapshot.table("chunks")
    found = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(wanted), pa.string())))
    return dict(zip(found["id"].to_pylist(), found["content"].to_pylist(), strict=True))


def end_names(snapshot: Snapshot, sides: ConflictRows) -> dict[str, str]:
    """Names of the entities at the ends of relationships in conflict."""
    wanted = {str(row[end]) for (table, _), row in sides.rows.items() if table == "relationships" for end in _ENDS}
    entities = snapshot.table("entities")
    found = entities.filter(pc.is_in(entities["id"], value_set=pa.array(sorted(wanted), pa.string())))
    return dict(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def fields(row: _Fields, names: Mapping[str, str]) -> dict[str, object]:
    """What a judge reads of a row: what it says, and when it holds."""
    times = {c: row[c].isoformat() for c in ("valid_from", "valid_to", "recorded_at") if row[c] is not None}
    if "text" in row:
        return {c: row[c] for c in ("kind", "subject", "text")} | times
    if "subject" in row:
        return {c: row[c] for c in SAID["memory_facts"]} | times
    shown = {"source": names.get(row["source_entity_id"], ""), "target": names.get(row["target_entity_id"], "")}
    return {**shown, **{c: row[c] for c in ("relationship_type", "description", "properties")}, **times}


def sentence(row: _Fields, names: Mapping[str, str]) -> str:
    """A row as a sentence for whoever approves."""
    if "text" in row:
        text = row["text"]
    elif "subject" in row:
        text = row["fact_text"] or f"{row['subject']} {row['predicate']} {row['object']}"
    else:
        ends = [names.get(row[end], "?") for end in _ENDS]
        text = f"{ends[0]} {row['relationship_type']} {ends[1]}"
        properties = row["properties"] if row["properties"] not in (None, "{}") else ""
        text = ": ".join(t for t in (text, row["description"], properties) if t)
    return quote(text, _SHOWN)
