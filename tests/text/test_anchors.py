"""Anchors: what a link names within a page, as either program writes it."""

from __future__ import annotations

import pytest

from slowwave.text.markdown import anchor_key, missing


def test_an_anchor_is_what_either_program_writes() -> None:
    """GitHub's and Obsidian's, and Obsidian's path of headings, of which the last counts."""
    assert anchor_key("Fee market!") == anchor_key("fee-market") == anchor_key("Above#Fee Market")
    assert anchor_key("Straße") == anchor_key("STRASSE")


@pytest.mark.parametrize(
    ("anchor", "lacks"),
    [
        ("", None),
        ("fee-market", None),
        ("Fee markets", "heading"),
        ("^one", None),
        ("^two", "block"),
        ("^fee-market", "block"),
        ("one", "heading"),
    ],
)
def test_what_a_page_has_not_is_named(anchor: str, lacks: str | None) -> None:
    """A block is no heading, and an empty anchor is the page."""
    assert missing(anchor, ["Intro", "Fee market"], ["one"]) == lacks
