"""``topic_memories``: statements about one subject and matter on several days become one memory of dated statements.

Nothing is reworded: each statement keeps its own words, its day and its source. A statement that another one replaced becomes history,
with the day of its end, after the statements that hold now. Two statements that contradict each other, and have no order in time, are
kept apart.

Cost: parsing each memory once, about 100 µs, the search for topics (``TopicSearch``), and finding contradictions.

A topic memory replaces its members in recall, so it is a question (``slowwave.plans.items``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Guard
from slowwave.changes.rows import rows_by_id
from slowwave.matching.match import cohesive_groups
from slowwave.matching.vectors import one_thread
from slowwave.matching.words import SharedWords
from slowwave.operations import Inputs, Proposal
from slowwave.operations.conflicts.find import contradict
from slowwave.operations.consolidation import (
    Contradicting,
    NearPairs,
    Pairs,
    contradicting,
    floor_above,
    joined,
    near_pairs,
    rejected,
)
from slowwave.operations.summary_text import (
    ALIKE,
    STAGES,
    SUMMARY,
    TOPIC,
    Fields,
    Floats,
    FoundSummary,
    Ints,
    Mask,
    Pool,
    SummaryText,
    candidates,
    in_focus,
    summary_items,
)
from slowwave.plans.items import Item
from slowwave.plans.report import Report
from slowwave.snapshots.memories import attributes, version_texts
from slowwave.snapshots.rows import is_held_back
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.dates import absolutize
from slowwave.text.quotation import quote
from slowwave.text.relations import RELATIONS, SELF, TopicStatement, topic_statement, topic_statements
from slowwave.text.sentences import sentences
from slowwave.text.specifics import specifics, unsaid
from slowwave.text.statements import stem
from slowwave.text.subjects import PROGRAMS
from slowwave.text.tokens import count, fold, normalise_name

# Groups of statements about one subject and matter, from memories that may be combined.
#
# Statements have one subject if they are about the same person or thing (``slowwave.text.relations``). They have one matter if they share
# content words, rare ones first, and every two of a group are closer to each other than unrelated texts.

_MOST: Final = 50  # members of a topic
_HALF: Final = 0.5  # of the members have each word that names the matter
_DAY: Final = 86_400_000_000  # microseconds
_A_LINE: Final = 4  # tokens of its day


@dataclass(frozen=True, slots=True)
class Topic:
    """Members at ``places`` of the pool, in time order, and what they share: relations, then stems, the most frequent first."""

    places: tuple[int, ...]
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicSearch:
    """Search for topics of ``pool``, whose k-th memory states ``said[k]``.

    Every two members of a topic have at least the cosine ``floor``. No two of them are a pair in ``apart`` or contradict each other,
    unless one replaces the other, and all together fit into ``room`` tokens. ``unfit`` is only checked for members of groups, because it
    takes longer than the grouping.
    """

    pool: Pool
    said: Sequence[TopicStatement]
    floor: float
    least: int
    room: int
    contradicting: Contradicting
    apart: Pairs
    unfit: Callable[[int], bool]
    most: int

    def topics(self) -> list[Topic]:
        """Return all topics of at least ``least`` members, in pool order, from the ``most`` groups with the latest statements.

        Time: that of ``near_pairs``, linear in the texts, and for each of these groups the square of its members, 500 µs per pair.
        """
        codes: dict[tuple[int, str], int] = {}
        of = [(int(b), s.subject) for b, s in zip(self.pool.block, self.said, strict=True)]
        block = np.array([codes.setdefault(key, len(codes)) for key in of], np.int64)
        words = SharedWords.from_texts([_words(s) for s in self.said])
        with one_thread():
            near = list(near_pairs(replace(self.pool, block=block), self.floor, self.least))
            likely = [self._likely(words, *pairs) for pairs in near]
            found: list[Topic] = []
            free = np.ones(len(self.said), np.bool_)
            tried: set[tuple[int, ...]] = set()
            while more := list(self._round(likely, words, free, tried)):
                found += more
                free[[k for topic in more for k in topic.places]] = False
        return sorted(found, key=lambda t: t.places)

    def _likely(self, words: SharedWords, rows: Ints, i: Ints, j: Ints, cosine: Floats) -> NearPairs:
        """Return the near pairs that share a word, with the likelihood that they are about one matter."""
        shared = words.pairs(rows[i], rows[j])
        return rows, i[shared > 0], j[shared > 0], (cosine + shared)[shared > 0]

    def _round(
        self, pairs: Sequence[NearPairs], words: SharedWords, free: Mask, tried: set[tuple[int, ...]]
    ) -> Iterator[Topic]:
        """Yield topics of groups of free rows that were not tried before, those with the latest statements first.

        Members that a group leaves over are grouped again until no more topics are found.
        """
        groups = [group for near in pairs for group in self._groups(*near, free)]
        groups.sort(key=lambda g: (-int(self.pool.when[g].max()), g.tolist()))
        for group in groups:
            key = tuple(group.tolist())
            if key not in tried and len(tried) < self.most:
                tried.add(key)
                yield from self._parts(group, words)

    def _groups(self, rows: Ints, i: Ints, j: Ints, likeness: Floats, free: Mask) -> Iterator[Ints]:
        open_ = free[rows[i]] & free[rows[j]]
        used, places = np.unique(np.concatenate([i[open_], j[open_]]), return_inverse=True)
        half = len(places) // 2
        units = self.pool.units(rows[used])
        for group in cohesive_groups(units, places[:half], places[half:], likeness[open_], self.floor, _MOST):
            if len(group) >= self.least:
                yield rows[used[group]]

    def _parts(self, group: Ints, words: SharedWords) -> Iterator[Topic]:
        """Split the group into parts without contradictions, leaving out members that share none of its words."""
        order = sorted((k for k in group.tolist() if not self.unfit(k)), key=lambda k: (self.pool.when[k], k))
        order = [k for k in order if not _stems(self.said[k]).isdisjoint(self._matter(order))]
        if len(order) < self.least:
            return
        at = np.array(order, np.int64)
        units = self.pool.units(at)
        likeness = np.rint((units @ units.T + words.among(at)) * 1e4)
        for a, b in self._apart(order):
            likeness[a, b] = likeness[b, a] = -np.inf
        for part in joined(likeness, self.pool.tokens[at] + _A_LINE, self.room, self.least):
            places = [order[n] for n in part]
            stems = self._matter(places)
            days = {int(self.pool.when[k]) // _DAY for k in places}
            if len(places) >= self.least and stems and len(days) > 1:
                yield Topic(tuple(places), stems)

    def _matter(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return the stems that at least half of the members, and at least two of them, have."""
        times = Counter(s for k in places for s in _stems(self.said[k]))
        common = [s for s, n in times.items() if n > 1 and n >= _HALF * len(places)]
        return tuple(sorted(common, key=lambda s: (" " not in s, s[0].isdigit(), -times[s], s)))

    def _apart(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Return the pairs of positions in ``order`` that may not be combined."""
        rows = self.pool.rows(order, ("id", "text"))
        for a, b in combinations(range(len(rows)), 2):
            ids = rows[a]["id"], rows[b]["id"]
            pair = (min(ids), max(ids))
            if pair in self.contradicting.replaces and pair not in self.apart:
                continue
            if pair in self.apart or pair in self.contradicting.others or contradict(rows[a]["text"], rows[b]["text"]):
                yield a, b


def _stems(said: TopicStatement) -> frozenset[str]:
    return said.words | said.relations


def _words(said: TopicStatement) -> str:
    """Return the words that two statements may share; a relation counts as one word."""
    return " ".join(sorted({*said.words, *(r.replace(" ", "") for r in said.relations)}))


# What held before: memories that have ended, stated as history where the statement is that came after them.
#
# These are memories that lost to another one because it states something newer, and those that ended in the world. They stay retired;
# their statements are shown with the day of their end. ``resolve_conflicts`` decides which memory loses.

_COLUMNS: Final = (
    "id",
    "kind",
    *ALIKE,
    "state",
    "attributes",
    "valid_from",
    "recorded_at",
    "valid_to",
    "invalidated_at",
    "text",
)
_FRAME: Final = ("kind", *ALIKE)


@dataclass(frozen=True, slots=True)
class FormerStates:
    """Rows that no longer hold, each with ``began``, its beginning.

    ``lost_to`` has them by the memory to which they lost, or by one to which that memory lost. ``ended`` has by kind, audience and
    subject the rows that have ended, with what they state.
    """

    lost_to: Mapping[str, Sequence[Fields]] = field(default_factory=dict)
    ended: Mapping[tuple[object, ...], Sequence[tuple[Fields, TopicStatement]]] = field(default_factory=dict)

    def find(self, members: Sequence[Fields], said: TopicStatement, stems: frozenset[str]) -> list[Fields]:
        """Return what held before the ``members`` (whole rows) of a topic, about one subject, in time order."""
        found = {r["id"]: r for m in members for r in self.lost_to.get(m["id"], ()) if _alike(r, m)}
        key = (*(members[0][c] for c in _FRAME), said.subject)
        for row, own in self.ended.get(key, ()):
            if not stems.isdisjoint(own.words | own.relations):
                found[row["id"]] = row
        return sorted(found.values(), key=lambda r: (r["began"], r["id"]))


def former_states(snapshot: Snapshot) -> FormerStates:
    """Collect all former states of a snapshot.

    Time: linear in the conflicts on record and in the rows that have ended, each of which is parsed once.
    """
    conflicts = snapshot.table("conflicts")
    decided = pc.and_(pc.equal(conflicts["table_name"], "memories"), pc.equal(conflicts["resolution"], "invalidated"))
    sides = conflicts.filter(decided).select(["winner_id", "loser_id"]).drop_null()
    winners = dict(zip(sides["loser_id"].to_pylist(), sides["winner_id"].to_pylist(), strict=True))
    over = _over(snapshot)
    lost_to: defaultdict[str, list[Fields]] = defaultdict(list)
    ended: defaultdict[tuple[object, ...], list[tuple[Fields, TopicStatement]]] = defaultdict(list)
    for row in over.values():
        said = topic_statement(row["text"])
        if said is None or is_held_back(row["text"], row["attributes"]):
            continue
        if row["invalidated_at"] is None:
            ended[(*(row[c] for c in _FRAME), said.subject)].append((row, said))
        elif row["id"] in winners:
            lost_to[_last(row["id"], winners, over)].append(row)
    return FormerStates(lost_to, ended)


def _over(snapshot: Snapshot) -> dict[str, Fields]:
    """Return rows whose end is known and past, that began before it and are neither merged nor hidden."""
    table = snapshot.table("memories")
    now = pa.scalar(snapshot.taken_at, table["valid_to"].type)
    past = pc.fill_null(pc.less_equal(table["valid_to"], now), False)
    past = pc.and_(past, pc.and_(pc.equal(table["state"], "active"), pc.not_equal(table["kind"], SUMMARY)))
    table = table.filter(pc.and_(past, pc.is_in(table["stage"], value_set=pa.array(STAGES))))
    table = table.append_column("text", version_texts(snapshot, table["current_version_id"]))
    rows = ({**r, "began": r["valid_from"] or r["recorded_at"]} for r in table.select(list(_COLUMNS)).to_pylist())
    return {r["id"]: r for r in rows if r["began"] < r["valid_to"]}


def _last(loser: str, winners: Mapping[str, str], over: Mapping[str, Fields]) -> str:
    """Return the last winner in the chain of rows that won over a row; a cycle ends where it would close."""
    seen = {loser}
    winner = winners[loser]
    while winner in over and winner in winners and winner not in seen:
        seen.add(winner)
        winner = winners[winner]
    return winner


def _alike(one: Fields, other: Fields) -> bool:
    return all(one[c] == other[c] for c in ALIKE)


# The text of a topic memory: a heading, and dated statements in their own words, what holds now before what was over.
#
#     About Niamh: badminton, handball.
#     2026-10-17: Niamh does handball now, no more badminton.
#     2026-11-06: Niamh won something in handball. (also 2026-11-09)
#     2026-10-01: Niamh does badminton. (until 2026-10-17)
#
# Which memories go together belongs to ``topic_groups``, what becomes of them to ``topic_memories``.

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
    """Statement ``said`` of memories ``ids`` on a ``day`` (ISO), and with the same words on the days ``also``.

    ``until`` is the day since which it no longer holds, or empty.
    """

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
    """Lines of a topic in the order in which they are written, under its heading."""

    heading: str
    lines: tuple[TopicLine, ...]

    def __str__(self) -> str:
        return "\n".join([self.heading, *map(str, self.lines)])


def render_topic(subject: str, matter: Sequence[str], lines: Iterable[TopicLine]) -> TopicText:
    """Render lines in any order as the text; a line that repeats another is written once, with both days.

    Lines since the last change come first, then those before it, each in time order; without a change there is one order. Time: the
    square of the number of lines, which is small.
    """
    ordered = sorted(lines, key=lambda line: (line.day, line.ids))
    told = _without_repeats(ordered)
    change = max((line.until for line in told), default="")
    lasting = [line for line in told if not line.until]
    now = [line for line in lasting if line.day >= change] or lasting
    return TopicText(f"About {subject}: {', '.join(matter)}.", (*now, *(line for line in told if line not in now)))


def read_topic(text: str, statements: Sequence[Sequence[str]]) -> TopicText | None:
    """Parse a topic memory's text and the ids of its lines; return None if the text was changed since it was written."""
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
    """Return the lines, except those whose sentences all occur in other lines that ended on the same day."""
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
"""Sentence: the position of its line, its position there, and its clauses."""


def _clauses(sentence: str) -> tuple[str, ...]:
    found = [c for part in _CLAUSE.split(sentence) if (c := normalise_name(part))]
    while len(found) > 1 and found[0] in _LEAD_INS:
        del found[0]
    while len(found) > 1 and found[-1] in _LEAD_INS:
        del found[-1]
    return tuple(found)


def _holds(whole: _Spoken, part: _Spoken) -> bool:
    """Return whether one sentence contains what another states.

    It is equal and comes first, or it continues the other with "so", "and" or "which".
    """
    mine, theirs = whole[3], part[3]
    if not theirs or whole[:2] == part[:2]:
        return False
    if mine == theirs:
        return whole[:2] < part[:2]
    more = mine[len(theirs) :]
    return bool(more) and mine[: len(theirs)] == theirs and more[0].split()[0] in _GOES_ON


OPERATION: Final = "topic_memories"

_NAMED: Final = 3  # words of the heading's matter
_QUOTED: Final = 200  # characters
_SHOWN: Final = 10
_HEADING: Final = 16  # tokens
_OF_CAP: Final = 0.8  # of what a plan may retire
_RIVALS: Final = 10  # groups looked at for each topic that a night may propose, those with the latest statements first
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


_MIN_STATEMENTS: Final = 3  # as many as a summary of consolidate_clusters needs
_MAX_TOKENS: Final = 300  # of one topic memory, as of a summary
_MAX_TOPICS: Final = 100  # a night, as far as the cap of what a plan may retire reaches
_COOLDOWN_DAYS: Final = 7  # until a topic memory may take up new statements
_MATTER_DEVIATIONS: Final = 4.0
"""Standard deviations above the embedding model's cosine of unrelated texts that every two statements lie at least. Fewer than for a
summary, because the subject and half of the words of content agree as well (``docs/quality.md`` has measurements)."""


@dataclass(frozen=True, slots=True)
class _WrittenTopic:
    """Topic with its text, and the rows that it states as history without retiring them, because they are retired already."""

    topic: Topic
    text: TopicText
    former: tuple[Fields, ...]


def topic_memories(inputs: Inputs) -> Proposal:
    """Propose one memory for what was stated about a subject and matter over time: dated, cited statements with history."""
    settings, snapshot = inputs.settings, inputs.snapshot
    numbers: dict[str, int | float] = {}
    pool, said = _stating(candidates(snapshot, settings, numbers, topics_from=_COOLDOWN_DAYS), numbers)
    floor = floor_above(inputs, _MATTER_DEVIATIONS)
    numbers["cosine of two statements"] = round(floor, 4)
    clash = contradicting(snapshot, settings)
    room = _MAX_TOKENS - _HEADING
    unfit = _Unfit(pool, numbers)
    apart = rejected(snapshot, OPERATION)
    most = _RIVALS * _MAX_TOPICS
    search = TopicSearch(pool, said, floor, _MIN_STATEMENTS, room, clash, apart, unfit, most)
    former = former_states(snapshot)
    told = [_written_topic(pool, said, t, clash, former) for t in search.topics()]
    focus = in_focus(pool, inputs.focus)
    told = [t for t in told if focus is None or focus[list(t.topic.places)].any()]
    numbers["topics found"] = len(told)
    taken = _within(told, pool, settings.blast_radius_share, settings.blast_radius_rows, numbers)
    summaries = [_summary(pool, said, t, numbers) for t in taken]
    items = _items(inputs, pool, [(t, s) for t, s in zip(taken, summaries, strict=True) if s is not None])
    kept = [s for s in summaries if s is not None]
    numbers |= {
        "topics": len(kept),
        "statements in topics": sum(len(s.places) for s in kept),
        "former states told": sum(len(t.former) for t, s in zip(taken, summaries, strict=True) if s is not None),
        "tokens before": sum(s.before for s in kept),
        "tokens after": sum(s.after for s in kept),
        "items": len(items),
    }
    return Proposal(tuple(items), Report(OPERATION, _headline(numbers), numbers, (), _table(kept)))


def _stating(pool: Pool, numbers: dict[str, int | float]) -> tuple[Pool, list[TopicStatement]]:
    """Return the memories that state something about someone, and topic memories, with their statements.

    If a statement opens with a name that is the subject of other statements, it is about that name, whatever its relation to the speaker.
    """
    said: list[TopicStatement] = []
    places: list[int] = []
    left = Counter[str]()
    rows = pool.table.select(["text", "author", "subject", "attributes"]).to_pylist()
    for k, (row, found) in enumerate(zip(rows, topic_statements(pool.table["text"]), strict=True)):
        if pool.summary[k]:
            found = _of_topic(row)
        elif found is not None and not _is_of_somebody(found, row):
            left["of nobody that is named"] += 1
            continue
        if found is None:
            left["without a statement"] += 1
        else:
            said.append(found)
            places.append(k)
    numbers |= {name: left[name] for name in _LEFT_OUT}
    numbers["statements"] = len(places)
    stating = pool.take(np.array(places, np.int64))
    known = {(int(b), s.subject) for b, s in zip(stating.block, said, strict=True)}
    return stating, [
        s.about(s.lead) if s.lead and (int(b), s.lead) in known else s for b, s in zip(stating.block, said, strict=True)
    ]


_LEFT_OUT: Final = ("without a statement", "of nobody that is named")


def _is_of_somebody(said: TopicStatement, row: Fields) -> bool:
    """Return whether it is known whom a statement is about; the "I" of a program does not show whom it serves."""
    own = said.subject.partition(":")[0] == SELF
    return bool(said.subject or row["subject"]) and not (own and row["author"].casefold() in PROGRAMS)


@dataclass(slots=True)
class _Unfit:
    """Test for members of groups that cannot be in a topic tonight.

    These are memories that screening holds back, and those with a date to be written out, which would mean another day in a topic.
    """

    pool: Pool
    numbers: dict[str, int | float]

    def __call__(self, place: int) -> bool:
        (row,) = self.pool.rows((place,), ("text", "attributes"))
        why = ""
        if self.pool.summary[place]:
            return False
        if absolutize(row["text"], _instant(int(self.pool.when[place]))).rewrites:
            why = "with a date to be written out"
        elif is_held_back(row["text"], row["attributes"]):
            why = "held back by screening"
        if why:
            self.numbers[why] = self.numbers.get(why, 0) + 1
        return bool(why)


def _of_topic(row: Fields) -> TopicStatement | None:
    """Return what a topic memory is about, or None if its text was changed since it was written."""
    kept = attributes(row["attributes"])
    mark: Any = kept.get(TOPIC)
    if not isinstance(mark, dict) or _lines_of(row) is None:
        return None
    return TopicStatement(str(mark.get("subject", "")), frozenset(map(str, mark.get("stems", ()))))


def _lines_of(row: Fields) -> TopicText | None:
    statements: Any = attributes(row["attributes"]).get("statements")
    return read_topic(row["text"], statements) if isinstance(statements, list) else None


def _written_topic(
    pool: Pool,
    said: Sequence[TopicStatement],
    topic: Topic,
    clash: Contradicting,
    former: FormerStates,
) -> _WrittenTopic:
    """Write the text of a topic, with as much history as fits."""
    rows = pool.rows(topic.places)
    days = [_instant(int(pool.when[k])).date().isoformat() for k in topic.places]
    lines: list[TopicLine] = []
    for n, row in enumerate(rows):
        if pool.summary[topic.places[n]] and (earlier := _lines_of(row)) is not None:
            lines += earlier.lines
            continue
        ends = [
            days[m]
            for m, other in enumerate(rows)
            if days[m] > days[n] and (min(row["id"], other["id"]), max(row["id"], other["id"])) in clash.replaces
        ]
        lines.append(TopicLine(days[n], " ".join(row["text"].split()), (row["id"],), until=min(ends, default="")))
    subject, matter = _subject(rows, said[topic.places[0]]), _matter(topic.stems, rows)
    known = {id_ for line in lines for id_ in line.ids}
    text, told = render_topic(subject, matter, lines), list[Fields]()
    for row in former.find(rows, said[topic.places[0]], frozenset(topic.stems)):
        if row["id"] in known:
            continue
        day, end = (row[c].astimezone(UTC).date().isoformat() for c in ("began", "valid_to"))
        more = [*lines, TopicLine(day, " ".join(row["text"].split()), (row["id"],), until=end)]
        longer = render_topic(subject, matter, more)
        if count(str(longer)) <= _MAX_TOKENS:
            lines, text = more, longer
            told.append(row)
    return _WrittenTopic(topic, text, tuple(told))


def _subject(rows: Sequence[Fields], said: TopicStatement) -> str:
    """Return the name of the topic's subject for the heading, as the statements write it."""
    speaker = rows[0]["subject"] or rows[0]["author"] or "the speaker"
    if said.subject in ("", SELF):
        return speaker
    relative = said.subject.partition(": ")[2]
    if relative:
        return f"{relative} of {speaker}"
    written = Counter(w for row in rows for w in _WORD.findall(row["text"]) if w[0].isupper())
    return " ".join(_as_written(part, written) for part in said.subject.split())


def _as_written(part: str, written: Mapping[str, int]) -> str:
    return max((w for w in sorted(written) if w.casefold() == part), key=lambda w: written[w], default=part)


def _matter(stems: Sequence[str], rows: Sequence[Fields]) -> list[str]:
    """Return the words of the statements for the commonest stems, in their most frequent spelling; relations as they are."""
    written: dict[str, Counter[str]] = {}
    for row in rows:
        for word in _WORD.findall(row["text"]):
            written.setdefault(stem(word.casefold()), Counter())[word] += 1
    found = [
        max(sorted(written[s]), key=lambda w: written[s][w]) if s in written else RELATIONS.get(s, s) for s in stems
    ]
    phrases = {_plain(w) for name in found if " " in name for w in name.split()}
    return list(dict.fromkeys(name for name in found if _plain(name) not in phrases))[:_NAMED]


def _plain(word: str) -> str:
    return fold(word).replace("ou", "o")  # as relations are spelt


def _within(
    told: Sequence[_WrittenTopic],
    pool: Pool,
    share: float,
    rows: int,
    numbers: dict[str, int | float],
) -> list[_WrittenTopic]:
    """Return as many topics as a plan may retire and ``_MAX_TOPICS`` allow, those with the most statements first."""
    left = int(_OF_CAP * max(share * numbers["live memories"], rows))
    found: list[_WrittenTopic] = []
    for one in sorted(told, key=lambda t: (-len(t.topic.places), t.topic.places)):
        if len(found) < _MAX_TOPICS and (len(one.topic.places) <= left or not found):
            found.append(one)
            left -= len(one.topic.places)
    numbers["topics left for another night"] = len(told) - len(found)
    return found


def _summary(
    pool: Pool, said: Sequence[TopicStatement], told: _WrittenTopic, numbers: dict[str, int | float]
) -> FoundSummary | None:
    """Return the summary of a topic, or None if its text would leave out a specific or is too long."""
    places, text = told.topic.places, str(told.text)
    texts = [row["text"] for row in pool.rows(places, ("text",))]
    terms = frozenset[str]().union(*(specifics(t).terms() for t in texts))
    if unsaid(terms, [text]):
        numbers["topics that would lose a specific"] = numbers.get("topics that would lose a specific", 0) + 1
        return None
    ids = tuple(row["id"] for row in pool.rows(places, ("id",)))
    written = SummaryText(text, ids, (), statements=tuple(line.ids for line in told.text.lines))
    mark = {TOPIC: {"subject": said[places[0]].subject, "stems": list(told.topic.stems)}}
    return FoundSummary(places, (), written, int(pool.tokens[list(places)].sum()), count(text), mark)


def _items(inputs: Inputs, pool: Pool, found: Sequence[tuple[_WrittenTopic, FoundSummary]]) -> list[Item]:
    """Return items that require the former states to remain retired as well."""
    items = summary_items(inputs, OPERATION, pool, [s for _, s in found])
    rows = rows_by_id(inputs.snapshot, "memories", [r["id"] for told, _ in found for r in told.former], _STAYS)
    guards = [[Guard.on("memories", r["id"], rows[r["id"]], _STAYS) for r in told.former] for told, _ in found]
    return [
        replace(item, mutation=replace(item.mutation, guards=(*item.mutation.guards, *more)))
        for item, more in zip(items, guards, strict=True)
    ]


_STAYS: Final = ("invalidated_at", "state", "valid_to")


def _instant(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(microseconds))


def _table(found: Sequence[FoundSummary]) -> tuple[Mapping[str, object], ...]:
    return tuple(
        {
            "statements": len(s.places),
            "tokens before": s.before,
            "tokens after": s.after,
            "text": quote(s.written.text, _QUOTED),
        }
        for s in found[:_SHOWN]
    )


def _headline(numbers: Mapping[str, int | float]) -> str:
    return (
        f"{numbers['topics']:,} topic memories would stand for {numbers['statements in topics']:,} of "
        f"{numbers['live memories']:,} live memories, with {numbers['tokens after']:,} tokens for {numbers['tokens before']:,}."
    )
