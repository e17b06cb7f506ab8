"""Candidates of claims, their subjects, and the outcome for each: a new claim, evidence, or the next state."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow.compute as pc

from slowwave.snapshots.memories import attributes, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.claims import PlainClaim, plain_claim, slot_of
from slowwave.text.dates import absolutize
from slowwave.text.relations import SELF
from slowwave.text.statements import stem
from slowwave.text.tokens import normalise_name, tokenise
from slowwave.text.turns import ASSISTANT, USER
from slowwave.text.words import GRAMMAR
from slowwave.wiki.claims.nearness import Nearness, nearness
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims
from slowwave.wiki.claims.request import Family, SubjectRef, family_of, slug_of
from slowwave.wiki.claims.session_statements import NamedThings, ReadSession
from slowwave.wiki.claims.subjects import Subject, name_key, near_names

# Subjects of a snapshot: the entity that a name refers to, as ``remember`` resolves it at run time, without a connection.
#
# Look-ups go by reference, then by name, by alias, by a page about the subject, and by names that begin alike; of several matches none is
# chosen. A merged entity resolves to the one it was merged into. Cost: a pass over entities and aliases at the first look-up; a night
# without sessions and pages makes none.

_BEGINNING: Final = 3  # letters that two names must share at the start to be compared
_NEAR: Final = 50
_PAGE_TYPES: Final = ("person", "project", "concept", "decision")


class Meant(NamedTuple):
    """Result of a name look-up: one subject, or several candidates, or neither if the name is unknown."""

    subject: Subject | None = None
    candidates: tuple[Subject, ...] = ()
    title: str = ""
    """The title of a page about a subject that is not an entity yet."""


@dataclass(slots=True)
class KnownSubjects:
    """The live entities of a snapshot by reference, by name and by alias."""

    _unread: Snapshot | None = None
    _subjects: dict[str, Subject] = field(default_factory=dict)
    _refs: dict[str, str] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _aliases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _beginnings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _pages: dict[str, set[tuple[str, Family]]] = field(default_factory=lambda: defaultdict(set))
    _called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _asked: dict[tuple[str, str], Meant] = field(default_factory=dict)

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> KnownSubjects:
        """Return the subjects of a snapshot; the snapshot is read at the first look-up."""
        return cls(snapshot)

    def _read(self) -> None:
        """Load the snapshot, once."""
        snapshot, self._unread = self._unread, None
        if snapshot is None:
            return
        columns = ["id", "name", "entity_type", "source", "external_id", "merged_into", "state", "invalidated_at"]
        found: list[dict[str, Any]] = snapshot.table("entities").select(columns).to_pylist()
        rows: dict[str, dict[str, Any]] = {row["id"]: row for row in found}
        heads = {id_: _head(id_, rows) for id_ in rows}
        members: defaultdict[str, list[str]] = defaultdict(list)
        for id_, head in heads.items():
            members[head].append(id_)
        for id_, row in rows.items():
            live = row["invalidated_at"] is None and row["state"] == "active" and row["merged_into"] is None
            if not live:
                continue
            external = str(row["external_id"] or "") if row["source"] == "semantic" else ""
            ref = SubjectRef.read(external) or SubjectRef(family_of(row["entity_type"]), slug_of(row["name"]))
            self._subjects[id_] = Subject(id_, row["name"], ref, tuple(sorted({id_, *members[id_]})))
            if external:
                self._refs[external] = id_
        for id_, row in rows.items():
            self._call(heads[id_], row["name"], self._names)
        aliases = snapshot.table("entity_aliases")
        ids: list[str] = aliases["entity_id"].to_pylist()
        names: list[str] = aliases["alias"].to_pylist()
        for id_, alias in zip(ids, names, strict=True):
            self._call(heads.get(id_, id_), alias, self._aliases)
        self._read_pages(snapshot)

    def _read_pages(self, snapshot: Snapshot) -> None:
        """Note the titles and aliases of pages about a person, a project, a concept or a decision."""
        pages = snapshot.live("documents", ("path", "title", "metadata", "plane"))
        for row in pages.filter(pc.equal(pages["plane"], "durable")).to_pylist():
            fields = json.loads(row["metadata"] or "{}")
            gone = "quarantined" in fields or "forgotten" in fields or fields.get("status") in ("superseded", "retired")
            if gone or fields.get("type") not in _PAGE_TYPES or not row["title"]:
                continue
            aliases = fields.get("aliases")
            for name in (row["title"], *(aliases if isinstance(aliases, list) else ())):
                if key := name_key(str(name)):
                    self._pages[key].add((str(row["title"]), family_of(fields["type"])))

    def meant(self, said: str, family: Family | None = None) -> Meant:
        """Return the subject or the candidates for a name, within one family if a family is given."""
        self._read()
        key = (said, family or "")
        if key not in self._asked:
            self._asked[key] = self._meant(said.strip(), family)
        return self._asked[key]

    def names_of(self, subject: Subject) -> frozenset[str]:
        """Return all names of a subject, folded."""
        self._read()
        return frozenset(self._called.get(subject.id, ()))

    def _meant(self, said: str, family: Family | None) -> Meant:
        ref = SubjectRef.read(said)
        if ref is not None and str(ref) in self._refs:
            return Meant(self._subjects[self._refs[str(ref)]])
        wanted = family if ref is None else ref.family
        key = name_key(ref.slug.replace("-", " ") if ref is not None else said)
        for known in (self._names, self._aliases):
            found = self._of_family(known.get(key, ()), wanted)
            if len(found) == 1:
                return Meant(found[0])
            if found:
                return Meant(candidates=tuple(found))
        pages = [page for page in self._pages.get(key, ()) if wanted in (None, page[1])]
        if len(pages) == 1:
            title, own = pages[0]
            called = self._of_family(self._names.get(name_key(title), ()), own)
            return Meant(called[0]) if len(called) == 1 else Meant(title=title)
        near, _ = near_names(said, self._of_family(self._begin_alike(said), wanted)[:_NEAR])
        if len(near) == 1 and near[0][1] != "low":
            return Meant(near[0][0])
        return Meant(candidates=tuple(subject for subject, _ in near))

    def _begin_alike(self, said: str) -> set[str]:
        from slowwave.matching.names import FORMAL

        first, *_ = name_key(said).split(" ")
        starts = {first, *FORMAL.get(first, ())}
        return set().union(*(self._beginnings.get(s[:_BEGINNING], set()) for s in starts if len(s) >= _BEGINNING))

    def _of_family(self, ids: Iterable[str], family: Family | None) -> list[Subject]:
        found = (self._subjects[id_] for id_ in sorted(ids) if id_ in self._subjects)
        return [subject for subject in found if family is None or subject.family == family]

    def _call(self, id_: str, name: str, names: dict[str, set[str]]) -> None:
        if id_ not in self._subjects or not (key := name_key(name)):
            return
        names[key].add(id_)
        self._beginnings[key[:_BEGINNING]].add(id_)
        self._called[id_].add(normalise_name(name))


def _head(id_: str, rows: dict[str, dict[str, Any]]) -> str:
    """Return the entity at the end of a chain of merges."""
    seen: set[str] = set()
    while id_ not in seen and (into := rows.get(id_, {}).get("merged_into")):
        seen.add(id_)
        id_ = into
    return id_


# Candidates: the claims of sessions and pages, each with its subject, its time and its sentence. They are not compared with known claims
# yet.
#
# A claim is about the one subject that its words name. If the words may mean several, there is no claim, and a finding reports it. A new
# subject is created for a given name, and for a project or other name that occurs in two sentences.

USER_REF: Final = "core:user"
THE_USER: Final = "The user"
SURE: Final = 0.8
_UNRESOLVED: Final = 20


@dataclass(frozen=True, slots=True)
class NewName:
    """A subject that is not known yet."""

    ref: str
    name: str


@dataclass(frozen=True, slots=True)
class ClaimCandidate:
    """A claim of a source about a subject.

    ``slot`` is as in ``PlainClaim``, with the subject's name. ``source`` is the place of its words.
    """

    subject: Subject | NewName
    kind: str
    statement: str
    slot: str
    since: datetime
    document: str
    quote: str
    source: str
    session_id: str = ""
    agent: str = ""
    confidence: float = SURE
    from_page: bool = False

    @property
    def key(self) -> str:
        """Return the key of the subject: the reference of a new subject, otherwise the entity's id."""
        return self.subject.ref if isinstance(self.subject, NewName) else self.subject.id


