"""Claims of a migration by subject: kinds, duplicates, periods, pages, and the audit."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.profile import profile
from slowwave.text.screening import counting, screen
from slowwave.wiki.claims.nearness import nearness
from slowwave.wiki.claims.request import ClaimKind, Family
from slowwave.wiki.corpus.corpora import PAGES_ROOT
from slowwave.wiki.corpus.page_text import verbatim_page
from slowwave.wiki.migration.files import IMPORTED, AtomKind, slug
from slowwave.wiki.migration.pages import Level, plain_words, statement_key
from slowwave.wiki.migration.subjects import MigratedSubject, Said, precedence

# Stage four: statements become claims of a subject: the kind of each, duplicates, successions and contradictions. Pure.
#
# An update of a project replaces its previous state; any other statement is added to what is known. A statement that is on record
# already, in any state, is not added again. Of two that contradict each other, the one with the higher-ranked evidence wins, then the
# newer one, then the more certain one. The loser is kept as history if only one can hold at a time, else as a conflict.

KINDS: Final[Mapping[AtomKind, ClaimKind]] = {
    "project_update": "state",
    "decision": "decision",
    "person_fact": "fact",
    "concept_claim": "fact",
    "preference": "preference",
    "goal": "note",
    "open_question": "note",
    "followup": "note",
    "timeline_event": "note",
}
CONFIDENCE: Final[Mapping[Level, float]] = {"high": 0.9, "medium": 0.6, "low": 0.3}

COMPARED: Final = 8
"""Statements of a subject that a statement is compared with: those that share the most words with it."""

_COMPARABLE: Final = frozenset(("fact", "preference", "decision"))
_KNOWN_RANK: Final = 1
_LEVELS: Final[tuple[Level, ...]] = ("low", "medium", "high")


class RecordedClaim(NamedTuple):
    """A claim on record; ``stands`` is whether it is active and has not ended. ``places`` are the paths of its evidence."""

    id: str
    kind: str
    statement: str
    since: datetime
    stands: bool
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MigratedClaim:
    """A claim to be created.

    - ``sources``: all statements with the same meaning, the highest precedence first.
    - ``supports``: the id of a claim on record that states the same.
    - ``ended_by``: the claim that begins where this one ends, as its id or as the statement of another claim of the subject.
    """

    kind: ClaimKind
    sort: AtomKind
    statement: str
    since: datetime
    level: Level
    sources: tuple[Said, ...]
    until: datetime | None = None
    closes: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    supports: str = ""
    ended_by: str = ""

    def ending(self, at: datetime, by: str) -> MigratedClaim:
        """Return the claim with its end at ``at``, unless it already ends before."""
        return self if self.until is not None and self.until <= at else replace(self, until=at, ended_by=by)

    @property
    def rank(self) -> tuple[int, float, float]:
        """Return the sort key that decides between two contradicting claims; the smaller key wins."""
        return precedence(self.sources[0].page.page.source), -self.since.timestamp(), -CONFIDENCE[self.level]


class DecidedContradiction(NamedTuple):
    """Two statements of a subject that cannot both hold, which one is believed, and the outcome for the other."""

    winner: str
    loser: str
    outcome: Literal["history", "conflict"]


@dataclass(frozen=True, slots=True)
class SubjectPlan:
    """The planned claims of one subject; ``level`` is that of the least certain claim."""

    subject: MigratedSubject
    claims: tuple[MigratedClaim, ...]
    contradictions: tuple[DecidedContradiction, ...] = ()
    known: int = 0

    @property
    def level(self) -> Level:
        """Return the certainty of the least certain claim."""
        return _LEVELS[min((_LEVELS.index(claim.level) for claim in self.claims), default=2)]


def subject_plan(subject: MigratedSubject, known: Sequence[RecordedClaim], names: Iterable[str] = ()) -> SubjectPlan:
    """Plan the claims of one subject. ``known`` are its claims on record.

    Cost: ``COMPARED`` comparisons for each statement.
    """
    of_key: dict[str, list[RecordedClaim]] = defaultdict(list)
    for claim in known:
        of_key[statement_key(claim.statement)].append(claim)
    fresh: list[MigratedClaim] = []
    skipped = 0
    for claim in _distinct(subject):
        same = of_key.get(statement_key(claim.statement), [])
        if not same:
            fresh.append(claim)
        elif (standing := next((one for one in same if one.stands), None)) and not any(
            map(_is_migrated, standing.places)
        ):
            fresh.append(replace(claim, supports=standing.id))
        else:
            skipped += 1
    states = _succeeding(
        [c for c in fresh if c.kind == "state" and not c.supports], [k for k in known if k.kind == "state"]
    )
    others = [c for c in fresh if c.kind != "state" or c.supports]
    folded = frozenset({subject.name.casefold(), *(name.casefold() for name in (*subject.aliases, *names))})
    decided, contradictions = _contradicted(others, known, folded)
    claims = sorted((*states, *decided), key=_in_order)
    return SubjectPlan(subject, tuple(claims), tuple(contradictions), skipped)


def _in_order(claim: MigratedClaim) -> tuple[object, ...]:
    """Return the sort key of a claim: its day, then its position in the pages."""
    first = claim.sources[0]
    return claim.since, first.page.page.source, first.atom.line, first.page.page.line, claim.statement


def _is_migrated(place: str) -> bool:
    return place.startswith("sources/imported/")


def _distinct(subject: MigratedSubject) -> list[MigratedClaim]:
    """Merge statements with the same words into one claim with all its sources.

    A state that returned after another one is a separate claim.
    """
    statements = sorted(
        subject.said, key=lambda s: (_at(s), precedence(s.page.page.source), s.page.page.source, s.atom.line)
    )
    groups: dict[tuple[object, ...], list[Said]] = {}
    last_state = ""
    times: Counter[str] = Counter()
    for one in statements:
        key = statement_key(one.atom.text)
        if KINDS[one.atom.kind] == "state":
            same_update = any(_at(s) == _at(one) for s in groups.get(("state", key, times[key]), ()))
            if key != last_state and not same_update:
                times[key] += 1
            last_state = key
            groups.setdefault(("state", key, times[key]), []).append(one)
        else:
            groups.setdefault((key,), []).append(one)
    found: list[MigratedClaim] = []
    for sources in groups.values():
        ranked = sorted(sources, key=lambda s: (precedence(s.page.page.source), -_LEVELS.index(s.atom.level)))
        best = ranked[0].atom
        level = _LEVELS[max(_LEVELS.index(s.atom.level) for s in sources)]
        found.append(
            MigratedClaim(KINDS[best.kind], best.kind, best.text, min(map(_at, sources)), level, tuple(ranked))
        )
    return found


def _at(said: Said) -> datetime:
    return said.atom.at or said.page.at


def _succeeding(states: Sequence[MigratedClaim], known: Sequence[RecordedClaim]) -> list[MigratedClaim]:
    """Set the period of each state update.

    An update holds until the next one, new or on record. It ends those on record that hold when it begins.
    """
    begins = sorted({claim.since for claim in states} | {claim.since for claim in known})
    after = dict(zip(begins, [*begins[1:], None], strict=True)) if begins else {}
    updates = sorted({claim.since for claim in states})
    first = {claim.since: claim.statement for claim in reversed(states)}
    first |= {claim.since: claim.id for claim in known if claim.stands}
    closes: dict[datetime, list[str]] = defaultdict(list)
    for claim in known:
        following = next((at for at in updates if at > claim.since), None)
        if claim.stands and following is not None:
            closes[following].append(claim.id)
    found: list[MigratedClaim] = []
    for claim in sorted(states, key=lambda c: (c.since, c.statement)):
        ended = tuple(sorted(closes.pop(claim.since, ())))
        until = after.get(claim.since)
        following = "" if until is None else first.get(until, "")
        found.append(replace(claim, until=until, closes=ended, ended_by=following))
    return found


class _Side(NamedTuple):
    """A statement to compare with: a new one by its index, or one on record."""

    statement: str
    kind: str
    new: int
    known: RecordedClaim | None


def _contradicted(
    claims: Sequence[MigratedClaim], known: Sequence[RecordedClaim], names: frozenset[str]
) -> tuple[list[MigratedClaim], list[DecidedContradiction]]:
    decided = list(claims)
    found: list[DecidedContradiction] = []
    words: dict[str, list[int]] = defaultdict(list)
    sides: list[_Side] = []

    def add(side: _Side) -> None:
        for word in set(statement_key(side.statement).split()) - names:
            words[word].append(len(sides))
        sides.append(side)

    for claim in known:
        if claim.stands and claim.kind in _COMPARABLE:
            add(_Side(claim.statement, claim.kind, -1, claim))
    for place, claim in enumerate(claims):
        if claim.kind not in _COMPARABLE or claim.supports:
            continue
        shared: Counter[int] = Counter()
        for word in set(statement_key(claim.statement).split()) - names:
            met = words.get(word, ())
            if len(met) <= 200:  # a word this frequent does not distinguish statements
                shared.update(met)
        for other, n in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))[:COMPARED]:
            side = sides[other]
            near = nearness(claim.statement, claim.kind, side.statement, side.kind, names) if n else None
            if near is None or near.relation != "contradicts":
                continue
            if side.known is not None:
                decided[place], verdict = _against_known(decided[place], side.known, ends=near.ends)
            else:
                verdict = _between(decided, place, side.new, ends=near.ends)
            found.append(verdict)
        add(_Side(claim.statement, claim.kind, place, None))
    return decided, found


def _against_known(
    claim: MigratedClaim, known: RecordedClaim, *, ends: bool
) -> tuple[MigratedClaim, DecidedContradiction]:
    wins = claim.rank < (_KNOWN_RANK, -known.since.timestamp(), -CONFIDENCE["high"])
    first, second = (claim.statement, known.statement) if wins else (known.statement, claim.statement)
    if ends and wins and known.since < claim.since:
        return replace(claim, closes=(*claim.closes, known.id)), DecidedContradiction(first, second, "history")
    if ends and not wins and claim.since < known.since:
        return claim.ending(known.since, known.id), DecidedContradiction(first, second, "history")
    return replace(claim, contradicts=(*claim.contradicts, known.id)), DecidedContradiction(first, second, "conflict")


def _between(claims: list[MigratedClaim], one: int, other: int, *, ends: bool) -> DecidedContradiction:
    winner, loser = (one, other) if claims[one].rank < claims[other].rank else (other, one)
    outcome: Literal["history", "conflict"] = "conflict"
    if ends and claims[loser].since < claims[winner].since:
        claims[loser] = claims[loser].ending(claims[winner].since, claims[winner].statement)
        outcome = "history"
    return DecidedContradiction(claims[winner].statement, claims[loser].statement, outcome)


# The current rows of a namespace as a migration needs them: claims by subject, and pages by path.

_COLUMNS = (
    "id", "attributes", "current_version_id", "valid_from", "valid_to", "recorded_at", "state", "invalidated_at",
    "source_document_ids",
)  # fmt: skip


def known_claims(snapshot: Snapshot | None) -> Mapping[str, list[RecordedClaim]]:
    """Return the claims of each entity by its id, including forgotten and ended ones.

    Claims of an entity that was merged belong to the entity into which it was merged.
    """
    found: dict[str, list[RecordedClaim]] = defaultdict(list)
    if snapshot is None:
        return found
    memories = snapshot.table("memories")
    claims = memories.filter(pc.equal(memories["kind"], "claim")).select(_COLUMNS).to_pylist()
    versions = snapshot.table("memory_versions")
    wanted = versions.filter(
        pc.is_in(versions["id"], value_set=pc.drop_null(memories["current_version_id"].combine_chunks()))
    )
    texts = dict(zip(wanted["id"].to_pylist(), wanted["content"].to_pylist(), strict=True))
    documents = snapshot.table("documents").select(("id", "path"))
    places = dict(zip(documents["id"].to_pylist(), documents["path"].to_pylist(), strict=True)) if claims else {}
    entities = snapshot.table("entities").select(("id", "merged_into"))
    into = dict(zip(entities["id"].to_pylist(), entities["merged_into"].to_pylist(), strict=True))
    for row in claims:
        attributes = json.loads(row["attributes"])
        entity, met = attributes.get("entity_id"), set[str]()
        while into.get(entity) and entity not in met:
            met.add(entity)
            entity = into[entity]
        text = texts.get(row["current_version_id"])
        if not isinstance(entity, str) or text is None:
            continue
        ended = row["valid_to"] is not None and row["valid_to"] <= snapshot.taken_at
        stands = row["state"] == "active" and row["invalidated_at"] is None and not ended
        cited = tuple(path for id_ in row["source_document_ids"] or () if (path := places.get(id_)))
        kind = str(attributes.get("claim_kind", ""))
        found[entity].append(
            RecordedClaim(row["id"], kind, text, row["valid_from"] or row["recorded_at"], stands, cited)
        )
    return found


def known_pages(snapshot: Snapshot | None) -> Mapping[str, str]:
    """Return the content hash of every live page of the agents' own corpus, by path."""
    if snapshot is None:
        return {}
    corpora = snapshot.table("corpora")
    own = corpora.filter(pc.and_(pc.equal(corpora["root"], PAGES_ROOT), pc.is_null(corpora["invalidated_at"])))["id"]
    rows = snapshot.live("documents", ("corpus_id", "path", "content_hash", "invalidated_at", "valid_to"))
    mine = rows.filter(pc.is_in(rows["corpus_id"], value_set=own.combine_chunks()))
    return dict(zip(mine["path"].to_pylist(), mine["content_hash"].to_pylist(), strict=True))


