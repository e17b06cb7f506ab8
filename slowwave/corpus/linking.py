"""Links once all pages stand: which page each means, and which pages say a known name. Writes only what is otherwise than before."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

from slowwave.corpus.corpora import Corpus
from slowwave.corpus.link_targets import LinkTarget, LinkTargets
from slowwave.corpus.markdown import MarkdownPage, markdown_page
from slowwave.corpus.mentions import KnownNames, NamedRow, changed_names
from slowwave.corpus.profile import profile
from slowwave.corpus.writing import PageTally
from slowwave.imports.loading import insert
from slowwave.store import tables
from slowwave.store.connect import Connection
from slowwave.texts.frontmatter import frontmatter

_READ: Final = 200  # documents read at a time
_MANY: Final = 64  # names beyond which reading every document costs less than looking for each name in it

_PAGES: Final = """
SELECT id::text, path, title, metadata ->> 'type', coalesce(metadata -> 'aliases', '[]'), metadata ->> 'slug',
  jsonb_exists(metadata, 'forgotten') FROM memory.documents
WHERE corpus_id = %s AND invalidated_at IS NULL AND NOT jsonb_exists(metadata, 'quarantined') ORDER BY path
"""
_ENTITIES: Final = """
SELECT e.id::text, array_agg(DISTINCT n.name) FROM memory.entities e
CROSS JOIN LATERAL (SELECT e.name UNION SELECT a.alias FROM memory.entity_aliases a WHERE a.entity_id = e.id) n (name)
WHERE e.namespace_id = %s AND e.invalidated_at IS NULL AND e.state = 'active' AND (e.valid_to IS NULL OR e.valid_to > now()) GROUP BY e.id
"""
_WRITTEN_LINKS: Final = """
SELECT l.id::text, d.path, l.kind, l.target, l.target_document_id::text FROM memory.links l
JOIN memory.documents d ON d.id = l.document_id WHERE d.corpus_id = %s AND l.invalidated_at IS NULL AND l.kind <> 'mention'
"""
_POINT_LINKS: Final = """
UPDATE memory.links l SET target_document_id = n.target FROM unnest(%s::uuid[], %s::uuid[]) AS n (id, target) WHERE l.id = n.id
"""
_LIVE_DOCUMENTS: Final = "SELECT id::text FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL"
_SAYING: Final = """
SELECT id::text FROM memory.documents d WHERE corpus_id = %s AND invalidated_at IS NULL
  AND EXISTS (SELECT 1 FROM unnest(%s::text[]) AS w (word) WHERE strpos(lower(d.content), w.word) > 0)
"""
_TEXTS: Final = """
SELECT id::text, CASE WHEN jsonb_exists_any(metadata, '{quarantined,forgotten}') THEN '' ELSE content END FROM memory.documents
WHERE id = ANY(%s::uuid[]) AND invalidated_at IS NULL
"""
_LIVE_LINKS: Final = """
SELECT id::text, document_id::text, kind, target_document_id::text, entity_id::text, line FROM memory.links
WHERE document_id = ANY(%s::uuid[]) AND invalidated_at IS NULL
"""
_END_LINKS: Final = "UPDATE memory.links SET invalidated_at = now() WHERE id = ANY(%s::uuid[])"


def resolve_links(connection: Connection, corpus: Corpus) -> int:
    """Let every live link of a corpus point at the page that it means; returns how many mean something else than before."""
    targets = LinkTargets(
        LinkTarget(str(id_), str(path), str(title), _listed(aliases))
        for id_, path, title, _, aliases, *_ in connection.execute(_PAGES.encode(), (corpus.id,))
    )
    changed: list[tuple[str, str | None]] = []
    rows: Any = connection.execute(_WRITTEN_LINKS, (corpus.id,))
    for id_, path, kind, target, before in rows:
        if (found := targets.resolve(path, kind, target)) != before:
            changed.append((id_, found))
    connection.execute(_POINT_LINKS, ([id_ for id_, _ in changed], [target for _, target in changed]))
    return len(changed)


def known_names(connection: Connection, corpus: Corpus) -> KnownNames:
    """The names of the corpus's named pages and of the namespace's entities."""
    layout = profile(corpus.profile)
    rows = [
        NamedRow(str(id_), (str(title), *_listed(aliases), str(slug or "")), document=True)
        for id_, path, title, type_, aliases, slug, forgotten in connection.execute(_PAGES.encode(), (corpus.id,))
        if not forgotten and layout.named(str(path), str(type_))
    ]
    entities: Any = connection.execute(_ENTITIES.encode(), (corpus.namespace_id,))
    rows += [NamedRow(id_, tuple(names), document=False) for id_, names in entities]
    return KnownNames(rows, layout.generic)


def write_mentions(
    connection: Connection,
    corpus: Corpus,
    names: KnownNames,
    before: dict[str, str],
    written: Sequence[str],
    tally: PageTally,
) -> None:
    """Renew the mentions of the documents that were ``written``, and of those that say a name that means something else than ``before``."""
    changed = changed_names(before, names.keys())
    ids = list(dict.fromkeys([*written, *_saying(connection, corpus, changed)]))
    for start in range(0, len(ids), _READ):
        _renew(connection, corpus, names, ids[start : start + _READ], tally)


def _saying(connection: Connection, corpus: Corpus, names: set[str]) -> list[str]:
    """Documents whose text holds the longest word of one of the names, a superset of those that mention it; all where names are many."""
    if not names:
        return []
    if len(names) > _MANY:
        every = connection.execute(_LIVE_DOCUMENTS, (corpus.id,))
        return [str(id_) for (id_,) in every]
    rows = connection.execute(_SAYING, (corpus.id, sorted({max(name.split(), key=len) for name in names})))
    return [str(id_) for (id_,) in rows]


def _renew(connection: Connection, corpus: Corpus, names: KnownNames, ids: Sequence[str], tally: PageTally) -> None:
    documents: Any = connection.execute(_TEXTS, (ids,)).fetchall()
    linked: dict[str, set[str]] = {id_: {id_} for id_, _ in documents}
    held: dict[tuple[str, str, int], str] = {}
    for id_, document, kind, document_target, entity, line in connection.execute(_LIVE_LINKS, (ids,)):
        if kind == "mention":
            held[str(document), str(document_target or entity), int(str(line))] = str(id_)
        elif document_target:
            linked.setdefault(str(document), set()).add(str(document_target))
    rows: list[dict[str, object]] = []
    for id_, content in documents:
        for mention in names.found_in(_page(content)):
            if mention.row.id in linked[id_] or held.pop((id_, mention.row.id, mention.line), None):
                continue
            rows.append(
                {
                    "id": str(uuid.uuid4()),
                    "namespace_id": corpus.namespace_id,
                    "document_id": id_,
                    "kind": "mention",
                    "target": mention.said,
                    "target_document_id": mention.row.id if mention.row.document else None,
                    "entity_id": None if mention.row.document else mention.row.id,
                    "line": mention.line,
                }
            )
    connection.execute(_END_LINKS, (list(held.values()),))
    insert(connection, tables.links, rows, len(rows), tally.added)


def _page(content: str) -> MarkdownPage:
    head = frontmatter(content)
    return markdown_page(content[head.end :], head.lines + 1)


def _listed(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []
