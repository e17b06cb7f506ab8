"""``digest_sessions``: notes of sessions and digests of days and weeks, written again when their sources change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.operations import Inputs, Proposal
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.dates import absolutize
from slowwave.text.turns import USER
from slowwave.wiki.claims.session_statements import (
    FoundSessions,
    NamedThings,
    ReadSession,
    SessionStatement,
    finished_sessions,
    read_session,
    things_named,
)
from slowwave.wiki.corpus.corpora import PAGES_ROOT, UNFOLLOWED
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from slowwave.wiki.operations.digest_text import (
    SECTION_OF,
    SECTIONS,
    Digest,
    DigestLine,
    DigestWriting,
    Section,
    StoredDigest,
    counted,
    daily_path,
    made_of,
    note_path,
    stored_digest,
    titled,
    weekly_path,
    within,
)
from slowwave.wiki.options import DigestOptions

# Digests of a night: of a session, of a day and of a week, written if their sources differ from those of the stored page.
#
# The layout of a page is in ``digest_text``, the statements of sessions are in ``session_statements``.

NOTED: Final = 2
"""Sentences that a session needs for a note; a single sentence appears only in the digest of its day."""

DayLines = tuple[Mapping[Section, tuple[DigestLine, ...]], str]
"""The lines of a day's digest, and the hash of its sources."""

_DAYS: Final = "digests/daily/"
_SELF: Final = frozenset(("i", "i'm", "i've", "i'll", "i'd", "my", "me", "mine", "myself"))


@dataclass(frozen=True, slots=True)
class MadeDigest:
    """A digest, the stored page at its path, and its sessions."""

    digest: Digest
    before: StoredDigest | None
    sessions: tuple[str, ...]


