"""Conflicts between a memory that says what is over and those before it that state just that: "I drive a Skoda Fabia", "I sold the Skoda
Fabia and bought a Renault Zoe".

Found by the words of the value, not by vectors: across kinds, within one scope, of one author where the speaker is the owner. The later
one replaces the earlier ones. What a text says is over, and what states it, belongs to ``slowwave.texts.ended_values``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import CROWD, Found, Ints, StatementRows, Tally, codes, conflicts_of, pack
from slowwave.conflicts.conflict import Conflict
from slowwave.conflicts.ended_statements import EndedStatement
from slowwave.conflicts.mentions import OverValue
from slowwave.rows.memories import active_memories
from slowwave.snapshots.last import Last
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.ended_values import TRIGGER, EndedValue, ended_sentence, ended_values, ends
from slowwave.texts.keys import keys
from slowwave.texts.prefilter import matching
from slowwave.texts.present_statements import PROGRAMS
from slowwave.texts.tokens import fold

_WORD: Final = re.compile(r"\w+")


LONGEST: Final = 2_000
"""Characters of a memory that is read."""


class Ending(NamedTuple):
    """Two statements by their numbers, the later of which says that a value is over which the earlier names."""

    earlier: int
    later: int
    value: EndedValue


@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """Conflicts that are found by what is over, sentences of longer memories that are, and the values that are over."""

    conflicts: Sequence[Conflict]
    sentences: Sequence[EndedStatement]
    values: Sequence[OverValue]


def ending_conflicts(snapshot: Snapshot, tally: Tally) -> Sequence[Conflict]:
    """Conflicts between active memories of which the earlier one states what is over and nothing besides. Needs the tables memories and
    memory_versions. See ``endings``.
    """
    found = endings(snapshot)
    tally.add("values that are over", len(found.values))
    return found.conflicts


def endings(snapshot: Snapshot) -> Endings:
    """What active memories say is over, of those before it that state it.

    Texts with a word of an end are read, some 50 µs each; where one says what is over, the words of all texts are looked through once.
    Of a value that more than ``CROWD`` memories name, nothing is said. The last answer is kept as long as its tables are.
    """
    return _LAST.of([snapshot.table("memories"), snapshot.table("memory_versions")], (), lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> Endings:
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)).combine_chunks()
    over = _over(memories["text"])
    if not over:
        return Endings([], (), ())
    rows, texts, values, named = _named(memories, over)
    when = rows.last()
    found: Found = []
    within: list[EndedStatement] = []
    for earlier, later, value in named:
        sentence = ended_sentence(texts[earlier], value)
        if sentence is None:
            continue
        if ends(texts[earlier], value):
            pair = sorted((earlier, later))
            found.append((pair[0], pair[1], "object", {"rule": "over", "replaces": True}))
        elif one := EndedStatement.of(rows, earlier, later, sentence, value.sentence, int(when[later]), pattern="over"):
            within.append(one)
    return Endings(conflicts_of(rows, "memories", found), within, values)


def _over(texts: pa.ChunkedArray) -> dict[str, tuple[EndedValue, ...]]:
    """Texts → the values that they say are over, of those that say so of any."""
    telling = pc.unique(texts.filter(matching(texts, TRIGGER.pattern))).to_pylist()
    return {text: values for text in telling if (values := ended_values(text))}


def _named(
    memories: pa.Table, said: Mapping[str, Sequence[EndedValue]]
) -> tuple[StatementRows, Sequence[str], Sequence[OverValue], Sequence[Ending]]:
    """Statements with their texts, the values that are over, and what names them before, of one author and scope and at one time."""
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
    """By which texts that may state a value are looked up: "15" of "9:15"."""
    return _WORD.findall(value.words[-1])[-1]


def _named_in(texts: Sequence[str], wanted: set[str]) -> dict[str, list[int]]:
    """Words → the texts that have them."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        for word in wanted.intersection(_WORD.findall(fold(text))):
            found[word].append(k)
    return found


def _naming(
    later: int, value: EndedValue, named_in: Mapping[str, Sequence[int]], groups: Sequence[int], when: Ints
) -> list[Ending]:
    """The statements of one author before ``later`` that name what has ended with it; none of a value that too many do."""
    before = [k for k in named_in.get(_last_word(value), ()) if groups[k] == groups[later] and when[k] < when[later]]
    return [Ending(k, later, value) for k in before] if len(before) <= CROWD else []


_LAST: Final = Last[Endings]()
