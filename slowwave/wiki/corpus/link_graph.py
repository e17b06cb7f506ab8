"""The graph of links: the links of a page, its backlinks, and broken links, each by one query."""

from __future__ import annotations

import os
import posixpath
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Refused
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.markdown import missing
from slowwave.text.tokens import fold
from slowwave.wiki.corpus.corpora import Corpus, chosen_corpus, page_id

# The graph of links: links from a page, links to a page, and broken links. Each is one query; depth and number of edges are bounded.

Direction = Literal["out", "in", "both"]
LinkReason = Literal["no such page", "no such heading", "no such block", "no such file"]

MOST_EDGES: Final = 500
DEEPEST: Final = 6
_MOST_BROKEN: Final = 10_000


class LinkRequest(BaseModel):
    """A query about links. ``path`` is required for neighbors and backlinks."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["neighbors", "backlinks", "lint"]
    path: str | None = Field(default=None, max_length=1_000, description="Path of a page, relative to its corpus.")
    direction: Direction = Field(default="out", description="Links of the page, links to it, or both (neighbors).")
    depth: int = Field(default=1, ge=1, le=DEEPEST, description="Steps from the page (neighbors).")
    max_edges: int = Field(default=40, ge=1, le=MOST_EDGES, description="Edges that are returned.")
    exclude_prefixes: list[str] = Field(
        default_factory=list, max_length=50, description="Folders that are passed over."
    )
    corpus: str | None = Field(default=None, description="Name of a corpus's folder, where several hold the path.")


class LinkEdge(BaseModel):
    """A link from one page to another, or a mention of an entity (``to`` is then its name)."""

    model_config = ConfigDict(populate_by_name=True)

    from_path: str = Field(alias="from")
    to: str
    anchor: str
    kind: str
    line: int
    created: datetime


class BrokenLink(BaseModel):
    """A link without a target."""

    model_config = ConfigDict(populate_by_name=True)

    from_path: str = Field(alias="from")
    to: str
    line: int
    reason: LinkReason


class LinkResponse(BaseModel):
    """Edges, the nearest first; if a page links several times, only its first link is listed.

    ``total_count`` includes the edges that were cut off.
    """

    op: Literal["neighbors", "backlinks"]
    path: str
    edges: list[LinkEdge]
    count: int
    total_count: int
    truncated: bool


class LintResponse(BaseModel):
    """Links without a target, and pages that link to themselves."""

    op: Literal["lint"] = "lint"
    broken: list[BrokenLink]
    self_links: list[str]
    count: int


_EDGES: Final = """
WITH RECURSIVE pages AS NOT MATERIALIZED (
  SELECT d.id, d.path FROM memory.documents d
  WHERE d.namespace_id = %(namespace)s AND d.corpus_id IS NOT NULL AND d.invalidated_at IS NULL
    AND NOT jsonb_exists(d.metadata, 'quarantined')
    AND NOT EXISTS (SELECT 1 FROM unnest(%(excluded)s::text[]) x WHERE starts_with(d.path, x))
), walk (id, depth) AS (
  SELECT %(start)s::uuid, 0
  UNION
  SELECT p.id, w.depth + 1 FROM walk w
  CROSS JOIN LATERAL (
    SELECT l.target_document_id AS id FROM memory.links l WHERE %(out)s AND l.document_id = w.id AND l.invalidated_at IS NULL
    UNION
    SELECT l.document_id FROM memory.links l WHERE %(in)s AND l.target_document_id = w.id AND l.invalidated_at IS NULL
  ) e JOIN pages p ON p.id = e.id
  WHERE w.depth + 1 < %(depth)s
), near AS (
  SELECT id, min(depth) AS depth FROM walk GROUP BY id
), edges AS (
  SELECT DISTINCT ON (l.document_id, coalesce(l.target_document_id, l.entity_id)) l.*,
    min(n.depth) OVER (PARTITION BY l.document_id, coalesce(l.target_document_id, l.entity_id)) AS depth
  FROM near n CROSS JOIN LATERAL (
    SELECT * FROM memory.links o WHERE %(out)s AND o.document_id = n.id AND o.invalidated_at IS NULL
    UNION ALL
    SELECT * FROM memory.links i WHERE %(in)s AND i.target_document_id = n.id AND i.invalidated_at IS NULL
  ) l
  WHERE l.document_id IS DISTINCT FROM l.target_document_id AND coalesce(l.target_document_id, l.entity_id) IS NOT NULL
  ORDER BY l.document_id, coalesce(l.target_document_id, l.entity_id), l.kind = 'mention', l.line
)
SELECT f.path, coalesce(t.path, n.name), e.anchor, e.kind, e.line, e.recorded_at, count(*) OVER ()
FROM edges e JOIN pages f ON f.id = e.document_id
LEFT JOIN pages t ON t.id = e.target_document_id
LEFT JOIN LATERAL (
  SELECT s.name FROM memory.entities s WHERE s.id = e.entity_id AND s.invalidated_at IS NULL
  UNION ALL SELECT s.name FROM memory.entities m JOIN memory.entities s ON s.id = ANY (memory.merged_with(m.id)) AND s.merged_into IS NULL
    AND s.invalidated_at IS NULL WHERE m.id = e.entity_id AND m.merged_into IS NOT NULL
) n ON true
WHERE coalesce(t.path, n.name) IS NOT NULL
ORDER BY e.depth, e.kind = 'mention', f.path, e.line, coalesce(t.path, n.name) LIMIT %(most)s
"""
"""Reads only rows that touch a page on the way, by the indexes of both ends. A merged entity is shown as its survivor."""

_LINT: Final = """
SELECT d.path, l.target, l.anchor, l.line, l.target_document_id = l.document_id, t.id IS NOT NULL,
  coalesce(t.metadata -> 'headings', '[]'), coalesce(t.metadata -> 'blocks', '[]'), l.kind
