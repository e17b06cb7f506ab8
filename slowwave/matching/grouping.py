"""Which rows become one: along the pairs that may merge, then where likely pairs bear each other out, and around what people answered.

Without answers a group is what its evidence makes of it (``slowwave.matching.clusters``). With answers it stays that: what was one before
anybody was asked, and is still likely, is joined to the rows of each yes first, so that a yes joins two whole groups. Nothing of such a
group has to agree again, since one answer stands for every pair between the two. What is forbidden stays so: no group holds two rows
that a no, a rejection, a conflict or a rule keeps apart, so a no splits the group that it is about, and a row that suits two parts almost
as well joins neither. Last come the pairs that the answers have made likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.matching import clusters
from slowwave.matching.clusters import Says

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

BORNE_OUT: Final = 3
"""Pairs across the cores of two clusters that make up for a pair that is not sure by itself, if they all agree."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """``label`` (n,): the smallest row of each row's group; ``joined``: the places of the pairs that hold the groups together, beside those
    that were joined at the start; ``refused`` (p,): the pairs that would join groups which do not agree."""

    label: Ints
    joined: Ints
    refused: Flags


class Within(NamedTuple):
    """Pairs of rows i < j (p,) that were within one group before anybody was asked."""

    i: Ints
    j: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The pairs (i, j) (p,) of n rows that may make groups, strongest first, with their log-odds ``odds`` (p,). ``edges`` are the places of
    those that may merge by themselves, ``likely`` of those that may where others bear them out; ``margin`` are the log-odds by which one
    group must suit a row better than another."""

    n: int
    i: Ints
    j: Ints
    odds: Reals
    edges: Ints
    likely: Ints
    margin: float

    def grown(self, forbids: Says, agrees: Says, start: Ints | None = None) -> Grouped:
        """The groups that the pairs make, from those at the ``start`` (n,) on."""
        i, j, edges = self.i, self.j, self.edges
        grown = clusters.grow(self.n, i[edges], j[edges], forbids, agrees, start)
        ambiguous = clusters.ambiguous(grown, i[edges], j[edges], self.odds[edges], self.margin)
        if ambiguous.any():
            edges = edges[~ambiguous[i[edges]] & ~ambiguous[j[edges]]]
            grown = clusters.grow(self.n, i[edges], j[edges], forbids, agrees, start)
        joined = edges[grown.joined]
        refused = np.zeros(len(i), bool)
        refused[edges[grown.refused]] = True
        refused |= ambiguous[i] | ambiguous[j]
        likely = self.likely[~ambiguous[i[self.likely]] & ~ambiguous[j[self.likely]]]
        likely = likely[grown.label[i[likely]] != grown.label[j[likely]]]
        grown = clusters.grow(self.n, i[likely], j[likely], forbids, agrees, grown.label, BORNE_OUT)
        return Grouped(grown.label, np.concatenate([joined, likely[grown.joined]]), refused)

    def within(self, grown: Grouped) -> Within:
        """The pairs that may merge, and those that others bore out, of one group each."""
        at = np.union1d(self.edges, grown.joined)
        at = at[grown.label[self.i[at]] == grown.label[self.j[at]]]
        return Within(self.i[at], self.j[at])


def whole(n: int, within: Within, odds: Reals, margin: float, forbids: Says, told: Ints) -> tuple[Ints, Within]:
    """The groups of n rows that answers leave whole: label (n,), and the pairs that hold them together beside the answers.

    ``told`` (n,) are the groups that every yes has joined, ``odds`` (p,) the log-odds of the pairs after the answers, of which those under
    an even chance hold nothing together any more; ``forbids`` says what may not be one, after the answers."""
    order = np.lexsort((within.j, within.i, -odds))
    order = order[odds[order] >= 0]
    i, j, none = within.i[order], within.j[order], np.zeros(0, np.int64)
    kept = Grouping(n, i, j, odds[order], np.arange(len(order)), none, margin)
    grown = kept.grown(forbids, lambda x, _y: np.ones(len(x), bool), told)
    return grown.label, Within(i[grown.joined], j[grown.joined])
