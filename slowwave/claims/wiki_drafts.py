"""The pages about pages of a night: index, hot and log of the corpus in which canonical pages are made. Index and hot have tonight's drafts
on them; a log tells what was written, so it has what the nights before brought, and is written with the next page of a subject.

They are there from the first page of a subject on, the log from the second night on. A public one lists public pages alone, and no page
that is private or sensitive is told of beyond its title.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.claims.canonical_pages import CanonicalDrafts, PageDraft, PageRemark, made_from
from slowwave.claims.page_shelf import PageShelf, ShelvedPage
from slowwave.corpus.page_text import changed_head, fresh_page
from slowwave.errors import Refused
from slowwave.pages.section_blocks import section_blocks
from slowwave.pages.wiki_pages import (
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
from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.screening import unsafe

_HEAD: Final = 15, 1_000
"""Lines and bytes of an index that are no entries of it."""


def wiki_drafts(
    shelf: PageShelf, found: CanonicalDrafts, recalls: pa.Table, now: datetime, max_lines: int, max_bytes: int
) -> list[PageDraft]:
    """Drafts of the three that are not as they should be. ``recalls`` is the model ``recall_signals``; remarks go to ``found``."""
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
            said = f"{path} was edited by a person, so it is left alone. Delete its block with both marks to have it again."
            found.remarks.append(PageRemark(said, (page.id,) if page else ()))
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
    return PageDraft(at, whole, shelf.home, "write", title, "wiki", (), (title,), made, before=page)


def _listed(
    shelf: PageShelf, found: CanonicalDrafts, drafts: Sequence[PageDraft], now: datetime, *, public: bool
) -> list[ListedPage]:
    """The canonical pages of the corpus as they are once tonight's drafts stand."""
    written = {draft.path: draft for draft in drafts}
    pages: dict[str, ListedPage] = {}
    for page in shelf.pages:
        draft = written.get(page.path)
        gone = page.closed or (draft is not None and draft.decision == "supersede")
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
    """Paths of the pages that were recalled most within the window, by their passages and by the claims that they tell."""
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
    """What the log shall say; as before where no page is written tonight, so that no night is planned for the log alone."""
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
