"""Freshness of what is found by day: folders that were not synced since they changed, and chunks that no vector stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from slowwave.config.settings import Settings
from slowwave.corpus.folder_state import folder_states
from slowwave.errors import SettingsError
from slowwave.night.freshness import Freshness
from slowwave.store.connect import Connection

_SETTINGS: Final = "SELECT id::text, slug, settings FROM memory.namespaces WHERE slug = ANY(%s) ORDER BY slug"
_BARE: Final = """
SELECT m.slug, m.model, count(*) FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS m (namespace_id, slug, model)
JOIN memory.documents d ON d.namespace_id = m.namespace_id AND d.corpus_id IS NOT NULL AND d.invalidated_at IS NULL
JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL
WHERE NOT EXISTS (SELECT 1 FROM memory.chunk_vectors v WHERE v.id = c.id AND v.model = m.model)
GROUP BY m.slug, m.model ORDER BY m.slug
"""


def folders_are_synced(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """The folders that namespaces follow are there, and stand as they were synced.

    A file that cannot be read leaves its folder late until somebody mends it; `slowwave corpus sync` names it.
    """
    states = folder_states(connection, namespaces)
    late = [
        f"{state.namespace}: {state.problem or f'{Path(state.corpus.root).name} has changed since it was synced.'}"
        for state in states
        if state.changed or state.problem
    ]
    return Freshness(len({state.namespace for state in states}), tuple(late))


def chunks_have_vectors(connection: Connection, namespaces: Sequence[str]) -> Freshness:
    """Every chunk of a corpus has a vector of its namespace's embedding model, so that a search by meaning sees it.

    After a change of the model the next sync makes them.
    """
    asked: list[tuple[str, str, str]] = []
    late: list[str] = []
    rows: Any = connection.execute(_SETTINGS, (list(namespaces),)).fetchall()
    for id_, slug, overlay in rows:
        try:
            asked.append((id_, slug, Settings.for_namespace(overlay).embedding_model))
        except SettingsError as problem:
            late.append(f"{slug}: {problem}")
    found = connection.execute(_BARE.encode(), [list(column) for column in zip(*asked, strict=True)] or [[], [], []])
    late += [f"{slug}: {n:,} chunks have no vector of the model {model}." for slug, model, n in found]
    return Freshness(len(rows), tuple(late))
