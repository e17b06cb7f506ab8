"""What the evidence says of many pairs at once, as arrays of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

OVERWHELMING: Final = 9.0
"""Log-odds at which names may differ, or one say more than the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Everything for p pairs, each (p,).

    ``name`` codes NAME_LEVELS; ``rarity`` how rare what the names share is, -1 where they do not agree; ``cosine`` is nan without
    vectors; ``contested``: a strong identifier is in conflict; ``identified``: an identifier is equal, ``owned``: one that stands for one
    thing alone, as no phone of a house does; ``personal``: such a one or a date; ``elsewhere``: the name is common, and what says which of
    its things is meant differs, or it lacks the model code that nearly all names of the type have; ``opposed``: attributes differ, and as
    many as agree; ``supported``: more attributes speak for a match than against it; ``learnt``: the weights of the type are; ``near``: the
    cosine reaches the threshold of its type; ``far``: there are vectors, and their cosine is below the band; ``corrected``: answers have
    corrected the odds.
    """

    odds: Reals
    probability: Reals
    cosine: Reals
    name: NDArray[np.int8]
    rarity: NDArray[np.int8]
    contested: Flags
    identified: Flags
    owned: Flags
    personal: Flags
    elsewhere: Flags
    opposed: Flags
    supported: Flags
    learnt: Flags
    near: Flags
    far: Flags
    corrected: Flags

    def take(self, at: Ints | Flags) -> Scores:
        """The scores of some of the pairs."""
        return Scores(*(getattr(self, f.name)[at] for f in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of all pairs of several."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))
