"""Conflicts between what memories state of one relation, and with memories that say what is over."""

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

from slowwave.operations.conflicts.memories import EndedStatement, OverValue
from slowwave.operations.conflicts.rows import (
    CROWD,
    Found,
    Ints,
    StatementRows,
    Tally,
    alike,
    codes,
    conflicts_of,
    pack,
)
from slowwave.plans.questions import Conflict, relation_pattern
from slowwave.snapshots.memories import active_memories, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text import states
from slowwave.text import states as descriptions
from slowwave.text.clauses import stems
from slowwave.text.keys import keys
from slowwave.text.names import known_names
from slowwave.text.prefilter import matching
from slowwave.text.relations import SELF, TRIGGER, StatedRelation, stated_relations
from slowwave.text.sentences import sentences
from slowwave.text.states import TRIGGER_ENDED_VALUES, EndedValue, ended_sentence, ended_values, ends
from slowwave.text.subjects import PROGRAMS, is_own, persons, says_later
from slowwave.text.subjects import subject as subject_of
from slowwave.text.tokens import fold

# Conflicts between what memories state about one relation: "Mara lives in Oslo", "Mara moved to Bergen".
#
# Memories are compared by their subject and relation, not by their vectors, so across kinds and authors of one scope. A memory that says
# that something has changed replaces those before it; otherwise both may be about different things, and a person decides. If a longer
# memory would lose what else it states, its sentence is marked (``slowwave.operations.conflicts.memories``), or a person decides.

LONGEST: Final = 500
"""Characters of a memory up to which it is parsed."""

_MOST: Final = 3
"""Objects of one subject and relation from which the relation takes many, whatever its words say."""


_TRIGGERS: Final = (TRIGGER, descriptions.TRIGGER_DESCRIPTIONS, states.TRIGGER)

_FIGURE: Final = re.compile(r"[\d.,:/-]+")

_Group = tuple[str, str, str, str]
"""Scope, author where the speaker is the subject, subject, relation."""


class _Saying(NamedTuple):
    statement: int
    object: str
    change: bool


@dataclass(frozen=True, slots=True, eq=False)
class _StatedRelations:
    """Statements of memories by subject and relation.

    ``every`` has all of them, ``groups`` those of subjects and relations with several, in order; ``count`` is the number of stated
    relations.
    """

    rows: StatementRows
    groups: Mapping[_Group, Sequence[_Saying]]
    every: Mapping[_Group, Sequence[_Saying]]
    count: int


class DoubtedStatement(NamedTuple):
    """Earlier object of a relation for which a later memory states another object without a word of change.

    ``seen`` is the conflict that a person decides, ``value`` the earlier object, and ``sentence`` the sentence that states it (None if
    there are several).
    """

    seen: str
    value: OverValue
    sentence: EndedStatement | None


@dataclass(frozen=True, slots=True, eq=False)
class Replacements:
    """Conflicts between stated relations, and what they replace.

    ``longer`` are those conflicts in which a longer memory would lose a sentence to a memory that says that something has changed;
    ``sentences`` are these sentences. ``values`` are the replaced objects, ``doubted`` those that may be replaced, and ``relations`` is
    the number of stated relations.
    """

    conflicts: Sequence[Conflict]
    longer: AbstractSet[tuple[str, str]]
    sentences: Sequence[EndedStatement]
    values: Sequence[OverValue]
    doubted: Sequence[DoubtedStatement]
    relations: int


def stated_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = True) -> list[Conflict]:
    """Find conflicts between stated relations of active memories in one scope.

    With ``longer``, also those in which a longer memory would lose a sentence to one that says that something has changed. Needs the
    tables memories and memory_versions. See ``replacements``.
    """
    found = replacements(snapshot)
    tally.add("stated relations", found.relations)
    return [c for c in found.conflicts if longer or (c.a, c.b) not in found.longer]


