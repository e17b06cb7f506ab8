"""Comparisons: how two rows agree, column by column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching.compare import LEVEL, TABLES, UNMISTAKABLE, Comparer, ComparisonLevels
from slowwave.matching.population import Population
from slowwave.matching.words import WordInformation


def compare(
    rows: Sequence[tuple[str, Mapping[str, object]]], i: Sequence[int] = (0,), j: Sequence[int] = (1,)
) -> tuple[Comparer, ComparisonLevels]:
    """Rows of one type and pairs of them → their comparison."""
    table = pa.table(
        {
            "id": [f"{k:04d}" for k in range(len(rows))],
            "entity_type": ["thing"] * len(rows),
            "name": [name for name, _ in rows],
            "attributes": [json.dumps(attributes) for _, attributes in rows],
        }
    )
    people = Population.from_table(table)
    comparer = Comparer(people, 0, WordInformation.from_texts(people.names.folded))
    return comparer, comparer.compare(np.array(i), np.array(j))


FILLER = [(f"filler{k} word{k % 7}", {}) for k in range(30)]


@pytest.mark.parametrize(
    ("a", "b", "level"),
    [
        ("Café Zoë", "cafe zoe", "exact"),
        ("Reyes, Mara", "Mara Reyes", "exact"),
        ("OpenTelemetry", "Open Telemetry", "compact"),
        ("Northwind Ltd", "Northwind", "compact"),
        ("Reyes Mara", "Mara Reyes", "reordered"),
        ("Bob Marsh", "Robert Marsh", "nickname"),
        ("IBM", "International Business Machines", "acronym"),
        ("Kubernetes", "Kubernets", "spelling"),
        ("Habrour lights committee", "Harbour lights committee", "spelling"),
        ("M. Reyes", "Mara Reyes", "initials"),
        ("Acme Harbor Lisbon", "Acme Harbor", "contained"),
        ("Grafana", "Lisbon office", "different"),
    ],
)
def test_names_agree_at_the_strongest_level_that_holds(a: str, b: str, level: str) -> None:
    """From different to exact."""
    _, found = compare([(a, {}), (b, {}), *FILLER])
    assert list(LEVEL)[found.levels[0, 0]] == level


def test_long_names_that_begin_alike_are_not_alike() -> None:
    """One content word exchanged in a title: letters in common are no agreement."""
    a = "An adaptive approach for feature selection with noisy examples"
    b = "An adaptive approach for reinforcement learning with noisy examples"
    _, found = compare([(a, {}), (b, {}), *FILLER])
    assert found.levels[0, 0] < LEVEL["alike"]


@pytest.mark.parametrize(
    ("key", "a", "b", "level"),
    [
        ("email", "mara@acme.org", "MARA@acme.org", 2),
        ("email", "mara@acme.org", "mara@acmee.org", 1),
        ("email", "mara@acme.org", "jo@quay.example", 0),
        ("url", "https://www.acme.org/", "acme.org", 2),
        ("url", "https://acme.org/a", "https://acme.org/b", 1),
        ("phone", "+1 555 010 2030", "1-555-010-2030", 2),
        ("phone", "+1 555 010 2030", "+1 555 010 2031", 1),
        ("born", "1980-02-01", "19800201", 3),
        ("born", "1980-02-01", "1980-01-02", 2),
        ("born", "1980-02-01", "1980-02-11", 2),
        ("born", "1980-02-01", "1980-02-27", 1),
        ("born", "1980-02-01", "1991-12-31", 0),
        ("price", "1535.91", "$1,535.91", 3),
        ("price", "1535.91", "1535.92", 2),
        ("price", "1535.91", "1506", 1),
        ("price", "1535.91", "12", 0),
        ("city", "Lisbon", "LISBON", 3),
        ("city", "Lisbon", "Lisbonn", 2),
        ("city", "New Lisbon", "Lisbon", 1),
        ("city", "Lisbon", "Quito", 0),
    ],
)
def test_attributes_agree_by_what_they_are(key: str, a: str, b: str, level: int) -> None:
    """Equal, a slip, near, different: what near means depends on the shape."""
    comparer, found = compare([("x", {key: a}), ("y", {key: b})])
    assert comparer.comparisons[2].name == key
    assert found.levels[0, 2] == level


def test_prose_is_compared_by_its_words() -> None:
    """From nothing in common to equal."""
    texts = [
        "small dry stone harbour near lisbon",
        "Small dry stone harbour, near Lisbon.",
        "a small dry stone harbour near lisbon",
        "a dry stone harbour of lisbon town",
        "small words about other matters entirely",
        "completely unrelated prose",
    ]
    rows = [(f"n{k}", {"about": t}) for k, t in enumerate(texts)]
    _, found = compare(rows, [0] * 5, [1, 2, 3, 4, 5])
    levels = found.levels[:, 2].tolist()
    assert levels[0] == len(TABLES["text"]) - 1
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == 0


def test_what_one_side_does_not_say_is_no_evidence() -> None:
    """-1, not a difference."""
    _, found = compare([("x", {"city": "Lisbon"}), ("y", {})])
    assert found.levels[0].tolist()[2:] == [-1, -1, -1, -1]


def test_one_value_in_common_is_enough_for_lists() -> None:
    """Two people with several addresses each."""
    _, found = compare([("x", {"email": ["a@b.org", "c@d.org"]}), ("y", {"email": ["c@d.org", "e@f.org"]})])
    assert found.levels[0, 2] == 2


def test_agreeing_on_a_rare_value_says_more() -> None:
    """Term frequency: everybody lives in Lisbon, two in Quito."""
    rows = [("x", {"city": c}) for c in ["Lisbon"] * 40 + ["Quito"] * 2]
    _, found = compare(rows, [0, 40], [1, 41])
    assert found.rarity[1, 2] > 0 > found.rarity[0, 2]


def test_how_rare_a_name_is() -> None:
    """A name of many words is unmistakable, one that half of the rows share is common."""
    rows = [("john smith", {})] * 20 + [("anna smith", {})] * 20
    rows += [("Oleander Quay Lantern Society of Lower Harrowgate", {})] * 2
    _, found = compare(rows, [0, 40], [1, 41])
    assert found.levels[:, 1].tolist() == [0, UNMISTAKABLE]


def test_every_pair_of_equal_rows_is_at_the_top() -> None:
    """A row agrees with its copy in all that it says."""
    row = ("Mara Reyes", {"email": "m@a.org", "born": "1980-02-01", "size": 3, "about": "a short text of some words"})
    comparer, found = compare([row, row])
    for k, comparison in enumerate(comparer.comparisons):
        if found.levels[0, k] >= 0 and comparison.shape not in ("rarity", "name"):
            assert found.levels[0, k] == len(comparison.m) - 1
    assert found.levels[0, 0] == LEVEL["exact"]
    assert comparer.wordings(np.array([0]), np.array([1]))[0] == pytest.approx(1)


def test_tables_are_probabilities() -> None:
    """m and u of every shape sum to one, and agreement weighs more from level to level."""
    for table in TABLES.values():
        m, u = np.array([m for _, m, _ in table]), np.array([u for _, _, u in table])
        assert m.sum() == pytest.approx(1, abs=0.011)
        assert u.sum() == pytest.approx(1, abs=0.011)
        assert (np.diff(np.log(m / u)) > 0).all()


def test_a_few_pairs_are_compared_as_many_are() -> None:
    """Levels are those of the two rows, whatever other pairs are asked for: of one pair only its own values are read."""
    kinds = (
        "mara@acme.org",
        "mira@acme.org",
        "14 Quay Lane",
        "14 Quay Lan",
        "1980-02-01",
        "1980-02-10",
        "AB-12345",
        "AB-12346",
    )
    shapes = {"email": 0, "street": 2, "date_of_birth": 4, "passport_number": 6}
    rows = [
        (
            f"Mara {'Reyes' if k % 3 else 'Rejes'}",
            {key: kinds[at + (k >> bit & 1)] for bit, (key, at) in enumerate(shapes.items())},
        )
        for k in range(16)
    ]
    i, j = np.triu_indices(len(rows), 1)
    comparer, whole = compare(rows, i.tolist(), j.tolist())
    for k in range(0, len(i), 7):
        one = comparer.compare(i[k : k + 1], j[k : k + 1])
        assert one.levels.tolist() == whole.levels[k : k + 1].tolist()
        assert one.rarity.tolist() == whole.rarity[k : k + 1].tolist()


def test_two_persons_who_share_a_given_name_are_not_alike_as_values() -> None:
    """Beginnings weigh much in Jaro-Winkler: of what is alike most letters are the same."""
    rows = [("Blue Harbor", {"by": by}) for by in ("Jan Pavlov", "Jan Petrovic", "Jan Pavlo", "Pavlov")]
    comparer, found = compare(rows, (0, 0, 0), (1, 2, 3))
    assert [c.name for c in comparer.comparisons[2:3]] == ["by"]
    assert found.levels[:, 2].tolist() == [0, 2, 1]


def test_a_short_form_is_read_anywhere_and_beside_a_slip() -> None:
    """ "Bill Claysin" is "William Clayson": a short form and a slip in one name."""
    rows = [
        ("Bill Claysin", {}),
        ("William Clayson", {}),
        ("William Clayson", {}),
        ("William Clayson", {}),
        ("William Clayson", {}),
        *FILLER,
    ]
    _, found = compare(rows)
    assert found.levels[0, 0] == LEVEL["spelling"]
