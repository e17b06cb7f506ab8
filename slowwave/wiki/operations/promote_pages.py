"""``promote_pages``: pages that are recalled often get a distilled note for a person or a later night (Dory 4.8).

The gates are those of ``promote_memories``: recalls, distinct questions and distinct days within the recall window, and the score. Pages
that have a note, were rejected, or may not be quoted are removed before the best are selected, so that they do not take the places of
others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.operations import Inputs, Proposal
from slowwave.operations.rejections import REJECTED, rejected_subjects
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.text.screening import unsafe
from slowwave.wiki.claims.canonical_pages import PageShelf, ShelvedPage
from slowwave.wiki.claims.request import slug_of
from slowwave.wiki.corpus.page_text import fresh_page
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from slowwave.wiki.pages.lines import escape, flat, hook

OPERATION: Final = "promote_pages"
FOLDER: Final = "inbox/distilled/"
"""Folder of the notes."""

_CLOSED: Final = ("inbox/", "wiki/", "digests/", "archive/", "sources/semantic/", "sources/imported/")
_QUOTED: Final = 600  # characters of a passage
_SLUG: Final = 40


_MIN_RECALLS: Final = 3  # these four as for the promotion of a memory (nexo's dreaming)
_MIN_QUERIES: Final = 2
_MIN_DAYS: Final = 2
_MIN_SCORE: Final = 0.35
_MAX_PER_NIGHT: Final = 10  # half as many as memories: a person reads each note in full


def promote_pages(inputs: Inputs) -> Proposal:
    """Write a note in `inbox/distilled/` for pages that were recalled on several days and for several questions."""
    recalls = inputs.models["page_recalls"]
    if not len(recalls):
        return Proposal((), Report(OPERATION, "No page was recalled.", {"recalled pages": 0, "items": 0}))
    gates = (
        ("too few recalls", pc.greater_equal(recalls["recalls"], _MIN_RECALLS)),
        ("too few questions", pc.greater_equal(recalls["queries"], _MIN_QUERIES)),
        ("too few days", pc.greater_equal(recalls["days"], _MIN_DAYS)),
        ("too low a score", pc.greater_equal(recalls["score"], _MIN_SCORE)),
    )
    passed, numbers = None, {"recalled pages": len(recalls)}
    for name, gate in gates:
        passed = gate if passed is None else pc.and_(passed, gate)
        numbers[name] = len(recalls) - int(pc.sum(passed).as_py() or 0) - sum(list(numbers.values())[1:])
    ranked = recalls.filter(passed).sort_by([("score", "descending"), ("document_id", "ascending")]).to_pylist()
    items, findings = _notes(inputs, ranked, _MAX_PER_NIGHT, numbers)
    numbers["items"] = len(items)
    headline = f"{len(items):,} of {len(recalls):,} recalled pages would get a note."
    return Proposal(tuple(items), Report(OPERATION, headline, numbers, tuple(findings)))


def _notes(
    inputs: Inputs, ranked: list[dict[str, Any]], most: int, numbers: dict[str, int]
) -> tuple[list[Item], list[Finding]]:
    """Return notes for the best pages that may have one, checked in order until there are enough."""
    shelf = PageShelf.of_snapshot(inputs.snapshot)
    pages = {page.id: page for page in [*shelf.pages, *shelf.sessions()]}
    there = _paths(inputs)
    refused = rejected_subjects(inputs.snapshot, OPERATION)  # a rejected note must not take one of the night's places
    texts = _passages(inputs, [id_ for row in ranked for id_ in row["passages"] or ()])
    items: list[Item] = []
    findings: list[Finding] = []
    counts = {"have a note": 0, "are not to be told of": 0, REJECTED: 0, "blocked by screening": 0}
    looked = 0
    for row in ranked:
        if len(items) == most:
            break
        looked += 1
        page = pages.get(row["document_id"])
        if page is None or not _may_be_promoted(page):
            counts["are not to be told of"] += 1
            continue
        path = f"{FOLDER}recall-{slug_of(page.title)[:_SLUG].strip('-')}-{page.id[:8]}.md"
        if path in there:
            counts["have a note"] += 1
            continue
        text = _note(path, page, row, texts, shelf)
        try:
            if why := unsafe(text):
                raise Refused(f"{why}.")
            (mutation,) = planned_pages(
                inputs.snapshot, inputs.settings, inputs.embed, [PlannedPage(path, text, shelf.home, page.id)]
            )
        except Refused as problem:
            counts["blocked by screening"] += 1
            findings.append(Finding(f"A page that is recalled often gets no note: {problem}", (page.id,), "warning"))
            continue
        figures = {name: row[name] for name in ("recalls", "queries", "days", "selections")}
        evidence = {"path": path, "page": page.path, **figures, "score": round(row["score"], 4)}
        item = Item(OPERATION, Decision.PROMOTE, mutation, evidence, sources=(page.id,))
        item = ask_unless_measured(item, "generated page")
        if item.subject() in refused:
            counts[REJECTED] += 1
        else:
            items.append(item)
    numbers |= {**counts, "waiting for a later night": len(ranked) - looked}
    return items, findings


def _may_be_promoted(page: ShelvedPage) -> bool:
    generated = page.fields.get("source_kind") in ("generated", "recall-promotion", "semantic")
    is_subject_page = page.fields.get("canonical") is True and bool(page.subject)
    return not (page.closed or page.guarded or generated or is_subject_page or page.path.startswith(_CLOSED))


def _paths(inputs: Inputs) -> Collection[str]:
    """Return the paths of all current and former notes; a note that a person removed is not written again."""
    paths = inputs.snapshot.table("documents")["path"]
    return set(paths.filter(pc.fill_null(pc.starts_with(paths, FOLDER), False)).to_pylist())


def _passages(inputs: Inputs, ids: Collection[str]) -> dict[str, str]:
    chunks = inputs.snapshot.table("chunks").select(["id", "content"])
    rows = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(set(ids)), pa.string())))
    return dict(zip(rows["id"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _note(path: str, page: ShelvedPage, row: Mapping[str, Any], texts: Mapping[str, str], shelf: PageShelf) -> str:
    """Return the text of a note: the recalled page, how often and for which questions it was recalled, and its passages."""
    day = row["last_recalled_at"].date().isoformat()
    asked = [question for question in row["questions"] or () if not unsafe(question)]
    quoted = [texts[id_] for id_ in row["passages"] or () if id_ in texts and not unsafe(texts[id_])]
    lines = [
        f"# Recalled often: {escape(flat(page.title))}",
        "",
        f"`{flat(page.path).replace('`', chr(39))}` was recalled {row['recalls']:,} times, for {row['queries']:,} questions on "
        f"{row['days']:,} days, the last time on {day}.",
    ]
    lines += ["", "## Asked", "", *(f"- {hook(question, 200)}" for question in asked)] if asked else []
    lines += ["", "## What was found", "", "\n\n".join(f"> {hook(text, _QUOTED)}" for text in quoted)] if quoted else []
    given: dict[str, Any] = {
        "title": f"Recalled often: {flat(page.title)}",
        "type": "capture",
        "status": "review",
        "canonical": False,
        "source_kind": "recall-promotion",
        "sources": [page.path],
    }
    return fresh_page(given, path, "\n".join(lines), shelf.layout(shelf.home), day)
