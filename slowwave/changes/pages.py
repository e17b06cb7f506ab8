"""Mutations of pages: ``write_page`` for documents of a corpus, ``render_page`` for generated ones."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import Cell, Guard, Insert, Value, Write, canonical, canonical_json, encode, named_id
from slowwave.changes.mutation import EVIDENCE, Mutation, Row, check
from slowwave.changes.rows import Fields, rows_where
from slowwave.errors import Refused
from slowwave.snapshots.snapshot import Snapshot

# ``write_page``: insert a document of a corpus with its passages, or replace its text; the former text is kept as a version.
#
# Passages with unchanged text keep their rows and vectors, as in the sync of a folder, and so do links. The ids of rows are derived from
# their contents: a page from its corpus and path, a passage from its page and text, a corpus that is created with its first page from its
# root. So other rows can name a page before it exists, and a page that someone else inserted meanwhile makes the item stale.
# ``slowwave.wiki.corpus.planned_pages`` determines the text and its links.

UNFOLLOWED: Final = frozenset({"pages:", EVIDENCE})
"""Roots that are not folders, of corpora that are created with their first page."""

STANDING: Final = {EVIDENCE: 0.5}
"""Weight of the search results of a corpus that is created with its first page, if it is below 1."""

_TEXT: Final = ("title", "content", "metadata", "valid_from", "content_hash")
_PLACE: Final = ("corpus_id", "invalidated_at", "path", "plane", "version_of")
_LINK: Final = ("kind", "target", "anchor", "line")


@dataclass(frozen=True, slots=True)
class PageCorpus:
    """A corpus, given by its id and root.

    ``named`` is the id that plans derive from the root, empty for a corpus of a followed folder. If the corpus has that id, every item
    that writes one of its pages inserts the corpus as well, with this ``profile``, and it is removed when the last such item is undone.
    """

    id: str
    root: str
    profile: str = ""
    named: str = ""


@dataclass(frozen=True, slots=True)
class PagePassage:
    """A run of lines of a page, both ends included, counted from 1; ``hash`` is the SHA-256 of its text."""

    content: str
    start_line: int
    end_line: int
    hash: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link or mention as it is written, and the page or entity that it points to, if known.

    ``awaited`` is the page that it will point to as soon as that page exists.
    """

    kind: str
    target: str
    anchor: str
    line: int
    page: str | None = None
    entity: str | None = None
    awaited: str | None = None


@dataclass(frozen=True, slots=True)
class PageText:
    """The planned content of a page.

    ``metadata`` is JSON, ``vectors`` are keyed by the hashes of passages. ``pointing`` are links of other pages that will point to this
    one, each with the page that it has pointed to so far.
    """

    corpus: PageCorpus
    path: str
    title: str
    content: str
    content_hash: str
    metadata: Mapping[str, object]
    valid_from: str | None = None
    passages: tuple[PagePassage, ...] = ()
    links: tuple[Link, ...] = ()
    pointing: tuple[tuple[str, str | None], ...] = ()
    vectors: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageCells:
    """The changes of one page: the id of its document, the ids of its passages in order, and the parts of a mutation."""

    document: str
    passages: tuple[str, ...]
    writes: tuple[Write, ...]
    guards: tuple[Guard, ...]
    inserts: tuple[Insert, ...]
    rows: tuple[Row, ...]


def write_pages(snapshot: Snapshot, pages: Sequence[PageText]) -> list[Mutation]:
    """Return one mutation per page, in their order.

    Raises ``Refused`` for a page that is quarantined or forgotten, or named twice. The text and the location of an existing page must be
    as the plan saw them. Cost: a pass over documents, chunks and links.
    """
    return [
        checked(Mutation("write_page", "documents", c.writes, c.guards, c.inserts, c.rows))
        for c in page_cells(snapshot, pages)
    ]


def page_cells(snapshot: Snapshot, pages: Sequence[PageText]) -> list[PageCells]:
    """Return the changes of each page, for mutations that combine pages with other rows; errors and cost as ``write_pages``."""
    places = [(page.corpus.id, page.path) for page in pages]
    if len({*places}) < len(places):
        twice = next(path for n, (_, path) in enumerate(places) if places[n] in places[:n])
        raise Refused(f"{twice} would be written twice in one plan. Write it once.")
    held = _Held.from_snapshot(snapshot, places)
    return [_cells(page, held) for page in pages]


def checked(mutation: Mutation) -> Mutation:
    """Check a mutation against the limits of its kind and return it."""
    check(mutation)
    return mutation


