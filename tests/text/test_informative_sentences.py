"""Informative sentences: what of a conversation is worth telling, and what is not."""

from __future__ import annotations

import pytest

from slowwave.text.informative import informative


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("We decided to drop offline mode from Kestrel 2.0.", "decision"),
        ("Right, we agreed to move the beta to 12 May.", "decision"),
        ("Decision: Atlas uses Stripe Tax.", "decision"),
        ("The budget was approved.", "decision"),
        ("I fixed the nightly import.", "outcome"),
        ("The load test for Kestrel passed.", "outcome"),
        ("Rowan is live.", "outcome"),
        ("I'll send the report to Mara by Friday.", "followup"),
        ("TODO: rotate the signing keys", "followup"),
        ("Atlas is blocked by the tax service.", "state"),
        ("The release of Kestrel moved to 21 May.", "state"),
        ("By the way, I prefer tabs over spaces.", "preference"),
        ("Kestrel uses Postgres 16 for the sync store.", "fact"),
    ],
)
def test_what_is_told(sentence: str, kind: str) -> None:
    """Decisions, outcomes, followups, states, preferences and facts."""
    found = informative(sentence)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "Good morning!",
        "Should we drop offline mode?",
        "If we had decided to wait, nobody would know.",
        "We have not decided to ship.",
        "We decided on that.",
        'Jonas said "Kestrel is cancelled" as a joke.',
        "I think we agreed to wait.",
        "It is live.",
        "I'd like to talk about my reading.",
        "Maybe we fixed it.",
        "Let me look into the import by Friday.",
        "I'll chat with you tomorrow.",
    ],
)
def test_what_is_not(sentence: str) -> None:
    """Questions, suppositions, quotations, talk, and what hangs on another sentence."""
    assert informative(sentence) is None


def test_a_lead_in_is_taken_off_and_nothing_else() -> None:
    """The sentence keeps its words."""
    found = informative("Ok, quick update: we merged the sync fix for Kestrel.")
    assert found is not None
    assert found.text == "We merged the sync fix for Kestrel."
