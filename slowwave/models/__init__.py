"""Language models of every kind: embedders, chat models, writers, each behind one small protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Embed = Callable[[Sequence[str]], "np.ndarray"]
"""Texts → (n, d) float32, unit rows."""
