"""Sentences of sessions that are worth keeping, the names in them, and turns as they are shown to a model."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar

import pyarrow.compute as pc

from slowwave.matching.review import visible
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.claims import HeardSentence, PlainClaim, corrected_claims, introduced, plain_claim
from slowwave.text.dates import Write, absolutize
from slowwave.text.informative import NAME, SentenceKind, informative
from slowwave.text.languages import language_of
from slowwave.text.names import is_given, known_names
from slowwave.text.screening import counting, privacy_class, redact, screen, unsafe
from slowwave.text.tokens import fold
from slowwave.text.turns import ASSISTANT, USER, SessionTurn, session_turns, spoken

# Names in conversations: which names occur, how often, and which of them clearly belong to a project.
#
# A name is a capitalized word that also occurs within a sentence, not only at its start. A project is a name that has a state, a date, a
# lead or a budget, or that is called a project. A given name counts as a project if no person of that name speaks or is mentioned.
# ``extract_claims`` decides whether a name is known already. Pure and linear.

TWICE: Final = 2
"""Sentences that must contain a new name before it counts as a subject."""

_RUN: Final = re.compile(rf"(?<![\w'’-])(?:{NAME})(?: (?:{NAME}))*")
_CALLED: Final = re.compile(
    rf"\b(?:[Pp]roject (?P<after>(?:{NAME})))|\b(?P<before>(?:{NAME})) (?:project|launch|rollout|roll-out|release|"
    rf"migration|deadline|roadmap|beta|"
    r"sprint|milestone|relaunch|rewrite)\b"
)
_MADE: Final = re.compile(
    r"\b(?:runs on|is (?:written|built|hosted|deployed) (?:in|on|with)|depends on|is (?:live|paused|archived|in (?:beta|"
    r"production|staging)))\b"
)
_OF_PROJECTS: Final = (
    "status of ",
    "date of ",
    "lead of ",
    "deadline of ",
    "due date of ",
    "budget of ",
    "launch date of ",
    "release date of ",
)


@dataclass(slots=True)
class NamedThings:
    """The names in sessions.

    ``counts`` maps a name as written to the number of sentences with it; ``inside`` holds names that occur within a sentence, not only at
    its start.
    """

    counts: Counter[str] = field(default_factory=Counter[str])
    inside: set[str] = field(default_factory=set[str])
    projects: set[str] = field(default_factory=set[str])
    people: set[str] = field(default_factory=set[str])
    made: Counter[str] = field(default_factory=Counter[str])

    def read(self, sentence: str, claim: PlainClaim | None = None) -> None:
        """Add the names of a sentence, and those of its claim."""
        found: set[str] = set()
        for match in _RUN.finditer(sentence):
            name = _bare(match[0])
            if name:
                found.add(name)
                if match.start():
                    self.inside.add(name)
        self.counts.update(found)
        for match in _CALLED.finditer(sentence):
            self._project(match["after"] or match["before"])
        if claim is None or not claim.about:
            return
        of_project = claim.slot.startswith(_OF_PROJECTS)
        for name in _names(claim.about):
            if is_given_name(name):
                self.made[name] += bool(_MADE.search(sentence))
                if claim.kind in ("preference", "fact") and not _MADE.search(sentence):
                    self.people.add(name)
            elif of_project:
                self._project(name)

    def speaks(self, name: str) -> None:
        """Add the name of a participant."""
        if name[:1].isupper():
            self.people.add(name)

    def is_person(self, name: str) -> bool:
        """Return whether a name belongs to a person: a speaker, or a given name without evidence that it is something else."""
        return name in self.people or (is_given_name(name) and self.made[name] < TWICE)

    def names_in(self, text: str) -> list[str]:
        """Return the names in a text that do not belong to a person, as written, each once."""
        return [name for name in _names(text) if not self.is_person(name)]

    def persons_in(self, text: str) -> list[str]:
        """Return the names of persons in a text, each once."""
        return [name for name in _names(text) if self.is_person(name)]

    def is_project(self, name: str) -> bool:
        """Return whether a name clearly belongs to a project."""
        return name in self.projects or (is_given_name(name) and not self.is_person(name))

    def _project(self, name: str) -> None:
        bare = _bare(name)
        if bare and not is_given_name(bare) and fold(bare) not in known_names().places and not bare.isupper():
            self.projects.add(bare)

    def certain_names(self, sentence: str) -> list[str]:
        """Return the names in a sentence that are certain to be names."""
        return [name for name in self.names_in(sentence) if name in self.inside or self.is_project(name)]

    def new_project(self, name: str) -> bool:
        """Return whether a name clearly belongs to a project and occurs in at least two sentences, enough for a new project."""
        return self.is_project(name) and self.counts[name] >= TWICE

    def new_concept(self, name: str) -> bool:
        """Return whether a name belongs to no project and occurs in at least two sentences, enough for a new concept."""
        return name in self.inside and not self.is_project(name) and self.counts[name] >= TWICE


def is_given_name(name: str) -> bool:
    """Return whether a name begins with a given name."""
    return is_given(fold(name.split()[0]))


def _names(text: str) -> list[str]:
    found = (_bare(match[0]) for match in _RUN.finditer(text))
    return list(dict.fromkeys(name for name in found if name))


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name).strip("-")


# Statements of the sessions of a snapshot, each with its speaker, its time, and the line of the page that contains it.
#
# A session that is still active, or had a turn within the last half hour, is left for a later night. Quarantined and private sessions are
# not read. Sentences with words of a privacy class, secrets and instructions to a reader are left out. ``digest_sessions`` and
# ``extract_claims`` use the result. Time: linear in the texts, about 50 µs per sentence.

IDLE: Final = timedelta(minutes=30)
"""Time without a new turn after which a session is finished."""

PRIVATE: Final = ("private",)
"""Visibilities of pages that are not read without permission."""

_OF_ASSISTANTS: Final = frozenset(("decision", "outcome", "state"))
_TAIL: Final = 20_000  # characters at the end of a session that contain its last turns
_REDACTED: Final = "[redacted"
_COLUMNS: Final = ("id", "path", "content", "content_hash", "metadata", "plane", "recorded_at")


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A session as it is stored; ``day`` is the day of its page."""

    id: str
    path: str
    hash: str
    agent: str
    session_id: str
    day: date
    text: str


