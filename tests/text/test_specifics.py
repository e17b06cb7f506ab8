"""Specifics: what a text says that must not get lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.contradictions import difference
from slowwave.text.specifics import Specifics, may_have_specifics, specifics

WORDS = (
    "Harbor",
    "pilot",
    "ACME",
    "north",
    "II",
    "xi",
    "MaxRetries",
    "isn't",
    "two",
    "jr",
    "no",
    "May",
    "second",
    "B",
    "a",
)


def test_terms_are_what_a_merge_must_keep_reachable() -> None:
    """Numbers with units, dates, versions, codes, addresses, names and negation; no everyday word."""
    text = (
        "Yesterday Mara Reyes met Dr. O'Neil in São Paulo; she didn't pay $5m for 3 GB, see https://Acme.org/a?b=1 "
        "or ask ops@acme.org. The 2nd order ABC-123 needs v2.1.0 by 6 May 2024 at 3pm, ticket 123456789."
    )
    assert specifics(text).terms() >= {
        *("mara reyes", "são paulo", "dr o'neil", "not", "5 m $", "3 gb", "acme.org/a?b=1", "ops@acme.org"),
        *("2nd", "abc123", "2.1.0", "2024-05-06", "15:00", "123456789"),
    }
    assert specifics("the box stood open on the table before lunch").terms() == frozenset()


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("a 46\" panel, 46-inch, 46''", {"46 inch"}),
        ("1080p at 60Hz for $1.5 million", {"1080 p", "60 hz", "1.5 m $"}),
        ("twenty-one pilots in two minutes", {"21", "2 min"}),
        ("the twenty-first of five million people", {"21st", "5 million"}),
        ("Jan 5, 2020 or 13/02/2020 but 01/02/2020", {"2020-01-05", "2020-02-13", "01/02/2020"}),
        ("Henry VIII, 2nd Baron", {"8", "2nd"}),
        ("Xi Jinping and Vi Nguyen", set()),
        ("KDL-46V4100 and GPT-4", set()),
        ("one of a kind", set()),
        ("12 Main St", {"12"}),
    ],
)
def test_figures_are_read_in_any_dress(text: str, figures: set[str]) -> None:
    """Digits of a code are no number; a number word takes its unit."""
    assert specifics(text).figures() == figures


def test_a_word_beside_a_digit_is_part_of_a_code() -> None:
    """ "46V4100" has no letter V, "mil5on" no word "on"."""
    found = specifics("KDL-46V4100 mil5on")
    assert (found.letters, found.exclusive) == (frozenset(), frozenset())
    assert found.identifiers == {"kdl46v4100", "mil5on"}


@given(st.text(alphabet="abINVXa e.'-1é", max_size=24) | st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join))
def test_the_cheap_look_never_hides_a_specific(text: str) -> None:
    """What it calls plain has words and names, and nothing else."""
    if not may_have_specifics(text):
        found = specifics(text)
        assert found == Specifics(words=found.words, names=found.names)


def test_the_cheap_look_spares_plain_names() -> None:
    """Most names are plain."""
    assert not any(map(may_have_specifics, ("Harbor Pilot Works", "mara reyes", "ACME Lantern Ltd")))
    assert all(map(may_have_specifics, ("Pier 2", "Pier II", "North Gate", "Plan B", "MaxRetries", "Mara can't")))


@pytest.mark.slow
@pytest.mark.timeout(60)  # some 2 s are needed
@pytest.mark.parametrize(
    "piece", ["a", "1", "1,", "a-", "A ", "a.b@", "www.", "1.1", "second ", "1:1", "May ", "v1.", "II "]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Memory text is untrusted: a pattern that goes back over the text takes minutes here, and the limit ends it."""
    found = specifics(piece * 100_000)
    difference(found, specifics(piece * 100_001 + "2"))
    assert difference(found, found) is None
