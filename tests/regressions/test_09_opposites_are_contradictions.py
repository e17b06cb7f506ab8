"""A patient with hyperkalemia and the same patient with hypokalemia: the audit of contradictions had nothing to say, and a summary told
both as one story. Opposing prefixes rule each other out, whatever the stem.

Line 9: contradictions merge as slips of the finger.
"""

from __future__ import annotations

import pytest

from slowwave.operations.conflicts.find import contradict
from slowwave.text.contradictions import find

PAIRS = [
    ("Ray was treated for hyperkalemia in May.", "Ray was treated for hypokalemia in May."),
    ("The rows are sorted ascending.", "The rows are sorted descending."),
    ("The price is given including tax.", "The price is given excluding tax."),
    ("The merger is an interstate matter.", "The merger is an intrastate matter."),
    ("Mara was overpaid last spring.", "Mara was underpaid last spring."),
    ("The gene is homozygous in this line.", "The gene is heterozygous in this line."),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_opposites_of_one_stem_contradict(a: str, b: str) -> None:
    """From both sides, and so nothing that says one is summed up with what says the other."""
    assert find([(a, b), (b, a)]) == ["polarity", "polarity"]
    assert contradict(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("They played the old tape.", "They displayed the old tape."),
        ("Tom paid for the inflow valve and left.", "Ada likes rowing on the outflow of the lake."),
        ("The rows are sorted ascending.", "The rows are sorted ascending by name."),
    ],
)
def test_other_words_and_other_matters_do_not(a: str, b: str) -> None:
    """What only looks like opposites, and opposites that are said of something else."""
    assert find([(a, b)]) == [None]
