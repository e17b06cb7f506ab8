"""Columns of made-up data: ids, instants, sentences, lists, vectors. All from a given source of chance, none a row at a time.

What is planted in them belongs to ``benchmarks.generate`` and ``benchmarks.troubles``.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DIMENSIONS: Final = 384


def ids(rng: np.random.Generator, n: int) -> pa.Array:
    """n random ids as 36-character strings."""
    letters = np.frombuffer(rng.bytes(16 * n).hex().encode(), "S1").reshape(n, 32)
    text = np.full((n, 36), b"-", "S1")
    text[:, [*range(8), *range(9, 13), *range(14, 18), *range(19, 23), *range(24, 36)]] = letters
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(36), n, [None, pa.py_buffer(text.tobytes())])
    return fixed.cast(pa.binary()).cast(pa.string())


def numbered(letter: str, n: int) -> pa.Array:
    """``letter-0`` to ``letter-(n - 1)``."""
    return pc.binary_join_element_wise(letter, pa.array(np.arange(n)).cast(pa.string()), "-")


def instants(now: datetime, minutes_ago: np.ndarray) -> pa.Array:
    """(n,) minutes before ``now`` → instants in UTC."""
    at = round(now.timestamp()) * 1_000_000 - minutes_ago.astype(np.int64) * 60_000_000
    return pa.array(at).cast(pa.timestamp("us", "UTC"))


def sentences(rng: np.random.Generator, words: np.ndarray, n: int, length: int) -> pa.Array:
    """n texts of ``length`` words from 4,000, frequent as words are (Zipf)."""
    vocabulary = words[-4_000:]
    weight = 1 / (np.arange(len(vocabulary)) + 10)
    drawn = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(n * length))
    flat = pa.array(vocabulary, pa.string()).take(pa.array(np.minimum(drawn, len(vocabulary) - 1)))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(np.arange(n + 1) * length, pa.int32()), flat), " ")


def lists(values: pa.Array, positions: np.ndarray, lengths: np.ndarray) -> pa.ListArray:
    """Lists of the given lengths, of the values at the given positions."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.take(pa.array(positions)))


@cache
def _basis() -> np.ndarray:
    """Return the axes of the one space for all vectors of the model."""
    axes = np.random.default_rng(384).standard_normal((DIMENSIONS, DIMENSIONS))
    return np.linalg.qr(axes)[0].astype(np.float32)


def meanings(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, d) with the moments of MiniLM's vectors of real text: a common direction, and energy that falls like 1 / (k + 2.5)."""
    energy = 1 / (np.arange(1, DIMENSIONS) + 2.5)
    scale = np.concatenate([[0], np.sqrt(0.864 * energy / energy.sum())]).astype(np.float32)
    latent = rng.standard_normal((n, DIMENSIONS), np.float32) * scale
    latent[:, 0] = np.sqrt(0.136)
    return latent @ _basis()


def unit(matrix: np.ndarray) -> np.ndarray:
    """(n, d) rows of length 1, float32."""
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def near(rng: np.random.Generator, base: np.ndarray, low: float, high: float) -> np.ndarray:
    """(n, d) unit rows, each with a cosine between ``low`` and ``high`` to the same row of ``base``."""
    aside = rng.standard_normal(base.shape, np.float32)
    aside = unit(aside - (aside * base).sum(axis=1, keepdims=True) * base)
    cosine = rng.uniform(low, high, (len(base), 1)).astype(np.float32)
    return unit(cosine * base + np.sqrt(1 - cosine**2) * aside)