# The pages that accompany a subject's claims: an evidence page, and the canonical page of a subject that has none yet. Pure.
#
# The evidence page names the file, the line and the hash of the source of every statement. The canonical page has the sections of its
# family, each filled with the claims that hold, a timeline of all claims, and the paths of the evidence.

MARKER: Final = "<!-- TIMELINE: append-only below this line -->"

_CITED: Final = 5
"""Maximum number of sources that a line names for one statement."""

_SECTION: Final[Mapping[Family, Mapping[AtomKind, str]]] = {
    "person": {
        "person_fact": "Current Facts",
        "preference": "Preferences And Working Style",
        "goal": "Goals And Priorities",
        "decision": "Related Decisions And Projects",
    },
    "project": {
        "project_update": "Current State",
        "goal": "Goals",
        "open_question": "Open Work",
        "followup": "Open Work",
        "decision": "Key Decisions",
    },
    "concept": {"concept_claim": "Key Claims", "open_question": "Open Questions"},
    "decision": {"decision": "Decision"},
    "core": {"preference": "Preferences"},
}
_OTHERWISE: Final[Mapping[Family, str]] = {
    "person": "Current Facts",
    "project": "Current State",
    "concept": "Current Understanding",
    "decision": "Context",
    "core": "",
}
_CORE: Final[Mapping[str, str]] = {
    "user": "Current Facts",
    "active": "Current Focus",
    "defaults": "Default Operating Assumptions",
    "env": "Environment",
    "identity": "Role",
    "soul": "Behavior Rules",
}
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#])")


