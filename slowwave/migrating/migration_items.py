"""What a migration proposes, as items of a plan: one for each page, and one for each subject with its claims, evidence and page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slowwave.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.config.settings import Settings
from slowwave.corpus.planned_page import PlannedPage, planned_pages
from slowwave.language import Embed
from slowwave.migrating.audited_plan import SubjectPages
from slowwave.migrating.claim_policy import CONFIDENCE, MigratedClaim
from slowwave.migrating.migration import Migration
from slowwave.migrating.model_reading import OPERATION
from slowwave.migrating.subject_pages import escaped
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot

_CITED: Final = 5
"""Sources of one claim that an item's evidence names."""


def migration_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    """The items of a migration. A page that says something else than what stands there is of more risk; a subject of which the audit
    had something to say is for a person to look at.

    Raises ``Refused``, naming path or subject, for what may not be planned.
    """
    return [*_page_items(found, snapshot, settings, embed), *_subject_items(found, snapshot, settings, embed)]


def _page_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    of_place = {page.page.place: page for page in found.pages}
    changed = {page.place for page in found.changed}
    staged = [*found.fresh, *found.changed]
    of_subjects = [page for subject in found.audited.subjects for page in _group(subject).pages]
    pages = [PlannedPage(page.place, page.text) for page in staged]
    mutations = planned_pages(snapshot, settings, embed, pages, of_subjects)
    items: list[Item] = []
    for page, mutation in zip(staged, mutations, strict=True):
        read = of_place[page.place]
        evidence: Mapping[str, object] = {
            "path": page.place,
            "source": page.source,
            "source_sha256": page.sha256,
            "source_line": page.line,
            "reader": page.reader,
            "resolution": read.resolution,
            "reason": read.reason,
            "migration": found.run_id,
        }
        is_new = page.place not in changed
        items.append(
            Item(OPERATION, "write" if is_new else "rewrite", mutation, evidence, "low" if is_new else "medium")
        )
    return items


def _subject_items(found: Migration, snapshot: Snapshot, settings: Settings, embed: Embed | None) -> list[Item]:
    doubts: dict[str, list[str]] = {}
    for finding in found.audited.findings:
        doubts.setdefault(finding.subject, []).append(finding.reason)
    subjects = found.audited.subjects
    mutations = planned_claims(snapshot, settings, embed, [_group(subject) for subject in subjects])
    items: list[Item] = []
    for subject, mutation in zip(subjects, mutations, strict=True):
        plan = subject.plan
        ref = str(plan.subject.ref)
        evidence: Mapping[str, object] = {
            "subject_ref": ref,
            "subject": plan.subject.name,
            "known": bool(plan.subject.entity),
            "claims": [_claim_evidence(claim) for claim in plan.claims],
            "contradictions": [one._asdict() for one in plan.contradictions],
            "doubts": sorted(set(doubts.get(ref, ()))),
            "evidence": subject.evidence.place,
            "canonical": subject.canonical.place if subject.canonical else "",
            "migration": found.run_id,
        }
        sure = not doubts.get(ref)
        least = min((CONFIDENCE[claim.level] for claim in plan.claims), default=CONFIDENCE["high"])
        items.append(
            Item(
                OPERATION,
                "claim" if sure else "review",
                mutation,
                evidence,
                "low" if sure else "medium",
                probability=least,
            )
        )
    return items


def _group(subject: SubjectPages) -> SubjectClaims:
    plan = subject.plan
    about = plan.subject.entity or NewSubject(
        str(plan.subject.ref), plan.subject.name, tuple(alias for alias in plan.subject.aliases if alias.strip())
    )
    pages = [subject.evidence, *([subject.canonical] if subject.canonical else [])]
    return SubjectClaims(
        about,
        tuple(_planned(claim) for claim in plan.claims),
        tuple(PlannedPage(page.place, page.text) for page in pages),
    )


def _planned(claim: MigratedClaim) -> PlannedClaim:
    first = claim.sources[0]
    source = first.page.page.source
    return PlannedClaim(
        claim.kind,
        claim.statement,
        claim.since,
        claim.until,
        CONFIDENCE[claim.level],
        quote=escaped(claim.statement),
        closes=claim.closes,
        contradicts=claim.contradicts,
        supports=claim.supports,
        reason=f"Migrated from {source[:500]}, line {first.atom.line}",
        ended_by=claim.ended_by,
    )


def _claim_evidence(claim: MigratedClaim) -> dict[str, object]:
    sources = [
        {"source": said.page.page.source, "line": said.atom.line, "sha256": said.page.page.sha256, "by": said.atom.by}
        for said in claim.sources[:_CITED]
    ]
    told: dict[str, object] = {
        "kind": claim.kind,
        "sort": claim.sort,
        "statement": claim.statement,
        "since": claim.since.isoformat(),
        "confidence": claim.level,
        "sources": sources,
    }
    if claim.until is not None:
        told["until"] = claim.until.isoformat()
    if claim.supports:
        told["supports"] = claim.supports
    return told
