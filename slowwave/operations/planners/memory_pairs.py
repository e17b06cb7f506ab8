"""Pairs of memories that may tell the same: alike in what a merge must not mix up, and near each other by their vectors.

Within a window of time all pairs are looked at; without one, copies of a text stand behind one of them, texts are compared only with
those that have the same figures, and a crowded block keeps the nearest of each. Whether two memories tell the same is decided by
``slowwave.operations.planners.dedupe_memories``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.neighbours import FEW, neighbours, pairs_of
from slowwave.matching.vectors import cosines, pairs_above, share_above, unit_rows
from slowwave.texts.keys import keys
from slowwave.texts.standard_forms import figures_of

ALIKE: Final = ("kind", "scope", "subject", "author", "visibility", "sensitivity")
"""What memories must have in common to be compared: a merge shows nothing to whom it was not shown, and hides nothing."""

DAY: Final = 86_400_000_000
"""Microseconds."""

NEAREST: Final = 32
"""Neighbours of a text that are looked at in a block where too many are near each other."""

_FEW: Final = 4_096  # pairs of one block up to which each is multiplied alone
_STRIPE: Final = 1_024  # rows of a crowded block that are compared at a time, or as many as a window holds
_LEAST: Final = 1e-6  # a threshold of 0 means any pair that does not point apart

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Pairs = tuple[Ints, Ints, Floats]


def within_window(
    live: pa.Table,
    matrix: NDArray[np.floating],
    places: Ints,
    threshold: float,
    window_days: int,
    numbers: dict[str, int],
) -> Pairs:
    """Pairs of rows of one block, within the window, whose cosine reaches the threshold: i, j and the cosines, (p,) each.

    ``places`` (n,) are the rows' vectors in ``matrix``. Cost: a sort, and a product for each pair within block and window; in a crowded
    block, for each row with those of some windows or of 2,048 rows.
    """
    block, start = blocks(live), live["valid_from"].cast(pa.int64()).to_numpy()
    order = np.lexsort((start, block))
    code, when = block[order], start[order]
    # a row's partners are those that follow it up to the end of its window; blocks and long gaps are a window and more apart
    window = window_days * DAY
    line = np.zeros(len(order), np.int64)
    line[1:] = np.where(code[1:] == code[:-1], np.minimum(np.diff(when), window + 1), window + 1)
    line = np.cumsum(line)
    count = np.searchsorted(line, line + window, side="right") - np.arange(len(order)) - 1
    in_block = np.bincount(code, count).astype(np.int64)
    threshold = max(threshold, _LEAST)
    few = in_block[code] <= _FEW
    found = [_one_by_one(matrix, places, order, np.where(few, count, 0), threshold)]
    for number in np.flatnonzero(in_block > _FEW).tolist():
        at = np.flatnonzero(code == number)
        found += _striped(matrix, places, order[at], count[at], threshold)
    i, j, cosine = (np.concatenate(column) for column in zip(*found, strict=True))
    numbers["blocks"] = numbers.get("blocks", 0) + len(in_block)
    numbers["pairs within the window"] = numbers.get("pairs within the window", 0) + int(count.sum())
    numbers["near pairs"] = numbers.get("near pairs", 0) + len(i)
    return i, j, cosine


def at_any_time(
    live: pa.Table,
    texts: Sequence[str],
    rank: Ints,
    matrix: NDArray[np.floating],
    places: Ints,
    threshold: float,
    numbers: dict[str, int],
) -> Pairs:
    """The same at any distance in time; pairs may come from both ends, the first row being the one that may take the other.

    Copies of a text (equal keys) are led by the one of the lowest ``rank`` (n,), which has a cosine of 1 with them; only leaders are
    compared, and what is near a leader is so to its copies. Texts are compared when their figures are the same. Cost: that of
    ``pairs_above`` in each block; where more than some ``FEW`` pairs are near, of ``neighbours``, and what lies beyond is left out.
    """
    figures = pa.array([figures_of(text) for text in texts], pa.large_string())
    block = _packed(blocks(live), _codes(figures))
    copies = _packed(block, _codes(keys(pa.array(texts, pa.large_string()))))
    order = np.lexsort((rank, copies))
    first = np.ones(len(order), bool)
    first[1:] = copies[order][1:] != copies[order][:-1]
    leader = np.empty(len(order), np.int64)
    leader[order] = order[first][np.cumsum(first) - 1]
    behind = np.flatnonzero(leader != np.arange(len(leader)))
    found: list[Pairs] = [(leader[behind], behind, np.ones(len(behind), np.float32))]
    leaders = order[first]
    leaders = leaders[np.argsort(block[leaders], kind="stable")]
    size = np.bincount(block[leaders], minlength=1)
    few = size * (size - 1) // 2 <= _FEW
    small = leaders[few[block[leaders]]]
    count = _following(block[small])
    threshold = max(threshold, _LEAST)
    i, j, cosine = _one_by_one(matrix, places, small, count, threshold)
    found += _both(i, j, cosine)
    numbers["pairs compared"] = numbers.get("pairs compared", 0) + int((size * (size - 1) // 2).sum())
    for number in np.flatnonzero(~few).tolist():
        rows = leaders[block[leaders] == number]
        i, j, cosine = _all_pairs(matrix, places[rows], threshold, numbers)
        found += _both(rows[i], rows[j], cosine)
    numbers["copies"] = numbers.get("copies", 0) + len(behind)
    numbers["near pairs"] = numbers.get("near pairs", 0) + sum(len(c) for _, _, c in found[1:]) // 2
    return _with_copies(found, leader, behind)


def _all_pairs(matrix: NDArray[np.floating], places: Ints, threshold: float, numbers: dict[str, int]) -> Pairs:
    """All near pairs of a crowded block, or those of the nearest where they are too many."""
    n = len(places)
    numbers.setdefault("blocks with the nearest only", 0)
    possible = n * (n - 1) / 2
    if possible <= FEW or share_above(matrix, threshold, rows=places) * possible <= FEW:
        return pairs_above(matrix, threshold, places)
    numbers["blocks with the nearest only"] += 1
    return pairs_of(*neighbours(matrix, NEAREST, threshold, places))


def _both(i: Ints, j: Ints, cosine: Floats) -> list[Pairs]:
    return [(i, j, cosine), (j, i, cosine)]


def _with_copies(found: list[Pairs], leader: Ints, behind: Ints) -> Pairs:
    """What a leader may take, it may take with all its copies."""
    i, j, cosine = (np.concatenate(c) for c in zip(*found, strict=True))
    order = np.argsort(leader[behind], kind="stable")
    of, rows = leader[behind][order], behind[order]
    low, high = np.searchsorted(of, j, "left"), np.searchsorted(of, j, "right")
    near = leader[i] != leader[j]  # a copy is behind its leader already
    count = np.where(near, high - low, 0)
    at = np.repeat(low, count) + np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return (
        np.concatenate([i, np.repeat(i, count)]),
        np.concatenate([j, rows[at]]),
        np.concatenate([cosine, np.repeat(cosine, count)]),
    )


def _following(code: Ints) -> Ints:
    """(n,) sorted codes → for each row how many of its own follow it."""
    return np.searchsorted(code, code, side="right") - np.arange(len(code)) - 1


def _codes(column: pa.Array) -> Ints:
    return column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _packed(a: Ints, b: Ints) -> Ints:
    """Equal where both are."""
    _, packed = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_inverse=True)
    return packed.astype(np.int64)


def _one_by_one(matrix: NDArray[np.floating], places: Ints, order: Ints, count: Ints, threshold: float) -> Pairs:
    """The same for blocks of few pairs, all of them at once: each row of ``order`` with the ``count`` rows that follow it."""
    a = np.repeat(np.arange(len(order)), count)
    b = a + 1 + np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count)
    used, compact = np.unique(np.concatenate([a, b]), return_inverse=True)
    units, kept = unit_rows(matrix[places[order[used]]])
    at = np.full(len(used), -1)
    at[kept] = np.arange(len(kept))
    x, y = at[compact[: len(a)]], at[compact[len(a) :]]
    sound = (x >= 0) & (y >= 0)
    cosine = cosines(units, x[sound], y[sound])
    near = cosine >= threshold
    return order[a[sound][near]], order[b[sound][near]], cosine[near]


def _striped(matrix: NDArray[np.floating], places: Ints, rows: Ints, count: Ints, threshold: float) -> Iterator[Pairs]:
    """The same for one crowded block, ``rows`` of it by their start: a stripe of them at a time with all that its windows reach."""
    height = max(_STRIPE, int(count.max()))
    for top in range(0, len(rows), height):
        last = min(top + height, len(rows)) - 1
        stripe = rows[top : last + 1 + count[last]]
        a, b, cosine = pairs_above(matrix, threshold, places[stripe])
        inside = (a < height) & (b - a <= count[np.minimum(top + a, last)])
        yield stripe[a[inside]], stripe[b[inside]], cosine[inside]


def blocks(live: pa.Table) -> Ints:
    """(n,): equal for memories that have all of ``ALIKE`` in common, composed letters being equal to decomposed ones."""
    code = np.zeros(len(live), np.int64)
    for column in ALIKE:
        own = pc.utf8_normalize(live[column].combine_chunks(), form="NFC").dictionary_encode()
        mixed = code * max(len(own.dictionary), 1) + own.indices.to_numpy(zero_copy_only=False)
        _, code = np.unique(mixed, return_inverse=True)
    return code
