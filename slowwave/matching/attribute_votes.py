"""What attributes say of pairs beside their weight: that an identifier is in conflict or equal, and how many speak for or against.

``slowwave.matching.evidence`` weighs the same comparisons; what forbids a merge belongs to ``slowwave.matching.vetoes``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.attributes import CODES, IDENTIFIERS, Column
from slowwave.matching.comparisons import FIELDS, TABLES, Comparer
from slowwave.matching.weights import Weights

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

HEARD: Final = 0.25
"""Nats from which an attribute speaks for a match, and what tells things apart against one."""

_AGAINST: Final = float(np.log(2))  # nats from which what describes a thing does: it differs half as often in matches
_RELIABLE: Final = 0.02  # an identifier in which fewer matches differ is strong
_BIRTH: Final = re.compile(r"birth|born|dob", re.IGNORECASE)


def identifiers(columns: Sequence[Column], weights: Weights, levels: NDArray[np.int8]) -> tuple[Flags, Flags]:
    """Whether a strong identifier is in conflict, and whether an identifier is equal; ``levels`` (p, columns).

    A slip of the pen is no conflict where it was learnt that slips occur.
    """
    contested, identified = (np.zeros(len(levels), bool) for _ in range(2))
    for k, column in enumerate(columns):
        if column.shape in IDENTIFIERS:
            identified |= levels[:, k] == len(weights.m[k + FIELDS]) - 1
        if strong(column, weights, k + FIELDS):
            slips = 0 if weights.learnt else len(weights.m[k + FIELDS]) - 2
            contested |= (levels[:, k] >= 0) & (levels[:, k] <= slips)
    return contested, identified


def own_equal(comparer: Comparer, own: Sequence[bool], levels: NDArray[np.int8]) -> Flags:
    """Whether a column that is its holder's ``own`` is equal; ``levels`` (p, columns)."""
    tops = [
        levels[:, k] >= len(TABLES[c.shape]) - 1 - (c.shape == "date") for k, c in enumerate(comparer.columns) if own[k]
    ]
    return np.logical_or.reduce([np.zeros(len(levels), bool), *tops])


def opposing(columns: Sequence[Column]) -> Reals:
    """Nats from which each column (columns,) speaks against a match: identifiers and dates are there to tell things apart."""
    return np.array([HEARD if c.shape in (*IDENTIFIERS, "date") else _AGAINST for c in columns])


def votes(parts: Reals, against: Reals | float) -> tuple[Ints, Ints]:
    """How many attributes speak against a match, by so many nats, and for it, (p,) each; ``parts`` (p, columns) are their weights."""
    return (parts <= -against).sum(axis=1), (parts >= HEARD).sum(axis=1)


def strong(column: Column, weights: Weights, k: int) -> bool:
    """Whether two values of a column stand for two things: matches hardly ever differ in it. Its shape decides while nothing is
    learnt, what was seen then, so that a number which is often mistyped forbids nothing."""
    if column.key == CODES or (column.serial and column.shape != "email"):  # names have their own vetoes
        return False
    if weights.learnt:
        return column.shape in (*IDENTIFIERS, "date") and float(weights.m[k][0]) <= _RELIABLE
    return column.shape in ("email", "url", "code") or (column.shape == "date" and bool(_BIRTH.search(column.key)))
