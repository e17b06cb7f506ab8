"""Generated paragraphs: no known form of a condition is left out while its behaviour stays (fixes J4)."""

from __future__ import annotations

from benchmarks.conditions import OUTCOMES, Paragraph, measured, outcome, paragraphs


def test_no_stage_states_a_behaviour_without_its_condition() -> None:
    """Of the forms that the rules were made with; most paragraphs keep both."""
    for counts in measured("built").values():
        assert counts["behaviour alone"] == counts["condition alone"] == 0
        assert counts["both"] >= 0.9 * counts.total()


def test_each_outcome_is_told_apart() -> None:
    """By the two sentences as written."""
    paragraph = Paragraph("A. B.", "A.", "B.")
    assert [outcome(paragraph, text) for text in ("A. B.", "C.", "A.", "B.")] == list(OUTCOMES)
    assert all(p.behaviour in p.text and p.condition in p.text for p in paragraphs("unseen"))
