"""Limits: the environment's, a namespace's own, and the line that follows from the longest of them."""

from __future__ import annotations

import json

import pytest

from slowwave.sources.rows import BadRow, Limits
from tests.memories import remember


def test_a_namespace_may_have_a_limit_of_its_own(store, monkeypatch: pytest.MonkeyPatch):
    """Its own wins; a line has room for the longest text that any of them takes, every character escaped."""
    monkeypatch.setenv("SLOWWAVE_IMPORT_LONGEST_TEXT", "2000")
    remember(store, "long", {"import_longest_text": 5_000})
    remember(store, "broken", {"import_longest_text": "much"})
    with store.connect("owner") as connection:
        limits = Limits.from_connection(connection)
    assert (limits.text, limits.own) == (2_000, {"long": 5_000})
    limits.check("long", "x" * 5_000, "content")
    limits.check("other", "x" * 2_000, "content")
    for slug, size in (("long", 5_001), ("other", 2_001), ("broken", 2_001)):
        with pytest.raises(BadRow, match=f"content has {size:,} characters"):
            limits.check(slug, "x" * size, "content")
    assert len(json.dumps("\U0001f600" * 5_000)) < limits.line
