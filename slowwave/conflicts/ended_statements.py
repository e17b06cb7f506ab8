"""Ended statements: sentences of longer memories that a later memory says are over, where the rest of the memory still holds.

A memory that says nothing else is a conflict, which it loses (``slowwave.conflicts.endings``, ``slowwave.conflicts.stated``). Here stands
what would take other sentences, or other things of one sentence, along with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from slowwave.conflicts.columns import StatementRows, Tally
from slowwave.conflicts.endings import endings
from slowwave.conflicts.stated import replaced_in_longer
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.ended_values import ended_sentence, ends
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import stated_relations

_AUDIENCE: Final = ("scope", "visibility", "sensitivity")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EndedStatement:
    """A ``sentence`` of ``memories`` (ids; copies of each other), and what ended it: ``said`` by the memory ``later``, ``since`` when."""

    memories: tuple[str, ...]
    sentence: str
    later: str
    said: str
    since: datetime


def ended_statements(snapshot: Snapshot) -> list[EndedStatement]:
    """Of each sentence that has ended the first memory that says so, in the order of memories. Needs the tables memories and
    memory_versions.

    Both memories are of one audience. Cost: that of ``endings`` and of reading stated relations, and 50 µs a pair.
    """
    found: dict[tuple[str, str], EndedStatement] = {}
    every = [*_over(snapshot), *_replaced(snapshot)]
    for one in sorted(every, key=lambda e: (e.memories, e.since, e.later, e.said)):
        found.setdefault((one.memories[0], one.sentence), one)
    return list(found.values())


def _over(snapshot: Snapshot) -> Iterator[EndedStatement]:
    """By what a memory says is over."""
    read = endings(snapshot, Tally())
    when = read.rows.last()
    for earlier, later, value in read.found:
        sentence = ended_sentence(read.texts[earlier], value)
        if (
            sentence is not None
            and not ends(read.texts[earlier], value)
            and _is_of_one_audience(read.rows, earlier, later)
        ):
            yield _ended(read.rows, earlier, later, sentence, value.sentence, int(when[later]))


def _replaced(snapshot: Snapshot) -> Iterator[EndedStatement]:
    """By a relation of one object that has another one now."""
    rows, found = replaced_in_longer(snapshot)
    when = rows.last()
    for earlier, later, subject, relation in found:
        if _is_of_one_audience(rows, earlier, later):
            old, new = (_stating(text, subject, relation) for text in rows.texts("text", np.array([earlier, later])))
            if old is not None and new is not None:
                yield _ended(rows, earlier, later, old, new, int(when[later]))


def _stating(text: str, subject: str, relation: str) -> str | None:
    """The one sentence that states a relation of a subject."""
    found = [s for s in sentences(text) if any(r[:2] == (subject, relation) for r in stated_relations(s))]
    return found[0] if len(found) == 1 else None


def _is_of_one_audience(rows: StatementRows, earlier: int, later: int) -> bool:
    one, two = rows.table.select(_AUDIENCE).take(pa.array(rows.first[[earlier, later]])).to_pylist()
    return one == two


def _ended(rows: StatementRows, earlier: int, later: int, sentence: str, said: str, when: int) -> EndedStatement:
    ids = rows.table["id"]
    return EndedStatement(
        tuple(sorted(ids.take(pa.array(np.flatnonzero(rows.of == earlier))).to_pylist())),
        sentence,
        str(ids[int(rows.first[later])]),
        said,
        _EPOCH + timedelta(microseconds=when),
    )
