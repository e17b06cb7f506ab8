"""The links of one page that is written by day: what its links and names mean, and which links of other pages mean it now.

What a sync finds out for a whole folder belongs to ``slowwave.corpus.linking``; this is the same for one page, without reading the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from slowwave.corpus.corpora import Corpus
from slowwave.corpus.link_targets import LinkTarget, LinkTargets
from slowwave.corpus.mentions import KnownNames, NamedRow
from slowwave.corpus.page_file import PageFile
from slowwave.corpus.profile import profile
from slowwave.store.connect import Connection

_MOST: Final = 2_000
"""Links of one page that are kept, and mentions."""

_TARGETS: Final = """
SELECT id::text, path, title, coalesce(metadata -> 'aliases', '[]') FROM memory.documents
WHERE corpus_id = %(corpus)s AND invalidated_at IS NULL AND id <> %(id)s AND NOT jsonb_exists_any(metadata, '{quarantined,forgotten}')
"""
_NAMED: Final = """
SELECT d.id::text, d.path, d.title, d.metadata ->> 'type', d.metadata -> 'aliases', d.metadata ->> 'slug' FROM memory.documents d
WHERE d.corpus_id = %(corpus)s AND d.invalidated_at IS NULL AND d.id <> %(id)s
  AND NOT jsonb_exists_any(d.metadata, '{quarantined,forgotten}') AND EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(jsonb_build_array(d.title, d.metadata ->> 'slug')
      || CASE jsonb_typeof(d.metadata -> 'aliases') WHEN 'array' THEN d.metadata -> 'aliases' ELSE '[]' END) AS n (name)
    WHERE length(n.name) > 2 AND strpos(lower(%(text)s), lower(n.name)) > 0)
"""
_ENTITIES: Final = """
SELECT e.id::text, array_agg(DISTINCT n.name) FROM memory.entities e
CROSS JOIN LATERAL (SELECT e.name UNION SELECT a.alias FROM memory.entity_aliases a WHERE a.entity_id = e.id) n (name)
WHERE e.namespace_id = %(namespace)s AND e.invalidated_at IS NULL AND e.state = 'active' AND (e.valid_to IS NULL OR e.valid_to > now())
  AND length(n.name) > 2 AND strpos(lower(%(text)s), lower(n.name)) > 0 GROUP BY e.id
"""
_POINTING: Final = """
SELECT l.id::text, d.path, l.kind, l.target FROM memory.links l JOIN memory.documents d ON d.id = l.document_id AND d.corpus_id = %(corpus)s
WHERE l.namespace_id = %(namespace)s AND l.invalidated_at IS NULL AND l.kind <> 'mention' AND l.document_id <> %(id)s
  AND l.target_document_id IS DISTINCT FROM %(id)s
  AND lower(regexp_replace(l.target, '^.*/|[.](md|markdown)$', '', 'gi')) = ANY (%(names)s)
"""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """``links`` as ``memory.store_links`` takes them; ``pointing``: ids of links of other pages."""

    links: Sequence[Mapping[str, object]] = ()
    pointing: Sequence[str] = ()


def page_links(connection: Connection, namespace_id: str, corpus: Corpus | None, id_: str, file: PageFile) -> PageLinks:
    """The links of the page that is to have an id. ``corpus`` None: it is the first of its corpus."""
    own = LinkTarget(id_, file.path, file.fields.title, tuple(file.fields.values.get("aliases", ())))
    asked = {"corpus": corpus.id if corpus else None, "id": id_, "namespace": namespace_id, "text": file.text}
    names = _called(own, str(file.fields.values.get("slug") or ""))
    links = file.page.links[:_MOST]
    others: Any = connection.execute(_POINTING.encode(), asked | {"names": names}).fetchall() if corpus else []
    pages: Any = connection.execute(_TARGETS.encode(), asked).fetchall() if corpus and (links or others) else []
    targets = LinkTargets([own, *(LinkTarget(i, path, title, _words(aliases)) for i, path, title, aliases in pages)])
    rows: list[dict[str, object]] = []
    linked = {id_}
    for link in dict.fromkeys(links):
        meant = targets.resolve(file.path, link.kind, link.target)
        linked.add(meant or id_)
        said: dict[str, object] = {"kind": link.kind, "target": link.target, "anchor": link.anchor, "line": link.line}
        rows.append(said | {"page": meant, "entity": None})
    rows += _mentions(connection, corpus, asked, file, linked)
    pointing = [i for i, path, kind, target in others if targets.resolve(path, kind, target) == id_]
    return PageLinks(rows, pointing)


def _mentions(
    connection: Connection, corpus: Corpus | None, asked: Mapping[str, object], file: PageFile, linked: set[str]
) -> Iterable[dict[str, object]]:
    """Names that the page says and does not link to."""
    rows: list[NamedRow] = []
    generic: Sequence[str] = ()
    if corpus is not None:
        layout = profile(corpus.profile)
        generic = layout.generic
        for id_, path, title, type_, aliases, slug in connection.execute(_NAMED.encode(), asked):
            if layout.named(str(path), str(type_)):
                rows.append(NamedRow(str(id_), (str(title), *_words(aliases), str(slug or "")), document=True))
    entities: Any = connection.execute(_ENTITIES.encode(), asked)
    rows += [NamedRow(id_, tuple(names), document=False) for id_, names in entities]
    for mention in KnownNames(rows, generic).found_in(file.page)[:_MOST]:
        if mention.row.id not in linked:
            meant = {"page": mention.row.id} if mention.row.document else {"entity": mention.row.id}
            yield {"kind": "mention", "target": mention.said, "anchor": "", "line": mention.line, **meant}


def _called(page: LinkTarget, slug: str) -> list[str]:
    """What a link that means the page may end with."""
    path = PurePosixPath(page.path)
    names = (path.stem, path.parent.name, slug, page.title, *page.aliases)
    return sorted({name.rsplit("/", 1)[-1].lower() for name in names if name})


def _words(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []
