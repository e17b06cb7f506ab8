"""Drafts of the canonical pages of subjects, compared with the pages that exist."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.plans.items import Decision
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import RenderedBody, new_body, own_words, rendered_body, section_blocks
from slowwave.sources.profile import Profile, profile
from slowwave.text.frontmatter import UnreadableFile, frontmatter
from slowwave.text.markdown import fold_path
from slowwave.text.screening import unsafe
from slowwave.wiki.claims.request import CORE, FAMILIES, SubjectRef, family_of, slug_of, undated
from slowwave.wiki.corpus.corpora import EVIDENCE_ROOT, PAGES_PROFILE, PAGES_ROOT, SESSIONS_ROOT, UNFOLLOWED
from slowwave.wiki.corpus.page_text import changed_head, fresh_page
from slowwave.wiki.pages.lines import escape, flat
from slowwave.wiki.pages.subject_page import (
    CONTRADICTIONS,
    EvidencePlace,
    ProseWords,
    SubjectPage,
    SubjectStatement,
    SubjectStatements,
    subject_page,
)
from slowwave.wiki.pages.wiki_pages import (
    HOT,
    INDEX,
    LOG,
    TITLES,
    ListedPage,
    hot_content,
    index_content,
    log_content,
    wiki_body,
)

# The pages of a snapshot that canonical pages are compared with: pages of followed folders and of no folder, without sessions and
# evidence. The frontmatter (``subject_id``) or else the path decides whose page it is.

SUBJECT_ID: Final = "subject_id"
"""The frontmatter field that names the subject of a page, as an entity's id."""

_WITHIN: Final = ("state", "index", "README")
"""Stems of files that take their name from their folder."""

SUBJECT_TYPES: Final = frozenset({"person", "project", "concept"})
"""The types of pages that a folder's profile must have to hold canonical pages. A vault has no type for decisions and accepts any."""

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_COLUMNS: Final = ("id", "corpus_id", "path", "title", "plane", "metadata", "version_of", "invalidated_at", "valid_to")


