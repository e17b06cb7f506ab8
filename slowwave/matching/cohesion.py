"""Cohesive groups: rows every two of which are near each other, out of pairs that are.

Chains do not carry: a near b and b near c make no group of a and c. Which rows are compared, and what a group is good for, belongs to
the callers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def cohesive_groups(
    matrix: NDArray[np.floating], i: Ints, j: Ints, cosine: NDArray[np.floating], floor: float, most: int = 50
) -> list[list[int]]:
    """Groups of at least two rows of (n, d) unit vectors, each sorted, by their first row.

    Pairs (p,) are joined the nearest first (complete linkage, greedy): two groups become one where every row of the one has a cosine ≥
    ``floor`` with every row of the other, and where ``most`` rows are not exceeded. The pairs need not be all there are: what they
    leave out is looked up in the matrix. Time: p · log p, and for each pair the product of two groups of at most ``most`` rows.
    """
    group: dict[int, list[int]] = {}
    order = np.lexsort((j, i, -cosine))
    refused: set[tuple[int, int]] = set()
    for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True):
        one, two = group.get(a, [a]), group.get(b, [b])
        if one is two or len(one) + len(two) > most:
            continue
        ends = (min(one[0], two[0]), max(one[0], two[0]))
        if ends in refused:
            continue
        if len(one) + len(two) > 2 and float((matrix[one] @ matrix[two].T).min()) < floor:
            refused.add(ends)  # groups only grow, so what is too far apart stays so
            continue
        whole = sorted([*one, *two])
        group.update(dict.fromkeys(whole, whole))
    found = {id(g): g for g in group.values()}
    return sorted(found.values())
