"""``dedupe_entities``: entities that are the same thing become one; doubtful pairs go to a person.

Who is the same as whom is decided by ``slowwave.matching``, the vector of the survivor by ``recompute_centroids``; here
clusters become items that are whole: the merge carries provenance, aliases, counters, attributes and its vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.language.embedder import entity_text
from slowwave.matching.evidence import LEVELS
from slowwave.matching.match import Cluster, Matches, Pair, match
from slowwave.mutations.merge_rows import Merge, merge_rows
from slowwave.mutations.rows import standing_ids
from slowwave.operations import Inputs, Proposal
from slowwave.planners.recompute_centroids import centroid_decision
from slowwave.planners.rejections import rejected_pairs, rejected_subjects
from slowwave.plans.items import Item
from slowwave.reports.model import Finding, Report
from slowwave.reports.plot import Bars
from slowwave.snapshot import Snapshot

OPERATION: Final = "dedupe_entities"
_SOURCES: Final = 10
_PLAIN_LEVELS: Final = frozenset(("exact", "compact"))  # merges on these alone are of low risk
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

_Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that become one item; ``pairs`` are what joined them, weakest last."""

    decision: str
    keep: str
    absorb: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.keep, *self.absorb)


def dedupe_entities(inputs: Inputs) -> Proposal:
    """Propose merges of live entities, and pairs for review.

    The survivor is the pinned one, else the one with most mentions, else the earliest, else the smallest id. Every entity stands
    in one item at most: a pair of which one row is merged tonight waits for the night after.
    """
    snapshot = inputs.snapshot
    matches = _match(inputs)
    merged = {id_ for cluster in matches.merges for id_ in cluster.ids}
    review, waiting = _apart(matches.review, merged)
    rows = _rows(snapshot, merged | {id_ for p in review for id_ in (p.a, p.b)})
    groups = [_group("merge", c.ids, c.pairs, rows) for c in matches.merges]
    groups += [_group("review", (p.a, p.b), (p,), rows) for p in review]
    decisions = _vectors(inputs, groups, rows)
    merges = [Merge(g.keep, g.absorb, vector) for g, (_, vector) in zip(groups, decisions, strict=True)]
    standing = standing_ids(snapshot, "chunks")
    items = [
        Item(
            OPERATION,
            group.decision,
            mutation,
            evidence=_evidence(group, rows, decision),
            risk=_risk(group, decision),
            sources=_sources(group, rows, standing),
            probability=group.pairs[-1].probability,
        )
        for group, mutation, (decision, _) in zip(groups, merge_rows(snapshot, merges), decisions, strict=True)
    ]
    refused = rejected_subjects(snapshot, OPERATION)
    proposed = tuple(item for item in items if item.subject() not in refused)
    return Proposal(proposed, _report(matches, proposed, len(items) - len(proposed), waiting, rows, decisions))


def _match(inputs: Inputs) -> Matches:
    snapshot = inputs.snapshot
    entities = snapshot.live("entities").select(["id", "entity_type", "name", "attributes", "source_document_ids"])
    vectors = snapshot.vectors["entity_vectors"]
    return match(
        entities,
        inputs.settings,
        matrix=vectors.matrix,
        rows=vectors.rows_of(entities["id"].combine_chunks()),
        links=snapshot.live("relationships").select(["source_entity_id", "target_entity_id"]),
        aliases=snapshot.table("entity_aliases").select(["entity_id", "alias"]),
        barred={"rejection": rejected_pairs(snapshot, OPERATION), "conflict": _conflicts(snapshot)},
    )


