"""Namespaces of LangGraph as scopes: every tuple has its own, and it can be read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.wiki.agents.items import external_id, key_of, labels_of, scope_of, subject_of, within

LABELS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), max_size=4).map(tuple)


@given(LABELS)
def test_a_scope_gives_its_namespace_back(labels: tuple[str, ...]) -> None:
    """Whatever stands in the labels."""
    assert labels_of(scope_of(labels)) == labels


@given(LABELS.filter(bool), LABELS.filter(bool), st.text("a/%", max_size=3), st.text("a/%", max_size=3))
def test_two_places_have_two_ids(one: tuple[str, ...], other: tuple[str, ...], key: str, other_key: str) -> None:
    """A label with a slash is not two labels, and a key with one is no label."""
    if all("\0" not in label for label in (*one, *other)):
        assert key_of(external_id(one, key), scope_of(one)) == key
        assert (external_id(one, key) == external_id(other, other_key)) == ((one, key) == (other, other_key))


@pytest.mark.parametrize(
    ("labels", "key"), [(("a",), "k" * 500), (("a" * 500,), "k"), (("a",), "\0"), (("\ud800",), "k")]
)
def test_what_no_index_takes_is_refused(labels: tuple[str, ...], key: str) -> None:
    """In words."""
    with pytest.raises(Refused, match="Nothing was done"):
        external_id(labels, key)


def test_a_key_that_somebody_named_is_what_the_memory_is_about() -> None:
    """One that a program drew is not."""
    drawn = ("6663820a-f56b-4ef2-b18d-e6916cd0171e", "6663820af56b4ef2b18de6916cd0171e", "deadbeefdeadbeef")
    assert [subject_of(key) for key in ("home_city", "user-1", *drawn)] == ["home_city", "user-1", "", "", ""]


def test_no_namespace_is_all_of_them() -> None:
    """And asks for no value."""
    values: dict[str, Any] = {}
    assert (within((), values).as_string(), values) == ("true", {})
