"""Conflicts between a memory that says what has ended and earlier ones that state just that.

"I drive a Skoda Fabia.", "I sold the Skoda Fabia and bought a Renault Zoe." They are found by the words of the value, not by vectors:
across kinds, within one scope, and of one author if the speaker is the owner. The later one replaces the earlier ones.
``slowwave.text.ended_values`` parses what a text ends or states.
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

from slowwave.operations.conflicts.memories import EndedStatement, OverValue
from slowwave.operations.conflicts.rows import CROWD, Found, Ints, StatementRows, Tally, codes, conflicts_of, pack
from slowwave.plans.questions import Conflict
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.clauses import stems
from slowwave.text.ended_values import TRIGGER, EndedValue, ended_sentence, ended_values, ends
from slowwave.text.keys import keys
from slowwave.text.prefilter import matching
from slowwave.text.subjects import PROGRAMS, is_own, persons
from slowwave.text.subjects import subject as subject_of
from slowwave.text.tokens import fold

_WORD: Final = re.compile(r"\w+")


LONGEST: Final = 2_000
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
    telling = pc.unique(texts.filter(matching(texts, TRIGGER.pattern))).to_pylist()
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