@dataclass(frozen=True, slots=True)
class FoundSessions:
    """Finished sessions by path, and the numbers of unfinished and of private ones."""

    pages: tuple[SessionPage, ...]
    waiting: int = 0
    private: int = 0


@dataclass(frozen=True, slots=True)
class SessionStatement:
    """An informative sentence of a session.

    - ``said``: the sentence as it was said; ``text`` omits its lead-in.
    - ``speaker``: a name, ``user`` or ``assistant``, or empty.
    - ``at``: the time; None if only the day is known.
    - ``claim``: the claim in it, with "Somebody" as subject.
    - ``corrected``: whether a later sentence of the session corrects it, so that it claims nothing.
    """

    telling: SentenceKind
    text: str
    said: str
    speaker: str
    day: date
    at: datetime | None
    line: int
    page: SessionPage
    claim: PlainClaim | None = None
    corrected: bool = False

    @property
    def source(self) -> str:
        """Return the place of the sentence: the path of its page and its line."""
        return f"{self.page.path}#L{self.line}"

    @property
    def since(self) -> datetime:
        """Return the time of the sentence."""
        return self.at or datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReadSession:
    """The statements of a session.

    ``days`` are the days of its turns, and ``name`` is the name that its user gives for themselves. ``unsafe`` and ``private`` count the
    sentences that were left out.
    """

    page: SessionPage
    told: tuple[SessionStatement, ...]
    days: frozenset[date]
    speakers: frozenset[str]
    turns: tuple[SessionTurn, ...] = ()
    name: str = ""
    unsafe: int = 0
    private: int = 0


