"""Links of pages: their targets, mentions of known names, and the link graph."""

from __future__ import annotations

import posixpath
import re
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from slowwave.sources.loading import insert
from slowwave.sources.page_files import LinkKind, MarkdownPage, PageFile, parse_body
from slowwave.sources.profile import profile
from slowwave.store import tables
from slowwave.store.logins import Connection
from slowwave.text.tokens import fold
from slowwave.wiki.corpus.corpora import Corpus
from slowwave.wiki.corpus.writing import PageTally

# The target of a link: by its path, then by the rules of vaults. Pure; the rows are written below.

_SUFFIXES: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A page that links may point to."""

    id: str
    path: str
    title: str
    aliases: Sequence[str] = ()


class LinkTargets:
    """The pages of one corpus, looked up by the text of a link.

    An exact path comes first: from the page's own folder, then from the root. Then, as in vaults, follow the end of a path, a file's
    name, a title and an alias. Of several matches, the one in the page's own folder wins, else the shortest path, else the first.
    """

    def __init__(self, pages: Iterable[LinkTarget]) -> None:
        self._paths: dict[str, LinkTarget] = {}
        self._folded: dict[str, LinkTarget] = {}
        self._stems: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        self._names: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for page in sorted(pages, key=lambda page: (len(page.path), page.path)):
            self._paths[page.path] = page
            self._folded.setdefault(_fold(page.path), page)
            self._stems[_fold(posixpath.basename(_without_suffix(page.path)))].append(page)
            for name in dict.fromkeys(_fold(name) for name in (page.title, *page.aliases) if name):
                self._names[name].append(page)

    def resolve(self, path: str, kind: LinkKind, target: str) -> str | None:
        """Return the id of the page that a link in the page at ``path`` points to, or None if there is none.

        An empty target is the page itself.
        """
        if not target:
            return self._paths[path].id if path in self._paths else None
        folder = posixpath.dirname(path)
        near = _joined(folder, target)
        far = _joined("", target.lstrip("/"))
        absolute = target.startswith("/")
        order = (far,) if absolute else (near, far) if kind == "markdown" or target.startswith(".") else (far, near)
        for wanted in order:
            if wanted is not None and (found := self._at(wanted)) is not None:
                return found.id
        if kind == "markdown" and "/" in target:
            return None
        ending = _fold(_without_suffix(target))
        stems = [
            page
            for page in self._stems.get(posixpath.basename(ending), ())
            if f"/{_fold(_without_suffix(page.path))}".endswith(f"/{ending}")
        ]
        found = _nearest(stems, folder) or _nearest(self._names.get(_fold(target), ()), folder)
        return found.id if found else None

    def _at(self, wanted: str) -> LinkTarget | None:
        for spelled in (
            wanted,
            *(wanted + suffix for suffix in _SUFFIXES),
            posixpath.join(wanted, "index.md"),
            posixpath.join(wanted, "README.md"),
        ):
            if (found := self._paths.get(spelled) or self._folded.get(_fold(spelled))) is not None:
                return found
        return None


def _joined(folder: str, target: str) -> str | None:
    """Return the normalized path, or None if it leads out of the folder of the corpus."""
    path = posixpath.normpath(posixpath.join(folder, target))
    return None if path == ".." or path.startswith("../") else path


def _nearest(pages: Sequence[LinkTarget], folder: str) -> LinkTarget | None:
    return next((page for page in pages if posixpath.dirname(page.path) == folder), pages[0] if pages else None)


def _without_suffix(path: str) -> str:
    return next((path.removesuffix(suffix) for suffix in _SUFFIXES if path.endswith(suffix)), path)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


# Mentions: places where a page contains the name of a known page or entity without a link to it. Pure.

LEAST: Final = 3
"""Minimum length of a name that is searched for, in characters."""
_LONGEST: Final = 12  # words
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row with names: a document or an entity."""

    id: str
    names: tuple[str, ...]
    document: bool


@dataclass(frozen=True, slots=True)
class NameMention:
    """The first occurrence of a name in a page, as written."""

    row: NamedRow
    said: str
    line: int


