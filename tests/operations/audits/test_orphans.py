"""Orphans: who is tied to nothing, who hangs by a thread, and who is spared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import networkx as nx
import numpy as np
import pytest

from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

orphans = AUDITS["orphans"]


def entity(name: str, mentions: int = 1, **more: object) -> dict[str, object]:
    """A live entity named by ``uid``."""
    return {"id": uid(name), "name": name, "entity_type": "PERSON", "mention_count": mentions, **more}


def edge(source: str, target: str, kind: str = "KNOWS", **more: object) -> dict[str, object]:
    """A live relationship; its id tells parallel edges apart."""
    ends = {"source_entity_id": uid(source), "target_entity_id": uid(target)}
    return {"id": uid((source, target, kind, str(more))), **ends, "relationship_type": kind, **more}


def listed(report: Report, name: str) -> list[str]:
    """Names in one of the two lists, in the report's order."""
    return [str(f.details["name"]) for f in report.findings if f.details["list"] == name]


def ring(leaf: dict[str, object] | None = None) -> Snapshot:
    """Twenty well-known entities in a ring, and a leaf that hangs on the first by co-occurrence."""
    names = [f"n{i}" for i in range(20)]
    return make_snapshot(
        entities=[*(entity(n, mentions=9) for n in names), entity("leaf", **(leaf or {}))],
        relationships=[
            *(edge(a, b) for a, b in zip(names, [*names[1:], names[0]], strict=True)),
            edge("leaf", "n0", "associated_with"),
        ],
    )


def test_a_leaf_that_only_co_occurs_is_weak() -> None:
    """Its rank is networkx's for the undirected graph in which co-occurrence weighs a fifth, however the type is written."""
    snapshot = ring()
    report = orphans(make_inputs(snapshot))
    graph = nx.Graph()
    for row in snapshot.table("relationships").to_pylist():
        weight = 0.2 if row["relationship_type"].upper() == "ASSOCIATED_WITH" else 1.0
        graph.add_edge(row["source_entity_id"], row["target_entity_id"], weight=weight)
    ranks = nx.pagerank(graph, tol=1e-14, max_iter=1000)
    assert listed(report, "weak") == ["leaf"]
    assert report.findings[0].details["score"] == pytest.approx(ranks[uid("leaf")], rel=1e-6)
    assert report.numbers["pagerank_cut"] == pytest.approx(np.percentile([*ranks.values()], 5.0), rel=1e-6)
    assert report.findings[0].rows == (uid("leaf"),)


def test_mentions_spare_a_leaf() -> None:
    """Two mentions are use."""
    report = orphans(make_inputs(ring({"mention_count": 2})))
    assert not report.findings
    assert report.numbers["at_or_below_cut"] >= 1, "it is weak, but it is used"
    assert report.headline == "None of 21 live entities is an orphan."


@pytest.mark.parametrize(("age_days", "spared"), [(89, True), (91, False)])
def test_a_recall_in_the_window_spares_both_the_weak_and_the_isolated(age_days: int, spared: bool) -> None:
    """What an agent fetched last month is not forgotten, whatever the graph says; what it fetched long ago is."""
    snapshot = ring()
    alone = make_snapshot(
        entities=[*snapshot.table("entities").to_pylist(), entity("alone")],
        relationships=snapshot.table("relationships").to_pylist(),
        recall_events=[
            {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=age_days), "hit_ids": [uid("leaf"), uid("alone")]}
        ],
    )
    report = orphans(make_inputs(alone))
    assert (listed(report, "isolated"), listed(report, "weak")) == (([], []) if spared else (["alone"], ["leaf"]))


def test_isolated_entities_do_not_flood_the_percentile() -> None:
    """In khora, where all of the unconnected tie at the floor, "the bottom 5 %" is most of a young namespace."""
    base = ring()
    lonely = [entity(f"lonely {i}", mentions=i % 3) for i in range(60)]
    snapshot = make_snapshot(
        entities=[*base.table("entities").to_pylist(), *lonely], relationships=base.table("relationships").to_pylist()
    )
    report = orphans(make_inputs(snapshot))
    assert listed(report, "weak") == ["leaf"]
    assert len(listed(report, "isolated")) == 40
    assert (report.numbers["isolated"], report.numbers["isolated_candidates"], report.numbers["connected"]) == (
        60,
        40,
        21,
    )
    assert report.findings[0].details["score"] is None
    assert [row["list"] for row in report.table] == ["isolated"] * 9 + ["weak"]
    assert report.headline.startswith("41 of 81 live entities could be archived: 40 tied to nothing and 1 weakly tied")


def test_loops_and_ties_to_the_retired_are_no_ties() -> None:
    """A merge leaves edges to a retired entity until they are moved; they lead nowhere."""
    snapshot = make_snapshot(
        entities=[entity("loop"), entity("widow"), entity("gone", invalidated_at=TAKEN_AT), entity("a"), entity("b")],
        relationships=[
            edge("loop", "loop"),
            edge("widow", "gone"),
            edge("a", "b", weight=1.0),
            edge("a", "b", weight=2.0),
        ],
    )
    report = orphans(make_inputs(snapshot))
    assert set(listed(report, "isolated")) == {"loop", "widow"}
    assert (report.numbers["self_loops_dropped"], report.numbers["edges_of_retired_entities_dropped"]) == (1, 1)
    assert (report.numbers["live_entities"], report.numbers["edges"]) == (4, 1)


def test_leaves_tie_whichever_way_their_edge_was_written() -> None:
    """Both or none: (hub, leaf) and (leaf, hub) are one fact."""
    names = [f"n{i}" for i in range(8)]
    snapshot = make_snapshot(
        entities=[*(entity(n, 5) for n in names), entity("in"), entity("out")],
        relationships=[
            *(edge(a, b) for i, a in enumerate(names) for b in names[i + 1 :]),
            edge("n0", "in"),
            edge("out", "n0"),
        ],
    )
    assert set(listed(orphans(make_inputs(snapshot)), "weak")) == {"in", "out"}


def test_a_co_occurrence_weight_of_zero_leaves_only_real_ties() -> None:
    """An entity that merely co-occurs then has the least rank that there is, and the night does not divide by zero."""
    snapshot = ring()
    free = make_snapshot(
        settings={"cooccurrence_edge_weight": 0.0},
        entities=snapshot.table("entities").to_pylist(),
        relationships=snapshot.table("relationships").to_pylist(),
    )
    assert listed(orphans(make_inputs(free)), "weak") == ["leaf"]


def test_a_hostile_name_stays_text(rendered: Callable[[Report], str]) -> None:
    """Names come from conversations; a report is read in a browser."""
    hostile = "</td><script>x</script> | [a](javascript:b) ![p](https://evil.example/p.png)"
    html = rendered(orphans(make_inputs(make_snapshot(entities=[entity("x"), entity("y") | {"name": hostile}]))))
    assert "&lt;script&gt;" in html
    assert not any(tag in html for tag in ("<script", "<a ", "<img"))
    rows = [row for row in html.split("<tr>") if "<td>PERSON</td>" in row]
    assert [row.count("<td>") for row in rows] == [5, 5], "a bar in a name opens no new column"
