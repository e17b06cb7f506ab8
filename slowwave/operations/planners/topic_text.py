"""The text of a topic memory: a heading, and dated statements in their own words, what holds now before what was over.

    About Niamh: badminton, handball.
    2026-10-17: Niamh does handball now, no more badminton.
    2026-11-06: Niamh won something in handball. (also 2026-11-09)
    2026-10-01: Niamh does badminton. (until 2026-10-17)

Which memories go together belongs to ``topic_groups``, what becomes of them to ``topic_memories``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slowwave.texts.sentences import sentences
from slowwave.texts.tokens import normalise_name

_LINE: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d): (?P<said>.+?)(?: \(also (?P<also>[\d, -]+)\))?(?: \(until (?P<until>\d{4}-\d\d-\d\d)\))?"
)
_CLAUSE: Final = re.compile(r"[\s\"'“”‘’()]*[,;:.!?…—–][\s\"'“”‘’()]*")
_LEAD_INS: Final = frozenset(
    (
        "as i said",
        "by the way",
        "for context",
        "fyi",
        "again",
        "also",
        "just so it's known",
        "as mentioned",
        "as always",
        "well",
        "so",
    )
)
_GOES_ON: Final = frozenset(("so", "and", "which"))


@dataclass(frozen=True, slots=True)
class TopicLine:
    """What memories ``ids`` said on a ``day`` (ISO), and in the same words on the days ``also``; over since the day ``until``."""

    day: str
    said: str
    ids: tuple[str, ...]
    also: tuple[str, ...] = ()
    until: str = ""

    def __str__(self) -> str:
        also = f" (also {', '.join(self.also)})" if self.also else ""
        return f"{self.day}: {self.said}{also}{f' (until {self.until})' if self.until else ''}"


@dataclass(frozen=True, slots=True)
class TopicText:
    """The lines of a topic in the order in which they are told, under its heading."""

    heading: str
    lines: tuple[TopicLine, ...]

    def __str__(self) -> str:
        return "\n".join([self.heading, *map(str, self.lines)])


def render_topic(subject: str, matter: Sequence[str], lines: Iterable[TopicLine]) -> TopicText:
    """Lines as they were said, in any order → the text. What another line says is not said twice: its day stands with that line.

    Lines since the last change come first, then those before it, each in the order of time; without a change there is one order.
    Time: the square of the lines, which are a few.
    """
    ordered = sorted(lines, key=lambda line: (line.day, line.ids))
    told = _without_repeats(ordered)
    change = max((line.until for line in told), default="")
    lasting = [line for line in told if not line.until]
    now = [line for line in lasting if line.day >= change] or lasting
    return TopicText(f"About {subject}: {', '.join(matter)}.", (*now, *(line for line in told if line not in now)))


def read_topic(text: str, statements: Sequence[Sequence[str]]) -> TopicText | None:
    """A topic memory's text and the ids of its lines → what was written; None where it reads otherwise by now."""
    heading, *rest = text.split("\n")
    found = [_LINE.fullmatch(line) for line in rest]
    if not rest or len(rest) != len(statements):
        return None
    lines: list[TopicLine] = []
    for match, ids in zip(found, statements, strict=True):
        if match is None:
            return None
        also = tuple(match["also"].split(", ")) if match["also"] else ()
        lines.append(TopicLine(match["day"], match["said"], tuple(ids), also, match["until"] or ""))
    return TopicText(heading, tuple(lines))


def _without_repeats(ordered: Sequence[TopicLine]) -> list[TopicLine]:
    """The lines but those all of whose sentences others say as well, over since the same day."""
    spoken = [(a, n, s, _clauses(s)) for a, line in enumerate(ordered) for n, s in enumerate(sentences(line.said))]
    ends = [line.until for line in ordered]

    def holder(told: _Spoken, among: Iterable[_Spoken]) -> _Spoken | None:
        return next((o for o in among if ends[o[0]] == ends[told[0]] and _holds(o, told)), None)

    kept = [told for told in spoken if holder(told, spoken) is None]
    stay = {
        told[0] for told in kept
    }  # a line is left out as a whole, so that no sentence loses the one that it follows
    days = [set(line.also) for line in ordered]
    ids = [dict.fromkeys(line.ids) for line in ordered]
    for told in spoken:
        if told[0] not in stay and (heir := holder(told, kept)) is not None:
            line = ordered[told[0]]
            days[heir[0]].update((line.day, *line.also))
            ids[heir[0]].update(dict.fromkeys(line.ids))
    return [
        replace(line, also=tuple(sorted(days[a] - {line.day})), ids=tuple(ids[a]))
        for a, line in enumerate(ordered)
        if a in stay
    ]


_Spoken = tuple[int, int, str, tuple[str, ...]]
"""A sentence: of which line, its place there, and its clauses."""


def _clauses(sentence: str) -> tuple[str, ...]:
    found = [c for part in _CLAUSE.split(sentence) if (c := normalise_name(part))]
    while len(found) > 1 and found[0] in _LEAD_INS:
        del found[0]
    while len(found) > 1 and found[-1] in _LEAD_INS:
        del found[-1]
    return tuple(found)


def _holds(whole: _Spoken, part: _Spoken) -> bool:
    """Whether one sentence says what another does: it is the same and comes first, or goes on behind it with "so", "and" or "which"."""
    mine, theirs = whole[3], part[3]
    if not theirs or whole[:2] == part[:2]:
        return False
    if mine == theirs:
        return whole[:2] < part[:2]
    more = mine[len(theirs) :]
    return bool(more) and mine[: len(theirs)] == theirs and more[0].split()[0] in _GOES_ON
