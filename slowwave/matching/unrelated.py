"""Short notes no two of which are about one thing: how near an embedding model puts texts that have nothing to do with each other.

They are written for this and taken from nowhere. What a model makes of them is its null distribution of cosines; where the floor of an
operation lies above it belongs to the operation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.vectors import unit_rows

_MOST: Final = 512
_DECILE: Final = 1.2816
"""Standard deviations between the median and the first decile of a normal distribution."""


class NullCosines(NamedTuple):
    """Cosines of unrelated texts: their ``median``, and their standard ``deviation`` by what lies below it."""

    median: float
    deviation: float

    def above(self, deviations: float) -> float:
        """The cosine so many deviations above the median, at most .99."""
        return min(0.99, self.median + deviations * self.deviation)


def null_cosines(vectors: NDArray[np.floating]) -> NullCosines:
    """Of (n, d) vectors, n ≥ 2, most of which are of unrelated texts; zero and unsound ones are left out.

    The deviation is read off below the median, where related texts are not: so some that belong together move it little. Beyond
    512 rows evenly drawn ones are compared.
    """
    units, _ = unit_rows(vectors[:: -(-len(vectors) // _MOST)])
    cosine = (units @ units.T)[np.triu_indices(len(units), 1)].astype(np.float64)
    low, median = np.quantile(cosine, (0.1, 0.5)).tolist()
    return NullCosines(median, (median - low) / _DECILE)


UNRELATED: Final = (
    "The library card expires at the end of June.",
    "Basil needs more light than mint does.",
    "We moved the standup to a quarter past nine.",
    "Her cousin plays the cello in a youth orchestra.",
    "The invoice template has a wrong tax number.",
    "Sourdough has to rest overnight in the fridge.",
    "The backup job writes to a second disk every night.",
    "He is afraid of flying and takes the ferry.",
    "Snow closed the mountain pass for two days.",
    "The warranty of the dishwasher has run out.",
    "Use tabs and not spaces in the makefile.",
    "My sister teaches chemistry at a secondary school.",
    "The museum is free on the first Sunday of the month.",
    "A wasp nest hangs under the garage roof.",
    "The insurance asks for a photo of the damage.",
    "Customers in Norway pay no shipping fee.",
    "Our goalkeeper broke his thumb during training.",
    "The chapter about whales is too long.",
    "Logins are limited to five attempts an hour.",
    "The tailor shortened both sleeves by an inch.",
    "Election posters have to be removed within a week.",
    "Goat cheese and figs go well together.",
    "The compiler warns about an unused variable.",
    "They adopted an old greyhound from the shelter.",
    "The choir rehearses in the chapel on Wednesdays.",
    "Her blood pressure is a little too high.",
    "The lift stops only at even floors.",
    "We ran out of printer paper again.",
    "The volcano was last active a century ago.",
    "He collects stamps with pictures of lighthouses.",
    "Refunds are approved by the finance team.",
    "The hotel room had a view of the harbour.",
    "Wear gloves when you handle the acid.",
    "The second act of the play drags.",
    "Bees avoid the field since it was sprayed.",
    "The API returns dates in universal time.",
    "Grandfather built this violin from maple.",
    "Parking costs four euros an hour downtown.",
    "The interview with the plumber is on Monday.",
    "She swims a mile before breakfast.",
    "The lawyer advised against signing the lease.",
    "Bicycles may be taken on the late train.",
    "The telescope shows the rings of Saturn.",
    "Marketing wants a shorter slogan.",
    "The baby has her first tooth.",
    "A fuse blew when the oven was switched on.",
    "The river carries more sand than it used to.",
    "Passwords are rotated every quarter.",
    "He prefers green tea without sugar.",
    "The bridge is painted in a dark red.",
    "Our tenants complain about the noise.",
    "The vaccine has to be kept cold.",
    "Chess club meets above the bakery.",
    "The unit tests take eleven minutes.",
    "Wolves have returned to the northern forest.",
    "The curtain rod is six centimetres too short.",
    "Her thesis is about medieval trade routes.",
    "The bus driver waited for the children.",
    "Quarterly sales fell in the southern region.",
    "The soup tastes better on the next day.",
    "Someone left a blue umbrella in the hall.",
    "The satellite loses contact behind the moon.",
    "He learnt Portuguese while working in Brazil.",
    "The judge postponed the hearing.",
    "Their wedding will be outdoors if it stays dry.",
    "The scooter battery lasts thirty kilometres.",
    "Moths have eaten holes into the wool coat.",
    "The database index was rebuilt on Sunday.",
    "Pomegranates ripen late in the year.",
    "The fire drill took everybody by surprise.",
    "Her handwriting is hard to read.",
    "The glacier has become visibly smaller.",
    "Meeting rooms are booked through the calendar.",
    "The parrot imitates the doorbell.",
    "The loan is paid off in three years.",
    "Rust has spread along the fence.",
    "The documentary about jazz won a prize.",
    "Please send the contract by registered mail.",
    "The vineyard lies on a steep southern slope.",
    "He forgot to water the tomatoes.",
    "The keyboard layout is Swiss German.",
    "The dentist recommends a softer brush.",
    "Migrating birds rest in the marsh.",
    "The newsletter goes out every other Thursday.",
    "The statue lost an arm in the war.",
    "Her luggage was sent to Madrid by mistake.",
    "The algorithm sorts parcels by weight.",
    "Fog delayed the morning flights.",
    "The landlord repainted the staircase.",
    "A pinch of cinnamon improves the sauce.",
    "The marathon route crosses the old town.",
    "The helpline is not staffed at night.",
    "He restores antique clocks for a living.",
    "The server room smells of burnt plastic.",
    "Kindergarten starts at half past seven.",
    "The referee ignored an obvious foul.",
)
"""Ninety-six notes."""