@dataclass(slots=True)
class Digests:
    """The digests of a night; each is written if its sources differ from those of the stored page."""

    stored: Mapping[str, StoredDigest]
    things: NamedThings
    max_tokens: int
    writing: DigestWriting
    made: list[MadeDigest] = field(default_factory=list[MadeDigest])
    edited: list[StoredDigest] = field(default_factory=list[StoredDigest])
    unchanged: int = 0
    left_out: int = 0

    def is_due(self, path: str, sources: str) -> bool:
        """Return whether a digest of these sources must be written.

        If the stored digest has the same sources, or a person edited it, it must not.
        """
        before = self.stored.get(path)
        if before is not None and before.made_of == sources:
            self.unchanged += 1
            return False
        if before is not None and before.edited:
            self.edited.append(before)
            return False
        return True

    def note(self, session: ReadSession) -> None:
        """Write the note of a session."""
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
        """Write the digest of a day from all sessions with turns on that day."""
        path, sources = daily_path(day), made_of((s.page.path, s.page.hash) for s in sessions)
        lines_of_day = [one for s in sessions for one in s.told if one.day == day]
        if not (lines_of_day or self.writing.writer) or not self.is_due(path, sources):
            return
        written = self.writing.written(sessions, day)
        if self.writing.waits or not (written or lines_of_day):
            return
        sections = written or self._sections(lines_of_day)
        self._add(
            path,
            "digest-daily",
            titled(_day(day), self._names(lines_of_day)),
            counted(len(sessions), _speakers(sessions), sections),
            sections,
            {
                "date": day.isoformat(),
                "projects": self._projects(lines_of_day) or None,
                "source_sessions": [s.page.path for s in sessions],
            },
            sources,
            tuple(s.page.id for s in sessions),
            self.writing.name if written else "",
        )

    def week(self, year: int, week: int, days: Mapping[str, DayLines]) -> None:
        """Write the digest of a week from the digests of its days: path → lines, and the hash of their sources."""
        path, sources = weekly_path(year, week), made_of((day, of) for day, (_, of) in days.items())
        if not self.is_due(path, sources):
            return
        sections: dict[Section, list[DigestLine]] = {}
        for day, (lines, _) in sorted(days.items()):
            day_name = day.removeprefix(_DAYS).removesuffix(".md")
            for section in SECTIONS:
                sections.setdefault(section, []).extend(
                    DigestLine(line.text, line.sources, day_name) for line in lines.get(section, ())
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
        """Return the digests of days by ISO week, for the weeks that are over; tonight's digests replace the stored ones."""
        days = {s.path: (s.sections, s.made_of) for s in self.stored.values() if s.path.startswith(_DAYS)}
        days |= {
            m.digest.path: (m.digest.sections, m.digest.made_of) for m in self.made if m.digest.type == "digest-daily"
        }
        weeks: defaultdict[tuple[int, int], dict[str, DayLines]] = defaultdict(dict)
        for path, day_lines in days.items():
            try:
                year, week, _ = date.fromisoformat(path[len(_DAYS) : -len(".md")]).isocalendar()
            except ValueError:
                continue
            if day_lines[0] and (year, week) < today.isocalendar()[:2]:
                weeks[year, week][path] = day_lines
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
        given = {name: value for name, value in fields.items() if value is not None}
        more = {"writer": writer} if writer else {}
        digest = Digest(path, type_, title, summary, sections, given, sources, **more)
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
    """Format a sentence for a digest: relative dates get their absolute date, and first-person text its speaker."""
    text = absolutize(told.text, told.since, nearest=False).text if told.at or told.day else told.text
    text = " ".join(text.split()).replace("`", "'")
    text = text if text.endswith((".", "!", "…")) else f"{text}."
    own = any(word.strip(".,;:!").lower().replace("’", "'") in _SELF for word in text.split())
    return f"{told.speaker}: {text}" if own and told.speaker else text


def _section(told: SessionStatement) -> Section:
    """Return the section of a sentence; what speakers state about themselves, and what does not change, goes to "noted"."""
    claim = told.claim
    lasting = claim is not None and claim.kind != "decision" and (not claim.about or claim.kind == "fact")
    return "noted" if lasting and told.telling == "state" else SECTION_OF[told.telling]


def _speakers(sessions: Sequence[ReadSession]) -> list[str]:
    """Return the known names of the participants."""
    named = {s.name for s in sessions if s.name}
    speakers = {name for s in sessions for name in s.speakers if name not in ("", USER, "assistant", "system")}
    return sorted(named | speakers)


def _often(names: Counter[str]) -> Counter[str]:
    """Return the names that are mentioned more than once."""
    return Counter({name: n for name, n in names.items() if n > 1})


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"


# ``digest_sessions``: sessions become a note each, a digest of each day, and a digest of each week that is over (Dory 4.8).
#
# ``slowwave.text.informative`` classifies the sentences; ``digest_text`` has the layout of a digest and the part of the model. Every
# sentence links to its session and line. A digest is written again when its sessions have changed, as a new version of its page; one that
# a person has edited is left unchanged. Cost: that of reading the sessions; linear.

OPERATION: Final = "digest_sessions"
_QUOTED: Final = 12
_MAX_TOKENS: Final = 1_500  # of what a digest states, as of the sources of one summary
_SHOWN: Final = 20


def digest_sessions(inputs: Inputs) -> Proposal:
    """Write pages about sessions: a note of each session, a digest of each day, and a digest of each week that is over."""
    snapshot = inputs.snapshot
    options = inputs.settings.options(OPERATION, DigestOptions)
    found = finished_sessions(snapshot, options.may_tell)
    sessions = [read_session(page, options.may_tell) for page in found.pages]
    things = things_named(sessions)
    root = _root(snapshot)
    digests = Digests(
        _stored(snapshot, root),
        things,
        _MAX_TOKENS,
        DigestWriting(inputs.consolidator, inputs.budget, options.may_tell),
    )
    if options.notes:
        for session in sessions:
            digests.note(session)
    of_day: defaultdict[date, list[ReadSession]] = defaultdict(list)
    for session in sessions:
        for day in session.days:
            of_day[day].append(session)
    for day, those in sorted(of_day.items()):
        digests.day(day, those)
    for (year, week), days in sorted(digests.weeks(snapshot.taken_at.date()).items()):
        digests.week(year, week, days)
    items, refused = _items(inputs, digests.made, root)
    numbers = _numbers(found, sessions, digests, len(items))
    return Proposal(
        tuple(items),
        Report(
            OPERATION,
            f"{len(items):,} notes and digests would be written of {len(found.pages):,} sessions."
            if items
            else f"No session of {len(found.pages):,} has anything new to tell.",
            numbers,
            (*_findings(digests), *refused),
            _table(digests.made),
        ),
    )


def _root(snapshot: Snapshot) -> str:
    """Return the root for new pages: the one folder that the namespace follows, else the agents' own corpus.

    If the namespace follows several folders, the agents' own corpus is used.
    """
    roots: list[str] = snapshot.live("corpora", ("root", "invalidated_at"))["root"].to_pylist()
    folders = [root for root in roots if root not in UNFOLLOWED]
    return folders[0] if len(folders) == 1 else PAGES_ROOT


def _stored(snapshot: Snapshot, root: str) -> dict[str, StoredDigest]:
    """Return the stored pages under digests/, by path."""
    corpora = {row["id"]: row["root"] for row in snapshot.live("corpora", ("id", "root")).to_pylist()}
    pages = snapshot.live("documents", ("id", "path", "content", "corpus_id", "plane"))
    pages = pages.filter(pc.fill_null(pc.starts_with(pages["path"], "digests/"), False))
    rows: list[dict[str, Any]] = pages.to_pylist()
    return {
        row["path"]: stored_digest(str(row["id"]), row["path"], row["content"])
        for row in rows
        if corpora.get(row["corpus_id"]) == root
    }


def _items(inputs: Inputs, made: Sequence[MadeDigest], root: str) -> tuple[list[Item], list[Finding]]:
    """Return an item for each page, and the pages that were refused; a refused page does not block the others."""

    def items(those: Sequence[MadeDigest]) -> list[Item]:
        pages = [PlannedPage(one.digest.path, one.digest.page, root, one.digest.made_of) for one in those]
        mutations = planned_pages(inputs.snapshot, inputs.settings, inputs.embed, pages)
        return [
            ask_unless_measured(
                Item(
                    OPERATION,
                    Decision.WRITE if one.before is None else Decision.REVISE,
                    mutation,
                    _evidence(one),
                    sources=one.sessions,
                ),
                "generated page",
            )
            for one, mutation in zip(those, mutations, strict=True)
        ]

    try:
        return items(made), []
    except Refused:
        pass
    found: list[Item] = []
    refused: list[Finding] = []
    for one in made:
        try:
            found += items([one])
        except Refused as problem:
            refused.append(Finding(str(problem), (), "warning"))
    return found, refused


def _evidence(made: MadeDigest) -> dict[str, object]:
    digest = made.digest
    return {
        "path": digest.path,
        "title": digest.title,
        "summary": digest.summary,
        "writer": digest.writer,
        "sentences": len(digest.lines),
        "sessions": len(made.sessions),
        "made_of": digest.made_of,
        "quotes": [{"text": line.text, "sources": list(line.sources)} for line in digest.lines[:_QUOTED]],
    }


def _numbers(
    found: FoundSessions, sessions: Sequence[ReadSession], digests: Digests, items: int
) -> dict[str, int | float]:
    types = Counter(one.digest.type for one in digests.made)
    return {
        "sessions": len(found.pages),
        "waiting": found.waiting,
        "private": found.private,
        "sentences told": sum(len(s.told) for s in sessions),
        "left out as unsafe": sum(s.unsafe for s in sessions),
        "left out as private": sum(s.private for s in sessions),
        "left out for want of room": digests.left_out,
        "notes": types["note"],
        "daily digests": types["digest-daily"],
        "weekly digests": types["digest-weekly"],
        "new versions": sum(one.before is not None for one in digests.made),
        "unchanged": digests.unchanged,
        "edited by a person": len(digests.edited),
        **digests.writing.numbers(),
        "items": items,
    }


def _findings(digests: Digests) -> tuple[Finding, ...]:
    edited = [
        Finding(
            f"{page.path} was not written by a night, or a person has written in it, so it is left as it is. Remove or move that page to "
            "have the digest made.",
            (page.id,),
            "info",
        )
        for page in digests.edited[:_SHOWN]
    ]
    return (*edited, *digests.writing.findings())


def _table(made: Sequence[MadeDigest]) -> tuple[dict[str, object], ...]:
    return tuple(
        {
            "path": one.digest.path,
            "title": one.digest.title,
            "sentences": len(one.digest.lines),
            "sessions": len(one.sessions),
        }
        for one in made[:_SHOWN]
    )
