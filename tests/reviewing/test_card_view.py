"""What a card marks: the words that differ, and nothing that follows from how rows are named."""

from __future__ import annotations

from slowwave.reviewing.card_view import marked
from slowwave.reviewing.rendering import LONGEST


def test_words_that_another_row_lacks_are_marked_together() -> None:
    """In every row that says anything; what all say is not."""
    cells, differs = marked(["Mara Reyes of Porto", "Mara de Reyes", ""])
    assert differs
    assert cells[0] == "<bdi>Mara Reyes <mark>of Porto</mark></bdi>"
    assert cells[1] == "<bdi>Mara <mark>de</mark> Reyes</bdi>"
    assert "mark" not in cells[2]
    same, differs = marked(["Mara  Reyes", "Mara  Reyes", ""])
    assert (differs, [str(cell) for cell in same[:2]]) == (False, ["<bdi>Mara  Reyes</bdi>"] * 2)
    alone, differs = marked(["Mara", ""])
    assert (differs, "mark" in alone[0]) == (False, False)
    assert marked([]) == ([], False)


def test_marked_words_are_text_and_long_ones_are_cut() -> None:
    """A word may be a tag, and a text without an end."""
    cells, _ = marked(["<b>x</b>", "a" * 1_000_000])
    assert cells[0] == "<bdi><mark>&lt;b&gt;x&lt;/b&gt;</mark></bdi>"
    assert len(cells[1]) < LONGEST + 300
    assert "U+202E" in marked(["a\u202eb", "c"])[0][0]
