"""What the sessions of a snapshot tell: their sentences worth telling, each with who said it, when, and on which line of which page.

A session that goes on, or in which something was said within half an hour, waits. One that is quarantined or was marked as private is
not read; sentences with words of a privacy class, secrets and instructions to a reader are left out. What a digest or a claim makes of
them belongs to ``digest_sessions`` and ``extract_claims``. Time: linear in the texts, some 50 µs a sentence.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import repeat
from typing import Any, Final

import pyarrow.compute as pc

from slowwave.operations.planners.named_things import NamedThings
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.corrections import HeardSentence, corrected_claims
from slowwave.texts.informative_sentences import SentenceKind, informative
from slowwave.texts.plain_claims import PlainClaim, introduced, plain_claim
from slowwave.texts.screening import counting, screen, unsafe
from slowwave.texts.sensitivity import privacy_class
from slowwave.texts.session_turns import ASSISTANT, USER, SessionTurn, session_turns, spoken

IDLE: Final = timedelta(minutes=30)
"""For how long nothing has to be said until a session is over."""

PRIVATE: Final = ("private",)
"""Visibilities of pages that are not read without leave."""

_OF_ASSISTANTS: Final = frozenset(("decision", "outcome", "state"))
_TAIL: Final = 20_000  # characters at the end of a session, of which the last turns are
_REDACTED: Final = "[redacted"
_COLUMNS: Final = ("id", "path", "content", "content_hash", "metadata", "plane", "recorded_at")


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A session as it is stored; ``day`` is the one that its page is of."""

    id: str
    path: str
    hash: str
    agent: str
    session_id: str
    day: date
    text: str


@dataclass(frozen=True, slots=True)
class FoundSessions:
    """Sessions that are over, by path, and how many wait or are not to be read."""

    pages: tuple[SessionPage, ...]
    waiting: int = 0
    private: int = 0


@dataclass(frozen=True, slots=True)
class SessionStatement:
    """A sentence that tells something. ``said`` is as it was said, ``text`` without its lead-in; ``speaker`` is a name, ``user`` or
    ``assistant``, or empty; ``at`` is None where only the day is known; ``claim`` is what it claims, told of "Somebody"; ``corrected``: a
    later sentence of the session corrects it, so it claims nothing."""

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
        """The line that it stands on."""
        return f"{self.page.path}#L{self.line}"

    @property
    def since(self) -> datetime:
        """When it was said."""
        return self.at or datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What a session tells. ``days`` are those on which something was said in it, ``name`` is how its user calls himself; how many
    sentences were left out as unsafe or private."""

    page: SessionPage
    told: tuple[SessionStatement, ...]
    days: frozenset[date]
    speakers: frozenset[str]
    turns: tuple[SessionTurn, ...] = ()
    name: str = ""
    unsafe: int = 0
    private: int = 0


def finished_sessions(snapshot: Snapshot, leave: Collection[str] = ()) -> FoundSessions:
    """The sessions of a snapshot that are over; of those with a sensitivity only such as ``leave`` names."""
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
    """What sessions call by name."""
    things = NamedThings()
    for session in sessions:
        for speaker in (*session.speakers, session.name):
            things.speaks(speaker)
    for session in sessions:
        for one in session.told:
            things.read(one.text, one.claim)
    return things


def fields_in(metadata: str | None) -> Mapping[str, Any]:
    """What is kept of a document beside its text."""
    value = json.loads(metadata or "{}")
    return value if isinstance(value, dict) else {}


def is_private(fields: Mapping[str, Any], leave: Collection[str]) -> bool:
    """Whether a page is not to be read without leave, which names the classes that are."""
    sensitivity = str(fields.get("sensitivity") or "none")
    return (fields.get("visibility") in PRIVATE and "private" not in leave) or (
        sensitivity != "none" and sensitivity not in leave
    )


def read_session(page: SessionPage, leave: Collection[str] = ()) -> ReadSession:
    """What a session tells, in the order in which it was said."""
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
    """Turn → what each of its sentences claims, and whether a later sentence of the session corrects it. Assistants claim and correct
    nothing: what they repeat may be wrong.
    """
    heard = [
        (turn, HeardSentence(sentence.text, one.speaker, plain_claim(sentence.text, "Somebody")))
        for turn, one in enumerate(turns)
        if one.speaker not in (ASSISTANT, "system")
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
    """What a turn tells before it is screened, and the name by which its speaker introduces himself."""
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
    """Whether something was said in a session a short while ago."""
    last = max((turn.at for turn in session_turns(page.text[-_TAIL:]) if turn.at), default=None)
    return last is not None and now - last < IDLE
