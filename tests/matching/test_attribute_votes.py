"""What attributes say of pairs: what tells two things apart, and how many speak."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from slowwave.matching.compare import FIELDS, Comparer
from slowwave.matching.evidence import HEARD, Evidence, identifiers, opposing, strong, votes
from slowwave.matching.population import Population
from slowwave.matching.words import WordInformation
from slowwave.store.settings import Settings

ROWS = [
    {"email": "ada@lumen.example", "born": "1970-01-02", "city": "Lima"},
    {"email": "ada@lumen.example", "born": "1970-01-02", "city": "Oslo"},
    {"email": "eve@orbit.example", "born": "1984-07-21", "city": "Lima"},
]


def people() -> tuple[Population, Comparer]:
    found = Population.from_table(
        pa.table(
            {
                "id": ["a", "b", "c"],
                "entity_type": ["person"] * 3,
                "name": ["Ada Byron"] * 3,
                "attributes": [json.dumps(row) for row in ROWS],
            }
        )
    )
    return found, Comparer(found, int(found.kind[0]), WordInformation.from_texts(found.names.folded))


def test_a_conflict_and_an_equal_identifier_are_told_apart() -> None:
    """While nothing is learnt an e-mail and a date of birth are strong, and a city is not."""
    population, comparer = people()
    i, j = np.array([0, 0]), np.array([1, 2])
    weights = Evidence.learn(population, Settings(), i, j).model["person"]
    contested, identified = identifiers(comparer.columns, weights, comparer.attributes(i, j))
    assert contested.tolist() == [False, True]
    assert identified.tolist() == [True, False]
    told = {c.key: strong(c, weights, k) for k, c in enumerate(comparer.columns, FIELDS)}
    assert told == {"email": True, "born": True, "city": False}


def test_an_identifier_is_heard_sooner_than_what_describes_a_thing() -> None:
    _, comparer = people()
    needed = dict(zip([c.key for c in comparer.columns], opposing(comparer.columns).tolist(), strict=True))
    assert needed["email"] == needed["born"] == HEARD < needed["city"]
    against, for_ = votes(np.array([[-0.3, -0.3, 0.0], [0.3, 0.2, -2.0]]), np.array([0.25, 0.7, 0.7]))
    assert (against.tolist(), for_.tolist()) == ([1, 1], [0, 1])
