"""What answers teach: each type's correction of its scores, and the rows that are joined before any score is read.

Answers of people enter twice. The pair itself is decided: nothing joins what a person called two things, and a pair called one is
joined first, though a rule of the names or identifiers speaks against it, which is counted and said; between all other rows every
veto stands. A recorded conflict and a rejection are decisions of people as well, and stronger than an answer. And the pairs like the
answered one are judged anew, by ``slowwave.matching.calibration``. Which pairs to ask about belongs to ``slowwave.matching.questions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching import clusters
from slowwave.matching.answers import AnsweredRows
from slowwave.matching.calibration import ScoreCorrection, calibrate
from slowwave.matching.evidence import Evidence
from slowwave.matching.questions import ENOUGH
from slowwave.matching.traits import Traits
from slowwave.matching.vetoes import Vetoes

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SURE: Final = 3.0  # log-odds, .95
_OPEN: Final = -3.0  # log-odds from which words that differ are looked for
_SAMPLE: Final = 100_000  # candidates that are looked at for those

OVERRULED: Final = "A person has answered that they are the same, though a rule forbids it: {}."


def taught(evidence: Evidence, answered: AnsweredRows, vetoes: Vetoes, i: Ints, j: Ints) -> Evidence:
    """The evidence after the answers, and after earlier nights' decisions about doubtful pairs. A type with fewer than ``ENOUGH`` of both
    keeps its scores. ``i`` and ``j`` (p,) are the candidates, of which the sure ones stand behind the score. The order of the answers does
    not matter; time grows with their number and with that of the candidates, up to a sample of them."""
    sure = np.flatnonzero(answered.sure)
    if len(sure) or evidence.was_asked:
        evidence = evidence.looking_at(*_doubtful(evidence, vetoes, i, j))
    told: dict[str, list[tuple[Reals, Traits, Flags]]] = {}
    for name, raw, traits, same in evidence.decided():
        told.setdefault(name, []).append((raw, traits, same))
    for name, at, raw, traits in evidence.traits(answered.i[sure], answered.j[sure]):
        told.setdefault(name, []).append((raw, traits, answered.same[sure[at]]))
    enough = {name: parts for name, parts in told.items() if sum(len(same) for _, _, same in parts) >= ENOUGH}
    trusted = _trusted(evidence, vetoes, i, j) if enough else {}
    calibrations: dict[str, ScoreCorrection] = {
        name: calibrate(
            np.concatenate([raw for raw, _, _ in parts]),
            Traits.join([traits for _, traits, _ in parts]),
            np.concatenate([same for _, _, same in parts]),
            trusted.get(name),
        )
        for name, parts in enough.items()
    }
    return evidence.corrected(calibrations, answered) if calibrations or len(sure) else evidence


def _trusted(evidence: Evidence, vetoes: Vetoes, i: Ints, j: Ints) -> Mapping[str, tuple[Reals, Traits]]:
    """By folded type: scores and traits of candidates that would merge by their score alone, of very many every k-th."""
    step = -(-len(i) // _SAMPLE) or 1
    i, j = i[::step], j[::step]
    found: dict[str, tuple[Reals, Traits]] = {}
    for name, at, raw, traits in evidence.traits(i, j, _SURE):
        firm = ~traits.gated & (vetoes.forbid(i[at], j[at], np.zeros(len(at), bool)) == 0)
        found[name] = raw[firm], traits.take(firm)
    return found


def _doubtful(evidence: Evidence, vetoes: Vetoes, i: Ints, j: Ints) -> tuple[Ints, Ints]:
    """Candidates that a score leaves open or takes for one, and no veto keeps apart; of very many every k-th is looked at."""
    step = -(-len(i) // _SAMPLE) or 1
    i, j = i[::step], j[::step]
    at = np.flatnonzero(evidence.score(i, j).odds >= _OPEN)
    at = at[vetoes.forbid(i[at], j[at], np.zeros(len(at), bool)) == 0]
    return i[at], j[at]


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What answers have joined: ``label`` (n,) the smallest row of each row's group, ``links`` the pairs of rows that hold the groups
    together, ``reasons`` what speaks against some of them, ``counts`` how many answers there were and what became of them."""

    label: Ints
    links: tuple[tuple[int, int], ...]
    reasons: Mapping[tuple[str, str], str]
    counts: Mapping[str, int]


def joined(ids: NDArray[np.object_], vetoes: Vetoes, answered: AnsweredRows) -> Joined:
    """Join the rows (n,) that were answered to be the same, unless a recorded conflict, a rejection or an answer forbids it."""
    yes = np.flatnonzero(answered.same & answered.sure)
    i, j = answered.i[yes], answered.j[yes]
    decided = len(vetoes.cannot_link)  # the reasons up to here are decisions of people, those after it rules

    def forbids(x: Ints, y: Ints) -> Flags:
        reason = vetoes.forbid(x, y, np.zeros(len(x), bool))
        return (reason > 0) & (reason <= decided)

    grown = clusters.grow(answered.n, i, j, forbids, lambda x, _y: np.ones(len(x), bool))
    names, reason = vetoes.reasons(), vetoes.forbid(i, j, np.zeros(len(i), bool))
    against = np.flatnonzero((reason > decided) & ~grown.refused)
    reasons = {(str(ids[i[k]]), str(ids[j[k]])): OVERRULED.format(names[int(reason[k]) - 1]) for k in against.tolist()}
    counts = {
        "answers": len(answered.i),
        "answers about no pair here": answered.unknown,
        "answers against a rule": len(against),
        "answers that a conflict or rejection forbids": int(grown.refused.sum()),
    }
    links = zip(i[grown.joined].tolist(), j[grown.joined].tolist(), strict=True)
    said = len(answered.i) + answered.unknown > 0
    return Joined(grown.label, tuple(links), reasons, counts if said else {})
