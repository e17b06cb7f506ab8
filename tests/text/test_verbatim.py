"""Passages that nobody may reword."""

from __future__ import annotations

import pytest

from slowwave.text.sentences import Verbatim


@pytest.mark.parametrize(
    "passage",
    [
        '"see you X"',
        "“see you X”",
        "«X»",
        "'to be X'",
        "`X = 1`",
        "```\nX\n```",
        "https://x.example/X",
        "X@mail.example",
        "# X",
        "> said X",
        "<b title='X'>",
    ],
)
def test_a_passage_is_touched_wherever_it_is_met(passage: str) -> None:
    """And the words on the lines around it are not."""
    text = f"before\n{passage}\nafter"
    found = Verbatim.from_text(text)
    place = text.index("X")
    assert found.touches(place, place + 1)
    assert not found.touches(0, len("before"))
    assert not found.touches(len(text) - len("after"), len(text))


@pytest.mark.parametrize("text", ["it's Ann's boat", "5' 6\" X", "rock 'n roll, don't"])
def test_an_apostrophe_opens_no_quotation(text: str) -> None:
    assert Verbatim.from_text(text).starts == ()
