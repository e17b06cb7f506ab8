"""Opposites by their prefixes, whatever the stem."""

from __future__ import annotations

import pytest

from slowwave.text.opposites import opposed, opposites

CLEAR = """
hyperkalemia hypokalemia|including excluding|include exclude|ascending descending|increase decrease|import export|attach detach
interstate intrastate|prenatal postnatal|overpaid underpaid
encode decode|approved unapproved|linear nonlinear|upgraded downgraded|superscript subscript
microscopic macroscopic|hyperqorvia hypoqorvia|tachycardia bradycardia|homozygous heterozygous
"""
DOUBTFUL = (
    "cover discover|typical atypical|infer defer|active inactive|inflow outflow|bilateral trilateral|normal abnormal"
)
OTHERS = "again aagain|under der|word words|union ion|cat dog|nonsense innocence"


def pairs(lines: str) -> list[tuple[str, ...]]:
    return [tuple(pair.split()) for line in lines.strip().splitlines() for pair in line.split("|")]


@pytest.mark.parametrize(("a", "b"), pairs(CLEAR))
def test_opposites_rule_each_other_out(a: str, b: str) -> None:
    """A stem that nobody has heard of is no matter."""
    assert opposites(a, b)
    assert opposites(b, a)
    assert opposed(a, b)


@pytest.mark.parametrize(("a", "b"), pairs(DOUBTFUL))
def test_what_only_looks_like_opposites_is_kept_apart(a: str, b: str) -> None:
    """Some are and some are not: no contradiction, and no slip."""
    assert opposed(a, b)
    assert opposed(b, a)
    assert not opposites(a, b)


@pytest.mark.parametrize(("a", "b"), pairs(OTHERS))
def test_other_words_are_no_opposites(a: str, b: str) -> None:
    """Nor is a word of itself."""
    assert not opposed(a, b)
    assert not opposed(b, a)
    assert not opposites(a, b)
    assert not opposites(a, a)
