"""Who is the same as whom: candidates → evidence → vetoes → clusters → merge, review or nothing.

A pair is *merged* when nothing vetoes it, its probability is at least ``MERGE`` and

- its names agree (from "initials" up, see ``slowwave.matching.evidence``) and its cosine reaches the threshold of its type, or
- its names mean the same (equal, alias, nickname, acronym) and an identifier is equal, whatever the cosine; or they differ by a
  letter only and identifiers of a joint weight of 9 (two, as a rule) are equal.

Cosine alone never merges. In a cluster every pair must be free of vetoes and either as close as the cohesion asks or named and
identified as above. A pair with probability from ``REVIEW`` that is not merged goes to a person; the rest is dropped. A vetoed
pair goes nowhere, but for one kind: one identifier in conflict while another is equal is for a person to see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.matching import candidates, clusters
from slowwave.matching.candidates import KEYS
from slowwave.matching.evidence import DIFFERENT, LEVELS, Limits, Scores, name_levels, score, waterfall
from slowwave.matching.population import Population
from slowwave.matching.vetoes import Vetoes
from slowwave.settings import Settings

Ints = NDArray[np.int64]

MERGE: Final = 0.99
REVIEW: Final = 0.60
_CHUNK: Final = 131_072  # pairs weighed at a time


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ids (a < b) and why: ``level`` is that of the names, ``cosine`` None without vectors, ``reason`` why not merged."""

    a: str
    b: str
    probability: float
    cosine: float | None
    level: str
    waterfall: tuple[Mapping[str, object], ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ids to be merged, sorted, and the pairs that joined them, weakest last; ``probability`` is that of the weakest."""

    ids: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def probability(self) -> float:
        """How sure the weakest joint is."""
        return self.pairs[-1].probability


@dataclass(frozen=True, slots=True)
class Matches:
    """``counts`` holds the denominators: rows, candidates by key, gates passed, vetoes by reason, decisions."""

    merges: tuple[Cluster, ...]
    review: tuple[Pair, ...]
    counts: Mapping[str, int]
    dropped: tuple[str, ...] = ()


def match(
    entities: pa.Table,
    settings: Settings,
    *,
    matrix: NDArray[np.float32] | None = None,
    rows: Ints | None = None,
    links: pa.Table | None = None,
    aliases: pa.Table | None = None,
    barred: Mapping[str, Iterable[tuple[str, str]]] | None = None,
) -> Matches:
    """Match live entities with each other. The order of the rows does not matter.

    ``entities`` has id, entity_type, name and optionally attributes (JSON text) and source_document_ids; ``matrix`` (v, d) holds
    vectors and ``rows`` (n,) each entity's row in it or -1; ``links`` has source_entity_id and target_entity_id of live
    relationships; ``aliases`` entity_id and alias; ``barred`` names pairs of ids that must not merge, by reason.
    """
    limits = Limits(
        band_low=settings.dedupe_verifier_band_low,
        merge=settings.dedupe_entities_default_threshold,
        merge_by_type=settings.dedupe_entities_per_type_thresholds,
        cohesion=settings.centroid_min_intra_cluster_cosine,
    )
    people = Population.of(entities, matrix=matrix, rows=rows, links=links, aliases=aliases)
    lowest = min([limits.merge, *limits.merge_by_type.values()])
    found = candidates.find(people, min(limits.band_low, lowest), lowest)
    counts = Counter({"rows": len(people), "with vector": int((people.vector >= 0).sum()), "candidates": len(found.i)})
    counts.update({f"candidates by {key}": count for key, count in found.counts().items()})
    kept = _gate(people, found)
    counts["names or attributes agree"] = len(kept)
    i, j = found.i[kept], found.j[kept]
    vetoes = Vetoes.of(people, np.unique(np.concatenate([i, j])), barred or {})
    i, j, scores = _weigh(people, limits, vetoes, i, j, counts)
    merges, review = _decide(people, limits, vetoes, i, j, scores)
    counts["merge clusters"], counts["review pairs"] = len(merges), len(review)
    counts["merged away"] = sum(len(c.ids) - 1 for c in merges)
    return Matches(merges, review, dict(counts), found.dropped)


def _gate(people: Population, found: candidates.Candidates) -> Ints:
    """Which candidates have names that agree somehow, or an alias or identifier in common: the rest is not weighed."""
    named = sum(1 << KEYS.index(key) for key in ("alias", "attribute"))
    kept: list[Ints] = []
    for at in _chunks(len(found.i)):
        level = name_levels(people, found.i[at], found.j[at])
        kept.append(np.flatnonzero((level > DIFFERENT) | ((found.found_by[at] & named) > 0)) + at.start)
    return np.concatenate(kept)


def _weigh(
    people: Population, limits: Limits, vetoes: Vetoes, i: Ints, j: Ints, counts: Counter[str]
) -> tuple[Ints, Ints, Scores]:
    """The pairs that are merged or reviewed, strongest first."""
    parts: list[tuple[Ints, Ints, Scores]] = []
    for at in _chunks(len(i)):
        scores = score(people, limits, i[at], j[at])
        reason = vetoes.check(i[at], j[at], scores.contested, scores.identified)
        for code, name in enumerate(vetoes.reasons(), 1):
            counts[f"vetoed by {name}"] += int((reason == code).sum())
        good = (reason == 0) & (scores.probability >= REVIEW)
        parts.append((i[at][good], j[at][good], scores.take(good)))
    i, j = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    scores = Scores.join([p[2] for p in parts])
    order = np.lexsort((j, i, -np.nan_to_num(scores.cosine, nan=-1), -scores.probability))
    return i[order], j[order], scores.take(order)


def _decide(
    people: Population, limits: Limits, vetoes: Vetoes, i: Ints, j: Ints, scores: Scores
) -> tuple[tuple[Cluster, ...], tuple[Pair, ...]]:
    may = (scores.probability >= MERGE) & (scores.near | scores.backed) & ~scores.contested

    def holds(x: Ints, y: Ints) -> NDArray[np.bool_]:
        good = [np.zeros(0, bool)]
        for at in _chunks(len(x)):
            s = score(people, limits, x[at], y[at])
            free = (vetoes.check(x[at], y[at], s.contested, s.identified) == 0) & ~s.contested
            good.append(free & (s.backed | (np.nan_to_num(s.cosine, nan=-1) >= limits.cohesion)))
        return np.concatenate(good)

    edges = np.flatnonzero(may)
    grown = clusters.grow(len(people), i[edges], j[edges], holds)

    def pair(at: int, reason: str = "") -> Pair:
        a, b, cosine = int(i[at]), int(j[at]), float(scores.cosine[at])
        return Pair(
            str(people.ids[a]),
            str(people.ids[b]),
            float(scores.probability[at]),
            None if np.isnan(cosine) else round(cosine, 4),
            list(LEVELS)[int(scores.level[at])],
            waterfall(people, scores, at, a, b),
            reason,
        )

    joints: dict[int, list[int]] = {}
    for at in edges[grown.joined].tolist():
        joints.setdefault(int(grown.label[i[at]]), []).append(at)
    merges: list[Cluster] = []
    for label in sorted(joints):
        members = {str(people.ids[row]) for at in joints[label] for row in (i[at], j[at])}
        merges.append(Cluster(tuple(sorted(members)), tuple(pair(at) for at in joints[label])))
    refused = np.zeros(len(i), bool)
    refused[edges[grown.refused]] = True
    apart = np.flatnonzero(((~may) | refused) & (grown.label[i] != grown.label[j]))
    return tuple(merges), tuple(pair(at, _reason(scores, at, refused=bool(refused[at]))) for at in apart.tolist())


def _reason(scores: Scores, at: int, *, refused: bool) -> str:
    """Why a pair is for a person."""
    if refused:
        return "It would join rows that do not all agree with each other."
    if scores.contested[at]:
        return "One identifier is equal, another is in conflict."
    if np.isnan(scores.cosine[at]):
        return "There is no vector to compare, and no identifier that settles it."
    if not scores.near[at]:
        return "Names or vectors agree, not both enough."
    return f"The evidence is short of a probability of {MERGE}."


def _chunks(n: int) -> Iterator[slice]:
    """Slices over n pairs; one empty slice when there are none, so that results have their shapes."""
    for start in range(0, max(n, 1), _CHUNK):
        yield slice(start, start + _CHUNK)