class MigratedSubjectPage(NamedTuple):
    """A page with its path."""

    place: str
    text: str


def evidence_page(plan: SubjectPlan, label: str) -> MigratedSubjectPage:
    """Build the evidence page of a subject.

    Its path depends on its content: other statements or other files give another page.
    """
    subject, ref = plan.subject, plan.subject.ref
    files = sorted({source.page.page.source for claim in plan.claims for source in claim.sources})
    lines = [_cited(claim) for claim in plan.claims]
    body = f"\n# What was read about {escaped(subject.name)}\n\n" + "\n".join(lines) + "\n"
    digest = hashlib.sha256("\n".join([str(ref), *lines]).encode("utf-8", "replace")).hexdigest()
    fields: dict[str, Any] = {
        "title": f"Evidence of {subject.name}"[:200],
        "type": "source",
        "source_kind": "extracted",
        "canonical": False,
        "subject": str(ref),
        "created": max(claim.since for claim in plan.claims).date().isoformat(),
        "migrated_from": files[:100],
        "evidence_sha256": digest,
    }
    return MigratedSubjectPage(
        f"{IMPORTED}/{slug(label)}/claims/{ref.family}-{slug(ref.slug)}-{digest[:8]}.md", verbatim_page(fields, body)
    )


def canonical_page(plan: SubjectPlan, evidence: MigratedSubjectPage) -> MigratedSubjectPage:
    """Build the canonical page of a subject."""
    subject, ref = plan.subject, plan.subject.ref
    own_claims = [claim for claim in plan.claims if not claim.supports]
    standing = [claim for claim in own_claims if claim.until is None]
    days = sorted(claim.since.date().isoformat() for claim in own_claims)
    fields: dict[str, Any] = {
        "title": subject.name,
        "type": ref.family,
        "status": "active",
        "canonical": True,
        "source_kind": "canonical",
        "slug": ref.slug,
        "created": days[0],
        "updated": days[-1],
    }
    if subject.aliases:
        fields["aliases"] = list(subject.aliases)
    sections = sections_of(ref.family, ref.path)
    filled: dict[str, list[str]] = {name: [] for name in sections}
    for claim in standing:
        filled[_section(ref.family, ref.slug, claim.sort, sections)].append(escaped(claim.statement))
    if standing and "Summary" in filled:
        filled["Summary"] = [escaped(standing[0].statement)]
    body = "".join(
        f"\n## {name}\n" + "".join(f"\n- {line}" for line in _once(filled[name])) + ("\n" if filled[name] else "")
        for name in sections
        if name not in ("Timeline", "Evidence")
    )
    timeline = "\n".join(
        f"- {claim.since:%Y-%m-%d}: {escaped(claim.statement)} (`{evidence.place}`)" for claim in own_claims
    )
    files = sorted({source.page.page.place for claim in own_claims for source in claim.sources})
    places = "\n".join(f"- `{place}`" for place in [evidence.place, *files])
    rest = f"\n---\n\n{MARKER}\n\n## Timeline\n\n{timeline}\n\n## Evidence\n\n{places}\n"
    return MigratedSubjectPage(ref.path, verbatim_page(fields, body + rest))


