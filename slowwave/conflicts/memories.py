"""Conflicts between memories: near pairs of one kind and subject that contradict each other in a number, a date, a term or a "not".

A near pair is often about two things ("the build of Monday", "the build of Tuesday"), so more is asked than for facts: the texts must have
most of their words in common, speak of the same persons with the same certainty, and ask nothing. What happened once may happen again:
of events only polarity counts. Without a subject nothing says that both are about one thing: such a conflict is doubtful.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import (
    Found,
    Ints,
    StatementRows,
    Tally,
    among,
    codes,
    conflicts_of,
    kinds,
    pack,
    pairs_within,
)
from slowwave.conflicts.conflict import Conflict
from slowwave.matching.neighbours import neighbours_within, pairs_of
from slowwave.rows.memories import active_memories
from slowwave.snapshots.last import Last
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.contradictions import Kind
from slowwave.texts.keys import keys
from slowwave.texts.prefilter import matching, rewritten
from slowwave.texts.sameness import Reading, read
from slowwave.texts.sameness_words import TURNS
from slowwave.texts.subjects import are_of_others, are_other_cases

Reals = NDArray[np.floating[Any]]

TABLE: Final = "memories"

ONCE: Final = ("event", "episodic", "working")
"""Kinds that tell what happened: another number or date is another time."""

LONGEST: Final = 500
"""Characters of a memory that states one matter; longer ones are left out, and counted."""

_SHARED: Final = 0.7  # of the words of content of the shorter text
_LEAST: Final = 2  # words of content that both must have
_APART: Final = 2  # words that each may have beside those of the other
_DENIES: Final = r"\b(?:not|never|cannot|no longer)\b|n['’]t\b"
_PLAIN: Final = (  # a text without its negation, in the crude stems that "accepts" and "does not accept" share
    (r"\bcan(?:not|['’]t)\b", "can"),
    (r"\bwon['’]t\b", "will"),
    (r"\b(?:do|does|did)(?: not\b|n['’]t\b)", ""),
    (r"\b(?:not|never|no longer)\b|n['’]t\b", ""),
    (r"(\w{2})(?:es|ed|s|e)\b", r"\1"),
    (r"[^\pL\pN]+", " "),
    (r"^ | $", ""),
)
_HOW_OFTEN: Final = frozenset(TURNS[word] for word in ("always", "never", "every", "usually", "sometimes"))


def memory_conflicts(snapshot: Snapshot, settings: Settings, tally: Tally) -> Sequence[Conflict]:
    """All conflicts between active memories that have a vector. Needs the tables memories, memory_versions and memory_vectors.

    The rule compares the nearest neighbours (the settings of ``neighbour_graph``) within one kind, scope, subject and author, and there the
    plain negations of each other at any distance. Memories of one text and audience are compared as one, pinned ones apart. Time: that of
    ``neighbours_within``, and 20 to 60 µs a pair. The last answer is kept as long as its tables are.
    """
    given = (snapshot.table("memories"), snapshot.table("memory_versions"), snapshot.vectors["memory_vectors"].matrix)
    found, numbers = _LAST.of(
        given,
        (settings.operations.neighbour_graph.top_k, settings.operations.neighbour_graph.similarity),
        lambda: _find(snapshot, settings),
    )
    for name, count in numbers.items():
        tally.add(name, count)
    return found


def _find(snapshot: Snapshot, settings: Settings) -> tuple[Sequence[Conflict], Mapping[str, int]]:
    tally = Tally()
    return _among_memories(snapshot, settings, tally), tally.numbers


def _among_memories(snapshot: Snapshot, settings: Settings, tally: Tally) -> list[Conflict]:
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
    near = neighbours_within(
        vectors.matrix,
        settings.operations.neighbour_graph.top_k,
        settings.operations.neighbour_graph.similarity,
        places[rows.first],
        block.astype(np.int64)[rows.first],
    )
    i, j, cosine = pairs_of(*near)
    tally.add("near pairs of memories", len(i))
    i, j, cosine = _with_denials(rows, block[rows.first], (i, j, cosine), vectors.matrix[places[rows.first]])
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
        if one_matter(a, b, about=bool(about[k]), denied=clash == "polarity") and not _are_apart(one[k], two[k], clash):
            evidence: dict[str, object] = {"rule": "texts", "similarity": round(float(cosine[k]), 4)}
            if not about[k]:
                evidence["doubtful"] = True
            found.append((int(i[k]), int(j[k]), clash, evidence))
    return conflicts_of(rows, TABLE, found)


def _with_denials(
    rows: StatementRows, block: Ints, near: tuple[Ints, Ints, Reals], matrix: NDArray[np.float32]
) -> tuple[Ints, Ints, Reals]:
    """Return near pairs with the pairs of one block of which one is the plain negation of the other, however far their vectors are apart.

    Embedding models place a negation anywhere: "accepts cash" and "does not accept cash" have cosine .73 with MiniLM. Such a pair has the
    same words but for the negation, so it is found by a hash of them. Cost: some rewrites of the column and a sort.
    """
    texts = pc.utf8_lower(rows.table["text"].take(pa.array(rows.first)))
    denies = matching(texts, _DENIES).to_numpy(zero_copy_only=False).astype(bool)
    if not denies.any():
        return near
    for pattern, replacement in _PLAIN:
        texts = rewritten(texts, pattern, replacement)
    same = pack(np.unique(block, return_inverse=True)[1].astype(np.int64), codes(texts)[0])
    i, j, _ = pairs_within(same, np.arange(len(rows)))
    against = denies[i] != denies[j]
    i, j = i[against], j[against]
    new = ~np.isin(
        np.minimum(i, j) * len(rows) + np.maximum(i, j),
        np.minimum(near[0], near[1]) * len(rows) + np.maximum(near[0], near[1]),
    )
    i, j = i[new], j[new]
    cosine = np.einsum("ij,ij->i", matrix[i], matrix[j]).astype(np.float64)
    return np.concatenate([near[0], i]), np.concatenate([near[1], j]), np.concatenate([near[2], cosine])


def _are_apart(one: str, two: str, clash: Kind) -> bool:
    """Whether two texts are about different things or times, whatever else they have in common. What alone stands in place of another may
    be the subject."""
    if clash == "object" or (clash == "polarity" and _is_one_word(read(one), read(two))):
        return False
    return are_of_others(one, two) or (clash == "number" and are_other_cases(one, two))


def _is_one_word(a: Reading, b: Reading) -> bool:
    """Whether two texts are the same but for one word of each."""
    apart = len(set(a.words) - set(b.words)), len(set(b.words) - set(a.words))
    return apart == (1, 1) and (a.turns, a.figures, a.denials) == (b.turns, b.figures, b.denials)


def one_matter(a: Reading, b: Reading, *, about: bool, denied: bool = False) -> bool:
    """Whether two texts that contradict each other are about one thing: statements with most of their words in common. Of two ``about``
    a subject the longer may say more; where one is ``denied`` it says how often."""
    turned = (a.turns ^ b.turns) - _HOW_OFTEN if denied else a.turns ^ b.turns
    if a.question or b.question or set(a.persons) != set(b.persons) or turned:
        return False
    one, two = set(a.words), set(b.words)
    shared = len(one & two)
    apart = len(one - two), len(two - one)
    return shared >= max(_LEAST, _SHARED * min(len(one), len(two))) and (min(apart) if about else max(apart)) <= _APART


_LAST: Final = Last[tuple[Sequence[Conflict], Mapping[str, int]]]()
