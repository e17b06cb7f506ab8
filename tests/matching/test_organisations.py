"""Names of organisations: one but for abbreviations, legal form and address, or two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching import match_entities
from slowwave.matching.organisations import Organisations
from slowwave.matching.population import Population

OTHERS = (
    *("Brunmere College, Brunmere, Sweden", "Kestwick Hospital, Kestwick, Sweden", "Brunmere Hospital, Brunmere, U.K."),
    *("Kestwick Academy, Kestwick, U.K.", "Quolhaven University, Quolhaven, Sweden", "Zeltford Museum, Zeltford, U.K."),
    *(
        f"Foundation {word}"
        for word in ("Aldora", "Bremor", "Cestil", "Dovrek", "Elquist", "Farlon", "Gristel", "Hovmar")
    ),
    *(
        f"Institute {word}"
        for word in ("Aldora", "Bremor", "Cestil", "Dovrek", "Elquist", "Farlon", "Gristel", "Hovmar")
    ),
)
"""Names by which a type is known to hold organisations, and words to be places."""


def table(*names: str) -> pa.Table:
    given = (*names, *OTHERS)
    return pa.table(
        {"id": [f"{k:03d}" for k in range(len(given))], "entity_type": ["body"] * len(given), "name": given}
    )


def same(a: str, b: str, *others: str) -> bool:
    found = Organisations.from_population(Population.from_table(table(a, b, *others)))
    return bool(found.same(np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("University of Brunmere", "Univ. of Brunmere, Brunmere, United Kingdom"),
        ("Brunmere Inst. of Technology, U.K.", "Brunmere Institute of Technology, United Kingdom"),
        ("University of Brunmere Brunmere Sweden", "University of Brunmere, Brunmere, SE"),
        ("Dept. of Physics, University of Brunmere", "University of Brunmere, Department of Physics, Sweden"),
        ("Veldran Logistics Inc.", "Veldran Logistics Corporation, Brunmere"),
        ("Veldran Logistics", "Veldran Logistics Ltd"),
        ("University of Brunmere, Brunmere", "University of Brunmere, Brunmerre"),
    ],
)
def test_abbreviations_legal_forms_and_addresses_make_no_other_organisation(a: str, b: str) -> None:
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("University of Brunmere", "Department of Physics, University of Brunmere"),  # a part of it
        ("Department of Physics, University of Brunmere", "Department of History, University of Brunmere"),
        ("University of Brunmere", "Brunmere State University"),
        ("University of Brunmere", "Brunmere University"),
        ("Veldran GmbH", "Veldran AG"),
        ("Veldran Logistics Inc.", "Veldran Chemicals Inc."),
        ("Veldran Hospital, Brunmere", "Veldran Hospital, Kestwick"),  # branches
        ("Veldran Hospital, Sweden", "Veldran Hospital, U.K."),
        ("Bank of India", "Bank of China"),
        ("Central High School", "Central High School, Brunmere"),  # there are many
    ],
)
def test_parts_sisters_firms_and_branches_are_others(a: str, b: str) -> None:
    assert not same(a, b)
    assert not same(b, a)


def test_a_type_that_holds_other_things_is_left_alone() -> None:
    """A title may begin with a university; so may one of a few names, which tell nothing of their type."""
    titles = [f"{word} in the morning" for word in OTHERS]
    given = [
        "University of Brunmere",
        "Univ. of Brunmere",
        *(t.replace("Institute", "Walks").replace("Foundation", "Songs") for t in titles[6:]),
    ]
    for names in (given, given[:2]):
        rows = pa.table(
            {"id": [f"{k:03d}" for k in range(len(names))], "entity_type": ["work"] * len(names), "name": names}
        )
        found = Organisations.from_population(Population.from_table(rows))
        assert not found.same(np.array([0]), np.array([1])).any()


def test_bare_names_of_organisations_merge() -> None:
    """Nothing but names is known of them. A department and a sister stay what they are."""
    found = match_entities(
        table(
            *("University of Brunmere", "Univ. of Brunmere, Brunmere, Sweden", "University of Brunmere"),
            *("Department of Physics, University of Brunmere", "Brunmere State University"),
        )
    )
    assert found.merges == (("000", "001", "002"),)


@pytest.mark.parametrize(
    ("whole", "campus"),
    [
        ("Polytechnic of Brunmere", "Polytechnic of Brunmere-Kestwick"),
        ("Polytechnic of Brunmere", "Polytechnic of Brunmere, Kestwick"),
        ("University of Brunmere, Sweden", "Univ. of Brunmere, Kestwick, Sweden"),
        ("Veldran Museum", "Veldran Museum, Kestwick Branch"),
        ("University of Brunmere", "University of Brunmere Campus Kestwick"),
    ],
)
def test_institution_and_its_campus_are_a_question_at_most(whole: str, campus: str) -> None:
    """A place behind a name that has its own place is no address (J5), even where an equal identifier bears the pair out."""
    assert not same(whole, campus)
    assert not same(campus, whole)
    found = Organisations.from_population(Population.from_table(table(whole, campus)))
    assert found.parted(np.array([0]), np.array([1]))[0]
    given = table(whole, campus)
    urls = ['{"url": "https://veldran.example"}'] * 2 + ["{}"] * (len(given) - 2)
    merges = match_entities(given.append_column("attributes", pa.array(urls))).merges
    assert not any({"000", "001"} <= set(ids) for ids in merges)
