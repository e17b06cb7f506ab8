"""Where code stands in Markdown: between equal runs of backticks, and in fenced blocks."""

from __future__ import annotations

import pytest

from slowwave.text.markdown import code_spans


@pytest.mark.parametrize(
    ("text", "inline", "blocks"),
    [
        ("run `make test` now", ["make test"], []),
        ("``a`b`` and `c`", ["a`b", "c"], []),
        ("``one`` between ``two``", ["one", "two"], []),
        ("a ` alone, then `b`", [" alone, then "], []),
        ("a `` alone, then `b`", ["b"], []),
        ("`open\n\nnext paragraph`", [], []),
        ("x\n```py\nJane `a`\n```\ny `b`", ["b"], ["```py\nJane `a`\n```"]),
        ("~~~\nnever closed", [], ["~~~\nnever closed"]),
        ("no code", [], []),
    ],
)
def test_spans(text: str, inline: list[str], blocks: list[str]) -> None:
    """As CommonMark reads them."""
    found = code_spans(text)
    assert [text[a:b] for a, b in found.inline] == inline
    assert [text[a:b] for a, b in found.blocks] == blocks
