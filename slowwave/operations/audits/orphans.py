"""Orphans: entities with hardly any links and mentions that no recall has returned.

The audit lists in two lists what could be archived; it archives nothing (khora 8.2, corrected).

``isolated`` are entities without any edge to another live entity. ``weak`` are those with edges whose PageRank is at or below the
percentile ``pr_percentile_threshold`` of all entities with edges (linear interpolation between ranks, ``numpy.percentile``). Either list
holds only entities mentioned at most once and not recalled within the window. Edges count in both directions with their weight,
ASSOCIATED_WITH always times ``cooccurrence_edge_weight``; parallel edges of one type count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.matching.graphs import EntityGraph, entity_graph, pagerank
from slowwave.operations import Inputs
from slowwave.operations.options import OrphansOptions
from slowwave.plans.report import Bars, Finding, Report

_TIE: Final = 1e-9
"""Relative difference below which ranks are equal: twins in one position of the graph differ only by rounding."""

_DEGREES: Final = (
    ("0", 0, 0),
    ("1", 1, 1),
    ("2", 2, 2),
    ("3 to 5", 3, 5),
    ("6 to 10", 6, 10),
    ("11 or more", 11, None),
)


def orphans(inputs: Inputs) -> Report:
    """Find entities with hardly any links that were mentioned at most once and that no recall returned in the window."""
    settings, models = inputs.settings, inputs.models
    entities, edges = models["live_entities"], models["live_relationships"]
    graph = entity_graph(entities["id"].combine_chunks(), edges, settings.cooccurrence_edge_weight)
    connected = graph.degree > 0
    options = settings.options("orphans", OrphansOptions)
    scores, cut = _scores(graph, connected, options.pr_percentile_threshold)
    seldom = entities["mention_count"].to_numpy() <= 1
    recalled = pc.is_in(entities["id"], value_set=models["recall_signals"]["row_id"].combine_chunks()).to_numpy()
    unused = seldom & ~recalled
    below = connected & (np.nan_to_num(scores, nan=np.inf) <= cut * (1 + _TIE))
    isolated = _candidates(entities, scores, ~connected & unused, "isolated")
    weak = _candidates(entities, scores, below & unused, "weak")
    dropped = inputs.snapshot.live("relationships").num_rows - (pc.sum(edges["parallel_edges"]).as_py() or 0)
    return Report(
        operation="orphans",
        headline=_headline(entities.num_rows, len(isolated), len(weak), settings.recall_window_days),
        numbers={
            "live_entities": entities.num_rows,
            "edges": len(graph.weight),
            "isolated": int((~connected).sum()),
            "isolated_candidates": len(isolated),
            "connected": int(connected.sum()),
            "at_or_below_cut": int(below.sum()),
            "weak_candidates": len(weak),
            "mentioned_at_most_once": int(seldom.sum()),
            "recalled_in_window": int(recalled.sum()),
            "pagerank_cut": cut,
            "self_loops_dropped": graph.self_loops,
            "edges_of_retired_entities_dropped": dropped,
        },
        findings=tuple(_finding(candidate) for candidate in (*isolated, *weak)),
        table=tuple(_row(c) for c in (*isolated[: 10 - min(5, len(weak))], *weak)[:10]),
        plots=(_degrees(graph.degree),) if entities.num_rows else (),
        details={
            "isolated": len(isolated),
            "weak": len(weak),
            "percentile": options.pr_percentile_threshold,
            "interpolation": "linear",
            "pagerank_cut": cut,
            "cooccurrence_edge_weight": settings.cooccurrence_edge_weight,
            "recall_window_days": settings.recall_window_days,
        },
    )


def _scores(graph: EntityGraph, connected: np.ndarray, percentile: float) -> tuple[np.ndarray, float]:
    """Return the PageRank of the connected entities (NaN for the others), and the rank at the percentile."""
    scores = np.full(len(connected), np.nan)
    if not connected.any():
        return scores, 0.0
    source, target = np.concatenate([graph.source, graph.target]), np.concatenate([graph.target, graph.source])
    ranks = pagerank(np.flatnonzero(connected), source, target, np.concatenate([graph.weight, graph.weight]))
    scores[connected] = ranks
    return scores, float(np.percentile(ranks, percentile))


def _candidates(entities: pa.Table, scores: np.ndarray, mask: np.ndarray, name: str) -> list[dict[str, object]]:
    """Return the masked entities as rows, sorted by ascending score, then by mentions and id."""
    rows = entities.filter(pa.array(mask)).select(["id", "name", "entity_type", "mention_count"])
    ranked = rows.append_column("score", pa.array(scores[mask], from_pandas=True))
    ranked = ranked.sort_by([("score", "ascending"), ("mention_count", "ascending"), ("id", "ascending")])
    return [
        {
            "entity_id": row["id"],
            "name": row["name"],
            "entity_type": row["entity_type"],
            "score": row["score"],
            "mention_count": row["mention_count"],
            "list": name,
        }
        for row in ranked.to_pylist()
    ]


def _row(candidate: dict[str, object]) -> dict[str, object]:
    """Return a candidate as a row of the table, without its id; the score is empty if there is none or it is 0."""
    return {name: value for name, value in candidate.items() if name != "entity_id"} | {
        "score": candidate["score"] or ""
    }


def _finding(candidate: dict[str, object]) -> Finding:
    why = (
        "Tied to no live entity"
        if candidate["list"] == "isolated"
        else f"Weakly tied (PageRank {candidate['score']:.2e})"
    )
    return Finding(
        f"{why}, mentions: {candidate['mention_count']}, never recalled in the window: "
        f"{candidate['entity_type']} “{candidate['name']}”.",
        rows=(str(candidate["entity_id"]),),
        details=candidate,
    )


def _headline(entities: int, isolated: int, weak: int, window: int) -> str:
    if not entities:
        return "There is no live entity, so there is no orphan."
    if not isolated + weak:
        return f"None of {entities:,} live entities is an orphan."
    return (
        f"{isolated + weak:,} of {entities:,} live entities could be archived: {isolated:,} tied to nothing and {weak:,} "
        f"weakly tied, all mentioned at most once and not recalled in {window} days."
    )


def _degrees(degree: np.ndarray) -> Bars:
    counts: Sequence[float] = [
        float(((degree >= low) & (degree <= (degree.max() if high is None else high))).sum())
        for _, low, high in _DEGREES
    ]
    return Bars("Live entities by number of edges", [label for label, _, _ in _DEGREES], counts, own=True)
