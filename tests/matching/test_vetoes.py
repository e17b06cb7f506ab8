"""Vetoes: each reason by name, and arrays that say what the texts say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.population import Population
from slowwave.matching.vetoes import IDENTIFIER, SPECIFICS, Vetoes
from slowwave.text.contradictions import difference
from slowwave.text.specifics import specifics


def read(*names: str, **cannot_link: list[tuple[str, str]]) -> Vetoes:
    """Vetoes over rows with the ids a, b, c …"""
    n = len(names)
    rows = pa.table({"id": [chr(97 + k) for k in range(n)], "entity_type": ["thing"] * n, "name": names})
    return Vetoes.from_population(Population.from_table(rows), np.arange(n), cannot_link)


def verdict(a: str, b: str) -> str:
    """Forbidden, one-sided or free; it is the same from both sides."""
    vetoes = read(a, b)
    i, j, no = np.array([0, 1]), np.array([1, 0]), np.zeros(2, bool)
    codes, one_sided = vetoes.forbid(i, j, no), vetoes.one_sided(i, j)
    assert codes[0] == codes[1]
    assert one_sided[0] == one_sided[1]
    assert not (codes[0] and one_sided[0])
    if codes[0]:
        assert vetoes.reasons()[codes[0] - 1] == SPECIFICS
    return "forbidden" if codes[0] else "one-sided" if one_sided[0] else "free"


def test_veto_numbers() -> None:
    assert verdict("Pier 2", "Pier 3") == "forbidden"
    assert verdict("Pier", "Pier 3") == "one-sided"
    assert verdict("Pier two", "Pier 2") == "free"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("HARBOUR_CONFIG_YAML", "~/.harbour/config.yaml", "one-sided"),
        ("night_agent", "NIGHT_AGENT_ID", "one-sided"),
        ("NIGHT_AGENT", "night_agent", "one-sided"),
        ("hash_name", "name_hash", "one-sided"),
        ("src/config.yaml", "config.yaml", "one-sided"),
        ("night_agent", "Night Agent Service", "one-sided"),
        ("night_agent", "Night Agent", "free"),
        ("night_agent", "night_agent", "free"),
        ("A/B test", "AB test", "free"),
        ("Vue.js", "Vue", "free"),
    ],
)
def test_names_of_code_differ_by_a_letter_or_by_their_kind(a: str, b: str, expected: str) -> None:
    """A variable and the path that it holds, an agent and the variable of its id are two (J5)."""
    assert verdict(a, b) == expected


def test_veto_versions() -> None:
    assert verdict("Python 3.11", "Python 3.12") == "forbidden"
    assert verdict("Python 3", "Python 3.11") == "one-sided"
    assert verdict("Python v3.11", "Python 3.11") == "free"


def test_veto_dates() -> None:
    assert verdict("Budget 2024", "Budget 2025") == "forbidden"
    assert verdict("Review of May 2024", "Review of 6 May 2024") == "one-sided"
    assert verdict("Review of 6 May 2024", "Review of 2024-05-06") == "free"


def test_veto_units() -> None:
    assert verdict("5 km run", "5 mi run") == "forbidden"
    assert verdict("Panel 46 inch", "Panel 46") == "one-sided"
    assert verdict("Bag 500 g", "Bag 0.5 kg") == "free"


def test_veto_roman_numerals() -> None:
    assert verdict("Pier II", "Pier III") == "forbidden"
    assert verdict("John Smith", "John Smith III") == "one-sided"
    assert verdict("Pier II", "Pier 2") == "free"


def test_veto_ordinals() -> None:
    assert verdict("1st draft", "2nd draft") == "forbidden"
    assert verdict("draft", "2nd draft") == "one-sided"
    assert verdict("second draft", "2nd draft") == "free"


def test_veto_negation() -> None:
    assert verdict("Deploy approved", "Deploy not approved") == "forbidden"
    assert verdict("Learning from data", "Learning from data without labels") == "one-sided"


def test_veto_antonyms() -> None:
    assert verdict("Inbound queue", "Outbound queue") == "forbidden"
    assert verdict("queue", "Outbound queue") == "free"


def test_veto_exclusive_terms() -> None:
    assert verdict("Red lantern", "Blue lantern") == "forbidden"
    assert verdict("Red and blue lantern", "Blue lantern") == "free"


def test_veto_letters() -> None:
    assert verdict("Plan A", "Plan B") == "forbidden"
    assert verdict("John A. Smith", "John B. Smith") == "forbidden"
    assert verdict("John A. Smith", "John Smith") == "free"
    assert verdict("J. Smith", "John A. Smith") == "free"


def test_veto_identifiers_in_names() -> None:
    assert verdict("TV KDL46V4100", "TV KDL46V4200") == "forbidden"
    assert verdict("Sony Bravia 46 inch TV KDL46V4100", "Sony KDL-46V4100 Bravia TV") == "one-sided"
    assert verdict("TV KDL46V4100", "TV KDL-46V4100") == "free"


def test_veto_exchanged_names_in_sentences() -> None:
    assert verdict("Mara met Bob on the pier at noon", "Mara met Alice on the pier at noon") == "forbidden"


def test_veto_signs() -> None:
    assert verdict("a - b", "a + b") == "forbidden"
    assert verdict(".NET", "NET") == "one-sided"
    assert verdict("AT&T Inc.", "AT&T, Inc") == "free"


def test_veto_exchanged_roles() -> None:
    assert verdict("Paris to Rome", "Rome to Paris") == "forbidden"
    assert verdict("Reyes Mara", "Mara Reyes") == "free"


def test_other_words_are_words_a_few_letters_apart() -> None:
    """Not slips, not two spellings, not other forms of a word; opposites count twice."""
    names = ("propane tank", "propene tank", "propanne tank", "colour", "color", "hyperkalemia", "hypokalemia", "tanks")
    i, j = np.array([0, 0, 3, 5, 0, 1]), np.array([1, 2, 4, 6, 7, 0])
    other, opposites = read(*names).other_words(i, j)
    assert other.tolist() == [True, False, False, True, False, True]
    assert opposites.tolist() == [False, False, False, True, False, False]
    assert [len(part) for part in read(*names).other_words(i[:0], j[:0])] == [0, 0]


def test_veto_strong_identifiers_of_attributes() -> None:
    """The caller knows them; a specific is named first."""
    vetoes = read("Mara Reyes", "Mara Reyes", "Mara Reyes 2", "Mara Reyes 3")
    codes = vetoes.forbid(np.array([0, 0, 2]), np.array([1, 2, 3]), np.array([True, False, True]))
    assert [("", *vetoes.reasons())[c] for c in codes] == [IDENTIFIER, "", SPECIFICS]


def test_veto_recorded_conflict_and_rejected_pair() -> None:
    """What people and earlier nights said comes first, in either order of the ids; unknown ids are no error."""
    vetoes = read(
        "Acme", "Acme", "Acme 2", "Acme 3", conflict=[("b", "a"), ("a", "gone")], rejected=[("c", "d"), ("a", "b")]
    )
    assert vetoes.reasons() == ("conflict", "rejected", SPECIFICS, IDENTIFIER)
    codes = vetoes.forbid(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]), np.ones(4, bool))
    assert codes.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_veto(n: int) -> None:
    vetoes, none = read(*["Acme"] * n), np.zeros(0, np.int64)
    assert vetoes.forbid(none, none, np.zeros(0, bool)).shape == (0,)
    assert vetoes.one_sided(none, none).shape == (0,)


PIECES = st.sampled_from(
    (
        *(
            "Pier",
            "Pier 2",
            "II",
            "2nd",
            "2024",
            "6 May 2024",
            "3.11",
            "46 inch",
            "GPT-4",
            "GPT 4",
            "not",
            "without labels",
        ),
        *(
            "KDL46V4100",
            "SD1100IS",
            "SD1100",
            "a@b.org",
            "A.",
            "J.",
            "John",
            "red",
            "blue",
            "north",
            "Jr",
            "remix",
            "2nd Baron",
        ),
        *("Mara met", "Bob", "Alice", "is a", "on the", "in Oslo", "the hall"),
    )
)
NAMES = st.lists(PIECES, min_size=1, max_size=7).map(" ".join)


@given(st.lists(NAMES, min_size=2, max_size=8))
def test_arrays_say_what_the_texts_say(names: list[str]) -> None:
    """Every pair, asked for at once and twice."""
    vetoes, n = read(*names), len(names)
    i, j = (rows.ravel() for rows in np.meshgrid(np.arange(n), np.arange(n)))
    for _ in range(2):
        forbidden, one_sided = vetoes.forbid(i, j, np.zeros(n * n, bool)) > 0, vetoes.one_sided(i, j)
        for at, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
            found = difference(specifics(names[a]), specifics(names[b]))
            assert forbidden[at] == (found is not None and found.degree == "conflict")
            assert one_sided[at] == (found is not None and found.degree == "one_sided")
        assert not forbidden[i == j].any()
        assert not one_sided[i == j].any()


def test_numbered_names_are_compared_without_a_look_at_each_pair() -> None:
    """A thousand customers and half a million pairs: arrays decide, no text is read again."""
    n = 1_000
    rows = pa.table(
        {"id": [f"{k:04d}" for k in range(n)], "entity_type": ["c"] * n, "name": [f"Customer {k}" for k in range(n)]}
    )
    vetoes = Vetoes.from_population(Population.from_table(rows), np.arange(n), {})
    i, j = np.triu_indices(n, 1)
    assert vetoes.forbid(i, j, np.zeros(len(i), bool)).all()
    assert not vetoes.looked