class KnownNames:
    """Rows by the words of their names.

    A name of several documents is ambiguous and is ignored; if no document has it, the same holds for several entities.
    """

    def __init__(self, rows: Iterable[NamedRow], generic: Iterable[str] = ()) -> None:
        passed = {_key(name) for name in generic}
        holders: defaultdict[tuple[str, ...], dict[str, NamedRow]] = defaultdict(dict)
        for row in rows:
            for key in {_key(name) for name in row.names if len(name.strip()) >= LEAST}:
                if key and key not in passed and len(key) <= _LONGEST:
                    holders[key][row.id] = row
        self._of: dict[tuple[str, ...], NamedRow] = {}
        for key, found in holders.items():
            named = [row for row in found.values() if row.document] or list(found.values())
            if len(named) == 1:
                self._of[key] = named[0]
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for key in self._of:
            lengths[key[0]].add(len(key))
        self._lengths = {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def keys(self) -> dict[str, str]:
        """Return name → id of its row; equal mappings find equal mentions."""
        return {" ".join(key): row.id for key, row in self._of.items()}

    def get(self, key: str) -> NamedRow | None:
        """Return the row that a name from ``keys`` refers to."""
        return self._of.get(tuple(key.split(" ")))

    def found_in(self, page: MarkdownPage) -> list[NameMention]:
        """Return the mentions of known names in a page, one per row, in page order.

        Where names overlap, the longer one counts. The cost is linear in the number of words of the page.
        """
        found: dict[str, NameMention] = {}
        for line, text in page.prose if self._of else ():
            folded = fold(text)
            spans = [(m.start(), m.end()) for m in _WORD.finditer(folded)]
            words = [folded[start:end] for start, end in spans]
            at = 0
            while at < len(words):
                step = 1
                for length in self._lengths.get(words[at], ()):
                    key = tuple(words[at : at + length])
                    if len(key) == length and (row := self._of.get(key)):  # the end of a line may cut it short
                        mention = folded[spans[at][0] : spans[at + length - 1][1]]
                        found.setdefault(row.id, NameMention(row, mention, line))
                        step = length
                        break
                at += step
        return list(found.values())


def changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the names whose row has changed."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _key(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(name)))


# Links once all pages are stored: the target of each link, and the pages that contain a known name. Only changes are written.

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
    """Point every live link of a corpus to its target, and return how many targets changed."""
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
    """Return the names of the corpus's named pages and of the namespace's entities."""
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
    """Update the mentions in the documents ``written``, and in those that contain a name whose row differs from ``before``."""
    changed = changed_names(before, names.keys())
    ids = list(dict.fromkeys([*written, *_saying(connection, corpus, changed)]))
    for start in range(0, len(ids), _READ):
        _renew(connection, corpus, names, ids[start : start + _READ], tally)


def _saying(connection: Connection, corpus: Corpus, names: set[str]) -> list[str]:
    """Return the documents that may mention one of the names: those with the longest word of a name.

    This is a superset of the documents that mention one. If there are many names, all documents are returned.
    """
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
        for mention in names.found_in(parse_body(content)):
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


def _listed(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []


# The links of one page that is written at run time: the targets of its links and names, and links of other pages that now point to it.
#
# A sync does the same for a whole folder; this works for one page without reading the others.

_MOST: Final = 2_000
"""Maximum number of stored links of one page, and of its mentions."""

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
_ENTITIES_PAGE_LINKS: Final = """
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
    """Links of one page: ``links`` in the form of ``memory.store_links``, ``pointing`` the ids of other pages' links to it."""

    links: Sequence[Mapping[str, object]] = ()
    pointing: Sequence[str] = ()


def page_links(connection: Connection, namespace_id: str, corpus: Corpus | None, id_: str, file: PageFile) -> PageLinks:
    """Return the links of the page that gets the given id.

    ``corpus`` is None if the page is the first of its corpus.
    """
    own = LinkTarget(id_, file.path, file.fields.title, tuple(file.fields.values.get("aliases", ())))
    asked = {"corpus": corpus.id if corpus else None, "id": id_, "namespace": namespace_id, "text": file.text}
    names = _called(own, str(file.fields.values.get("slug") or ""))
    links = file.page.links[:_MOST]
    others: Any = connection.execute(_POINTING.encode(), asked | {"names": names}).fetchall() if corpus else []
    pages: Any = connection.execute(_TARGETS.encode(), asked).fetchall() if corpus and (links or others) else []
    targets = LinkTargets([own, *(LinkTarget(i, path, title, _listed(aliases)) for i, path, title, aliases in pages)])
    rows: list[dict[str, object]] = []
    linked = {id_}
    for link in dict.fromkeys(links):
        meant = targets.resolve(file.path, link.kind, link.target)
        linked.add(meant or id_)
        edge: dict[str, object] = {"kind": link.kind, "target": link.target, "anchor": link.anchor, "line": link.line}
        rows.append(edge | {"page": meant, "entity": None})
    rows += _mentions(connection, corpus, asked, file, linked)
    pointing = [i for i, path, kind, target in others if targets.resolve(path, kind, target) == id_]
    return PageLinks(rows, pointing)


def _mentions(
    connection: Connection, corpus: Corpus | None, asked: Mapping[str, object], file: PageFile, linked: set[str]
) -> Iterable[dict[str, object]]:
    """Yield the names that the page mentions without a link."""
    rows: list[NamedRow] = []
    generic: Sequence[str] = ()
    if corpus is not None:
        layout = profile(corpus.profile)
        generic = layout.generic
        for id_, path, title, type_, aliases, slug in connection.execute(_NAMED.encode(), asked):
            if layout.named(str(path), str(type_)):
                rows.append(NamedRow(str(id_), (str(title), *_listed(aliases), str(slug or "")), document=True))
    entities: Any = connection.execute(_ENTITIES_PAGE_LINKS.encode(), asked)
    rows += [NamedRow(id_, tuple(names), document=False) for id_, names in entities]
    for mention in KnownNames(rows, generic).found_in(file.page)[:_MOST]:
        if mention.row.id not in linked:
            meant = {"page": mention.row.id} if mention.row.document else {"entity": mention.row.id}
            yield {"kind": "mention", "target": mention.said, "anchor": "", "line": mention.line, **meant}


def _called(page: LinkTarget, slug: str) -> list[str]:
    """Return the names, in lower case, with which a link to the page may end."""
    path = PurePosixPath(page.path)
    names = (path.stem, path.parent.name, slug, page.title, *page.aliases)
    return sorted({name.rsplit("/", 1)[-1].lower() for name in names if name})