def page_corpus(snapshot: Snapshot, root: str, profile: str) -> PageCorpus:
    """Return the live corpus of a root, or the one that is inserted with its first page."""
    corpora = snapshot.live("corpora", ["id", "root", "profile", "invalidated_at"])
    found = corpora.filter(pc.equal(corpora["root"], root)).to_pylist()
    named = named_id(snapshot.namespace_id, "corpora", root) if root in UNFOLLOWED else ""
    return (
        PageCorpus(found[0]["id"], root, found[0]["profile"], named)
        if found
        else PageCorpus(named, root, profile, named)
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """The stored state of the pages: documents by corpus and path, and the rows that belong to them by document."""

    corpora: Mapping[str, Fields]
    documents: Mapping[tuple[str, str], Fields]
    earlier: Mapping[tuple[str, str], int]
    ended: Mapping[str, str]
    chunks: Mapping[str, Sequence[Fields]]
    chunk_ids: Collection[str]
    links: Mapping[str, Sequence[Fields]]
    bare: Collection[str]
    model: str

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, places: Sequence[tuple[str, str]]) -> _Held:
        rows = rows_where(snapshot, "documents", "path", {path for _, path in places}, ("corpus_id", *_PLACE, *_ROW))
        asked = {*places}
        documents: dict[tuple[str, str], Fields] = {}
        earlier: Counter[tuple[str, str]] = Counter()
        for row in rows:
            place = (str(row["corpus_id"]), str(row["path"]))
            if place in asked and row["version_of"] is None:
                earlier[place] += 1
                if row["invalidated_at"] is None:
                    documents[place] = row
        ids = {str(row["id"]) for row in documents.values()}
        ended: dict[str, str] = {}
        for row in rows_where(snapshot, "documents", "version_of", ids, ("invalidated_at",)):
            ended[str(row["version_of"])] = max(str(row["invalidated_at"]), ended.get(str(row["version_of"]), ""))
        columns = (
            "document_id",
            "ordinal",
            "content_hash",
            "start_line",
            "end_line",
            "invalidated_at",
            "invalidated_by",
        )
        chunks = rows_where(snapshot, "chunks", "document_id", ids, columns)
        links = rows_where(
            snapshot,
            "links",
            "document_id",
            ids,
            ("document_id", *_LINK, "target_document_id", "entity_id", "invalidated_at", "invalidated_by"),
        )
        vectors = snapshot.vectors["chunk_vectors"]
        known = [str(c["id"]) for c in chunks]
        without = vectors.rows_of(pa.array(known, pa.string())) < 0
        return cls(
            {str(c["id"]): c for c in rows_where(snapshot, "corpora", "id", {c for c, _ in places}, _CORPUS)},
            documents,
            earlier,
            ended,
            _by_document(chunks),
            frozenset(known),
            _by_document([link for link in links if link["invalidated_at"] is None]),
            frozenset(id_ for id_, is_bare in zip(known, without, strict=True) if is_bare),
            vectors.model,
        )


_ROW: Final = (*_TEXT, "source", "recorded_at", "invalidated_by", "external_id")
_CORPUS: Final = ("root", "profile", "invalidated_at")


def _by_document(rows: Sequence[Fields]) -> dict[str, list[Fields]]:
    found: defaultdict[str, list[Fields]] = defaultdict(list)
    for row in rows:
        found[str(row["document_id"])].append(row)
    return found


@dataclass(slots=True)
class _Parts:
    """The parts of one mutation, collected step by step."""

    writes: list[Write] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)

    def set(self, table: str, row: str, seen: Mapping[str, Value], wanted: Mapping[str, Value]) -> None:
        """Write the columns whose value differs from the wanted one."""
        changed = {column: value for column, value in wanted.items() if not _same(column, seen[column], value)}
        self.writes += [Write(Cell(table, row, c), "set", seen[c], v) for c, v in changed.items()]

    def end(self, table: str, row: str, seen: Mapping[str, Value]) -> None:
        """Retire a row now, by the item."""
        self.writes.append(Write(Cell(table, row, "invalidated_at"), "now", seen["invalidated_at"]))
        self.writes.append(Write(Cell(table, row, "invalidated_by"), "item", seen["invalidated_by"]))


