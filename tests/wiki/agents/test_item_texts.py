"""What a value says, and says after a night."""

from __future__ import annotations

from typing import Any

import pytest

from slowwave.wiki.agents.items import WHOLE, Index, reworded, searched_text

KEY = "AKIA" + "Q3EGRIXT7VZM2LWN"
VALUE: dict[str, Any] = {
    "kind": "Memory",
    "content": {"content": " I like tea. ", "tags": ["drinks", {"more": "hot"}]},
    "n": 1,
    "done": None,
}


@pytest.mark.parametrize(
    ("index", "fields", "text"),
    [
        (None, (WHOLE,), "Memory\nI like tea.\ndrinks\nhot"),
        (None, ("content.content",), "I like tea."),
        (["content.tags[*]"], (WHOLE,), 'drinks\n{"more": "hot"}'),
        (["n", "kind"], (WHOLE,), "1\nMemory"),
        (["missing"], (WHOLE,), ""),
        (False, (WHOLE,), ""),
    ],
)
def test_the_fields_that_are_asked_for_are_what_it_says(index: Index, fields: tuple[str, ...], text: str) -> None:
    """By LangGraph's paths; without any, all texts."""
    assert searched_text(VALUE, index, fields) == text


def test_a_new_wording_stands_where_the_old_one_stood() -> None:
    """And nowhere else."""
    value = {"content": "I leave tomorrow.", "by": "mara", "n": [1, "I leave tomorrow."]}
    said = reworded(value, "I leave tomorrow.", "I leave on 2026-11-24.")
    assert said == {"content": "I leave on 2026-11-24.", "by": "mara", "n": [1, "I leave on 2026-11-24."]}


def test_of_several_texts_the_changed_one_is_found() -> None:
    """Wherever it stands, and however many lines it has."""
    value = {"by": "mara", "content": "I leave\ntomorrow.", "to": "Oslo"}
    said = "mara\nI leave\ntomorrow.\nOslo"
    assert reworded(value, said, "mara\nI leave on 2026-11-24.\nOslo") == {**value, "content": "I leave on 2026-11-24."}
    assert reworded(value, said, "mara\nI leave\ntomorrow.\nOslo (2026)") == {**value, "to": "Oslo (2026)"}


@pytest.mark.parametrize("now", ["Both [redacted].", "The key is [redacted].\nTea, [redacted]", ""])
def test_where_several_changed_the_secrets_alone_go(now: str) -> None:
    """Which text says what is not on record."""
    value = {"a": f"The key is {KEY}.", "b": f"Tea, {KEY}", "n": [None, 1]}
    said = reworded(value, f"The key is {KEY}.\nTea, {KEY}", now)
    assert KEY not in str(said)
    assert (said["a"][:11], said["b"][:5], said["n"]) == ("The key is ", "Tea, ", [None, 1])
