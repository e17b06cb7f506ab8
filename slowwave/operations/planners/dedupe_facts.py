"""``dedupe_facts``: facts that state the same in a different spelling become one.

Facts are the same if subject, predicate and object are equal by ``slowwave.text.keys``, without a difference in a number, a date or a
negation by ``slowwave.text.contradictions``, or in a sign or the case of a code by ``slowwave.text.forms``. No vector and no model is
used. ``supersede_facts`` decides which fact replaces which.

The planner proposes merges of live, active facts of one subject, predicate and object, and one end in the world.

The survivor is the fact with the greatest confidence, else the earliest start (no start means since ever), else the smallest id. Two
facts with another object between them in time are no duplicates, unless the predicate takes many: the world returned to an earlier state.
Cost: a sort of the facts; only groups of two or more are checked one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.merges import Alike, merge_facts
from slowwave.changes.rows import live_ids
from slowwave.operations import Inputs, Proposal
from slowwave.operations.rejections import conflicting_pairs, rejected_pairs
from slowwave.operations.scoring import weigh
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.rows import SAYS, current_facts, live_facts, recorded_facts, topics
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.contradictions import difference
from slowwave.text.forms import other_code, other_signs
from slowwave.text.specifics import may_have_specifics, specifics

OPERATION: Final = "dedupe_facts"
_SOURCES: Final = 10
_SAID: Final = (*SAYS, "fact_text")
_READ: Final = 8_192

_Fields = Mapping[str, Any]
_CannotLink = frozenset[tuple[str, str]]


def dedupe_facts(inputs: Inputs) -> Proposal:
    """Propose to merge facts that state the same in another spelling; the fact with the highest confidence stays."""
    snapshot = inputs.snapshot
    groups, returned = _groups(snapshot)
    live = len(live_facts(snapshot))
    cannot_link = rejected_pairs(snapshot, OPERATION, "memory_facts") | conflicting_pairs(snapshot, "memory_facts")
    read = lru_cache(_READ)(specifics)
    merges: list[tuple[_Fields, ...]] = []
    numbers = {"forbidden by a rejection or conflict": 0, "differing in specifics": 0}
    for group in groups:
        merges += _split(group, cannot_link, read, numbers)
    mutations = merge_facts(snapshot, [Alike(m[0]["id"], tuple(r["id"] for r in m[1:])) for m in merges])
    live_chunks = live_ids(snapshot, "chunks") if merges else frozenset[str]()
    proposed = tuple(
        ask_unless_measured(
            Item(OPERATION, Decision.MERGE, mutation, evidence=_evidence(rows), sources=_sources(rows, live_chunks)),
            "equal words",
        )
        for rows, mutation in zip(merges, mutations, strict=True)
    )
    gone = sum(len(i.mutation.absorb) for i in proposed)
    return Proposal(
        proposed,
        Report(
            OPERATION,
            f"{gone:,} of {live:,} live facts say what another says and would become part of it.",
            numbers={
                "live facts": live,
                "groups that say the same": len(groups),
                "facts in them": sum(map(len, groups)),
                "subjects that went back to an object": returned,
                **numbers,
                "items": len(proposed),
                "facts that would be absorbed": gone,
            },
        ),
    )


def _groups(snapshot: Snapshot) -> tuple[list[tuple[_Fields, ...]], int]:
    """Return live facts that state the same, the best survivor first.

    Also return how many topics went back to an object after another one.
    """
    facts, live = current_facts(snapshot), len(live_facts(snapshot))  # those that hold come first
    if live < 2:
        return [], 0
    topic, object_ = topics(facts)
    run, returned = _runs(topic, object_, _instants(facts["valid_from"]), _takes_one(facts, topic, snapshot))
    columns = [c[:live] for c in (topic, object_, run, _instants(facts["valid_to"]))]
    order = np.lexsort(columns[::-1])
    new = np.ones(live, bool)
    new[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in columns])
    group = np.cumsum(new) - 1
    several = np.bincount(group)[group] > 1
    names = ("id", *_SAID, "confidence", "valid_from", "source_chunk_ids")
    rows = facts.select(names).take(pa.array(order[several])).to_pylist()
    found: dict[int, list[_Fields]] = {}
    for number, row in zip(group[several].tolist(), rows, strict=True):
        found.setdefault(number, []).append(row)
    return [tuple(sorted(g, key=_first)) for g in found.values()], returned


def _takes_one(facts: pa.Table, topic: np.ndarray, snapshot: Snapshot) -> np.ndarray:
    """Return (n,) whether the fact's predicate may take one object at a time; if the data do not show it, it may."""
    recorded = recorded_facts(snapshot)
    many = [s for p in weigh(*(recorded[c] for c in SAYS)) if p.verdict == "many" for s in p.spellings]
    several = pc.is_in(facts["predicate"], value_set=pa.array(many, pa.string())).to_numpy()
    return ~np.isin(topic, topic[several])  # another spelling of the predicate takes many as well


