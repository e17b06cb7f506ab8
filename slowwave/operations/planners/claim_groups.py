"""What becomes of candidates: each is new, evidence for a claim that says the same, the next state of something, or contradicts a claim.

States of one slot stand in the order in which they were said, whenever they arrive: each ends where the next begins, and one that comes
late takes its place in history and never ends a newer one (``slowwave.claims.succession``). What is known already from the same source, or
was forgotten since it was said, is not said again. Cost: a candidate is compared with the few claims of its subject that share most words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow.compute as pc

from slowwave.claims.nearness import Nearness, nearness
from slowwave.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims
from slowwave.claims.subjects import Subject
from slowwave.operations.planners.claim_candidates import ClaimCandidate, NewName
from slowwave.operations.planners.claim_subjects import KnownSubjects
from slowwave.rows.memories import attributes, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.plain_claims import slot_of
from slowwave.texts.statements import stem
from slowwave.texts.tokens import normalise_name, tokenise
from slowwave.texts.vocabulary import GRAMMAR

COMPARED: Final = 8
"""Claims of a subject that a candidate is compared with: those that share most words with it, as by day."""

_MOST_DOCUMENTS: Final = 8  # that one claim rests on


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim that stands, has ended, or was retired (``gone``: since when)."""

    id: str
    kind: str
    statement: str
    slot: str
    since: datetime
    until: datetime | None
    documents: frozenset[str]
    gone: datetime | None = None


@dataclass(slots=True)
class PlannedGroup:
    """A group with the candidates behind each of its claims; ``closes`` and ``contradicts`` count for its evidence."""

    group: SubjectClaims
    behind: list[tuple[ClaimCandidate, ...]]
    name: str
    confidence: float


@dataclass(slots=True)
class _New:
    """A claim that is not known: what it will be, and the candidates that say it."""

    claim: PlannedClaim
    slot: str
    said: list[ClaimCandidate]
    words: frozenset[str] = frozenset()

    def also(self, candidate: ClaimCandidate) -> None:
        """Another source says the same."""
        self.said.append(candidate)
        if candidate.document not in self.claim.documents and len(self.claim.documents) < _MOST_DOCUMENTS:
            self.claim = replace(self.claim, documents=(*self.claim.documents, candidate.document))


@dataclass(slots=True)
class ClaimGroups:
    """The claims of a snapshot by subject, and what candidates become beside them."""

    known: Mapping[str, Sequence[KnownClaim]]
    subjects: KnownSubjects
    counts: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, snapshot: Snapshot, subjects: KnownSubjects) -> ClaimGroups:
        """Read the claims of a snapshot."""
        return cls(known_claims(snapshot), subjects)

    def planned(self, candidates: Iterable[ClaimCandidate]) -> list[PlannedGroup]:
        """Groups of claims by subject, in the order of the subjects' keys: of a new subject all claims, of another each slot and each other
        claim by itself."""
        of_subject: defaultdict[str, list[ClaimCandidate]] = defaultdict(list)
        for candidate in candidates:
            of_subject[candidate.key].append(candidate)
        groups: list[PlannedGroup] = []
        for _, said in sorted(of_subject.items()):
            said.sort(key=lambda c: (c.since, c.source))
            subject = said[0].subject
            ids = (subject.id, *subject.ids) if isinstance(subject, Subject) else ()
            known = [claim for id_ in dict.fromkeys(ids) for claim in self.known.get(id_, ())]
            names = (
                self.subjects.names_of(subject)
                if isinstance(subject, Subject)
                else frozenset((normalise_name(subject.name),))
            )
            standing = frozenset(claim.id for claim in known)
            groups += _grouped(subject, _Subject(known, names, self.counts).planned(said), standing)
        return groups


