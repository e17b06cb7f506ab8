"""Digests as a night makes them: of a session, of a day, of a week; each where its sources are not those of the page that stands there.

How a page is laid out belongs to ``digest_pages``, what sessions tell to ``session_statements``, the planner to ``digest_sessions``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from slowwave.operations.planners.digest_pages import (
    SECTION_OF,
    SECTIONS,
    Digest,
    DigestLine,
    Section,
    StoredDigest,
    counted,
    daily_path,
    made_of,
    note_path,
    titled,
    weekly_path,
    within,
)
from slowwave.operations.planners.digest_writing import DigestWriting
from slowwave.operations.planners.named_things import NamedThings
from slowwave.operations.planners.session_statements import ReadSession, SessionStatement
from slowwave.texts.dates import absolutize
from slowwave.texts.session_turns import USER

NOTED: Final = 2
"""Sentences that a session tells until it has a note of its own; what one alone says stands in the digest of its day."""

DayLines = tuple[Mapping[Section, tuple[DigestLine, ...]], str]
"""The lines of a day's digest, and what it was made of."""

_DAYS: Final = "digests/daily/"
_SELF: Final = frozenset(("i", "i'm", "i've", "i'll", "i'd", "my", "me", "mine", "myself"))


@dataclass(frozen=True, slots=True)
class MadeDigest:
    """A digest, the page that stands at its place, and the sessions that it is of."""

    digest: Digest
    before: StoredDigest | None
    sessions: tuple[str, ...]


