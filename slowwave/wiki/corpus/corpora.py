"""Corpora: the folders that a namespace follows, stored as rows, and their pages by path."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import NotInCorpus, Refused
from slowwave.sources.chunking import file_lines
from slowwave.sources.profile import profile
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id

# Corpora: the folders that a namespace follows, as rows.

SESSIONS_ROOT: Final = "sessions:"
"""The root of the corpus of imported sessions; it is not a folder."""
EVIDENCE_ROOT: Final = "evidence:"
"""The root of the corpus with the evidence of claims (``slowwave.wiki.claims``); it is not a folder."""
PAGES_ROOT: Final = "pages:"
"""The root of the corpus of agents' pages if no folder is followed; it is not a folder."""
PAGES_PROFILE: Final = "dory"
UNFOLLOWED: Final = (SESSIONS_ROOT, EVIDENCE_ROOT, PAGES_ROOT)
"""Roots that are not folders."""
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
"""Reason to leave out a file whose path or text has a tombstone."""
FORGOTTEN_SESSION: Final = "a plan forgot this session for good, so it is not stored again."
_TOMBSTONES: Final = "SELECT DISTINCT unnest(tombstones) FROM memory.purges WHERE namespace_id = %s"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Hashes of the pages that plans purged from a namespace: hashes of their paths, and of all texts of those pages."""

    namespace_id: str
    hashes: frozenset[str]

    def refuse(self, path: str, content_hash: str, *, is_new: bool) -> bool:
        """Return whether a page must not be imported.

        A purged path may be used again once another page exists there (not ``is_new``).
        """
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
        """Return the folder of the corpus's files, or None if the corpus has no folder."""
        return None if self.root in UNFOLLOWED else Path(self.root)


def corpora_of(connection: Connection, namespace_id: str) -> list[Corpus]:
    """Return the corpora of a namespace, in the order in which they were added."""
    rows = connection.execute(_LIVE_CORPORA, (namespace_id,)).fetchall()
    return [Corpus(*row) for row in rows]  # type: ignore[arg-type]


def load_tombstones(connection: Connection, namespace_id: str) -> Tombstones:
    """Load the tombstones of a namespace."""
    return Tombstones(namespace_id, frozenset(str(one) for (one,) in connection.execute(_TOMBSTONES, (namespace_id,))))


def add_corpus(connection: Connection, slug: str, folder: Path, profile_name: str | None = None) -> Corpus:
    """Add a followed folder, or return the corpus that already follows it.

    The namespace is created if it does not exist. The default profile is ``plain``.
    """
    profile(profile_name or DEFAULT_PROFILE)
    root = folder.expanduser().resolve()
    if not root.is_dir():
        raise Refused(f"{folder} is no folder. Name the folder that holds the Markdown files.")
    return _added(connection, slug, str(root), profile_name, 1.0)


def sessions_corpus(connection: Connection, slug: str) -> Corpus:
    """Return the corpus of imported sessions; create it if it does not exist."""
    return _added(connection, slug, SESSIONS_ROOT, SESSIONS_PROFILE, SESSIONS_STANDING)


def chosen_corpus(connection: Connection, namespace_id: str, name: str | None) -> list[Corpus]:
    """Return all corpora of a namespace, or the one whose folder has the given name.

    Raises ``Refused`` if no corpus has that name.
    """
    found = corpora_of(connection, namespace_id)
    if name is None:
        return found
    named = [corpus for corpus in found if name in (corpus.root, Path(corpus.root).name)]
    if not named:
        known = ", ".join(Path(corpus.root).name for corpus in found) or "none"
        raise Refused(f"There is no corpus {name[:64]!r} in this namespace. Corpora: {known}.")
    return named


def save_state(connection: Connection, corpus: Corpus, state: Mapping[str, Any]) -> None:
    """Store the state that a sync observed."""
    connection.execute(_SAVE_STATE, (json.dumps(state), corpus.id))


def mark_synced(connection: Connection, corpus: Corpus) -> None:
    """Record that a sync of the corpus finished now."""
    connection.execute(_MARK_SYNCED, (corpus.id,))


def _added(connection: Connection, slug: str, root: str, profile_name: str | None, standing: float) -> Corpus:
    # These import SQLAlchemy and NumPy, which queries about corpora do not need.
    from slowwave.sources.loading import claim, row_id
    from slowwave.sources.rows import chosen_slug
    from slowwave.store.settings import Settings

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


# Pages by path: the document that a request names, and a range of its lines.

MOST_LINES: Final = 10_000

