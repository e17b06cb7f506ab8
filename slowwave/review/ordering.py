"""In which order questions are asked: first those whose answer settles most.

Whether rows are one thing, a yes settles for all rows that merge with either, and a no for hardly more than the two: so such a question is
worth how likely yes is by now, times the square root of the pairs of rows that it settles, which is the geometric mean of the sizes of two
groups. That is an expected gain, of which the root takes some from large groups, as one wrong row in them makes their questions vain. Tried
were uncertainty (alone, and times the pairs), the probability alone, and times all pairs: ``docs/review.md`` has the figures.

Of other questions, as whether a value may be lost, no probability tells anything, so each is as open as any other: they are worth what
hangs on them, the questions of rows that hang together with their own, and those that look like them, of which each further answer tells
less. That is density (Settles, Active Learning, 2012, 5.2).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.plans.ledger import StoredItem
from slowwave.review.drafts import Draft

Likeness = tuple[object, ...]
"""What two questions have in common that look alike."""

_Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


def information(
    items: Sequence[StoredItem],
    likely: Mapping[str, float] | None = None,
    *,
    merges: Sequence[StoredItem] = (),
    drafts: Mapping[str, Draft] | None = None,
) -> dict[str, float]:
    """Item → how much its answer settles, at least 0 and without a unit: larger is asked first, among questions of one kind.

    ``likely`` says of some items how probable a yes is by now; the others are as likely as the plan has them. Groups of rows are those that
    ``merges``, items that need no person, and the yes among ``drafts`` make. What is drafted keeps the worth that it had without drafts.
    Cost: linear in rows, n log n in items.
    """
    known, said = likely or {}, drafts or {}
    same = [s for s in items if s.question == "same"]
    worth = _hanging([s for s in items if s.question != "same"])
    yes = [s for s in same if s.id in said and said[s.id].verdict == "yes" and not said[s.id].against]
    before, after = _settled(same, merges), _settled(same, [*merges, *yes])
    for s, alone, now in zip(same, before.tolist(), after.tolist(), strict=True):
        worth[s.id] = known.get(s.id, s.probability) * (alone if s.id in said else now) ** 0.5
    return worth


def _settled(items: Sequence[StoredItem], merges: Sequence[StoredItem]) -> NDArray[np.int64]:
    """Pairs of rows (items,) that a yes joins: all between the groups of each item's rows that ``merges`` leave, 0 where that is one."""
    at: dict[str, int] = {}
    of, row = _edges([*items, *merges], at)
    merging = of >= len(items)
    n = len(at)
    graph = sparse.coo_matrix(
        (np.ones(merging.sum(), np.int8), (of[merging] - len(items) + n, row[merging])), shape=(n + len(merges),) * 2
    )
    _, label = csgraph.connected_components(graph, directed=False)
    size = np.bincount(label[:n], minlength=len(label))
    groups = np.unique(np.column_stack([of[~merging], label[row[~merging]]]), axis=0)
    sizes = size[groups[:, 1]]
    total = np.bincount(groups[:, 0], weights=sizes, minlength=len(items))
    return ((total**2 - np.bincount(groups[:, 0], weights=sizes**2, minlength=len(items))) / 2).astype(np.int64)


def _hanging(items: Sequence[StoredItem]) -> dict[str, float]:
    """Item → how many questions hang together with it or look like it."""
    together = _together(items)
    kinds = {s.id: likeness(s) for s in items}
    alike = Counter(kinds.values())
    asked: Counter[Likeness] = Counter()
    told: dict[str, float] = {}
    for s in sorted(items, key=lambda s: s.id):
        kind = kinds[s.id]
        asked[kind] += 1
        told[s.id] = together[s.id] + (alike[kind] - asked[kind]) / asked[kind]
    return told


def likeness(item: StoredItem) -> Likeness:
    """Operation and question, with what speaks for and against, and why it is asked, as its evidence has it; not what rows say."""
    evidence: Any = json.loads(item.evidence)
    found = evidence.get("waterfall") if isinstance(evidence, Mapping) else None
    steps = [step for step in found if isinstance(step, Mapping)] if isinstance(found, list) else []
    signs = tuple(sorted({(str(step.get("evidence")), float(step.get("weight", 0)) > 0) for step in steps}))
    reason = str(evidence.get("reason", "")) if isinstance(evidence, Mapping) else ""
    return item.operation, item.question, item.kind, signs, reason if steps else ""


def _together(items: Sequence[StoredItem]) -> dict[str, int]:
    """Item → how many items hang together with it through the rows that they name, itself included."""
    at: dict[str, int] = {}
    i, j = _edges(items, at)
    size = len(items) + len(at)
    graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j + len(items))), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=False)
    label = label[: len(items)]
    counts = np.bincount(label) if len(items) else np.zeros(0, np.int64)
    return {s.id: int(counts[label[n]]) for n, s in enumerate(items)}


def _edges(items: Sequence[StoredItem], at: dict[str, int]) -> _Edges:
    """Items by place beside the rows that they name, by a number that ``at`` keeps."""
    ends = [(n, at.setdefault(row, len(at))) for n, s in enumerate(items) for row in sorted(_rows(s))]
    edges = np.array(ends, np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _rows(item: StoredItem) -> set[str]:
    """The rows that an item is about, by id."""
    mutation: Any = json.loads(item.mutation)
    keep = [mutation["keep"]] if mutation.get("keep") else []
    named = [*keep, *(mutation.get("absorb") or ()), *(mutation.get("rows") or ())]
    return {str(row["id"]) for row in named}
