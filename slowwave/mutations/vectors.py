"""Vectors as plans hold them: base64 of little-endian float32, and means that do not depend on the order of members."""

from __future__ import annotations

import base64
import json

import numpy as np


def encode(vector: np.ndarray) -> str:
    """(d,) float → base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f4").tobytes()).decode()


def decode(text: str) -> np.ndarray:
    """The inverse of ``encode``: (d,) float32."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def literal(text: str) -> str:
    """A plan's vector as the text that PostgreSQL casts to ``vector``, exactly: each number is written as the double that it
    is, which is read back as the same float32."""
    return json.dumps(decode(text).tolist(), separators=(",", ":"))


def weighted_mean(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Unit mean of rows (k, d), weighted by (k,); summed in float64 in the order given, which callers make that of the ids.

    Weights that are not positive count as absent; when none is positive all count as one (khora's centroid rule).
    """
    w = np.where(weights > 0, weights, 0).astype(np.float64)
    if not w.any():
        w = np.ones(len(matrix))
    mean = (matrix.astype(np.float64) * w[:, None]).sum(axis=0)
    norm = float(np.linalg.norm(mean))
    return (mean / norm if norm else mean).astype(np.float32)
