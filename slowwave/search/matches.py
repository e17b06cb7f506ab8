"""What matches a query, with one score from 0 to 1, in each mode: candidates of words and of meaning, calibrated and fused, in context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from slowwave.language.embedder import Embedder
from slowwave.search.candidates import Domain, Found, by_substring, by_vector, by_words, cited_among, cosines, following
from slowwave.search.fusion import (
    LEADERS,
    calibration_of,
    fuse,
    in_context,
    lexical_scores,
    semantic_scores,
    weight_of_words,
)
from slowwave.search.request import Mode
from slowwave.store.connect import Connection

_WORDINGS: Final = 3
"""Rows looked at for each of the things whose lexical scores lead."""

_LEADING: Final = 20
"""Best passages among the candidates whose following passages are looked at."""


@dataclass(frozen=True, slots=True)
class ScoredIds:
    """Scores from 0 to 1 by the ids of rows, in no order, the cosines behind them, and warnings about how they came about."""

    scores: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    cosines: Mapping[str, float] = field(default_factory=dict[str, float])


def matches(
    connection: Connection, domain: Domain, query: str, mode: Mode, embedder: Callable[[], Embedder], depth: int
) -> ScoredIds:
    """Return the ``depth`` best of each side. ``embedder`` is called where vectors are wanted; raises what it raises."""
    if mode == "exact":
        found = by_substring(connection, domain, query, depth)
        return ScoredIds(dict(zip(found.ids, found.scores.tolist(), strict=True)))
    words = Found([], np.empty(0)) if mode == "vector" else by_words(connection, domain, query, depth)
    said = dict(zip(words.ids, lexical_scores(words.scores, words.bound).tolist(), strict=True))
    if mode in ("bm25", "recall"):
        return ScoredIds(said)
    model = embedder()
    vector = model.embed([query])[0]
    near = by_vector(connection, domain, model.model, vector, depth)
    meant = dict(zip(near.ids, near.scores.tolist(), strict=True))
    if not meant:
        return ScoredIds(said, (f"No row here has a vector of the model {model.model}: only words were compared.",))
    calibration = calibration_of(model.model)
    if mode == "vector":
        return ScoredIds(
            dict(zip(meant, semantic_scores(np.array([*meant.values()]), calibration).tolist(), strict=True)),
            cosines=meant,
        )
    meant |= cosines(connection, model.model, vector[None], [id_ for id_ in said if id_ not in meant])
    weight = weight_of_words(leading_mean(connection, said), calibration)

    def fused() -> dict[str, float]:
        ids = sorted(said.keys() | meant.keys())
        lexical = np.array([said.get(id_, 0.0) for id_ in ids])
        semantic = semantic_scores(np.array([meant.get(id_, -1.0) for id_ in ids]), calibration)
        return dict(zip(ids, fuse(lexical, semantic, weight).tolist(), strict=True))

    leading = [id_ for _, id_ in sorted((-score, id_) for id_, score in fused().items())]
    after = following(connection, domain, model.model, vector, leading, _LEADING)
    meant |= {id_: cosine for _, id_, cosine in after if cosine is not None and id_ not in meant}
    scores = fused()
    before = {id_: scores[first] for first, id_, _ in after if id_ in scores}
    gained = in_context(np.array([scores[id_] for id_ in before]), np.array([*before.values()]))
    return ScoredIds(scores | dict(zip(before, gained.tolist(), strict=True)), cosines=meant)


def leading_mean(connection: Connection, said: Mapping[str, float]) -> float:
    """The mean of the ``LEADERS`` best lexical scores (row → score), of which none is that of another's memory or passage."""
    best = sorted(said, key=lambda id_: (-said[id_], id_))[: LEADERS * _WORDINGS]
    told: dict[str, set[str]] = {id_: set() for id_ in best}
    for memory, passage, sure in cited_among(connection, best) if len(best) > LEADERS else ():
        if sure:
            told[memory].add(passage)
            told[passage].add(memory)
    things: list[str] = []
    for id_ in best:
        if told[id_].isdisjoint(things):
            things.append(id_)
    return sum(said[id_] for id_ in things[:LEADERS]) / LEADERS
