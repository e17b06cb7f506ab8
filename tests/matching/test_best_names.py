"""The name that an entity keeps: golden groups, and properties of the choice."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.names import NameCandidate, choose_name

GOLDEN = (
    # correct spelling
    ("Passenger Terminal", "Pasenger Terminal"),
    ("Meridian Savings Bank", "Meridain Savings Bank"),
    ("Tessellate Polymers", "Tesellate Polymers"),
    ("Photoluminescence Archive", "Photoluminesence Archive"),
    # full form before abbreviation
    ("Dangerous Goods Segregation", "DGS"),
    ("Baltic Institute of Crystal Growth", "BICG"),
    ("Parent Teacher Association Meeting", "PTA Meeting"),
    ("Chidi Nwosu", "C. Nwosu"),
    ("Katherine Boyle", "Kate Boyle"),
    ("Elizabeth Monroe", "Liz Monroe", "Beth Monroe"),
    # natural order
    ("Mara Reyes", "Reyes, Mara"),
    ("Dorian Blackwood", "Blackwood, Dorian", "D. Blackwood"),
    ("Rajesh Venkataraman", "Venkataraman, Rajesh"),
    # accents
    ("Zoë Nørgaard", "Zoe Norgaard"),
    ("Jürgen Müller", "Juergen Mueller"),
    ("Łucja Wójcik", "Lucja Wojcik"),
    ("Crème Brûlée", "Creme Brulee"),
    # written as a name
    ("OpenTelemetry", "Open Telemetry"),
    ("Time-Resolved Photoluminescence", "time resolved photoluminescence"),
    # the order of the properties: a full form that is turned is better than initials, a correct word than an accent
    ("Nwosu, Chidi", "C. Nwosu"),
)
"""Groups of names of one entity, the best one first."""


@pytest.mark.parametrize("names", GOLDEN)
def test_best_name_of_each_golden_group_is_chosen_in_any_order_and_against_the_sources(names: tuple[str, ...]) -> None:
    """Neither the order of the rows nor more sources of a worse name change the choice (F6)."""
    for order in permutations(names):
        for worse in (0, 50):
            assert choose_name([NameCandidate(n, worse * (n != names[0])) for n in order]) == names[0]


@pytest.mark.parametrize(
    ("names", "sources", "expected"),
    [
        (("Northwind Ltd", "Northwind"), (3, 5), "Northwind"),
        (("Northwind Ltd", "Northwind"), (5, 3), "Northwind Ltd"),
        (("Desmond Clark", "Desmond Clarke"), (2, 2), "Desmond Clark"),  # nothing tells which: the first
        (("WiFi router", "Wi-Fi Router", "Wi-Fi Router"), (3, 2, 2), "Wi-Fi Router"),  # rows of one name count together
        (("Harbor Master", "Harbour Master"), (4, 3), "Harbor Master"),  # both are correct
        (("Alex Petrescu", "Alexander Petrescu"), (9, 1), "Alexander Petrescu"),
        (("Smith, Jones", "Smith, Jones and Brown"), (2, 1), "Smith, Jones"),  # two partners, no name turned round
    ],
)
def test_most_sources_decide_between_names_of_equal_quality(
    names: tuple[str, ...], sources: tuple[int, ...], expected: str
) -> None:
    assert choose_name([NameCandidate(n, s) for n, s in zip(names, sources, strict=True)]) == expected


def test_attributes_tell_which_of_two_unknown_words_is_spelt_correctly() -> None:
    """Neither word is in the lexicon; the address of the entity has one of them."""
    names = [NameCandidate("Vrkelt Labs", 5), NameCandidate("Vrkellt Labs", 1, '{"url": "https://vrkellt.example"}')]
    assert choose_name(names) == "Vrkellt Labs"
    assert choose_name([NameCandidate(n.name, n.sources) for n in names]) == "Vrkelt Labs"


@pytest.mark.parametrize("forged", ["Gr\u0430fana", "\uff27rafana", "Graf\u200bana", "Grafan\u03b1"])
def test_letters_that_only_look_alike_never_replace_a_plain_name(forged: str) -> None:
    """A Cyrillic, Greek, wide or hidden character is no accent: an untrusted row cannot rename an entity by it."""
    assert choose_name([NameCandidate("Grafana", 3), NameCandidate(forged, 1)]) == "Grafana"


def test_composed_form_is_kept_of_two_equal_names() -> None:
    """Equal sources: NFC is what other programs write."""
    assert choose_name([NameCandidate("Zoe\u0308", 1), NameCandidate("Zo\u00eb", 1)]) == "Zo\u00eb"


NAMES = st.text(st.sampled_from("abcAB éÉø.,-'1中"), max_size=16) | st.sampled_from(
    [n for names in GOLDEN for n in names]
)


@given(st.lists(st.builds(NameCandidate, NAMES, st.integers(0, 9), NAMES), min_size=1, max_size=5))
def test_choice_is_one_of_the_names_and_choosing_again_changes_nothing(candidates: list[NameCandidate]) -> None:
    chosen = choose_name(candidates)
    assert chosen in [c.name for c in candidates]
    assert choose_name(candidates) == chosen
    assert choose_name([NameCandidate(chosen, 99), *candidates]) == chosen or len({c.name for c in candidates}) > 1


@given(st.lists(st.builds(NameCandidate, NAMES, st.integers(0, 9)), min_size=1, max_size=4))
def test_order_of_the_rows_matters_only_between_equals(candidates: list[NameCandidate]) -> None:
    """With distinct sources for each name no two are equal, and any order gives the same choice."""
    numbered = [NameCandidate(name, 10 * k + 1) for k, name in enumerate(dict.fromkeys(c.name for c in candidates))]
    assert len({choose_name(list(order)) for order in permutations(numbered)}) == 1