def finished_sessions(snapshot: Snapshot, leave: Collection[str] = ()) -> FoundSessions:
    """Return the finished sessions of a snapshot.

    Sessions that are marked as private or sensitive are left out unless ``leave`` names their class.
    """
    table = snapshot.live("documents", _COLUMNS)
    rows = table.filter(pc.equal(table["plane"], "sessions")).to_pylist()
    pages: list[SessionPage] = []
    waiting = private = 0
    for row in rows:
        fields = fields_in(row["metadata"])
        if "quarantined" in fields or "forgotten" in fields or not row["path"]:
            continue
        if is_private(fields, leave):
            private += 1
            continue
        page = _page(row, fields)
        if fields.get("status") == "active" or _lately(page, snapshot.taken_at):
            waiting += 1
            continue
        pages.append(page)
    return FoundSessions(tuple(sorted(pages, key=lambda page: page.path)), waiting, private)


def things_named(sessions: Sequence[ReadSession]) -> NamedThings:
    """Return the names that sessions mention."""
    things = NamedThings()
    for session in sessions:
        for speaker in (*session.speakers, session.name):
            things.speaks(speaker)
    for session in sessions:
        for one in session.told:
            things.read(one.text, one.claim)
    return things


def fields_in(metadata: str | None) -> Mapping[str, Any]:
    """Parse the metadata of a document; return an empty mapping if it is not an object."""
    value = json.loads(metadata or "{}")
    return value if isinstance(value, dict) else {}


def is_private(fields: Mapping[str, Any], leave: Collection[str]) -> bool:
    """Return whether a page must not be read without permission; ``leave`` names the permitted classes."""
    sensitivity = str(fields.get("sensitivity") or "none")
    return (fields.get("visibility") in PRIVATE and "private" not in leave) or (
        sensitivity != "none" and sensitivity not in leave
    )


def read_session(page: SessionPage, leave: Collection[str] = ()) -> ReadSession:
    """Return the statements of a session, in the order in which they were said."""
    found: list[SessionStatement] = []
    days: set[date] = set()
    speakers: set[str] = set()
    name = ""
    bad = private = 0
    turns = session_turns(page.text)
    claims = _claims(turns)
    for place, turn in enumerate(turns):
        day = turn.at.date() if turn.at else page.day
        days.add(day)
        speakers.add(turn.speaker)
        if turn.speaker == "system":
            continue
        telling, own = _statements(turn, page, day, claims.get(place, ()))
        name = name or own
        if not telling:
            continue
        if any(f.kind == "injection" for f in counting(screen(turn.text))):
            bad += len(telling)
            continue
        for one in telling:
            if _REDACTED in one.said or unsafe(one.said):
                bad += 1
            elif (kind := privacy_class(one.said)) and kind not in leave:
                private += 1
            else:
                found.append(one)
    if name:
        found = [replace(one, speaker=name) if one.speaker == USER else one for one in found]
    return ReadSession(page, tuple(found), frozenset(days), frozenset(speakers), tuple(turns), name, bad, private)


def _claims(turns: Sequence[SessionTurn]) -> Mapping[int, Sequence[tuple[PlainClaim | None, bool]]]:
    """Return, by turn, the claim of each sentence and whether a later sentence of the session corrects it.

    Sentences of assistants neither claim nor correct anything, because what they repeat may be wrong. Turns in other languages than English
    have no claims.
    """
    heard = [
        (turn, HeardSentence(sentence.text, one.speaker, plain_claim(sentence.text, "Somebody")))
        for turn, one in enumerate(turns)
        if one.speaker not in (ASSISTANT, "system") and not language_of(one.text)
        for sentence in spoken(one)
    ]
    corrected = corrected_claims([one for _, one in heard])
    found: defaultdict[int, list[tuple[PlainClaim | None, bool]]] = defaultdict(list)
    for place, (turn, one) in enumerate(heard):
        found[turn].append((None if place in corrected else one.claim, place in corrected))
    return found


