"""Pages that a plan writes or forgets, made from a snapshot without a connection."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import Value, named_id
from slowwave.changes.claims import forget_page
from slowwave.changes.mutation import MADE_FROM, Mutation
from slowwave.changes.pages import Link, PageCorpus, PagePassage, PageText, page_corpus, write_pages
from slowwave.changes.rows import rows_where
from slowwave.errors import Refused
from slowwave.models import Embed
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.page_files import PageFile
from slowwave.sources.profile import Profile, profile
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.markdown import path_fault
from slowwave.wiki.corpus.corpora import DEFAULT_PROFILE, PAGES_PROFILE, PAGES_ROOT, UNFOLLOWED
from slowwave.wiki.corpus.links import KnownNames, LinkTarget, LinkTargets, NamedRow
from slowwave.wiki.corpus.page_write import forgotten_files, parsed, refuse_unforgettable, screened
from slowwave.wiki.corpus.pages import PageChanged, PagePlace
from slowwave.wiki.corpus.requests import HeldElsewhere, WriteRequest

# Pages that a plan writes: the effect of a text on a snapshot, in the form of ``write_page``. Pure: no connection, no files.
#
# This is the counterpart for plans of ``slowwave.wiki.corpus.page_write``: the text is screened and parsed like a file of its corpus, and
# its links and mentions are resolved in the snapshot. If a link has no target there but matches a new page of the same plan, it awaits
# that page, whichever is applied first. Names that another page of the plan adds become mentions with the next sync.

_WRITTEN: Final = ("kind", "target", "anchor", "line")

MOST_LINKS: Final = 2_000
"""Maximum number of stored links of one page, and of its mentions."""
MOST_BYTES: Final = 2_000_000
"""Largest page, in bytes."""


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page to write: its ``path`` within the corpus, the ``text`` of the whole file with its frontmatter, and the ``root``.

    ``made_from`` is a hash of the inputs of the text: a page that a person rejected is not proposed again while it stays the same.
    Without it, the text itself serves as the input.
    """

    path: str
    text: str
    root: str = PAGES_ROOT
    made_from: str = ""


def planned_pages(
    snapshot: Snapshot,
    settings: Settings,
    embed: Embed | None,
    pages: Sequence[PlannedPage],
    beside: Sequence[PlannedPage] = (),
) -> list[Mutation]:
    """Return one ``write_page`` mutation per page, in order; pages with unchanged text write nothing.

    ``beside`` are pages that other items of the plan write; links may point to them. Passages without a vector of their text are embedded
    in one call. Without ``embed`` they can only be found by words, until a sync adds vectors. Raises ``Refused``, naming the path, for a
    page that cannot be parsed again, that screening refuses, or that no corpus takes.
    """
    return write_pages(snapshot, page_texts(snapshot, settings, embed, pages, beside))


def page_texts(
    snapshot: Snapshot,
    settings: Settings,
    embed: Embed | None,
    pages: Sequence[PlannedPage],
    beside: Sequence[PlannedPage] = (),
) -> list[PageText]:
    """Return the texts of the pages, for mutations that write pages together with other rows.

    Arguments and errors as in ``planned_pages``.
    """
    world = _World(snapshot, _held(snapshot, {page.path for page in (*pages, *beside)}))
    read = [_read(world, settings, page) for page in pages]
    coming = _coming([*read, *(_read(world, settings, page) for page in beside)])
    vectors = _vectors(snapshot, embed, {p.hash: p.content for page in read for p in page.passages})
    texts: list[PageText] = []
    claimed: set[str] = set()
    linked = [world.links(page, coming) for page in read]
    written = {page.document: {*links} for page, links in zip(read, linked, strict=True)}
    for page, links in zip(read, linked, strict=True):
        pointing = tuple(p for p in world.pointing(page, written) if p[0] not in claimed)
        claimed |= {id_ for id_, _ in pointing}
        fields = page.file.fields
        attributes: dict[str, object] = {**fields.values, "frontmatter": dict(page.file.written)}
        texts.append(
            PageText(
                page.corpus,
                page.path,
                fields.title,
                page.file.text,
                page.file.content_hash,
                attributes | ({MADE_FROM: page.made_from} if page.made_from else {}),
                _day(fields.day),
                page.passages,
                links,
                pointing,
                {p.hash: vectors[p.hash] for p in page.passages if p.hash in vectors},
            )
        )
    return texts


@dataclass(frozen=True, slots=True)
class _Read:
    """A parsed page, and the id that it has or will have."""

    corpus: PageCorpus
    layout: Profile
    path: str
    document: str
    file: PageFile
    made_from: str
    passages: tuple[PagePassage, ...]
    fresh: bool