def replacements(snapshot: Snapshot) -> Replacements:
    """Compare what active memories state about the same relation.

    Each text is parsed once, in about 30 µs; for one subject and relation every earlier object is compared with the last one. The last
    answer is cached as long as its tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("replacements", given, (), lambda: _find(snapshot))


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
    return EndedStatement.from_statements(rows, earlier, later, old, new, when, pattern=pattern, holds=holds)


def _ids(rows: StatementRows, pair: Sequence[int]) -> tuple[str, str]:
    a, b = sorted(rows.table["id"].take(pa.array(rows.first[list(pair)])).to_pylist())
    return a, b


def _ended_before(snapshot: Snapshot, read: _StatedRelations) -> Iterator[OverValue]:
    """Yield the objects of memories that lost a conflict in an earlier night, each with the first object stated since."""
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
    """Return the memory that makes a statement, and its sentence about a subject's relation; None if there is not exactly one."""
    row = int(rows.first[statement])
    sentence = _stating(str(rows.table["text"][row]), about)
    return (str(rows.table["id"][row]), sentence) if sentence else None


def _stating(text: str, about: tuple[str, str]) -> str | None:
    """Return the sentence that states a relation of a subject, or None if there is not exactly one."""
    found = [s for s in sentences(text) if any(r[:2] == about for r in _stated(s))]
    return found[0] if len(found) == 1 else None


def _stated(text: str) -> tuple[StatedRelation, ...]:
    """Parse the relations or descriptions in a text; if there are none, the states that it gives for something."""
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
    """Return the rows whose ``text`` is short and has a word of a relation or description."""
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    telling = (matching(memories["text"], t.pattern) for t in _TRIGGERS)
    return memories.filter(pc.and_(short, reduce(pc.or_, telling))).combine_chunks()


def _groups(rows: StatementRows) -> dict[_Group, list[_Saying]]:
    """Group the statements about each subject and relation, in the order of their first rows.

    Groups of more than ``CROWD`` statements are left out.
    """
    groups: defaultdict[_Group, list[_Saying]] = defaultdict(list)
    for statement, group, stated in _sayings(rows.table.take(pa.array(rows.first))):
        groups[group].append(_Saying(statement, stated.object, stated.change))
    return {group: sayings for group, sayings in groups.items() if len(sayings) <= CROWD}


def _sayings(table: pa.Table) -> Iterator[tuple[int, _Group, StatedRelation]]:
    """Yield what the rows of a table state, with their positions, except what a program states about itself."""
    columns = [pc.fill_null(table[c], "").to_pylist() for c in ("text", "scope", "author")]
    for row, (text, scope, author) in enumerate(zip(*columns, strict=True)):
        for stated in _stated(text):
            own = stated.subject.partition(":")[0] == SELF
            if not (own and author.casefold() in PROGRAMS):
                yield row, (scope, author if own else "", stated.subject, stated.relation), stated


def _others(relation: str, sayings: Sequence[_Saying], rows: StatementRows) -> tuple[list[_Saying], bool]:
    """Return the statements that differ from the last one and overlap it in time, and whether the relation takes many objects."""
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
    """Return whether both objects are figures or dates, which one digit makes different."""
    return all(_FIGURE.fullmatch(value) is not None for value in (one, other))


def is_comparable(relation: str, one: str, other: str) -> bool:
    """Return whether two objects exclude each other; a town and its country do not."""
    if relation != "lives in" and not states.is_state(relation):
        return True
    lands = known_names().lands
    return (one in lands) == (other in lands) and (relation == "lives in" or states.rivals(relation, one, other))


# Conflicts between a memory that says what has ended and earlier ones that state just that: "I drive a Skoda Fabia", "I sold the Skoda
# Fabia and bought a Renault Zoe".
#
# They are found by the words of the value, not by vectors: across kinds, within one scope, and of one author if the speaker is the owner.
# The later one replaces the earlier ones. ``slowwave.text.states`` parses what a text ends or states.

_WORD: Final = re.compile(r"\w+")


LONGEST_ENDINGS: Final = 2_000
"""Characters of a memory up to which it is parsed."""


class Ending(NamedTuple):
    """Two statements by number: the later one says that a value has ended which the earlier one names."""

    earlier: int
    later: int
    value: EndedValue


@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """Conflicts found from ended values, ended sentences of longer memories, and the ended values."""

    conflicts: Sequence[Conflict]
    sentences: Sequence[EndedStatement]
    values: Sequence[OverValue]


def ending_conflicts(snapshot: Snapshot, tally: Tally) -> Sequence[Conflict]:
    """Find conflicts between active memories of which the earlier one states only what has ended.

    Needs the tables memories and memory_versions. See ``endings``.
    """
    found = endings(snapshot)
    tally.add("values that are over", len(found.values))
    return found.conflicts


