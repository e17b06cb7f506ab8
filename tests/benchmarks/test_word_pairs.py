"""Pairs of words that exclude each other: how they are made, counted and ordered, and that the rules find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.memories import Judged
from benchmarks.word_pairs import developed, part, unseen
from slowwave.text.contradictions import find
from slowwave.text.sameness import sameness


def share(pairs: list[tuple[str, str, str]], label: str) -> float:
    """Of the pairs of a label, those that contradict each other."""
    own = [(a, b) for a, b, of in pairs if of.startswith(label)]
    return sum(kind is not None for kind in find(own)) / len(own)


def test_places_have_two_readings(tmp_path: Path) -> None:
    """Each of several, one of them empty."""
    (tmp_path / "pairs.toml").write_text('[neutral]\ntwo = ["She {reads|sings}{ now|} at home."]\n')
    assert unseen(tmp_path / "pairs.toml") == [("She reads now at home.", "She sings at home.", "neutral: two")]


def test_each_two_words_stand_in_each_sentence(tmp_path: Path) -> None:
    """Three words of a kind make three pairs, and opposites one."""
    (tmp_path / "kinds.toml").write_text(
        '[kinds]\nfish = { frames = ["A {}.", "No {}."], words = "cod sea_bass eel" }\n'
        '[opposites.size]\nframes = ["It is {}."]\npairs = "big|small"\n'
        '[agreeing]\nframes = ["A {}."]\npairs = "cod|fish"\n'
    )
    found = developed(tmp_path / "kinds.toml")
    assert len(found) == 3 * 2 + 1 + 1
    assert ("A cod.", "A sea bass.", "contradiction: fish") in found
    assert found[-1] == ("A cod.", "A fish.", "entailment: words that agree")


def test_sums_stand_first_and_then_the_worst() -> None:
    """A contradiction that is missed is as wrong as another that is found."""
    judged = [
        Judged("contradiction: a", 4, 0, 1, 4),
        Judged("contradiction: b", 4, 1, 0, 1),
        Judged("neutral: c", 2, 0, 0, 1),
    ]
    rows = part("", "", judged).rows
    assert [row[0] for row in rows] == [
        "all: contradiction",
        "all: neutral",
        "contradiction: b",
        "contradiction: a",
        "neutral: c",
    ]
    assert [row[-1] for row in rows] == ["0.375", "0.500", "0.750", "0.000", "0.500"]


@pytest.mark.parametrize("pairs", [unseen(), developed()], ids=["unseen", "developed"])
def test_words_that_exclude_each_other_are_found_and_never_merged(pairs: list[tuple[str, str, str]]) -> None:
    """Most contradictions, of what agrees one or two in a hundred, and nothing that contradicts itself is the same."""
    assert share(pairs, "contradiction") >= 0.85
    assert share(pairs, "entailment") <= 0.02
    assert not [
        (a, b) for a, b, label in pairs if label.startswith("contradiction") and sameness(a, b).decision == "same"
    ]
