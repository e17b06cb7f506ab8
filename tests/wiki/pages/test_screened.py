"""What may be shown of a memory on a page."""

from __future__ import annotations

import pytest

from slowwave.text import screening
from slowwave.wiki.pages.index import PageScreen
from tests.wiki.pages.test_index import SECRET


def test_unsafe_words_are_left_out_and_their_memories_counted() -> None:
    """Each once, also where two memories say the same; a heading is no memory's."""
    screen = PageScreen()
    assert screen.passes("a", "The gate opens at six.")
    assert not screen.passes("b", f"The key is {SECRET}.")
    assert not screen.passes("c", f"The key is {SECRET}.")
    assert not screen.passes("", f"Keys: {SECRET}.")
    assert screen.refused == {"b", "c"}


def test_a_text_is_screened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, asked = PageScreen(), []
    monkeypatch.setattr(screening, "unsafe", lambda text: asked.append(text) or False)
    assert screen.passes("a", "Tea.")
    assert screen.passes("b", "Tea.")
    assert asked == ["Tea."]