def sections_of(family: Family, path: str) -> tuple[str, ...]:
    """Return the sections that a canonical page of a family has."""
    return profile("dory").sections_of(path, family) or ("Summary", "Timeline", "Evidence")


def _section(family: Family, name: str, sort: AtomKind, sections: Sequence[str]) -> str:
    wanted = _SECTION[family].get(sort) or (_CORE.get(name, "") if family == "core" else _OTHERWISE[family])
    return wanted if wanted in sections else sections[0]


def _cited(claim: MigratedClaim) -> str:
    sources = [
        f"`{source.page.page.source.replace('`', '')}` line {source.atom.line}, sha256 {source.page.page.sha256[:12]}"
        for source in claim.sources[:_CITED]
    ]
    more = f", and {len(claim.sources) - _CITED} more" if len(claim.sources) > _CITED else ""
    return f"- {claim.since:%Y-%m-%d} {claim.sort}: {escaped(claim.statement)} ({'; '.join(sources)}{more})"


def escaped(text: str) -> str:
    """Escape a statement for Markdown, so that it can start no link, no HTML and no heading."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _once(lines: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(line.casefold(), line)
    return list(found.values())


# The audit of the planned pages and claims, one repair, and a second audit. Pure.
#
# Every claim must occur in its source, contain nothing that screening refuses, and begin in the past; every canonical page must have its
# sections and contain each claim that holds. A failing claim is removed, once; a subject that still fails is not proposed at all.

Verdict = Literal["pass", "review", "fail"]
_WORST: Final[tuple[Verdict, ...]] = ("pass", "review", "fail")


class AuditFinding(NamedTuple):
    """A finding about a subject's plan; ``claim`` is the index of the faulty claim, or -1 if it concerns no single claim."""

    subject: str
    verdict: Verdict
    reason: str
    claim: int = -1


