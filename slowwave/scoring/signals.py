"""Recall signals: what the use of a memory in recall says about its worth, each signal and the score between 0 and 1.

The SQL models count recalls; the formulas are here. The model ``recall_signals`` shows the same signals with one half-life for all
rows, the window; memories have one a kind. Sources: nexo 3.2 for the five signals and the original weights, operations 3 for ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.config.settings import Settings

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEIGHTS: Final[Mapping[str, float]] = {
    "frequency": 0.24,
    "relevance": 0.30,
    "recency": 0.15,
    "diversity": 0.15,
    "consolidation": 0.10,
    "selected_rate": 0.06,
}
"""Signal → its weight in the score; they sum to 1."""

NEXO_WEIGHTS: Final[Mapping[str, float]] = {name: w for name, w in WEIGHTS.items() if name != "selected_rate"}
"""nexo's own, which sum to 0.94."""

OTHER_HALF_LIFE_DAYS: Final = 90.0
"""Days in which the recency of kinds that the settings do not name falls by half (nexo 3.2)."""

_ENOUGH: Final = 5  # distinct questions, and distinct days, at which their signals saturate
_NEXO_CAP: Final = 6  # recalls at which nexo's frequency saturates
_DAY: Final = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True, eq=False)
class Recalls:
    """How n rows were recalled, (n,) each: counts, ``relevance`` the mean score of the hits (0..1), ``days_since`` the last one.

    A row that was never recalled has zeros and ``days_since`` infinite.
    """

    recalls: Floats
    queries: Floats
    days: Floats
    selections: Floats
    relevance: Floats
    days_since: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals and score of n rows, (n,) each, all within 0..1."""

    frequency: Floats
    relevance: Floats
    recency: Floats
    diversity: Floats
    consolidation: Floats
    selected_rate: Floats
    score: Floats


@dataclass(frozen=True, slots=True, eq=False)
class MemorySignals:
    """Memories' recalls and signals, (n,) in the memories' order; ``queries`` and ``days`` are what the gates of a promotion see."""

    uses: Recalls
    signals: Signals
    queries: Floats
    days: Floats

    def at(self, row: int) -> dict[str, float]:
        """One memory's figures, as promotions keep them: score and signals to four digits, and the counts."""
        signals = {name: round(float(getattr(self.signals, name)[row]), 4) for name in ("score", *WEIGHTS)}
        return signals | {
            name: int(getattr(self.uses, name)[row]) for name in ("recalls", "queries", "days", "selections")
        }


def signals(uses: Recalls, half_life_days: Floats | float, frequency_cap: int = 20) -> Signals:
    """Our signals: frequency ln(1 + n) / ln(1 + cap), diversity distinct questions / 5, consolidation distinct days / 5, recency
    halving with its half-life in days, and the share of recalls that the agent used; weights of ``WEIGHTS``.
    """
    return _weighed(
        WEIGHTS,
        frequency=np.log1p(uses.recalls) / np.log1p(frequency_cap),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=uses.queries / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=uses.selections / np.maximum(uses.recalls, 1),
    )


def nexo_signals(uses: Recalls, half_life_days: Floats | float) -> Signals:
    """nexo's original (3.2): frequency ln(1 + n) / ln 7, diversity the greater of questions and days / 5, weights of 0.94 in sum."""
    return _weighed(
        NEXO_WEIGHTS,
        frequency=np.log1p(uses.recalls) / np.log1p(_NEXO_CAP),
        relevance=uses.relevance,
        recency=_recency(uses, half_life_days),
        diversity=np.maximum(uses.queries, uses.days) / _ENOUGH,
        consolidation=uses.days / _ENOUGH,
        selected_rate=np.zeros(len(uses.recalls)),
    )


def nexo_queries(found: Signals) -> Floats:
    """The number of questions as nexo's gate has it: rebuilt from diversity, so that days count as questions, and five at most."""
    return np.rint(_ENOUGH * found.diversity)


def score_memories(
    memories: pa.Table, models: Mapping[str, pa.Table], settings: Settings, taken_at: datetime
) -> MemorySignals:
    """Signals of memories (columns ``id`` and ``kind``) out of the models ``recall_signals``, or ``recall_signals_compat`` with the
    setting ``signals_compat``: then nexo's formula holds, its questions are rebuilt and its gate on days is none.

    Cost: a pass over the memories and the model.
    """
    half_lives = _half_lives(memories["kind"], settings)
    if settings.signals_compat:
        uses = recalls_of(memories["id"], models["recall_signals_compat"], taken_at)
        found = nexo_signals(uses, half_lives)
        return MemorySignals(uses, found, nexo_queries(found), np.full(len(memories), np.inf))
    uses = recalls_of(memories["id"], models["recall_signals"], taken_at)
    found = signals(uses, half_lives, settings.frequency_cap)
    return MemorySignals(uses, found, uses.queries, uses.days)


def recalls_of(ids: pa.ChunkedArray, model: pa.Table, taken_at: datetime) -> Recalls:
    """The model's counts for rows ``ids``, in their order."""
    places = pc.index_in(ids, value_set=model["row_id"].combine_chunks())

    def taken(column: str) -> Floats:
        found = pc.fill_null(model[column].cast(pa.float64()).take(places), 0.0)
        return found.to_numpy().astype(np.float64)

    last = model["last_recalled_at"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).take(places)
    since = (taken_at.timestamp() * 1e6 - pc.fill_null(last, 0).to_numpy()) / _DAY
    known = pc.is_valid(places).to_numpy()
    return Recalls(
        *(taken(c) for c in ("recalls", "queries", "days", "selections", "relevance")),
        days_since=np.where(known, np.maximum(since, 0), np.inf),
    )


def _half_lives(kinds: pa.ChunkedArray, settings: Settings) -> Floats:
    encoded = kinds.combine_chunks().dictionary_encode()
    days = [settings.relevance_half_life_days.get(k, OTHER_HALF_LIFE_DAYS) for k in encoded.dictionary.to_pylist()]
    return np.array(days, np.float64)[encoded.indices.to_numpy(zero_copy_only=False)]


def _recency(uses: Recalls, half_life_days: Floats | float) -> Floats:
    return np.exp2(-uses.days_since / np.maximum(half_life_days, 1e-9))


def _weighed(weights: Mapping[str, float], **found: Floats) -> Signals:
    clamped = {name: np.clip(values, 0.0, 1.0) for name, values in found.items()}
    score = np.zeros(len(clamped["frequency"]))
    for name, weight in weights.items():
        score += weight * clamped[name]
    return Signals(**clamped, score=np.minimum(score, 1.0))
