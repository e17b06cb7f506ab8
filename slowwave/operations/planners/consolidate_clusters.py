"""``consolidate_clusters``: memories that go together are summarized by one shorter text, and leave recall for it.

Vectors say which memories lie close, what the texts say decides: nothing that contradicts another stands in one summary, and a
summary that would leave out a specific is not proposed. How a summary is worded belongs to ``slowwave.operations.planners.summary_text``.

Propose summaries of memories of one kind, scope, subject, author and audience that lie close (Plugged.in 1.3, put right).

Every two members have the cosine of ``consolidation_floor``, and no two contradict each other: neither by their texts, nor by the audit of
contradictions, nor by a conflict on record, whatever was decided about it. Clusters are split to ``max_input_tokens``,
never cut. A summary stands for those that it tells whole: the others stay what they are, and so does everyone where fewer than
``min_cluster_size`` are left or less than a tenth of the tokens is saved. The ``max_clusters_per_run``
that save most are proposed, out of five times as many of the most tokens, as far as they leave room in what a plan may retire. A summary
may become part of another one after ``cooldown_days``, with as many new memories at least. Exempt memories
(``slowwave.rows.exemptions``), essences and what screening has to act on first are left alone.

Time: that of ``consolidation_pairs``, which is linear beyond some thousand memories of a block, of finding what contradicts, and linear in
the texts of the clusters that are worded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.columns import Tally
from slowwave.conflicts.find import conflicts_of_memories
from slowwave.mutations.cells import Guard, Value, canonical, canonical_json
from slowwave.mutations.consolidate_memories import REASON, Consolidation, consolidate_memories
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import live_ids, rows_where
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.coverage import MEMORIES
from slowwave.operations.planners.attempts import EXTRACTIVE
from slowwave.operations.planners.consolidation_floor import cohesion_floor
from slowwave.operations.planners.consolidation_pool import ALIKE, SUMMARY, Fields, Floats, Mask, Pool, candidates
from slowwave.operations.planners.consolidation_search import FoundSummary, Pairs, Search
from slowwave.operations.planners.rejections import conflicting_pairs
from slowwave.operations.planners.summary_text import Writing
from slowwave.plans.items import Item
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.reports.model import Report
from slowwave.rows.memories import attributes
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.quotation import quote

OPERATION: Final = "consolidate_clusters"

_QUOTED: Final = 200  # characters
_SHOWN: Final = 10


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    after=("dedupe_memories",),
    weekly=True,
    permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
    compares=MEMORIES,
)
def consolidate_clusters(inputs: Inputs) -> Proposal:
    """Memories that lie close are summarized by one shorter text; they leave recall for it and stay linked to it.

    A summary stands for those whose numbers, dates, names and negations it all keeps; the others stay what they are. Its sentences
    are taken from the sources, or written by `SLOWWAVE_CONSOLIDATION_MODEL` and held against them.
    """
    settings, snapshot = inputs.settings, inputs.snapshot
    numbers: dict[str, int | float] = {}
    if settings.consolidation_model and inputs.consolidator is None:
        headline = "No summary is proposed, as the model that the settings name is not at hand."
        return Proposal((), Report(OPERATION, headline, {"no writer at hand": 1, "items": 0}))
    pool = candidates(snapshot, settings, numbers)
    writing = Writing(inputs.consolidator, inputs.budget, OPERATION)
    cannot_link = conflicting_pairs(snapshot, "memories") | _contradicting(snapshot, settings) | _rejected(snapshot)
    floor = cohesion_floor(inputs)
    numbers["cosine of two members"] = round(floor, 4)
    summaries = Search(pool, settings, floor, cannot_link, _focus(pool, inputs.focus), writing, numbers).summaries()
    items = _items(inputs, pool, summaries)
    numbers |= {**writing.numbers(), **_figures(summaries), "items": len(items)}
    return Proposal(
        tuple(items), Report(OPERATION, _headline(numbers), numbers, writing.findings(), _table(pool, summaries))
    )


def _focus(pool: Pool, focus: frozenset[str] | None) -> Mask | None:
    if focus is None:
        return None
    return pc.is_in(pool.table["id"], value_set=pa.array(sorted(focus), pa.string())).to_numpy()


def _contradicting(snapshot: Snapshot, settings: Settings) -> Pairs:
    """Pairs that the audit of contradictions finds tonight, and the copies behind them."""
    found = conflicts_of_memories(snapshot, settings, Tally())
    return frozenset((min(a, b), max(a, b)) for c in found for a in (c.a, *c.also_a) for b in (c.b, *c.also_b))


def _rejected(snapshot: Snapshot) -> Pairs:
    """Pairs of memories out of rejected summaries that say what they said then: they must not meet in another one."""
    table = snapshot.table("rejections")
    mine = table.filter(pc.equal(table["operation"], OPERATION)).select(["subject", "row_ids"]).to_pylist()
    named = {id_ for r in mine for id_ in r["row_ids"]}
    seen = {str(r["id"]): r["current_version_id"] for r in rows_where(snapshot, "memories", "id", named, _SAYS)}
    pairs: set[tuple[str, str]] = set()
    for r in mine:
        ids = sorted(r["row_ids"])
        if seen.keys() >= set(ids):
            guards = tuple(Guard("memories", id_, _SAYS, (seen[id_],)) for id_ in ids)
            rows = tuple(Row(id_) for id_ in ids)
            refused = Mutation("insert_summary", "memories", guards=guards, rows=rows)
            if Item(OPERATION, "", refused).subject() == r["subject"]:
                pairs.update(combinations(ids, 2))
    return frozenset(pairs)


_SAYS: Final = ("current_version_id",)


def _items(inputs: Inputs, pool: Pool, summaries: Sequence[FoundSummary]) -> list[Item]:
    if not summaries:
        return []
    snapshot = inputs.snapshot
    live_sources = {c: live_ids(snapshot, c.split("_")[1] + "s") for c in ("source_document_ids", "source_chunk_ids")}
    members = [pool.rows(s.places) for s in summaries]
    close = [_cosines(pool, s.places) for s in summaries]
    vectors = _vectors(inputs, pool, summaries)
    mutations = consolidate_memories(
        snapshot,
        [
            Consolidation(s.written.text, tuple(r["id"] for r in rows), _values(s, rows, c, live_sources), vector)
            for s, rows, c, vector in zip(summaries, members, close, vectors, strict=True)
        ],
    )
    return [
        Item(
            OPERATION,
            "summarise",
            mutation,
            evidence=_evidence(pool, s, rows, c),
            risk="low" if s.written.writer == EXTRACTIVE else "medium",
            sources=tuple(sorted(r["id"] for r in rows)),
            tokens=s.written.tokens,
            probability=round(float(min(1.0, c.min())), 4),
        )
        for s, rows, c, mutation in zip(summaries, members, close, mutations, strict=True)
    ]


def _cosines(pool: Pool, places: Sequence[int]) -> Floats:
    """Cosines of every two of the places."""
    units = pool.units(np.array(places, np.int64))
    return (units @ units.T)[np.triu_indices(len(places), 1)]


def _vectors(inputs: Inputs, pool: Pool, summaries: Sequence[FoundSummary]) -> list[Floats]:
    """A unit vector a summary: of its text, or where nobody can make one the mean of its members."""
    if inputs.embed is not None:
        found = np.asarray(inputs.embed([s.written.text for s in summaries]), np.float32)
        if found.shape[1] == pool.matrix.shape[1]:
            return list(found)
    means = [pool.units(np.array(s.places, np.int64)).astype(np.float64).mean(axis=0) for s in summaries]
    return [(m / max(float(np.linalg.norm(m)), 1e-12)).astype(np.float32) for m in means]


def _values(
    summary: FoundSummary, rows: Sequence[Fields], close: Floats, live_sources: Mapping[str, frozenset[str]]
) -> dict[str, Value]:
    first = rows[0]
    rings = Counter(r["ring"] for r in rows)
    kinds = Counter(_kind(r) for r in rows)
    tags: list[object] = []
    for row in rows:
        own: object = _json_list(row["tags"])
        tags += [t for t in (own if isinstance(own, list) else []) if t not in tags]
    starts = [r["valid_from"] for r in rows if r["valid_from"] is not None]
    reads = [r["last_accessed_at"] for r in rows if r["last_accessed_at"] is not None]
    return {
        "kind": SUMMARY,
        "ring": min(rings, key=lambda ring: (-rings[ring], ring)),
        **{c: first[c] for c in ALIKE},
        "source": REASON,
        "importance": max(r["importance"] for r in rows),
        "confidence": max(r["confidence"] for r in rows),
        "tags": canonical_json(tags),
        "attributes": canonical_json(
            {
                "kind": min(kinds, key=lambda kind: (-kinds[kind], kind)),
                "summary_of": len(rows),
                "similarity": round(float(close.mean()), 4),
                "token_savings": summary.saving,
                **({"statements": [list(ids) for ids in said]} if (said := summary.written.statements) else {}),
            }
        ),
        "valid_from": canonical(min(starts)) if starts else None,
        "last_accessed_at": canonical(max(reads)) if reads else None,
        **{c: tuple(dict.fromkeys(i for r in rows for i in r[c] or () if i in ids)) for c, ids in live_sources.items()},
    }


def _kind(row: Fields) -> str:
    return str(attributes(row["attributes"]).get("kind", SUMMARY)) if row["kind"] == SUMMARY else str(row["kind"])


def _evidence(pool: Pool, summary: FoundSummary, rows: Sequence[Fields], close: Floats) -> dict[str, object]:
    uncited = pool.rows(summary.uncited, ("id",))
    return {
        "text": summary.written.text,
        "quotes": [{"id": r["id"], "text": quote(r["text"], _QUOTED)} for r in rows],
        "source_count": len(rows),
        "uncited": [r["id"] for r in uncited],
        "cluster_similarity": round(float(close.mean()), 4),
        "least_similarity": round(float(close.min()), 4),
        "tokens_before": summary.before,
        "tokens_after": summary.after,
        "token_savings": summary.saving,
        "writer": summary.written.writer,
        "problem": summary.written.problem,
    }


def _figures(summaries: Sequence[FoundSummary]) -> dict[str, int | float]:
    """What Plugged.in keeps as ``dream_consolidations``, summed up."""
    return {
        "summaries": len(summaries),
        "memories that would be absorbed": sum(len(s.places) for s in summaries),
        "cluster members that stay": sum(len(s.uncited) for s in summaries),
        "tokens before": sum(s.before for s in summaries),
        "tokens after": sum(s.after for s in summaries),
        "tokens saved": sum(s.saving for s in summaries),
    }


def _table(pool: Pool, summaries: Sequence[FoundSummary]) -> tuple[Mapping[str, object], ...]:
    return tuple(
        {
            "sources": len(s.places),
            "similarity": round(float(_cosines(pool, s.places).mean()), 4),
            "tokens before": s.before,
            "tokens after": s.after,
            "writer": s.written.writer,
            "text": quote(s.written.text, _QUOTED),
        }
        for s in summaries[:_SHOWN]
    )


def _headline(numbers: Mapping[str, int | float]) -> str:
    return (
        f"{numbers['summaries']:,} summaries would stand for {numbers['memories that would be absorbed']:,} of "
        f"{numbers['live memories']:,} live memories and save {numbers['tokens saved']:,} of {numbers['live tokens']:,} tokens."
    )


def _json_list(cell: object) -> object:
    return attributes(f'{{"tags": {cell}}}').get("tags")
