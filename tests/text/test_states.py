"""States: of which thing, which state, and what is no plain state of one thing."""

from __future__ import annotations

import pytest

from slowwave.text.states import is_state, rivals, states


def told(text: str) -> list[tuple[str, str, str, bool]]:
    return [tuple(found) for found in states(text)]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "subject", "relation", "value", "change"),
    [
        ("The freezer is in the cellar.", "freezer", "is in (words)", "cellar", False),
        ("Ladders are stored in the barn", "ladder", "is in (words)", "barn", False),
        ("The build farm runs on Buildkite.", "build farm", "is on (name)", "buildkite", False),
        ("The curtains are velvet.", "curtain", "is (words)", "velvet", False),
        ("The roof will be slate.", "roof", "planned (words)", "slate", False),
        ("Bed 7 is sown with barley.", "7 bed", "is sown with (words)", "barley", False),
        ("The gate is locked at night.", "gat at night", "is (words)", "locked", False),
        ("Bin collection is on Fridays at 7.", "bin collection", "is (day)", "fridays", False),
        ("Guitar lessons have switched to Sundays.", "guitar lesson", "is (day)", "sundays", True),
        ("Pavel's brother is a butcher at the market.", "brother pavel", "is a (words)", "butcher", False),
        ("My occupation: florist in town", "i: occupation", "is (words)", "florist", False),
        ("Flag `dark_launch` is enabled since today.", "dark_launch", "is (words)", "enabled", True),
        ("The hallway lamp is on now.", "hallway lamp", "is (words)", "on", True),
        ("Too damp there: Iris' wheel is in the attic now.", "iri wheel", "is in (words)", "attic", True),
        ("The office has moved: it is in Graz.", "offic", "is in (name)", "graz", False),
        (
            "Raised the mail worker's limit: it is 80 now.",
            "limit mail worker",
            "is (figure of days or none)",
            "80",
            True,
        ),
        ("The owner wants the fence in steel.", "fenc owner", "wanted in (words)", "steel", False),
        ("Hotel Sole was cheap.", "hotel sol", "was (words)", "cheap", False),
    ],
)
def test_what_one_thing_is_and_where(text: str, subject: str, relation: str, value: str, change: bool) -> None:
    """With its number, its owner and what stands behind the state."""
    assert told(text) == [(subject, relation, value, change)]
    assert is_state(relation)


@pytest.mark.parametrize(
    "text",
    [
        "Badge checks hang on Grafana since 06:50.",
        "Jan is in Paris this week.",
        "Jan is in the choir.",
        "A door is green.",
        "One of the vans is white.",
        "In summer the bed is in the attic.",
        "The stew is made of lamb and carrots.",
        "The stew is made of lamb, carrots",
        "The roof could be slate.",
        "The gate is not closed.",
        'The sign says "the gate is open".',
        "Is the gate open?",
        "The weather was great.",
        "The meeting is in the library.",
        "The tumour was benign.",
        "She is a teacher.",
    ],
)
def test_what_passes_or_is_one_of_several_is_none(text: str) -> None:
    """Nor where persons are, what is asked, supposed, denied or quoted, and what was."""
    assert told(text) == []


def test_a_word_of_change_is_believed_of_one_thing_only() -> None:
    """There may be two offices, his brother is anybody's, and a district is in its town."""
    for text in ("The office is white now.", "His brother is a baker now.", "The Graz office is in Gries now."):
        assert [change for *_, change in told(text)] == [False]


@pytest.mark.parametrize(
    ("relation", "one", "other", "apart"),
    [
        ("is in (words)", "cellar", "pantry", True),
        ("is in (words)", "cellar", "house", False),
        ("is (words)", "velvet", "cotton", True),
        ("is (words)", "warm", "red", False),
        ("is a (words)", "baker", "carpenter", True),
        ("is a (words)", "doctor", "mother", False),
        ("is (day)", "mondays", "fridays", True),
        ("is on (name)", "jenkins", "buildkite", True),
    ],
)
def test_which_states_exclude_each_other(relation: str, one: str, other: str, apart: bool) -> None:
    """Names and days; of other words those of one kind, and of what somebody is professions."""
    assert rivals(relation, one, other) is rivals(relation, other, one) is apart
