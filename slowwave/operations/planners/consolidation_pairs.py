"""Near pairs of memories that may stand together: those of a cosine from a floor up, in time that grows with the memories.

Small blocks are compared as a whole. In larger ones only those meet that share a rare word or two words in a row, as whoever tells of one
matter does. What becomes of the pairs belongs to ``consolidation_search``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.matching.blocks import Blocks
from slowwave.matching.neighbours import neighbours, pairs_of
from slowwave.matching.vectors import unit_rows
from slowwave.operations.planners.consolidation_pool import Floats, Ints, Pool
from slowwave.texts.statements import stem
from slowwave.texts.vocabulary import GRAMMAR

NearPairs = tuple[Ints, Ints, Ints, Floats]
"""Rows of a block, and near pairs i < j of them as places among these, with how near they are."""

_FEW: Final = 512  # rows of a block all pairs of which are looked at
_NEAREST: Final = 24  # neighbours that each row of a larger block is joined with
WHOLE: Final = 16_384
"""Rows of a block up to which every row is compared with every other: half a second."""

_BUDGET: Final = 16  # pairs a row that are compared in a larger block
_CHUNK: Final = 4_096  # pairs whose vectors are gathered at a time
_SPACE: Final = r"[^\pL\pN]+"


def near_pairs(pool: Pool, floor: float, least: int, whole: int = WHOLE) -> Iterator[NearPairs]:
    """The near pairs of each block of at least ``least`` rows, sorted, with a cosine ≥ ``floor``.

    Blocks of up to ``whole`` rows: every row with its ``_NEAREST`` nearest, exactly, in time that grows with the square. Larger ones: pairs
    that share a word or two words in a row that few have, the rarest first, up to ``_BUDGET`` pairs a row: linear in the words of the
    texts, and a sort of them. A pair with no such words in common is not found there; retellings and copies share some.
    """
    order = np.argsort(pool.block, kind="stable")
    starts = np.flatnonzero(np.diff(pool.block[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        if len(rows) < least:
            continue
        if len(rows) <= min(_FEW, whole):
            units = pool.units(rows)
            cosine = units @ units.T
            i, j = np.nonzero(np.triu(cosine >= floor, 1))
            near = cosine[i, j]
        elif len(rows) <= whole:
            i, j, near = pairs_of(*neighbours(pool.matrix, _NEAREST, max(floor, 1e-6), pool.vector[rows]))
        else:
            i, j, near = _worded(pool, rows, floor)
        if len(i):
            yield rows, i.astype(np.int64), j.astype(np.int64), near


def _worded(pool: Pool, rows: Ints, floor: float) -> tuple[Ints, Ints, Floats]:
    """Pairs of a large block that share rare words."""
    blocks, _ = sharing(pool.table["text"].take(pa.array(rows))).within(_BUDGET * len(rows))
    i, j = np.divmod(blocks.all_pairs(len(rows)), len(rows))
    cosine = np.empty(len(i), np.float32)
    for start in range(0, len(i), _CHUNK):
        at = slice(start, start + _CHUNK)
        one, two = (unit_rows(pool.matrix[pool.vector[rows[side[at]]]])[0] for side in (i, j))
        cosine[at] = np.einsum("ij,ij->i", one, two)
    near = cosine >= np.float32(floor)
    return i[near], j[near], cosine[near]


def sharing(texts: pa.ChunkedArray) -> Blocks:
    """A block for each stem of a word of content, and for two stems in a row, that several of the texts (n,) have."""
    words = pc.split_pattern_regex(pc.utf8_lower(texts.combine_chunks()), _SPACE)
    row = pc.list_parent_indices(words).to_numpy().astype(np.int64)
    flat = pc.list_flatten(words).dictionary_encode()
    stems: dict[str, int] = {}
    known = [
        -1 if not w or w in GRAMMAR else stems.setdefault(stem(w), len(stems)) for w in flat.dictionary.to_pylist()
    ]
    code = np.array([*known, -1], np.int64)[flat.indices.to_numpy()]
    row, code = row[code >= 0], code[code >= 0]
    follows = np.flatnonzero(row[1:] == row[:-1])
    two = len(stems) + code[follows] * len(stems) + code[follows + 1]
    rows, keys = np.concatenate([row, row[follows]]), np.concatenate([code, two])
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    _, places = np.unique(keys, return_inverse=True)
    return Blocks.of(rows, places.astype(np.int64))
