"""Communities against what was planted, against networkx's modularity, and as a function of the graph and nothing else."""

from __future__ import annotations

import subprocess
import sys
import uuid

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from benchmarks.graphs import adjusted_rand
from slowwave.matching.graphs import communities, modularity, pagerank
from tests.matching.planted import planted_partition


def arrays(graph: nx.Graph) -> tuple[list[object], list[object], list[object], list[float]]:
    edges = list(graph.edges(data="weight", default=1.0))
    return list(graph), [a for a, _, _ in edges], [b for _, b, _ in edges], [w for _, _, w in edges]


def positions(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nodes, source, target, weight = arrays(graph)
    place = {node: n for n, node in enumerate(nodes)}
    return np.array([place[a] for a in source]), np.array([place[b] for b in target]), np.array(weight)


@pytest.mark.parametrize(
    ("graph", "least"),
    [
        (nx.karate_club_graph(), 0.444),
        (nx.les_miserables_graph(), 0.565),
        (nx.florentine_families_graph(), 0.395),
        (nx.davis_southern_women_graph(), 0.33),
    ],
    ids=["karate club", "les miserables", "florentine families", "davis southern women"],
)
def test_public_graphs_reach_the_modularity_that_is_known_of_them(graph: nx.Graph, least: float) -> None:
    """Weighted where the graph is; networkx counts the same."""
    for seed in range(5):
        labels = communities(*arrays(graph), seed=seed)
        found = modularity(labels, *positions(graph))
        sets = [{node for node, of in zip(graph, labels, strict=True) if of == label} for label in set(labels.tolist())]
        assert found == pytest.approx(nx.community.modularity(graph, sets), abs=1e-12)
        assert found >= least


def test_karate_club_without_weights() -> None:
    """The best partition that is known has four communities and a modularity of .4198."""
    graph = nx.karate_club_graph()
    nodes, source, target, _ = arrays(graph)
    labels = communities(nodes, source, target)
    a, b, _ = positions(graph)
    assert modularity(labels, a, b, np.ones(len(a))) == pytest.approx(0.4198, abs=1e-4)
    assert labels.max() == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "size", "degree", "mixing"), [(5, 16, 12, 0.1), (10, 30, 12, 0.2), (40, 50, 12, 0.3), (60, 200, 14, 0.3)]
)
@pytest.mark.parametrize("seed", range(3))
def test_planted_communities_are_found(groups: int, size: int, degree: float, mixing: float, seed: int) -> None:
    """Adjusted Rand of .95 at least, from eighty nodes to twelve thousand."""
    group, source, target = planted_partition(groups, size, degree, mixing, seed)
    labels = communities(np.arange(len(group)), source, target, seed=seed)
    assert adjusted_rand(labels, group) >= 0.95


def test_the_graph_alone_decides() -> None:
    """Neither the order of nodes and edges, nor direction, nor in how many rows an edge comes, nor self-loops and lone nodes."""
    generator = np.random.default_rng(3)
    group, source, target = planted_partition(12, 25, 7, 0.35, 3)
    weight = generator.random(len(source))
    names = np.array([f"node {n:04}" for n in range(len(group))])
    plain = communities(names, names[source], names[target], weight)
    order, shuffled = generator.permutation(len(source)), generator.permutation(len(names))
    turned = generator.random(len(source)) < 0.5
    a, b = np.where(turned, target, source)[order], np.where(turned, source, target)[order]
    lone = [f"lone {n}" for n in range(5)]
    other = communities(
        [*names[shuffled], *lone],
        np.concatenate([names[a], names[a], names[:9]]),
        np.concatenate([names[b], names[b], names[:9]]),
        np.concatenate([weight[order] * 0.25, weight[order] * 0.75, np.ones(9)]),
    )
    assert adjusted_rand(plain[shuffled], other[: len(names)]) == 1.0
    assert len(set(other[len(names) :].tolist()) | {-1}) == 6, "each lone node is a community of its own"


