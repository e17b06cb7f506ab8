"""Candidates: what sessions and pages claim, of whom, since when, with the sentence that says so. Nothing is compared with what is known.

A claim is about the one subject that its words name; where they may mean several, it is none, and a finding says so. Somebody new is made
of a given name, a project or another thing of a name that stands in two sentences. What becomes of a candidate belongs to ``claim_groups``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from slowwave.claims.subject_ref import Family, SubjectRef, slug_of
from slowwave.claims.subjects import Subject
from slowwave.operations.planners.claim_subjects import KnownSubjects
from slowwave.operations.planners.named_things import NamedThings
from slowwave.operations.planners.session_statements import ReadSession
from slowwave.texts.dates import absolutize
from slowwave.texts.plain_claims import PlainClaim, plain_claim
from slowwave.texts.session_turns import ASSISTANT, USER
from slowwave.texts.stated_relations import SELF
from slowwave.texts.tokens import normalise_name

USER_REF: Final = "core:user"
THE_USER: Final = "The user"
SURE: Final = 0.8
_UNRESOLVED: Final = 20


@dataclass(frozen=True, slots=True)
class NewName:
    """A subject that nobody knows yet."""

    ref: str
    name: str


@dataclass(frozen=True, slots=True)
class ClaimCandidate:
    """What a source claims of a subject; ``slot`` as of ``PlainClaim``, told of the subject. ``source`` is where its words stand."""

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
        """By what its subject is known."""
        return self.subject.ref if isinstance(self.subject, NewName) else self.subject.id


@dataclass(slots=True)
class Naming:
    """Who or what the words of a claim mean."""

    known: KnownSubjects
    things: NamedThings
    ambiguous: dict[str, tuple[Subject, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter[str])

    def person(self, name: str) -> Subject | NewName | None:
        """A person of a given name, or of a given and a family name."""
        found = self.known.meant(name, "person")
        if found.subject is not None:
            return found.subject
        if found.candidates:
            return self._doubt(name, found.candidates)
        name = found.title or name
        return NewName(str(SubjectRef("person", slug_of(name))), name)

    def user(self) -> Subject | NewName:
        """Whoever talks to the agent."""
        found = self.known.meant(USER_REF)
        return found.subject or NewName(USER_REF, "user")

    def about(self, words: str, *, opens: bool) -> Subject | NewName | None:
        """The one subject that some words name. Where they are the subject of a sentence (``opens``) a person may be meant."""
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
        """Whether a given name is known as that of something else, and nobody who takes part or is known has it."""
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
    """What people claimed in sessions, in the order of the sessions."""
    users = _users(sessions)
    found: list[ClaimCandidate] = []
    for session in sessions:
        for one in session.told:
            if one.claim is None or one.speaker == ASSISTANT:
                continue
            said = absolutize(one.said, one.since, write="replace", nearest=False).text
            who = users.get(session.page.path, "") if one.speaker in ("", USER) else one.speaker
            who = "" if not one.speaker else who
            claim = plain_claim(said, who)
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
    """Whether a state of things is claimed of a person: "Mara is blocked" is over tomorrow."""
    family = subject.family if isinstance(subject, Subject) else subject.ref.partition(":")[0]
    return family == "person" and claim.slot.startswith(("status of ", "date of "))


def _slot(claim: PlainClaim, who: str) -> str:
    """A slot that names who speaks as statements do."""
    return (
        claim.slot.removesuffix(f" of {SELF}") + f" of {normalise_name(who)}"
        if claim.slot.endswith(f" of {SELF}")
        else claim.slot
    )


def _users(sessions: Sequence[ReadSession]) -> Mapping[str, str]:
    """Session → how its user is called: by the name he gave there, by the only one that users ever gave, or "The user". Where several
    people talk to the agents of a namespace, and he did not say which he is, he is nobody."""
    names = {s.name for s in sessions if s.name}
    others = {name for s in sessions for name in s.speakers if name[:1].isupper()}
    alone = THE_USER if not names else next(iter(names)) if len(names) == 1 else ""
    if others - names:
        alone = ""
    return {s.page.path: s.name or alone for s in sessions}
