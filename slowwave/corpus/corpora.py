"""Corpora: the folders that a namespace follows, as rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from slowwave.corpus.profile import profile
from slowwave.errors import Refused
from slowwave.store.connect import Connection

SESSIONS_ROOT: Final = "sessions:"
"""The root of the corpus that imported sessions are in: no folder."""
EVIDENCE_ROOT: Final = "evidence:"
"""The root of the corpus that the pages of what agents said are in (``slowwave.claims``): no folder either."""
PAGES_ROOT: Final = "pages:"
"""The root of the corpus that agents' pages are in where no folder is followed: no folder either."""
PAGES_PROFILE: Final = "dory"
UNFOLLOWED: Final = (SESSIONS_ROOT, EVIDENCE_ROOT, PAGES_ROOT)
"""Roots that are no folders."""
SESSIONS_STANDING: Final = 0.5
SESSIONS_PROFILE: Final = "dory"
DEFAULT_PROFILE: Final = "plain"

_COLUMNS: Final = "id::text, namespace_id::text, root, profile, standing, synced_at"
_LIVE_CORPORA: Final = f"""
SELECT {_COLUMNS} FROM memory.corpora WHERE namespace_id = %s AND invalidated_at IS NULL ORDER BY recorded_at, id
"""  # noqa: S608 - columns of this module
_SAVE_STATE: Final = "UPDATE memory.corpora SET sync_state = %s::jsonb WHERE id = %s"
_MARK_SYNCED: Final = "UPDATE memory.corpora SET synced_at = now() WHERE id = %s"
_INSERT_CORPUS: Final = """
INSERT INTO memory.corpora (id, namespace_id, root, profile, standing) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""

FORGOTTEN_FILE: Final = (
    "a plan forgot this page for good, so the file is not imported again. Delete the file, or remove the forgotten text and save the rest "
    "under another name."
)
"""Why a file is left out whose path or text has a tombstone."""
FORGOTTEN_SESSION: Final = "a plan forgot this session for good, so it is not stored again."
_TOMBSTONES: Final = "SELECT DISTINCT unnest(tombstones) FROM memory.purges WHERE namespace_id = %s"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Hashes of the pages of a namespace that plans forgot for good: of each path, and of each text that such a page had."""

    namespace_id: str
    hashes: frozenset[str]

    def refuse(self, path: str, content_hash: str, *, is_new: bool) -> bool:
        """Return whether a page must not be imported. A forgotten path is open again once another page is there (not ``is_new``)."""
        mark = hashlib.sha256(f"{self.namespace_id}/{path}".encode()).hexdigest()
        return content_hash in self.hashes or (is_new and mark in self.hashes)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder that a namespace follows."""

    id: str
    namespace_id: str
    root: str
    profile: str
    standing: float
    synced_at: datetime | None

    @property
    def folder(self) -> Path | None:
        """Where its files are; None where it has none."""
        return None if self.root in UNFOLLOWED else Path(self.root)


def corpora_of(connection: Connection, namespace_id: str) -> list[Corpus]:
    """The corpora of a namespace, in the order in which they were added."""
    rows = connection.execute(_LIVE_CORPORA, (namespace_id,)).fetchall()
    return [Corpus(*row) for row in rows]  # type: ignore[arg-type]


def load_tombstones(connection: Connection, namespace_id: str) -> Tombstones:
    """Load the tombstones of a namespace."""
    return Tombstones(namespace_id, frozenset(str(one) for (one,) in connection.execute(_TOMBSTONES, (namespace_id,))))


def add_corpus(connection: Connection, slug: str, folder: Path, profile_name: str | None = None) -> Corpus:
    """Follow a folder; one that is followed already is found. The namespace is made where there is none, the profile is else ``plain``."""
    profile(profile_name or DEFAULT_PROFILE)
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise Refused(f"{folder} is no folder. Name the folder that holds the Markdown files.")
    return _added(connection, slug, str(root), profile_name, 1.0)


def sessions_corpus(connection: Connection, slug: str) -> Corpus:
    """The corpus that imported sessions are in; it is made with the first."""
    return _added(connection, slug, SESSIONS_ROOT, SESSIONS_PROFILE, SESSIONS_STANDING)


def chosen_corpus(connection: Connection, namespace_id: str, name: str | None) -> list[Corpus]:
    """All corpora, or the one whose folder has this name. Raises ``Refused``."""
    found = corpora_of(connection, namespace_id)
    if name is None:
        return found
    named = [corpus for corpus in found if name in (corpus.root, Path(corpus.root).name)]
    if not named:
        known = ", ".join(Path(corpus.root).name for corpus in found) or "none"
        raise Refused(f"There is no corpus {name[:64]!r} in this namespace. Corpora: {known}.")
    return named


def save_state(connection: Connection, corpus: Corpus, state: Mapping[str, Any]) -> None:
    """Note what a sync saw."""
    connection.execute(_SAVE_STATE, (json.dumps(state), corpus.id))


def mark_synced(connection: Connection, corpus: Corpus) -> None:
    """A sync came to its end now."""
    connection.execute(_MARK_SYNCED, (corpus.id,))


def _added(connection: Connection, slug: str, root: str, profile_name: str | None, standing: float) -> Corpus:
    # They bring SQLAlchemy and NumPy, which whoever asks about corpora does without.
    from slowwave.config.settings import Settings
    from slowwave.imports.namespaces import claim
    from slowwave.imports.rows import chosen_slug
    from slowwave.imports.stored import row_id

    chosen_slug(slug)
    with connection.transaction():
        namespace = claim(connection, slug, Counter(), Settings.for_namespace({}).embedding_model)
        connection.execute(
            _INSERT_CORPUS,
            (row_id(namespace, "corpora", root), namespace, root, profile_name or DEFAULT_PROFILE, standing),
        )
        found = next(corpus for corpus in corpora_of(connection, namespace) if corpus.root == root)
    if profile_name not in (None, found.profile):
        raise Refused(
            f"{root} is followed already, by the profile {found.profile}. A corpus keeps its profile: name that one, or no profile."
        )
    return found