@dataclass(slots=True)
class _World:
    """The pages, names and links of a snapshot by corpus, each loaded once."""

    snapshot: Snapshot
    held: Mapping[tuple[str, str], Sequence[tuple[str, str, bool]]]
    _corpora: dict[str, PageCorpus] = field(default_factory=dict)
    _pages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _names: dict[str, list[NamedRow]] = field(default_factory=dict)
    _known: dict[str, KnownNames] = field(default_factory=dict)
    _entities: list[NamedRow] | None = None
    _links: list[dict[str, Any]] | None = None

    def corpus(self, root: str) -> PageCorpus:
        if root not in self._corpora:
            found = page_corpus(self.snapshot, root, PAGES_PROFILE if root in UNFOLLOWED else DEFAULT_PROFILE)
            if not found.id:
                raise Refused(f"The namespace follows no folder {root[:200]!r}, so no page of it can be planned.")
            self._corpora[root] = found
        return self._corpora[root]

    def pages(self, corpus: PageCorpus) -> list[dict[str, Any]]:
        """Return the live pages of a corpus, with ``metadata`` parsed."""
        if corpus.id not in self._pages:
            rows = self.snapshot.live(
                "documents", ["id", "corpus_id", "path", "title", "metadata", "invalidated_at", "valid_to"]
            )
            mine = rows.filter(pc.equal(rows["corpus_id"], corpus.id)).to_pylist()
            for row in mine:
                row["metadata"] = json.loads(row["metadata"])
            self._pages[corpus.id] = [row for row in mine if "quarantined" not in row["metadata"]]
        return self._pages[corpus.id]

    def document(self, corpus: PageCorpus, path: str) -> tuple[str, str, bool]:
        """Return the id of a page, its text (empty if it does not exist yet), and whether it is new."""
        found = self.held.get((corpus.id, path), ())
        for id_, content, live in found:
            if live:
                return id_, content, False
        return named_id(corpus.id, "documents", path, str(len(found) + 1)), "", True

    def links(self, page: _Read, coming: Mapping[str, LinkTargets]) -> tuple[Link, ...]:
        """Return the links and mentions of a page; ``coming`` are the new pages of the plan, by corpus."""
        written = page.file.page.links[:MOST_LINKS]
        targets = self._targets(page) if written else LinkTargets(())
        found: dict[Link, None] = {}
        linked = {page.document}
        for link in written:
            meant = targets.resolve(page.path, link.kind, link.target)
            awaited = None if meant else coming[page.corpus.id].resolve(page.path, link.kind, link.target)
            linked.add(meant or page.document)
            found[Link(link.kind, link.target, link.anchor, link.line, meant, awaited=awaited)] = None
        for mention in self._known_names(page).found_in(page.file.page)[:MOST_LINKS]:
            row = mention.row
            if row.id not in linked:
                meant = (row.id, None) if row.document else (None, row.id)
                found[Link("mention", mention.said, "", mention.line, *meant)] = None
        return tuple(found)

    def pointing(self, page: _Read, written: Mapping[str, Collection[Link]]) -> list[tuple[str, str | None]]:
        """Return links of other pages of the corpus that will point to this page, each with its current target.

        Of pages in ``written``, only the links that stay as they are count: the items of those pages set the targets of the others.
        """
        fields = page.file.fields.values
        path = PurePosixPath(page.path)
        called = (path.stem, path.parent.name, str(fields.get("slug") or ""), page.file.fields.title, *_aliases(fields))
        names = {name.rsplit("/", 1)[-1].casefold() for name in called if name}
        paths = {row["id"]: row["path"] for row in self.pages(page.corpus)}
        targets: LinkTargets | None = None
        found: list[tuple[str, str | None]] = []
        for link in self._written_links():
            own = written.get(link["document_id"])
            stays = own is None or any(
                (one.kind, one.target, one.anchor, one.line) == tuple(link[c] for c in _WRITTEN)
                and one.page == link["target_document_id"]
                for one in own
            )
            if link["document_id"] in paths and link["called"] in names and stays:
                targets = targets or self._targets(page)
                meant = targets.resolve(paths[link["document_id"]], link["kind"], link["target"])
                if meant == page.document != link["target_document_id"]:
                    found.append((link["id"], link["target_document_id"]))
        return found

    def _targets(self, page: _Read) -> LinkTargets:
        own = LinkTarget(page.document, page.path, page.file.fields.title, _aliases(page.file.fields.values))
        others = (
            LinkTarget(row["id"], row["path"], row["title"], _aliases(row["metadata"]))
            for row in self.pages(page.corpus)
            if row["id"] != page.document
        )
        return LinkTargets([own, *others])

    def _known_names(self, page: _Read) -> KnownNames:
        """Return all names except the page's own.

        Pages that do not exist yet share the same names, which are loaded once per corpus.
        """
        if page.fresh and page.corpus.id in self._known:
            return self._known[page.corpus.id]
        known = KnownNames([*self._named(page), *self._known_entities()], page.layout.generic)
        if page.fresh:
            self._known[page.corpus.id] = known
        return known

    def _named(self, page: _Read) -> Iterable[NamedRow]:
        if page.corpus.id not in self._names:
            self._names[page.corpus.id] = [
                NamedRow(
                    row["id"],
                    (row["title"], *_aliases(row["metadata"]), str(row["metadata"].get("slug") or "")),
                    document=True,
                )
                for row in self.pages(page.corpus)
                if "forgotten" not in row["metadata"]
                and page.layout.named(row["path"], str(row["metadata"].get("type")))
            ]
        return (row for row in self._names[page.corpus.id] if row.id != page.document)

    def _known_entities(self) -> list[NamedRow]:
        if self._entities is None:
            live = self.snapshot.live("entities", ["id", "name", "state", "invalidated_at", "valid_to"])
            live = live.filter(pc.equal(live["state"], "active"))
            names: dict[str, list[str]] = {
                id_: [name] for id_, name in zip(live["id"].to_pylist(), live["name"].to_pylist(), strict=True)
            }
            aliases = self.snapshot.table("entity_aliases")
            for id_, alias in zip(aliases["entity_id"].to_pylist(), aliases["alias"].to_pylist(), strict=True):
                if id_ in names:
                    names[id_].append(alias)
            self._entities = [NamedRow(id_, tuple(found), document=False) for id_, found in names.items()]
        return self._entities

    def _written_links(self) -> list[dict[str, Any]]:
        if self._links is None:
            columns = ["id", "document_id", *_WRITTEN, "target_document_id", "invalidated_at"]
            live = self.snapshot.live("links", columns)
            found: list[dict[str, Any]] = live.filter(pc.not_equal(live["kind"], "mention")).to_pylist()
            for link in found:
                end = link["target"].rsplit("/", 1)[-1].casefold()
                link["called"] = end.removesuffix(".md").removesuffix(".markdown")
            self._links = found
        return self._links


