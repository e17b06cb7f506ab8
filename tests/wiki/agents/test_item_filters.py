"""Filters beyond what LangGraph's store in memory compares: texts by their characters, what is not there, and what no filter can ask."""

from __future__ import annotations

from typing import Any

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.wiki.agents.items import json_text
from slowwave.wiki.agents.langgraph_store import SlowwaveStore

SPACE = ("days",)


@pytest.fixture
def days(store: Store) -> SlowwaveStore:
    """Three items, one of which lacks what is asked about."""
    items = SlowwaveStore("acme", store)
    items.put(SPACE, "one", {"day": "2026-01-09", "n": 9, "of": [{"a": 1, "b": 2}]})
    items.put(SPACE, "two", {"day": "2026-01-10", "n": 10.5})
    items.put(SPACE, "three", {"day": 7})
    return items


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"day": {"$gte": "2026-01-10"}}, {"two"}),
        ({"day": {"$lt": "2026-01-10", "$gt": ""}}, {"one"}),
        ({"n": {"$gt": 9}}, {"two"}),  # as numbers: as texts 9 would be greater than 10.5
        ({"n": {"$lte": 10.5}}, {"one", "two"}),
        ({"n": {"$ne": 9}}, {"two", "three"}),
        ({"n": None}, {"three"}),
        ({"day": {"$gt": 6}}, {"three"}),
        ({"of": [{"a": 1}]}, {"one"}),
        ({"of": [{"a": 2}]}, set()),
        ({"'; DROP TABLE memory.memories; --": "%s %(namespace)s {}"}, set()),
    ],
)
def test_what_a_filter_finds(days: SlowwaveStore, wanted: dict[str, Any], found: set[str]) -> None:
    """Numbers with numbers, texts with texts; an item without the field is left out, and breaks nothing."""
    assert {item.key for item in days.search(SPACE, filter=wanted)} == found


@pytest.mark.parametrize(
    "wanted", [{"n": {"$in": [1]}}, {"n": {"$gt": None}}, {"n": {"$gt": True}}, {"n": {"$lt": [1]}}]
)
def test_what_no_filter_asks(days: SlowwaveStore, wanted: dict[str, Any]) -> None:
    """The same error as of LangGraph's own stores."""
    with pytest.raises(ValueError, match=r"\$"):
        days.search(SPACE, filter=wanted)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), "\0", "\ud800", ("\0",)])
def test_what_is_no_json_is_refused(value: object) -> None:
    """In words, whatever it is nested in."""
    with pytest.raises(Refused, match="Nothing was done"):
        json_text({"a": [value]}, "the value of an item")
