"""What a definite description says somebody's one thing is: read by its words, and nothing of which there are many."""

import pytest

from slowwave.text.states import descriptions


def told(text: str) -> list[tuple[str, str, str, bool]]:
    return [tuple(found) for found in descriptions(text)]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "subject", "thing", "value"),
    [
        ("Our vet is Dr. Amari.", "i", "vet", "amari"),
        ("Primary region: ca-central-1", "i", "primary region", "ca-central-1"),
        ("The invoice limit is 3,500 euros.", "i", "invoic limit", "3,500 euros"),
        ("The project lead of Heron is Judith.", "heron", "project lead", "judith"),
        ("Mia's surname is Okonkwo.", "mia", "surnam", "okonkwo"),
        ("My phone is a Pixel 6.", "i", "phon", "pixel 6"),
    ],
)
def test_names_figures_and_codes_are_values(text: str, subject: str, thing: str, value: str) -> None:
    """Of whom, which thing, and its one value."""
    ((of, relation, found, change),) = told(text)
    assert (of, relation.partition(" (")[0], found, change) == (subject, thing, value, False)


def test_a_word_of_change_says_that_it_is_new() -> None:
    """Before, within and behind."""
    for text in ("From now on, our vet is Dr. Feld.", "Our vet is now Dr. Feld.", "Our new vet is Dr. Feld."):
        ((_, relation, value, change),) = told(text)
        assert (relation, value, change) == ("vet (name)", "feld", True)


def test_values_of_one_kind_alone_are_compared() -> None:
    """A day and a number of another thing are no names."""
    kinds = {told(f"Our gate is {value}.")[0][1] for value in ("Fornebu", "Gardermoen", "7 doors", "b-3", "9 doors")}
    assert kinds == {"gat (name)", "gat (figure of door)", "gat (code)"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Mr Haas retires; from now on our contact at Globex is his niece Lena.",
            ("globex", "contact (name)", "lena", True),
        ),
        ("Mara's GP is Dr Okafor at the harbour practice.", ("mara", "gp (name)", "okafor", False)),
        ("Mara is with a new GP, Dr Voss.", ("mara", "gp (name)", "voss", True)),
        ("Mara has a new tenant, Omar.", ("mara", "tenant (name)", "omar", False)),
        ("Ms Okonkwo has taken over from Mr Haas as head of sales.", ("sales", "head (name)", "okonkwo", True)),
        ("My landlord is Milica, Goran is gone.", ("i", "landlord (name)", "milica", False)),
    ],
)
def test_other_forms_of_the_same(text: str, expected: tuple[str, str, str, bool]) -> None:
    """Behind a semicolon, with what somebody is, and who comes after whom; who has a new one may have two."""
    assert told(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "My friend is Brigitte.",
        "Our next stop is Bergen.",
        "Our vet is very kind.",
        "The Wi-Fi password is under the router.",
        "If our vet is Dr. Amari, call him.",
        "Is our vet Dr. Amari?",
        "My landlord was Mr. Kovac.",
        "My sisters are Anna and Jo.",
        "Note: buy milk",
        "It is Anna.",
    ],
)
def test_what_may_be_several_or_states_nothing_is_left_alone(text: str) -> None:
    """Friends, what passes, other words than values, what is asked, supposed or over."""
    assert told(text) == []
