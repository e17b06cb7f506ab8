"""A graph in arrays of ids, read into positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching.graphs import read_edges


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "c"],
        [20, 10, 30],
        [10**15, -5, 7 * 10**17],
        [("b", 1), ("a", 1), ("c", 1)],
        np.array(["b", "a", "c"]),
        pa.array(["b", "a", "c"]),
        pa.chunked_array([["b"], ["a", "c"]]),
        pa.array(["b", "a", "c"]).dictionary_encode(),
    ],
)
def test_ids_of_any_kind_give_the_same_positions(ids: Any) -> None:
    """Without weights every edge weighs one."""
    a, b, c = (ids[n] for n in (1, 0, 2))
    found = read_edges(ids, _like(ids, [a, c, a]), _like(ids, [b, a, c]))
    assert (found.n, found.source.tolist(), found.target.tolist()) == (3, [1, 2, 1], [0, 1, 2])
    assert found.weight.tolist() == [1.0, 1.0, 1.0]
    assert len(read_edges(ids, [], []).source) == 0


def test_the_rank_is_the_order_of_the_ids() -> None:
    assert read_edges(["b", "a", "c"], [], []).rank().tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((["a", "a"], [], []), "more than once"),
        ((["a", "b"], ["a"], []), "1 edge sources but 0 targets"),
        ((["a", "b"], ["a"], ["z"]), "whose target is no node"),
        ((["a", "b"], ["a"], [7]), "of another type"),
        ((["a", "b"], ["a"], ["b"], [1.0, 2.0]), "2 weights for 1 edges"),
        ((["a", "b"], ["a"], ["b"], [-1.0]), "negative or not finite"),
        ((["a", "b"], ["a"], ["b"], [float("nan")]), "negative or not finite"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_edges(*arguments)


def _like(ids: Any, wanted: Sequence[Any]) -> Any:
    """The wanted ids in the kind of container that the nodes came in."""
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        return pa.array([w.as_py() for w in wanted])
    return np.array(wanted) if isinstance(ids, np.ndarray) else wanted
