"""Keys: what counts as the same text, and what does not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slowwave.texts.keys import keys


def key(text: str) -> str:
    return keys(pa.array([text])).to_pylist()[0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("New-York", " new  york."),
        ("lives_in", "Lives in"),
        ("Café “Noir”", "cafe noir"),
        ("weather, faults and rosters", "Weather, faults, and rosters!"),
        ("don’t", "DON'T"),
        ("ＡＢＣ", "abc"),
        ("Ωμέγα", "ωμεγα"),
        ("3–4", "3-4"),
        ("A.B. Smith", "a.b smith"),
    ],
)
def test_spelling_makes_no_difference(a: str, b: str) -> None:
    """Case, spaces, accents and punctuation without a meaning."""
    assert key(a) == key(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("C", "C++"),
        ("C#", "C++"),
        ("-5 km", "5 km"),
        ("1.5", "15"),
        ("1,5", "15"),
        ("12:30", "1230"),
        ("10²", "102"),
        ("1½", "11/2"),
        ("don't", "dont"),
        (".NET", "net"),
        ("й", "и"),
        ("か", "が"),
        ("v1.2", "v1.3"),
        ("100 %", "100"),
        ("?", "!"),
    ],
)
def test_what_carries_a_meaning_stays(a: str, b: str) -> None:
    """Numbers with their signs, negations, names made of signs, letters of other alphabets."""
    assert key(a) != key(b)


def test_keys_keep_their_places_and_nulls() -> None:
    """A column in, a column out; whether it comes in chunks is no matter."""
    column = pa.chunked_array([["B", None], ["b.", "..."]])
    assert keys(column).to_pylist() == ["b", None, "b", "..."]
    assert keys(pa.array([], pa.string())).to_pylist() == []
