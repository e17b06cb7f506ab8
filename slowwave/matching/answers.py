"""What people answered when asked whether two rows are the same thing.

Answers are a set: their order means nothing. Those that cannot all be true (a = b, b = c, a ≠ c) are refused with the pairs
named, as nobody but the one who answered knows which of them is wrong. What is learnt from them belongs to ``slowwave.matching.learning``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import Refused

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNSURE: Final = "unsure"
"""What to answer where one cannot tell: the pair is not asked again, and nothing is learnt."""


class PairAnswer(NamedTuple):
    """Two ids, the smaller first, and whether they are the same; None: unsure."""

    a: str
    b: str
    same: bool | None


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers in the order of their ids, one a pair."""

    pairs: tuple[PairAnswer, ...] = ()

    @classmethod
    def of(cls, given: Iterable[tuple[str, str, bool | str | None]]) -> Answers:
        """Read triples (a, b, same): True, False, or "unsure". A pair may be answered twice; what is sure counts.

        Raises ``Refused`` where an answer is none of these, a row is compared with itself, or answers exclude each other. Time
        grows with the answers; those that exclude each other cost a search more.
        """
        found: dict[tuple[str, str], bool | None] = {}
        for one, other, said in given:
            a, b = sorted((str(one), str(other)))
            same = None if said is None or said == UNSURE else said
            if a == b or not (same is None or isinstance(same, (bool, np.bool_))):
                raise Refused(f"An answer names two rows and True, False or {UNSURE!r}; this one is {(a, b, said)!r}.")
            known = found.get((a, b))
            if known is not None and same is not None and known != same:
                raise Refused(f"{a} and {b} are answered to be the same and not to be. Take one of the answers back.")
            found[a, b] = known if same is None else bool(same)
        answers = cls(tuple(PairAnswer(a, b, same) for (a, b), same in sorted(found.items())))
        answers._check()
        return answers

    def __len__(self) -> int:
        return len(self.pairs)

    def _check(self) -> None:
        beside: dict[str, list[str]] = {}
        for a, b, same in self.pairs:
            if same:
                beside.setdefault(a, []).append(b)
                beside.setdefault(b, []).append(a)
        group: dict[str, str] = {}
        for start in sorted(beside):
            stack = [] if start in group else [start]
            while stack:
                row = stack.pop()
                if group.setdefault(row, start) == start:
                    stack += [other for other in beside[row] if other not in group]
        for a, b, same in self.pairs:
            if same is False and group.get(a, a) == group.get(b, b):
                chain = " = ".join(_path(beside, a, b))
                raise Refused(f"These answers cannot all be true: {chain}, but {a} ≠ {b}. Take one of them back.")


def _path(beside: dict[str, list[str]], a: str, b: str) -> list[str]:
    """The shortest chain from a to b."""
    came = {a: a}
    open_ = deque([a])
    while b not in came:
        row = open_.popleft()
        for other in beside[row]:
            if other not in came:
                came[other] = row
                open_.append(other)
    path = [b]
    while path[-1] != a:
        path.append(came[path[-1]])
    return path[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredRows:
    """Answers about n rows: ``i`` < ``j`` (l,) are row numbers, sorted; ``same`` (l,) and ``sure`` (l,) what was said of each
    pair. ``unknown`` answers name a row that is not there, rows of two types, or of a type in which nothing is compared."""

    n: int
    i: Ints
    j: Ints
    same: Flags
    sure: Flags
    unknown: int

    @classmethod
    def of(cls, answers: Answers, ids: NDArray[np.object_], kind: Ints, kinds: Iterable[int]) -> AnsweredRows:
        """The answers about rows with these ``ids`` (n,), in order, and types ``kind`` (n,), where those are among ``kinds``."""
        looked = frozenset(kinds)
        place = {str(id_): k for k, id_ in enumerate(ids)} if answers.pairs else {}
        known = [
            (*sorted((place[a], place[b])), bool(same), same is not None)
            for a, b, same in answers.pairs
            if a in place and b in place and kind[place[a]] == kind[place[b]] and int(kind[place[a]]) in looked
        ]
        rows = np.array(sorted(known), np.int64).reshape(-1, 4)
        i, j, same, sure = rows.T
        return cls(len(ids), i, j, same.astype(bool), sure.astype(bool), len(answers) - len(known))

    def keys(self, *, same: bool) -> Ints:
        """i·n+j of the pairs that were surely answered so, ascending."""
        at = np.flatnonzero((self.same == same) & self.sure)
        return self.i[at] * self.n + self.j[at]

    def of_pairs(self, i: Ints, j: Ints) -> Ints:
        """Where the pairs (p,) stand among the answers, -1 where nobody answered."""
        if not len(self.i):
            return np.full(len(i), -1, np.int64)
        keys, wanted = self.i * self.n + self.j, np.minimum(i, j) * self.n + np.maximum(i, j)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)
