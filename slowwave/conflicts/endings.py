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
from slowwave.conflicts.stated import PROGRAMS
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.ended_values import TRIGGER, EndedValue, ended_values, ends
from slowwave.texts.keys import keys
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
    """Statements with their texts, and all pairs of one author and scope that hold at one time."""

    rows: StatementRows
    texts: Sequence[str]
    found: Sequence[Ending]


def ending_conflicts(snapshot: Snapshot, tally: Tally) -> list[Conflict]:
    """Conflicts between active memories of which the earlier one states what is over and nothing besides. Needs the tables memories and
    memory_versions. Cost: that of ``endings``, and 50 µs a pair.
    """
    read = endings(snapshot, tally)
    found: Found = [
        (min(a, b), max(a, b), "object", {"rule": "over", "replaces": True})
        for a, b, value in read.found
        if ends(read.texts[a], value)
    ]
    return conflicts_of(read.rows, "memories", found)


def endings(snapshot: Snapshot, tally: Tally) -> Endings:
    """Active memories that say what is over, each with those before it that name it.

    Texts with a word of an end are read, some 50 µs each; where one says what is over, the words of all texts are looked through once.
    Of a value that more than ``CROWD`` memories name, nothing is said.
    """
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)).combine_chunks()
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    table = rows.table.take(pa.array(rows.first))
    texts = pc.fill_null(table["text"], "").to_pylist()
    telling = np.flatnonzero(pc.match_substring_regex(table["text"], TRIGGER.pattern).to_numpy(zero_copy_only=False))
    over = {k: values for k in telling.tolist() if (values := ended_values(texts[k]))}
    tally.add("values that are over", sum(map(len, over.values())))
    if not over:
        return Endings(rows, texts, ())
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
    return Endings(rows, texts, [one for one, both in zip(found, overlap, strict=True) if both])


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
