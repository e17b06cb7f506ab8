"""``topic_memories``: what memories state of one subject and matter on several days becomes one memory of dated statements.

Which statements go together belongs to ``topic_groups``, how they are told to ``topic_text``. Nothing is reworded: each statement keeps
its own words, its day and its source. What another one replaced is told as history, with the day on which it was over, behind what holds
now; two that contradict each other, and that nothing orders in time, stay apart.

Cost: reading each memory once, some 100 µs, that of ``topic_groups``, and of finding what contradicts.

A topic memory replaces its members in recall, so it is a question (``slowwave.config.decides_alone``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, Field

from slowwave.mutations.cells import Guard
from slowwave.mutations.rows import rows_by_id
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.coverage import MEMORIES
from slowwave.operations.planners.consolidation_apart import Contradicting, contradicting, rejected
from slowwave.operations.planners.consolidation_floor import floor_above
from slowwave.operations.planners.consolidation_items import FoundSummary, summary_items
from slowwave.operations.planners.consolidation_pool import TOPIC, Fields, Pool, candidates, in_focus
from slowwave.operations.planners.summary_text import SummaryText
from slowwave.operations.planners.topic_groups import Topic, TopicSearch
from slowwave.operations.planners.topic_history import FormerStates, former_states
from slowwave.operations.planners.topic_text import TopicLine, TopicText, read_topic, render_topic
from slowwave.plans.items import Item
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.reports.model import Report
from slowwave.rows.memories import attributes
from slowwave.rows.screening_exemptions import is_held_back
from slowwave.texts.dates import absolutize
from slowwave.texts.grounding import unsaid
from slowwave.texts.present_statements import PROGRAMS
from slowwave.texts.quotation import quote
from slowwave.texts.specifics import specifics
from slowwave.texts.stated_relations import SELF
from slowwave.texts.statements import stem
from slowwave.texts.token_count import count
from slowwave.texts.tokens import fold
from slowwave.texts.topic_statements import RELATIONS, TopicStatement, topic_statements

OPERATION: Final = "topic_memories"

_NAMED: Final = 3  # words of the heading's matter
_QUOTED: Final = 200  # characters
_SHOWN: Final = 10
_HEADING: Final = 16  # tokens
_OF_CAP: Final = 0.8  # of what a plan may retire
_RIVALS: Final = 10  # groups looked at for each topic that a night may propose, those with the latest statements first
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class TopicOptions(BaseModel):
    """What may be set of it."""

    min_statements: int = Field(default=3, ge=2, le=20, description="Statements that a topic needs.")
    matter_deviations: float = Field(
        default=4.0,
        ge=1,
        le=20,
        description="Standard deviations above the embedding model's cosine of unrelated texts that every two statements lie at least.",
    )
    max_tokens: int = Field(default=300, ge=50, le=2_000, description="Tokens of a topic memory.")
    max_topics_per_run: int = Field(
        default=100, ge=1, le=1_000, description="Topics a night, as far as the cap of what a plan may retire reaches."
    )
    cooldown_days: int = Field(
        default=7, ge=1, le=90, description="Days until a topic memory may take up new statements."
    )


@dataclass(frozen=True, slots=True)
class _WrittenTopic:
    """A topic with its text, and the rows that it tells as history without retiring them, which they are."""

    topic: Topic
    text: TopicText
    former: tuple[Fields, ...]


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    after=("consolidate_clusters", "absolutize_dates"),
    switch=False,
    permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
    options=TopicOptions,
    compares=MEMORIES,
)
def topic_memories(inputs: Inputs) -> Proposal:
    """What was stated of one subject and matter over time becomes one memory: dated statements, each cited, with what was before.

    Statements keep their words. What a newer one replaced is told as history with the day of its end; what contradicts another without
    an order in time stays apart. Questions, greetings, thanks and offers make no topic.
    """
    settings, snapshot = inputs.settings, inputs.snapshot
    options = settings.options(OPERATION, TopicOptions)
    numbers: dict[str, int | float] = {}
    pool, said = _stating(candidates(snapshot, settings, numbers, topics_from=options.cooldown_days), numbers)
    floor = floor_above(inputs, options.matter_deviations)
    numbers["cosine of two statements"] = round(floor, 4)
    clash = contradicting(snapshot, settings)
    room = options.max_tokens - _HEADING
    unfit = _Unfit(pool, numbers)
    apart = rejected(snapshot, OPERATION)
    most = _RIVALS * options.max_topics_per_run
    search = TopicSearch(pool, said, floor, options.min_statements, room, clash, apart, unfit, most)
    former = former_states(snapshot)
    told = [_written_topic(pool, said, t, clash, former, options) for t in search.topics()]
    focus = in_focus(pool, inputs.focus)
    told = [t for t in told if focus is None or focus[list(t.topic.places)].any()]
    numbers["topics found"] = len(told)
    taken = _within(told, pool, settings.blast_radius_share, settings.blast_radius_rows, options, numbers)
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
    """The memories that state something of somebody, and topic memories, with what they say. What opens with a name of which others speak
    by itself is of that, whatever else who says it has to do with it."""
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
    """Whether it is known of whom a statement speaks: a program's "I" tells nothing of whom it serves."""
    own = said.subject.partition(":")[0] == SELF
    return bool(said.subject or row["subject"]) and not (own and row["author"].casefold() in PROGRAMS)


@dataclass(slots=True)
class _Unfit:
    """Members of groups that are in no topic tonight: what is held back by screening, and what has a date to be written out, which would be
    another day in a topic."""

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
    """What a topic memory is about; None where it reads otherwise than it was written."""
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
    options: TopicOptions,
) -> _WrittenTopic:
    """The text of a topic, with as much history as there is room for."""
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
    for row in former.of(rows, said[topic.places[0]], frozenset(topic.stems)):
        if row["id"] in known:
            continue
        day, end = (row[c].astimezone(UTC).date().isoformat() for c in ("began", "valid_to"))
        more = [*lines, TopicLine(day, " ".join(row["text"].split()), (row["id"],), until=end)]
        longer = render_topic(subject, matter, more)
        if count(str(longer)) <= options.max_tokens:
            lines, text = more, longer
            told.append(row)
    return _WrittenTopic(topic, text, tuple(told))


def _subject(rows: Sequence[Fields], said: TopicStatement) -> str:
    """How a heading names whom a topic is about, as the statements write it."""
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
    """Words of the statements for the commonest stems, as they are written most often; relations as they are."""
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
    options: TopicOptions,
    numbers: dict[str, int | float],
) -> list[_WrittenTopic]:
    """As many as a plan may retire and the options say, those with most statements first."""
    left = int(_OF_CAP * max(share * numbers["live memories"], rows))
    found: list[_WrittenTopic] = []
    for one in sorted(told, key=lambda t: (-len(t.topic.places), t.topic.places)):
        if len(found) < options.max_topics_per_run and (len(one.topic.places) <= left or not found):
            found.append(one)
            left -= len(one.topic.places)
    numbers["topics left for another night"] = len(told) - len(found)
    return found


def _summary(
    pool: Pool, said: Sequence[TopicStatement], told: _WrittenTopic, numbers: dict[str, int | float]
) -> FoundSummary | None:
    """The summary of a topic; None where its text would leave out a specific, or is too long."""
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
    """Items that rest on the former states being retired as well."""
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