@dataclass(slots=True)
class _Subject:
    """One subject: what is known of it, and what comes to it tonight."""

    known: Sequence[KnownClaim]
    names: AbstractSet[str]
    counts: Counter[str]
    new: list[_New] = field(default_factory=list[_New])
    supported: dict[str, _New] = field(default_factory=dict[str, _New])

    def planned(self, said: Sequence[ClaimCandidate]) -> list[_New]:
        slots: defaultdict[str, list[ClaimCandidate]] = defaultdict(list)
        for candidate in said:
            if self._is_over(candidate):
                continue
            if candidate.slot:
                slots[candidate.slot].append(candidate)
            else:
                self._stated(candidate)
        for slot, those in sorted(slots.items()):
            self._in_slot(slot, those)
        return [*self.new, *self.supported.values()]

    def _is_over(self, candidate: ClaimCandidate) -> bool:
        """Whether a candidate is nothing new: its own source is behind a claim that says it, or it was forgotten since it was said."""
        key = normalise_name(candidate.statement)
        for claim in self.known:
            if normalise_name(claim.statement) != key:
                continue
            if candidate.document in claim.documents or candidate.from_page:
                self.counts["known from the same source"] += 1
                return True
            if claim.gone is not None and claim.gone >= candidate.since:
                self.counts["forgotten since"] += 1
                return True
        return False

    def _in_slot(self, slot: str, said: Sequence[ClaimCandidate]) -> None:
        """States of which one holds at a time, beside those that are known."""
        standing = sorted((c for c in self.known if c.gone is None and c.slot == slot), key=lambda c: (c.since, c.id))
        fresh: list[_New] = []
        for candidate in said:
            if any(candidate.document in c.documents and c.since >= candidate.since for c in standing):
                continue  # who said it said something else right after it
            holds = _holding(standing, candidate.since)
            last = fresh[-1] if fresh else None
            newest = last is not None and (holds is None or last.claim.since >= holds.since)
            if newest and last is not None and last.said[-1].document == candidate.document:
                fresh[-1] = _new(candidate)  # who corrects himself in one breath never meant the first
            elif newest and last is not None and _same(last.claim.statement, candidate.statement):
                last.also(candidate)
            elif not newest and holds is not None and _same(holds.statement, candidate.statement):
                self._support(holds, candidate)
            else:
                fresh.append(_new(candidate))
        begins = sorted({*(c.since for c in standing), *(n.claim.since for n in fresh)})
        for k, one in enumerate(fresh):
            if k + 1 < len(fresh) and fresh[k + 1].claim.since == one.claim.since:
                continue  # of those that begin at the same instant the one said last holds
            until = next((instant for instant in begins if instant > one.claim.since), None)
            holds = _holding(standing, one.claim.since)
            before = any(holds is not None and holds.since <= o.claim.since < one.claim.since for o in fresh)
            closes = (holds.id,) if holds is not None and not before else ()
            ended_by = next((c.id for c in standing if c.since == until), "")
            ended_by = ended_by or next((o.claim.statement for o in reversed(fresh) if o.claim.since == until), "")
            one.claim = replace(one.claim, until=until, closes=closes, ended_by=ended_by)
            self.counts["closed"] += len(closes)
            self.counts["history"] += until is not None
            self.new.append(one)

    def _stated(self, candidate: ClaimCandidate) -> None:
        """A statement beside others that may hold with it."""
        words = _words(candidate.statement, self.names)
        standing = [c for c in self.known if c.gone is None and (c.until is None or c.until > candidate.since)]
        near = [
            (c, nearness(candidate.statement, candidate.kind, c.statement, c.kind, self.names))
            for c in _nearest(words, standing, self.names)
        ]
        if same := [c for c, n in near if n.relation == "same"]:
            self._support(min(same, key=lambda c: (c.since, c.id)), candidate)
            return
        beside = sorted((n for n in self.new if n.words & words), key=lambda n: -len(n.words & words))[:COMPARED]
        mine = [
            (n, nearness(candidate.statement, candidate.kind, n.claim.statement, n.claim.kind, self.names))
            for n in beside
        ]
        if twice := [n for n, found in mine if found.relation == "same"]:
            twice[0].also(candidate)
            return
        one = _new(candidate, words)
        ends = [c for c, n in near if n.relation == "contradicts" and n.ends]
        against = [c.id for c, n in near if n.relation == "contradicts" and not n.ends]
        for other, found in mine:
            if (
                found.relation == "contradicts"
                and found.ends
                and other.claim.until is None
                and other.claim.since < candidate.since
            ):
                other.claim = replace(other.claim, until=candidate.since, ended_by=candidate.statement)
        later = min((c for c in ends if c.since > candidate.since), key=lambda c: (c.since, c.id), default=None)
        closes = tuple(sorted(c.id for c in ends if c.since <= candidate.since))
        if later is not None:
            one.claim = replace(one.claim, until=later.since, ended_by=later.id)
        one.claim = replace(one.claim, closes=closes, contradicts=tuple(sorted(against)))
        self.counts["closed"] += len(closes)
        self.counts["contradicting"] += bool(against)
        self.counts["contradicting tonight"] += any(_is_open(found) for _, found in mine)
        self.new.append(one)

    def _support(self, claim: KnownClaim, candidate: ClaimCandidate) -> None:
        """Evidence for what is known."""
        if candidate.from_page:
            return
        self.counts["supported"] += claim.id not in self.supported
        if claim.id in self.supported:
            self.supported[claim.id].also(candidate)
        else:
            one = _new(candidate)
            one.claim = replace(
                one.claim, statement=claim.statement, kind=claim.kind, since=claim.since, supports=claim.id
            )
            self.supported[claim.id] = one


