"""Mentions of what a later memory says is over: "Mara called from Oslo" before "Mara moved from Oslo to Bergen".

What happened then is still true, and nothing ends; beside the sentence stands what was told later, so that nobody takes it for the present.
Found by the words of the value within one scope and author, where both speak of the same person, or of one matter of who speaks. What is
over is said by ``slowwave.conflicts.endings`` and ``slowwave.conflicts.stated``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import CROWD, StatementRows, codes, pack
from slowwave.conflicts.ended_statements import EndedStatement
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.ended_values import ended_values
from slowwave.texts.keys import keys
from slowwave.texts.present_statements import (
    are_apart,
    is_own,
    matter,
    names,
    persons,
    said,
    says_later,
    stating,
)
from slowwave.texts.tokens import fold

LONGEST: Final = 500
"""Characters of a memory that is read."""

_AT_ONCE: Final = 256  # words of one pattern
_WORD: Final = re.compile(r"\w+")


class OverValue(NamedTuple):
    """``words`` of a value that is over, folded; the memory that says so, and its sentence."""

    words: tuple[str, ...]
    later: str
    said: str


def mentions(snapshot: Snapshot, over: Sequence[OverValue]) -> list[EndedStatement]:
    """Sentences of active memories, made before, that name what is over, each with the first memory that says so.

    Needs the tables memories and memory_versions. A value that more than ``CROWD`` earlier memories name is left out. Cost: a pass over the
    texts for every 256 words, and some 50 µs a sentence that names one.
    """
    if not over:
        return []
    rows, texts = _candidates(snapshot, over)
    of = dict(zip(rows.table["id"].to_pylist(), rows.of.tolist(), strict=True))
    table = rows.table.take(pa.array(rows.first))
    groups = pack(*(codes(table[c])[0] for c in ("scope", "author"))).tolist()
    named_in: defaultdict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        for word in dict.fromkeys(_WORD.findall(fold(text))):
            named_in[word].append(k)
    when = rows.last()
    found: dict[tuple[int, str], tuple[int, int, str]] = {}
    for value in over:
        later = of.get(value.later)
        if later is None:
            continue
        before = [
            k for k in named_in.get(_last_word(value), ()) if groups[k] == groups[later] and when[k] < when[later]
        ]
        for k in before if len(before) <= CROWD else ():
            for sentence in _mentioning(texts[k], value):
                told = int(when[later]), later, value.said
                found[k, sentence] = min(found.get((k, sentence), told), told)
    return list(_marks(rows, found))


def _marks(rows: StatementRows, found: Mapping[tuple[int, str], tuple[int, int, str]]) -> Iterator[EndedStatement]:
    if not found:
        return
    pairs = np.array([(k, later) for (k, _), (_, later, _) in found.items()], np.int64)
    overlap = rows.overlap(pairs[:, 0], pairs[:, 1]).tolist()
    for ((k, sentence), (when, later, told)), both in zip(found.items(), overlap, strict=True):
        if both and (one := EndedStatement.of(rows, k, later, sentence, told, when, pattern="mention", holds=True)):
            yield one


def _candidates(snapshot: Snapshot, over: Sequence[OverValue]) -> tuple[StatementRows, Sequence[str]]:
    """The memories that have a last word of a value, and those that say so; with their texts."""
    memories = active_memories(snapshot)
    wanted = pc.is_in(memories["id"], value_set=pa.array(sorted({v.later for v in over}), memories["id"].type))
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    words = [re.escape(w) for w in sorted({_last_word(v) for v in over})]
    for start in range(0, len(words), _AT_ONCE):
        pattern = rf"(?i)\b(?:{'|'.join(words[start : start + _AT_ONCE])})\b"
        wanted = pc.or_(wanted, pc.and_(short, pc.match_substring_regex(memories["text"], pattern)))
    memories = memories.filter(wanted).combine_chunks()
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    return rows, rows.texts("text", np.arange(len(rows)))


def _last_word(value: OverValue) -> str:
    return _WORD.findall(value.words[-1])[-1]


def _mentioning(text: str, value: OverValue) -> Iterator[str]:
    """The sentences of a text that tell something of what is over, and do not say themselves that it is."""
    for sentence in stating(text):
        if (
            _names(sentence, value.words)
            and not says_later(sentence)
            and _is_tied(sentence, value)
            and not any(set(v.words) & set(value.words) for v in ended_values(sentence))
        ):
            yield sentence


def _names(sentence: str, words: tuple[str, ...]) -> bool:
    told, n = _plain(sentence), len(words)
    return any(told[k : k + n] == words for k in range(len(told) - n + 1))


def _plain(sentence: str) -> tuple[str, ...]:
    return tuple(w.removesuffix("'s").removesuffix("’s") for w in said(sentence))


def _is_tied(sentence: str, value: OverValue) -> bool:
    """Whether a sentence speaks of the person of whom something is over, and of nobody else; where it names none, of a matter of who says
    so."""
    if are_apart(sentence, value.said) or not persons(sentence, value.words) <= persons(value.said, value.words):
        return False
    mine, theirs = ((names(s) | persons(s)) - {*value.words} for s in (sentence, value.said))
    if mine:
        return bool(theirs) and mine <= theirs
    return is_own(value.said) and bool(matter(sentence, value.words) & matter(value.said, value.words))
