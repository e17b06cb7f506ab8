"""PageRank against networkx, which is slow and right when its tolerance is tight."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching.graphs import pagerank


def golden(graph: nx.Graph, damping: float = 0.85) -> np.ndarray:
    """networkx multiplies its tolerance by the number of nodes."""
    ranks = nx.pagerank(graph, alpha=damping, tol=1e-12 / max(len(graph), 1), max_iter=1000)
    return np.array([ranks[node] for node in graph])


def ours(graph: nx.Graph, **options: float) -> np.ndarray:
    """The same graph as arrays; an undirected edge goes both ways."""
    edges = list(graph.edges(data="weight", default=1.0))
    if not graph.is_directed():
        edges += [(v, u, w) for u, v, w in edges if u != v]
    source, target, weight = zip(*edges, strict=True) if edges else ((), (), ())
    return pagerank(list(graph), source, target, weight, **options)


def test_karate_club() -> None:
    """The classic: undirected, weighted by the number of shared contexts."""
    graph = nx.karate_club_graph()
    np.testing.assert_allclose(ours(graph), golden(graph), rtol=1e-6)
    assert np.argmax(ours(graph)) == 33  # the administrator, as in Zachary's paper


@pytest.mark.parametrize(
    "graph",
    [
        nx.les_miserables_graph(),
        nx.davis_southern_women_graph(),
        nx.florentine_families_graph(),
        nx.gnp_random_graph(400, 0.01, seed=1, directed=True),
        nx.barabasi_albert_graph(500, 3, seed=2),
        nx.DiGraph(nx.scale_free_graph(300, seed=3)),
        nx.grid_2d_graph(12, 9),
    ],
    ids=[
        "les miserables",
        "davis southern women",
        "florentine families",
        "random",
        "preferential",
        "scale-free",
        "grid",
    ],
)
def test_public_and_generated_graphs(graph: nx.Graph) -> None:
    """Names, numbers and pairs as nodes, with and without weights, directions and dead ends."""
    np.testing.assert_allclose(ours(graph), golden(graph), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.95])
def test_directed_weighted_with_dangling_nodes_self_loops_and_parallel_edges(damping: float) -> None:
    """Everything that a store can hold at once; a third of the nodes has no way out."""
    generator = np.random.default_rng(7)
    graph = nx.DiGraph()
    graph.add_nodes_from(f"node-{i}" for i in range(300))
    source, target = generator.integers(0, 200, 900), generator.integers(0, 300, 900)
    weight = generator.random(900)
    for s, t, w in zip(source, target, weight, strict=True):
        edge = (f"node-{s}", f"node-{t}")
        graph.add_edge(*edge, weight=w + (graph.edges[edge]["weight"] if graph.has_edge(*edge) else 0.0))
    names = [f"node-{i}" for i in range(300)]
    ranks = pagerank(
        names,
        pa.array([f"node-{i}" for i in source]),
        pa.chunked_array([[f"node-{i}" for i in target]]),
        weight,
        damping=damping,
    )
    np.testing.assert_allclose(ranks, golden(graph, damping), rtol=1e-6)
    assert ranks.sum() == pytest.approx(1, abs=1e-12)


def test_edges_of_weight_zero_leave_a_node_dangling() -> None:
    """A co-occurrence weight of 0 must not divide by zero."""
    graph = nx.DiGraph([("a", "b", {"weight": 0.0}), ("b", "c", {"weight": 1.0})])
    np.testing.assert_allclose(ours(graph), golden(graph), rtol=1e-6)


def test_leaves_tie_whichever_way_their_edges_point() -> None:
    """An orphan is one by its place in the graph, not because an importer wrote (hub, leaf) or (leaf, hub)."""
    graph = nx.Graph([("hub", "a"), ("b", "hub"), ("hub", "c")])
    ranks = dict(zip(graph, ours(graph), strict=True))
    assert ranks["a"] == pytest.approx(ranks["b"], rel=1e-12) == pytest.approx(ranks["c"], rel=1e-12)


def test_nodes_without_edges_share_evenly_and_no_nodes_give_nothing() -> None:
    """A namespace of its first day."""
    np.testing.assert_allclose(pagerank([1, 2, 3, 4], [], []), [0.25] * 4)
    assert pagerank([], [], []).shape == (0,)


@pytest.mark.parametrize(
    ("nodes", "source", "target", "weight", "sentence"),
    [
        (["a", "b"], ["a"], ["x"], None, r"1 edges whose target is no node \(the first is 'x'\)"),
        (["a", "b"], [1], ["a"], None, "source ids of another type"),
        (["a", "a"], ["a"], ["a"], None, "a node more than once"),
        (["a", "b"], ["a"], ["b", "a"], None, "1 edge sources but 2 targets"),
        (["a", "b"], ["a"], ["b"], [1.0, 2.0], "2 weights for 1 edges"),
        (["a", "b"], ["a"], ["b"], [-1.0], "negative or not finite"),
        (["a", "b"], ["a"], ["b"], [float("nan")], "negative or not finite"),
    ],
)
def test_a_graph_that_is_none_is_refused_in_a_sentence(
    nodes: list[str], source: list[str], target: list[str], weight: list[float] | None, sentence: str
) -> None:
    """A wrong rank would look just like a right one, so bad input must not get that far."""
    with pytest.raises(ValueError, match=sentence):
        pagerank(nodes, source, target, weight)


def test_no_answer_is_better_than_an_unfinished_one() -> None:
    """Unlike networkx's default, which stops early in large graphs without a word."""
    with pytest.raises(ArithmeticError, match="after 2 sweeps"):
        ours(nx.karate_club_graph(), max_iterations=2)
