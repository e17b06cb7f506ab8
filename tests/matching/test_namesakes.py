"""Persons of one name: what merges them, and what leaves the pair to a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product

import numpy as np
import pyarrow as pa

from benchmarks import quality, worlds
from slowwave.matching.match import Matches, least_odds, match
from slowwave.matching.review import NAMESAKE, OTHER_BIRTH
from slowwave.store.settings import Settings

GIVEN = ("Ada", "Bruno", "Carmen", "Dario", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Liam")
SURNAMES = (
    "Smith",
    "Brown",
    "Jones",
    "Miller",
    "Davis",
    "Wilson",
    "Taylor",
    "Moore",
    "Clark",
    "Lewis",
    "Young",
    "King",
)


def person(id_: str, name: str, **attributes: str) -> dict[str, str]:
    return {"id": id_, "entity_type": "person", "name": name, "attributes": json.dumps(attributes)}


def register(*more: dict[str, str]) -> Matches:
    """Match a register in which each of 144 persons is listed twice, with ``more`` rows; a tenth of the dates has another month and day."""
    rows: list[dict[str, str]] = []
    for k, (given, last) in enumerate(product(GIVEN, SURNAMES)):
        known: Mapping[str, str] = {
            "born": f"{1930 + k % 60}-{k % 12 + 1:02d}-{k % 28 + 1:02d}",
            "town": f"Town {'ABCDEFGHIJKL'[k // 12]}",
            "postcode": f"{2000 + k}",
        }
        again = (
            {**known, "born": f"{known['born'][:4]}-{(k + 6) % 12 + 1:02d}-{(k + 9) % 28 + 1:02d}"}
            if k % 10 == 0
            else known
        )
        rows += [person(f"{k}-a", f"{given} {last}", **known), person(f"{k}-b", f"{given} {last}", **again)]
    rows += more
    columns = ("id", "entity_type", "name", "attributes")
    return match(pa.table({c: [row[c] for row in rows] for c in columns}), Settings())


def merged(found: Matches, a: str, b: str) -> bool:
    return any({a, b} <= set(ids) for ids in found.merges)


def test_births_without_a_common_part_are_asked_about() -> None:
    """Father and son have one name, one town and one postcode; dates with one part in common merge."""
    home = {"town": "Town A", "postcode": "9000"}
    found = register(
        *(
            person("father", "Ruben Holloway", born="1931-02-03", **home),
            person("son", "Ruben Holloway", born="1967-11-24", **home),
        ),
        *(
            person("one", "Signe Penrose", born="1931-02-03", **home),
            person("again", "Signe Penrose", born="1937-12-03", **home),
        ),
    )
    assert not merged(found, "father", "son")
    assert found.explain("father", "son").reason == OTHER_BIRTH
    assert merged(found, "again", "one")


def test_a_row_without_a_birth_does_not_join_father_and_son() -> None:
    """The row that states less could be of either of them, and never brings both into one cluster."""
    home = {"town": "Town A", "postcode": "9000"}
    found = register(
        person("father", "Ruben Holloway", born="1931-02-03", **home),
        person("son", "Ruben Holloway", born="1967-11-24", **home),
        person("either", "Ruben Holloway", **home),
    )
    assert not merged(found, "father", "son")


def test_a_common_name_alone_is_asked_about() -> None:
    """Rows that share nothing but a name of common words are a question, with its reason."""
    found = register(person("one", "Ada Smith", town="Town K"), person("other", "Ada Smith", postcode="2001"))
    assert not merged(found, "one", "other")
    assert found.explain("one", "other").reason == NAMESAKE


def test_dates_of_other_pairs_set_the_least_odds() -> None:
    """The least log-odds are those from which on 99 of 100 dates of birth agree; few pairs, and agreeing ones, set none."""
    odds = np.linspace(10, 3, 200)
    agree = np.ones(200, bool)
    kinds = np.zeros(200, np.int64)
    assert least_odds(kinds, kinds, odds, agree).tolist() == [-np.inf]
    agree[150::2] = False
    (least,) = least_odds(kinds, kinds, odds, agree)
    assert odds[155] < least < odds[149]
    assert least_odds(kinds, kinds[:99], odds[:99], ~agree[:99]).tolist() == [-np.inf]
    assert least_odds(kinds, kinds, odds, np.zeros(200, bool)).tolist() == [np.inf]


def test_unasked_merges_of_electors_are_right() -> None:
    """In rolls with namesakes, households and juniors, at least 99 of 100 merged pairs are one person."""
    rows = worlds.make("electors")
    columns = {"id": [r.id for r in rows], "entity_type": [r.entity_type for r in rows], "name": [r.name for r in rows]}
    found = match(pa.table({**columns, "attributes": [json.dumps(r.attrs) for r in rows]}), Settings())
    place = {r.id: k for k, r in enumerate(rows)}
    labels = quality.labels_of(len(rows), [[place[id_] for id_ in ids] for ids in found.merges])
    _, gold = np.unique([r.cluster_id for r in rows], return_inverse=True)
    merges = quality.closure(labels, gold)
    assert merges.said > 1_000
    assert merges.right >= 0.99 * merges.said
