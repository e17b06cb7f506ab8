"""Texts that state the same in other words, or a part of each other: what one of them says alone is never lost."""

from __future__ import annotations

import pytest

from slowwave.text.restatements import Restated, restated

SAME = [
    ("Anna's office is in Porto.", "The office of Anna is in Porto."),
    ("The office of Anna Lind is in Porto", "Anna Lind's office is in Porto."),
    ("The lead of Lantern is Ida Holm.", "Ida Holm is the lead of Lantern."),
    ("Lantern's lead is Ida Holm.", "Ida Holm is the lead of Lantern."),
    ("The price of the Bora kettle is 49 euros.", "The Bora kettle's price is 49 euros."),
    ("Our vet is Dr. Amari.", "Dr. Amari is our vet."),
    ("The crew is led by Otto.", "Otto leads the crew."),
    ("The shed was built by Marek in 2019.", "Marek built the shed in 2019."),
    ("The user's favourite drink is oolong tea.", "The favourite drink of the user is oolong tea."),
    ("The captain of the Dagny is Vera Lang.", "The Dagny's captain is Vera Lang."),
    ("Every May Ada oils the hinges.", "Ada oils the hinges every May."),
    ("The crane was painted in Vaasa by Otto.", "The crane was painted by Otto in Vaasa."),
    ("Oil the hinges in May.", "Do not forget to oil the hinges in May."),
    ("Remember to oil the hinges in May.", "Never fail to oil the hinges in May."),
    (
        "\u6c34\u7ad9\u7684\u95e8\u7531\u6797\u8273\u6bcf\u5468\u6e05\u6d01\u3002",
        "\u6c34\u7ad9\u7684\u95e8\u6bcf\u5468\u7531\u6797\u8273\u6e05\u6d01\u3002",
    ),
]

OTHER = [
    ("Nadia reviews all contracts 👍", "All contracts are reviewed by Nadia 👎"),
    ("I live in Bergen.", "I live in Bergen. Just kidding!"),
    ("Anna's office is in Porto.", "The office of Anna is in Lisbon."),
    ("Anna's office is in Porto.", "The office of Ann is in Porto."),
    ("Anna's office is in Porto.", "The old office of Anna is in Porto."),
    ("Anna's office is in Porto.", "Is the office of Anna in Porto?"),
    ("Anna's office is in Porto.", "The office of Anna was in Porto."),
    ("Anna's office is in Porto.", "The office of Anna is not in Porto."),
    ("Anna's office is in Porto.", "The office of Anna might be in Porto."),
    ("The price of the Bora kettle is 49 euros.", "The Bora kettle's price is 94 euros."),
    ("Anna is Ben's sister.", "Ben is Anna's sister."),
    ("The son of Ada is Otto.", "Ada is the son of Otto."),
    ("The crew is led by Otto.", "Otto is led by the crew."),
    ("Otto leads the crew.", "The crew leads Otto."),
    ("The dog bit Otto.", "The dog was bitten by Otto."),
    ("The shed was built by Marek in 2019.", "Marek built the shed in 2020."),
    ("The lead of Lantern is Ida Holm.", "Ida Holm is a lead of Lantern."),
    ("The lead of Lantern is Ida Holm.", "Ida Holm is the lead of Magnet."),
    ("Anna's office is in Porto if she stays.", "The office of Anna is in Porto."),
    ('Otto said: "Anna\'s office is in Porto."', "The office of Anna is in Porto."),
    ("The capital of Norway's economy is oil.", "Oil is the capital of Norway."),
    ("Ada sails from Vaasa to Turku.", "Ada sails from Turku to Vaasa."),
    ("Vaasa Jets Turku Bears", "Turku Bears Vaasa Jets"),
    ("Oil the hinges in May.", "Do not oil the hinges in May."),
    ("Oil the hinges in May.", "Do not forget to oil the hinges in June."),
    ("Oil the hinges in May.", "Ada did not forget to oil the hinges in May."),
    ("\u4ed6\u6ca1\u6709\u6bcf\u5929\u6765\u3002", "\u4ed6\u6bcf\u5929\u6ca1\u6709\u6765\u3002"),
    ("\u72d7\u54ac\u4eba\u4e86\u3002", "\u4eba\u54ac\u72d7\u4e86\u3002"),
]
"""Pairs that state different things, written before the rule."""