def _cells(page: PageText, held: _Held) -> PageCells:
    place = (page.corpus.id, page.path)
    seen = held.documents.get(place)
    parts = _Parts()
    wanted: dict[str, Value] = {
        "title": page.title,
        "content": page.content,
        "metadata": canonical_json(page.metadata),
        "valid_from": page.valid_from,
        "content_hash": page.content_hash,
    }
    _corpus(parts, page.corpus, held)
    if seen is None:
        document = named_id(page.corpus.id, "documents", page.path, str(held.earlier[place] + 1))
        row: dict[str, Value] = {"source": "corpus", **wanted, "corpus_id": page.corpus.id, "path": page.path}
        parts.inserts.append(Insert("documents", {**row, "plane": "durable", **_ALIVE}, document))
    else:
        document = str(seen["id"])
        if out := {"quarantined", "forgotten"} & json.loads(str(seen["metadata"])).keys():
            raise Refused(f"{page.path} is {min(out)}, and stays as it is. Leave it out.")
        stays = [c for c, value in wanted.items() if _same(c, seen[c], value)]
        parts.guards.append(Guard.on("documents", document, seen, (*_PLACE, *stays)))
        parts.set("documents", document, seen, wanted)
        if parts.writes:
            parts.inserts.append(_version(document, seen, held))
    passages = _passages(parts, document, page, held)
    _links(parts, document, page, held)
    rows = () if seen is None else (Row(document, page.path),)
    return PageCells(document, passages, tuple(parts.writes), tuple(parts.guards), tuple(parts.inserts), rows)


_ALIVE: Final[Mapping[str, Value]] = {
    "external_id": None,
    "valid_to": None,
    "invalidated_at": None,
    "invalidated_by": None,
    "version_of": None,
}


def _corpus(parts: _Parts, corpus: PageCorpus, held: _Held) -> None:
    """Guard the corpus that the plan saw, or insert it with the page."""
    seen = held.corpora.get(corpus.id)
    if seen is not None and corpus.id != corpus.named:
        parts.guards.append(Guard.on("corpora", corpus.id, seen, _CORPUS))
        return
    values: dict[str, Value] = {
        "root": corpus.root,
        "profile": corpus.profile,
        "standing": STANDING.get(corpus.root, 1.0),
        "settings": "{}",
        "invalidated_at": None,
        "invalidated_by": None,
    }
    parts.inserts.append(Insert("corpora", values, corpus.id))


def _version(document: str, seen: Fields, held: _Held) -> Insert:
    """Return the insert that keeps the current text of the page as an older version."""
    values = {**_ALIVE, **{c: seen[c] for c in (*_TEXT, "source", "corpus_id", "path", "plane")}}
    values |= {"version_of": document, "recorded_at": held.ended.get(document) or seen["recorded_at"]}
    del values["invalidated_at"]
    return Insert("documents", values, stamped=("invalidated_at",))


def _passages(parts: _Parts, document: str, page: PageText, held: _Held) -> tuple[str, ...]:
    """Write the passages of a page and return their ids in order.

    Existing passages keep their rows, new ones are inserted, and the rest is retired.
    """
    live: defaultdict[str, list[Fields]] = defaultdict(list)
    made: Counter[str] = Counter()
    for chunk in sorted(held.chunks.get(document, ()), key=lambda c: (int(str(c["ordinal"])), str(c["id"]))):
        made[str(chunk["content_hash"])] += 1
        if chunk["invalidated_at"] is None:
            live[str(chunk["content_hash"])].append(chunk)
    ids: list[str] = []
    for ordinal, passage in enumerate(page.passages):
        lines: dict[str, Value] = {
            "ordinal": ordinal,
            "start_line": passage.start_line,
            "end_line": passage.end_line,
        }
        if live[passage.hash]:
            chunk = live[passage.hash].pop(0)
            id_ = str(chunk["id"])
            parts.set("chunks", id_, chunk, lines)
            parts.guards.append(Guard.on("chunks", id_, chunk, ("content_hash", "document_id", "invalidated_at")))
        else:
            made[passage.hash] += 1
            while (id_ := named_id(document, "chunks", passage.hash, str(made[passage.hash]))) in held.chunk_ids:
                made[passage.hash] += 1
            fields: dict[str, Value] = {
                "document_id": document,
                "content": passage.content,
                "content_hash": passage.hash,
            }
            ends: dict[str, Value] = {"external_id": None, "invalidated_at": None, "invalidated_by": None}
            parts.inserts.append(Insert("chunks", {**fields, **lines, **ends}, id_))
        if held.model and passage.hash in page.vectors and (id_ in held.bare or id_ not in held.chunk_ids):
            vector = encode(np.asarray(page.vectors[passage.hash], np.float32))
            parts.inserts.append(Insert("chunk_vectors", {"vector": vector}, id_, held.model))
        ids.append(id_)
    for chunk in (chunk for left in live.values() for chunk in left):
        parts.end("chunks", str(chunk["id"]), chunk)
        parts.guards.append(Guard.on("chunks", str(chunk["id"]), chunk, ("content_hash", "document_id")))
    return tuple(ids)


