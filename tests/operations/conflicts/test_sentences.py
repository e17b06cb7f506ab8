"""Texts of several sentences contradict each other where two of their sentences do."""

from __future__ import annotations

import pytest

from slowwave.operations.conflicts.find import contradict

SAME = "Rita Falk keeps 12 hens in Port Vale."


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("The gate is open.", "The gate is closed.", True),
        ("The sun shone. The gate passed 412 lorries.", "The gate passed 421 lorries.", True),
        ("It rained. Rita does not sell eggs.", "Rita sells eggs. It was late.", True),
        (f"{SAME} Otto Beck built that roof.", f"{SAME} Oats arrive every Tuesday.", False),
        (f"{SAME} Otto Beck came on Monday.", f"{SAME} The mill ground 5 sacks.", False),
    ],
)
def test_texts_of_several_sentences_are_held_against_each_other_sentence_by_sentence(
    one: str, other: str, *, clash: bool
) -> None:
    """Two that tell different things of one subject do not contradict each other for naming different people."""
    assert contradict(one, other) is clash
    assert contradict(other, one) is clash
