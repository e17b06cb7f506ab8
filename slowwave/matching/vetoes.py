"""What forbids a merge, whatever the score: law 9. A contradiction is never merged.

Pairs are vetoed when their names differ in a specific, when a decisive identifier is in conflict, or when the pair is barred by
the caller (a recorded conflict, a rejection). Arrays carry the same rules as ``slowwave.texts.specifics.Specifics.differ``,
which writes the sentence for the few pairs that are shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.population import Population
from slowwave.texts.specifics import STRICT, Specifics, specifics

Ints = NDArray[np.int64]
IdPairs = Iterable[tuple[str, str]]

SPECIFICS: Final = "specifics"
IDENTIFIER: Final = "identifier"


@dataclass(frozen=True, slots=True, eq=False)
class Vetoes:
    """Rules over n rows. ``strict`` (n, kinds) must be equal; ``either`` (n, kinds) must be equal where both are not 0;
    ``letters`` (n,) are bit sets of which one must hold the other; ``barred`` maps a reason to sorted pair keys i·n+j."""

    strict: Ints
    either: Ints
    letters: Ints
    barred: Mapping[str, Ints]

    @classmethod
    def of(cls, people: Population, rows: Ints, barred: Mapping[str, IdPairs]) -> Vetoes:
        """Read the specifics of the names of ``rows``, the only ones that may be checked; ``barred`` holds id pairs by reason."""
        n = len(people)
        distinct, inverse = np.unique(np.array(people.titles, np.object_)[rows], return_inverse=True)
        found = [specifics(str(t)) for t in distinct]
        groups = sorted({group for s in found for group, _ in s.exclusive})
        by_group = [s.groups() for s in found]
        place = {str(id_): k for k, id_ in enumerate(people.ids)}

        def spread(columns: Sequence[Ints]) -> Ints:
            """Codes of distinct names → of all rows; those that are not read stay 0."""
            codes = np.zeros((n, len(columns)), np.int64)
            codes[rows] = np.column_stack(columns)[inverse]
            return codes

        def keys(pairs: IdPairs) -> Ints:
            known = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
            return np.array(sorted(min(p) * n + max(p) for p in known), np.int64)

        return cls(
            strict=spread([_codes(read(s) for s in found) for read in STRICT.values()]),
            either=spread(
                [_codes(s.identifiers for s in found)]
                + [_codes(g.get(group, frozenset()) for g in by_group) for group in groups]
            ),
            letters=spread([np.array([_bits(s) for s in found], np.int64)])[:, 0],
            barred={reason: keys(pairs) for reason, pairs in barred.items()},
        )

    def reasons(self) -> tuple[str, ...]:
        """The reasons in the order of the codes of ``check``, from 1."""
        return (*self.barred, SPECIFICS, IDENTIFIER)

    def check(self, i: Ints, j: Ints, contested: NDArray[np.bool_], identified: NDArray[np.bool_]) -> NDArray[np.int8]:
        """The first reason (code from 1) that forbids each pair i < j, 0 where there is none.

        A conflict of identifiers forbids unless another identifier is equal: such a pair is ``contested``, and a person decides.
        """
        n = len(self.letters)
        a, b = self.letters[i], self.letters[j]
        differ = (self.strict[i] != self.strict[j]).any(axis=1) | (((a & ~b) != 0) & ((b & ~a) != 0))
        for column in self.either.T:
            x, y = column[i], column[j]
            differ |= (x != y) & (x > 0) & (y > 0)
        forbidden = [np.isin(i * n + j, keys) for keys in self.barred.values()]
        forbidden += [differ, contested & ~identified]
        return np.select(forbidden, list(range(1, len(forbidden) + 1)), 0).astype(np.int8)


def _codes(values: Iterable[Hashable]) -> Ints:
    """Equal values get equal numbers; the empty set is 0."""
    number: dict[Hashable, int] = {frozenset(): 0}
    return np.array([number.setdefault(v, len(number)) for v in values], np.int64)


def _bits(found: Specifics) -> int:
    return sum(1 << (ord(letter) - ord("a")) for letter in found.letters if "a" <= letter <= "z")
