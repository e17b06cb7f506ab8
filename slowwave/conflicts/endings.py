"""Conflicts between a memory that says what is over and those before it that state just that: "I drive a Skoda Fabia", "I sold the Skoda
Fabia and bought a Renault Zoe".

Found by the words of the value, not by vectors: across kinds, within one scope, of one author where the speaker is the owner. The later
one replaces the earlier ones. What a text says is over, and what states it, belongs to ``slowwave.texts.ended_values``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import CROWD, Found, Ints, StatementRows, Tally, codes, conflicts_of, pack
from slowwave.conflicts.conflict import Conflict
from slowwave.conflicts.stated import LONGEST, PROGRAMS
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.ended_values import TRIGGER, EndedValue, ended_values, ends
from slowwave.texts.keys import keys
from slowwave.texts.tokens import fold

_WORD: Final = re.compile(r"\w+")


def ending_conflicts(snapshot: Snapshot, tally: Tally) -> list[Conflict]:
    """Conflicts between active memories. Needs the tables memories and memory_versions.

    Texts with a word of an end are read, some 50 µs each; where one says what is over, the words of all short texts are looked through
    once. Of a value that more than ``CROWD`` memories name, nothing is said.
    """
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)).combine_chunks()
    if not len(memories):
        tally.add("values that are over", 0)
        return []
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    table = rows.table.take(pa.array(rows.first))
    texts = pc.fill_null(table["text"], "").to_pylist()
    telling = np.flatnonzero(pc.match_substring_regex(table["text"], TRIGGER.pattern).to_numpy(zero_copy_only=False))
    over = {k: values for k in telling.tolist() if (values := ended_values(texts[k]))}
    tally.add("values that are over", sum(map(len, over.values())))
    if not over:
        return []
    named_in = _named_in(texts, {_last_word(value) for values in over.values() for value in values})
    groups = pack(*(codes(table[c])[0] for c in ("scope", "author"))).tolist()
    programs = [author.casefold() in PROGRAMS for author in pc.fill_null(table["author"], "").to_pylist()]
    when = rows.last()
    found: Found = []
    for later, values in over.items():
        if not programs[later]:
            found += _ended(later, values, texts, named_in, groups, when)
    pairs = np.array([(a, b) for a, b, _, _ in found], np.int64).reshape(-1, 2)
    overlap = rows.overlap(pairs[:, 0], pairs[:, 1]).tolist()
    return conflicts_of(rows, "memories", [one for one, both in zip(found, overlap, strict=True) if both])


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


def _ended(
    later: int,
    values: Sequence[EndedValue],
    texts: Sequence[str],
    named_in: Mapping[str, Sequence[int]],
    groups: Sequence[int],
    when: Ints,
) -> Found:
    """The statements of one author before ``later`` that end with it."""
    found: Found = []
    for value in values:
        before = [
            k for k in named_in.get(_last_word(value), ()) if groups[k] == groups[later] and when[k] < when[later]
        ]
        if len(before) <= CROWD:
            for k in before:
                if ends(texts[k], value):
                    found.append((min(k, later), max(k, later), "object", {"rule": "over", "replaces": True}))
    return found