@dataclass(slots=True)
class Naming:
    """Resolution of the words of a claim to subjects."""

    known: KnownSubjects
    things: NamedThings
    ambiguous: dict[str, tuple[Subject, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter[str])

    def person(self, name: str) -> Subject | NewName | None:
        """Return the person with a given name, or with a given and a family name."""
        found = self.known.meant(name, "person")
        if found.subject is not None:
            return found.subject
        if found.candidates:
            return self._doubt(name, found.candidates)
        name = found.title or name
        return NewName(str(SubjectRef("person", slug_of(name))), name)

    def user(self) -> Subject | NewName:
        """Return the subject of the user who talks to the agent."""
        found = self.known.meant(USER_REF)
        return found.subject or NewName(USER_REF, "user")

    def about(self, words: str, *, opens: bool) -> Subject | NewName | None:
        """Return the one subject that some words name, or None if there is none or it is not clear.

        If the words are the subject of a sentence (``opens``), they may also name a person.
        """
        called = self.things.persons_in(words)
        things = [name for name in called if self._is_thing(name)]
        names, persons = [*self.things.names_in(words), *things], [name for name in called if name not in things]
        if opens and persons and words.startswith(persons[0]):
            return self.person(persons[0])
        known = [(name, self.known.meant(name)) for name in names]
        if doubtful := [(name, m.candidates) for name, m in known if m.subject is None and m.candidates]:
            return self._doubt(*doubtful[0])
        sure: dict[str, Subject] = {m.subject.id: m.subject for _, m in known if m.subject is not None}
        projects = [s for s in sure.values() if s.family == "project"] or list(sure.values())
        new = [name for name, m in known if m.subject is None and self.things.new_project(name)]
        if len(projects) + len(new) > 1:
            self.counts["of several subjects"] += 1
            return None
        if projects:
            return projects[0]
        if new:
            return self._new(new[0], "project")
        if opens and len(names) == 1 and self.things.new_concept(names[0]):
            return self._new(names[0], "concept")
        self.counts["of no subject that is named plainly"] += 1
        return None

    def _is_thing(self, name: str) -> bool:
        """Return whether a given name belongs to a known subject that is not a person.

        Returns False if a participant or a known person has the name.
        """
        if name in self.things.people:
            return False
        meant, person = self.known.meant(name).subject, self.known.meant(name, "person")
        return meant is not None and meant.family != "person" and not (person.subject or person.candidates)

    def _new(self, name: str, family: Family) -> NewName:
        return NewName(str(SubjectRef(family, slug_of(name))), name)

    def _doubt(self, name: str, candidates: tuple[Subject, ...]) -> None:
        self.counts["of one of several"] += 1
        if len(self.ambiguous) < _UNRESOLVED:
            self.ambiguous.setdefault(name, candidates)


def of_sessions(sessions: Sequence[ReadSession], naming: Naming) -> list[ClaimCandidate]:
    """Return the claims that people made in sessions, in the order of the sessions."""
    users = _users(sessions)
    found: list[ClaimCandidate] = []
    for session in sessions:
        for one in session.told:
            if one.claim is None or one.speaker == ASSISTANT:
                continue
            statement = absolutize(one.said, one.since, write="replace", nearest=False).text
            who = users.get(session.page.path, "") if one.speaker in ("", USER) else one.speaker
            who = "" if not one.speaker else who
            claim = plain_claim(statement, who)
            subject = _subject(claim, who, naming) if claim else None
            if claim is None or subject is None or _is_of_a_person(subject, claim):
                continue
            found.append(
                ClaimCandidate(
                    subject,
                    claim.kind,
                    claim.statement,
                    _slot(claim, who),
                    one.since,
                    session.page.id,
                    one.said,
                    one.source,
                    session.page.session_id,
                    session.page.agent,
                )
            )
    return found


def _subject(claim: PlainClaim, who: str, naming: Naming) -> Subject | NewName | None:
    if claim.about:
        return naming.about(claim.about, opens=claim.kind != "decision")
    if who == THE_USER:
        return naming.user()
    return naming.person(who) if who else None


def _is_of_a_person(subject: Subject | NewName, claim: PlainClaim) -> bool:
    """Return whether the claim is a passing state of a person, such as "Mara is blocked"."""
    family = subject.family if isinstance(subject, Subject) else subject.ref.partition(":")[0]
    return family == "person" and claim.slot.startswith(("status of ", "date of "))


def _slot(claim: PlainClaim, who: str) -> str:
    """Return the slot of a claim with the speaker's name in place of "I"."""
    return (
        claim.slot.removesuffix(f" of {SELF}") + f" of {normalise_name(who)}"
        if claim.slot.endswith(f" of {SELF}")
        else claim.slot
    )


def _users(sessions: Sequence[ReadSession]) -> Mapping[str, str]:
    """Return the name of the user of each session.

    This is the name that the user gave there, else the only name that users ever gave, else "The user". If several people talk to the
    agents of a namespace and the user gave no name, the name is empty.
    """
    names = {s.name for s in sessions if s.name}
    others = {name for s in sessions for name in s.speakers if name[:1].isupper()}
    alone = THE_USER if not names else next(iter(names)) if len(names) == 1 else ""
    if others - names:
        alone = ""
    return {s.page.path: s.name or alone for s in sessions}


# The outcome of each candidate: a new claim, evidence for an equal claim, the next state of a slot, or a contradiction of a claim.
#
# States of one slot are ordered by the time at which they were stated, whenever they arrive: each ends where the next begins. A late one
# takes its place in history and never ends a newer one (``slowwave.wiki.claims.claim``). A statement that is known from the same source,
# or was forgotten after it was stated, is not added again. Cost: a candidate is compared with the few claims of its subject that share
# the most words.

COMPARED: Final = 8
"""Claims of a subject that a candidate is compared with: those that share the most words with it, as at run time."""

_MOST_DOCUMENTS: Final = 8  # documents of one claim


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim that holds, has ended, or was retired (``gone``: since when)."""

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
    """A group with the candidates of each of its claims.

    ``closes`` and ``contradicts`` of the claims are part of its evidence.
    """

    group: SubjectClaims
    behind: list[tuple[ClaimCandidate, ...]]
    name: str
    confidence: float


@dataclass(slots=True)
class _New:
    """A new claim, and the candidates that state it."""

    claim: PlannedClaim
    slot: str
    said: list[ClaimCandidate]
    words: frozenset[str] = frozenset()

    def also(self, candidate: ClaimCandidate) -> None:
        """Add another source that states the same."""
        self.said.append(candidate)
        if candidate.document not in self.claim.documents and len(self.claim.documents) < _MOST_DOCUMENTS:
            self.claim = replace(self.claim, documents=(*self.claim.documents, candidate.document))


@dataclass(slots=True)
class ClaimGroups:
    """The claims of a snapshot by subject, and the grouping of candidates with them."""

    known: Mapping[str, Sequence[KnownClaim]]
    subjects: KnownSubjects
    counts: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, subjects: KnownSubjects) -> ClaimGroups:
        """Load the claims of a snapshot."""
        return cls(known_claims(snapshot), subjects)

    def planned(self, candidates: Iterable[ClaimCandidate]) -> list[PlannedGroup]:
        """Group claims by subject, in the order of the subjects' keys.

        All claims about a new subject form one group. For a known subject, each slot and each other claim is a separate group.
        """
        of_subject: defaultdict[str, list[ClaimCandidate]] = defaultdict(list)
        for candidate in candidates:
            of_subject[candidate.key].append(candidate)
        groups: list[PlannedGroup] = []
        for _, claims_of_subject in sorted(of_subject.items()):
            claims_of_subject.sort(key=lambda c: (c.since, c.source))
            subject = claims_of_subject[0].subject
            ids = (subject.id, *subject.ids) if isinstance(subject, Subject) else ()
            known = [claim for id_ in dict.fromkeys(ids) for claim in self.known.get(id_, ())]
            names = (
                self.subjects.names_of(subject)
                if isinstance(subject, Subject)
                else frozenset((normalise_name(subject.name),))
            )
            standing = frozenset(claim.id for claim in known)
            groups += _grouped(subject, _Subject(known, names, self.counts).planned(claims_of_subject), standing)
        return groups


@dataclass(slots=True)
class _Subject:
    """One subject with its known claims and tonight's new ones."""

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
        """Return whether a candidate adds nothing new.

        This is so if a known claim states it from the same source, or if it was forgotten after it was stated.
        """
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
        """Add states of a slot, of which one holds at a time, to the known states."""
        standing = sorted((c for c in self.known if c.gone is None and c.slot == slot), key=lambda c: (c.since, c.id))
        fresh: list[_New] = []
        for candidate in said:
            if any(candidate.document in c.documents and c.since >= candidate.since for c in standing):
                continue  # the same source stated something else after it
            holds = _holding(standing, candidate.since)
            last = fresh[-1] if fresh else None
            newest = last is not None and (holds is None or last.claim.since >= holds.since)
            if newest and last is not None and last.said[-1].document == candidate.document:
                fresh[-1] = _new(candidate)  # a correction in the same session replaces the first statement
            elif newest and last is not None and _same(last.claim.statement, candidate.statement):
                last.also(candidate)
            elif not newest and holds is not None and _same(holds.statement, candidate.statement):
                self._support(holds, candidate)
            else:
                fresh.append(_new(candidate))
        begins = sorted({*(c.since for c in standing), *(n.claim.since for n in fresh)})
        for k, one in enumerate(fresh):
            if k + 1 < len(fresh) and fresh[k + 1].claim.since == one.claim.since:
                continue  # of states that begin at the same instant, the last one stated holds
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
        """Add a statement that may hold together with others."""
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
        """Add a candidate as evidence for a known claim."""
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
    """Return the claims of a snapshot by the id of their entity, including claims that ended or were retired."""
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
        fields = attributes(row["attributes"])
        gone = row["invalidated_at"] or (None if row["state"] == "active" else row["recorded_at"])
        found[str(fields.get("entity_id") or "")].append(
            KnownClaim(
                row["id"],
                str(fields.get("claim_kind") or ""),
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
    """Clear ``ended_by`` unless the claim that it names is on record or in the same group.

    An item on its own might never be applied.
    """
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
    """Return the state that holds at an instant."""
    holding = [c for c in standing if c.since <= at and (c.until is None or c.until > at)]
    return holding[-1] if holding else None


def _nearest(words: AbstractSet[str], claims: Sequence[KnownClaim], names: AbstractSet[str]) -> list[KnownClaim]:
    """Return the claims that share the most words with the given words."""
    shared = [(len(words & _words(c.statement, names)), c) for c in claims]
    return [c for n, c in sorted(shared, key=lambda one: (-one[0], one[1].id)) if n][:COMPARED]


def _words(statement: str, names: AbstractSet[str]) -> frozenset[str]:
    named = {word for name in names for word in name.split()}
    return frozenset(stem(word) for word in tokenise(statement) if word not in GRAMMAR and word not in named)


def _same(one: str, other: str) -> bool:
    return normalise_name(one) == normalise_name(other)


def _is_open(found: Nearness) -> bool:
    return found.relation == "contradicts" and not found.ends
