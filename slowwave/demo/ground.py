"""The ground that faults are planted on: rows and pages of their own in a demo namespace, and a source of chance of their own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from slowwave.demo.cast import Cast, CastEntity
from slowwave.demo.scribe import Row, Script
from slowwave.demo.world import World, parts

_TOGETHER: Final = "{a} and {b} were named together."


class Ground:
    """A demo namespace to which rows are added, in instants before ``now``."""

    def __init__(self, world: World, cast: Cast, script: Script, rows: Mapping[str, list[Row]], now: datetime) -> None:
        self.world, self.cast, self.script, self.rows, self.now = world, cast, script, rows, now
        self.rng = random.Random(f"{world.slug} faults")  # noqa: S311 - a demo must be the same every time
        self.sentences = {
            (relation, source, target): sentence
            for head, sentence in map(parts, world.edges.specs)
            for source, relation, target in [head.split()]
        }
        self.page = self._document("logbook", "Logbook", 79)

    def _ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days)

    def _document(self, name: str, title: str, days: float) -> Row:
        row = self.script.documents[0] | {
            "id": self.world.id("document", name),
            "external_id": name,
            "source": "notes",
            "title": title,
            "content": "",
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None,
        }
        self.rows["documents"].append(row)
        return row

    def _chunk(self, text: str, days: float) -> str:
        """A live source that says it, on the page of this module."""
        ordinal = sum(row["document_id"] == self.page["id"] for row in self.rows["chunks"])
        row: Row = {
            "id": self.world.id("chunk", self.page["external_id"], ordinal),
            "namespace_id": self.world.id(),
            "external_id": f"{self.page['external_id']}/{ordinal}",
            "document_id": self.page["id"],
            "ordinal": ordinal,
            "content": " ".join(text.split()),
            "recorded_at": self._ago(days),
            "invalidated_at": None,
        }
        self.rows["chunks"].append(row)
        self.page["content"] += ("\n" if self.page["content"] else "") + row["content"]
        return row["id"]

    def _edge(
        self,
        path: tuple[object, ...],
        source: CastEntity,
        relation: str,
        target: CastEntity,
        text: str,
        *,
        days: float,
        retired: float | None = None,
        sources: list[str] | None = None,
        **more: object,
    ) -> Row:
        """An edge; where ``sources`` are not given, a page says it."""
        row: Row = {
            "id": self.world.id("planted edge", *path),
            "namespace_id": self.world.id(),
            "external_id": f"edge-{len(self.rows['relationships']):04}",
            "source_entity_id": source.id,
            "target_entity_id": target.id,
            "relationship_type": relation,
            "description": text,
            "properties": {},
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "weight": 1.0,
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None if retired is None else self._ago(retired),
            "source_chunk_ids": [self._chunk(text, days)] if sources is None else sources,
            **more,
        }
        self.rows["relationships"].append(row)
        return row

    def _fact(self, path: tuple[object, ...], line: str, *, days: float, retired: float | None = None) -> str:
        subject, predicate, value = line.split(" | ")
        text = f"{subject} {predicate} {value.rstrip('.!')}."
        row: Row = {
            "id": self.world.id("planted fact", *path),
            "namespace_id": self.world.id(),
            "external_id": f"fact-{len(self.rows['memory_facts']):03}",
            "subject": subject,
            "predicate": predicate,
            "object": value,
            "fact_text": text,
            "confidence": round(self.rng.uniform(0.6, 1.0), 2),
            "source_chunk_ids": [self._chunk(text, days)],
            "is_active": retired is None,
            "valid_from": self._ago(days),
            "recorded_at": self._ago(days),
            "invalidated_at": None if retired is None else self._ago(retired),
        }
        self.rows["memory_facts"].append(row)
        return row["id"]

    def _event(self, path: tuple[object, ...], line: str, *, days: float) -> str:
        """A memory of the kind ``event``, with its chunk and its version."""
        subject, text = parts(line)
        when = self._ago(days)
        row: Row = {
            **self.script.memories[0],
            "id": self.world.id("planted event", *path),
            "external_id": f"event-{sum(row['kind'] == 'event' for row in self.rows['memories']):02}",
            "kind": "event",
            "ring": "short",
            "subject": subject,
            "author": self.world.agent,
            "source": "notes",
            "session_id": None,
            "importance": 0.5,
            "confidence": round(self.rng.uniform(0.7, 1.0), 2),
            "access_count": 0,
            "last_accessed_at": None,
            "pinned": False,
            "tags": ["logbook"],
            "source_document_ids": [self.page["id"]],
            "source_chunk_ids": [self._chunk(text, days)],
            "current_version_id": self.world.id("planted event version", *path),
            "valid_from": when,
            "recorded_at": when,
        }
        version: Row = {
            "id": row["current_version_id"],
            "namespace_id": self.world.id(),
            "memory_id": row["id"],
            "ordinal": 1,
            "content": text,
            "reason": "written",
            "recorded_at": when,
        }
        self.rows["memories"].append(row)
        self.rows["memory_versions"].append(version)
        return row["id"]

    def _sentence(self, source: CastEntity, relation: str, target: CastEntity) -> str:
        sentence = self.sentences.get((relation, source.family, target.family), _TOGETHER)
        return sentence.format(a=source.name, b=target.name)
