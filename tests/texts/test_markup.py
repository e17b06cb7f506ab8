"""Markup in prose is found whole, and nothing else is."""

from __future__ import annotations

import pytest

from slowwave.texts.markup import markup_spans


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('see <img alt="Docker Pulls" src="x"> here', ['<img alt="Docker Pulls" src="x">']),
        ("a <!-- Badge - of - it --> b", ["<!-- Badge - of - it -->"]),
        ("![Static Badge](https://x.org)", ["![Static Badge]"]),
        (".. image:: x\n   :alt: Build Status\n\nprose", [".. image:: x\n   :alt: Build Status"]),
        (">>> Frame(x)\nprose", [">>> Frame(x)"]),
        ("a < b and c > d, <nick@x.org>, [link](x), 3 >> 2", []),
    ],
)
def test_spans(text: str, found: list[str]) -> None:
    """Tags, comments, pictures, directives, a prompt; no comparison, no address, no link."""
    assert [text[a:b] for a, b in markup_spans(text)] == found
