"""Conflicts between memories: near pairs of one kind and subject that contradict each other in a number, a date, a term or a "not".

A near pair is often about two things ("the build of Monday", "the build of Tuesday"), so more is asked than for facts: the texts must have
most of their words in common, speak of the same persons with the same certainty, and ask nothing. What happened once may happen again:
of events only polarity counts. Without a subject nothing says that both are about one thing: such a conflict is doubtful.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import Found, Ints, StatementRows, Tally, among, codes, conflicts_of, kinds, pack
from slowwave.conflicts.conflict import Conflict
from slowwave.matching.blas import one_thread
from slowwave.matching.neighbours import neighbours, pairs_of
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.keys import keys
from slowwave.texts.sameness import Reading, read

TABLE: Final = "memories"

ONCE: Final = ("event", "episodic", "working")
"""Kinds that tell what happened: another number or date is another time."""

LONGEST: Final = 500
"""Characters of a memory that states one matter; longer ones are left out, and counted."""

_SHARED: Final = 0.7  # of the words of content of the shorter text
_LEAST: Final = 2  # words of content that both must have
_APART: Final = 2  # words that each may have beside those of the other


def memory_conflicts(snapshot: Snapshot, settings: Settings, tally: Tally) -> list[Conflict]:
    """All conflicts between active memories that have a vector. Needs the tables memories, memory_versions and memory_vectors.

    Looked at are the nearest neighbours (``neighbour_graph.top_k``, from ``neighbour_graph.similarity``) within one kind, scope, subject
    and author; memories of one text and audience stand behind one of them, pinned ones apart. Time: that of ``neighbours`` in each block,
    and 20 to 60 µs a pair. The last answer is kept as long as its tables are, for an audit and a planner of one night.
    """
    known = _LAST.answer(snapshot, settings)
    if known is None:
        own = Tally()
        known = _LAST.keep(snapshot, settings, _find(snapshot, settings, own), own.numbers)
    for name, count in known[1].items():
        tally.add(name, count)
    return known[0]


def _find(snapshot: Snapshot, settings: Settings, tally: Tally) -> list[Conflict]:
    memories = active_memories(snapshot)
    tally.add("memories looked at", len(memories))
    vectors = snapshot.vectors["memory_vectors"]
    places = vectors.rows_of(memories["id"].combine_chunks()) if len(memories) else np.empty(0, np.int64)
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST).to_numpy().astype(bool)
    said = pc.not_equal(memories["text"], "").to_numpy().astype(bool)
    tally.add("memories without a vector", int((places < 0).sum()))
    tally.add("memories too long to compare", int((~short).sum()))
    usable = (places >= 0) & short & said
    memories, places = memories.filter(pa.array(usable)).combine_chunks(), places[usable]
    if not len(memories):
        tally.add("near pairs of memories", 0)
        return []
    block = pack(*(codes(memories[c])[0] for c in ("kind", "scope", "author")), codes(keys(memories["subject"]))[0])
    _, block = np.unique(block, return_inverse=True)
    rows = StatementRows.fold(
        memories,
        pack(
            *(block.astype(np.int64), codes(keys(memories["text"]))[0]),
            *(codes(memories[c])[0] for c in ("pinned", "visibility", "sensitivity")),
        ),
    )
    i, j, cosine = _near(rows, block.astype(np.int64)[rows.first], places[rows.first], vectors.matrix, settings)
    tally.add("near pairs of memories", len(i))
    overlap = rows.overlap(i, j)
    i, j, cosine = i[overlap], j[overlap], cosine[overlap]
    one, two = rows.texts("text", i), rows.texts("text", j)
    once = among(memories["kind"], ONCE)[rows.first[i]]
    about = pc.not_equal(memories["subject"], "").to_numpy().astype(bool)[rows.first[i]]
    found: Found = []
    for k, clash in enumerate(kinds(one, two)):
        if clash is None or (once[k] and clash != "polarity"):
            continue
        a, b = read(one[k]), read(two[k])
        if one_matter(a, b, about=bool(about[k])):
            evidence: dict[str, object] = {"rule": "texts", "similarity": round(float(cosine[k]), 4)}
            if not about[k]:
                evidence["doubtful"] = True
            found.append((int(i[k]), int(j[k]), clash, evidence))
    return conflicts_of(rows, TABLE, found)


def _near(
    rows: StatementRows, block: Ints, places: Ints, matrix: np.ndarray, settings: Settings
) -> tuple[Ints, Ints, np.ndarray]:
    """Neighbours among statements of one block: i < j, and their cosines."""
    order = np.argsort(block, kind="stable")
    found: list[tuple[Ints, Ints, np.ndarray]] = []
    with one_thread():
        for part in np.split(order, np.flatnonzero(np.diff(block[order])) + 1):
            if len(part) > 1:
                near = neighbours(
                    matrix,
                    settings.operations.neighbour_graph.top_k,
                    settings.operations.neighbour_graph.similarity,
                    places[part],
                )
                i, j, cosine = pairs_of(*near)
                found.append((part[i], part[j], cosine))
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    i, j, cosine = (np.concatenate(c) for c in zip(none, *found, strict=True))
    return i, j, cosine


def one_matter(a: Reading, b: Reading, *, about: bool) -> bool:
    """Whether two texts that contradict each other are about one thing: statements with most of their words in common. Of two ``about``
    a subject the longer may say more."""
    if a.question or b.question or set(a.persons) != set(b.persons) or a.turns != b.turns:
        return False
    one, two = set(a.words), set(b.words)
    shared = len(one & two)
    apart = len(one - two), len(two - one)
    return shared >= max(_LEAST, _SHARED * min(len(one), len(two))) and (min(apart) if about else max(apart)) <= _APART


@dataclass(slots=True)
class _Last:
    """The last answer and what it was given for: tables, by weak references, and settings."""

    tables: tuple[weakref.ReferenceType[object], ...] = ()
    settings: tuple[int, float] = (0, 0.0)
    found: tuple[list[Conflict], dict[str, int]] = field(default_factory=lambda: ([], {}))

    def answer(self, snapshot: Snapshot, settings: Settings) -> tuple[list[Conflict], dict[str, int]] | None:
        """What was found in these very tables; None for others."""
        same = len(self.tables) == len(_given(snapshot)) and all(
            reference() is table for reference, table in zip(self.tables, _given(snapshot), strict=True)
        )
        return self.found if same and self.settings == _asked(settings) else None

    def keep(
        self, snapshot: Snapshot, settings: Settings, conflicts: list[Conflict], numbers: dict[str, int]
    ) -> tuple[list[Conflict], dict[str, int]]:
        """Remember an answer in place of the one before."""
        self.tables = tuple(weakref.ref(table) for table in _given(snapshot))
        self.settings, self.found = _asked(settings), (conflicts, numbers)
        return self.found


def _given(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.table("memories"), snapshot.table("memory_versions"), snapshot.vectors["memory_vectors"].matrix


def _asked(settings: Settings) -> tuple[int, float]:
    return settings.operations.neighbour_graph.top_k, settings.operations.neighbour_graph.similarity


_LAST: Final = _Last()
