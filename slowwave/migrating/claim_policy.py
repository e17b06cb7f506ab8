"""Stage four: statements become claims of a subject: which sort each is, which say one thing, which end which, which contradict. Pure.

A project's update replaces what its state was before; everything else stands beside what is known. A statement that is on record already,
in whatever state, is not said again. Of two that contradict each other the better placed evidence wins, then the newer, then the surer;
the loser is kept, as history where only one can hold at a time, else as a conflict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple

from slowwave.claims.nearness import nearness
from slowwave.claims.remember_request import ClaimKind
from slowwave.migrating.precedence import precedence
from slowwave.migrating.records import AtomKind
from slowwave.migrating.statements import Level, statement_key
from slowwave.migrating.subjects import MigratedSubject, Said

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
"""Statements of a subject that a statement is compared with: those that share most of its words."""

_COMPARABLE: Final = frozenset(("fact", "preference", "decision"))
_KNOWN_RANK: Final = 1
_LEVELS: Final[tuple[Level, ...]] = ("low", "medium", "high")


class RecordedClaim(NamedTuple):
    """A claim that is on record; ``stands`` says that it is active and has not ended. ``places`` are those of its evidence."""

    id: str
    kind: str
    statement: str
    since: datetime
    stands: bool
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MigratedClaim:
    """A claim to be made: ``sources`` all say it, the best placed first. ``supports`` names a claim that is on record and says the same,
    ``ended_by`` the claim that begins where this one ends: its id, or the statement of another one of the subject."""

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
        """This claim, which ends there if it does not end before."""
        return self if self.until is not None and self.until <= at else replace(self, until=at, ended_by=by)

    @property
    def rank(self) -> tuple[int, float, float]:
        """What decides between two that contradict each other; the smaller wins."""
        return precedence(self.sources[0].page.page.source), -self.since.timestamp(), -CONFIDENCE[self.level]


class DecidedContradiction(NamedTuple):
    """Two statements of a subject that cannot both hold: which is believed, and what becomes of the other."""

    winner: str
    loser: str
    outcome: Literal["history", "conflict"]


@dataclass(frozen=True, slots=True)
class SubjectPlan:
    """What a migration would say of a subject; ``level`` is the least sure of its claims."""

    subject: MigratedSubject
    claims: tuple[MigratedClaim, ...]
    contradictions: tuple[DecidedContradiction, ...] = ()
    known: int = 0

    @property
    def level(self) -> Level:
        """How sure the whole is."""
        return _LEVELS[min((_LEVELS.index(claim.level) for claim in self.claims), default=2)]


def subject_plan(subject: MigratedSubject, known: Sequence[RecordedClaim], names: Iterable[str] = ()) -> SubjectPlan:
    """The claims of one subject. ``known`` are its claims on record. Cost: ``COMPARED`` comparisons for each statement."""
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
    """By their day, and as the pages have them."""
    first = claim.sources[0]
    return claim.since, first.page.page.source, first.atom.line, first.page.page.line, claim.statement


def _is_migrated(place: str) -> bool:
    return place.startswith("sources/imported/")


def _distinct(subject: MigratedSubject) -> list[MigratedClaim]:
    """Statements that say one thing as one claim, with all that say it. A state that came back later is another."""
    said = sorted(subject.said, key=lambda s: (_at(s), precedence(s.page.page.source), s.page.page.source, s.atom.line))
    groups: dict[tuple[object, ...], list[Said]] = {}
    last_state = ""
    times: Counter[str] = Counter()
    for one in said:
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
    """Each update holds until the next one, new or on record, and ends those on record that hold when it begins."""
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
    """A statement that others are compared with: a new one by its place, or one on record."""

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
            if len(met) <= 200:  # a word that so many say tells nothing
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
