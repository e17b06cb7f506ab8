"""Specifics: what must not change in a merge, and what must not get lost."""

from __future__ import annotations

import time

import pytest

from slowwave.texts.specifics import differ, specifics


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("PostgreSQL 15", "PostgreSQL 16"),
        ("PostgreSQL", "PostgreSQL 16"),
        ("Python 3.1", "Python 3.10"),
        ("libfoo 1.2.3", "libfoo 1.2.4"),
        ("Pier II", "Pier III"),
        ("pier ii", "pier iii"),
        ("World War I", "World War II"),
        ("Henry V", "Henry VIII"),
        ("5 km run", "5 mi run"),
        ("raised $5m", "raised $5bn"),
        ("−5 °C", "5 °C"),
        ("Budget 2024", "Budget 2025"),
        ("Review of 6 May 2024", "Review of 7 May 2024"),
        ("Standup at 9:00", "Standup at 9:30"),
        ("Second Street", "Third Street"),
        ("1st draft", "2nd draft"),
        ("Vitamin C", "Vitamin D"),
        ("J. Smith", "K. Smith"),
        ("John F Kennedy", "John B Kennedy"),
        ("John Smith Jr", "John Smith Sr"),
        ("A320", "A321"),
        ("GPT-4", "GPT-4o"),
        ("mara@acme.org", "mara@example.org"),
        ("https://acme.org/a", "https://acme.org/b"),
        ("Inbound queue", "Outbound queue"),
        ("MaxRetries", "MinRetries"),
        ("North Gate", "South Gate"),
        ("enable sync", "disable sync"),
        ("an authorized user", "an unauthorized user"),
        ("Monday standup", "Friday standup"),
        ("the red box", "the blue box"),
        ("The deploy works", "The deploy does not work"),
        ("She is here", "She isn't here"),
        ("with consent", "without consent"),
        ("er kommt", "er kommt nicht"),
    ],
)
def test_a_difference_in_a_specific_is_seen_from_both_sides(a: str, b: str) -> None:
    """Near-identical texts that must never merge; the sentence names what differs."""
    for left, right in ((a, b), (b, a)):
        sentence = differ(left, right)
        assert sentence is not None
        assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("OpenTelemetry", "Open Telemetry"),
        ("Northwind Ltd", "Northwind"),
        ("Reyes, Mara", "Mara Reyes"),
        ("IBM", "International Business Machines"),
        ("PostgreSQL v15", "PostgreSQL 15"),
        ("GPT-4", "GPT4"),
        ("Pier II", "Pier 2"),
        ("5km", "5 km"),
        ("1,000 users", "1000 users"),
        ("6 May 2024", "May 6, 2024"),
        ("2024-05-06", "6 May 2024"),
        ("3pm", "15:00"),
        ("2nd draft", "second draft"),
        ("three piers", "3 piers"),
        ("٣ piers", "3 piers"),
        ("２０２４ plan", "2024 plan"),
        ("No. 5", "Number 5"),
        ("NoSQL", "nosql"),
        ("SEM", "Scanning Electron Microscope"),
        ("J. Q. Public", "John Q. Public"),
        ("John F Kennedy", "John Kennedy"),
        ("Room 01", "Room 1"),
        ("https://www.Acme.org/", "http://acme.org"),
        ("", ""),
    ],
)
def test_spellings_of_one_thing_do_not_differ(a: str, b: str) -> None:
    """A veto that fires on aliases would make dedupe useless."""
    assert differ(a, b) is None
    assert differ(b, a) is None


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
    "piece", ["a", "1", "1,", "a-", "A ", "a.b@", "www.", "1.1", "second ", "1:1", "May ", "v1.", "II "]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Memory text is untrusted: forty times the text must not take a thousand times as long."""

    def seconds(repeats: int) -> float:
        start = time.perf_counter()
        specifics(piece * repeats)
        return time.perf_counter() - start

    seconds(10)
    assert seconds(40_000) < 200 * max(min(seconds(1_000) for _ in range(3)), 1e-4)
