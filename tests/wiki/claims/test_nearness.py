"""What a statement is to one that is known, about one subject."""

from __future__ import annotations

import pytest

from slowwave.wiki.claims.nearness import Nearness, nearness

NAMES = frozenset(("mara", "mara lind"))


@pytest.mark.parametrize(
    ("new", "known", "found"),
    [
        ("Mara lives in Oslo", "Mara lives in Oslo.", Nearness("same")),
        ("Mara Lind lives in Bergen.", "Mara lives in Oslo.", Nearness("contradicts", ends=True)),
        ("Mara moved to Bergen.", "Mara lives in Oslo.", Nearness("contradicts", ends=True)),
        ("Nils lives in Bergen.", "Mara lives in Oslo.", Nearness(None)),
        ("The review takes 50 days.", "The review takes 40 days.", Nearness("contradicts")),
        ("The crane is painted red.", "The review takes 40 days.", Nearness(None)),
        (
            "I sold the Skoda Fabia and bought a Renault Zoe.",
            "I drive a Skoda Fabia.",
            Nearness("contradicts", ends=True),
        ),
    ],
)
def test_facts(new: str, known: str, found: Nearness) -> None:
    """A relation of one object under any name of the subject, what is over, figures, other matters."""
    assert nearness(new, "fact", known, "fact", NAMES) == found


def test_of_two_states_only_the_later_one_holds() -> None:
    """A figure in a fact may be wrong in either; in a state it has changed."""
    assert nearness("The review takes 50 days.", "state", "The review takes 40 days.", "state").ends
    assert not nearness("The review takes 50 days.", "state", "The review takes 40 days.", "fact").ends
    assert nearness("Rowan is live.", "state", "Rowan is blocked by the audit.", "state").ends, (
        "no word but its name is shared"
    )
    assert not nearness("Rowan is live.", "state", "Rowan is painted red.", "state").ends


def test_long_statements_are_compared_for_being_the_same_alone() -> None:
    text = "The review takes 40 days. " * 30
    assert nearness(text, "fact", text, "fact") == Nearness("same")
    assert nearness(text.replace("40", "50"), "state", text, "state").relation in (None, "near")
