"""``supersede_facts``: if a predicate takes one object at a time, a later fact ends the earlier one in the world.

``slowwave.operations.scoring`` learns which predicates take one object. If the data are too few but point to it, a person is asked;
otherwise nothing is proposed. ``dedupe_facts`` handles facts that state the same, ``resolve_conflicts`` handles contradictions.

The planner proposes an end for every live, active fact that another one of the same subject and predicate has replaced.

The successor is the first fact with another object that begins strictly later, and not in the future; in a chain each fact is ended by
the next. If facts with different objects begin at that very instant, the successor is undecidable, and nothing is proposed. A pair that a
person has ruled to be no conflict is left alone, and while a conflict is open no one is asked twice. Cost: a sort of the facts.

An end is a question until the verdict about predicates is measured well enough (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Supersession, live_ids
from slowwave.changes.rows import supersede_facts as mutations_of
from slowwave.operations import Inputs, Proposal
from slowwave.operations.rejections import open_conflicts
from slowwave.operations.scoring import Predicate, weigh
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.rows import SAYS, current_facts, live_facts, recorded_facts, successions
from slowwave.snapshots.snapshot import Snapshot

OPERATION: Final = "supersede_facts"
_SOURCES: Final = 10
_SHOWN: Final = 10
_LEANS: Final = 0.75  # share of subjects with one object from which it is worth asking whether the predicate takes one

_Fields = Mapping[str, Any]


def supersede_facts(inputs: Inputs) -> Proposal:
    """Propose to end facts that a later one has replaced, at the time when the later one began."""
    snapshot = inputs.snapshot
    facts, live = current_facts(snapshot), len(live_facts(snapshot))
    recorded = recorded_facts(snapshot)
    found = {s: p for p in weigh(*(recorded[c] for c in SAYS)) for s in p.spellings}
    follow = successions(facts, snapshot.taken_at)
    open_ended = follow.earlier < live  # those that hold come first
    rows = [_rows(facts, ends[open_ended]) for ends in (follow.earlier, follow.later)]
    pairs = list(zip(*rows, strict=True))
    kept, asked_already = _ruled_none(snapshot), open_conflicts(snapshot, "memory_facts")
    takes = [found[a["predicate"]] for a, _ in pairs]
    many = sum(p.verdict == "many" for p in takes)
    leans = [p.verdict == "single" or (p.verdict == "unknown" and p.share >= _LEANS) for p in takes]
    pairs = [pair for pair, one in zip(pairs, leans, strict=True) if one]
    unclear = len(takes) - many - len(pairs)
    ruled = sum(_pair(a, b) in kept for a, b in pairs)
    pairs = [(a, b) for a, b in pairs if _pair(a, b) not in kept]
    asked = [(a, b) for a, b in pairs if found[a["predicate"]].verdict == "single" or _pair(a, b) not in asked_already]
    mutations = mutations_of(snapshot, [Supersession(a["id"], b["id"]) for a, b in asked])
    live_chunks = live_ids(snapshot, "chunks") if asked else frozenset[str]()
    items = tuple(
        _item(a, b, found[a["predicate"]], mutation, live_chunks)
        for (a, b), mutation in zip(asked, mutations, strict=True)
    )
    ended = sum(i.decision == Decision.SUPERSEDE for i in items)
    verdicts = [p.verdict for p in {p.key: p for p in found.values()}.values()]
    return Proposal(
        items,
        Report(
            OPERATION,
            f"{ended:,} of {live:,} live facts were replaced by a later one and would end; "
            f"{len(items) - ended:,} go to a person.",
            numbers={
                "live facts": live,
                "predicates that take one object": verdicts.count("single"),
                "predicates that take many": verdicts.count("many"),
                "predicates with too little evidence": verdicts.count("unknown"),
                "facts without a start": facts["valid_from"][:live].null_count,
                "facts with another object after them": len(rows[0]),
                "with several objects at one instant after them": int((follow.contested < live).sum()),
                "of predicates that take many": many,
                "of predicates of which too little is known to ask": unclear,
                "ruled to be no conflict": ruled,
                "asked about in an open conflict": len(pairs) - len(asked),
                "items": len(items),
                "for review": len(items) - ended,
            },
            table=_table(found.values()),
        ),
    )


def _rows(facts: pa.Table, at: np.ndarray) -> list[_Fields]:
    columns = ("id", *SAYS, "valid_from", "confidence", "source_chunk_ids")
    return facts.select(columns).take(pa.array(at, pa.int64())).to_pylist()


def _ruled_none(snapshot: Snapshot) -> frozenset[tuple[str, str]]:
    """Return pairs of facts that were ruled to be no conflict, the smaller id first."""
    table = snapshot.table("conflicts")
    mine = table.filter(pc.and_(pc.equal(table["table_name"], "memory_facts"), pc.equal(table["resolution"], "kept")))
    pairs = zip(mine["row_a_id"].to_pylist(), mine["row_b_id"].to_pylist(), strict=True)
    return frozenset((min(pair), max(pair)) for pair in pairs)


def _pair(a: _Fields, b: _Fields) -> tuple[str, str]:
    return min(a["id"], b["id"]), max(a["id"], b["id"])


def _item(a: _Fields, b: _Fields, predicate: Predicate, mutation: Mutation, live_chunks: frozenset[str]) -> Item:
    sure = predicate.verdict == "single"
    evidence: dict[str, object] = {
        "earlier": " ".join(a[c] for c in SAYS),
        "later": " ".join(b[c] for c in SAYS),
        "from": a["valid_from"].isoformat(),
        "to": b["valid_from"].isoformat(),
        "confidence": [a["confidence"], b["confidence"]],
        "predicate": predicate.to_json(),
    }
    if not sure:
        evidence["reason"] = "The data do not show whether there can be only one of these at a time, or several."
    sources = (c for r in (a, b) for c in r["source_chunk_ids"] or () if c in live_chunks)
    item = Item(
        OPERATION,
        Decision.SUPERSEDE if sure else Decision.REVIEW,
        mutation,
        evidence=evidence,
        risk="medium" if sure else "high",
        sources=tuple(dict.fromkeys(sources))[:_SOURCES],
        probability=predicate.share,
    )
    return ask_unless_measured(item, "predicate with one object")


def _table(predicates: Iterable[Predicate]) -> tuple[Mapping[str, object], ...]:
    """Return the predicates with the most subjects, and what the data show about them."""
    ranked = sorted({p.key: p for p in predicates}.values(), key=lambda p: (-p.subjects, p.key))
    return tuple(p.to_json() for p in ranked[:_SHOWN])
