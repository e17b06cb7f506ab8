"""The probability from which pairs of a type merge: as sure as the expected precision asks, or where the expected F1 is best.

Both rest on the probabilities alone, so they are as good as these are calibrated. Which pairs may merge at all belongs to
``slowwave.matching.match``.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

Aim = Literal["precision", "f1"]
"""What merges are for: to be right as often as the settings ask, or to be the best balance of right and complete."""

FLOOR: Final = 0.9
"""No pair merges for precision under it."""


def of(aim: Aim, kinds: Ints, probabilities: Reals, may: Flags, precision: float) -> Reals:
    """The threshold of each type code; ``kinds``, ``probabilities`` and ``may`` (p,) are those of the pairs worth a look."""
    return of_f1(kinds, probabilities, may) if aim == "f1" else of_precision(kinds, probabilities, may, precision)


def of_precision(kinds: Ints, probabilities: Reals, may: Flags, precision: float) -> Reals:
    """For each type code the lowest probability from which the mean over its pairs that may merge is ``precision``."""
    found = np.full(int(kinds.max(initial=0)) + 1, FLOOR)
    for kind in np.unique(kinds).tolist():
        p = np.sort(probabilities[(kinds == kind) & may])[::-1]
        enough = np.flatnonzero(np.cumsum(p) >= precision * np.arange(1, len(p) + 1) - 1e-12)
        found[kind] = max(FLOOR, float(p[enough[-1]]) if len(enough) else 1.0)
    return found


def of_f1(kinds: Ints, probabilities: Reals, may: Flags) -> Reals:
    """For each type code the probability at which 2 · right / (merged + matches) is largest, all three as expected."""
    found = np.full(int(kinds.max(initial=0)) + 1, FLOOR)
    for kind in np.unique(kinds).tolist():
        p = np.sort(probabilities[(kinds == kind) & may])[::-1]
        matches = float(probabilities[kinds == kind].sum())
        if len(p):
            f1 = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + matches)
            found[kind] = float(p[int(np.argmax(f1))])
    return found
