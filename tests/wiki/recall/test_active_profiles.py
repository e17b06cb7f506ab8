"""Which profile a prompt asks for, and whether it asks for sessions."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.wiki.recall.active import active_profiles
from slowwave.wiki.recall.wake import wake_profiles


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("What can you share about me?", "privacy"),
        ("May I share the private repo with the doctor?", "privacy"),
        ("When was the last blood pressure?", "health"),
        ("Plan my wife's birthday.", "personal"),
        ("Draft a newsletter about the house.", "writing"),
        ("Why does the TEST fail on this branch?", "coding"),
        ("What is left to do?", "general"),
        ("A postcard of a forest in the capital", "general"),
    ],
)
def test_the_first_profile_whose_words_stand_in_the_prompt(prompt: str, name: str) -> None:
    """Whole words, in the order privacy, health, personal, writing, coding; none is general."""
    assert active_profiles().chosen("auto", prompt)[0] == name


def test_a_profile_can_be_named() -> None:
    """Whatever the prompt says; a name that is none is refused with those there are."""
    profiles = active_profiles()
    assert profiles.chosen("writing", "Fix the bug.")[0] == "writing"
    with pytest.raises(Refused, match="auto or one of coding"):
        profiles.chosen("none", "Fix the bug.")
    assert {p.wake for p in profiles.profiles.values()} <= set(wake_profiles().profiles)
    assert set(profiles.order) | {"general"} == set(profiles.profiles)


def test_sessions_are_searched_when_the_prompt_asks_for_them() -> None:
    """And never for privacy or health, whatever it asks."""
    profiles = active_profiles()
    general, privacy = profiles.profiles["general"], profiles.profiles["privacy"]
    assert profiles.wants_sessions(general, "What did we discuss yesterday?")
    assert not profiles.wants_sessions(general, "What is the wifi password policy?")
    assert not profiles.wants_sessions(privacy, "What did we discuss yesterday?")
    always = general.model_copy(update={"sessions": "always"})
    assert profiles.wants_sessions(always, "Anything.")