FROM memory.links l JOIN memory.documents d ON d.id = l.document_id AND d.invalidated_at IS NULL
LEFT JOIN memory.documents t ON t.id = l.target_document_id AND t.invalidated_at IS NULL
WHERE l.namespace_id = %(namespace)s AND d.corpus_id = ANY(%(corpora)s::uuid[]) AND l.invalidated_at IS NULL AND l.kind <> 'mention'
  AND (t.id IS NULL OR l.anchor <> '' OR l.target_document_id = l.document_id)
  AND NOT EXISTS (SELECT 1 FROM unnest(%(excluded)s::text[]) x WHERE starts_with(d.path, x))
ORDER BY d.path, l.line, l.target
"""


def links(connection: Connection, namespace: str, request: LinkRequest) -> LinkResponse | LintResponse:
    """Answer a query about links. Raises ``NotInCorpus`` for a page that does not exist."""
    within = namespace_id(connection, namespace)
    if request.op == "lint":
        return _lint(connection, within, request)
    if request.path is None:
        raise Refused(f"{request.op} asks for a page. Name its path, relative to the corpus.")
    start = page_id(connection, within, request.path, request.corpus)
    back = request.op == "backlinks"
    direction = "in" if back else request.direction
    rows: Any = connection.execute(
        _EDGES.encode(),
        {
            "namespace": within,
            "start": start,
            "out": direction in ("out", "both"),
            "in": direction in ("in", "both"),
            "depth": 1 if back else request.depth,
            "most": request.max_edges,
            "excluded": request.exclude_prefixes,
        },
    ).fetchall()
    edges = [
        LinkEdge.model_validate(dict(zip(("from", "to", "anchor", "kind", "line", "created"), row, strict=False)))
        for row in rows
    ]
    total = int(rows[0][6]) if rows else 0
    return LinkResponse(
        op="backlinks" if back else "neighbors",
        path=request.path,
        edges=edges,
        count=len(edges),
        total_count=total,
        truncated=total > len(edges),
    )


_EMBEDDING: Final = """
SELECT d.path, d.content FROM memory.documents d WHERE d.corpus_id = %s AND d.invalidated_at IS NULL AND d.content LIKE '%%![%%'
  AND NOT EXISTS (SELECT 1 FROM unnest(%s::text[]) x WHERE starts_with(d.path, x)) ORDER BY d.path
"""


def _lint(connection: Connection, within: str, request: LinkRequest) -> LintResponse:
    corpora = chosen_corpus(connection, within, request.corpus)
    asked = {"namespace": within, "corpora": [corpus.id for corpus in corpora], "excluded": request.exclude_prefixes}
    rows: Any = connection.execute(_LINT.encode(), asked).fetchall()
    broken: list[BrokenLink] = []
    selves: dict[str, None] = {}
    for path, target, anchor, line, itself, there, headings, blocks, kind in rows:
        lacks = missing(anchor, headings, blocks) if there else "page"
        if lacks is not None:
            to = f"{target}#{anchor}" if anchor else target
            broken.append(
                BrokenLink.model_validate({"from": path, "to": to, "line": line, "reason": f"no such {lacks}"})
            )
        if itself and not anchor and kind != "embed":
            selves[path] = None
    broken += [one for corpus in corpora for one in _without_file(connection, corpus, request.exclude_prefixes)]
    broken.sort(key=lambda one: (one.from_path, one.line))
    return LintResponse(broken=broken[:_MOST_BROKEN], self_links=list(selves), count=len(broken) + len(selves))


def _without_file(connection: Connection, corpus: Corpus, excluded: list[str]) -> list[BrokenLink]:
    """Return the embeds of files, such as pictures, that are not in the folder of the corpus; none if the folder is not on this machine.

    A file is looked up as in vaults: from the page's folder, from the root, then by the end of its path, ignoring case.
    """
    if corpus.folder is None or not corpus.folder.is_dir():
        return []
    from slowwave.sources.page_files import parse_body  # imported late, because its parser takes a moment to load

    rows = connection.execute(_EMBEDDING, (corpus.id, excluded)).fetchall()
    embeds = [(str(path), file) for path, content in rows for file in parse_body(str(content)).attachments]
    if not embeds:
        return []
    ends: set[str] = set()
    for folder, inner, names in os.walk(corpus.folder):
        inner[:] = [name for name in inner if not name.startswith(".")]
        parts = Path(folder).relative_to(corpus.folder).parts
        for name in names:
            steps = fold("/".join((*parts, name))).split("/")
            ends.update("/".join(steps[n:]) for n in range(len(steps)))
    found: list[BrokenLink] = []
    for path, file in embeds:
        near = posixpath.normpath(posixpath.join(posixpath.dirname(path), file.target))
        if ends.isdisjoint(fold(place.lstrip("/")) for place in (near, file.target)):
            gone = {"from": path, "to": file.target, "line": file.line, "reason": "no such file"}
            found.append(BrokenLink.model_validate(gone))
    return found