def _runs(topic: np.ndarray, object_: np.ndarray, start: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, int]:
    """Return (n,) equal numbers for facts of one topic and object that no other object separates in time.

    Also return how many topics were separated.
    """
    order = np.lexsort((object_, start, topic))
    change = np.zeros(len(order), np.int64)
    change[1:] = (topic[order][1:] != topic[order][:-1]) | (object_[order][1:] != object_[order][:-1])
    run = np.zeros(len(order), np.int64)
    run[order] = np.cumsum(change)
    run[~one] = -1
    pairs = np.unique(np.column_stack([topic, object_, run])[one], axis=0)
    again = (pairs[1:, :2] == pairs[:-1, :2]).all(axis=1)
    return run, len(np.unique(pairs[1:, 0][again]))


def _first(row: _Fields) -> tuple[float, bool, Any, str]:
    """Return the sort key that puts the best survivor first; a fact without a start has always held."""
    start = row["valid_from"]
    return (-row["confidence"], start is not None, start.timestamp() if start else 0.0, row["id"])


def _split(
    group: Sequence[_Fields], cannot_link: _CannotLink, read: Any, numbers: dict[str, int]
) -> list[tuple[_Fields, ...]]:
    """Split the group into merges: each row joins the first merge without a cannot-link or a different specific."""
    if not cannot_link and all(group[0][c] == row[c] for row in group[1:] for c in _SAID):
        return [tuple(group)]
    parts: list[list[_Fields]] = []
    for row in group:
        for part in parts:
            if any(_pair(row, other) in cannot_link for other in part):
                numbers["forbidden by a rejection or conflict"] += 1
            elif any(_differ(row, other, read) for other in part):
                numbers["differing in specifics"] += 1
            else:
                part.append(row)
                break
        else:
            parts.append([row])
    return [tuple(part) for part in parts if len(part) > 1]


def _pair(a: _Fields, b: _Fields) -> tuple[str, str]:
    return (a["id"], b["id"]) if a["id"] < b["id"] else (b["id"], a["id"])


def _differ(a: _Fields, b: _Fields, read: Any) -> bool:
    """Return whether equal keys hide a difference in a number, date, negation or sign, or a contradiction of their sentences.

    A sentence that merely states more is no difference: the plan's probe checks what a merge would lose.
    """
    if any(
        x != y and (_other_specifics(x, y, read) or other_signs(x, y) or other_code(x, y))
        for x, y in ((a[c], b[c]) for c in SAYS)
    ):
        return True
    x, y = a["fact_text"] or "", b["fact_text"] or ""
    return x != y and may_have_specifics(x) and may_have_specifics(y) and _clash(read(x), read(y))


def _other_specifics(x: str, y: str, read: Any) -> bool:
    if not (may_have_specifics(x) or may_have_specifics(y)):
        return False
    p, q = read(x), read(y)
    return p.figures() != q.figures() or p.negations != q.negations or _clash(p, q)


def _clash(p: Any, q: Any) -> bool:
    found = difference(p, q)
    return found is not None and found.degree == "conflict"


def _instants(column: pa.ChunkedArray) -> np.ndarray:
    """Return (n,) microseconds; null sorts before every time."""
    return pc.fill_null(column.cast(pa.int64()), np.iinfo(np.int64).min).to_numpy()


def _evidence(merged: Sequence[_Fields]) -> dict[str, object]:
    rows = (merged[0], *sorted(merged[1:], key=lambda row: row["id"]))  # in the order of the mutation
    return {
        "names": [" ".join(r[c] for c in SAYS) for r in rows],
        "confidence": [r["confidence"] for r in rows],
        "valid_from": [r["valid_from"].isoformat() if r["valid_from"] else None for r in rows],
    }


def _sources(rows: Sequence[_Fields], live_chunks: frozenset[str]) -> tuple[str, ...]:
    """Return the first live chunks from which the facts come."""
    return tuple(dict.fromkeys(c for r in rows for c in r["source_chunk_ids"] or () if c in live_chunks))[:_SOURCES]
