"""Graphs with planted communities."""

from __future__ import annotations

import numpy as np


def planted_partition(
    groups: int, size: int, degree: float, mixing: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups (n,) and both ends of about n · degree / 2 edges, of which the share ``mixing`` goes anywhere."""
    generator = np.random.default_rng(seed)
    n = groups * size
    group = generator.permutation(np.repeat(np.arange(groups), size))
    members = np.argsort(group, kind="stable").reshape(groups, size)
    source = generator.integers(0, n, int(n * degree / 2))
    inside = members[group[source], generator.integers(0, size, len(source))]
    anywhere = generator.integers(0, n, len(source))
    return group, source, np.where(generator.random(len(source)) < mixing, anywhere, inside)
