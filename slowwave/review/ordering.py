"""In which order questions are asked: first those whose answer settles most.

What an answer tells is its uncertainty, the entropy of the probability that it is yes, times what hangs on it: the questions of rows that
hang together with its own, and those that look like it, of which each further answer tells less. That is uncertainty sampling, weighed by
density (Settles, Active Learning, 2012, 5.2). Where a probability says nothing of the question, as of a lost value, each is as open as any
other.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.plans.ledger import StoredItem

Likeness = tuple[object, ...]
"""What two questions have in common that look alike."""


def information(items: Sequence[StoredItem], likely: Mapping[str, float] | None = None) -> dict[str, float]:
    """Item → how much its answer settles, at least 0 and without a unit: larger is asked first. Cost: linear in rows, n log n in items.

    ``likely`` says of some items how probable a yes is by now; the others are as likely as the plan has them.
    """
    known = likely or {}
    open_ = {s.id: _entropy(known[s.id]) if s.id in known else uncertainty(s) for s in items}
    together = _together(items)
    kinds = {s.id: likeness(s) for s in items}
    alike = Counter(kinds.values())
    asked: Counter[Likeness] = Counter()
    told: dict[str, float] = {}
    for s in sorted(items, key=lambda s: (-open_[s.id], s.id)):
        kind = kinds[s.id]
        asked[kind] += 1
        told[s.id] = open_[s.id] * (together[s.id] + (alike[kind] - asked[kind]) / asked[kind])
    return told


def uncertainty(item: StoredItem) -> float:
    """Entropy of the answer in bits, 0 to 1."""
    return _entropy(item.probability) if item.question == "same" else 1.0


def _entropy(p: float) -> float:
    return -p * log2(p) - (1 - p) * log2(1 - p) if 0 < p < 1 else 0.0


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
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for n, s in enumerate(items):
        for row in _rows(s):
            ends[n].append(at.setdefault(row, len(at)))
    i = np.array([n for n, rows in ends.items() for _ in rows], np.int64)
    j = np.array([row for rows in ends.values() for row in rows], np.int64)
    size = len(items) + len(at)
    graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j + len(items))), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=False)
    label = label[: len(items)]
    counts = np.bincount(label) if len(items) else np.zeros(0, np.int64)
    return {s.id: int(counts[label[n]]) for n, s in enumerate(items)}


def _rows(item: StoredItem) -> set[str]:
    """The rows that an item is about, by id."""
    mutation: Any = json.loads(item.mutation)
    keep = [mutation["keep"]] if mutation.get("keep") else []
    named = [*keep, *(mutation.get("absorb") or ()), *(mutation.get("rows") or ())]
    return {str(row["id"]) for row in named}
