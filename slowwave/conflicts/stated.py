"""Conflicts between what memories say of one relation: "Mara lives in Oslo", "Mara moved to Bergen".

Memories are put side by side by who and what they speak of, not by their vectors, so across kinds and authors of one scope. One that says
that something has changed replaces those before it; else both may be about other things, and a person decides. What a longer memory says
besides would be lost with it: there the sentence is marked (``slowwave.conflicts.ended_statements``), or a person decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import (
    CROWD,
    Found,
    StatementRows,
    Tally,
    alike,
    codes,
    conflicts_of,
    pack,
)
from slowwave.conflicts.conflict import Conflict, relation_pattern
from slowwave.conflicts.ended_statements import EndedStatement
from slowwave.conflicts.mentions import OverValue
from slowwave.rows.memories import active_memories, version_texts
from slowwave.snapshots.last import Last
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts import descriptions, states
from slowwave.texts.keys import keys
from slowwave.texts.known_names import known_names
from slowwave.texts.prefilter import matching
from slowwave.texts.present_statements import PROGRAMS, says_later
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import SELF, TRIGGER, StatedRelation, stated_relations

LONGEST: Final = 500
"""Characters of a memory that is read."""

_MOST: Final = 3
"""Objects of one subject and relation beyond which the relation takes many, whatever it looks like."""


_TRIGGERS: Final = (TRIGGER, descriptions.TRIGGER, states.TRIGGER)

_FIGURE: Final = re.compile(r"[\d.,:/-]+")

_Group = tuple[str, str, str, str]
"""Scope, author where the speaker is the subject, subject, relation."""


class _Saying(NamedTuple):
    statement: int
    object: str
    change: bool


@dataclass(frozen=True, slots=True, eq=False)
class _StatedRelations:
    """Statements, what they say of each subject and relation, of those that have several in order, and how many relations are stated."""

    rows: StatementRows
    groups: Mapping[_Group, Sequence[_Saying]]
    every: Mapping[_Group, Sequence[_Saying]]
    count: int


class DoubtedStatement(NamedTuple):
    """What another object was stated of later, without a word of change: the ``seen`` of the conflict that a person decides, the earlier
    object, and the sentence that states it (None where there are several)."""

    seen: str
    value: OverValue
    sentence: EndedStatement | None


@dataclass(frozen=True, slots=True, eq=False)
class Replacements:
    """Conflicts of stated relations; those of them in which a longer memory would lose a ``sentence`` to one that says that something has
    changed (``longer``); these sentences; the objects that are replaced, and those that may be; and how many relations are stated."""

    conflicts: Sequence[Conflict]
    longer: AbstractSet[tuple[str, str]]
    sentences: Sequence[EndedStatement]
    values: Sequence[OverValue]
    doubted: Sequence[DoubtedStatement]
    relations: int


def stated_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = True) -> list[Conflict]:
    """Conflicts between active memories of one scope; ``longer``: also where a longer memory would lose a sentence to one that says that
    something has changed. Needs the tables memories and memory_versions. See ``replacements``.
    """
    found = replacements(snapshot)
    tally.add("stated relations", found.relations)
    return [c for c in found.conflicts if longer or (c.a, c.b) not in found.longer]


def replacements(snapshot: Snapshot) -> Replacements:
    """What active memories state of one relation against each other.

    Each text is read once, some 30 µs; of one subject and relation every earlier object meets the last one. The last answer is kept as
    long as its tables are.
    """
    return _LAST.of([snapshot.table("memories"), snapshot.table("memory_versions")], (), lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> Replacements:
    read = _read(snapshot)
    when = read.rows.last()
    found: Found = []
    within: Found = []
    ended: list[EndedStatement] = []
    values: list[OverValue] = []
    doubted: list[tuple[tuple[str, str], OverValue, EndedStatement | None]] = []
    for (_, _, subject, relation), sayings in read.groups.items():
        last, (others, many) = sayings[-1], _others(relation, sayings, read.rows)
        texts = read.rows.texts("text", np.array([s.statement for s in others], np.int64))
        for other, text in zip(others, texts, strict=True):
            evidence: dict[str, object] = {"rule": "relation", "predicate": relation}
            replaces = last.change and not many and bool(when[other.statement] < when[last.statement])
            whole = len(sentences(text)) == 1
            evidence["replaces" if replaces and whole else "doubtful"] = True
            pair = sorted((other.statement, last.statement))
            found.append((pair[0], pair[1], "object", evidence))
            about, since = (subject, relation), int(when[last.statement])
            earlier = not many and bool(when[other.statement] < since)
            noted = earlier and (not states.is_state(relation) or (replaces and states.is_named_state(relation)))
            if noted and (told := _source_of(read.rows, last.statement, about)):
                value = OverValue(tuple(other.object.split()), *told)
                if replaces:
                    values.append(value)
                else:
                    note = _ended(read.rows, other.statement, last.statement, about, since, holds=True)
                    doubted.append((_ids(read.rows, pair), value, note))
            if replaces and not whole:
                one = _ended(read.rows, other.statement, last.statement, about, since)
                ended += [one] if one else []
                within += found[-1:] if one else []
    values += _ended_before(snapshot, read)
    longer = {(c.a, c.b) for c in conflicts_of(read.rows, "memories", within)}
    conflicts = conflicts_of(read.rows, "memories", found)
    seen = {(c.a, c.b): c.seen for c in conflicts}
    open_ = [DoubtedStatement(seen[pair], value, note) for pair, value, note in doubted]
    return Replacements(conflicts, longer, ended, values, open_, read.count)


def _ended(
    rows: StatementRows, earlier: int, later: int, about: tuple[str, str], when: int, *, holds: bool = False
) -> EndedStatement | None:
    old, new = (_stating(text, about) for text in rows.texts("text", np.array([earlier, later])))
    if old is None or new is None or says_later(old):
        return None
    pattern = "another value" if holds else relation_pattern(about[1])
    return EndedStatement.of(rows, earlier, later, old, new, when, pattern=pattern, holds=holds)


def _ids(rows: StatementRows, pair: Sequence[int]) -> tuple[str, str]:
    a, b = sorted(rows.table["id"].take(pa.array(rows.first[list(pair)])).to_pylist())
    return a, b


def _ended_before(snapshot: Snapshot, read: _StatedRelations) -> Iterator[OverValue]:
    """The objects of memories that lost a conflict in an earlier night, each with the first that was stated since."""
    table = snapshot.table("memories")
    gone = pc.and_(pc.is_valid(table["invalidated_at"]), pc.is_null(table["merged_into"]))
    table = table.filter(pc.and_(gone, pc.is_valid(table["valid_to"])))
    table = table.append_column("text", version_texts(snapshot, table["current_version_id"]))
    table = _rows_of_relations(table)
    ends = pc.cast(table["valid_to"], pa.int64()).to_pylist()
    when = read.rows.last()
    for row, group, stated in _sayings(table):
        since = [s for s in read.every.get(group, ()) if when[s.statement] >= ends[row] and s.object != stated.object]
        first = min(since, key=lambda s: (when[s.statement], s.statement), default=None)
        if first is not None and (told := _source_of(read.rows, first.statement, (stated.subject, stated.relation))):
            yield OverValue(tuple(stated.object.split()), *told)


def _source_of(rows: StatementRows, statement: int, about: tuple[str, str]) -> tuple[str, str] | None:
    """The memory that makes a statement, and its sentence about a relation of a subject."""
    row = int(rows.first[statement])
    sentence = _stating(str(rows.table["text"][row]), about)
    return (str(rows.table["id"][row]), sentence) if sentence else None


def _stating(text: str, about: tuple[str, str]) -> str | None:
    """The one sentence that states a relation of a subject."""
    found = [s for s in sentences(text) if any(r[:2] == about for r in _stated(s))]
    return found[0] if len(found) == 1 else None


def _stated(text: str) -> tuple[StatedRelation, ...]:
    """The relations of a text, and what it says that something is which has none of these."""
    relations = stated_relations(text) or descriptions.descriptions(text)
    return relations or states.states(text)


def _read(snapshot: Snapshot) -> _StatedRelations:
    memories = _rows_of_relations(active_memories(snapshot))
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    groups = _groups(rows)
    when = rows.last()
    several = {
        group: sorted(sayings, key=lambda s: (when[s.statement], s.statement))
        for group, sayings in groups.items()
        if len(sayings) > 1
    }
    return _StatedRelations(rows, several, groups, sum(map(len, groups.values())))


def _rows_of_relations(memories: pa.Table) -> pa.Table:
    """The rows whose ``text`` is short and has a word of a relation or description."""
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    telling = (matching(memories["text"], t.pattern) for t in _TRIGGERS)
    return memories.filter(pc.and_(short, reduce(pc.or_, telling))).combine_chunks()


def _groups(rows: StatementRows) -> dict[_Group, list[_Saying]]:
    """What is said of each subject and relation, by whom it is said first."""
    groups: defaultdict[_Group, list[_Saying]] = defaultdict(list)
    for statement, group, stated in _sayings(rows.table.take(pa.array(rows.first))):
        groups[group].append(_Saying(statement, stated.object, stated.change))
    return {group: sayings for group, sayings in groups.items() if len(sayings) <= CROWD}


def _sayings(table: pa.Table) -> Iterator[tuple[int, _Group, StatedRelation]]:
    """What the rows of a table state, by their places; nothing of what a program says of itself."""
    columns = [pc.fill_null(table[c], "").to_pylist() for c in ("text", "scope", "author")]
    for row, (text, scope, author) in enumerate(zip(*columns, strict=True)):
        for stated in _stated(text):
            own = stated.subject.partition(":")[0] == SELF
            if not (own and author.casefold() in PROGRAMS):
                yield row, (scope, author if own else "", stated.subject, stated.relation), stated


def _others(relation: str, sayings: Sequence[_Saying], rows: StatementRows) -> tuple[list[_Saying], bool]:
    """The sayings against the last one, at one time with it; and whether the relation takes many objects."""
    last = sayings[-1]
    others = [s for s in sayings if s.statement != last.statement]
    differ = ~alike([s.object for s in others], [last.object] * len(others))
    differ |= np.array([s.object != last.object and _are_figures(s.object, last.object) for s in others], np.bool_)
    others = [
        s
        for s, apart in zip(others, differ.tolist(), strict=True)
        if apart and is_comparable(relation, s.object, last.object)
    ]
    statements = np.array([s.statement for s in others], np.int64)
    overlap = rows.overlap(statements, np.full(len(others), last.statement)).tolist()
    many = len({s.object for s in others}) >= _MOST
    return [s for s, both in zip(others, overlap, strict=True) if both], many


def _are_figures(one: str, other: str) -> bool:
    """Whether two objects are figures or dates, which a digit tells apart."""
    return all(_FIGURE.fullmatch(value) is not None for value in (one, other))


def is_comparable(relation: str, one: str, other: str) -> bool:
    """Whether two objects exclude each other: a town and its country do not."""
    if relation != "lives in" and not states.is_state(relation):
        return True
    lands = known_names().lands
    return (one in lands) == (other in lands) and (relation == "lives in" or states.rivals(relation, one, other))


_LAST: Final = Last[Replacements]()
