"""The audit of what would be written about subjects, one repair of it, and the audit again. Pure.

Every claim must stand in what it was read from, hold nothing that screening keeps out, and lie in the past; every canonical page must have
its sections and say each claim that stands. A claim that fails is taken out, once; what fails after that is not proposed at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple

from slowwave.migrating.claim_policy import MigratedClaim, SubjectPlan
from slowwave.migrating.statements import plain_words, statement_key
from slowwave.migrating.subject_pages import MARKER, MigratedSubjectPage, canonical_page, evidence_page, sections_of
from slowwave.migrating.subjects import Said
from slowwave.texts.screening import counting, screen

Verdict = Literal["pass", "review", "fail"]
_WORST: Final[tuple[Verdict, ...]] = ("pass", "review", "fail")


class AuditFinding(NamedTuple):
    """What is wrong with a subject's plan; ``claim`` is the place of the claim that is at fault, -1 for none."""

    subject: str
    verdict: Verdict
    reason: str
    claim: int = -1


@dataclass(frozen=True, slots=True)
class SubjectPages:
    """A subject's plan with the pages that would come with it; ``canonical`` None where it has a page already."""

    plan: SubjectPlan
    evidence: MigratedSubjectPage
    canonical: MigratedSubjectPage | None


@dataclass(frozen=True, slots=True)
class AuditedPlan:
    """What is proposed, what the last audit found, and what the repair did. ``dropped`` are subjects of which nothing was left."""

    subjects: tuple[SubjectPages, ...]
    verdict: Verdict
    findings: tuple[AuditFinding, ...] = ()
    before: Verdict = "pass"
    repaired: tuple[AuditFinding, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class _Read:
    """The words of pages, read once."""

    words: dict[tuple[str, int, str], str] = field(default_factory=dict)

    def says(self, said: Said) -> bool:
        page = said.page.page
        key = (page.source, page.line, page.place)
        if key not in self.words:
            self.words[key] = f" {statement_key(plain_words(page.text))} "
        return f" {statement_key(said.atom.quote or said.atom.text)} " in self.words[key]


def audited_plan(plans: Sequence[SubjectPlan], label: str, standing: Mapping[str, str], now: datetime) -> AuditedPlan:
    """Audit, repair once, audit again. ``standing`` holds the pages that stand or are planned already, by place: no canonical page is made
    where one does.
    """
    read = _Read()
    first = [_with_pages(plan, label, standing) for plan in plans if plan.claims]
    audits = [_audit(subject, read, now) for subject in first]
    kept: list[SubjectPages] = []
    again: list[AuditFinding] = []
    repaired: list[AuditFinding] = []
    dropped: list[str] = []
    for subject, found in zip(first, audits, strict=True):
        failing = {finding.claim for finding in found if finding.verdict == "fail"}
        if failing:
            repaired += [finding for finding in found if finding.verdict == "fail"]
            claims = _without(subject.plan.claims, failing)
            subject = _with_pages(replace(subject.plan, claims=claims), label, standing) if claims else None
            found = _audit(subject, read, now) if subject is not None else []
        if subject is None or any(finding.verdict == "fail" for finding in found):
            dropped.append(repaired[-1].subject)
            continue
        kept.append(subject)
        again += found
    before = _worst([finding for found in audits for finding in found])
    return AuditedPlan(tuple(kept), _worst(again), tuple(again), before, tuple(repaired), tuple(dropped))


def _without(claims: Sequence[MigratedClaim], failing: Collection[int]) -> tuple[MigratedClaim, ...]:
    """The claims but those that fail. What one of these would have ended ends where that one would have, or goes on."""
    kept = [claim for place, claim in enumerate(claims) if place not in failing]
    begins = {claim.since: claim.statement for claim in reversed(kept) if not claim.supports}
    gone = {(claim.statement, claim.since): claim for place, claim in enumerate(claims) if place in failing}
    found: list[MigratedClaim] = []
    for claim in kept:
        while claim.until is not None and (ender := gone.get((claim.ended_by, claim.until))) is not None:
            if same_day := begins.get(claim.until):
                claim = replace(claim, ended_by=same_day)
                break
            claim = replace(claim, until=ender.until, ended_by=ender.ended_by)
        found.append(claim)
    return tuple(found)


def _with_pages(plan: SubjectPlan, label: str, standing: Mapping[str, str]) -> SubjectPages:
    evidence = evidence_page(plan, label)
    at_home = any(said.page.page.at_home for claim in plan.claims for said in claim.sources)
    nothing_new = all(claim.supports for claim in plan.claims)
    has_page = bool(plan.subject.entity) or at_home or nothing_new or plan.subject.ref.path in standing
    return SubjectPages(plan, evidence, None if has_page else canonical_page(plan, evidence))


def _audit(subject: SubjectPages, read: _Read, now: datetime) -> list[AuditFinding]:
    ref = str(subject.plan.subject.ref)
    found: list[AuditFinding] = []
    suspect = bool(counting(screen(subject.evidence.text)))
    for place, claim in enumerate(subject.plan.claims):
        told = _of_claim(claim, read, now, suspect=suspect)
        found += [AuditFinding(ref, verdict, reason, place) for verdict, reason in told]
    if subject.canonical is not None:
        text = subject.canonical.text
        lines = Counter(text.splitlines())
        missing = [
            name
            for name in sections_of(subject.plan.subject.ref.family, subject.canonical.place)
            if f"## {name}" not in lines
        ]
        if missing or lines[MARKER] != 1:
            found.append(
                AuditFinding(ref, "fail", f"its page lacks {', '.join(missing) or 'the mark of its timeline'}")
            )
        if counting(screen(text)):
            found.append(AuditFinding(ref, "fail", "its page holds what screening keeps out"))
    if subject.plan.subject.may_be:
        names = len(subject.plan.subject.may_be)
        found.append(AuditFinding(ref, "fail", f"it may be any of {names} entities of the namespace"))
    if suspect:
        found.append(AuditFinding(ref, "fail", "its evidence holds what screening keeps out"))
    if any(one.outcome == "conflict" for one in subject.plan.contradictions):
        found.append(AuditFinding(ref, "review", "two of its statements contradict each other, and both stand"))
    return found


def _of_claim(claim: MigratedClaim, read: _Read, now: datetime, *, suspect: bool) -> list[tuple[Verdict, str]]:
    found: list[tuple[Verdict, str]] = []
    if not any(said.page.page.records or read.says(said) for said in claim.sources):
        by_model = all(said.atom.by == "model" for said in claim.sources)
        found.append(("fail" if by_model else "review", "it does not stand in what it was read from"))
    if suspect and counting(screen(claim.statement)):
        found.append(("fail", "it holds what screening keeps out"))
    if claim.since > now:
        found.append(("fail", f"it begins on {claim.since:%Y-%m-%d}, which is still to come"))
    if claim.level == "low":
        found.append(("fail", "it is not sure enough"))
    elif claim.level == "medium":
        found.append(("review", "it is not sure"))
    return found


def _worst(findings: Sequence[AuditFinding]) -> Verdict:
    return _WORST[max((_WORST.index(finding.verdict) for finding in findings), default=0)]