@dataclass(frozen=True, slots=True)
class SubjectPages:
    """A subject's plan with its pages; ``canonical`` is None if the subject has a page already."""

    plan: SubjectPlan
    evidence: MigratedSubjectPage
    canonical: MigratedSubjectPage | None


@dataclass(frozen=True, slots=True)
class AuditedPlan:
    """A plan after the audit: the proposed subjects, the findings of the last audit, and the findings that were repaired.

    ``dropped`` are subjects without any claims left.
    """

    subjects: tuple[SubjectPages, ...]
    verdict: Verdict
    findings: tuple[AuditFinding, ...] = ()
    before: Verdict = "pass"
    repaired: tuple[AuditFinding, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class _Read:
    """The words of pages, each page parsed once."""

    words: dict[tuple[str, int, str], str] = field(default_factory=dict)

    def says(self, said: Said) -> bool:
        page = said.page.page
        key = (page.source, page.line, page.place)
        if key not in self.words:
            self.words[key] = f" {statement_key(plain_words(page.text))} "
        return f" {statement_key(said.atom.quote or said.atom.text)} " in self.words[key]


def audited_plan(plans: Sequence[SubjectPlan], label: str, standing: Mapping[str, str], now: datetime) -> AuditedPlan:
    """Audit the plans, repair them once, and audit them again.

    ``standing`` maps the paths of pages that exist or are planned already to their hashes. No canonical page is created at such a path.
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
    """Return the claims without those that fail.

    A claim that a failing claim would have ended gets the end of the failing claim, or stays open.
    """
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
    at_home = any(source.page.page.at_home for claim in plan.claims for source in claim.sources)
    nothing_new = all(claim.supports for claim in plan.claims)
    has_page = bool(plan.subject.entity) or at_home or nothing_new or plan.subject.ref.path in standing
    return SubjectPages(plan, evidence, None if has_page else canonical_page(plan, evidence))


def _audit(subject: SubjectPages, read: _Read, now: datetime) -> list[AuditFinding]:
    ref = str(subject.plan.subject.ref)
    found: list[AuditFinding] = []
    suspect = bool(counting(screen(subject.evidence.text)))
    for place, claim in enumerate(subject.plan.claims):
        findings = _of_claim(claim, read, now, suspect=suspect)
        found += [AuditFinding(ref, verdict, reason, place) for verdict, reason in findings]
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
    if not any(source.page.page.records or read.says(source) for source in claim.sources):
        by_model = all(source.atom.by == "model" for source in claim.sources)
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