def test_parallel_edges_that_do_not_sum_exactly_do_not_matter_either() -> None:
    """.1 + .2 + .3 is not .3 + .2 + .1: the sum is made in one order."""
    generator = np.random.default_rng(5)
    source, target = generator.integers(0, 60, 4_000), generator.integers(0, 60, 4_000)
    weight = generator.random(4_000)
    first = communities(np.arange(60), source, target, weight)
    for _ in range(5):
        order = generator.permutation(4_000)
        np.testing.assert_array_equal(first, communities(np.arange(60), source[order], target[order], weight[order]))


def test_same_seed_same_answer_in_another_process() -> None:
    """No clock, no hash seed, no thread has a say."""
    code = (
        "from tests.matching.planted import planted_partition; import numpy as np; from slowwave.matching.graphs import communities\n"
        "group, a, b = planted_partition(12, 25, 7, .4, 1); print(communities(np.arange(300), a, b, seed=9).tolist())"
    )
    answers = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(answers) == 1


def test_labels_are_numbered_by_first_appearance() -> None:
    """So that equal partitions have equal labels."""
    assert communities(["z", "b", "lone", "y", "a"], ["a", "y"], ["b", "z"]).tolist() == [0, 1, 2, 0, 1]


def test_resolution_makes_communities_smaller() -> None:
    """More of them above 1, fewer below; a ring of cliques shows it."""
    graph = nx.ring_of_cliques(30, 5)
    counts = [communities(*arrays(graph), resolution=r).max() + 1 for r in (0.1, 1.0, 20.0)]
    assert counts[0] < counts[1] < counts[2]


KINDS = {
    "int64": np.array,
    "int32": lambda ids: np.array(ids, np.int32),
    "uint64": lambda ids: np.array(ids, np.uint64) + np.uint64(2**63),
    "far apart": lambda ids: [i * 10**12 for i in ids],
    "strings": lambda ids: [str(i) for i in ids],
    "fixed width": lambda ids: np.array([str(i) for i in ids]),
    "objects": lambda ids: np.array([str(i) for i in ids], object),
    "dictionary": lambda ids: pa.array([str(i) for i in ids]).dictionary_encode(),
    "chunked": lambda ids: pa.chunked_array([[str(i) for i in ids[:1]], [str(i) for i in ids[1:]]]),
    "uuids": lambda ids: [uuid.UUID(int=i) for i in ids],
    "tuples": lambda ids: [(i, "x") for i in ids],
    "pairs": lambda ids: [(i, i) for i in ids],
    "frozensets": lambda ids: [frozenset([i]) for i in ids],
    "mixed": lambda ids: [i if i % 2 else str(i) for i in ids],
    "floats": lambda ids: tuple(i / 3 for i in ids),
}


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)
def test_ids_of_any_kind(name: object) -> None:
    """PageRank and communities take what their users have."""
    ids, source, target = [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3]
    given = [name(x) for x in (ids, source, target)]  # type: ignore[operator]
    assert communities(*given).tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(pagerank(*given), pagerank(ids, source, target))
    with pytest.raises(ValueError, match=r"1 edges whose target is no node"):
        communities(name([0, 1]), name([0, 1]), name([1, 7]))  # type: ignore[operator]


def test_nothing_to_do() -> None:
    """No nodes, no edges, edges without weight."""
    assert communities([], [], []).shape == (0,)
    assert communities(["a", "b"], [], []).tolist() == [0, 1]
    assert communities(["a", "b"], ["a", "a"], ["b", "a"], [0.0, 1.0]).tolist() == [0, 1]
    assert communities(["a", "b", "c"], ["a"], ["b"], [1e300]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"resolution": 0.0}, "above 0"), ({"resolution": float("nan")}, "above 0"), ({"seed": -1}, "0 or more")],
)
def test_a_question_that_is_none_is_refused(options: dict[str, float], sentence: str) -> None:
    """As PageRank refuses a graph that is none."""
    with pytest.raises(ValueError, match=sentence):
        communities(["a", "b"], ["a"], ["b"], **options)  # type: ignore[arg-type]


def test_the_entry_points_are_functions_and_bring_nothing_heavy() -> None:
    """Modules have the functions' names; whoever imports them before or after, the package gives the functions."""
    code = (
        "import sys\nimport slowwave.matching.graphs as graphs\n"
        "assert callable(graphs.pagerank) and callable(graphs.communities)\n"
        "print([name for name in ('scipy', 'graspologic_native') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
