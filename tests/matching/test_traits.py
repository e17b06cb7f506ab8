"""The numbers that answers may correct a score by."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.compare import GATES, Comparison, Traits, names_of, traits

COMPARISONS = [
    Comparison(name, shape, ("no", "yes"), np.ones(2), np.ones(2))
    for name, shape in (("name", "name"), ("born", "date"))
]


def made(gates: list[list[bool]]) -> Traits:
    columns = [np.array(g) for g in zip(*gates, strict=True)]
    parts = np.array([[6.0, -2.0]] * len(gates))
    return traits(
        COMPARISONS, np.full(len(gates), 20.0), parts, np.full(len(gates), -1.0), columns, np.full(len(gates), 0.8)
    )


def test_each_has_its_scale() -> None:
    """A score of four nats, a comparison of two, letters .2 above what says nothing: each is one."""
    found = made([[False, True, False]])
    assert dict(zip(found.names, found.values[0].tolist(), strict=True)) == pytest.approx(
        {
            "all": 1,
            "score": 2,
            "name name": 3,
            "date born": -1,
            "losses": -0.5,
            "unnamed": 0,
            "opposed": 1,
            "unlearnt": 0,
            "letters": 1,
        }
    )
    assert (found.names, found.deviation.tolist()) == (names_of(COMPARISONS)[0], names_of(COMPARISONS)[1].tolist())


def test_any_gate_keeps_a_pair_back() -> None:
    """And parts of pairs and joined ones are as they were."""
    found = made([[k == at for k in range(len(GATES))] for at in range(-1, len(GATES))])
    assert found.gated.tolist() == [False, True, True, True]
    joined = Traits.join([found.take(np.array([1])), found.take(found.gated)])
    assert joined.values.tolist() == found.values[[1, 1, 2, 3]].tolist()
    assert joined.gated.all()
