"""Predicates: which of them take one object at a time ("was born in") and which take many ("likes"), learnt from the data.

Two objects of one subject contradict or replace each other only where the predicate takes one. Nothing declares that, and no
list of words knows it, so it is read from how objects fall on subjects, and said only where the data bear it out. Pure: columns
in, answers out. What follows from it is decided by the planners and audits that ask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from slowwave.texts.keys import keys

Column: TypeAlias = pa.Array | pa.ChunkedArray
Verdict = Literal["single", "many", "unknown"]

_SHARE: Final = 0.9  # of the subjects, to have one object
_RESTATED: Final = 10  # subjects stated more than once that speak for themselves
_SUBJECTS: Final = 20  # subjects from which a comparison with chance is made
_EXCEPTIONS: Final = 5  # subjects with several objects that make a predicate one of many
_DOUBT: Final = math.log(100)  # chance explains what was seen in less than one case of a hundred


@dataclass(frozen=True, slots=True)
class Predicate:
    """What the data say about one predicate.

    ``spellings`` are those that the rows have, ``subjects`` those that it is said of, ``single`` those of them with one object,
    ``restated`` those for which it is said more than once and ``repeated`` those of these with one object; ``expected`` is the
    share of subjects that would have several objects if objects fell on subjects by chance.
    """

    key: str
    spellings: tuple[str, ...]
    subjects: int
    single: int
    restated: int
    repeated: int
    expected: float

    @property
    def share(self) -> float:
        """Share of its subjects that have one object."""
        return self.single / self.subjects

    @property
    def verdict(self) -> Verdict:
        """``single`` and ``many`` where the data bear it out, else ``unknown``.

        Single: nine subjects of ten have one object, and either ten or more were stated again and nine of ten of these stated the
        same, or, of twenty subjects or more, those with several objects are at most half as many as chance gives, and chance gives
        as few in less than one case of a hundred. Many: not that, and five subjects or more have several objects.
        """
        several = self.subjects - self.single
        beats_chance = self.subjects >= _SUBJECTS and self._beats_chance(several / self.subjects)
        if self.share >= _SHARE and (self.repeated_enough or beats_chance):
            return "single"
        return "many" if several >= _EXCEPTIONS else "unknown"

    @property
    def repeated_enough(self) -> bool:
        """Whether ten subjects or more were stated again, and nine of ten of these stated the same: the evidence that is no guess about
        how statements fall on subjects."""
        return self.restated >= _RESTATED and self.repeated >= _SHARE * self.restated

    def _beats_chance(self, seen: float) -> bool:
        """Chernoff's bound on a binomial tail: exp(-n · KL(seen, expected))."""
        if seen > self.expected / 2:
            return False
        divergence = (1 - seen) * math.log((1 - seen) / (1 - self.expected))
        divergence += seen * math.log(seen / self.expected) if seen else 0.0
        return self.subjects * divergence >= _DOUBT

    def to_json(self) -> dict[str, object]:
        """The evidence, as items and reports show it."""
        return {
            "predicate": self.key,
            "verdict": self.verdict,
            "subjects": self.subjects,
            "share_with_one_object": round(self.share, 4),
            "restated": self.restated,
            "repeated": self.repeated,
            "expected_with_several": round(self.expected, 4),
        }


def weigh(subjects: Column, predicates: Column, objects: Column) -> tuple[Predicate, ...]:
    """What the data say about each predicate, by key. Texts that differ in case, spaces or punctuation count as one.

    Objects that fell by chance: a predicate said of a share c of all subjects would, if its statements were independent of each
    other (Poisson with mean -ln(1 - c)), name a second object for 1 - λe⁻λ/(1 - e⁻λ) of them. A predicate that covers few subjects is
    therefore never distinguished from chance, and one that covers most of them is at once.

    Time: a sort of the n statements.
    """
    if len(predicates) == 0:
        return ()
    subject, predicate, object_ = (_codes(c) for c in (subjects, predicates, objects))
    names = predicate.dictionary
    everyone = len(subject.dictionary)
    pairs, place, statements = np.unique(
        _pack(_indices(predicate), _indices(subject), everyone), return_inverse=True, return_counts=True
    )
    facts = np.unique(_pack(place, _indices(object_), len(object_.dictionary)))
    objects_of = np.bincount(facts // max(len(object_.dictionary), 1), minlength=len(pairs))
    of = pairs // everyone
    count = len(names)
    one, again = objects_of == 1, statements > 1
    totals = [np.bincount(of, mask, minlength=count) for mask in (None, one, again, one & again)]
    spellings = _spellings(predicates, _indices(predicate), count)
    return tuple(
        sorted(
            (
                Predicate(
                    str(names[k]),
                    spellings[k],
                    int(totals[0][k]),
                    int(totals[1][k]),
                    int(totals[2][k]),
                    int(totals[3][k]),
                    _chance_of_several(int(totals[0][k]) / everyone),
                )
                for k in range(count)
            ),
            key=lambda p: p.key,
        )
    )


def _chance_of_several(coverage: float) -> float:
    """The share of the covered subjects that chance gives more than one object; never quite 1."""
    mean = -math.log1p(-min(coverage, 1 - 1e-9))
    return 1 - mean * math.exp(-mean) / -math.expm1(-mean)


def _codes(column: Column) -> pa.DictionaryArray:
    return keys(column).dictionary_encode()


def _indices(encoded: pa.DictionaryArray) -> np.ndarray:
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _pack(left: np.ndarray, right: np.ndarray, width: int) -> np.ndarray:
    """Two codes as one number."""
    return left * max(width, 1) + right


def _spellings(predicates: Column, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
    """Code → the spellings of it, sorted."""
    column = predicates.combine_chunks() if isinstance(predicates, pa.ChunkedArray) else predicates
    table = pa.table({"code": codes, "text": column}).group_by(["code", "text"]).aggregate([])
    found: list[list[str]] = [[] for _ in range(count)]
    for code, text in zip(table["code"].to_pylist(), table["text"].to_pylist(), strict=True):
        found[code].append(text)
    return [tuple(sorted(texts)) for texts in found]
