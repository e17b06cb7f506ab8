"""``canonical_pages``: the pages of subjects follow their claims, and index, hot and log follow the pages.

Source of the method: Dory 4.2, 4.7 and 4.8. It is separate from ``compile_pages``, which renders two pages of a namespace from promotions
into a dedicated table; this operation writes documents of a corpus that people and agents write as well. The content of a page is defined
in ``slowwave.wiki.claims.canonical_pages``, the parts that a person may edit in ``slowwave.sources.blocks``.

An item is guarded by every claim on its page, so a claim that is forgotten or quarantined before the approval is never written. The
effects of tonight's other items appear the night after. Cost: linear in claims and their pages, in addition to the cost of
``planned_pages``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from slowwave.changes.cells import Guard
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import rows_by_id
from slowwave.errors import Refused
from slowwave.operations import Inputs, Proposal
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.wiki.claims.canonical_pages import CanonicalDrafts, PageDraft, PageShelf, canonical_drafts, wiki_drafts
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from slowwave.wiki.options import CanonicalPagesOptions, CompilePagesOptions
from slowwave.wiki.pages.subject_page import subject_statements

OPERATION: Final = "canonical_pages"
_RESTS_ON: Final = ("current_version_id", "state", "invalidated_at", "valid_to", "visibility", "sensitivity")
_SOURCES: Final = 50


def canonical_pages(inputs: Inputs) -> Proposal:
    """Write the canonical pages of subjects from the claims about them, and update the index, hot and log pages of the wiki."""
    snapshot, options = inputs.snapshot, inputs.settings.options(OPERATION, CanonicalPagesOptions)
    subjects = subject_statements(snapshot, inputs.settings)
    shelf = PageShelf.of_snapshot(snapshot)
    if not subjects and not any(page.subject for page in shelf.pages):
        return Proposal((), Report(OPERATION, "Nothing is said of any subject.", {"subjects": 0, "items": 0}))
    found = canonical_drafts(shelf, subjects, snapshot.taken_at, options.min_claims)
    waiting = _few_enough(found, options.max_new_pages)
    limits = inputs.settings.options("compile_pages", CompilePagesOptions)
    drafts = [
        *found.drafts,
        *wiki_drafts(
            shelf, found, inputs.models["recall_signals"], snapshot.taken_at, limits.max_lines, limits.max_bytes
        ),
    ]
    planned, refused = _planned(inputs, drafts)
    items = _items(inputs, planned)
    unsafe = {id_ for subject in subjects for id_ in subject.unsafe}
    numbers = {
        "subjects": len(subjects),
        "statements": sum(len(subject.statements) for subject in subjects),
        "pages unchanged": found.unchanged,
        "subjects with too few statements": found.too_few,
        "new pages that wait": waiting,
        "statements kept from pages that may not tell them": found.left_out,
        "statements left out as unsafe": len(unsafe),
        "items": len(items),
    }
    findings = [Finding(text, rows, severity) for text, rows, severity in found.remarks]
    findings += [Finding(f"{path} is not written: {why}", (), "warning") for path, why in refused]
    if unsafe:
        text = f"{len(unsafe):,} statements are on no page: they hold a secret, an instruction to the reader or hidden characters."
        findings.append(Finding(text, tuple(sorted(unsafe)), "warning"))
    headline = (
        f"{len(items):,} pages would be written of {len(subjects):,} subjects."
        if items
        else f"The pages of {len(subjects):,} subjects say what is known."
    )
    return Proposal(tuple(items), Report(OPERATION, headline, numbers, tuple(findings)))


def _few_enough(found: CanonicalDrafts, most: int) -> int:
    """Drop the new pages beyond the limit of one night and return their number; pages with most claims come first."""
    fresh = sorted((d for d in found.drafts if d.before is None), key=lambda d: (-len(d.claims), d.path))
    late = {draft.path for draft in fresh[most:]}
    found.drafts[:] = [draft for draft in found.drafts if draft.path not in late]
    return len(late)


def _planned(
    inputs: Inputs, drafts: Sequence[PageDraft]
) -> tuple[list[tuple[PageDraft, Mutation]], list[tuple[str, str]]]:
    """Return each draft with its mutation, and the paths of drafts that cannot be written, each with the reason.

    A refused draft does not block the others.
    """
    if not drafts:
        return [], []
    try:
        mutations = planned_pages(inputs.snapshot, inputs.settings, inputs.embed, [_page(draft) for draft in drafts])
    except Refused:
        if not (refused := _refused(inputs, drafts)):
            raise  # no draft is refused by itself
        out = {path for path, _ in refused}  # the others are planned together, as they link to each other
        planned, more = _planned(inputs, [draft for draft in drafts if draft.path not in out])
        return planned, [*refused, *more]
    return list(zip(drafts, mutations, strict=True)), []


def _refused(inputs: Inputs, drafts: Sequence[PageDraft]) -> list[tuple[str, str]]:
    """Return the paths of drafts that cannot be written, each with the reason."""
    try:
        planned_pages(inputs.snapshot, inputs.settings, None, [_page(draft) for draft in drafts])
    except Refused as problem:
        if len(drafts) == 1:
            return [(drafts[0].path, str(problem))]
        half = len(drafts) // 2
        return [*_refused(inputs, drafts[:half]), *_refused(inputs, drafts[half:])]
    return []


def _page(draft: PageDraft) -> PlannedPage:
    return PlannedPage(draft.path, draft.text, draft.root, draft.made_from)


def _items(inputs: Inputs, planned: Sequence[tuple[PageDraft, Mutation]]) -> list[Item]:
    snapshot = inputs.snapshot
    claim_ids = {claim for draft, _ in planned for claim in draft.claims}
    rows = rows_by_id(snapshot, "memories", claim_ids, _RESTS_ON)
    items: list[Item] = []
    for draft, mutation in planned:
        guards = [Guard.on("memories", claim, rows[claim], _RESTS_ON) for claim in draft.claims]
        every = sorted([*mutation.guards, *guards], key=lambda guard: (guard.table, guard.row))
        item = Item(
            OPERATION,
            draft.decision,
            replace(mutation, guards=tuple(every)),
            evidence={
                "path": draft.path,
                "title": draft.title,
                "type": draft.type,
                "new": draft.before is None,
                "sections": list(draft.sections),
                "claims": len(draft.claims),
                "bytes": len(draft.text.encode()),
            },
            risk="low" if draft.mine and draft.decision == Decision.WRITE else "medium",
            sources=draft.claims[:_SOURCES],
        )
        items.append(ask_unless_measured(item, "generated page"))
    return items