PARTS = [
    ("Anna likes tea.", "Anna likes tea and coffee."),
    ("Anna likes coffee.", "Anna likes tea and coffee."),
    ("likes tea", "likes tea and coffee"),
    ("Anna speaks Danish.", "Anna speaks Danish, Korean and Greek."),
    ("Anna speaks Korean.", "Anna speaks Danish, Korean and Greek."),
    ("Anna speaks Greek.", "Anna speaks Danish, Korean, and Greek."),
    ("Anna works in Porto.", "Anna works in Porto and lives in Braga."),
    ("Anna lives in Braga.", "Anna works in Porto and lives in Braga."),
    ("Anna lives in Braga.", "Anna works in Porto. Anna lives in Braga."),
    ("The gym opens at 07:15.", "The gym opens at 07:15, and the pool opens at 09:00."),
    ("The pool opens at 09:00.", "The gym opens at 07:15, and the pool opens at 09:00."),
    ("Anna has a tortoise.", "Anna has a tortoise and a parrot."),
    ("Anna's office is in Porto.", "The office of Anna is in Porto and the store is in Braga."),
]

NO_PARTS = [
    ("Petra likes hiking 👎", "Petra likes hiking and sea kayaking 👍"),
    ("Anna likes tea.", "Anna likes tea and coffee if they are hot."),
    ("Anna likes tea.", "Anna does not like tea and coffee."),
    ("Anna likes tea.", "Anna no longer likes tea and coffee."),
    ("Anna likes tea.", "Anna might like tea and coffee."),
    ("Anna likes tea.", "Does Anna like tea and coffee?"),
    ("Anna likes tea.", "Otto thinks Anna likes tea and coffee."),
    ("Anna likes tea.", 'Otto wrote "Anna likes tea and coffee".'),
    ("Anna likes tea.", "Anna likes green tea and coffee."),
    ("Anna likes green tea.", "Anna likes tea and coffee."),
    ("Anna likes tea in the morning.", "Anna likes tea and coffee."),
    ("Anna likes tea.", "Anna likes tea in the morning."),
    ("Anna likes tea.", "Anna likes tea, but coffee keeps her awake."),
    ("Anna likes tea.", "Anna likes either tea or coffee."),
    ("Anna likes tea.", "Anna likes tea and coffee until noon."),
    ("Anna likes tea.", "Anna liked tea and coffee."),
    ("Anna likes tea.", "In 2019 Anna liked tea and coffee."),
    ("Anna likes tea.", "Anna likes tea and coffee only on Sundays."),
    ("Anna likes tea.", "Anna likes tea and coffee together."),
    ("Anna works in Porto.", "Otto works in Porto and lives in Braga."),
    ("Anna lives in Braga.", "Anna works in Porto and Otto lives in Braga."),
    ("Anna paid 40 euros.", "Anna paid 45 euros and 10 cents."),
    ("Anna runs between five.", "Anna runs between five and six."),
    ("The gym opens at 07:15.", "The gym opens at 07:45, and the pool opens at 07:15."),
    ("Anna lives in Braga.", "Anna works in Porto. She used to live in Braga."),
    ("Anna lives in Braga.", "Anna lives in Braga. That changed in May."),
    ("Anna lives in Braga.", "Anna lives in Braga. However, she moves soon."),
    ("Anna trusts Otto.", "Anna trusts Otto and Vera's plan."),
    ("Anna mixes gin.", "Anna mixes gin and tonic with Otto."),
    ("Anna lives in Braga.", "Suppose Anna works in Porto and lives in Braga."),
    ("You're welcome!", "You're welcome! I'm glad to be of help."),
    ("He likes tea.", "He likes tea and coffee."),
    ("Anna lives in Braga since May 2020.", "Anna lives in Braga and works in Porto."),
]
"""Pairs of which the first is no part of the second, or says more than it, written before the rule."""


def pair(one: str, other: str) -> Restated | None:
    """Compare two texts in both orders, which must agree."""
    found, turned = restated(one, other), restated(other, one)
    assert (found and found.how) == (turned and turned.how)
    if found and turned and found.how == "part of another":
        assert found.longer == 1 - turned.longer
    return found


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_statement_in_another_order_of_slots_is_the_same(one: str, other: str) -> None:
    found = pair(one, other)
    assert found is not None
    assert found.how == "other wording"


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_statements_with_other_slots_are_not_the_same(one: str, other: str) -> None:
    assert pair(one, other) is None


@pytest.mark.parametrize(("part", "whole"), PARTS)
def test_a_statement_that_another_lists_is_a_part_of_it(part: str, whole: str) -> None:
    found = pair(part, whole)
    assert found is not None
    assert (found.how, found.longer) == ("part of another", 1)


@pytest.mark.parametrize(("part", "whole"), NO_PARTS)
def test_a_statement_that_another_limits_is_no_part_of_it(part: str, whole: str) -> None:
    assert pair(part, whole) is None
