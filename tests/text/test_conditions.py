"""``slowwave.text.conditions``: sentences that limit others, and conditions that a shorter text leaves out (fixes J4)."""

from __future__ import annotations

import pytest

from slowwave.text.conditions import limits, lost_conditions

GATE = "The foreman opens gate B at six."


@pytest.mark.parametrize(
    ("sentence", "reach"),
    [
        ("This holds only if the tide table shows less than 3 m.", "paragraph"),
        ("That is so only while the lower basin is above the red line.", "paragraph"),
        ("It is usually in those weeks of low tide that he comes so early.", "paragraph"),
        ("On such days the gate stays open.", "paragraph"),
        ("Only then the gate stays open.", "paragraph"),
        ("Not on Sundays.", "paragraph"),
        ("Except in winter.", "paragraph"),
        ("All of this is limited to weeks of low tide.", "paragraph"),
        ("Should it rain, nobody does it.", "paragraph"),
        ("Unless the tide is high.", "sentence"),
        ("When the tide is above 3 m, the gate stays shut.", "sentence"),
        ("If the siren sounds, the foreman waits for the pilot.", "sentence"),
        ("When the foreman arrived, the gate was shut.", ""),
        ("The lamp above the desk flickers a little.", ""),
        ("Mira keeps plants in pots such as these from Lodz.", ""),
        ("Ann asked if the soup is better than the salad.", ""),
    ],
)
def test_a_sentence_that_limits_another_is_found(sentence: str, reach: str) -> None:
    """A condition in the present limits; a time in the past and a plain statement do not."""
    assert limits(sentence, GATE) == reach


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (f"{GATE} This holds only if the tide table shows less than 3 m.", GATE, True),
        (f"{GATE} This holds only if the tide table shows less than 3 m.", "The lamp flickers.", False),
        (f"{GATE} This holds only if the tide table shows less than 3 m.", "", False),
        ("The foreman opens gate B at six unless the siren sounds.", GATE, True),
        ("The foreman opens gate B at six unless the siren sounds.", "Unless the siren sounds, the foreman opens gate B at six.", False),
        ("If the siren sounds, the pilot leaves the harbour at once.", "The pilot leaves the harbour at once.", True),
        (f"{GATE} Only if the siren is silent.", f"{GATE} The lamp flickers. The soup is good. Only if the siren is silent.", True),
        ("When the foreman arrived, the pilot left the harbour.", "The pilot left the harbour.", False),
    ],
)  # fmt: skip
def test_a_statement_without_its_condition_has_lost_it(before: str, after: str, lost: bool) -> None:
    """The condition must be in the sentence of the statement or next to it; without the statement nothing false is stated."""
    assert bool(lost_conditions([before], [after])) is lost
    assert lost_conditions([before], [before]) == []