def _coming(read: Iterable[_Read]) -> dict[str, LinkTargets]:
    """Return the new pages of each corpus as link targets."""
    found: defaultdict[str, list[LinkTarget]] = defaultdict(list)
    for page in read:
        fields = page.file.fields
        found[page.corpus.id] += [
            LinkTarget(page.document, page.path, fields.title, _aliases(fields.values))
        ] * page.fresh
    return {corpus: LinkTargets(pages) for corpus, pages in found.items()}


def _held(snapshot: Snapshot, paths: Collection[str]) -> dict[tuple[str, str], list[tuple[str, str, bool]]]:
    """Return the current and former pages by (corpus, path), without versions: id, text, and whether the page is live."""
    rows = snapshot.table("documents").select(["id", "corpus_id", "path", "content", "version_of", "invalidated_at"])
    mine = pc.and_(
        pc.is_in(rows["path"], value_set=pa.array(sorted(paths), pa.string())), pc.is_null(rows["version_of"])
    )
    found: defaultdict[tuple[str, str], list[tuple[str, str, bool]]] = defaultdict(list)
    for row in rows.filter(mine).to_pylist():
        live = row["invalidated_at"] is None
        found[row["corpus_id"], row["path"]].append((row["id"], row["content"], live))
    return found


def _read(world: _World, settings: Settings, page: PlannedPage) -> _Read:
    """Screen and parse a page. Raises ``Refused``."""
    if len(page.text.encode("utf-8", "replace")) > MOST_BYTES:
        raise Refused(f"{page.path} would have more than {MOST_BYTES:,} bytes. Plan less, or several pages.")
    corpus = world.corpus(page.root)
    layout = profile(corpus.profile)
    if layout.plane_of(page.path) != "durable":
        raise Refused(f"{page.path} lies where sessions are kept, so no page can be planned there.")
    document, before, fresh = world.document(corpus, page.path)
    if fault := path_fault(page.path, is_new=fresh):
        raise Refused(f"A page cannot be planned at {page.path[:64]!r}: a page's path {fault}.")
    result = screened(page.text.replace("\r\n", "\n").replace("\0", ""), before, settings)
    if result.refused:
        raise Refused(f"{page.path} holds what screening refuses ({result.refused}), so it cannot be planned.")
    try:
        file = parsed(page.path, result.text, layout)
    except Refused as problem:
        raise Refused(f"{page.path}: {problem}") from None
    passages = tuple(PagePassage(c.content, c.start_line, c.end_line, c.content_hash) for c in file.chunks)
    return _Read(corpus, layout, page.path, document, file, page.made_from, passages, fresh)


