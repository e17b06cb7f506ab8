"""How followed folders stand against what was synced of them: by names, sizes, times and the model, without reading a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slowwave.config.settings import Settings
from slowwave.corpus.corpora import UNFOLLOWED, Corpus
from slowwave.corpus.folder_scan import FolderScan, scan_folder
from slowwave.corpus.profile import profile
from slowwave.errors import Refused, SettingsError
from slowwave.store.connect import Connection

_FOLLOWED: Final = """
SELECT n.slug, n.settings, k.sync_state,
  (SELECT count(*) || ' ' || max(p.recorded_at) FROM memory.pending_files p WHERE p.corpus_id = k.id) AS pending,
  k.id::text, k.namespace_id::text, k.root, k.profile, k.standing, k.synced_at
FROM memory.corpora k JOIN memory.namespaces n ON n.id = k.namespace_id
WHERE n.slug = ANY(%s) AND NOT n.read_only AND k.invalidated_at IS NULL AND k.root <> ALL(%s) ORDER BY n.slug, k.recorded_at, k.id
"""


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder of a namespace. ``changed``: a sync would find something to do, or ``problem`` says why nobody can tell.

    So would what an agent wrote there by day and no file says yet. ``fingerprint`` is another whenever a file, the model or that is, and
    after each sync that found something: while it stays, a sync that failed need not be tried again.
    """

    namespace: str
    corpus: Corpus
    changed: bool
    fingerprint: str
    problem: str = ""


def folder_states(connection: Connection, namespaces: Collection[str]) -> list[FolderState]:
    """The folders that some namespaces follow, without those of read-only ones. One query, and a look at each folder."""
    rows: Any = connection.execute(_FOLLOWED.encode(), (list(namespaces), list(UNFOLLOWED))).fetchall()
    return [
        _state(slug, overlay, synced, pending or "", Corpus(*corpus))
        for slug, overlay, synced, pending, *corpus in rows
    ]


def _state(
    slug: str, overlay: Mapping[str, Any], synced: Mapping[str, Any], pending: str, corpus: Corpus
) -> FolderState:
    seen: Mapping[str, list[Any]] = synced.get("files", {})
    try:
        model = Settings.for_namespace(overlay).embedding_model
        scan = scan_folder(corpus.folder, profile(corpus.profile), seen) if corpus.folder else FolderScan()
    except (Refused, SettingsError) as problem:
        return FolderState(slug, corpus, False, "", str(problem))
    now = {path: [mark.size, mark.mtime] for path, mark in scan.files.items()}
    before = {path: mark[:2] for path, mark in seen.items()}
    content = json.dumps([corpus.id, synced.get("turn"), model, now, pending], sort_keys=True).encode()
    return FolderState(
        slug,
        corpus,
        bool(pending) or now != before or synced.get("model") != model or not synced.get("whole", False),
        hashlib.sha256(content).hexdigest()[:32],
    )
