"""Evidence: what each type learns, and what an identifier forbids."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching.evidence import Evidence
from slowwave.matching.population import Population
from slowwave.store.settings import Settings

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Row = tuple[str, str, dict[str, str]]


def name(random: Random) -> str:
    return " ".join("".join(random.choices(LETTERS, k=7)) for _ in range(2))


def registry(kind: str, people: int, *, slips: float, seed: int = 4) -> list[Row]:
    """Persons that stand twice each, with a number that is mistyped in a share of the copies, among namesakes."""
    random = Random(seed)
    rows: list[Row] = []
    for _ in range(people):
        who = name(random)
        attributes = {
            "badge_id": f"{random.randrange(10**8):08d}",
            "city": random.choice(["Lima", "Oslo", "Quito"]),
            "street": f"{random.randrange(1, 99)} {name(random)}",
        }
        copy = dict(attributes)
        if random.random() < slips:
            copy["badge_id"] = f"{random.randrange(10**8):08d}"
        rows += [(kind, who, attributes), (kind, who, copy)]
        if random.random() < 0.5:  # a namesake elsewhere
            rows.append((kind, who, {"city": "Turin", "badge_id": f"{random.randrange(10**8):08d}"}))
    return rows


def learn(rows: list[Row]) -> tuple[Population, Evidence, np.ndarray, np.ndarray]:
    """All pairs of one type with equal names are the candidates."""
    people = Population.from_table(
        pa.table(
            {
                "id": [f"{k:05d}" for k in range(len(rows))],
                "entity_type": [kind for kind, _, _ in rows],
                "name": [who for _, who, _ in rows],
                "attributes": [json.dumps(attributes) for _, _, attributes in rows],
            }
        )
    )
    pairs = [
        (a, b)
        for a in range(len(rows))
        for b in range(a + 1, min(a + 3, len(rows)))
        if people.kind[a] == people.kind[b]
    ]
    i, j = np.array(pairs).T
    return people, Evidence.learn(people, Settings(), i, j), i, j


def test_an_identifier_that_matches_keep_forbids() -> None:
    """Two badges, two persons, whatever else agrees."""
    people, evidence, _, _ = learn(registry("person", 300, slips=0.0))
    assert evidence.model["person"].learnt
    i = np.array([k for k in range(len(people) - 1) if people.display_names[k] == people.display_names[k + 1]])
    scores = evidence.score(i, i + 1)
    badge = people.attributes.columns[0]
    differ = badge.first(i) != badge.first(i + 1)
    assert differ.any()
    assert (scores.contested == differ).mean() > 0.99  # but for badges one slip apart
    assert (evidence.contested(i, i + 1) == (scores.contested & ~scores.identified)).all()


def test_an_identifier_that_is_often_mistyped_forbids_nothing() -> None:
    """It still weighs against; it is no veto."""
    _, evidence, i, j = learn(registry("person", 300, slips=0.15))
    scores = evidence.score(i, j)
    assert evidence.model["person"].learnt
    assert not scores.contested.any()


def test_a_small_type_starts_from_what_the_others_have_learnt() -> None:
    """Eight visitors, six hundred persons: how columns of a kind agree is the same."""
    small = registry("visitor", 4, slips=0.0, seed=9)
    _, together, _, _ = learn([*registry("person", 300, slips=0.0), *small])
    _, alone, _, _ = learn(small)
    assert not together.model["visitor"].learnt
    codes = [
        next(k for k, c in enumerate(e.model["visitor"].comparisons) if c.shape == "code") for e in (together, alone)
    ]
    gained = [e.model["visitor"].weight[k][-1] for e, k in zip((together, alone), codes, strict=True)]
    assert gained[0] != pytest.approx(gained[1])
    person = together.model["person"]
    assert gained[0] == pytest.approx(person.weight[codes[0]][-1], abs=0.5)


def test_the_waterfall_says_what_it_compares() -> None:
    """Values beside each other, cut short, in the order of the comparisons."""
    rows = [("thing", "Quay", {"about": "word " * 60}), ("thing", "Quay", {"about": "word " * 60 + "more"})]
    _, evidence, i, j = learn(rows)
    (steps,) = evidence.waterfalls(i, j)
    about = next(s for s in steps if s["evidence"] == "about")
    assert str(about["value"]).count("word") == 32
    assert steps[0]["evidence"] == "prior"
    odds = sum(float(str(s["weight"])) for s in steps)
    assert odds == pytest.approx(float(evidence.score(i, j).odds[0]), abs=0.01)
