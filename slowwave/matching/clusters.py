"""Groups of rows that become one: clusters that grow along pairs that may merge and resist chaining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Clusters that resist chaining: they grow around cores, along the pairs that may merge, strongest first.
#
# The core of a cluster consists of up to six members, those that joined first in each of its parts. Two clusters join only if no pair
# across them is forbidden and two in three of the pairs across their cores agree. So a chain of near pairs never becomes one cluster, and a
# bridge between two cores is refused. The caller defines which pairs are forbidden and which agree.

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Says = Callable[[Ints, Ints], Flags]
"""(p,), (p,) row numbers, smaller first → flag for each pair."""

CORE: Final = 6
QUORUM: Final = 2 / 3
_MOST: Final = 30.0  # log-odds above which an edge has no more weight


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of rows.

    ``label`` (n,) is the smallest row of each row's cluster. ``joined`` (edges,) flags the edges that joined two clusters, and
    ``refused`` (edges,) the edges that would have joined clusters which do not agree.
    """

    label: Ints
    joined: Flags
    refused: Flags


def once(says: Says, n: int, most: int = 1_000_000) -> Says:
    """Wrap ``says`` so that it is called once for each pair of n rows, as long as at most ``most`` answers are stored.

    Clusters that are grown again, and clusters that have grown since they were last tried, ask about the same pairs.
    """
    keys, known_answers = np.zeros(0, np.int64), np.zeros(0, bool)

    def answer(i: Ints, j: Ints) -> Flags:
        nonlocal keys, known_answers
        wanted, back = np.unique(i * n + j, return_inverse=True)
        at = np.searchsorted(keys, wanted)
        known = np.zeros(len(wanted), bool)
        known[at < len(keys)] = keys[at[at < len(keys)]] == wanted[at < len(keys)]
        found = np.zeros(len(wanted), bool)
        found[known] = known_answers[at[known]]
        new = wanted[~known]
        if len(new):
            found[~known] = says(new // n, new % n)
            if len(keys) + len(new) <= most:
                keys, known_answers = (
                    np.insert(keys, at[~known], new),
                    np.insert(known_answers, at[~known], found[~known]),
                )
        return found[back]

    return answer


def grow(
    n: int, i: Ints, j: Ints, forbids: Says, agrees: Says, start: Ints | None = None, unanimous: int = 0
) -> Clusters:
    """Join n rows along edges (i, j), given strongest first.

    ``start`` (n,) is the smallest row of groups that are joined already. With ``unanimous``, at least that many pairs across two cores
    must exist, and all of them must agree.

    The algorithm works in rounds: every cluster names its strongest open edge, and edges named from both sides are tried at once, which
    gives the same clusters as one edge at a time. An edge whose clusters do not agree stays refused. ``forbids`` is called for every pair
    that would be in one cluster, so the cost grows with the sum of squared cluster sizes. ``agrees`` is called for at most 36 pairs per
    try.
    """
    label = np.arange(n) if start is None else start.copy()
    order = np.argsort(label, kind="stable")
    place = np.arange(n) - np.searchsorted(label[order], label[order])
    first = place < CORE
    core = np.full((n, CORE), -1)
    core[label[order[first]], place[first]] = order[first]
    size = np.maximum(np.bincount(label, minlength=n), 1)
    joined, refused = np.zeros(len(i), bool), np.zeros(len(i), bool)
    edges = np.arange(len(i))  # the open edges, fewer in every round
    while True:
        a, b = label[i[edges]], label[j[edges]]
        still = a != b
        edges, a, b = edges[still], np.minimum(a[still], b[still]), np.maximum(a[still], b[still])
        if not len(edges):
            return Clusters(label, joined, refused)
        best = np.full(n, len(i))
        best[b[::-1]] = edges[::-1]  # in reverse, so that the first edge is written last
        first = np.full(n, len(i))
        first[a[::-1]] = edges[::-1]
        np.minimum(best, first, out=best)
        both = (best[a] == edges) & (best[b] == edges)
        tried, left, right = edges[both], a[both], b[both]
        good = _quorum(core, left, right, agrees, unanimous)
        good[good] = _allowed(label, left[good], right[good], forbids)
        joined[tried[good]] = True
        against = np.isin(a * n + b, left[~good] * n + right[~good])
        refused[edges[against]] = True
        edges = edges[~against]
        left, right = left[good], right[good]
        core[left] = _first(core[left], core[right], size[left], size[right])
        size[left] += size[right]
        to = np.arange(n)
        to[right] = left
        label = to[label]


def ambiguous_rows(grown: Clusters, i: Ints, j: Ints, odds: NDArray[np.float64], margin: float) -> Flags:
    """Flag the rows (n,) that belong to two clusters almost equally well.

    The odds of a row's refused edges together are within ``margin`` (log-odds) of the odds of its edges into its own cluster, so many
    suitable rows count for more than one. The right cluster cannot be decided, so such a row should join neither without review.
    """
    n = len(grown.label)
    own, other = np.zeros(n), np.zeros(n)
    inside = grown.label[i] == grown.label[j]
    likely = np.exp(np.clip(odds, -_MOST, _MOST))
    for rows in (i, j):
        np.add.at(own, rows[inside], likely[inside])
        np.add.at(other, rows[grown.refused & ~inside], likely[grown.refused & ~inside])
    return (other > 0) & (other * np.exp(margin) >= own)


def _first(one: Ints, other: Ints, sizes: Ints, other_sizes: Ints) -> Ints:
    """Return the core of two joined clusters: members of both cores in proportion to the cluster sizes.

    A single row that joins many does not change the core, and two halves of equal size are both represented.
    """
    turn = np.arange(1, CORE + 1)
    turns = np.concatenate([turn / sizes[:, None], turn / other_sizes[:, None]], axis=1)
    both = np.concatenate([one, other], axis=1)
    order = np.argsort(np.where(both < 0, np.inf, turns), axis=1, kind="stable")
    return np.take_along_axis(both, order, axis=1)[:, :CORE]


def _quorum(core: Ints, a: Ints, b: Ints, agrees: Says, unanimous: int) -> Flags:
    """Return whether enough of the pairs across the cores of clusters ``a`` and ``b`` agree."""
    x = np.repeat(core[a], CORE, axis=1).ravel()
    y = np.tile(core[b], (1, CORE)).ravel()
    of = np.repeat(np.arange(len(a)), CORE * CORE)
    real = (x >= 0) & (y >= 0)
    x, y, of = x[real], y[real], of[real]
    good = agrees(np.minimum(x, y), np.maximum(x, y))
    agreed, pairs = np.bincount(of, weights=good, minlength=len(a)), np.bincount(of, minlength=len(a))
    return (agreed >= (1.0 if unanimous else QUORUM) * pairs - 1e-9) & (pairs >= unanimous)


def _allowed(label: Ints, a: Ints, b: Ints, forbids: Says) -> Flags:
    """Return whether no pair across clusters ``a`` and ``b`` (labels) is forbidden."""
    k = len(a)
    if not k:
        return np.zeros(0, bool)
    order = np.argsort(label, kind="stable")
    start = np.searchsorted(label[order], np.r_[a, b], side="left")
    size = np.searchsorted(label[order], np.r_[a, b], side="right") - start
    width, pairs = size[k:], size[:k] * size[k:]
    offset = np.cumsum(pairs) - pairs
    step = np.arange(pairs.sum()) - np.repeat(offset, pairs)
    left = order[np.repeat(start[:k], pairs) + step // np.repeat(width, pairs)]
    right = order[np.repeat(start[k:], pairs) + step % np.repeat(width, pairs)]
    return ~np.logical_or.reduceat(forbids(np.minimum(left, right), np.maximum(left, right)), offset)


# Groups of rows that become one: along the pairs that may merge, then across likely pairs that support each other, and around the answers
# of people.
#
# Without answers, the evidence alone makes a group. With answers, the groups that the evidence made before and that are still likely are
# first joined to the rows of each yes, so a yes joins two whole groups. The members of such a group need not agree again, since one answer
# counts for every pair between the two. Forbidden pairs stay apart: no group contains two rows that a no, a rejection, a conflict or a rule
# separates. So a no splits the group that it is about, and a row that suits two parts almost equally joins neither. The pairs that the
# answers made likely come last.

Reals = NDArray[np.float64]

BORNE_OUT: Final = 3
"""Number of pairs across the cores of two clusters that replace a pair with a certain score, if they all agree."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Groups of rows.

    ``label`` (n,) is the smallest row of each row's group. ``joined`` holds the positions of the pairs that hold the groups together, in
    addition to those joined at the start. ``refused`` (p,) flags the pairs that would join groups which do not agree.
    """

    label: Ints
    joined: Ints
    refused: Flags


class Within(NamedTuple):
    """Pairs of rows i < j (p,) that were in one group before any person was asked."""

    i: Ints
    j: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The pairs (i, j) (p,) of n rows that may form groups, strongest first, with their log-odds ``odds`` (p,).

    ``edges`` are the positions of the pairs that may merge by themselves, ``likely`` of those that may merge if other pairs support them.
    ``margin`` is the log-odds by which one group must suit a row better than another.
    """

    n: int
    i: Ints
    j: Ints
    odds: Reals
    edges: Ints
    likely: Ints
    margin: float

    def grown(self, forbids: Says, agrees: Says, start: Ints | None = None) -> Grouped:
        """Return the groups that the pairs form, beginning with the groups at the ``start`` (n,)."""
        i, j, edges = self.i, self.j, self.edges
        grown = grow(self.n, i[edges], j[edges], forbids, agrees, start)
        ambiguous = ambiguous_rows(grown, i[edges], j[edges], self.odds[edges], self.margin)
        if ambiguous.any():
            edges = edges[~ambiguous[i[edges]] & ~ambiguous[j[edges]]]
            grown = grow(self.n, i[edges], j[edges], forbids, agrees, start)
        joined = edges[grown.joined]
        refused = np.zeros(len(i), bool)
        refused[edges[grown.refused]] = True
        refused |= ambiguous[i] | ambiguous[j]
        likely = self.likely[~ambiguous[i[self.likely]] & ~ambiguous[j[self.likely]]]
        likely = likely[grown.label[i[likely]] != grown.label[j[likely]]]
        grown = grow(self.n, i[likely], j[likely], forbids, agrees, grown.label, BORNE_OUT)
        return Grouped(grown.label, np.concatenate([joined, likely[grown.joined]]), refused)

    def within(self, grown: Grouped) -> Within:
        """Return the pairs inside one group that may merge by themselves or with the support of other pairs."""
        at = np.union1d(self.edges, grown.joined)
        at = at[grown.label[self.i[at]] == grown.label[self.j[at]]]
        return Within(self.i[at], self.j[at])


def whole(n: int, within: Within, odds: Reals, margin: float, forbids: Says, told: Ints) -> tuple[Ints, Within]:
    """Return the groups of n rows that remain joined after the answers: label (n,), and the pairs that hold them together.

    The returned pairs do not include the answers. ``told`` (n,) are the groups that every yes has joined. ``odds`` (p,) are the log-odds
    of the pairs after the answers; pairs below an even chance no longer hold a group together. ``forbids`` decides which pairs may not be
    in one group after the answers.
    """
    order = np.lexsort((within.j, within.i, -odds))
    order = order[odds[order] >= 0]
    i, j, none = within.i[order], within.j[order], np.zeros(0, np.int64)
    kept = Grouping(n, i, j, odds[order], np.arange(len(order)), none, margin)
    grown = kept.grown(forbids, lambda x, _y: np.ones(len(x), bool), told)
    return grown.label, Within(i[grown.joined], j[grown.joined])