def _vectors(snapshot: Snapshot, embed: Embed | None, texts: Mapping[str, str]) -> dict[str, NDArray[np.floating]]:
    """Return vectors by the hash of a text: reused from equal texts of the snapshot, or embedded."""
    known = snapshot.vectors["chunk_vectors"]
    if not known.model or not texts:
        return {}
    chunks = snapshot.table("chunks").select(["id", "content_hash"])
    chunks = chunks.filter(pc.is_in(chunks["content_hash"], value_set=pa.array(sorted(texts), pa.string())))
    found: dict[str, NDArray[np.floating]] = {}
    places = known.rows_of(chunks["id"].combine_chunks())
    for hash_, place in zip(chunks["content_hash"].to_pylist(), places.tolist(), strict=True):
        if place >= 0:
            found.setdefault(hash_, known.matrix[place])
    if embed is not None and (missing := [hash_ for hash_ in texts if hash_ not in found]):
        made = np.asarray(embed([texts[hash_] for hash_ in missing]), np.float32)
        if not len(known) or made.shape[1:] == known.matrix.shape[1:]:
            found |= dict(zip(missing, made, strict=True))
    return found


def _day(day: Any) -> str | None:
    if day is None:
        return None
    return datetime.combine(day, time(), UTC).isoformat(timespec="microseconds")


def _aliases(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("aliases")
    return tuple(str(part) for part in value) if isinstance(value, list) else ()


# Pages that a plan forgets: the effect of a request to forget on a snapshot, in the form of ``forget_rows``, and what else holds the
# words.
#
# This is the counterpart for plans of forgetting in ``slowwave.wiki.corpus.page_write``.

_HELD: Final = "SELECT memory.held_elsewhere(d) FROM memory.documents d WHERE d.id = %s"


def planned_forgetting(
    snapshot: Snapshot, settings: Settings, place: PagePlace, request: WriteRequest, made_from: str = ""
) -> Mutation:
    """Return the mutation that forgets the page at a place, for the reason of the request.

    Raises as forgetting at run time does, and ``PageChanged`` for a page that differs from the snapshot.
    """
    refuse_unforgettable(request, place)
    corpus = place.corpus
    if corpus is None:
        raise AssertionError  # an existing page has a corpus
    page, stone = forgotten_files(place, request.reason, request.agent, settings, snapshot.taken_at)
    rows = rows_where(
        snapshot, "documents", "path", {page.path, stone.path}, ("corpus_id", *_KEPT, "version_of", "invalidated_at")
    )
    mine = (r for r in rows if r["corpus_id"] == corpus.id and r["version_of"] is None and r["invalidated_at"] is None)
    there = {str(r["path"]): r for r in mine}
    if there.get(page.path, {}).get("content_hash") != place.hash:
        raise PageChanged(f"{page.path} has changed since it was read. Nothing was planned.")
    roots = snapshot.table("corpora")
    (known,) = roots.filter(pc.equal(roots["id"], corpus.id)).to_pylist()
    at = PageCorpus(corpus.id, known["root"], known["profile"])
    made = {MADE_FROM: made_from} if made_from else {}
    return forget_page(
        snapshot,
        _text(at, page, there[page.path], {**_GONE, "superseded_by": stone.path, **made}),
        _text(
            at,
            stone,
            there.get(stone.path, {"title": stone.path, "valid_from": None}),
            {"type": "tombstone", **_GONE, **made},
        ),
    )


def page_held(connection: Connection, document_id: str) -> HeldElsewhere:
    """Return what else will hold the words of a page once a plan has forgotten it.

    The current text counts as one more version.
    """
    row: Any = connection.execute(_HELD, (document_id,)).fetchone()
    return HeldElsewhere(**{**row[0], "versions": row[0]["versions"] + 1})


_KEPT: Final = ("title", "valid_from", "content_hash")
_GONE: Final = {"status": "superseded", "canonical": False, "temperature": "cold"}


def _text(corpus: PageCorpus, file: PageFile, seen: Mapping[str, Value], marks: Mapping[str, object]) -> PageText:
    values = {**file.fields.values, "frontmatter": dict(file.written), **marks}
    values.pop("problems", None)  # no profile has the type of tombstones
    return PageText(
        *(corpus, file.path, str(seen["title"]), file.text, file.content_hash, values),
        valid_from=None if seen["valid_from"] is None else str(seen["valid_from"]),
    )
