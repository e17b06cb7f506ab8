"""One BLAS thread for a whole search: set once, given back by the last that leaves, and small blocks start no workers."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from slowwave.matching import vectors
from slowwave.matching import vectors as blas
from slowwave.matching import vectors as neighbours
from slowwave.matching.vectors import one_thread


def threads() -> set[int]:
    """How many threads each BLAS library uses now."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_last_to_leave_gives_the_threads_back() -> None:
    """A search inside another leaves the limit standing, also when it fails."""
    with threadpool_limits(2, "blas"):
        assert threads() == {2}
        with one_thread():
            assert threads() == {1}
            with pytest.raises(ValueError, match="inside"), one_thread():
                raise ValueError("inside")
            assert threads() == {1}
        assert threads() == {2}


def test_a_search_of_many_small_blocks_sets_the_libraries_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And starts no workers for them: both cost more than a small product."""
    asked: list[int] = []
    limit = type(blas._controller()).limit

    def counted(self: object, **limits: int) -> object:
        asked.append(limits["limits"])
        return limit(self, **limits)

    def refused(*_: object) -> None:
        raise AssertionError("a small block started workers")

    monkeypatch.setattr(type(blas._controller()), "limit", counted)
    for module in (vectors, neighbours):
        monkeypatch.setattr(module, "ThreadPoolExecutor", refused)
    matrix = np.random.default_rng(5).standard_normal((1_024, 16)).astype(np.float32)
    with one_thread():
        for start in range(0, 1_000, 10):
            neighbours.neighbours(matrix, 3, 0.1, np.arange(start, start + 10))
        assert len(vectors.pairs_above(matrix, 0.5)[0])
    assert asked == [1]
