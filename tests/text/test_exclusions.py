"""Exclusions: words that cannot both stand in one place, and the many that can."""

from __future__ import annotations

import gzip
import subprocess
import sys
from importlib.resources import files

import pytest

from slowwave.text.exclusions import bases, exclusion, is_a, relations


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("espresso", "lemonade"),
        ("attic", "kitchen"),
        ("living_room", "dining_room"),
        ("granite", "bronze"),
        ("wooden", "plastic"),
        ("violin", "trumpet"),
        ("leeks", "tomatoes"),
        ("plumbers", "dentist"),
        ("fencing", "rowing"),
        ("otter", "heron"),
        ("Catholic", "Methodist"),
        ("measles", "asthma"),
        ("geese", "ducks"),
    ],
)
def test_things_of_one_kind_exclude_each_other(a: str, b: str) -> None:
    """In whatever number, as compounds, and as adjectives of a material."""
    assert exclusion(a, b) == exclusion(b, a) == "kind"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("sharp", "blunt"),
        ("enormous", "tiny"),
        ("brave", "cowardly"),
        ("arrived", "leaves"),
        ("forgot", "remembers"),
        ("loudly", "softly"),
        ("legible", "illegible"),
        ("happily", "sadly"),
        ("shorter", "taller"),
        ("shortage", "surplus"),
    ],
)
def test_antonyms_exclude_each_other(a: str, b: str) -> None:
    """Direct ones, those near a direct one, those behind a prefix, and what is derived from them; verbs in whatever tense."""
    assert exclusion(a, b) == exclusion(b, a) == "antonyms"


def test_verbs_of_one_kind_are_told_from_nouns() -> None:
    """They stand in other places."""
    assert exclusion("fried", "boiled") == "deed"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("dog", "dogs"),
        ("poodle", "dog"),
        ("poodle", "animal"),
        ("sofa", "couch"),
        ("surgeon", "doctor"),
        ("kitchen", "house"),
        ("finger", "hand"),
        ("wheel", "bicycle"),
        ("colour", "color"),
        ("jewellery", "jewelry"),
        ("kitten", "cat"),
        ("big", "large"),
        ("wrote", "written"),
        ("pie", "dessert"),
        ("cider", "hammer"),
        ("qwrtz", "cider"),
        ("", "cider"),
        ("may", "June"),
    ],
)
def test_what_may_be_said_of_one_thing_does_not(a: str, b: str) -> None:
    """Forms, spellings, synonyms, hypernyms, parts and wholes, other kinds, and no words."""
    assert exclusion(a, b) is exclusion(b, a) is None


def test_a_compound_of_a_thing_is_one() -> None:
    """Dry milk is milk; French toast is no toast, nor is what nobody has heard of."""
    assert is_a("dry_milk", "milk")
    assert not is_a("french_toast", "toast")
    assert not is_a("qwrtz", "toast")


def test_a_name_is_not_the_word_that_it_is_written_like() -> None:
    """Mr Baker bakes nothing."""
    assert relations("baker").paths
    assert not relations("Baker").paths


def test_regular_forms_have_their_base_among_others() -> None:
    """With the doubled letter and without."""
    assert {"stop", "stopp"} <= set(bases("stopped"))
    assert "berry" in bases("berries")
    assert "wolf" in bases("wolves")
    assert "nice" in bases("nicest")


def test_the_table_is_read_when_a_word_is_asked_for() -> None:
    """And not when the module is imported."""
    code = "from slowwave.text import contradictions, exclusions; print(exclusions._table.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_lines_are_in_the_order_of_their_bytes() -> None:
    """As the search takes them to be; the notice stands beside."""
    text = gzip.decompress(files("slowwave.text").joinpath("word_relations.txt.gz").read_bytes())
    words = [line.partition(b"|")[0] for line in text.splitlines()]
    assert words == sorted(set(words))
    assert "Princeton" in files("slowwave.text").joinpath("word_relations.LICENSE").read_text()