def endings(snapshot: Snapshot) -> Endings:
    """Find what active memories declare as ended, and the earlier memories that state it.

    Texts with a word for an end are parsed, in about 50 µs each; if one says what has ended, the words of all texts are scanned once. A
    value that more than ``CROWD`` memories name is left out. The last answer is cached as long as its tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("endings", given, (), lambda: _find_endings(snapshot))


def _find_endings(snapshot: Snapshot) -> Endings:
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST_ENDINGS)).combine_chunks()
    over = _over(memories["text"])
    if not over:
        return Endings([], (), ())
    rows, texts, values, named = _named(memories, over)
    when = rows.last()
    found: Found = []
    within: list[EndedStatement] = []
    for earlier, later, value in named:
        sentence = ended_sentence(texts[earlier], value)
        if sentence is None or not _names_subject(sentence, value):
            continue
        if ends(texts[earlier], value):
            pair = sorted((earlier, later))
            found.append((pair[0], pair[1], "object", {"rule": "over", "replaces": True}))
        elif one := EndedStatement.from_statements(
            rows, earlier, later, sentence, value.sentence, int(when[later]), pattern="over"
        ):
            within.append(one)
    return Endings(conflicts_of(rows, "memories", found), within, values)


def _names_subject(sentence: str, value: EndedValue) -> bool:
    """Return whether a sentence has all words of the subject that has lost a value, unless that is a person or the value itself.

    "The export worker is no longer hosted in Oslo" ends no "The region of the mail relay is Oslo".
    """
    ending = subject_of(value.sentence)
    words = [w for w in ending.words if w not in value.words] if ending is not None else []
    if is_own(value.sentence) or persons(value.sentence, value.words):
        return True
    return stems(" ".join(words)) <= stems(sentence)


def _over(texts: pa.ChunkedArray) -> dict[str, tuple[EndedValue, ...]]:
    """Map each text that declares values as ended to these values."""
    telling = pc.unique(texts.filter(matching(texts, TRIGGER_ENDED_VALUES.pattern))).to_pylist()
    return {text: values for text in telling if (values := ended_values(text))}


def _named(
    memories: pa.Table, said: Mapping[str, Sequence[EndedValue]]
) -> tuple[StatementRows, Sequence[str], Sequence[OverValue], Sequence[Ending]]:
    """Return statements with their texts, the ended values, and the earlier statements that name them.

    An earlier statement must have the same author and scope and overlap in time.
    """
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    table = rows.table.take(pa.array(rows.first))
    texts = pc.fill_null(table["text"], "").to_pylist()
    over = {k: said[text] for k, text in enumerate(texts) if text in said}
    named_in = _named_in(texts, {_last_word(value) for values in over.values() for value in values})
    groups = pack(*(codes(table[c])[0] for c in ("scope", "author"))).tolist()
    programs = [author.casefold() in PROGRAMS for author in pc.fill_null(table["author"], "").to_pylist()]
    when = rows.last()
    found = [
        ending
        for later, values in over.items()
        if not programs[later]
        for value in values
        for ending in _naming(later, value, named_in, groups, when)
    ]
    pairs = np.array([(e.earlier, e.later) for e in found], np.int64).reshape(-1, 2)
    overlap = rows.overlap(pairs[:, 0], pairs[:, 1]).tolist()
    ids = table["id"].to_pylist()
    values = [OverValue(v.words, ids[k], v.sentence) for k, some in over.items() if not programs[k] for v in some]
    return rows, texts, values, [one for one, both in zip(found, overlap, strict=True) if both]


def _last_word(value: EndedValue) -> str:
    """Return the word by which texts that may state a value are found, for example "15" for "9:15"."""
    return _WORD.findall(value.words[-1])[-1]


def _named_in(texts: Sequence[str], wanted: set[str]) -> dict[str, list[int]]:
    """Map each wanted word to the texts that contain it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        for word in wanted.intersection(_WORD.findall(fold(text))):
            found[word].append(k)
    return found


def _naming(
    later: int, value: EndedValue, named_in: Mapping[str, Sequence[int]], groups: Sequence[int], when: Ints
) -> list[Ending]:
    """Return the earlier statements by the author of ``later`` that name the ended value; none if more than ``CROWD`` do."""
    before = [k for k in named_in.get(_last_word(value), ()) if groups[k] == groups[later] and when[k] < when[later]]
    return [Ending(k, later, value) for k in before] if len(before) <= CROWD else []