def _links(parts: _Parts, document: str, page: PageText, held: _Held) -> None:
    """Write the links of a page: unchanged ones keep their rows, new ones are inserted, and the rest is retired.

    A mention counts as unchanged if it points to the same page or entity.
    """
    there = {_link_key(link): link for link in held.links.get(document, ())}
    for link in page.links:
        values: dict[str, Value] = {
            **{"kind": link.kind, "target": link.target, "anchor": link.anchor, "line": link.line},
            **{"target_document_id": link.page, "entity_id": link.entity},
        }
        if (kept := there.pop(_link_key(values), None)) is None:
            alive: dict[str, Value] = {"document_id": document, "invalidated_at": None, "invalidated_by": None}
            awaited: dict[str, Value] = {"awaited_id": link.awaited} if link.awaited else {}
            parts.inserts.append(Insert("links", {**alive, **values, **awaited}))
        elif kept["target_document_id"] != link.page:
            parts.set("links", str(kept["id"]), kept, {"target_document_id": link.page})
            parts.guards.append(Guard.on("links", str(kept["id"]), kept, ("document_id", "invalidated_at")))
    for link in there.values():
        parts.end("links", str(link["id"]), link)
        parts.guards.append(Guard.on("links", str(link["id"]), link, ("document_id",)))
    for id_, seen in page.pointing:
        parts.writes.append(Write(Cell("links", id_, "target_document_id"), "set", seen, document))


def _link_key(link: Mapping[str, Value]) -> tuple[Value, ...]:
    meant = (link["target_document_id"] or link["entity_id"],) if link["kind"] == "mention" else ()
    return (*(link[c] for c in _LINK), *meant)


def _same(column: str, seen: Value, wanted: Value) -> bool:
    return json.loads(str(seen)) == json.loads(str(wanted)) if column == "metadata" else seen == wanted


# ``render_page``: write the body of a page; the first one gets a new row.
#
# The row is the page; files follow it (``slowwave.wiki.pages.workspace``). A path has one live row in a namespace, so a plan that would
# insert a page which someone inserted meanwhile is stale.

PATH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.md")
"""The allowed name of a page: a plain name of a Markdown file."""


@dataclass(frozen=True, slots=True)
class Page:
    """The planned content of a generated page; ``input_hash`` is the hash of what its body was rendered from."""

    path: str
    title: str
    body: str
    input_hash: str


def render_pages(snapshot: Snapshot, pages: Sequence[Page]) -> list[Mutation]:
    """Return one mutation per page, in path order: a new row, or new values of the live row as the plan saw it.

    Raises ``Refused`` for a path that is not the plain name of a Markdown file. Cost: one pass over the pages.
    """
    columns = ("path", "title", "body", "input_hash", "invalidated_at")
    live = snapshot.live("pages").select(["id", *columns])
    live = live.filter(pc.is_in(live["path"], value_set=pa.array([p.path for p in pages], pa.string())))
    rows = {row["path"]: {c: canonical(v) for c, v in row.items()} for row in live.to_pylist()}
    mutations = [_render(page, rows.get(page.path)) for page in sorted(pages, key=lambda p: p.path)]
    for mutation in mutations:
        check(mutation)
    return mutations


def _render(page: Page, seen: dict[str, Value] | None) -> Mutation:
    if not PATH.fullmatch(page.path):
        raise Refused(f"A page cannot be called {page.path[:64]!r}: its path is the plain name of a Markdown file.")
    wanted: dict[str, Value] = {"title": page.title, "body": page.body, "input_hash": page.input_hash}
    if seen is None:
        return Mutation("render_page", "pages", inserts=(Insert("pages", {"path": page.path, **wanted}),))
    id_ = str(seen["id"])
    writes = tuple(Write(Cell("pages", id_, c), "set", seen[c], v) for c, v in wanted.items() if seen[c] != v)
    stay = [c for c, v in wanted.items() if seen[c] == v]
    guards = (Guard.on("pages", id_, seen, ("invalidated_at", "path", *stay)),)
    return Mutation("render_page", "pages", writes=writes, guards=guards, rows=(Row(id_),))