@dataclass(frozen=True, slots=True)
class ShelvedPage:
    """A live page. ``fields`` are its fields by its profile; ``written`` is its frontmatter as written."""

    id: str
    root: str
    path: str
    title: str
    fields: Mapping[str, Any]

    @property
    def written(self) -> Mapping[str, Any]:
        """Return the frontmatter of the page."""
        found = self.fields.get("frontmatter")
        return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]

    @property
    def type(self) -> str:
        """Return the type of the page."""
        return str(self.fields.get("type") or "")

    @property
    def subject(self) -> str:
        """Return the id of the subject that the page names in its frontmatter; empty if it names none."""
        return str(self.written.get(SUBJECT_ID) or "")

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the page as slugs: its title, its slug, and its file's name without a date."""
        path = PurePosixPath(self.path)
        stem = path.parent.name if path.stem in _WITHIN else undated(path.stem)
        return frozenset(
            slug_of(name) for name in (self.title, str(self.fields.get("slug") or ""), stem) if name.strip()
        )

    @property
    def aliases(self) -> frozenset[str]:
        """Return the aliases of the page as slugs."""
        aliases = self.fields.get("aliases")
        return frozenset(slug_of(str(name)) for name in (aliases if isinstance(aliases, list) else ()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @property
    def gone(self) -> bool:
        """Return whether the page was forgotten or quarantined."""
        return "forgotten" in self.fields or "quarantined" in self.fields

    @property
    def closed(self) -> bool:
        """Return whether the page is closed to further statements: it was forgotten, quarantined or superseded."""
        return self.gone or self.fields.get("status") == "superseded" or bool(self.fields.get("superseded_by"))

    @property
    def guarded(self) -> bool:
        """Return whether the page is marked as private or as sensitive."""
        return self.fields.get("visibility") == "private" or self.fields.get("sensitivity") not in (None, "", "none")


@dataclass(frozen=True)
class PageShelf:
    """The pages of a snapshot by path and by subject.

    ``home`` is the root of the corpus for new pages; ``corpora`` maps a corpus's id to (root, profile).
    """

    snapshot: Snapshot
    home: str
    corpora: Mapping[str, tuple[str, str]]
    pages: Sequence[ShelvedPage]
    _at: Mapping[str, Sequence[ShelvedPage]] = field(repr=False)
    _of: Mapping[tuple[str, str], Sequence[ShelvedPage]] = field(repr=False)

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot) -> PageShelf:
        """Load the pages of a snapshot. Needs the tables documents and corpora. Cost: one pass over documents."""
        corpora = {row["id"]: (row["root"], row["profile"]) for row in snapshot.live("corpora").to_pylist()}
        kept = {id_ for id_, (root, _) in corpora.items() if root not in (SESSIONS_ROOT, EVIDENCE_ROOT)}
        pages = _pages(snapshot, corpora, kept, "durable")
        at: defaultdict[str, list[ShelvedPage]] = defaultdict(list)
        of: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        for page in pages:
            at[fold_path(page.path)].append(page)
            if page.subject:
                of[page.subject, page.type].append(page)
        return cls(snapshot, _home(corpora.values()), corpora, pages, at, of)

    def sessions(self) -> list[ShelvedPage]:
        """Return the pages of sessions, which are never pages of a subject."""
        return _pages(self.snapshot, self.corpora, self.corpora.keys(), "sessions")

    def written_days(self) -> dict[str, list[ShelvedPage]]:
        """Return the pages of subjects in the home corpus by the ISO days of their versions, sorted by path.

        The day of a version is the value of its field ``updated``.
        """
        mine = {page.id: page for page in self.pages if page.subject and page.root == self.home and not page.gone}
        rows = self.snapshot.table("documents").select(["version_of", "metadata"])
        rows = rows.filter(pc.is_in(rows["version_of"], value_set=pa.array(sorted(mine), pa.string())))
        versions = zip(rows["version_of"].to_pylist(), rows["metadata"].to_pylist(), strict=True)
        texts = [(page, page) for page in mine.values()]
        texts += [(mine[id_], replace(mine[id_], fields=json.loads(metadata))) for id_, metadata in versions]
        found: defaultdict[str, dict[str, ShelvedPage]] = defaultdict(dict)
        for page, text in texts:
            if text.subject and _DAY.fullmatch(day := str(text.fields.get("updated") or "")):
                found[day][page.path] = page
        return {day: [pages[path] for path in sorted(pages)] for day, pages in found.items()}

    def at(self, path: str) -> Sequence[ShelvedPage]:
        """Return the pages at a path: one, none, or one in each of several corpora.

        Case is ignored, as it is for agents' writes.
        """
        return self._at.get(fold_path(path), ())

    def new_path(self, path: str, root: str) -> str:
        """Spell the path of a new page with the case of the folders that a corpus has."""
        folders = {
            fold_path(str(up)): str(up) for p in self.pages if p.root == root for up in PurePosixPath(p.path).parents
        }
        *parts, name = path.split("/")
        folder = ""
        for part in parts:
            folder = folders.get(fold_path(f"{folder}{part}"), f"{folder}{part}") + "/"
        return folder + name

    def find(self, subjects: Collection[str], family: str) -> list[ShelvedPage]:
        """Return the pages of a family whose frontmatter names one of these entities as subject, by path."""
        found = [page for id_ in subjects for page in self._of.get((id_, family), ())]
        return sorted(found, key=lambda page: (page.path, page.root))

    def named(self, family: str, slugs: Collection[str]) -> tuple[list[ShelvedPage], list[ShelvedPage]]:
        """Return the open pages of a family that have one of these names, and those that have it only as an alias, by path."""
        called, also = ({p.id: p for s in slugs for p in of.get((family, s), ())} for of in self._called)
        order = [sorted(found.values(), key=lambda p: (p.path, p.root)) for found in (called, also)]
        return order[0], [page for page in order[1] if page.id not in called]

    def taken_over(self, page: ShelvedPage) -> bool:
        """Return whether a page belonged to a person before a subject's statements were put on it."""
        rows = self.snapshot.table("documents").select(["version_of", "metadata"])
        earlier = rows.filter(pc.equal(rows["version_of"], page.id))["metadata"].to_pylist()
        return any(not replace(page, fields=json.loads(metadata)).subject for metadata in earlier)

    @cached_property
    def _called(self) -> tuple[dict[tuple[str, str], list[ShelvedPage]], dict[tuple[str, str], list[ShelvedPage]]]:
        called: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        also: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        for page in self.pages:
            if page.type in FAMILIES and not page.closed:
                for names, of in ((page.names, called), (page.aliases, also)):
                    for name in names:
                        of[page.type, name].append(page)
        return called, also

    def layout(self, root: str) -> Profile:
        """Return the profile of a corpus, given by its root."""
        return profile(next((name for at, name in self.corpora.values() if at == root), PAGES_PROFILE))

    def texts(self, pages: Collection[ShelvedPage]) -> dict[str, str]:
        """Return the whole texts of pages, by id."""
        table = self.snapshot.table("documents").select(["id", "content"])
        wanted = pa.array(sorted({page.id for page in pages}), pa.string())
        rows = table.filter(pc.is_in(table["id"], value_set=wanted))
        return dict(zip(rows["id"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _pages(
    snapshot: Snapshot, corpora: Mapping[str, tuple[str, str]], kept: Collection[str], plane: str
) -> list[ShelvedPage]:
    rows = snapshot.live("documents", _COLUMNS)
    rows = rows.filter(pc.is_in(rows["corpus_id"], value_set=pa.array(sorted(kept), pa.string())))
    return [
        ShelvedPage(row["id"], corpora[row["corpus_id"]][0], row["path"], row["title"], json.loads(row["metadata"]))
        for row in rows.filter(pc.equal(rows["plane"], plane)).to_pylist()
    ]


def _home(corpora: Collection[tuple[str, str]]) -> str:
    """Return the root for new pages: the one followed folder whose profile has pages about subjects, else ``PAGES_ROOT``."""
    folders = [root for root, name in corpora if root not in UNFOLLOWED and profile(name).types.keys() >= SUBJECT_TYPES]
    return folders[0] if len(folders) == 1 else PAGES_ROOT


# Canonical pages that a plan would write: one for each subject with enough claims, and for each subject that has a page already.
#
# An existing page keeps all that a person wrote; its head keeps its fields, except for the day of the change. A subject that was renamed
# or merged has one page, at the path of its reference, and its other pages are marked as superseded by it. Pure: snapshot in, texts out.

TEMPLATE: Final = 1
"""Version of the text around statements: a new version changes the text of every page."""

_ALIASES: Final = 20
_NAMED: Final = 3  # pages that a remark names


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A new text of a page, and the sections that changed.

    ``decision`` is ``write`` or ``supersede``; ``mine`` is whether Slowwave wrote the whole page so far.
    """

    path: str
    text: str
    root: str
    decision: str
    title: str
    type: str
    claims: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    made_from: str = ""
    before: ShelvedPage | None = None
    mine: bool = True


class PageRemark(NamedTuple):
    """A remark for a person, and the rows that it concerns."""

    text: str
    rows: tuple[str, ...]
    severity: str = "warning"


@dataclass(slots=True)
class CanonicalDrafts:
    """Drafts of canonical pages of one night.

    - ``says``: path → the first statement of a subject's page.
    - ``told``: claim → the paths of the pages that contain it.
    - ``behind``: id of an existing page → those of its sections that differ from the claims.
    """

    drafts: list[PageDraft] = field(default_factory=list[PageDraft])
    remarks: list[PageRemark] = field(default_factory=list[PageRemark])
    says: dict[str, str] = field(default_factory=dict[str, str])
    told: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))
    behind: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unchanged: int = 0
    too_few: int = 0
    left_out: int = 0


class _Wanted(NamedTuple):
    """A page that a subject has or should have."""

    ref: SubjectRef
    subject: SubjectStatements
    title: str
    statements: tuple[SubjectStatement, ...]


def canonical_drafts(
    shelf: PageShelf, subjects: Sequence[SubjectStatements], now: datetime, min_claims: int
) -> CanonicalDrafts:
    """Return drafts of those pages of ``subjects`` that differ from their claims.

    A new page needs at least ``min_claims`` statements that currently hold. The cost is linear in the claims and in the texts of their
    pages.
    """
    work = _Work(shelf, now, CanonicalDrafts(), _places(shelf, subjects))
    wanted = list(_one_each(work.found, [page for subject in subjects for page in _pages_of(subject)]))
    known = {page.id: page for one in wanted for page in work.candidates(one)}
    orphans = [page for page in shelf.pages if page.subject and page.id not in known and not page.closed]
    texts = shelf.texts([*known.values(), *orphans])
    for one in wanted:
        work.draft(one, texts, min_claims)
    for page in orphans:
        work.emptied(page, texts[page.id])
    return work.found


@dataclass(frozen=True, slots=True)
class _Work:
    shelf: PageShelf
    now: datetime
    found: CanonicalDrafts
    places: Mapping[str, tuple[str, str]]  # document → its corpus's root and its path

    @property
    def day(self) -> str:
        return self.now.date().isoformat()

    def candidates(self, one: _Wanted) -> list[ShelvedPage]:
        """Return the page at the subject's path, other pages that name it as their subject, and pages with its name."""
        named, _ = self.shelf.named(one.ref.family, self.slugs(one))
        return [*self.shelf.at(one.ref.path), *self.shelf.find(one.subject.ids, one.ref.family), *named]

    def slugs(self, one: _Wanted) -> set[str]:
        return {one.ref.slug, slug_of(one.title)}

    def new_path(self, one: _Wanted) -> str:
        """Return the path of a new page, in the corpus of the page that it continues."""
        base = next((p for p in self.shelf.find(one.subject.ids, one.ref.family) if not p.closed), None)
        return self.shelf.new_path(one.ref.path, base.root if base else self.shelf.home)

    def elsewhere(self, one: _Wanted, min_claims: int) -> Sequence[ShelvedPage] | None:
        """Return the page about the subject that a person keeps at another path; empty if there is none.

        Returns None if several pages may be meant.
        """
        ids, family = one.subject.ids, one.ref.family
        if any(not (page.closed or self.shelf.taken_over(page)) for page in self.shelf.find(ids, family)):
            return ()
        called, also = self.shelf.named(family, self.slugs(one))
        named = [page for page in called if page.subject in ("", *ids)]
        doubtful = named if len(named) > 1 else [] if named else [page for page in also if not page.subject]
        if doubtful and sum(s.holds(self.now) for s in one.statements) >= min_claims:
            where = ", ".join(page.path for page in doubtful[:_NAMED])
            problem = "may be told on" if named else "may be told by another name on"
            self.remark(
                f"{one.ref.path} is not made, as its subject {problem} {where}. Say `slug: {one.ref.slug}` on one of them.",
                doubtful,
            )
        return None if doubtful else named

    def draft(self, one: _Wanted, texts: Mapping[str, str], min_claims: int) -> None:
        """Draft one page and the pages that it supersedes."""
        found = self.found
        there = self.shelf.at(one.ref.path) or self.elsewhere(one, min_claims)
        if there is None:
            return
        path = there[0].path if there else self.new_path(one)
        if path in found.says:
            self.remark(f"{path} would tell of two subjects, so it tells of the first.", there, (one.subject.id,))
            return
        if len(there) > 1:
            self.remark(f"{path} is a page of several corpora, so it is left alone.", there)
            return
        page = there[0] if there else None
        if page is not None and page.closed and not self.parted(page, one):
            return
        if page is not None and page.subject not in ("", *one.subject.ids):
            self.remark(f"{path} says that it is about somebody or something else, so it is left alone.", there)
            return
        others = [p for p in self.shelf.find(one.subject.ids, one.ref.family) if p.path != path and not p.closed]
        base = page or next(iter(others), None)
        if base is None and sum(s.holds(self.now) for s in one.statements) < min_claims:
            found.too_few += 1
            return
        text = texts[base.id] if base else ""
        content = self.page_of(path, one.ref.family, one.statements, base, text)
        found.left_out += len(content.left_out)
        standing = sum(s.holds(self.now) for s in one.statements) - len(content.left_out)
        if base is None and standing < min_claims:
            found.too_few += 1
            return
        if base is None and (why := next((w for name in (one.title, *one.subject.aliases) if (w := unsafe(name))), "")):
            self.remark(
                f"{path} is not made: a name of its subject may stand on no page, as {why}.", (), (one.subject.id,)
            )
            return
        written = self.written(one, content, path, page, base, text)
        if written is None:
            return
        for other in others:
            self.supersede(other, texts[other.id], path)

    def parted(self, page: ShelvedPage, one: _Wanted) -> bool:
        """Return whether the page was superseded by a page of another subject because of a merge that was undone since."""
        by = self.shelf.at(str(page.fields.get("superseded_by") or ""))
        own = page.subject in one.subject.ids and not {"forgotten", "quarantined"} & page.fields.keys()
        return own and any(other.subject and other.subject not in one.subject.ids for other in by)

    def page_of(
        self, path: str, family: str, statements: Sequence[SubjectStatement], base: ShelvedPage | None, text: str
    ) -> SubjectPage:
        fields = base.fields if base else {}
        root = base.root if base else self.shelf.home
        places = {
            id_: EvidencePlace(at, beside=of == root)
            for s in statements
            for id_ in s.documents
            if (found := self.places.get(id_)) is not None
            for of, at in (found,)
        }
        return subject_page(
            path,
            family,
            statements,
            places,
            self.now,
            visibility=str(fields.get("visibility") or ""),
            sensitivity=str(fields.get("sensitivity") or ""),
            own=_prose_of(text),
        )

    def written(
        self, one: _Wanted, told: SubjectPage, path: str, page: ShelvedPage | None, base: ShelvedPage | None, text: str
    ) -> RenderedBody | None:
        """Draft the page; return None if it is left unchanged."""
        root = base.root if base else self.shelf.home
        layout = self.shelf.layout(root)
        order = layout.sections_of(path, one.ref.family)
        try:
            head = frontmatter(text)
            body = rendered_body(text[head.end :], told.contents, (*order, CONTRADICTIONS)) if base else None
        except (Refused, UnreadableFile) as problem:
            self.remark(f"{path} {problem}", [base] if base else ())
            return None
        self.found.says[path] = "" if base and base.guarded else told.summary
        for claim in told.claims:
            self.found.told[claim].append(path)
        if body is None:
            given: dict[str, Any] = {
                "title": flat(one.title),
                "type": one.ref.family,
                "canonical": True,
                "aliases": [flat(name) for name in one.subject.aliases[:_ALIASES]] or None,
                SUBJECT_ID: one.subject.id,
            }
            fresh = new_body(escape(flat(one.title)), told.contents, order)
            given = {name: value for name, value in given.items() if value is not None}
            body = RenderedBody(fresh_page(given, path, fresh, layout, self.day), tuple(told.contents))
            text = body.text
        else:
            if page is not None and (body.changed or body.edited):
                self.found.behind[page.id] = (*body.changed, *body.edited)
            if body.edited:
                sections = ", ".join(body.edited)
                note = f"{path}: {sections} was edited by a person, so it is left alone. Delete the block with both marks to have it again."
                self.remark(note, [base] if base else ())
            if not body.changed and page is not None and not page.closed:
                self.found.unchanged += 1
                return body
            changes: dict[str, Any] = {"updated": self.day, SUBJECT_ID: one.subject.id}
            if page is None:
                changes |= {"title": flat(one.title), "slug": None}
            elif page.closed:
                changes |= {"status": "active", "canonical": True, "superseded_by": None}
            text = changed_head(text, changes) + body.text
        mine = base is None or bool(base.subject)
        draft = PageDraft(
            *(
                path,
                text,
                root,
                Decision.WRITE,
                one.title,
                one.ref.family,
                told.claims,
                body.changed,
                made_from(told.contents),
            ),
            before=page,
            mine=mine,
        )
        self.found.drafts.append(draft)
        return body

    def supersede(self, page: ShelvedPage, text: str, by: str) -> None:
        """Mark a page as superseded by another: remove the statements of Slowwave and keep the text of a person."""
        changes = {"status": "superseded", "canonical": False, "superseded_by": by, "updated": self.day}
        body = self.bare(page, text)
        if body is None:
            return
        if own_words(text[frontmatter(text).end :]):
            self.remark(f"{page.path} is superseded by {by}, and what a person wrote on it stays there alone.", [page])
        text = changed_head(text, changes) + body.text
        made = made_from({"superseded_by": by})
        self.found.drafts.append(
            PageDraft(
                page.path,
                text,
                page.root,
                Decision.SUPERSEDE,
                page.title,
                page.type,
                (),
                body.changed,
                made,
                before=page,
            )
        )

    def emptied(self, page: ShelvedPage, text: str) -> None:
        """Draft a page without statements, because nothing is claimed about its subject any more."""
        body = self.bare(page, text)
        if body is not None and body.changed:
            self.found.behind[page.id] = body.changed
            text = changed_head(text, {"updated": self.day}) + body.text
            made = made_from({})
            self.found.drafts.append(
                PageDraft(
                    page.path,
                    text,
                    page.root,
                    Decision.WRITE,
                    page.title,
                    page.type,
                    (),
                    body.changed,
                    made,
                    before=page,
                )
            )

    def bare(self, page: ShelvedPage, text: str) -> RenderedBody | None:
        try:
            order = self.shelf.layout(page.root).sections_of(page.path, page.type)
            return rendered_body(text[frontmatter(text).end :], {}, (*order, CONTRADICTIONS))
        except (Refused, UnreadableFile) as problem:
            self.remark(f"{page.path} {problem}", [page])
            return None

    def remark(self, text: str, pages: Iterable[ShelvedPage], rows: tuple[str, ...] = ()) -> None:
        self.found.remarks.append(PageRemark(text, (*rows, *(page.id for page in pages))))


def _prose_of(text: str) -> ProseWords:
    try:
        return ProseWords.from_body(text[frontmatter(text).end :])
    except UnreadableFile:  # such a page is left unchanged
        return ProseWords.from_body("")


def _pages_of(subject: SubjectStatements) -> Iterable[_Wanted]:
    """Return the page of a subject, and the page of decisions about it unless the subject is itself a decision."""
    ref = SubjectRef.read(subject.ref) or SubjectRef(family_of(subject.entity_type), slug_of(subject.name))
    if ref.family == "core" and ref.slug not in CORE:
        return
    yield _Wanted(ref, subject, subject.name, subject.statements)
    if ref.family not in ("decision", "core"):
        decided = tuple(s for s in subject.statements if s.kind == "decision")
        if decided:
            yield _Wanted(SubjectRef("decision", ref.slug), subject, f"Decisions about {subject.name}", decided)


def _one_each(found: CanonicalDrafts, wanted: Sequence[_Wanted]) -> Iterable[_Wanted]:
    """Yield one page per path.

    If several subjects share a path, the one that has it as its reference gets the page; otherwise a remark is added and no page is
    drafted. If the other one is a page of decisions, its statements are added to that page.
    """
    by_path: defaultdict[str, list[_Wanted]] = defaultdict(list)
    for one in wanted:
        by_path[one.ref.path].append(one)
    for path, several in sorted(by_path.items()):
        named = [one for one in several if one.subject.ref == str(one.ref)]
        if len(several) == 1:
            yield several[0]
        elif len(named) == 1 and len(several) == 2 and several[0].ref.family == "decision":
            mine, other = named[0], next(one for one in several if one is not named[0])
            statements = sorted({*mine.statements, *other.statements}, key=lambda s: (s.since, s.said_at, s.id))
            yield mine._replace(statements=tuple(statements))
        elif len(named) == 1:
            yield named[0]
        else:
            ids = tuple(one.subject.id for one in several)
            text = f"{path} would be the page of {len(several)} subjects, so it is nobody's. Merge them, or rename one."
            found.remarks.append(PageRemark(text, ids))


def _places(shelf: PageShelf, subjects: Iterable[SubjectStatements]) -> dict[str, tuple[str, str]]:
    """Return the corpus root and the path of each live document that a claim cites, by the document's id."""
    wanted = {id_ for subject in subjects for s in subject.statements for id_ in s.documents}
    rows = shelf.snapshot.live("documents", ["id", "corpus_id", "path", "invalidated_at", "valid_to"])
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(wanted), pa.string())))
    columns = (rows[name].to_pylist() for name in ("id", "corpus_id", "path"))
    return {
        id_: (shelf.corpora.get(corpus, ("", ""))[0], path) for id_, corpus, path in zip(*columns, strict=True) if path
    }


def made_from(contents: Mapping[str, str]) -> str:
    """Return a hash of the contents of a page.

    A rejected draft is not proposed again while the hash stays the same.
    """
    contents_json = json.dumps([TEMPLATE, dict(contents)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(contents_json.encode()).hexdigest()


# The overview pages of a night: index, hot and log of the corpus in which canonical pages are made. Index and hot include tonight's
# drafts. The log lists what was written, so it covers the earlier nights and is written with the next page of a subject.
#
# Index and hot exist from the first page of a subject on, the log from the second night on. A public overview lists public pages only. Of
# a private or sensitive page, only the title is shown.

_HEAD: Final = 15, 1_000
"""Lines and bytes that an index has in addition to its entries."""


def wiki_drafts(
    shelf: PageShelf, found: CanonicalDrafts, recalls: pa.Table, now: datetime, max_lines: int, max_bytes: int
) -> list[PageDraft]:
    """Return drafts of the index, hot and log pages that need a change.

    ``recalls`` is the model ``recall_signals``; remarks are added to ``found``.
    """
    drafts = [draft for draft in found.drafts if draft.root == shelf.home]
    ours = any(page.subject and page.root == shelf.home and not page.closed for page in shelf.pages)
    if not (ours or drafts):
        return []
    there = {path: [page for page in shelf.at(path) if page.root == shelf.home] for path in TITLES}
    texts = shelf.texts([page for pages in there.values() for page in pages])
    made: list[PageDraft] = []
    lists = {
        public: _listed(shelf, found, drafts, now, public=public)
        for public in {page.fields.get("visibility") == "public" for pages in there.values() for page in pages}
        | {False}
    }
    for path in (INDEX, HOT, LOG):
        page = next(iter(there[path]), None)
        if page is not None and page.closed:
            continue
        text = texts[page.id] if page else ""
        public = page is not None and page.fields.get("visibility") == "public"
        listed = lists[public]
        try:
            head = frontmatter(text)
            before = text[head.end :] if page else None
            if path == INDEX:
                content = index_content(listed, max_lines - _HEAD[0], max_bytes - _HEAD[1])
            elif path == HOT:
                content = hot_content(listed, _recalled(shelf, found, recalls))
            else:
                content = _log(shelf, before, drafts, listed, public=public)
            body = wiki_body(path, content, before)
        except (Refused, UnreadableFile) as problem:
            found.remarks.append(PageRemark(f"{path} {problem}", (page.id,) if page else ()))
            continue
        if body.edited:
            remark = f"{path} was edited by a person, so it is left alone. Delete its block with both marks to have it again."
            found.remarks.append(PageRemark(remark, (page.id,) if page else ()))
        if not body.changed or (page is None and not content):
            continue
        made.append(_draft(shelf, path, page, text, body.text, content, now))
    return made


def _draft(
    shelf: PageShelf, path: str, page: ShelvedPage | None, text: str, body: str, content: str, now: datetime
) -> PageDraft:
    day, title = now.date().isoformat(), TITLES[path]
    if page is None:
        given: dict[str, Any] = {"title": title, "type": "wiki"}
        whole = fresh_page(given, path, body, shelf.layout(shelf.home), day)
    else:
        whole = changed_head(text, {"updated": day}) + body
    made = made_from({path: content})
    at = page.path if page else shelf.new_path(path, shelf.home)
    return PageDraft(at, whole, shelf.home, Decision.WRITE, title, "wiki", (), (title,), made, before=page)


def _listed(
    shelf: PageShelf, found: CanonicalDrafts, drafts: Sequence[PageDraft], now: datetime, *, public: bool
) -> list[ListedPage]:
    """Return the canonical pages of the corpus as they will be after tonight's drafts."""
    written = {draft.path: draft for draft in drafts}
    pages: dict[str, ListedPage] = {}
    for page in shelf.pages:
        draft = written.get(page.path)
        gone = page.closed or (draft is not None and draft.decision == Decision.SUPERSEDE)
        if page.root != shelf.home or gone or page.path in TITLES or page.fields.get("canonical") is not True:
            continue
        if (public and page.fields.get("visibility") != "public") or unsafe(page.title):
            continue
        day = now.date().isoformat() if draft else str(page.fields.get("updated") or page.fields.get("created") or "")
        pages[page.path] = ListedPage(page.path, page.title, page.type, found.says.get(page.path, ""), day)
    for draft in drafts:
        if draft.path not in pages and draft.before is None and not public:
            day = now.date().isoformat()
            pages[draft.path] = ListedPage(draft.path, draft.title, draft.type, found.says.get(draft.path, ""), day)
    return list(pages.values())


def _recalled(shelf: PageShelf, found: CanonicalDrafts, recalls: pa.Table) -> list[str]:
    """Return the paths of the pages recalled most within the window, counting recalls of their passages and of their claims."""
    counted: Mapping[str, int] = dict(zip(recalls["row_id"].to_pylist(), recalls["recalls"].to_pylist(), strict=True))
    total: Counter[str] = Counter()
    for claim, paths in found.told.items():
        total.update(dict.fromkeys(paths, counted.get(claim, 0)))
    paths = {page.id: page.path for page in shelf.pages if page.root == shelf.home}
    chunks = shelf.snapshot.live("chunks", ["id", "document_id", "invalidated_at"])
    chunks = chunks.filter(pc.is_in(chunks["id"], value_set=recalls["row_id"].combine_chunks().cast(pa.string())))
    for id_, document in zip(chunks["id"].to_pylist(), chunks["document_id"].to_pylist(), strict=True):
        if document in paths:
            total[paths[document]] += counted[id_]
    return [path for path, count in sorted(total.items(), key=lambda one: (-one[1], one[0])) if count]


def _log(
    shelf: PageShelf, before: str | None, drafts: Sequence[PageDraft], listed: Iterable[ListedPage], *, public: bool
) -> str:
    """Return the new content of the log.

    If no page is written tonight, the content stays as it is, so that no plan is made for the log alone.
    """
    if not drafts:
        held = section_blocks(before).get("log") if before is not None else None
        return held.inside if held is not None else ""
    known = {page.path: page for page in listed}
    days = {
        day: [known.get(page.path) or ListedPage(page.path, "", page.type) for page in pages]
        for day, written in shelf.written_days().items()
        if (pages := [page for page in written if page.path in known or not public])
    }
    return log_content(days)
