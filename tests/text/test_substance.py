"""What of a text tells something: facts whole, small talk not at all, and a quarter of what nobody knows."""

import pytest

from slowwave.text.informative import substance


@pytest.mark.parametrize(
    "text",
    [
        "Well said.",
        "What are your plans for the weekend?",
        "You're welcome! Good luck with everything.",
        "Hi, nice to chat with you. How can I help?",
        "",
    ],
)
def test_small_talk_tells_nothing(text: str) -> None:
    """Questions, greetings, thanks, and what is too short to say anything."""
    assert substance(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "The harbour office closes at 17:30.",
        "We decided to move the archive to Bergen.",
        "I like sunny and warm weather.",
        "The job runs `make lint-all` first.",
        "会议定于2026年5月4日举行。",
        "port 6379",
    ],
)
def test_facts_count_whole(text: str) -> None:
    """What is told by itself, and what has a figure, a name or an identifier."""
    assert substance(text) == 1


def test_a_text_counts_by_its_words() -> None:
    """Four words of a fact beside four of a question; what nobody knows counts a quarter."""
    assert substance("It opens at 9:30. Do you like it?") == 0.5
    assert substance("Reading broadens the mind considerably.") == 0.25
    assert substance("Use tabs instead of spaces.") == 0.25
    assert substance("I will always support you, Ida.") == 0.25
