"""Scores of pairs stay together: what is taken of one array is taken of all."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from slowwave.matching.evidence import Scores


def numbered(n: int, start: int = 0) -> Scores:
    """Of every array the values start + 0, 1, … n - 1."""
    return Scores(*(np.arange(start, start + n) for _ in fields(Scores)))


def test_taking_and_joining_reach_every_array() -> None:
    some = numbered(5).take(np.array([4, 1]))
    both = Scores.join([some, numbered(2, 7).take(np.array([False, True]))])
    assert all(getattr(both, f.name).tolist() == [4, 1, 8] for f in fields(Scores))
