"""Conflicts between notes that give one thing different figures, in whatever words: "Passwords have at least 8 characters.", "Effective
immediately, a password must have 14 characters."

The rule compares short plain notes of the present that have a figure, are near each other by their vectors, name the same persons and
share a word of content. Their subjects must not differ, and their figures must measure the same: a version is no count. Which figures
exclude each other is decided by ``slowwave.texts.differences``. A later note with a word of change replaces the earlier one; else a person
decides. Three figures in the same words are a series ("crane 3 is at the quay") and no case: that does not change when a night ends or
merges some of them. A date that a night has written next to a relative one is no figure of the note.

Notes of two named authors are compared as well, unless one of them speaks of its author ("I", "our") or of its reader ("you"). Neither
author corrects the other by a word of change, so a person always decides.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.conflicts.columns import Found, Ints, StatementRows, Tally, codes, conflicts_of, pack
from slowwave.conflicts.conflict import Conflict
from slowwave.matching.neighbours import Floats, neighbours_within, pairs_of
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.contradictions import find
from slowwave.texts.dates import BESIDE
from slowwave.texts.differences import difference
from slowwave.texts.keys import keys
from slowwave.texts.prefilter import matching, rewritten
from slowwave.texts.present_statements import NO_PRESENT, of_one_matter, says_new
from slowwave.texts.specifics import specifics
from slowwave.texts.subjects import are_about_others, are_of_others, are_other_cases, share_a_measure

LONGEST: Final = 160
"""Characters of a note of one sentence that states one matter."""

NEAR: Final = 0.58
"""Cosine from which two notes may speak of one thing: with the contextual model 13 of 14 pairs of notes that do reach .59."""

_SPEAKS_OF_ITSELF: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours)\b", re.IGNORECASE
)
_NEAREST: Final = 4
_SERIES: Final = 3  # figures in the same words
_SEVERAL: Final = r"[.!?…][\"'”’)\]]*\s+[^\s\d]|\n"  # an abbreviation counts as well
_FIGURE: Final = r"(?:^|[\s(:=#$€£])[$€£#]?\d"


def figure_conflicts(snapshot: Snapshot, tally: Tally) -> list[Conflict]:
    """Conflicts between active memories that have a vector. Needs the tables memories, memory_versions and memory_vectors.

    Time: that of ``neighbours_within`` over the notes with figures, and 100 µs a pair.
    """
    memories = active_memories(snapshot)
    vectors = snapshot.vectors["memory_vectors"]
    memories = memories.set_column(memories.column_names.index("text"), "text", _undated(memories["text"]))
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST))
    memories = memories.filter(matching(memories["text"], _FIGURE))
    memories = memories.filter(pc.invert(matching(memories["text"], NO_PRESENT))).combine_chunks()
    memories = memories.filter(pc.invert(matching(memories["text"], _SEVERAL)))
    memories = memories.filter(
        pc.invert(pc.is_in(_frames(memories["text"]), value_set=_series(snapshot)))
    ).combine_chunks()
    places = vectors.rows_of(memories["id"].combine_chunks()) if len(memories) else np.empty(0, np.int64)
    memories, places = memories.filter(pa.array(places >= 0)).combine_chunks(), places[places >= 0]
    tally.add("notes with figures", len(memories))
    if len(memories) < 2:
        return []
    scope, author, subject = (codes(memories[c])[0] for c in ("scope", "author", "subject"))
    block = pack(scope, author, subject)
    audience = (codes(memories[c])[0] for c in ("pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(block, codes(keys(memories["text"]))[0], *audience))
    i, j, cosine = _pairs(rows, vectors.matrix, places, block, np.arange(len(rows)))
    texts = rows.table["text"].take(pa.array(rows.first)).to_pylist()
    named = rows.table["author"].take(pa.array(rows.first)).to_pylist()
    impersonal = [k for k, text in enumerate(texts) if named[k] and not _SPEAKS_OF_ITSELF.search(text)]
    between = _pairs(rows, vectors.matrix, places, pack(scope, subject), np.array(impersonal, np.int64))
    other = author[rows.first][between[0]] != author[rows.first][between[1]]
    i, j = np.concatenate([i, between[0][other]]), np.concatenate([j, between[1][other]])
    cosine = np.concatenate([cosine, between[2][other]])
    read = cache(lambda statement: specifics(texts[statement]))
    when = rows.last()
    found: Found = []
    for k in np.flatnonzero(rows.overlap(i, j) & (when[i] != when[j])).tolist():
        a, b = int(i[k]), int(j[k])
        one, two = texts[a], texts[b]
        if not of_one_matter(one, two) or are_of_others(one, two) or are_other_cases(one, two):
            continue
        if are_about_others(one, two) or not share_a_measure(one, two):
            continue
        if named[a] != named[b] and (read(a).dates or read(b).dates):
            continue
        apart = difference(read(a), read(b))
        new = says_new(texts[max((a, b), key=lambda s: when[s])])
        told = apart is not None and apart.degree == "conflict" and apart.about in ("figures", "identifiers")
        if told and (new or find([(one, two)]) != [None]):
            evidence: dict[str, object] = {"rule": "figures", "similarity": round(float(cosine[k]), 4)}
            evidence["replaces" if new and named[a] == named[b] else "doubtful"] = True
            found.append((min(a, b), max(a, b), "number", evidence))
    return conflicts_of(rows, "memories", found)


def _pairs(
    rows: StatementRows, matrix: NDArray[np.floating], places: Ints, block: Ints, chosen: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return the near pairs among the ``chosen`` statements whose rows are in one block, with their cosines."""
    _, blocks = np.unique(block[rows.first[chosen]], return_inverse=True)
    i, j, cosine = pairs_of(*neighbours_within(matrix, _NEAREST, NEAR, places[rows.first[chosen]], blocks))
    return chosen[i], chosen[j], cosine


def _undated(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without the dates that stand beside relative ones."""
    return rewritten(texts, BESIDE, "")


def _frames(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Texts → what they say but for figures."""
    return pc.utf8_lower(rewritten(texts, r"\d+(?:[.,:/-]?\d)*", "#"))


def _series(snapshot: Snapshot) -> pa.Array:
    """What was said with ``_SERIES`` figures or more, by any version of any memory."""
    said = _undated(snapshot.table("memory_versions")["content"].cast(pa.large_string()))
    short = said.filter(pc.less_equal(pc.utf8_length(said), LONGEST))
    texts = pc.unique(short.filter(matching(short, _FIGURE)))
    counts = pc.value_counts(_frames(texts))
    return counts.field("values").filter(pc.greater_equal(counts.field("counts"), _SERIES))
