"""Groups of entities that become one item: who survives, the vector that it gets, and what whoever approves is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.language.embedder import entity_text
from slowwave.matching.judge import PairVerdict
from slowwave.matching.match import Matches, Pair
from slowwave.mutations.merge_rows import survivor_first, survivor_name
from slowwave.operations.inputs import Inputs
from slowwave.operations.planners.recompute_centroids import centroid_decision
from slowwave.snapshots.snapshot import Snapshot

_SOURCES: Final = 10
_PLAIN_LEVELS: Final = frozenset(("exact", "compact"))  # merges on these alone are of low risk

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that become one item; ``pairs`` are what joined them, weakest last; ``verdict`` is that of two models, if asked."""

    decision: str
    keep: str
    absorb: tuple[str, ...]
    pairs: tuple[Pair, ...]
    verdict: PairVerdict | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The survivor and the others."""
        return (self.keep, *self.absorb)


def read_rows(snapshot: Snapshot, ids: set[str]) -> dict[str, Fields]:
    """Id → what items tell of a live entity."""
    live = snapshot.live("entities")
    wanted = ("id", "name", "entity_type", "description", "attributes", "source_chunk_ids", "source_document_ids")
    ranked = ("mention_count", "pinned", "valid_from", "recorded_at")
    found = live.filter(pc.is_in(live["id"], value_set=pa.array(sorted(ids), pa.string())))
    return {r["id"]: r for r in found.select([*wanted, *ranked]).to_pylist()}


def merge_groups(matches: Matches, rows: Mapping[str, Fields]) -> list[Group]:
    """The clusters with all that is known about their links, which are weighed in one go."""
    pairs = iter(matches.explain_all([link for links in matches.merge_links for link in links]))
    found = zip(matches.merges, matches.merge_links, strict=True)
    return [grouped("merge", ids, tuple(next(pairs) for _ in merge_links), rows) for ids, merge_links in found]


def grouped(
    decision: str,
    ids: Sequence[str],
    pairs: tuple[Pair, ...],
    rows: Mapping[str, Fields],
    verdict: PairVerdict | None = None,
) -> Group:
    """Rows as a group, the survivor first."""
    keep, *absorb = survivor_first(rows[id_] for id_ in ids)
    return Group(decision, keep, tuple(absorb), pairs, verdict)


def new_vectors(
    inputs: Inputs, groups: Sequence[Group], rows: Mapping[str, Fields]
) -> list[tuple[str, NDArray[np.float32] | None]]:
    """Each group's centroid decision and vector; texts that need the model are embedded in one call.

    Where ``centroid_recompute_enabled`` is off the survivor keeps the vector that it has.
    """
    vectors = inputs.snapshot.vectors["entity_vectors"]
    if not inputs.settings.operations.recompute_centroids.enabled:
        return [("off", None)] * len(groups)
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


def _text(group: Group, rows: Mapping[str, Fields]) -> str:
    """The survivor's text after the merge: the best name, and for a survivor without a description the longest of the absorbed ones."""
    keep = rows[group.keep]
    absorbed = (str(rows[a]["description"] or "") for a in sorted(group.absorb))
    name = survivor_name([rows[id_] for id_ in (group.keep, *sorted(group.absorb))])
    return entity_text(name, keep["entity_type"], keep["description"] or max(absorbed, key=len))


def evidence_of(group: Group, rows: Mapping[str, Fields], decision: str) -> dict[str, object]:
    """The weakest link's evidence is the item's; clusters of more than two show every link."""
    weakest = group.pairs[-1]
    shown: dict[str, object] = {
        "probability": weakest.probability,
        "cosine": weakest.cosine,
        "waterfall": [dict(step) for step in weakest.waterfall],
        "centroid": decision,
        "names": [rows[id_]["name"] for id_ in (group.keep, *sorted(group.absorb))],  # in the order of the mutation
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
    if group.verdict and group.verdict.opinions:
        shown["judges"] = json.loads(json.dumps(asdict(group.verdict)))  # as it reads back
    return shown


def risk_of(group: Group, decision: str) -> str:
    """Low for a merge that rests on equal names, high for what is a person's to say; ``decision`` is that about the vector."""
    if group.decision == "review":
        return "high"
    plain = all(p.level in _PLAIN_LEVELS for p in group.pairs) and group.verdict is None
    return "low" if plain and decision != "skip_multimodal" else "medium"


def sources_of(ids: Iterable[str], rows: Mapping[str, Fields], live_chunks: frozenset[str]) -> tuple[str, ...]:
    """The first chunks that every member comes from, the members taking turns."""
    queues = [[c for c in rows[id_]["source_chunk_ids"] or [] if c in live_chunks][:_SOURCES] for id_ in ids]
    turns = [queue[turn] for turn in range(_SOURCES) for queue in queues if turn < len(queue)]
    return tuple(dict.fromkeys(turns))[:_SOURCES]