def _conflicts(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Pairs of entities in a recorded conflict that nobody has resolved."""
    table = snapshot.table("conflicts")
    open_ = table.filter(pc.and_(pc.equal(table["table_name"], "entities"), pc.is_null(table["resolved_at"])))
    return list(zip(open_["row_a_id"].to_pylist(), open_["row_b_id"].to_pylist(), strict=True))


def _apart(pairs: Iterable[Pair], merged: set[str]) -> tuple[list[Pair], list[Pair]]:
    """The strongest pairs that share no row with each other or a merge, and those that wait."""
    taken = set(merged)
    now: list[Pair] = []
    later: list[Pair] = []
    for pair in pairs:
        if taken.isdisjoint((pair.a, pair.b)):
            taken.update((pair.a, pair.b))
            now.append(pair)
        else:
            later.append(pair)
    return now, later


def _rows(snapshot: Snapshot, ids: set[str]) -> dict[str, _Fields]:
    live = snapshot.live("entities")
    columns = ["id", "name", "entity_type", "description", "mention_count", "pinned", "valid_from", "recorded_at"]
    found = live.filter(pc.is_in(live["id"], value_set=pa.array(sorted(ids), pa.string())))
    return {r["id"]: r for r in found.select([*columns, "source_chunk_ids"]).to_pylist()}


def _group(decision: str, ids: Sequence[str], pairs: tuple[Pair, ...], rows: Mapping[str, _Fields]) -> _Group:
    def first(id_: str) -> tuple[bool, int, datetime, str]:
        r = rows[id_]
        return (not r["pinned"], -int(r["mention_count"]), r["valid_from"] or r["recorded_at"] or _LATEST, id_)

    keep, *absorb = sorted(ids, key=first)
    return _Group(decision, keep, tuple(absorb), pairs)


def _vectors(
    inputs: Inputs, groups: Sequence[_Group], rows: Mapping[str, _Fields]
) -> list[tuple[str, NDArray[np.float32] | None]]:
    """Each group's centroid decision and vector; texts that need the model are embedded in one call."""
    vectors = inputs.snapshot.vectors["entity_vectors"]
    if not vectors.model:
        return [("no_vectors", None)] * len(groups)
    members = [sorted(g.ids) for g in groups]
    flat = [id_ for ids in members for id_ in ids]
    place = dict(zip(flat, vectors.rows_of(pa.array(flat, pa.string())).tolist(), strict=True))
    found: list[tuple[str, NDArray[np.float32] | None]] = []
    for ids in members:
        known = [id_ for id_ in ids if place[id_] >= 0]
        mentions = np.array([rows[id_]["mention_count"] for id_ in known], np.int64)
        matrix = vectors.matrix[[place[id_] for id_ in known]]
        found.append(centroid_decision([rows[id_]["name"] for id_ in ids], matrix, mentions, inputs.settings))
    again = [k for k, (decision, _) in enumerate(found) if decision == "re_embed"]
    embed = inputs.embed
    if embed is None:
        for k in again:
            found[k] = ("re_embed_unavailable", None)
    elif again:
        for k, vector in zip(again, embed([_text(groups[k], rows) for k in again]), strict=True):
            found[k] = ("re_embed", vector)
    return found


def _text(group: _Group, rows: Mapping[str, _Fields]) -> str:
    """The survivor's text after the merge: a survivor without a description takes the longest of the absorbed ones."""
    keep = rows[group.keep]
    absorbed = (str(rows[a]["description"] or "") for a in sorted(group.absorb))
    return entity_text(keep["name"], keep["entity_type"], keep["description"] or max(absorbed, key=len))


def _evidence(group: _Group, rows: Mapping[str, _Fields], decision: str) -> dict[str, object]:
    """The weakest joint stands for the item; clusters of more than two show every joint."""
    weakest = group.pairs[-1]
    shown: dict[str, object] = {
        "probability": weakest.probability,
        "cosine": weakest.cosine,
        "waterfall": [dict(step) for step in weakest.waterfall],
        "centroid": decision,
        "names": [rows[id_]["name"] for id_ in group.ids],
    }
    if len(group.pairs) > 1:
        shown["pairs"] = [
            {
                "names": [rows[p.a]["name"], rows[p.b]["name"]],
                "name_level": p.level,
                "probability": p.probability,
                "cosine": p.cosine,
            }
            for p in group.pairs
        ]
    if weakest.reason:
        shown["reason"] = weakest.reason
    return shown


def _risk(group: _Group, decision: str) -> str:
    if group.decision == "review":
        return "high"
    plain = all(p.level in _PLAIN_LEVELS for p in group.pairs)
    return "low" if plain and decision != "skip_multimodal" else "medium"


def _sources(group: _Group, rows: Mapping[str, _Fields], standing: frozenset[str]) -> tuple[str, ...]:
    """The first chunks that every member comes from, the members taking turns."""
    queues = [[c for c in rows[id_]["source_chunk_ids"] or [] if c in standing][:_SOURCES] for id_ in group.ids]
    turns = [queue[turn] for turn in range(_SOURCES) for queue in queues if turn < len(queue)]
    return tuple(dict.fromkeys(turns))[:_SOURCES]


def _report(
    matches: Matches,
    items: Sequence[Item],
    refused: int,
    waiting: Sequence[Pair],
    rows: Mapping[str, _Fields],
    decisions: Sequence[tuple[str, object]],
) -> Report:
    merges = [i for i in items if i.decision == "merge"]
    gone = sum(len(i.mutation.absorb) for i in merges)
    counts = matches.counts
    first = ("rows", "with vector", "candidates", "names or attributes agree", "merge clusters", "review pairs")
    numbers: dict[str, int | float] = {name: counts.get(name, 0) for name in first}
    numbers |= {
        "items": len(items),
        "rejected_before": refused + counts.get("vetoed by rejection", 0),
        "review pairs that wait": len(waiting),
        "expected false merges": round(sum(1 - i.probability for i in merges), 2),
    }
    numbers |= {name: count for name, count in counts.items() if name not in first}
    kinds = [decision for decision, _ in decisions]
    numbers |= {f"centroid {kind}": kinds.count(kind) for kind in sorted(set(kinds))}
    by_key = {n.removeprefix("candidates by "): c for n, c in counts.items() if n.startswith("candidates by ")}
    levels = [level for level in LEVELS if any(p.level == level for c in matches.merges for p in c.pairs)]
    return Report(
        OPERATION,
        f"{gone:,} of {counts['rows']:,} entities would join {len(merges):,} others; {len(items) - len(merges):,} pairs are for review.",
        numbers,
        findings=(
            *(Finding(f"Left out of the search: {text}.", severity="info") for text in matches.dropped),
            *_waiting(waiting),
        ),
        table=tuple(
            {
                "decision": i.decision,
                "names": " = ".join(str(rows[r.id]["name"]) for r in (i.mutation.keep, *i.mutation.absorb) if r),
                "probability": i.probability,
                "risk": i.risk,
            }
            for i in sorted(items, key=lambda i: (i.decision, i.probability, i.id))[:10]
        ),
        plots=(
            Bars("Candidate pairs by key", list(by_key), list(by_key.values())),
            *((Bars("Joints by name evidence", levels, _joints(matches.merges, levels)),) if levels else ()),
        ),
    )


def _joints(merges: Iterable[Cluster], levels: Sequence[str]) -> list[int]:
    found = [pair.level for cluster in merges for pair in cluster.pairs]
    return [found.count(level) for level in levels]


def _waiting(pairs: Sequence[Pair]) -> tuple[Finding, ...]:
    """One finding for each reason why pairs wait, with the rows of the strongest."""
    by_reason: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_reason.setdefault(pair.reason, []).append(pair)
    return tuple(
        Finding(
            f"{len(found):,} doubtful pairs wait, as one of their rows stands in another item. {reason}",
            rows=tuple(dict.fromkeys(id_ for p in found[:_SOURCES] for id_ in (p.a, p.b))),
        )
        for reason, found in sorted(by_reason.items())
    )
