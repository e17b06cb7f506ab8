"""What a card marks, and that what it quotes is text."""

from __future__ import annotations

from slowwave.plans.review.card import MarkedRun
from slowwave.surfaces.review_page.plan_pages import cell


def test_words_that_differ_are_marked_without_the_spaces_around_them() -> None:
    """And not at all where nothing is compared; a row that says nothing says so."""
    runs = [
        MarkedRun("Mara Reyes ", differs=False),
        MarkedRun("of  Porto ", differs=True),
        MarkedRun("now", differs=False),
    ]
    assert cell(runs) == "<bdi>Mara Reyes <mark>of  Porto</mark> now</bdi>"
    assert cell(runs, mark=False) == "<bdi>Mara Reyes of  Porto now</bdi>"
    assert "nothing" in cell([])


def test_marked_words_are_text_and_a_cut_is_said() -> None:
    """A word may be a tag, and a text without an end."""
    assert cell([MarkedRun("<b>x</b>", differs=True)]) == "<bdi><mark>&lt;b&gt;x&lt;/b&gt;</mark></bdi>"
    assert "U+202E" in cell([MarkedRun("a\u202eb", differs=False)])
    assert "only its first 4,000 characters" in cell([MarkedRun("a" * 4_000, differs=False)])
    assert "only" not in cell([MarkedRun("a" * 3_999, differs=False)])