def known_claims(snapshot: Snapshot) -> dict[str, list[KnownClaim]]:
    """The claims of a snapshot by the id of the entity that they name, those that ended or were retired among them."""
    table = snapshot.table("memories")
    table = table.filter(pc.equal(table["kind"], "claim"))
    columns = [
        "id",
        "state",
        "attributes",
        "valid_from",
        "valid_to",
        "recorded_at",
        "invalidated_at",
        "source_document_ids",
    ]
    texts = version_texts(snapshot, table["current_version_id"]).to_pylist()
    rows: list[dict[str, Any]] = table.select(columns).to_pylist()
    found: defaultdict[str, list[KnownClaim]] = defaultdict(list)
    for row, text in zip(rows, texts, strict=True):
        told = attributes(row["attributes"])
        gone = row["invalidated_at"] or (None if row["state"] == "active" else row["recorded_at"])
        found[str(told.get("entity_id") or "")].append(
            KnownClaim(
                row["id"],
                str(told.get("claim_kind") or ""),
                str(text),
                slot_of(str(text)),
                row["valid_from"] or row["recorded_at"],
                row["valid_to"],
                frozenset(row["source_document_ids"] or ()),
                gone,
            )
        )
    return found


def _grouped(subject: Subject | NewName, found: Sequence[_New], standing: AbstractSet[str]) -> list[PlannedGroup]:
    if not found:
        return []
    if isinstance(subject, NewName):
        parts = [list(found)]
    else:
        of_slot: defaultdict[str, list[_New]] = defaultdict(list)
        for k, one in enumerate(found):
            of_slot[one.slot or f"{k}"].append(one)
        parts = list(of_slot.values())
    groups: list[PlannedGroup] = []
    for part in parts:
        target = NewSubject(subject.ref, subject.name) if isinstance(subject, NewName) else subject.id
        known = {claim.statement for claim in (one.claim for one in part)} | standing
        claims = tuple(_without_stranger(one.claim, known) for one in part)
        groups.append(
            PlannedGroup(
                SubjectClaims(target, claims),
                [tuple(one.said) for one in part],
                subject.name,
                min(claim.confidence for claim in claims),
            )
        )
    return groups


def _without_stranger(claim: PlannedClaim, known: AbstractSet[str]) -> PlannedClaim:
    """What ends a claim is told where it stands, or comes with it; an item of its own may never be applied."""
    return claim if claim.ended_by in known else replace(claim, ended_by="")


def _new(candidate: ClaimCandidate, words: frozenset[str] = frozenset()) -> _New:
    claim = PlannedClaim(
        kind=candidate.kind,
        statement=candidate.statement,
        since=candidate.since.astimezone(UTC),
        confidence=candidate.confidence,
        documents=(candidate.document,),
        quote=candidate.quote,
        session_id=candidate.session_id,
        agent=candidate.agent,
    )
    return _New(claim, candidate.slot, [candidate], words)


def _holding(standing: Sequence[KnownClaim], at: datetime) -> KnownClaim | None:
    """The state that holds at an instant."""
    holding = [c for c in standing if c.since <= at and (c.until is None or c.until > at)]
    return holding[-1] if holding else None


def _nearest(words: AbstractSet[str], claims: Sequence[KnownClaim], names: AbstractSet[str]) -> list[KnownClaim]:
    """The claims that share most words with some."""
    shared = [(len(words & _words(c.statement, names)), c) for c in claims]
    return [c for n, c in sorted(shared, key=lambda one: (-one[0], one[1].id)) if n][:COMPARED]


def _words(statement: str, names: AbstractSet[str]) -> frozenset[str]:
    named = {word for name in names for word in name.split()}
    return frozenset(stem(word) for word in tokenise(statement) if word not in GRAMMAR and word not in named)


def _same(one: str, other: str) -> bool:
    return normalise_name(one) == normalise_name(other)


def _is_open(found: Nearness) -> bool:
    return found.relation == "contradicts" and not found.ends
