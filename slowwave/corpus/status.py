"""What a namespace's corpora hold, in figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from slowwave.store.connect import Connection

_STATUS = """
SELECT k.id::text, k.root, k.profile, k.standing, k.synced_at,
  p.pages, p.versions, p.quarantined, c.chunks, c.bare, l.links, l.broken
FROM memory.corpora k
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE d.invalidated_at IS NULL) AS pages, count(*) FILTER (WHERE d.version_of IS NOT NULL) AS versions,
    count(*) FILTER (WHERE d.invalidated_at IS NULL AND jsonb_exists(d.metadata, 'quarantined')) AS quarantined
  FROM memory.documents d WHERE d.corpus_id = k.id) p
CROSS JOIN LATERAL (
  SELECT count(*) AS chunks,
    count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM memory.chunk_vectors v WHERE v.id = c.id AND v.model = %(model)s)) AS bare
  FROM memory.documents d JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL
  WHERE d.corpus_id = k.id AND d.invalidated_at IS NULL) c
CROSS JOIN LATERAL (
  SELECT count(*) AS links, count(*) FILTER (WHERE l.kind <> 'mention' AND l.target_document_id IS NULL) AS broken
  FROM memory.documents d JOIN memory.links l ON l.document_id = d.id AND l.invalidated_at IS NULL
  WHERE d.corpus_id = k.id AND d.invalidated_at IS NULL) l
WHERE k.namespace_id = %(namespace)s AND k.invalidated_at IS NULL ORDER BY k.recorded_at, k.id
"""


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """One corpus. ``chunks_without_vector`` have none of the model that is in force; a night embeds them."""

    corpus: str
    root: str
    profile: str
    standing: float
    synced_at: datetime | None
    pages: int
    versions: int
    quarantined: int
    chunks: int
    chunks_without_vector: int
    links: int
    broken_links: int

    def to_json(self) -> dict[str, object]:
        """As ``--json`` shows it."""
        shown: dict[str, object] = asdict(self)
        return shown | {"synced_at": self.synced_at.isoformat() if self.synced_at else None}


def corpus_status(connection: Connection, namespace_id: str, model: str) -> list[CorpusStatus]:
    """The corpora of a namespace, in the order in which they were added."""
    rows: Any = connection.execute(_STATUS.encode(), {"namespace": namespace_id, "model": model}).fetchall()
    return [CorpusStatus(*row) for row in rows]
