"""Conflicts between what memories say of one relation: "Mara lives in Oslo", "Mara moved to Bergen".

Memories are put side by side by who and what they speak of, not by their vectors, so across kinds and authors of one scope. One that says
that something has changed replaces those before it; else both may be about other things, and a person decides. What a longer memory says
besides would be lost with it: there the sentence is marked (``slowwave.conflicts.ended_statements``), or a person decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import (
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
from slowwave.conflicts.conflict import Conflict
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.keys import keys
from slowwave.texts.known_names import known_names
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import SELF, TRIGGER, stated_relations

LONGEST: Final = 500
"""Characters of a memory that is read."""

_MOST: Final = 3
"""Objects of one subject and relation beyond which the relation takes many, whatever it looks like."""

PROGRAMS: Final = frozenset(("assistant", "agent", "model", "system"))
"""Authors whose "I" is a program's."""


class _Saying(NamedTuple):
    statement: int
    object: str
    change: bool


class Replaced(NamedTuple):
    """Two statements by their numbers, the later of which says that the relation of a subject has another object now."""

    earlier: int
    later: int
    subject: str
    relation: str


@dataclass(frozen=True, slots=True, eq=False)
class StatedRelations:
    """Statements, and what they say of each subject and relation that has several."""

    rows: StatementRows
    groups: Mapping[tuple[str, str, str, str], Sequence[_Saying]]


def stated_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = True) -> list[Conflict]:
    """Conflicts between active memories of one scope; ``longer``: also where a longer memory would lose a sentence to one that says that
    something has changed. Needs the tables memories and memory_versions.

    Each text is read once, some 30 µs; of one subject and relation every earlier object meets the last one.
    """
    read = _read(snapshot, tally)
    when = read.rows.last()
    found: Found = []
    for (_, _, _, relation), sayings in read.groups.items():
        found += _between(relation, sayings, read.rows, when, longer=longer)
    return conflicts_of(read.rows, "memories", found)


def replaced_in_longer(snapshot: Snapshot) -> tuple[StatementRows, list[Replaced]]:
    """Statements of active memories, and which of them hold, beside other sentences, what a later one says has changed."""
    read = _read(snapshot, Tally())
    when = read.rows.last()
    found: list[Replaced] = []
    for (_, _, subject, relation), sayings in read.groups.items():
        last = sayings[-1]
        others, many = _others(relation, sayings, read.rows)
        texts = read.rows.texts("text", np.array([s.statement for s in others], np.int64))
        for other, text in zip(others, texts, strict=True):
            if _replaces(last, other, when, many=many) and len(sentences(text)) > 1:
                found.append(Replaced(other.statement, last.statement, subject, relation))
    return read.rows, found


def _read(snapshot: Snapshot, tally: Tally) -> StatedRelations:
    memories = active_memories(snapshot)
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    memories = memories.filter(
        pc.and_(short, pc.match_substring_regex(memories["text"], TRIGGER.pattern))
    ).combine_chunks()
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    groups = _groups(rows)
    tally.add("stated relations", sum(map(len, groups.values())))
    when = rows.last()
    several = {
        group: sorted(sayings, key=lambda s: (when[s.statement], s.statement))
        for group, sayings in groups.items()
        if len(sayings) > 1
    }
    return StatedRelations(rows, several)


def _groups(rows: StatementRows) -> dict[tuple[str, str, str, str], list[_Saying]]:
    """Scope, author where the speaker is the subject, subject, relation → what is said, by whom it is said first."""
    table = rows.table.take(pa.array(rows.first))
    columns = [pc.fill_null(table[c], "").to_pylist() for c in ("text", "scope", "author")]
    groups: defaultdict[tuple[str, str, str, str], list[_Saying]] = defaultdict(list)
    for statement, (text, scope, author) in enumerate(zip(*columns, strict=True)):
        for stated in stated_relations(text):
            own = stated.subject.partition(":")[0] == SELF
            if not (own and author.casefold() in PROGRAMS):
                group = (scope, author if own else "", stated.subject, stated.relation)
                groups[group].append(_Saying(statement, stated.object, stated.change))
    return {group: sayings for group, sayings in groups.items() if len(sayings) <= CROWD}


def _others(relation: str, sayings: Sequence[_Saying], rows: StatementRows) -> tuple[list[_Saying], bool]:
    """The sayings against the last one, at one time with it; and whether the relation takes many objects."""
    last = sayings[-1]
    others = [s for s in sayings if s.statement != last.statement]
    differ = ~alike([s.object for s in others], [last.object] * len(others))
    others = [
        s
        for s, apart in zip(others, differ.tolist(), strict=True)
        if apart and _comparable(relation, s.object, last.object)
    ]
    statements = np.array([s.statement for s in others], np.int64)
    overlap = rows.overlap(statements, np.full(len(others), last.statement)).tolist()
    many = len({s.object for s in others}) >= _MOST
    return [s for s, both in zip(others, overlap, strict=True) if both], many


def _replaces(last: _Saying, other: _Saying, when: Ints, *, many: bool) -> bool:
    return last.change and not many and bool(when[other.statement] < when[last.statement])


def _between(relation: str, sayings: Sequence[_Saying], rows: StatementRows, when: Ints, *, longer: bool) -> Found:
    """What was said before the last saying against it."""
    last = sayings[-1]
    others, many = _others(relation, sayings, rows)
    texts = rows.texts("text", np.array([s.statement for s in others], np.int64))
    found: Found = []
    for other, text in zip(others, texts, strict=True):
        evidence: dict[str, object] = {"rule": "relation", "predicate": relation}
        replaces = _replaces(last, other, when, many=many)
        whole = len(sentences(text)) == 1
        if replaces and not whole and not longer:
            continue
        evidence["replaces" if replaces and whole else "doubtful"] = True
        pair = sorted((other.statement, last.statement))
        found.append((pair[0], pair[1], "object", evidence))
    return found


def _comparable(relation: str, one: str, other: str) -> bool:
    """Whether two objects exclude each other: a town and its country do not."""
    lands = known_names().lands
    return relation != "lives in" or (one in lands) == (other in lands)
