"""Names that are two names: each has a word that the other has in no form.

City, employer, house and colleagues agree for all who share them, so they never make one of two such names (``slowwave.matching.match``). A
word stands in the other name when it is there, or its initial, a short form, a slip, another spelling, its beginning, or the same
letters parted otherwise. Two words that are a slip apart are two names where both are common here, both are given names, or one is the
other's feminine form ("Tim", "Tom"; "Erik", "Erika").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA, JaroWinkler

from slowwave.matching.name_levels import LEVEL
from slowwave.matching.names import LONGEST, UNNAMED
from slowwave.matching.nicknames import FORMAL
from slowwave.matching.population import Population
from slowwave.matching.scores import Scores
from slowwave.texts.known_names import known_names
from slowwave.texts.slips import respelt
from slowwave.texts.statements import stem

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_GIVEN: Final = frozenset(FORMAL) | {name for names in FORMAL.values() for name in names}
_ONE: Final = -1
_COMMON: Final = 5  # different names from which a word is known not to be a slip
_PERSONS: Final = 0.5  # rows of a type whose names begin with a given name, from which it is one of persons
_KNOWN: Final = 3  # different names from which a word is known
_SLIPS: Final = 0.02  # share of a common word's names that may hold one slip of it
_LOOKED: Final = 1_000_000  # pairs of names that are read once only
_WORDS: Final = 5  # words that a name has; of more, titles, one says little
_BEGINNING: Final = 3  # letters of a word that may stand for the whole
_ALIKE: Final = 0.65  # of the letters
_SOUNDS: Final = 0.85  # Jaro-Winkler


@dataclass(frozen=True, slots=True, eq=False)
class OtherNames:
    """Folded names of n rows with their codes, how many different names of all hold each word, and whether a row is of a type of persons
    (n,): most names of the type begin with a given name."""

    folded: NDArray[np.object_]
    code: Ints
    held: Mapping[str, int]
    person: Flags
    looked: dict[int, int]

    @classmethod
    def of(cls, population: Population) -> OtherNames:
        """Count the words. Time grows with the distinct names, about 1 µs each."""
        folded = population.names.folded
        held = Counter(word for name in set(folded.tolist()) for word in set(name.split()))
        given = _GIVEN | known_names().given
        known = {
            name: next((w for w in name.split() if w not in UNNAMED), "") in given for name in set(folded.tolist())
        }
        begins = np.array([known[name] for name in folded.tolist()], bool)
        rows = np.maximum(np.bincount(population.kind, minlength=1), 1)
        share = np.bincount(population.kind, begins, len(rows)) / rows
        return cls(folded, population.names.plain, held, (share >= _PERSONS)[population.kind], {})

    def apart(self, i: Ints, j: Ints, *, known: bool = False) -> Flags:
        """Whether the names of pairs (p,) are two names; prose is not looked at. Each distinct pair of names is read once, in 5 to 15 µs.

        With ``known`` only where the words that are left over are known names, so that neither can be a slip too many.
        """
        return self._looks(i, j) > known

    def _looks(self, i: Ints, j: Ints) -> NDArray[np.int8]:
        a, b = self.code[i], self.code[j]
        asked = np.flatnonzero((a != b) & (a >= 0) & (b >= 0))
        keys = np.minimum(a, b)[asked] * (int(self.code.max(initial=0)) + 1) + np.maximum(a, b)[asked]
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        rows = zip(distinct.tolist(), i[asked[first]].tolist(), j[asked[first]].tolist(), strict=True)
        found = np.zeros(len(i), np.int8)
        found[asked] = np.array([self._look(*row) for row in rows], np.int8)[inverse]
        return found

    def compatible(self, i: Ints, j: Ints) -> Flags:
        """Pairs (p,) of short names of two words or more of which one has every word of the other, each in some form."""
        return self._looks(i, j) == _ONE

    def outvoted(self, i: Ints, j: Ints, scores: Scores) -> Flags:
        """Pairs (p,) that are two names and have no identifier of their own in common: only what a group shares could make them one."""
        asked = np.flatnonzero((scores.name <= LEVEL["spelling"]) & ~scores.owned)
        found = np.zeros(len(i), bool)
        found[asked] = self.apart(i[asked], j[asked])
        return found

    def _look(self, key: int, i: int, j: int) -> int:
        if key not in self.looked:
            if len(self.looked) >= _LOOKED:
                self.looked.clear()
            a, b = str(self.folded[i]), str(self.folded[j])
            self.looked[key] = self._two(a, b) if len(a) <= LONGEST >= len(b) else 0
        return self.looked[key]

    def _two(self, a: str, b: str) -> int:
        """1 where words are left over on both sides, 2 where these are known, ``_ONE`` where on one side at the most."""
        one, two = (Counter(w for w in name.split() if w not in UNNAMED) for name in (a, b))
        if max(one.total(), two.total()) > _WORDS:
            return 0
        mine, theirs = self.left_over(one, two)
        if not mine or not theirs:
            return _ONE if min(one.total(), two.total()) > 1 else 0
        return 2 if all(w in _GIVEN or self.held.get(w, 0) >= _KNOWN for w in (*mine, *theirs)) else 1

    def left_over(self, one: Counter[str], two: Counter[str]) -> tuple[list[str], list[str]]:
        """The words of each of two names that the other has in no form."""
        mine, theirs = list((one - two).elements()), list((two - one).elements())
        for left, right in ((mine, theirs), (theirs, mine)):
            for letter in [w for w in left if len(w) == 1]:
                if (whole := next((w for w in right if w[0] == letter), None)) is not None:
                    left.remove(letter)
                    right.remove(whole)
        if mine and theirs and len(mine) != len(theirs) and _near("".join(mine), "".join(theirs)):
            return [], []
        for word in list(mine):
            if (other := next((w for w in theirs if self._same(word, w)), None)) is not None:
                mine.remove(word)
                theirs.remove(other)
        return mine, theirs

    def _same(self, a: str, b: str) -> bool:
        """Whether two different words may be one."""
        if {a, *FORMAL.get(a, ())} & {b, *FORMAL.get(b, ())} or respelt(a, b) or stem(a) == stem(b):
            return True
        begins = min(len(a), len(b)) >= _BEGINNING and (a.startswith(b) or b.startswith(a))
        return (begins or _near(a, b)) and not self._rivals(a, b)

    def _rivals(self, a: str, b: str) -> bool:
        """Whether two words that are nearly one are two names all the same."""
        fewer, more = sorted((self.held.get(a, 0), self.held.get(b, 0)))
        common = fewer >= _COMMON and fewer >= _SLIPS * more
        return common or (a in _GIVEN and b in _GIVEN) or a + "a" == b or b + "a" == a


def _near(a: str, b: str) -> bool:
    return OSA.normalized_similarity(a, b) >= _ALIKE or (
        min(len(a), len(b)) >= _BEGINNING and JaroWinkler.similarity(a, b) >= _SOUNDS
    )