@dataclass(slots=True)
class Digests:
    """The digests of a night: made where their sources are not those of the page that stands there."""

    stored: Mapping[str, StoredDigest]
    things: NamedThings
    max_tokens: int
    writing: DigestWriting
    made: list[MadeDigest] = field(default_factory=list[MadeDigest])
    edited: list[StoredDigest] = field(default_factory=list[StoredDigest])
    unchanged: int = 0
    left_out: int = 0

    def is_due(self, path: str, sources: str) -> bool:
        """Whether a digest is to be made of these sources."""
        before = self.stored.get(path)
        if before is not None and before.made_of == sources:
            self.unchanged += 1
            return False
        if before is not None and before.edited:
            self.edited.append(before)
            return False
        return True

    def note(self, session: ReadSession) -> None:
        """The note of a session."""
        path = note_path(session.page.path)
        sources = made_of([(session.page.path, session.page.hash)])
        if len(session.told) < NOTED or not self.is_due(path, sources):
            return
        sections = self._sections(session.told)
        speakers = _speakers([session])
        day = min(session.days)
        self._add(
            path,
            "note",
            titled(f"Session of {_day(day)}", self._names(session.told)),
            counted(1, speakers, sections),
            sections,
            {
                "date": day.isoformat(),
                "agent": session.page.agent or None,
                "session_id": session.page.session_id or None,
                "projects": self._projects(session.told) or None,
                "source_sessions": [session.page.path],
            },
            sources,
            (session.page.id,),
        )

    def day(self, day: date, sessions: Sequence[ReadSession]) -> None:
        """The digest of a day, of all sessions in which something was said on it."""
        path, sources = daily_path(day), made_of((s.page.path, s.page.hash) for s in sessions)
        told = [one for s in sessions for one in s.told if one.day == day]
        if not (told or self.writing.writer) or not self.is_due(path, sources):
            return
        written = self.writing.written(sessions, day)
        if self.writing.waits or not (written or told):
            return
        sections = written or self._sections(told)
        self._add(
            path,
            "digest-daily",
            titled(_day(day), self._names(told)),
            counted(len(sessions), _speakers(sessions), sections),
            sections,
            {
                "date": day.isoformat(),
                "projects": self._projects(told) or None,
                "source_sessions": [s.page.path for s in sessions],
            },
            sources,
            tuple(s.page.id for s in sessions),
            self.writing.name if written else "",
        )

    def week(self, year: int, week: int, days: Mapping[str, DayLines]) -> None:
        """The digest of a week, of the digests of its days: path → lines, and what it was made of."""
        path, sources = weekly_path(year, week), made_of((day, of) for day, (_, of) in days.items())
        if not self.is_due(path, sources):
            return
        sections: dict[Section, list[DigestLine]] = {}
        for day, (lines, _) in sorted(days.items()):
            told = day.removeprefix(_DAYS).removesuffix(".md")
            for section in SECTIONS:
                sections.setdefault(section, []).extend(
                    DigestLine(line.text, line.sources, told) for line in lines.get(section, ())
                )
        kept, out = within(sections, self.max_tokens)
        self.left_out += out
        names = Counter(
            name for lines in kept.values() for line in lines for name in self.things.certain_names(line.text)
        )
        sessions = {source.partition("#")[0] for lines in kept.values() for line in lines for source in line.sources}
        self._add(
            path,
            "digest-weekly",
            titled(f"Week {week} of {year}", _often(names)),
            counted(len(sessions), (), kept),
            kept,
            {
                "date": f"{date.fromisocalendar(year, week, 7)}",
                "days": [day.removeprefix(_DAYS).removesuffix(".md") for day in sorted(days)],
                "projects": sorted(name for name in names if self.things.new_project(name)) or None,
                "source_digests": sorted(days),
            },
            sources,
            (),
        )

    def weeks(self, today: date) -> dict[tuple[int, int], dict[str, DayLines]]:
        """The digests of days by ISO week, of the weeks that are over: those made tonight in place of those that stand."""
        days = {s.path: (s.sections, s.made_of) for s in self.stored.values() if s.path.startswith(_DAYS)}
        days |= {
            m.digest.path: (m.digest.sections, m.digest.made_of) for m in self.made if m.digest.type == "digest-daily"
        }
        weeks: defaultdict[tuple[int, int], dict[str, DayLines]] = defaultdict(dict)
        for path, told in days.items():
            try:
                year, week, _ = date.fromisoformat(path[len(_DAYS) : -len(".md")]).isocalendar()
            except ValueError:
                continue
            if told[0] and (year, week) < today.isocalendar()[:2]:
                weeks[year, week][path] = told
        return weeks

    def _add(
        self,
        path: str,
        type_: str,
        title: str,
        summary: str,
        sections: Mapping[Section, tuple[DigestLine, ...]],
        fields: Mapping[str, object],
        sources: str,
        sessions: tuple[str, ...],
        writer: str = "",
    ) -> None:
        told = {name: value for name, value in fields.items() if value is not None}
        more = {"writer": writer} if writer else {}
        digest = Digest(path, type_, title, summary, sections, told, sources, **more)
        self.made.append(MadeDigest(digest, self.stored.get(path), sessions))

    def _sections(self, told: Iterable[SessionStatement]) -> dict[Section, tuple[DigestLine, ...]]:
        sections: dict[Section, list[DigestLine]] = {section: [] for section in SECTIONS}
        for one in sorted((t for t in told if not t.corrected), key=lambda t: (t.since, t.source)):
            sections[_section(one)].append(DigestLine(line_text(one), (one.source,)))
        kept, out = within(sections, self.max_tokens)
        self.left_out += out
        return kept

    def _names(self, told: Iterable[SessionStatement]) -> Counter[str]:
        return _often(Counter(name for one in told for name in self.things.certain_names(one.text)))

    def _projects(self, told: Iterable[SessionStatement]) -> list[str]:
        return sorted(
            {name for one in told for name in self.things.certain_names(one.text) if self.things.new_project(name)}
        )


def line_text(told: SessionStatement) -> str:
    """A sentence as a digest tells it: relative dates with their day beside them, and who says "I"."""
    text = absolutize(told.text, told.since, nearest=False).text if told.at or told.day else told.text
    text = " ".join(text.split()).replace("`", "'")
    text = text if text.endswith((".", "!", "…")) else f"{text}."
    own = any(word.strip(".,;:!").lower().replace("’", "'") in _SELF for word in text.split())
    return f"{told.speaker}: {text}" if own and told.speaker else text


def _section(told: SessionStatement) -> Section:
    """Where a sentence stands: what somebody says of himself, and what does not change, is noted."""
    claim = told.claim
    lasting = claim is not None and claim.kind != "decision" and (not claim.about or claim.kind == "fact")
    return "noted" if lasting and told.telling == "state" else SECTION_OF[told.telling]


def _speakers(sessions: Sequence[ReadSession]) -> list[str]:
    """The names of those who took part: those that are known."""
    named = {s.name for s in sessions if s.name}
    said = {name for s in sessions for name in s.speakers if name not in ("", USER, "assistant", "system")}
    return sorted(named | said)


def _often(names: Counter[str]) -> Counter[str]:
    """The names that are told of more than once."""
    return Counter({name: n for name, n in names.items() if n > 1})


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"