def _statements(
    turn: SessionTurn, page: SessionPage, day: date, claims: Sequence[tuple[PlainClaim | None, bool]]
) -> tuple[list[SessionStatement], str]:
    """Return the unscreened statements of a turn, and the name with which its speaker introduces themselves."""
    found: list[SessionStatement] = []
    name = ""
    for sentence, (claim, corrected) in zip(spoken(turn), claims or repeat((None, False)), strict=False):
        if turn.speaker == USER and not name:
            name = introduced(sentence.text)
        informed = informative(sentence.text)
        telling, text = (informed.kind, informed.text) if informed else (None, sentence.text)
        telling = telling or (claim.kind if claim else None)
        if telling is None or (turn.speaker == ASSISTANT and telling not in _OF_ASSISTANTS):
            continue
        found.append(
            SessionStatement(
                telling,
                text,
                sentence.text,
                turn.speaker,
                day,
                turn.at,
                sentence.line,
                page,
                claim,
                corrected,
            )
        )
    return found, name


def _page(row: Mapping[str, Any], fields: Mapping[str, Any]) -> SessionPage:
    told_day = str(fields.get("date") or fields.get("created") or fields.get("updated") or "")
    try:
        day = date.fromisoformat(told_day[:10])
    except ValueError:
        day = row["recorded_at"].date()
    return SessionPage(
        id=str(row["id"]),
        path=str(row["path"]),
        hash=str(row["content_hash"] or ""),
        agent=str(fields.get("agent") or ""),
        session_id=str(fields.get("session_id") or ""),
        day=day,
        text=str(row["content"]),
    )


def _lately(page: SessionPage, now: datetime) -> bool:
    """Return whether the last turn of a session is less than ``IDLE`` (30 minutes) old."""
    last = max((turn.at for turn in session_turns(page.text[-_TAIL:]) if turn.at), default=None)
    return last is not None and now - last < IDLE


# Turns of a session as a model is shown them, in batches of the size that it reads at once. The callers interpret its answers.
#
# System turns, turns with instructions to a reader, and turns with words of a privacy class that may not be shown are left out. Secrets
# are masked, and relative dates get their date. Pure; linear in the text.

LONGEST_BATCH: Final = 180_000
"""Characters of the turns that a model reads at once (Dory 4.8)."""

_DATES: Final = 400  # characters that written-out dates may add to a turn


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn as it is shown to a model; ``line`` is its first line on the session's page, ``at`` the time of the turn."""

    speaker: str
    text: str
    line: int
    at: datetime


class _Worded(Protocol):
    @property
    def text(self) -> str: ...


_Part = TypeVar("_Part", bound=_Worded)


def shown_turns(session: ReadSession, leave: Collection[str], longest: int, write: Write = "beside") -> list[ShownTurn]:
    """Return the turns of a session that may be shown, each cut at ``longest`` characters.

    ``leave`` are the privacy classes that may be shown. ``write`` is whether absolute dates are added next to relative dates or replace
    them.
    """
    found: list[ShownTurn] = []
    for turn in session.turns:
        text = turn.text[:longest]
        if turn.speaker == "system" or any(f.kind == "injection" for f in counting(screen(text))):
            continue
        if (kind := privacy_class(text)) and kind not in leave:
            continue
        at = turn.at or datetime.combine(session.page.day, time(), UTC)
        turn_text = visible(absolutize(redact(text), at, write=write, nearest=False).text, longest + _DATES)
        if turn_text:
            found.append(ShownTurn(turn.speaker, turn_text, turn.lines[0][0], at))
    return found


def batches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Split parts into batches that a model can read at once, in order.

    A part that is longer than a batch gets a batch of its own.
    """
    found: list[list[_Part]] = []
    size = LONGEST_BATCH
    for part in parts:
        if not found or size + len(part.text) > LONGEST_BATCH:
            found.append([])
            size = 0
        found[-1].append(part)
        size += len(part.text)
    return found
