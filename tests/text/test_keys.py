"""Keys: what counts as the same text, and what does not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text import keys as module
from slowwave.text.keys import keys, note_keys
from slowwave.text.screened import each_text_once, remembered_texts


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


@given(
    st.lists(st.none() | st.text("aB.,:- '’é²\u0301–x1_\n", max_size=8), max_size=12),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_a_key_does_not_depend_on_the_texts_beside_it(texts: list[str | None], kind: pa.DataType) -> None:
    """ASCII and other texts take different ways; the order, the nulls and the type are those of the column."""
    found = keys(pa.array(texts, kind))
    assert found.type == kind
    assert found.to_pylist() == [None if text is None else key(text) for text in texts]


@given(st.text("aB.,:- '\"()[]_;!?1x\n\t", max_size=12))
def test_ascii_needs_half_of_the_rewrites(text: str) -> None:
    """The others find nothing in it."""
    short, whole = (module._levelled(pa.array([text]), rewrites) for rewrites in (module._OF_ASCII, module._REWRITES))
    assert short.equals(whole)
    assert module._decomposed(pa.array([text])).to_pylist() == [text]


@given(st.lists(st.one_of(st.none(), st.text(max_size=12)), max_size=20))
def test_keys_that_are_remembered_are_those_that_are_made(texts: list[str | None]) -> None:
    """Within a night a text is levelled once: the same keys, in any company and in any order."""
    column = pa.array(texts, pa.string())
    alone = keys(column)
    with each_text_once():
        assert keys(column).equals(alone)
        assert keys(column[::-1]).equals(alone[::-1])
        assert (found := remembered_texts()) is not None
        assert found.keys == {t: k for t, k in zip(texts, alone.to_pylist(), strict=True) if t is not None}
    assert remembered_texts() is None


def test_keys_of_many_small_columns_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was noted is looked up: no pattern is made for a column of a few of those texts."""
    column = pa.chunked_array([["A b!", None], ["C-d", "A b!"]], pa.large_string())
    alone = keys(column)
    note_keys(column)
    assert remembered_texts() is None
    with each_text_once():
        note_keys(column)
        monkeypatch.setattr(module, "_found", None)
        assert keys(column) == alone
        assert keys(column[2:]) == alone[2:]


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of many users does not hold all that they ever said."""
    monkeypatch.setattr(module, "_REMEMBERED", 3)
    with each_text_once():
        assert keys(pa.array(["A", "B!", "C"])).to_pylist() == ["a", "b", "c"]
        assert keys(pa.array(["C", "D", "A"])).to_pylist() == ["c", "d", "a"]
        assert (found := remembered_texts()) is not None
        assert set(found.keys) == {"C", "D", "A"}


@given(st.lists(st.text("ab1 -,:.'_!\"()|", max_size=12) | st.text(st.characters(max_codepoint=127)), min_size=1))
def test_texts_in_ascii_have_the_keys_that_they_have_among_others(texts: list[str]) -> None:
    """They are rewritten by shorter patterns, which find the same."""
    column = pa.array(texts)
    assert module._levelled(column, module._OF_ASCII) == module._levelled(column, module._REWRITES)
