"""Canonical pages as a plan would have them: one for each subject of which enough is said, and for each that has one.

A page that stands keeps all that a person wrote; its head keeps its fields, but for the day of the change. A subject that was renamed or
merged has one page, at the path of its reference, and the others say that it supersedes them. Pure: snapshot in, texts out.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.claims.page_shelf import SUBJECT_ID, PageShelf, ShelvedPage
from slowwave.claims.subject_ref import CORE, SubjectRef, family_of, slug_of
from slowwave.corpus.page_text import changed_head, fresh_page
from slowwave.errors import Refused
from slowwave.pages.lines import escape, flat
from slowwave.pages.prose_words import ProseWords
from slowwave.pages.section_blocks import RenderedBody, new_body, own_words, rendered_body
from slowwave.pages.subject_page import CONTRADICTIONS, EvidencePlace, SubjectPage, subject_page
from slowwave.pages.subject_statements import SubjectStatement, SubjectStatements
from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.screening import unsafe

TEMPLATE: Final = 1
"""Version of the words around statements: another one makes every text another."""

_ALIASES: Final = 20
_NAMED: Final = 3  # pages that a remark names


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page as it shall be, and what of that is new. ``decision``: write or supersede; ``mine``: whether all of it is ours so far."""

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
    """Something that a person should know, and the rows that it is about."""

    text: str
    rows: tuple[str, ...]
    severity: str = "warning"


@dataclass(slots=True)
class CanonicalDrafts:
    """All drafts of a night. ``says`` is what each page of a subject tells first, by its path; ``told`` the pages on which claims stand;
    ``behind`` the sections of pages that stand which say something else than the claims do, by the pages' ids."""

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
    """The pages of ``subjects`` that are not as they should be. A page that is new needs ``min_claims`` statements that hold.

    Cost: linear in the claims and in the texts of their pages.
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
        """The page at the subject's path, others that say that they are about it, and those that have its name."""
        named, _ = self.shelf.named(one.ref.family, self.slugs(one))
        return [*self.shelf.at(one.ref.path), *self.shelf.of(one.subject.ids, one.ref.family), *named]

    def slugs(self, one: _Wanted) -> set[str]:
        return {one.ref.slug, slug_of(one.title)}

    def new_path(self, one: _Wanted) -> str:
        """Return the path of a page that is not there yet, in the corpus of the page that it continues."""
        base = next((p for p in self.shelf.of(one.subject.ids, one.ref.family) if not p.closed), None)
        return self.shelf.new_path(one.ref.path, base.root if base else self.shelf.home)

    def elsewhere(self, one: _Wanted, min_claims: int) -> Sequence[ShelvedPage] | None:
        """The page on which a person tells of the subject at a path of its own, if there is one; None where it is not clear which."""
        ids, family = one.subject.ids, one.ref.family
        if any(not (page.closed or self.shelf.taken_over(page)) for page in self.shelf.of(ids, family)):
            return ()
        called, also = self.shelf.named(family, self.slugs(one))
        named = [page for page in called if page.subject in ("", *ids)]
        doubtful = named if len(named) > 1 else [] if named else [page for page in also if not page.subject]
        if doubtful and sum(s.holds(self.now) for s in one.statements) >= min_claims:
            where = ", ".join(page.path for page in doubtful[:_NAMED])
            said = "may be told on" if named else "may be told by another name on"
            self.remark(
                f"{one.ref.path} is not made, as its subject {said} {where}. Say `slug: {one.ref.slug}` on one of them.",
                doubtful,
            )
        return None if doubtful else named

    def draft(self, one: _Wanted, texts: Mapping[str, str], min_claims: int) -> None:
        """The draft of one page, and those of the pages that it supersedes."""
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
        others = [p for p in self.shelf.of(one.subject.ids, one.ref.family) if p.path != path and not p.closed]
        base = page or next(iter(others), None)
        if base is None and sum(s.holds(self.now) for s in one.statements) < min_claims:
            found.too_few += 1
            return
        text = texts[base.id] if base else ""
        told = self.page_of(path, one.ref.family, one.statements, base, text)
        found.left_out += len(told.left_out)
        standing = sum(s.holds(self.now) for s in one.statements) - len(told.left_out)
        if base is None and standing < min_claims:
            found.too_few += 1
            return
        if base is None and (why := next((w for name in (one.title, *one.subject.aliases) if (w := unsafe(name))), "")):
            self.remark(
                f"{path} is not made: a name of its subject may stand on no page, as {why}.", (), (one.subject.id,)
            )
            return
        written = self.written(one, told, path, page, base, text)
        if written is None:
            return
        for other in others:
            self.supersede(other, texts[other.id], path)

    def parted(self, page: ShelvedPage, one: _Wanted) -> bool:
        """Whether a page was superseded by that of another subject, into which its own was merged until that was undone."""
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
        """Draft the page; None where it is left alone."""
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
                said = f"{path}: {sections} was edited by a person, so it is left alone. Delete the block with both marks to have it again."
                self.remark(said, [base] if base else ())
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
                "write",
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
        """Say on a page that another one supersedes it; what we told there goes, what a person wrote stays."""
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
                page.path, text, page.root, "supersede", page.title, page.type, (), body.changed, made, before=page
            )
        )

    def emptied(self, page: ShelvedPage, text: str) -> None:
        """A page of whose subject nothing is said any more tells nothing."""
        body = self.bare(page, text)
        if body is not None and body.changed:
            self.found.behind[page.id] = body.changed
            text = changed_head(text, {"updated": self.day}) + body.text
            made = made_from({})
            self.found.drafts.append(
                PageDraft(
                    page.path, text, page.root, "write", page.title, page.type, (), body.changed, made, before=page
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
        return ProseWords.of(text[frontmatter(text).end :])
    except UnreadableFile:  # such a page is left alone
        return ProseWords.of("")


def _pages_of(subject: SubjectStatements) -> Iterable[_Wanted]:
    """The page of a subject, and that of the decisions about it where it is no decision itself."""
    ref = SubjectRef.read(subject.ref) or SubjectRef(family_of(subject.entity_type), slug_of(subject.name))
    if ref.family == "core" and ref.slug not in CORE:
        return
    yield _Wanted(ref, subject, subject.name, subject.statements)
    if ref.family not in ("decision", "core"):
        decided = tuple(s for s in subject.statements if s.kind == "decision")
        if decided:
            yield _Wanted(SubjectRef("decision", ref.slug), subject, f"Decisions about {subject.name}", decided)


def _one_each(found: CanonicalDrafts, wanted: Sequence[_Wanted]) -> Iterable[_Wanted]:
    """One page a path: of several subjects with one path that which was given it as its reference, else none, and a remark."""
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
    """Document → the root of its corpus and its path, of those that claims rest on and that stand."""
    wanted = {id_ for subject in subjects for s in subject.statements for id_ in s.documents}
    rows = shelf.snapshot.live("documents", ["id", "corpus_id", "path", "invalidated_at", "valid_to"])
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(wanted), pa.string())))
    columns = (rows[name].to_pylist() for name in ("id", "corpus_id", "path"))
    return {
        id_: (shelf.corpora.get(corpus, ("", ""))[0], path) for id_, corpus, path in zip(*columns, strict=True) if path
    }


def made_from(contents: Mapping[str, str]) -> str:
    """A hash of what a page tells: what was rejected is not proposed again while it tells the same."""
    told = json.dumps([TEMPLATE, dict(contents)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