_COLUMNS_PAGE_LOOKUP: Final = "id::text, corpus_id::text, path, jsonb_exists(metadata, 'quarantined')"
_AT: Final = f"""
SELECT {_COLUMNS_PAGE_LOOKUP} FROM memory.documents
WHERE namespace_id = %(namespace)s AND corpus_id = ANY(%(corpora)s::uuid[]) AND invalidated_at IS NULL
  AND path IN (%(path)s, %(path)s || '.md', %(path)s || '.markdown')
"""  # noqa: S608 - columns of this module
_ENDED: Final = """
SELECT max(invalidated_at) FROM memory.documents
WHERE namespace_id = %(namespace)s AND corpus_id = ANY(%(corpora)s::uuid[]) AND invalidated_at IS NOT NULL AND version_of IS NULL
  AND path IN (%(path)s, %(path)s || '.md', %(path)s || '.markdown') AND NOT jsonb_exists_any(metadata, '{quarantined,forgotten}')
"""
_CALLED: Final = f"""
SELECT {_COLUMNS_PAGE_LOOKUP}, CASE WHEN right(lower('/' || regexp_replace(path, '[.](md|markdown)$', '', 'i')), length(%(path)s) + 1)
    = '/' || lower(%(path)s) THEN 0 WHEN lower(title) = lower(%(path)s) THEN 1 ELSE 2 END AS rank
FROM memory.documents WHERE namespace_id = %(namespace)s AND corpus_id = ANY(%(corpora)s::uuid[]) AND invalidated_at IS NULL
  AND NOT jsonb_exists_any(metadata, '{{quarantined,forgotten}}') AND (
    right(lower('/' || regexp_replace(path, '[.](md|markdown)$', '', 'i')), length(%(path)s) + 1) = '/' || lower(%(path)s)
    OR lower(title) = lower(%(path)s) OR EXISTS (SELECT 1 FROM jsonb_array_elements_text(
      CASE jsonb_typeof(metadata -> 'aliases') WHEN 'array' THEN metadata -> 'aliases' ELSE '[]' END) AS a (name)
      WHERE lower(a.name) = lower(%(path)s)))
ORDER BY rank, path LIMIT 20
"""  # noqa: S608 - columns of this module
"""Pages that a vault's wikilink of this name may point to: by the end of their path, else by their title, else by an alias."""
_PAGE: Final = "SELECT path, content, content_hash, metadata FROM memory.documents WHERE id = %s"
_NAMED: Final = 5  # pages of a name that a refusal lists


class GetRequest(BaseModel):
    """Request for lines of a page. ``from`` counts from 1."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    path: str = Field(
        min_length=1, max_length=1_000, description="Path of a page, relative to its corpus, or its name."
    )
    from_line: int = Field(default=1, ge=1, alias="from", description="First line, from 1.")
    lines: int | None = Field(
        default=None, ge=1, le=MOST_LINES, description="How many lines; all that follow where none is said."
    )
    corpus: str | None = Field(default=None, description="Name of a corpus's folder, where several hold the path.")


class GetResponse(BaseModel):
    """Lines of a page, and the hash that a change of the page must name.

    ``next`` is the first line of the next part, or None after the last line.
    """

    model_config = ConfigDict(populate_by_name=True)

    path: str
    from_line: int = Field(alias="from")
    content: str
    lines_returned: int
    total_lines: int
    next: int | None
    hash: str
    frontmatter: dict[str, Any]


def get_page(connection: Connection, namespace: str, request: GetRequest) -> GetResponse:
    """Return lines of a page as they are in its file.

    Raises ``NotInCorpus``, and ``Refused`` for a line after the last one.
    """
    id_ = page_id(connection, namespace_id(connection, namespace), request.path, request.corpus)
    row = connection.execute(_PAGE, (id_,)).fetchone()
    if row is None:
        raise NotInCorpus(f"{request.path!r} was removed while it was looked for. Ask again.")
    path, content, hash_, metadata = row
    lines = file_lines(str(content))
    if request.from_line > max(1, len(lines)):
        raise Refused(
            f"{path} has {len(lines):,} lines, so there is no line {request.from_line:,}. Lines count from 1."
        )
    part = lines[request.from_line - 1 :][: request.lines or MOST_LINES]
    after = request.from_line + len(part)
    fields = metadata.get("frontmatter", {}) if isinstance(metadata, dict) else {}
    return GetResponse.model_validate(
        {
            "path": path,
            "from": request.from_line,
            "content": "".join(part),
            "lines_returned": len(part),
            "total_lines": len(lines),
            "next": after if after <= len(lines) else None,
            "hash": hash_,
            "frontmatter": fields,
        }
    )


def page_id(connection: Connection, namespace: str, path: str, corpus: str | None = None) -> str:
    """Return the id of the live document that a path or a name identifies.

    The path may omit its suffix. If no document has the path, the name is resolved like a wikilink: by the end of a path, a title or an
    alias. Raises ``NotInCorpus`` if no document or several documents match.
    """
    wanted = path.removeprefix("./")
    if "\0" in wanted or wanted.startswith("/") or ".." in wanted.split("/"):
        raise NotInCorpus(f"{path[:200]!r} is no path within a corpus. Paths are relative to its folder, with slashes.")
    corpora = {found.id: found for found in chosen_corpus(connection, namespace, corpus)}
    asked = {"namespace": namespace, "corpora": list(corpora), "path": wanted}
    rows = connection.execute(_AT.encode(), asked).fetchall()
    rows = [row for row in rows if row[2] == wanted] or rows
    if not rows:
        called = connection.execute(_CALLED.encode(), asked).fetchall()
        rows = [row for row in called if row[4] == called[0][4]]
        if len({row[2] for row in rows}) > 1:
            paths = ", ".join(sorted(str(row[2]) for row in rows)[:_NAMED]) + (", …" if len(rows) > _NAMED else "")
            raise NotInCorpus(f"{path[:200]!r} is the name of several pages ({paths}). Give the path of one of them.")
    if not rows:
        ended = connection.execute(_ENDED, asked).fetchone()
        if ended and isinstance(ended[0], datetime):
            at = ended[0].astimezone(UTC)
            raise NotInCorpus(
                f"{path[:200]!r} was a page until {at:%Y-%m-%d %H:%M} UTC, when it or its file was removed. A search that "
                "includes retired rows finds its text."
            )
        raise NotInCorpus(
            f"No corpus of the namespace holds {path[:200]!r}. `slowwave corpus status` lists the corpora."
        )
    if len(rows) > 1:
        names = ", ".join(sorted(f"{Path(corpora[str(row[1])].root).name}: {row[2]}" for row in rows))
        raise NotInCorpus(f"{path[:200]!r} is a page of several corpora ({names}). Name one of them.")
    if rows[0][3]:
        raise NotInCorpus(
            f"{path[:200]!r} is quarantined: its text holds what screening found. Look at the file itself."
        )
    return str(rows[0][0])
